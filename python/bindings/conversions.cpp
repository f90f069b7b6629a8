#include <nanobind/stl/string.h>

#include "base/error.h"
#include "module.h"

namespace treadle::bindings {

DType to_dtype(nb::handle name) {
    const auto text = nb::cast<std::string>(name);
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto type = static_cast<DType>(i);
        if (info(type).name == text || info(type).numpy_str == text) return type;
    }
    throw Error(ErrorKind::Type, "dtype: expected a boolean, integer, floating or complex type, got '" + text + "'");
}

array::RecordRef to_record(const std::string& layout) {
    const std::size_t at = layout.find(' ');
    return std::make_shared<array::Record>(array::Record{layout, std::stoll(layout.substr(at))});
}

CodeKind to_code_kind(const std::string& text) {
    for (std::size_t i = 0; i < std::size(kCodeKinds); ++i) {
        if (kCodeKinds[i].text == text) return static_cast<CodeKind>(i);
    }
    throw Error(ErrorKind::Argument, "kind of code: got '" + text + "'");
}

CodeImages to_code_images(nb::handle images) {
    CodeImages result;
    for (const nb::handle image : nb::iter(images)) {
        const auto data = nb::cast<nb::bytes>(image[1]);
        result.push_back({to_code_kind(nb::cast<std::string>(image[0])), std::string(data.c_str(), data.size()),
                          nb::cast<std::string>(image[2])});
    }
    return result;
}

std::int64_t to_integer(nb::handle value) {
    const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
    if (!number.is_valid()) throw nb::python_error();
    const long long result = PyLong_AsLongLong(number.ptr());
    if (result == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return result;
}

array::Dims to_dims(nb::handle shape, const char* what) {
    const auto refuse = [&] {
        throw Error(ErrorKind::Type, std::string(what) + ": expected an integer or a sequence of integers, got " +
                                         nb::cast<std::string>(nb::repr(shape)));
    };
    const auto extent = [&](nb::handle item) {
        if (PyIndex_Check(item.ptr()) == 0) refuse();
        return to_integer(item);
    };
    array::Dims dims;
    if (PyIndex_Check(shape.ptr())) {
        dims.push_back(to_integer(shape));
        return dims;
    }
    if (PyTuple_CheckExact(shape.ptr())) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(shape.ptr()); ++i)
            dims.push_back(extent(PyTuple_GetItem(shape.ptr(), i)));
        return dims;
    }
    const bool is_sequence =
        PySequence_Check(shape.ptr()) != 0 && PyUnicode_Check(shape.ptr()) == 0 && PyBytes_Check(shape.ptr()) == 0;
    if (!is_sequence) refuse();
    for (const nb::handle item : nb::iter(shape)) dims.push_back(extent(item));
    return dims;
}

nb::tuple to_tuple(const array::Dims& dims) {
    nb::object result = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
    for (std::size_t i = 0; i < dims.size(); ++i)
        PyTuple_SetItem(result.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(dims[i]));
    return nb::borrow<nb::tuple>(result);
}

std::optional<std::vector<std::int64_t>> to_axes(nb::handle axes) {
    if (axes.is_none()) return std::nullopt;
    if (!PyIndex_Check(axes.ptr()) && !PyTuple_Check(axes.ptr()) && !PyList_Check(axes.ptr())) {
        throw Error(ErrorKind::Type, "axis: expected None, an integer or a tuple of integers, got " +
                                         nb::cast<std::string>(axes.type().attr("__name__")));
    }
    const array::Dims dims = to_dims(axes, "axis");
    return std::vector<std::int64_t>(dims.begin(), dims.end());
}

namespace {

// A comparison with such a number has an answer; elsewhere it is refused.
array::Operand beyond_int64(PyObject* number, int sign) {
    const unsigned long long large = sign > 0 ? PyLong_AsUnsignedLongLong(number) : 0;
    const bool fits = sign > 0 && PyErr_Occurred() == nullptr;
    PyErr_Clear();
    array::Operand operand{static_cast<std::int64_t>(large)};
    operand.kind = fits ? 'u' : 'h';
    operand.real = fits ? static_cast<double>(large) : sign > 0 ? __builtin_inf() : -__builtin_inf();
    return operand;
}

}  // namespace

void Operands::push(array::Operand operand) {
    if (count_ == operands_.size())
        throw Error(ErrorKind::Type, "expected at most " + std::to_string(operands_.size() - 1) + " operands");
    operands_[count_++] = operand;
}

void Operands::add(nb::handle value, const char* operation) {
    PyObject* object = value.ptr();
    if (nb::isinstance<array::Array>(value)) {
        push(*nb::inst_ptr<array::Array>(value));
    } else if (PyBool_Check(object)) {
        push(object == Py_True);
    } else if (PyFloat_CheckExact(object)) {
        push(PyFloat_AsDouble(object));
    } else if (PyComplex_CheckExact(object)) {
        push(std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)));
    } else if (PyLong_Check(object)) {
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
        array::Operand operand{static_cast<std::int64_t>(number)};
        if (overflow != 0) operand = beyond_int64(object, overflow);
        push(operand);
    } else {
        // NumPy scalars have a type of their own and become 0-d arrays; everything else is refused there by name.
        nb::object converted = nb::module_::import_("treadle._convert").attr("operand")(value, operation);
        keeps_.push_back(converted);
        add(converted, operation);
    }
}

}  // namespace treadle::bindings
