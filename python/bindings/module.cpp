#include "module.h"

NB_MODULE(_treadle, module) {
    using namespace treadle::bindings;
    bind_errors(module);
    bind_device(module);
    bind_array(module);
    bind_operations(module);
    bind_kernel(module);
    bind_cache(module);
}
