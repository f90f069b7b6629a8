// An n-dimensional array: device memory seen through a shape and byte strides. Copying an Array copies the view, not
// the data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/dtype.h"
#include "base/kernel_facts.h"
#include "base/small_vector.h"
#include "device/device.h"

namespace treadle::array {

using Dims = SmallVector<std::int64_t, 4>;

// The elements of an array that are no numbers: a layout as in docs/design/syntax.md, which only kernels look into.
struct Record {
    std::string text;
    std::int64_t size_bytes;
};
using RecordRef = std::shared_ptr<const Record>;

// As many as NumPy's arrays may have. More throw Error(Argument).
inline constexpr std::size_t kMostAxes = 64;

class Array {
public:
    Array() = default;
    Array(device::StorageRef storage, char* data, DType dtype, Dims shape, Dims strides)
        : storage_(std::move(storage)),
          data_(data),
          dtype_(dtype),
          shape_(std::move(shape)),
          strides_(std::move(strides)) {
        check_rank();
    }

    Array(device::StorageRef storage, char* data, RecordRef record, Dims shape, Dims strides)
        : storage_(std::move(storage)),
          data_(data),
          record_(std::move(record)),
          shape_(std::move(shape)),
          strides_(std::move(strides)) {
        check_rank();
    }

    // Throws Error(Type) for an array of records: whoever asks computes with numbers.
    DType dtype() const {
        if (record_ != nullptr) refuse_records();
        return dtype_;
    }
    const RecordRef& record() const { return record_; }  // null for numbers
    std::int64_t item_bytes() const { return record_ != nullptr ? record_->size_bytes : size_of(dtype_); }
    const Dims& shape() const { return shape_; }
    const Dims& strides() const { return strides_; }  // bytes
    int rank() const { return static_cast<int>(shape_.size()); }
    std::int64_t size() const;
    std::int64_t size_bytes() const { return size() * item_bytes(); }
    char* data() const { return data_; }
    const device::StorageRef& storage() const { return storage_; }
    bool is_c_contiguous() const;
    bool is_f_contiguous() const;
    Layout layout() const;  // what a kernel may assume of the strides

    Array with(Dims shape, Dims strides, std::int64_t offset_bytes = 0) const {
        Array view(storage_, data_ + offset_bytes, dtype_, std::move(shape), std::move(strides));
        view.record_ = record_;
        return view;
    }

private:
    [[noreturn]] static void refuse_records();
    [[noreturn]] static void refuse_rank(std::size_t rank);
    void check_rank() const {
        if (shape_.size() > kMostAxes) refuse_rank(shape_.size());
    }

    device::StorageRef storage_;
    char* data_ = nullptr;
    DType dtype_ = DType::Float64;
    RecordRef record_;
    Dims shape_;
    Dims strides_;
};

std::int64_t element_count(const Dims& shape);
Dims dense_strides(const Dims& shape, std::int64_t item_bytes);
inline Dims dense_strides(const Dims& shape, DType dtype) { return dense_strides(shape, size_of(dtype)); }
std::string to_string(const Dims& dims);
// An axis in [-rank, rank) as one in [0, rank). Throws Error(Index).
int normal_axis(std::int64_t axis, int rank, const char* operation);

// The stream that work of this thread goes to; the device's default unless set.
device::Stream& current_stream();
std::shared_ptr<device::Stream> current_stream_ref();
void set_current_stream(std::shared_ptr<device::Stream> stream);

}  // namespace treadle::array
