// Arrays of records. Outside of kernels their elements are bytes: they are made, viewed and copied.
#pragma once

#include <string>

#include "array/elementwise.h"

namespace treadle::array {

// A new array; even without elements it has memory for one, which kernels may read.
Array empty_records(const Dims& shape, const RecordRef& record, Sharing shared = {});
// Byte for byte; broadcasts from. Throws Error(Type) unless both have the same layout.
void copy_records(const Array& to, const Array& from);
// One field of every element as an array of numbers. Throws Error(Unsupported) where these do not lie at multiples of
// their size, as array operations ask.
Array field_view(const Array& array, std::int64_t offset, DType dtype);

}  // namespace treadle::array
