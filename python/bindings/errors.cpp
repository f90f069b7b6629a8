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
        const char* name = kPythonNames[static_cast<int>(error.kind())];
        const nb::object builtins = nb::module_::import_("builtins");
        const nb::object errors = nb::module_::import_("treadle.errors");
        const nb::object type = nb::hasattr(builtins, name) ? builtins.attr(name) : errors.attr(name);
        PyErr_SetString(type.ptr(), error.what());
    }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace treadle::bindings
