#include "cupy_arrays.h"

#include <unordered_map>

namespace treadle::bindings {
namespace {

// An attribute of a type's instances, found once: a launch reads several for each array, and most of what that costs is
// the search through the type and its bases.
class Attribute {
public:
    Attribute(PyTypeObject* type, const char* name)
        : name_(PyUnicode_InternFromString(name)),
          descriptor_(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name_)) {
        if (descriptor_ == nullptr) {
            PyErr_Clear();  // an attribute of the instance
            return;
        }
        get_ = reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(descriptor_), Py_tp_descr_get));
    }
    nb::object of(nb::handle object) const {
        PyObject* found =
            get_ != nullptr ? get_(descriptor_, object.ptr(), nullptr) : PyObject_GetAttr(object.ptr(), name_);
        if (found == nullptr) throw nb::python_error();
        return nb::steal(found);
    }

private:
    PyObject* name_;
    PyObject* descriptor_;
    descrgetfunc get_ = nullptr;
};

// Of CuPy's arrays, and of what describes their memory.
struct Attributes {
    explicit Attributes(nb::handle array)
        : data(Py_TYPE(array.ptr()), "data"),
          shape(Py_TYPE(array.ptr()), "shape"),
          dtype(Py_TYPE(array.ptr()), "dtype"),
          strides(Py_TYPE(array.ptr()), "strides"),
          is_dense(Py_TYPE(array.ptr()), "_c_contiguous"),
          memory(Py_TYPE(data.of(array).ptr())),
          pointer(memory, "ptr"),
          device(memory, "device_id") {}
    Attribute data, shape, dtype, strides, is_dense;
    PyTypeObject* memory;
    Attribute pointer, device;
};

const Attributes& attributes_of(nb::handle array) {
    static auto* const known = new std::unordered_map<PyTypeObject*, const Attributes*>;
    const Attributes*& attributes = (*known)[Py_TYPE(array.ptr())];
    if (attributes == nullptr) attributes = new Attributes(array);
    return *attributes;
}

bool has_text(PyTypeObject* type, const char* attribute, const char* text) {
    PyObject* found = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), attribute);
    if (found == nullptr) PyErr_Clear();
    const bool same = found != nullptr && PyUnicode_Check(found) && PyUnicode_CompareWithASCIIString(found, text) == 0;
    Py_XDECREF(found);
    return same;
}

// NumPy keeps one object for each plain type, so its address tells the type; others are converted each time.
DType element_type(nb::handle dtype) {
    static constexpr std::size_t kMost = 64;
    static auto* const known = new std::unordered_map<PyObject*, DType>;
    const auto found = known->find(dtype.ptr());
    if (found != known->end()) return found->second;
    const DType type = to_dtype(dtype.attr("str"));
    if (known->size() < kMost) known->emplace(dtype.inc_ref().ptr(), type);
    return type;
}

}  // namespace

bool is_cupy_array(PyTypeObject* type) {
    return has_text(type, "__name__", "ndarray") && has_text(type, "__module__", "cupy");
}

std::optional<interop::ForeignView> cupy_view(nb::handle array) {
    const Attributes& attributes = attributes_of(array);
    interop::ForeignView view{};
    const nb::object memory = attributes.data.of(array);
    if (Py_TYPE(memory.ptr()) != attributes.memory) return std::nullopt;
    view.data = reinterpret_cast<char*>(PyLong_AsVoidPtr(attributes.pointer.of(memory).ptr()));
    view.device = {interop::kDlCuda, static_cast<std::int32_t>(to_integer(attributes.device.of(memory)))};
    view.dtype = element_type(attributes.dtype.of(array));
    view.shape = to_dims(attributes.shape.of(array));
    const bool is_dense = PyObject_IsTrue(attributes.is_dense.of(array).ptr()) == 1;
    view.strides = is_dense ? array::dense_strides(view.shape, view.dtype) : to_dims(attributes.strides.of(array));
    return view;
}

std::uint64_t cupy_stream() {
    static const auto* const current = new nb::object(nb::module_::import_("cupy.cuda").attr("get_current_stream"));
    return nb::cast<std::uint64_t>((*current)().attr("ptr"));
}

}  // namespace treadle::bindings
