#include "module.h"

NB_MODULE(_treadle, module) {
    using namespace treadle::bindings;
#ifdef NDEBUG
    // Objects may be alive when the interpreter ends; only developers want to hear of it.
    nanobind::set_leak_warnings(false);
#endif
    bind_errors(module);
    bind_device(module);
    bind_array(module);
    bind_operations(module);
    bind_kernel(module);
    bind_cache(module);
    bind_interop(module);
    bind_foreign_kernels(module);
}
