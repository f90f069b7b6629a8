#include "array/array.h"

#include <cstring>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array/creation.h"
#include "array/elementwise.h"
#include "array/records.h"
#include "array/views.h"
#include "base/error.h"
#include "module.h"

namespace treadle::bindings {
namespace {

using array::Array;

std::vector<array::Index> to_index(nb::handle item) {
    std::vector<array::Index> items;
    const auto one = [&](nb::handle part) {
        array::Index index;
        if (part.is_none()) {
            index.kind = array::Index::Kind::NewAxis;
        } else if (part.ptr() == Py_Ellipsis) {
            index.kind = array::Index::Kind::Ellipsis;
        } else if (PySlice_Check(part.ptr())) {
            index.kind = array::Index::Kind::Slice;
            const auto bound = [&](const char* name, bool& has, std::int64_t& value) {
                const nb::object limit = part.attr(name);
                has = !limit.is_none();
                if (has) value = to_integer(limit);
            };
            bool has_step = false;
            bound("start", index.has_start, index.start);
            bound("stop", index.has_stop, index.stop);
            bound("step", has_step, index.step);
        } else if (nb::isinstance<Array>(part) &&
                   (nb::inst_ptr<Array>(part)->rank() != 0 || !is_integer(nb::inst_ptr<Array>(part)->dtype()))) {
            throw Error(ErrorKind::Index,
                        "index: boolean masks and index arrays are not supported yet: expected integers, slices, None "
                        "or '...'");
        } else if (PyIndex_Check(part.ptr()) && !PyBool_Check(part.ptr())) {
            index.start = to_integer(part);
        } else {
            throw Error(ErrorKind::Index, "index: expected integers, slices, None or '...', got " +
                                              nb::cast<std::string>(part.type().attr("__name__")));
        }
        items.push_back(index);
    };
    if (PyTuple_Check(item.ptr())) {
        for (const nb::handle part : nb::iter(item)) one(part);
    } else {
        one(item);
    }
    return items;
}

nb::tuple shape_of(const Array& self) { return to_tuple(self.shape()); }
nb::tuple strides_of(const Array& self) { return to_tuple(self.strides()); }
std::string dtype_of(const Array& self) {
    return self.record() != nullptr ? self.record()->text : std::string(name_of(self.dtype()));
}
std::uint64_t pointer_of(const Array& self) { return reinterpret_cast<std::uint64_t>(self.data()); }
std::uint64_t storage_bytes(const Array& self) { return self.storage() ? self.storage()->size_bytes() : 0; }

Array get_item(const Array& self, nb::handle item) { return array::index(self, to_index(item)); }

void set_item(const Array& self, nb::handle item, nb::handle value) {
    const Array target = array::index(self, to_index(item));
    Operands operands;
    operands.add(value, "setitem");
    const array::Operand& source = operands.span()[0];
    if (source.array != nullptr) {
        array::copy_into(target, *source.array);
    } else {
        array::fill(target, source);
    }
}

Array reshape(const Array& self, nb::handle shape) {
    array::Dims dims = to_dims(shape, "reshape: shape");
    if (auto view = array::reshape_view(self, dims)) return *view;
    return *array::reshape_view(array::contiguous_copy(self), std::move(dims));
}

Array view_as(const Array& self, nb::handle dtype) {
    const DType type = to_dtype(dtype);
    if (size_of(type) != size_of(self.dtype()))
        throw Error(ErrorKind::Argument,
                    "[view] dtype: expected a type of " + std::to_string(size_of(self.dtype())) + " bytes");
    return {self.storage(), self.data(), type, self.shape(), self.strides()};
}

// Host memory in C order with the array's dtype and shape, through the buffer protocol.
void copy_from_host(const Array& self, nb::handle buffer) {
    Py_buffer view;
    if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
    const bool fits = view.len == self.size_bytes();
    if (fits) {
        // The device may not read the caller's memory after this returns.
        const UnlockedWait unlocked;
        device::Stream& stream = array::current_stream();
        device::Storage* uses[] = {self.storage().get()};
        stream.count(device::Count::BytesToDevice, static_cast<std::uint64_t>(view.len));
        stream.copy(self.data(), view.buf, static_cast<std::size_t>(view.len), uses);
        if (!stream.query()) stream.synchronize();
    }
    PyBuffer_Release(&view);
    TREADLE_CHECK(fits, "host buffer of another size");
}

void copy_to_host(const Array& self, nb::handle buffer) {
    const Array source = self.is_c_contiguous() ? self : array::contiguous_copy(self);
    Py_buffer view;
    if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) throw nb::python_error();
    const bool fits = view.len == source.size_bytes();
    const auto release_view = [&] { PyBuffer_Release(&view); };
    try {
        // Interruptible while others' work runs; the copy itself must end before the buffer may go.
        device::Stream& busy = array::current_stream();
        wait_interruptibly([&](auto limit) { return busy.wait_for(limit); });
        if (fits) {
            const UnlockedWait unlocked;
            device::Stream& stream = array::current_stream();
            device::Storage* uses[] = {source.storage().get()};
            stream.count(device::Count::BytesToHost, static_cast<std::uint64_t>(view.len));
            stream.copy(view.buf, source.data(), static_cast<std::size_t>(view.len), uses);
            stream.synchronize();
        }
    } catch (...) {
        release_view();
        throw;
    }
    release_view();
    TREADLE_CHECK(fits, "host buffer of another size");
}

Array new_array(nb::handle shape, nb::handle dtype, array::Sharing shared) {
    const auto name = nb::cast<std::string>(dtype);
    if (is_record(name)) return array::empty_records(to_dims(shape), to_record(name), shared);
    return array::empty(to_dims(shape), to_dtype(dtype), shared);
}

Array empty(nb::handle shape, nb::handle dtype) { return new_array(shape, dtype, {}); }

// In memory that the host reaches as well.
Array empty_shared(nb::handle shape, nb::handle dtype, bool managed) {
    return new_array(shape, dtype, managed ? device::SharedMemory::Managed : device::SharedMemory::Pinned);
}

Array field(const Array& self, std::int64_t offset, nb::handle dtype) {
    return array::field_view(self, offset, to_dtype(dtype));
}

void fill(const Array& self, nb::handle value) {
    Operands operands;
    operands.add(value, "fill");
    const array::Operand& source = operands.span()[0];
    if (source.array != nullptr) {
        array::copy_into(self, *source.array);
    } else {
        array::fill(self, source);
    }
}

Array astype(const Array& self, nb::handle dtype) { return array::astype(self, to_dtype(dtype)); }
Array broadcast_to(const Array& self, nb::handle shape) {
    return array::broadcast_to(self, to_dims(shape, "broadcast_to: shape"));
}

Array arange(double start, double step, std::int64_t start_integer, std::int64_t step_integer, std::int64_t count,
             nb::handle dtype) {
    return array::arange(start, step, start_integer, step_integer, count, to_dtype(dtype));
}

Array linspace(double start, double stop, std::int64_t count, bool endpoint, nb::handle dtype) {
    return array::linspace(start, stop, count, endpoint, to_dtype(dtype));
}

Array random(array::Generator& self, const std::string& kind, nb::handle shape, nb::handle dtype, double low,
             double high) {
    return array::random(self, kind, to_dims(shape), to_dtype(dtype), low, high);
}

Array random_integers(array::Generator& self, nb::handle shape, nb::handle dtype, std::int64_t low,
                      std::uint64_t range) {
    return array::random_integers(self, to_dims(shape), to_dtype(dtype), low, range);
}

Array copy_of(const Array& self) { return array::contiguous_copy(self); }

}  // namespace

void bind_array(nb::module_& module) {
    nb::class_<Array>(module, "ndarray", nb::is_weak_referenceable())
        .def_prop_ro("shape", &shape_of)
        .def_prop_ro("strides", &strides_of)
        .def_prop_ro("size", &Array::size)
        .def_prop_ro("ndim", &Array::rank)
        .def_prop_ro("nbytes", &Array::size_bytes)
        .def_prop_ro("_dtype_name", &dtype_of)
        .def_prop_ro("_pointer", &pointer_of)
        .def_prop_ro("_storage_bytes", &storage_bytes)
        .def_prop_ro("_c_contiguous", &Array::is_c_contiguous)
        .def_prop_ro("_f_contiguous", &Array::is_f_contiguous)
        .def("_get", &get_item, nb::arg("item").none())
        .def("_set", &set_item, nb::arg("item").none(), nb::arg("value").none())
        .def("_reshape", &reshape, nb::arg("shape"))
        .def("_view", &view_as, nb::arg("dtype"))
        .def("_field", &field, nb::arg("offset"), nb::arg("dtype"))
        .def("_transpose", &array::transpose, nb::arg("axes"))
        .def("_broadcast_to", &broadcast_to, nb::arg("shape"))
        .def("_expand_dims", &array::expand_dims, nb::arg("axis"))
        .def("_squeeze", &array::squeeze, nb::arg("axis").none())
        .def("_astype", &astype, nb::arg("dtype"))
        .def("_copy", &copy_of)
        .def("_fill", &fill, nb::arg("value").none())
        .def("_copy_from_host", &copy_from_host, nb::arg("buffer"))
        .def("_copy_to_host", &copy_to_host, nb::arg("buffer"));
    nb::class_<array::Generator>(module, "Generator")
        .def(nb::init<>())
        .def_rw("seed", &array::Generator::seed)
        .def_rw("drawn", &array::Generator::drawn)
        .def("random", &random)
        .def("random_integers", &random_integers);
    module.def("empty", &empty, nb::arg("shape"), nb::arg("dtype"));
    module.def("empty_shared", &empty_shared, nb::arg("shape"), nb::arg("dtype"), nb::arg("managed"));
    module.def("arange", &arange);
    module.def("linspace", &linspace);
}

}  // namespace treadle::bindings
