#include "device/cuda/nvrtc.h"

#include <memory>

#include "base/error.h"
#include "device/cuda/component.h"

namespace treadle::device::cuda {
namespace {

using Result = int;
using RawProgram = struct ProgramTag*;

struct Functions {
    Result (*version)(int*, int*);
    const char* (*error_string)(Result);
    Result (*create)(RawProgram*, const char*, const char*, int, const char* const*, const char* const*);
    Result (*destroy)(RawProgram*);
    Result (*compile)(RawProgram, int, const char* const*);
    Result (*log_size)(RawProgram, std::size_t*);
    Result (*log)(RawProgram, char*);
    Result (*ptx_size)(RawProgram, std::size_t*);
    Result (*ptx)(RawProgram, char*);
    Result (*cubin_size)(RawProgram, std::size_t*);
    Result (*cubin)(RawProgram, char*);
    Result (*lto_ir_size)(RawProgram, std::size_t*);
    Result (*lto_ir)(RawProgram, char*);
    Result (*add_expression)(RawProgram, const char*);
    Result (*lowered_name)(RawProgram, const char*, const char**);
};

Component<Functions> library("NVRTC", "12.0");

void check(Result result, const char* call) {
    if (result == 0) return;
    throw Error(ErrorKind::Compile, "[" + std::string(call) + "] " + library->error_string(result));
}

struct Destroy {
    void operator()(RawProgram program) const { library->destroy(&program); }
};
using Program = std::unique_ptr<ProgramTag, Destroy>;

template <class Size, class Read>
std::string text_of(RawProgram program, const Size& size_of, const Read& read, const char* call) {
    std::size_t size = 0;
    check(size_of(program, &size), call);
    std::string text(size, '\0');
    if (size != 0) check(read(program, text.data()), call);
    return text;
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
    std::vector<const char*> result;
    for (const std::string& text : texts) result.push_back(text.c_str());
    return result;
}

}  // namespace

void use_nvrtc(const std::string& path) {
    library.open(path, [](auto& found, const auto& find) {
        find(found.version, "nvrtcVersion");
        find(found.error_string, "nvrtcGetErrorString");
        find(found.create, "nvrtcCreateProgram");
        find(found.destroy, "nvrtcDestroyProgram");
        find(found.compile, "nvrtcCompileProgram");
        find(found.log_size, "nvrtcGetProgramLogSize");
        find(found.log, "nvrtcGetProgramLog");
        find(found.ptx_size, "nvrtcGetPTXSize");
        find(found.ptx, "nvrtcGetPTX");
        find(found.cubin_size, "nvrtcGetCUBINSize");
        find(found.cubin, "nvrtcGetCUBIN");
        find(found.lto_ir_size, "nvrtcGetLTOIRSize");
        find(found.lto_ir, "nvrtcGetLTOIR");
        find(found.add_expression, "nvrtcAddNameExpression");
        find(found.lowered_name, "nvrtcGetLoweredName");
    });
}

bool has_nvrtc() { return library.is_open(); }

std::pair<int, int> nvrtc_version() {
    int major = 0;
    int minor = 0;
    check(library->version(&major, &minor), "nvrtcVersion");
    return {major, minor};
}

CppResult compile_cpp(const CppRequest& request) {
    const Functions& rtc = *library;
    const std::vector<const char*> headers = pointers(request.headers);
    const std::vector<const char*> names = pointers(request.header_names);
    RawProgram raw = nullptr;
    check(rtc.create(&raw, request.code.c_str(), request.name.c_str(), static_cast<int>(headers.size()), headers.data(),
                     names.data()),
          "nvrtcCreateProgram");
    const Program program(raw);
    for (const std::string& expression : request.expressions)
        check(rtc.add_expression(raw, expression.c_str()), "nvrtcAddNameExpression");
    const std::vector<const char*> options = pointers(request.options);
    const Result status = rtc.compile(raw, static_cast<int>(options.size()), options.data());
    CppResult result;
    result.log = without_end(text_of(raw, rtc.log_size, rtc.log, "nvrtcGetProgramLog"));
    if (status != 0) {
        throw Error(ErrorKind::Compile,
                    "[compile] CUDA C++: " + std::string(rtc.error_string(status)) + "\n" + result.log);
    }
    for (const std::string& expression : request.expressions) {
        const char* name = nullptr;
        check(rtc.lowered_name(raw, expression.c_str(), &name), "nvrtcGetLoweredName");
        result.names.emplace_back(name);
    }
    switch (request.target) {
        case CodeKind::Ptx: result.code = text_of(raw, rtc.ptx_size, rtc.ptx, "nvrtcGetPTX"); break;
        case CodeKind::LtoIr: result.code = text_of(raw, rtc.lto_ir_size, rtc.lto_ir, "nvrtcGetLTOIR"); break;
        default: result.code = text_of(raw, rtc.cubin_size, rtc.cubin, "nvrtcGetCUBIN");
    }
    return result;
}

}  // namespace treadle::device::cuda
