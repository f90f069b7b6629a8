#include "runtime/kernel_store.h"

#include <chrono>
#include <mutex>

#include "runtime/artifact_cache.h"
#include "runtime/compiler_loader.h"

namespace treadle::runtime {
namespace {

CompileHooks compile_hooks;

class HookScope {
public:
    HookScope() : state_(compile_hooks.enter != nullptr ? compile_hooks.enter() : nullptr) {}
    ~HookScope() {
        if (compile_hooks.leave != nullptr) compile_hooks.leave(state_);
    }
    HookScope(const HookScope&) = delete;
    HookScope& operator=(const HookScope&) = delete;

private:
    void* state_;
};

}  // namespace

void set_compile_hooks(CompileHooks hooks) { compile_hooks = hooks; }

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

}  // namespace

std::shared_ptr<device::Kernel> obtain_kernel(const CompileRequest& request, const std::string& name,
                                              Provenance* provenance) {
    const HookScope hooks;
    const auto begin = std::chrono::steady_clock::now();
    Provenance facts;
    auto debug = std::make_shared<device::KernelDebug>();
    debug->name = name;
    debug->sources = request.sources;
    std::shared_ptr<device::Kernel> kernel;
    const std::string key = cache_key(request, device::current_device().code_key());
    if (cache_enabled()) {
        for (ArtifactCache* cache : {&user_cache(), &package_cache()}) {
            const auto artifact = cache->find(key);
            if (!artifact) continue;
            facts.from_cache = true;
            device::counters().add(device::Count::CacheHits);
            facts.path = cache->path_of(key);
            debug->texts = lines_of(artifact->texts);
            kernel = device::current_device().load_kernel(*artifact, debug);
            break;
        }
    }
    if (kernel == nullptr) {
        CompilerService& service = compiler();
        const auto loaded = std::chrono::steady_clock::now();
        device::counters().add(device::Count::Compilations);
        Artifact artifact = service.compile(request);
        static const CodeImages no_links;
        device::current_device().finish(artifact, request.links != nullptr ? *request.links : no_links);
        debug->texts = lines_of(artifact.texts);
        kernel = device::current_device().load_kernel(artifact, debug);
        facts.milliseconds =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - loaded).count();
        if (cache_enabled()) facts.path = user_cache().store(key, artifact);
    } else {
        facts.milliseconds =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    }
    facts.packet = kernel->packet;
    if (provenance != nullptr) *provenance = facts;
    return kernel;
}

}  // namespace treadle::runtime
