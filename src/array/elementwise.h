// Element-wise operations: types by NumPy's rules (NEP 50), broadcasting, one compiled kernel for each combination that
// occurs.
//
//     Array c = elementwise(operation("add"), {Operand(a), Operand(2)});
//
// Asynchronous on the current stream. out may be any view; where it overlaps an operand in another way than element for
// element, the result is computed aside first.
#pragma once

#include <complex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "array/array.h"

namespace treadle::array {

struct Operation {
    std::string_view name;
    int operands;
    char typing;
    std::string_view body;
    std::string_view doc;
};
std::span<const Operation> operations();
const Operation& operation(std::string_view name);

// An array, or a Python number: a weak scalar, whose type adapts to the arrays beside it.
struct Operand {
    Operand(const Array& from) : array(&from) {}
    Operand(std::int64_t value) : kind('i'), integer(value), real(static_cast<double>(value)) {}
    Operand(double value) : kind('f'), real(value) {}
    Operand(bool value) : kind('b'), integer(value), real(value) {}
    Operand(std::complex<double> value) : kind('z'), real(value.real()), imaginary(value.imag()) {}

    const Array* array = nullptr;
    char kind = 'a';  // a array, b i f z weak scalar; weak integers beyond int64: u fits uint64, h fits nothing (real
                      // is infinite)
    std::int64_t integer = 0;
    double real = 0;
    double imaginary = 0;
};

struct OperationTypes {
    DType compute;
    DType result;
};
// Throws Error(Type) when the operation has no loop for the operands.
OperationTypes result_types(const Operation& operation, std::span<const Operand> operands);

// out: where to write, with the shape of the result; a null pointer makes a new array.
Array elementwise(const Operation& operation, std::span<const Operand> operands, const Array* out = nullptr);

void copy_into(const Array& to, const Array& from);  // broadcasts from, converts types
void fill(const Array& to, const Operand& value);
// shared: in such memory, which the host reaches as well, instead of the device's own.
using Sharing = std::optional<device::SharedMemory>;
Array empty(const Dims& shape, DType dtype, Sharing shared = {});
// Memory for elements of a dtype, or of records. Throws Error(Argument), Error(Memory).
device::StorageRef new_storage(const Dims& shape, std::int64_t item_bytes, std::optional<DType> dtype, Sharing shared);
Array empty_like(const Dims& shape, const Array& elements);  // with the elements of an array: numbers or records
Array contiguous_copy(const Array& array);
Array astype(const Array& array, DType dtype);

}  // namespace treadle::array
