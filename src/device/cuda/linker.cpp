#include "device/cuda/linker.h"

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/nvjitlink.h"

namespace treadle::device::cuda {
namespace {

constexpr int kErrorLog = 5;
constexpr int kErrorLogBytes = 6;

LinkResult link_by_driver(const LinkRequest& request) {
    const ContextScope scope(current_gpu("link").context());
    const Driver& cu = driver();
    std::string log(8192, '\0');
    int options[] = {kErrorLog, kErrorLogBytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    CuLinkState state = nullptr;
    check(cu.link_create(2, options, values, &state), "cuLinkCreate");
    CuResult result = kSuccess;
    for (std::size_t i = 0; i < request.images.size() && result == kSuccess; ++i) {
        const CodeImage& image = request.images[i];
        const std::size_t size = image.data.size() + (image.kind == CodeKind::Ptx ? 1 : 0);  // a text with its end
        result = cu.link_add_data(state, info(image.kind).driver, const_cast<char*>(image.data.c_str()), size,
                                  image.name.c_str(), 0, nullptr, nullptr);
    }
    void* linked = nullptr;
    std::size_t size = 0;
    if (result == kSuccess) result = cu.link_complete(state, &linked, &size);
    LinkResult found{{}, log.c_str()};
    if (result == kSuccess) found.code.assign(static_cast<const char*>(linked), size);
    cu.link_destroy(state);
    if (result != kSuccess) throw Error(ErrorKind::Compile, "[link] " + error_name(result) + "\n" + found.log);
    return found;
}

}  // namespace

LinkResult link(const LinkRequest& request) {
    for (const CodeImage& image : request.images) {
        if (request.nvjitlink || info(image.kind).driver >= 0) continue;
        throw Error(ErrorKind::Unsupported, "[link] " + image.name + ": the driver's linker takes no " +
                                                std::string(info(image.kind).text) + ": nvJitLink does");
    }
    return request.nvjitlink ? link_by_nvjitlink(request) : link_by_driver(request);
}

}  // namespace treadle::device::cuda
