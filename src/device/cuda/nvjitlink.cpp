#include "device/cuda/nvjitlink.h"

#include <memory>

#include "base/error.h"
#include "device/cuda/component.h"

namespace treadle::device::cuda {
namespace {

using Result = int;
using Handle = struct HandleTag*;

struct Functions {
    Result (*version)(unsigned*, unsigned*);
    Result (*create)(Handle*, std::uint32_t, const char**);
    Result (*destroy)(Handle*);
    Result (*add_data)(Handle, int, const void*, std::size_t, const char*);
    Result (*complete)(Handle);
    Result (*cubin_size)(Handle, std::size_t*);
    Result (*cubin)(Handle, void*);
    Result (*ptx_size)(Handle, std::size_t*);
    Result (*ptx)(Handle, char*);
    Result (*error_log_size)(Handle, std::size_t*);
    Result (*error_log)(Handle, char*);
    Result (*info_log_size)(Handle, std::size_t*);
    Result (*info_log)(Handle, char*);
};

Component<Functions> library("nvJitLink", "12.3");

struct Destroy {
    void operator()(Handle handle) const { library->destroy(&handle); }
};
using Linking = std::unique_ptr<HandleTag, Destroy>;

template <class Read, class Char>
std::string text_of(Handle handle, Result (*size_of)(Handle, std::size_t*), Read (*read)(Handle, Char*)) {
    std::size_t size = 0;
    if (size_of(handle, &size) != 0 || size == 0) return {};
    std::string text(size, '\0');
    return read(handle, text.data()) == 0 ? text : std::string();
}

}  // namespace

void use_nvjitlink(const std::string& path) {
    library.open(path, [](auto& found, const auto& find) {
        find(found.version, "nvJitLinkVersion");
        find(found.create, "nvJitLinkCreate");
        find(found.destroy, "nvJitLinkDestroy");
        find(found.add_data, "nvJitLinkAddData");
        find(found.complete, "nvJitLinkComplete");
        find(found.cubin_size, "nvJitLinkGetLinkedCubinSize");
        find(found.cubin, "nvJitLinkGetLinkedCubin");
        find(found.ptx_size, "nvJitLinkGetLinkedPtxSize");
        find(found.ptx, "nvJitLinkGetLinkedPtx");
        find(found.error_log_size, "nvJitLinkGetErrorLogSize");
        find(found.error_log, "nvJitLinkGetErrorLog");
        find(found.info_log_size, "nvJitLinkGetInfoLogSize");
        find(found.info_log, "nvJitLinkGetInfoLog");
    });
}

std::pair<int, int> nvjitlink_version() {
    unsigned major = 0;
    unsigned minor = 0;
    library->version(&major, &minor);
    return {static_cast<int>(major), static_cast<int>(minor)};
}

LinkResult link_by_nvjitlink(const LinkRequest& request) {
    std::vector<std::string> options = {"-arch=" + request.arch};
    options.insert(options.end(), request.options.begin(), request.options.end());
    bool optimizes = request.to_ptx;
    for (const CodeImage& image : request.images) optimizes = optimizes || image.kind == CodeKind::LtoIr;
    if (optimizes) options.emplace_back("-lto");
    if (request.to_ptx) options.emplace_back("-ptx");
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());

    Handle raw = nullptr;
    Result result = library->create(&raw, static_cast<std::uint32_t>(words.size()), words.data());
    if (result != 0) {  // what is in the handle then must not be used
        std::string given;
        for (const std::string& option : options) given += " " + option;
        throw Error(ErrorKind::Compile, "[link] nvJitLink refuses the options" + given);
    }
    const Linking linking(raw);
    const auto refuse = [&](const std::string& what) {
        throw Error(ErrorKind::Compile, "[link] nvJitLink " + what + " (error " + std::to_string(result) + ")\n" +
                                            without_end(text_of(raw, library->error_log_size, library->error_log)));
    };
    for (const CodeImage& image : request.images) {
        result = library->add_data(raw, info(image.kind).nvjitlink, image.data.data(), image.data.size(),
                                   image.name.c_str());
        if (result != 0) refuse("refuses " + image.name);
    }
    result = library->complete(raw);
    if (result != 0) refuse("cannot link");
    LinkResult linked;
    linked.log = without_end(text_of(raw, library->info_log_size, library->info_log));
    linked.code = request.to_ptx ? without_end(text_of(raw, library->ptx_size, library->ptx))
                                 : text_of(raw, library->cubin_size, library->cubin);
    return linked;
}

}  // namespace treadle::device::cuda
