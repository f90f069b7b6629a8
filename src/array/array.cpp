#include "array/array.h"

#include "base/error.h"

namespace treadle::array {

std::int64_t element_count(const Dims& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

std::int64_t Array::size() const { return element_count(shape_); }

Dims dense_strides(const Dims& shape, std::int64_t item_bytes) {
    Dims strides(shape.size());
    std::int64_t step = item_bytes;
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = step;
        step *= std::max<std::int64_t>(shape[i], 1);
    }
    return strides;
}

void Array::refuse_records() {
    throw Error(ErrorKind::Type,
                "expected an array of numbers, got an array of records: only kernels compute with records");
}

void Array::refuse_rank(std::size_t rank) {
    throw Error(ErrorKind::Argument, "expected an array of at most " + std::to_string(kMostAxes) + " dimensions, got " +
                                         std::to_string(rank));
}

bool Array::is_c_contiguous() const {
    std::int64_t step = item_bytes();
    for (std::size_t i = shape_.size(); i-- > 0;) {
        if (shape_[i] == 0) return true;
        if (shape_[i] != 1 && strides_[i] != step) return false;
        step *= shape_[i];
    }
    return true;
}

bool Array::is_f_contiguous() const {
    std::int64_t step = item_bytes();
    for (std::size_t i = 0; i < shape_.size(); ++i) {
        if (shape_[i] == 0) return true;
        if (shape_[i] != 1 && strides_[i] != step) return false;
        step *= shape_[i];
    }
    return true;
}

Layout Array::layout() const {
    if (shape_.empty()) return Layout::Dense;
    // An axis of one element is never stepped along, so its stride may be taken for anything.
    if (shape_.back() != 1 && strides_.back() != item_bytes())
        return strides_.back() == 0 ? Layout::InnerZero : Layout::Any;
    return is_c_contiguous() ? Layout::Dense : Layout::InnerDense;
}

std::string to_string(const Dims& dims) {
    std::string text = "(";
    for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
    return text + (dims.size() == 1 ? ",)" : ")");
}

int normal_axis(std::int64_t axis, int rank, const char* operation) {
    if (axis < -rank || axis >= rank) {
        throw Error(ErrorKind::Index, "[" + std::string(operation) + "] axis: expected -" + std::to_string(rank) +
                                          " to " + std::to_string(rank - 1) + " for an array of " +
                                          std::to_string(rank) + " dimensions, got " + std::to_string(axis));
    }
    return static_cast<int>(axis < 0 ? axis + rank : axis);
}

namespace {

thread_local std::shared_ptr<device::Stream> chosen_stream;

}  // namespace

std::shared_ptr<device::Stream> current_stream_ref() {
    return chosen_stream != nullptr ? chosen_stream : device::current_device().default_stream();
}

device::Stream& current_stream() {
    if (chosen_stream == nullptr) chosen_stream = device::current_device().default_stream();
    return *chosen_stream;
}

void set_current_stream(std::shared_ptr<device::Stream> stream) { chosen_stream = std::move(stream); }

}  // namespace treadle::array
