#include "array/records.h"

#include <algorithm>

#include "array/elementwise.h"
#include "array/views.h"
#include "base/error.h"

namespace treadle::array {
namespace {

// The bytes of the elements along one more axis.
Array bytes_of(const Array& array) {
    Dims shape = array.shape(), strides = array.strides();
    shape.push_back(array.item_bytes());
    strides.push_back(1);
    return {array.storage(), array.data(), DType::UInt8, std::move(shape), std::move(strides)};
}

// Without the words that say how NumPy came to it.
std::string layout_of(const Record& record) {
    std::string text = record.text;
    for (const std::string_view word : {" aligned (\"", " packed (\""}) {
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word))
            text.erase(at, word.size() - 3);
    }
    return text;
}

}  // namespace

Array empty_records(const Dims& shape, const RecordRef& record, Sharing shared) {
    device::StorageRef storage = new_storage(shape, record->size_bytes, std::nullopt, shared);
    auto* data = static_cast<char*>(storage->data());
    return {std::move(storage), data, record, shape, dense_strides(shape, record->size_bytes)};
}

void copy_records(const Array& to, const Array& from) {
    if (to.record() == nullptr || from.record() == nullptr || layout_of(*to.record()) != layout_of(*from.record()))
        throw Error(ErrorKind::Type, "[copy] expected records of the same dtype on both sides");
    copy_into(bytes_of(to), bytes_of(from.shape() == to.shape() ? from : broadcast_to(from, to.shape())));
}

Array field_view(const Array& array, std::int64_t offset, DType dtype) {
    const std::int64_t unit = size_of(part_of(dtype));
    bool is_aligned = (reinterpret_cast<std::int64_t>(array.data()) + offset) % unit == 0;
    for (const std::int64_t stride : array.strides()) is_aligned = is_aligned && stride % unit == 0;
    if (!is_aligned)
        throw Error(ErrorKind::Unsupported,
                    "[field] expected a field at multiples of " + std::to_string(unit) +
                        " bytes, as a dtype with align=True has: kernels reach this one, array operations do not");
    return {array.storage(), array.data() + offset, dtype, array.shape(), array.strides()};
}

}  // namespace treadle::array
