// Kernels that somebody else compiled, and CUDA C++.
#include <array>
#include <cstring>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "device/cuda/cuda_module.h"
#include "device/cuda/linker.h"
#include "device/cuda/nvrtc.h"
#include "interop.h"

namespace treadle::bindings {
namespace {

using device::cuda::ForeignKernel;
using device::cuda::ForeignLaunch;
using device::cuda::Module;

// The values of a launch's parameters, as C has them.
class Values {
public:
    Values(const ForeignKernel& kernel, std::size_t count) : kernel_(kernel) {
        if (!kernel.knows_parameters() || kernel.parameters().size() == count) return;
        throw Error(ErrorKind::Type, kernel.name() + ": expected " + std::to_string(kernel.parameters().size()) +
                                         " arguments, got " + std::to_string(count));
    }

    void add(nb::handle value) {
        PyObject* object = value.ptr();
        if (nb::isinstance<array::Array>(value)) {
            const array::Array& array = *nb::inst_ptr<array::Array>(value);
            if (array.storage()) uses_.push_back(array.storage().get());
            pointer(array.data(), "an array");
        } else if (PyBool_Check(object)) {
            const bool flag = object == Py_True;
            put(&flag, sizeof flag, "bool");
        } else if (PyLong_Check(object)) {
            integer(value);
        } else if (PyFloat_CheckExact(object)) {
            const double number = PyFloat_AsDouble(object);
            put(&number, sizeof number, "float, which is C's double");
        } else if (PyComplex_CheckExact(object)) {
            const double parts[] = {PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)};
            put(parts, sizeof parts, "complex");
        } else if (value.is_none()) {
            pointer(nullptr, "None");
        } else if (nb::hasattr(value, "_array")) {
            if (value.attr("_array").is_none()) refuse("a buffer that is not closed", "a closed one");
            add(value.attr("_array"));
        } else if (!foreign(value)) {
            bytes(value);
        }
    }

    std::span<void*> pointers() {
        for (const std::size_t offset : offsets_) places_.push_back(bytes_.data() + offset);
        return {places_.begin(), places_.size()};
    }
    std::span<device::Storage* const> uses() const { return {uses_.begin(), uses_.size()}; }
    const ForeignStreams& streams() const { return streams_; }

private:
    std::size_t expected() const { return kernel_.knows_parameters() ? kernel_.parameters()[offsets_.size()].size : 0; }
    [[noreturn]] void refuse(const std::string& wanted, const std::string& got) const {
        throw Error(ErrorKind::Type, kernel_.name() + ": argument " + std::to_string(offsets_.size()) + ": expected " +
                                         wanted + ", got " + got);
    }
    void put(const void* bytes, std::size_t size, const std::string& what) {
        const std::size_t wanted = expected();
        if (wanted != 0 && wanted != size)
            refuse("a value of " + std::to_string(wanted) + " bytes", what + " of " + std::to_string(size) + " bytes");
        constexpr std::size_t kAlign = 16;
        const std::size_t offset = (bytes_.size() + kAlign - 1) / kAlign * kAlign;
        bytes_.resize(offset + std::max<std::size_t>(size, 1));
        if (size != 0) std::memcpy(bytes_.data() + offset, bytes, size);
        offsets_.push_back(offset);
    }
    void pointer(const void* address, const std::string& what) { put(&address, sizeof address, what); }

    // Takes the size of its parameter.
    void integer(nb::handle value) {
        const std::size_t wanted = expected();
        const std::size_t size = wanted == 1 || wanted == 2 || wanted == 4 ? wanted : 8;
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
        std::uint64_t bits = static_cast<std::uint64_t>(number);
        if (overflow > 0) {
            bits = PyLong_AsUnsignedLongLong(value.ptr());
            if (PyErr_Occurred() != nullptr) throw nb::python_error();
        }
        const auto width = static_cast<int>(8 * size);
        const bool fits = overflow == 0 ? size == 8 || (number >= -(1LL << (width - 1)) && number < (1LL << width))
                                        : overflow > 0 && size == 8;
        if (!fits)
            throw Error(ErrorKind::Overflow, kernel_.name() + ": argument " + std::to_string(offsets_.size()) +
                                                 ": expected an integer of " + std::to_string(size) + " bytes, got " +
                                                 nb::cast<std::string>(nb::str(value)));
        put(&bits, size, "int");
    }

    bool foreign(nb::handle value) {
        runtime::Arguments one;
        if (!add_foreign_array(one, value, std::to_string(offsets_.size()), streams_)) return false;
        pointer(reinterpret_cast<const void*>(one.words()[0]), "an array");
        return true;
    }

    // NumPy's and ctypes' scalars and structures.
    void bytes(nb::handle value) {
        const std::string type = nb::cast<std::string>(value.type().attr("__name__"));
        Py_buffer view;
        if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_SIMPLE) != 0) {
            PyErr_Clear();
            refuse("an array, a number, None, or a NumPy or ctypes value", type);
        }
        const bool is_array = nb::hasattr(value, "ndim") && nb::cast<int>(value.attr("ndim")) > 0;
        if (is_array) {
            PyBuffer_Release(&view);
            refuse("memory that the device reaches", "an array on the host: copy it with treadle.asarray(...)");
        }
        try {
            put(view.buf, static_cast<std::size_t>(view.len), type);
        } catch (...) {
            PyBuffer_Release(&view);
            throw;
        }
        PyBuffer_Release(&view);
    }

    const ForeignKernel& kernel_;
    // Most launches have few arguments, and no heap then.
    SmallVector<char, 256> bytes_;
    SmallVector<std::size_t, 16> offsets_;
    SmallVector<void*, 16> places_;
    SmallVector<device::Storage*, 16> uses_;
    ForeignStreams streams_;
};

void read(nb::handle dims, std::uint32_t* into) {
    const array::Dims values = to_dims(dims);
    for (std::size_t d = 0; d < 3 && d < values.size(); ++d) {
        if (values[d] < 1 || values[d] > 0x7fffffff) {
            throw_device_error("CUDA_ERROR_INVALID_VALUE",
                               "[launch] grid, block and cluster: expected 1 to 2147483647 in dimension " +
                                   std::to_string(d) + ", got " + std::to_string(values[d]));
        }
        into[d] = static_cast<std::uint32_t>(values[d]);
    }
}

void launch(const ForeignKernel& self, std::shared_ptr<device::Stream> stream, nb::handle grid, nb::handle block,
            std::uint32_t shared_bytes, bool cooperative, nb::handle cluster, nb::handle arguments) {
    const auto items = nb::cast<nb::tuple>(nb::borrow<nb::object>(arguments));
    Values values(self, items.size());
    for (const nb::handle item : items) values.add(item);
    ForeignLaunch launch;
    read(grid, launch.grid);
    read(block, launch.block);
    if (!cluster.is_none()) read(cluster, launch.cluster);
    launch.shared_bytes = shared_bytes;
    launch.cooperative = cooperative;
    launch.values = values.pointers();
    launch.uses = values.uses();
    device::Stream& target = stream != nullptr ? *stream : array::current_stream();
    values.streams().before(target);
    target.count(device::Count::Launches);
    device::cuda::launch(self, target, launch);
    values.streams().after(target);
}

std::string to_string(const nb::bytes& text) { return {text.c_str(), text.size()}; }

std::shared_ptr<Module> load_module(const nb::bytes& image) { return Module::load(to_string(image)); }

nb::tuple compile_cpp(const nb::bytes& code, const std::string& name, const std::vector<std::string>& options,
                      const std::vector<std::string>& headers, const std::vector<std::string>& header_names,
                      const std::vector<std::string>& expressions, const std::string& target) {
    const device::cuda::CppRequest request{to_string(code),     name, options, headers, header_names, expressions,
                                           to_code_kind(target)};
    device::cuda::CppResult result;
    {
        const nb::gil_scoped_release unlocked;
        result = device::cuda::compile_cpp(request);
    }
    return nb::make_tuple(nb::bytes(result.code.data(), result.code.size()), result.log, result.names);
}

nb::tuple link(nb::handle images, const std::string& arch, std::vector<std::string> options, bool to_ptx,
               bool nvjitlink) {
    device::cuda::LinkRequest request{to_code_images(images), arch, std::move(options), to_ptx, nvjitlink};
    device::cuda::LinkResult result;
    {
        const nb::gil_scoped_release unlocked;
        result = device::cuda::link(request);
    }
    return nb::make_tuple(nb::bytes(result.code.data(), result.code.size()), result.log);
}

std::vector<std::pair<std::size_t, std::size_t>> parameters(const ForeignKernel& self) {
    std::vector<std::pair<std::size_t, std::size_t>> result;
    for (const auto& parameter : self.parameters()) result.emplace_back(parameter.offset, parameter.size);
    return result;
}

std::shared_ptr<ForeignKernel> get_kernel(std::shared_ptr<Module> module, const std::string& name) {
    return std::make_shared<ForeignKernel>(std::move(module), name);
}

}  // namespace

void bind_foreign_kernels(nb::module_& module) {
    nb::class_<Module>(module, "Module")
        .def("kernel", &get_kernel, nb::arg("name"))
        .def("variable", &Module::global, nb::arg("name"));
    nb::class_<ForeignKernel>(module, "ForeignKernel")
        .def_prop_ro("name", &ForeignKernel::name)
        .def_prop_ro("knows_parameters", &ForeignKernel::knows_parameters)
        .def_prop_ro("parameters", &parameters)
        .def("attribute", &ForeignKernel::attribute, nb::arg("number"))
        .def("set_attribute", &ForeignKernel::set_attribute, nb::arg("number"), nb::arg("value"))
        .def("occupancy", &ForeignKernel::occupancy, nb::arg("threads"), nb::arg("shared_bytes"))
        .def("launch", &launch, nb::arg("stream").none(), nb::arg("grid"), nb::arg("block"), nb::arg("shared_bytes"),
             nb::arg("cooperative"), nb::arg("cluster").none(), nb::arg("arguments"));
    module.def("load_module", &load_module, nb::arg("image"));
    module.def("compile_cpp", &compile_cpp, nb::arg("code"), nb::arg("name"), nb::arg("options"), nb::arg("headers"),
               nb::arg("header_names"), nb::arg("expressions"), nb::arg("target"));
    module.def("link", &link, nb::arg("images"), nb::arg("arch"), nb::arg("options"), nb::arg("to_ptx"),
               nb::arg("nvjitlink"));
    module.def("use_nvjitlink", &device::cuda::use_nvjitlink, nb::arg("path"));
    module.def("nvjitlink_version", &device::cuda::nvjitlink_version);
    module.def("use_nvrtc", &device::cuda::use_nvrtc, nb::arg("path"));
    module.def("has_nvrtc", &device::cuda::has_nvrtc);
    module.def("nvrtc_version", &device::cuda::nvrtc_version);
}

}  // namespace treadle::bindings
