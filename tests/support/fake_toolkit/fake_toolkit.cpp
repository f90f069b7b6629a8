// NVRTC and nvJitLink in one library that does nothing, with versions as the test asks: FAKE_NVRTC_VERSION=13.1 and
// FAKE_NVJITLINK_VERSION=12.2. FAKE_NVRTC_LOG lets each compilation fail with this text, FAKE_NVJITLINK_LOG each linking.
// PTX is of the version that FAKE_PTX names.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string text(const char* variable, const char* otherwise = "") {
    const char* given = std::getenv(variable);
    return given != nullptr ? given : otherwise;
}

template <class Number>
int version(const char* variable, Number* major, Number* minor) {
    int numbers[2] = {13, 0};
    std::sscanf(text(variable, "13.0").c_str(), "%d.%d", &numbers[0], &numbers[1]);
    *major = static_cast<Number>(numbers[0]);
    *minor = static_cast<Number>(numbers[1]);
    return 0;
}

int size_of(const std::string& value, std::size_t* size) {
    *size = value.size() + 1;
    return 0;
}

int copy(const std::string& value, void* into) {
    std::memcpy(into, value.c_str(), value.size() + 1);
    return 0;
}

std::string ptx() { return ".version " + text("FAKE_PTX", "9.0") + "\n.target sm_90\n.address_size 64\n"; }
const std::string kCubin = "\177ELF";

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) { return version("FAKE_NVRTC_VERSION", major, minor); }
const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR_AS_THE_TEST_ASKED"; }
int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*, const char* const*) {
    *program = program;
    return 0;
}
int nvrtcDestroyProgram(void**) { return 0; }
int nvrtcCompileProgram(void*, int, const char* const*) { return text("FAKE_NVRTC_LOG").empty() ? 0 : 7; }
int nvrtcGetProgramLogSize(void*, std::size_t* size) { return size_of(text("FAKE_NVRTC_LOG"), size); }
int nvrtcGetProgramLog(void*, char* log) { return copy(text("FAKE_NVRTC_LOG"), log); }
int nvrtcGetPTXSize(void*, std::size_t* size) { return size_of(ptx(), size); }
int nvrtcGetPTX(void*, char* code) { return copy(ptx(), code); }
int nvrtcGetCUBINSize(void*, std::size_t* size) { return size_of(kCubin, size); }
int nvrtcGetCUBIN(void*, char* code) { return copy(kCubin, code); }
int nvrtcGetLTOIRSize(void*, std::size_t* size) { return size_of(kCubin, size); }
int nvrtcGetLTOIR(void*, char* code) { return copy(kCubin, code); }
int nvrtcAddNameExpression(void*, const char*) { return 0; }
int nvrtcGetLoweredName(void*, const char* expression, const char** name) {
    *name = expression;
    return 0;
}

int nvJitLinkVersion(unsigned* major, unsigned* minor) { return version("FAKE_NVJITLINK_VERSION", major, minor); }
int nvJitLinkCreate(void** handle, std::uint32_t, const char**) {
    *handle = handle;
    return 0;
}
int nvJitLinkDestroy(void**) { return 0; }
int nvJitLinkAddData(void*, int, const void*, std::size_t, const char*) {
    return text("FAKE_NVJITLINK_LOG").empty() ? 0 : 4;
}
int nvJitLinkComplete(void*) { return 0; }
int nvJitLinkGetLinkedCubinSize(void*, std::size_t* size) { return size_of(kCubin, size); }
int nvJitLinkGetLinkedCubin(void*, void* code) { return copy(kCubin, code); }
int nvJitLinkGetLinkedPtxSize(void*, std::size_t* size) { return size_of(ptx(), size); }
int nvJitLinkGetLinkedPtx(void*, char* code) { return copy(ptx(), code); }
int nvJitLinkGetErrorLogSize(void*, std::size_t* size) { return size_of(text("FAKE_NVJITLINK_LOG"), size); }
int nvJitLinkGetErrorLog(void*, char* log) { return copy(text("FAKE_NVJITLINK_LOG"), log); }
int nvJitLinkGetInfoLogSize(void*, std::size_t* size) { return size_of("", size); }
int nvJitLinkGetInfoLog(void*, char* log) { return copy("", log); }
}
