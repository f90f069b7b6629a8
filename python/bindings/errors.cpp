// Errors become the Python exceptions that base/errors.def names; classes of ours come from treadle.errors.
#include "base/error.h"
#include "module.h"

namespace treadle::bindings {
namespace {

constexpr const char* kPythonNames[] = {
#define TREADLE_ERROR(Kind, python) #python,
#include "base/errors.def"
#undef TREADLE_ERROR
};

void translate(const std::exception_ptr& pointer, void*) {
    try {
        std::rethrow_exception(pointer);
    } catch (const Error& error) {
        std::string name = kPythonNames[static_cast<int>(error.kind())];
        std::string text = error.what();
        const nb::object builtins = nb::module_::import_("builtins");
        if (error.kind() == ErrorKind::Raised) {
            const std::size_t end = text.find(": ");
            name = text.substr(0, end);
            text = text.substr(end + 2);
        }
        const nb::object errors = nb::module_::import_("treadle.errors");
        const nb::object type =
            nb::hasattr(builtins, name.c_str()) ? builtins.attr(name.c_str()) : errors.attr(name.c_str());
        PyErr_SetString(type.ptr(), text.c_str());
    }
}

}  // namespace

void set_python_error(const std::exception_ptr& pointer) noexcept {
    try {
        translate(pointer, nullptr);
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    } catch (...) {
        PyErr_SetString(PyExc_RuntimeError, "an unknown failure");
    }
}

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace treadle::bindings
