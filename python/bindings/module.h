// What the binding files share.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include <nanobind/nanobind.h>

#include "array/array.h"
#include "array/elementwise.h"
#include "base/code_image.h"

namespace treadle::bindings {

namespace nb = nanobind;

// Gives up the interpreter's lock for a wait. When the interpreter ends meanwhile, a thread that is not the main one
// stays here: taking the lock again would unwind it through frames that cannot be unwound.
class UnlockedWait {
public:
    UnlockedWait();
    ~UnlockedWait();
    UnlockedWait(const UnlockedWait&) = delete;
    UnlockedWait& operator=(const UnlockedWait&) = delete;

private:
    PyThreadState* state_;
};

// Waits until done(limit) says so, letting other threads run and signal handlers act; throws what a handler raises.
template <class Done>
void wait_interruptibly(const Done& done) {
    while (true) {
        bool finished = false;
        {
            const UnlockedWait unlocked;
            finished = done(std::chrono::milliseconds(50));
        }
        if (finished) return;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

void bind_errors(nb::module_& module);
// For functions that Python calls without the binding's help: the exception that is in flight as Python's.
void set_python_error(const std::exception_ptr& pointer) noexcept;
void bind_device(nb::module_& module);
void bind_array(nb::module_& module);
void bind_operations(nb::module_& module);
void bind_kernel(nb::module_& module);
void bind_cache(nb::module_& module);
void bind_interop(nb::module_& module);
void bind_foreign_kernels(nb::module_& module);

// conversions.cpp
DType to_dtype(nb::handle name);  // from NumPy's type string or Treadle's name
// Whether the name of an element type is the layout of a record.
inline bool is_record(std::string_view name) { return name.starts_with("(record "); }
array::RecordRef to_record(const std::string& layout);
CodeKind to_code_kind(const std::string& text);  // raises ValueError
CodeImages to_code_images(nb::handle images);    // a sequence of (kind, bytes, name)
std::int64_t to_integer(nb::handle value);  // raises TypeError for what is no integer, OverflowError beyond 64 bits
// An integer or a sequence of integers. Raises TypeError, which says what the shape is of.
array::Dims to_dims(nb::handle shape, const char* what = "shape");
nb::tuple to_tuple(const array::Dims& dims);
std::optional<std::vector<std::int64_t>> to_axes(nb::handle axes);
// Keeps the arrays that operands are converted from alive while they are used.
class Operands {
public:
    void add(nb::handle value, const char* operation);
    std::span<const array::Operand> span() const { return {operands_.data(), count_}; }

private:
    void push(array::Operand operand);

    // No operation has more than three; the binary ones are called too often for a heap.
    std::array<array::Operand, 4> operands_ = {false, false, false, false};
    std::size_t count_ = 0;
    std::vector<nb::object> keeps_;
};

}  // namespace treadle::bindings
