#include <bit>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "interop.h"
#include "module.h"
#include "runtime/compiler_loader.h"
#include "runtime/function.h"
#include "runtime/kernel_store.h"

namespace treadle::bindings {
namespace {

using runtime::Arguments;

ArgType to_arg_type(nb::handle value) {
    ArgType type;
    const auto items = nb::cast<nb::tuple>(nb::borrow<nb::object>(value));
    const auto kind = nb::cast<std::string>(items[0]);
    if (kind == "none") {
        type.kind = ArgType::Kind::None;
        return type;
    }
    if (kind == "tuple" || kind == "namedtuple") {
        type.kind = ArgType::Kind::Tuple;
        std::size_t first = 1;
        if (kind == "namedtuple") {
            for (const nb::handle name : nb::iter(items[first])) type.names.push_back(nb::cast<std::string>(name));
            ++first;
        }
        for (std::size_t i = first; i < items.size(); ++i) type.items.push_back(to_arg_type(items[i]));
        return type;
    }
    const auto element = nb::cast<std::string>(items[1]);
    if (is_record(element)) {
        type.record = element;
    } else {
        type.dtype = to_dtype(items[1]);
    }
    if (kind == "record") type.kind = ArgType::Kind::Record;
    if (kind == "array") {
        type.kind = ArgType::Kind::Array;
        type.rank = static_cast<std::uint8_t>(nb::cast<int>(items[2]));
        type.layout = static_cast<Layout>(nb::cast<int>(items[3]));
    }
    return type;
}

nb::tuple from_arg_type(const ArgType& type) {
    if (type.kind == ArgType::Kind::None) return nb::make_tuple("none");
    if (type.kind == ArgType::Kind::Tuple) {
        nb::list items;
        items.append(type.names.empty() ? "tuple" : "namedtuple");
        if (!type.names.empty()) {
            nb::list names;
            for (const std::string& name : type.names) names.append(name);
            items.append(nb::tuple(names));
        }
        for (const ArgType& item : type.items) items.append(from_arg_type(item));
        return nb::tuple(items);
    }
    if (type.kind == ArgType::Kind::Record) return nb::make_tuple("record", type.record);
    const std::string dtype(type.record.empty() ? name_of(type.dtype) : type.record);
    if (type.kind == ArgType::Kind::Scalar) return nb::make_tuple("scalar", dtype);
    return nb::make_tuple("array", dtype, static_cast<int>(type.rank), static_cast<int>(type.layout));
}

std::vector<ArgType> to_arg_types(nb::handle types) {
    std::vector<ArgType> result;
    for (const nb::handle type : nb::iter(types)) result.push_back(to_arg_type(type));
    return result;
}

std::shared_ptr<runtime::Function> make_function(const std::string& name, const std::string& program,
                                                 nb::handle sources, int bounds, bool contract, bool fastmath,
                                                 const std::string& disabled_passes, int debug, bool optimize,
                                                 int min_blocks, int max_registers, nb::handle links) {
    CompileRequest request;
    request.program = program;
    request.options.bounds = static_cast<Bounds>(bounds);
    request.options.contract = contract;
    request.options.fastmath = fastmath;
    request.options.disabled_passes = disabled_passes;
    request.options.debug = static_cast<DebugLevel>(debug);
    request.options.optimize = optimize;
    request.options.min_blocks = min_blocks;
    request.options.max_registers = max_registers;
    if (CodeImages images = to_code_images(links); !images.empty())
        request.links = std::make_shared<const CodeImages>(std::move(images));
    for (const nb::handle source : nb::iter(sources)) {
        request.sources.push_back(
            {nb::cast<std::string>(source[0]), nb::cast<int>(source[1]), nb::cast<std::string>(source[2])});
    }
    return std::make_shared<runtime::Function>(name, std::move(request));
}

// Returns false for a type that Python has to convert first.
bool add_argument(Arguments& arguments, nb::handle value) {
    PyObject* object = value.ptr();
    if (nb::isinstance<array::Array>(value)) {
        const array::Array& array = *nb::inst_ptr<array::Array>(value);
        if (const array::RecordRef& record = array.record(); record != nullptr) {
            arguments.add_record_array(record->text, record->size_bytes, array.rank(), array.layout(), array.data(),
                                       array.shape().data(), array.strides().data(), array.storage().get());
            return true;
        }
        arguments.add_array(array.dtype(), array.rank(), array.layout(), array.data(), array.shape().data(),
                            array.strides().data(), array.storage().get());
    } else if (PyFloat_CheckExact(object)) {
        arguments.add_scalar(DType::Float64, std::bit_cast<std::uint64_t>(PyFloat_AsDouble(object)));
    } else if (PyComplex_CheckExact(object)) {
        arguments.add_complex(DType::Complex128, std::bit_cast<std::uint64_t>(PyComplex_RealAsDouble(object)),
                              std::bit_cast<std::uint64_t>(PyComplex_ImagAsDouble(object)));
    } else if (PyBool_Check(object)) {
        arguments.add_scalar(DType::Bool, object == Py_True);
    } else if (PyLong_CheckExact(object)) {
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0) {
            arguments.add_scalar(DType::Int64, static_cast<std::uint64_t>(number));
        } else {
            const unsigned long long large = PyLong_AsUnsignedLongLong(object);
            if (PyErr_Occurred() != nullptr) {
                PyErr_Clear();
                return false;
            }
            arguments.add_scalar(DType::UInt64, large);
        }
    } else if (value.is_none()) {
        arguments.add_none();
    } else {
        return false;
    }
    return true;
}

// What is the same for all arguments of a launch.
struct ArgumentContext {
    const std::string& kernel;
    bool copies_host_arrays;
    nb::list keeps;  // what was made for the launch
    ForeignStreams streams;
};

// Tuples, arrays of other libraries, and what Python converts: all that add_argument does not know.
void add_other_argument(Arguments& arguments, nb::handle value, const std::string& name, ArgumentContext& context) {
    PyObject* object = value.ptr();
    if (PyTuple_Check(object) && PyTuple_Size(object) > 0) {
        if (PyTuple_CheckExact(object) || !nb::hasattr(value, "_fields")) {
            arguments.begin_tuple(static_cast<int>(PyTuple_Size(object)));
        } else {
            arguments.begin_named_tuple(nb::cast<std::vector<std::string>>(value.attr("_fields")));
        }
        int number = 0;
        for (const nb::handle item : nb::iter(value)) {
            const std::string place = name + "[" + std::to_string(number++) + "]";
            if (!add_argument(arguments, item)) add_other_argument(arguments, item, place, context);
        }
        return;
    }
    if (add_foreign_array(arguments, value, name, context.streams)) return;
    const nb::object converted = nb::module_::import_("treadle._convert")
                                     .attr("argument")(value, context.kernel, name, context.copies_host_arrays);
    context.keeps.append(converted);
    const bool is_scalar = PyTuple_Check(converted.ptr()) && PyUnicode_Check(PyTuple_GetItem(converted.ptr(), 0));
    if (!is_scalar) {
        add_argument(arguments, converted);
    } else if (nb::isinstance<array::Array>(converted[1])) {
        const array::Array& record = *nb::inst_ptr<array::Array>(converted[1]);
        arguments.add_record(record.record()->text, record.data(), record.storage().get());
    } else if (PyTuple_Size(converted.ptr()) == 3) {
        arguments.add_complex(to_dtype(converted[0]), nb::cast<std::uint64_t>(converted[1]),
                              nb::cast<std::uint64_t>(converted[2]));
    } else {
        arguments.add_scalar(to_dtype(converted[0]), nb::cast<std::uint64_t>(converted[1]));
    }
}

// kernel[grid, block, stream]: everything but the arguments.
struct Launcher {
    std::shared_ptr<runtime::Function> function;
    runtime::LaunchShape shape;
    std::shared_ptr<device::Stream> stream;  // null: the current one
    std::vector<std::string> names;          // of the parameters, for messages
    bool copies_host_arrays = false;
    runtime::LaunchMemo memo;
};

void read_shape(nb::handle value, std::int64_t* into, const char* what) {
    const array::Dims dims = to_dims(value);
    if (dims.empty() || dims.size() > 3) {
        throw Error(ErrorKind::Argument, std::string(what) +
                                             ": expected an integer or a tuple of 1 to 3 integers, got " +
                                             std::to_string(dims.size()) + " items");
    }
    std::copy(dims.begin(), dims.end(), into);
}

void launch(Launcher& self, PyObject* const* args, std::size_t count) {
    if (count != self.names.size()) {
        std::string names;
        for (const std::string& name : self.names) names += (names.empty() ? "" : ", ") + name;
        throw Error(ErrorKind::Type, self.function->name() + ": expected " + std::to_string(self.names.size()) +
                                         " arguments (" + names + "), got " + std::to_string(count));
    }
    static thread_local Arguments arguments;
    arguments.clear();
    std::optional<ArgumentContext> context;
    for (std::size_t i = 0; i < count; ++i) {
        // The usual ones first: what needs names or conversions costs more.
        if (add_argument(arguments, args[i])) continue;
        if (!context) context.emplace(ArgumentContext{self.function->name(), self.copies_host_arrays, {}, {}});
        add_other_argument(arguments, args[i], self.names[i], *context);
    }
    device::Stream& stream = self.stream != nullptr ? *self.stream : array::current_stream();
    if (context) context->streams.before(stream);
    self.function->launch(self.shape, stream, arguments, self.memo);
    if (context) context->streams.after(stream);
}

constexpr const char* kLauncherCapsule = "treadle launcher";

// Called by Python itself, without an object of the binding between: a launch costs about as much as what surrounds it.
PyObject* call_launcher(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    try {
        auto* self = static_cast<Launcher*>(PyCapsule_GetPointer(capsule, kLauncherCapsule));
        if (keywords != nullptr && PyTuple_Size(keywords) != 0)
            throw Error(ErrorKind::Type,
                        self->function->name() + ": a launch takes its arguments by position, not by keyword");
        launch(*self, args, static_cast<std::size_t>(count));
        Py_RETURN_NONE;
    } catch (...) {
        set_python_error(std::current_exception());
        return nullptr;
    }
}

// kernel[grid, block, stream]: a function that launches.
nb::callable make_launcher(std::shared_ptr<runtime::Function> function, nb::handle grid, nb::handle block,
                           std::shared_ptr<device::Stream> stream, std::int64_t shared_bytes,
                           std::vector<std::string> names, bool copies_host_arrays) {
    static PyMethodDef definition = {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&call_launcher)),
                                     METH_FASTCALL | METH_KEYWORDS, "Launches a kernel."};
    auto launcher = std::make_unique<Launcher>(
        Launcher{std::move(function), {}, std::move(stream), std::move(names), copies_host_arrays, {}});
    launcher->shape.shared_bytes = shared_bytes;
    read_shape(grid, launcher->shape.grid, "grid");
    read_shape(block, launcher->shape.block, "block");
    const nb::object capsule = nb::steal(PyCapsule_New(launcher.get(), kLauncherCapsule, [](PyObject* own) {
        delete static_cast<Launcher*>(PyCapsule_GetPointer(own, kLauncherCapsule));
    }));
    if (!capsule.is_valid()) throw nb::python_error();
    launcher.release();
    return nb::steal<nb::callable>(PyCFunction_NewEx(&definition, capsule.ptr(), nullptr));
}

nb::tuple last_compile(const runtime::Function& self) {
    const runtime::Provenance facts = self.last_compile();
    return nb::make_tuple(facts.milliseconds, facts.path, facts.from_cache, facts.packet);
}

void prepare(runtime::Function& self, nb::handle types) { self.prepare(to_arg_types(types)); }

std::string dump(const runtime::Function& self, nb::handle types, const std::string& stage, nb::handle block,
                 std::optional<int> capability, const std::vector<int>& equal_extents, bool coarse,
                 bool small_numbers) {
    runtime::LaunchShape shape;
    read_shape(block, shape.block, "block");
    CompileRequest request = self.request_for(to_arg_types(types), shape);
    request.options.cuda_capability = capability.value_or(request.options.cuda_capability);
    request.options.equal_extents.assign(equal_extents.begin(), equal_extents.end());
    request.options.coarse = coarse;
    request.options.small_numbers = small_numbers;
    return runtime::compiler().dump(request, stage);
}

nb::list signatures(const runtime::Function& self) {
    nb::list result;
    for (const auto& types : self.signatures()) {
        nb::list one;
        for (const ArgType& type : types) one.append(from_arg_type(type));
        result.append(nb::tuple(one));
    }
    return result;
}

// Every way from Python to a compilation holds the lock.
void* give_up_lock() { return PyEval_SaveThread(); }

void take_lock(void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }

}  // namespace

void bind_kernel(nb::module_& module) {
    runtime::set_compile_hooks({give_up_lock, take_lock});
    nb::class_<runtime::Function>(module, "Function")
        .def("prepare", &prepare, nb::arg("types"))
        .def("dump", &dump, nb::arg("types"), nb::arg("stage"), nb::arg("block"), nb::arg("capability") = nb::none(),
             nb::arg("equal_extents") = std::vector<int>(), nb::arg("coarse") = false, nb::arg("small_numbers") = false)
        .def("last_compile", &last_compile)
        .def(
            "shared_bytes",
            [](const runtime::Function& self, nb::handle types) { return self.shared_bytes(to_arg_types(types)); },
            nb::arg("types"))
        .def("signatures", &signatures)
        .def_prop_ro("variants", &runtime::Function::variant_count);
    module.def("make_function", &make_function, nb::arg("name"), nb::arg("program"), nb::arg("sources"),
               nb::arg("bounds"), nb::arg("contract"), nb::arg("fastmath"), nb::arg("disabled_passes"),
               nb::arg("debug") = 0, nb::arg("optimize") = true, nb::arg("min_blocks") = 0,
               nb::arg("max_registers") = 0, nb::arg("links") = nb::tuple());
    module.def("make_launcher", &make_launcher, nb::arg("function"), nb::arg("grid"), nb::arg("block"),
               nb::arg("stream").none(), nb::arg("shared_bytes"), nb::arg("names"), nb::arg("copies_host_arrays"));
    module.def("compiler_is_loaded", &runtime::compiler_is_loaded);
    module.def("compiler_load_ms", &runtime::compiler_load_ms);
}

}  // namespace treadle::bindings
