#include "interop.h"

#include <algorithm>
#include <unordered_map>

#include <nanobind/stl/string.h>

#include "base/error.h"
#include "cupy_arrays.h"
#include "interop/dlpack.h"

namespace treadle::bindings {
namespace {

using array::Array;
using interop::DlExchange;
using interop::DlManagedTensor;
using interop::DlManagedTensorVersioned;
using interop::DlTensor;
using interop::ForeignView;

// The memory of somebody else: keeps an object of Python's alive.
class PythonStorage final : public device::Storage {
public:
    PythonStorage(void* data, std::size_t size_bytes, device::Place place, nb::object owner)
        : Storage(data, size_bytes, nullptr, place), owner_(std::move(owner)) {}
    ~PythonStorage() override {
        // Work on the memory may be the last user, in a thread of its own; at the interpreter's end nothing is left to
        // do.
        if (!Py_IsInitialized()) {
            owner_.release();
            return;
        }
        const nb::gil_scoped_acquire locked;
        owner_.reset();
    }

private:
    nb::object owner_;
};

// What a type of arrays offers, looked up once.
struct Offer {
    const DlExchange* table = nullptr;  // DLPack's
    bool is_cupy = false;
};

Offer offer_of(PyTypeObject* type) {
    static auto* const known = new std::unordered_map<PyTypeObject*, Offer>;
    const auto found = known->find(type);
    if (found != known->end()) return found->second;
    const DlExchange* table = nullptr;
    PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
    if (capsule == nullptr) {
        PyErr_Clear();
    } else {
        if (PyCapsule_IsValid(capsule, "dlpack_exchange_api") != 0)
            table = static_cast<const DlExchange*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
        Py_DECREF(capsule);
    }
    while (table != nullptr && table->version.major != 1) table = table->previous;
    if (table != nullptr && table->tensor_from_object == nullptr) table = nullptr;
    Py_INCREF(reinterpret_cast<PyObject*>(type));  // its address stands for it
    const Offer offer{table, is_cupy_array(type)};
    known->emplace(type, offer);
    return offer;
}

void add_view(runtime::Arguments& arguments, const ForeignView& view, const std::string& name) {
    if (!interop::is_reachable(view.device)) {
        throw Error(ErrorKind::Type,
                    "argument '" + name + "': expected memory that the current device reaches, got that of " +
                        (view.device.type == interop::kDlCpu ? "the host" : "GPU " + std::to_string(view.device.id)));
    }
    const Array array({}, view.data, view.dtype, view.shape, view.strides);
    arguments.add_array(array.dtype(), array.rank(), array.layout(), array.data(), array.shape().data(),
                        array.strides().data(), nullptr);
}

struct Described {
    ForeignView view;
    std::uint64_t stream;  // 0: none to wait for
};

// A dictionary as __cuda_array_interface__ gives it.
Described described(const nb::dict& facts) {
    const auto item = [&](const char* key) {
        PyObject* value = PyDict_GetItemString(facts.ptr(), key);
        return value == nullptr ? nb::none() : nb::borrow<nb::object>(value);
    };
    for (const char* key : {"typestr", "shape", "data"}) {
        if (item(key).is_none())
            throw Error(ErrorKind::Type, "__cuda_array_interface__: expected the key '" + std::string(key) + "'");
    }
    if (!PyUnicode_Check(item("typestr").ptr()))
        throw Error(ErrorKind::Type, "__cuda_array_interface__: typestr: expected a text");
    if (!PyTuple_Check(item("data").ptr()) || PyTuple_Size(item("data").ptr()) != 2)
        throw Error(ErrorKind::Type, "__cuda_array_interface__: data: expected (address, read only)");
    if (nb::cast<bool>(nb::bool_(item("data")[1])))
        throw Error(ErrorKind::Type,
                    "__cuda_array_interface__: expected memory that may be written, got read-only data");
    if (!item("mask").is_none()) throw Error(ErrorKind::Type, "__cuda_array_interface__: mask: expected None");
    Described result{};
    ForeignView& view = result.view;
    view.dtype = to_dtype(item("typestr"));
    view.shape = to_dims(item("shape"));
    const nb::object strides = item("strides");
    view.strides = strides.is_none() ? array::dense_strides(view.shape, view.dtype) : to_dims(strides);
    for (const std::int64_t extent : view.shape) {
        if (extent < 0)
            throw Error(ErrorKind::Argument, "__cuda_array_interface__: shape: expected no negative extent");
    }
    if (view.strides.size() != view.shape.size())
        throw Error(ErrorKind::Argument, "__cuda_array_interface__: strides: expected as many as extents");
    view.data = reinterpret_cast<char*>(nb::cast<std::uint64_t>(item("data")[0]));
    if (view.data == nullptr && std::find(view.shape.begin(), view.shape.end(), 0) == view.shape.end())
        throw Error(ErrorKind::Argument,
                    "__cuda_array_interface__: data: expected an address, got 0 for an array with elements");
    view.device = {interop::kDlCuda, device::current_device_index()};
    const nb::object stream = item("stream");
    if (!stream.is_none()) {
        result.stream = nb::cast<std::uint64_t>(stream);
        if (result.stream == 0)
            throw Error(
                ErrorKind::Argument,
                "__cuda_array_interface__: stream: expected None, 1 (legacy), 2 (per thread) or a handle, got 0");
    }
    return result;
}

Array owned(const ForeignView& view, nb::object owner) {
    if (!interop::is_reachable(view.device))
        throw Error(ErrorKind::Type, "expected memory that the current device reaches");
    std::size_t size = static_cast<std::size_t>(size_of(view.dtype));
    for (std::size_t i = 0; i < view.shape.size(); ++i)
        size += static_cast<std::size_t>(std::abs(view.strides[i]) * std::max<std::int64_t>(view.shape[i] - 1, 0));
    const device::Place place = view.device.type == interop::kDlCuda          ? device::Place::Device
                                : view.device.type == interop::kDlCudaManaged ? device::Place::Managed
                                                                              : device::Place::Host;
    device::StorageRef storage(new PythonStorage(view.data, size, place, std::move(owner)));
    return {std::move(storage), view.data, view.dtype, view.shape, view.strides};
}

// An array that shares the memory that a dictionary describes; owner is kept alive.
Array from_cuda_interface(const nb::dict& facts, nb::object owner, bool waits) {
    const Described found = described(facts);
    if (waits && found.stream != 0) array::current_stream().wait_for_handle(found.stream);
    return owned(found.view, std::move(owner));
}

void release_managed(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned") != 0) {
        auto* managed = static_cast<DlManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
        managed->deleter(managed);
    } else if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
        auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
        managed->deleter(managed);
    }
}

nb::object to_dlpack(const Array& self, bool versioned) {
    if (versioned)
        return nb::steal(
            PyCapsule_New(interop::exported_versioned(self).release(), "dltensor_versioned", release_managed));
    return nb::steal(PyCapsule_New(interop::exported(self).release(), "dltensor", release_managed));
}

template <class Managed>
Array take(nb::handle capsule, const char* name, const char* used) {
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if constexpr (requires { managed->flags; }) {
        if ((managed->flags & interop::kDlReadOnly) != 0)
            throw nb::buffer_error(
                "from_dlpack: expected memory that may be written, got a read-only array: ask for copy=True");
    }
    const ForeignView view = interop::view_of(managed->tensor);
    PyObject* owner = PyCapsule_New(managed, nullptr, [](PyObject* own) {
        auto* kept = static_cast<Managed*>(PyCapsule_GetPointer(own, nullptr));
        if (kept->deleter != nullptr) kept->deleter(kept);
    });
    PyCapsule_SetName(capsule.ptr(), used);
    return owned(view, nb::steal(owner));
}

Array from_capsule(nb::handle capsule) {
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0)
        return take<DlManagedTensorVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned");
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0)
        return take<DlManagedTensor>(capsule, "dltensor", "used_dltensor");
    throw Error(ErrorKind::Type, "from_dlpack: expected a DLPack capsule that nobody used yet");
}

nb::tuple dlpack_device(const Array& self) {
    const interop::DlDevice device = interop::device_of(self);
    return nb::make_tuple(device.type, device.id);
}

int device_of(const Array& self) {
    const device::Device* owner = self.storage() ? self.storage()->owner() : nullptr;
    return owner != nullptr ? owner->index() : device::current_device_index();
}

// The current stream's work, and what a stream of somebody else is given from now on, in this order.
void let_wait(std::uint64_t handle) { array::current_stream().order_handle_after(handle); }

}  // namespace

void ForeignStreams::add(std::uint64_t handle) {
    if (std::find(handles_.begin(), handles_.end(), handle) == handles_.end()) handles_.push_back(handle);
}

void ForeignStreams::add_current_of_cupy() {
    if (!knows_cupy_) add(cupy_stream());
    knows_cupy_ = true;
}

void ForeignStreams::before(device::Stream& stream) const {
    for (const std::uint64_t handle : handles_) stream.wait_for_handle(handle);
}

void ForeignStreams::after(device::Stream& stream) const {
    for (const std::uint64_t handle : handles_) stream.order_handle_after(handle);
}

bool add_foreign_array(runtime::Arguments& arguments, nb::handle value, const std::string& name,
                       ForeignStreams& streams) {
    const Offer offer = offer_of(Py_TYPE(value.ptr()));
    if (const DlExchange* table = offer.table; table != nullptr) {
        DlTensor tensor{};
        if (table->tensor_from_object(value.ptr(), &tensor) != 0) throw nb::python_error();
        const ForeignView view = interop::view_of(tensor);
        add_view(arguments, view, name);
        void* stream = nullptr;
        if (view.device.type == interop::kDlCuda && table->current_stream != nullptr &&
            table->current_stream(view.device.type, view.device.id, &stream) == 0)
            streams.add(reinterpret_cast<std::uint64_t>(stream));
        return true;
    }
    if (!device::uses_gpus()) return false;
    if (const auto view = offer.is_cupy ? cupy_view(value) : std::nullopt) {
        add_view(arguments, *view, name);
        streams.add_current_of_cupy();
        return true;
    }
    PyObject* facts = PyObject_GetAttrString(value.ptr(), "__cuda_array_interface__");
    if (facts == nullptr) {
        PyErr_Clear();
        return false;
    }
    const nb::object held = nb::steal(facts);
    if (!nb::isinstance<nb::dict>(held))
        throw Error(ErrorKind::Type, "argument '" + name + "': __cuda_array_interface__: expected a dictionary");
    const Described found = described(nb::borrow<nb::dict>(held));
    add_view(arguments, found.view, name);
    if (found.stream != 0) streams.add(found.stream);
    return true;
}

void bind_interop(nb::module_& module) {
    module.def("from_cuda_interface", &from_cuda_interface, nb::arg("facts"), nb::arg("owner").none(),
               nb::arg("waits"));
    module.def("to_dlpack", &to_dlpack, nb::arg("array"), nb::arg("versioned"));
    module.def("from_capsule", &from_capsule, nb::arg("capsule"));
    module.def("dlpack_device", &dlpack_device, nb::arg("array"));
    module.def("device_of", &device_of, nb::arg("array"));
    module.def("let_wait", &let_wait, nb::arg("handle"));
}

}  // namespace treadle::bindings
