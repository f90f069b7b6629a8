#include <nanobind/stl/string.h>

#include "module.h"
#include "runtime/artifact_cache.h"

namespace treadle::bindings {
namespace {

nb::list cache_list() {
    nb::list result;
    for (const auto& entry : runtime::user_cache().list())
        result.append(nb::make_tuple(entry.path, entry.key, entry.size_bytes, entry.used_seconds));
    return result;
}

std::size_t cache_clear() { return runtime::user_cache().clear(); }
std::string cache_directory() { return runtime::user_cache().directory(); }
std::string package_cache_directory() { return runtime::package_cache().directory(); }

}  // namespace

void bind_cache(nb::module_& module) {
    module.def("cache_list", &cache_list);
    module.def("cache_clear", &cache_clear);
    module.def("cache_directory", &cache_directory);
    module.def("package_cache_directory", &package_cache_directory);
}

}  // namespace treadle::bindings
