// A driver without a GPU: every function of src/device/cuda/driver.def, with memory of the host and kernels that do
// nothing. Tests of the CUDA device load it with TREADLE_CUDA_DRIVER. Calls are written to the file that FAKE_CUDA_LOG
// names, one a line; FAKE_CUDA_FAIL="cuMemAlloc_v2:2:3" lets the third call of a function give error 2, and from then on;
// "cuMemAlloc_v2:2:3:1" that one only. FAKE_CUDA_BREAK, in the same form, lets a call break its context: all later ones that
// need it give the error.
#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;
thread_local void* current = nullptr;
std::uintptr_t next_handle = 0x1000;
std::map<void*, int> broken_contexts;
std::size_t allocated = 0;
std::map<std::uint64_t, std::size_t> blocks;
struct StreamFacts {
    unsigned flags = 0;
    int priority = 0;
};
std::map<void*, StreamFacts> streams;

FILE* log_file() {
    static FILE* const file = [] {
        const char* name = std::getenv("FAKE_CUDA_LOG");
        return name != nullptr ? std::fopen(name, "w") : nullptr;
    }();
    return file;
}

// "name:error:first:times" of an environment variable, and how often the function was called.
struct Plan {
    explicit Plan(const char* variable) {
        const char* text = std::getenv(variable);
        if (text == nullptr) return;
        const char* colon = std::strchr(text, ':');
        name.assign(text, colon);
        std::sscanf(colon + 1, "%d:%d:%d", &error, &first, &times);
    }
    bool is_due(const char* called) {
        if (name != called) return false;
        ++calls;
        return calls >= first && calls - first < times;
    }
    std::string name;
    int error = 0;
    int first = 1;
    int times = 1 << 30;
    int calls = 0;
};

// Notes the call; gives the error that was asked for, else 0.
int note(const char* name, const char* format = "", ...) {
    const std::lock_guard lock(mutex);
    static Plan failing("FAKE_CUDA_FAIL");
    static Plan breaking("FAKE_CUDA_BREAK");
    if (FILE* file = log_file(); file != nullptr) {
        std::fprintf(file, "%s", name);
        std::va_list arguments;
        va_start(arguments, format);
        std::vfprintf(file, format, arguments);
        va_end(arguments);
        std::fprintf(file, "\n");
        std::fflush(file);
    }
    const auto broken = broken_contexts.find(current);
    if (broken != broken_contexts.end() && std::strncmp(name, "cuCtxP", 6) != 0) return broken->second;
    // A kernel's fault is told later: the launch itself is accepted.
    if (breaking.is_due(name)) broken_contexts[current] = breaking.error;
    return failing.is_due(name) ? failing.error : 0;
}

void* handle() {
    const std::lock_guard lock(mutex);
    return reinterpret_cast<void*>(next_handle += 16);
}

int number(const char* variable, int otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : otherwise;
}

// FAKE_CUDA_BUSY=N: the first N questions whether work is done are answered with "not ready".
bool busy() {
    static std::atomic<int> left = number("FAKE_CUDA_BUSY", 0);
    return left > 0 && left-- > 0;
}

}  // namespace

extern "C" {

using Pointer = std::uint64_t;

int cuInit(unsigned) { return note("cuInit"); }
int cuDriverGetVersion(int* version) {
    *version = number("FAKE_CUDA_VERSION", 13000);
    return 0;
}
int cuGetErrorName(int error, const char** name) {
    *name = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == 1   ? "CUDA_ERROR_INVALID_VALUE"
            : error == 100 ? "CUDA_ERROR_NO_DEVICE"
            : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == 200 ? "CUDA_ERROR_INVALID_IMAGE"
            : error == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
            : error == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
                           : "CUDA_ERROR_UNKNOWN";
    return 0;
}
int cuGetErrorString(int, const char** text) {
    *text = "as the test asked";
    return 0;
}
int cuDeviceGetCount(int* count) {
    *count = number("FAKE_CUDA_DEVICES", 2);
    return note("cuDeviceGetCount");
}
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
    std::snprintf(name, static_cast<std::size_t>(size), "Fake GPU %d", device);
    return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
    static const std::map<int, int> known = {{1, 1024}, {2, 1024},  {3, 1024}, {4, 64},  {5, 2147483647}, {6, 65535},
                                             {7, 65535}, {8, 49152}, {10, 32},  {16, 4}, {75, 9},         {76, 0},
                                             {97, 232448}};
    const auto found = known.find(attribute);
    *value = found != known.end() ? found->second : 0;
    return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    *bytes = std::size_t{1} << 32;
    return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(0xc0 + device));
    return note("cuDevicePrimaryCtxRetain", " %d", device);
}
int cuCtxGetCurrent(void** context) {
    *context = current;
    return 0;
}
int cuCtxSetCurrent(void* context) {
    current = context;
    return note("cuCtxSetCurrent", " %p", context);
}
thread_local void* pushed[16];
thread_local int depth = 0;
int cuCtxPushCurrent_v2(void* context) {
    pushed[depth++] = current;
    current = context;
    return note("cuCtxPushCurrent", " %p", context);
}
int cuCtxPopCurrent_v2(void** context) {
    *context = current;
    current = pushed[--depth];
    return note("cuCtxPopCurrent");
}
int cuCtxSynchronize() { return note("cuCtxSynchronize"); }
int cuMemAlloc_v2(Pointer* pointer, std::size_t size) {
    if (const int error = note("cuMemAlloc_v2", " %zu", size); error != 0) return error;
    const std::lock_guard lock(mutex);
    if (allocated + size > static_cast<std::size_t>(number("FAKE_CUDA_MEMORY", 1 << 30))) return 2;
    *pointer = reinterpret_cast<Pointer>(std::aligned_alloc(256, (size + 255) / 256 * 256));
    blocks[*pointer] = size;
    allocated += size;
    return 0;
}
int cuMemFree_v2(Pointer pointer) {
    note("cuMemFree");
    const std::lock_guard lock(mutex);
    allocated -= blocks[pointer];
    blocks.erase(pointer);
    std::free(reinterpret_cast<void*>(pointer));
    return 0;
}
int cuMemHostAlloc(void** pointer, std::size_t size, unsigned) {
    *pointer = std::calloc(1, size);
    return note("cuMemHostAlloc", " %zu", size);
}
int cuMemFreeHost(void* pointer) {
    std::free(pointer);
    return note("cuMemFreeHost");
}
int cuMemAllocManaged(Pointer* pointer, std::size_t size, unsigned) {
    *pointer = reinterpret_cast<Pointer>(std::calloc(1, size));
    blocks[*pointer] = 0;
    return note("cuMemAllocManaged", " %zu", size);
}
int cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
    *total = std::size_t{1} << 32;
    *available = static_cast<std::size_t>(number("FAKE_CUDA_MEMORY", 1 << 30)) - allocated;
    return 0;
}
int cuMemcpyAsync(Pointer to, Pointer from, std::size_t size, void* stream) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), size);
    return note("cuMemcpyAsync", " %zu %p", size, stream);
}
int cuDeviceCanAccessPeer(int* answer, int, int) {
    *answer = number("FAKE_CUDA_PEERS", 1);
    return 0;
}
int cuCtxEnablePeerAccess(void* context, unsigned) { return note("cuCtxEnablePeerAccess", " %p %p", current, context); }
int cuCtxDisablePeerAccess(void* context) { return note("cuCtxDisablePeerAccess", " %p %p", current, context); }
int cuMemcpyPeerAsync(Pointer to, void* target, Pointer from, void* source, std::size_t size, void* stream) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), size);
    return note("cuMemcpyPeerAsync", " %p %p %zu %p", target, source, size, stream);
}
int cuMemsetD8Async(Pointer to, unsigned char value, std::size_t size, void* stream) {
    std::memset(reinterpret_cast<void*>(to), value, size);
    return note("cuMemsetD8Async", " %zu %p", size, stream);
}
int cuCtxGetStreamPriorityRange(int* least, int* most) {
    *least = 0;
    *most = -3;
    return 0;
}
int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
    *stream = handle();
    {
        const std::lock_guard lock(mutex);
        streams[*stream] = {flags, priority};
    }
    return note("cuStreamCreate", " %p %u %d", *stream, flags, priority);
}
int cuStreamGetPriority(void* stream, int* priority) {
    const std::lock_guard lock(mutex);
    *priority = streams[stream].priority;
    return 0;
}
int cuStreamGetFlags(void* stream, unsigned* flags) {
    const std::lock_guard lock(mutex);
    *flags = streams[stream].flags;
    return 0;
}
int cuStreamDestroy_v2(void* stream) { return note("cuStreamDestroy", " %p", stream); }
int cuStreamQuery(void*) { return busy() ? 600 : note("cuStreamQuery"); }
int cuStreamSynchronize(void* stream) { return note("cuStreamSynchronize", " %p", stream); }
int cuStreamWaitEvent(void* stream, void* event, unsigned) { return note("cuStreamWaitEvent", " %p %p", stream, event); }
int cuEventCreate(void** event, unsigned) {
    *event = handle();
    return note("cuEventCreate", " %p", *event);
}
int cuEventDestroy_v2(void*) { return note("cuEventDestroy"); }
int cuEventRecord(void* event, void* stream) { return note("cuEventRecord", " %p %p", event, stream); }
int cuEventQuery(void*) { return busy() ? 600 : note("cuEventQuery"); }
int cuEventSynchronize(void*) { return note("cuEventSynchronize"); }
int cuEventElapsedTime(float* milliseconds, void*, void*) {
    *milliseconds = 1.5F;
    return 0;
}
int cuLaunchHostFunc(void*, void (*function)(void*), void* data) {
    function(data);
    return note("cuLaunchHostFunc");
}
int cuModuleLoadData(void** module, const void*) {
    *module = handle();
    return note("cuModuleLoadData");
}
int cuModuleLoadDataEx(void** module, const void*, unsigned, int*, void**) {
    *module = handle();
    return note("cuModuleLoadDataEx");
}
int cuModuleGetGlobal_v2(Pointer* address, std::size_t* size, void*, const char*) {
    *address = 0x100;
    *size = 4;
    return note("cuModuleGetGlobal");
}
int cuModuleUnload(void*) { return note("cuModuleUnload"); }
int cuModuleGetFunction(void** function, void*, const char* name) {
    *function = handle();
    return note("cuModuleGetFunction", " %s", name);
}
int cuCtxGetLimit(std::size_t* value, int) {
    *value = 1024;
    return 0;
}
int cuCtxSetLimit(int limit, std::size_t value) { return note("cuCtxSetLimit", " %d %zu", limit, value); }
int cuFuncGetAttribute(int* value, int attribute, void*) {
    *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : 0;
    return 0;
}
int cuFuncSetAttribute(void*, int attribute, int value) { return note("cuFuncSetAttribute", " %d %d", attribute, value); }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks_at_once, void*, int, std::size_t) {
    *blocks_at_once = 2;
    return 0;
}
int cuLaunchKernel(void*, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void* stream, void**, void** extra) {
    if (log_file() == nullptr && std::getenv("FAKE_CUDA_FAIL") == nullptr && std::getenv("FAKE_CUDA_BREAK") == nullptr)
        return 0;
    const auto* words = extra != nullptr ? static_cast<const std::uint64_t*>(extra[1]) : nullptr;
    const std::size_t count = extra != nullptr ? *static_cast<std::size_t*>(extra[3]) / 8 : 0;
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += " " + std::to_string(words[i]);
    return note("cuLaunchKernel", " %u,%u,%u %u,%u,%u %u %p%s", x, y, z, bx, by, bz, shared, stream, text.c_str());
}
int cuLaunchKernelEx(const void*, void*, void**, void**) { return note("cuLaunchKernelEx"); }
int cuFuncGetParamInfo(void*, std::size_t, std::size_t*, std::size_t*) { return 1; }
int cuLaunchCooperativeKernel(void*, unsigned x, unsigned, unsigned, unsigned bx, unsigned, unsigned, unsigned, void*, void**) {
    return note("cuLaunchCooperativeKernel", " %u %u", x, bx);
}
std::string linked;
int cuLinkCreate_v2(unsigned, int*, void**, void** state) {
    *state = handle();
    return note("cuLinkCreate");
}
int cuLinkAddData_v2(void*, int, void* data, std::size_t size, const char*, unsigned, int*, void**) {
    linked.assign(static_cast<const char*>(data), size);
    return note("cuLinkAddData");
}
int cuLinkComplete(void*, void** image, std::size_t* size) {
    *image = linked.data();
    *size = linked.size();
    return note("cuLinkComplete");
}
int cuLinkDestroy(void*) { return 0; }
}
