#include "runtime/compiler_loader.h"

#include <atomic>
#include <chrono>

#include <dlfcn.h>

#include "base/error.h"

namespace treadle::runtime {
namespace {

std::atomic<double> load_ms{0};

CompilerService& load() {
    const auto begin = std::chrono::steady_clock::now();
    Dl_info own{};
    dladdr(reinterpret_cast<void*>(&compiler_is_loaded), &own);
    std::string path = own.dli_fname != nullptr ? own.dli_fname : "";
    path = path.substr(0, path.rfind('/') + 1) + "libtreadle_compiler.so";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw Error(ErrorKind::Unsupported, std::string("[compiler] cannot load the compiler: ") + dlerror());
    auto* service = reinterpret_cast<CompilerService* (*)()>(dlsym(library, kCompilerServiceSymbol));
    TREADLE_CHECK(service != nullptr, path);
    CompilerService& result = *service();
    load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

}  // namespace

CompilerService& compiler() {
    static CompilerService& service = load();
    return service;
}

bool compiler_is_loaded() { return load_ms.load() > 0; }

double compiler_load_ms() { return load_ms.load(); }

}  // namespace treadle::runtime
