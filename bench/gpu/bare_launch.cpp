// cuLaunchKernel in a loop: what a launch costs at the least. Built and called by latency.py.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <dlfcn.h>

extern "C" double bare_launch_us(const char* cubin, const char* name, int arguments, int count) {
    void* cu = dlopen("libcuda.so.1", RTLD_NOW);
    auto find = [&](const char* symbol) { return dlsym(cu, symbol); };
    auto init = reinterpret_cast<int (*)(unsigned)>(find("cuInit"));
    auto retain = reinterpret_cast<int (*)(void**, int)>(find("cuDevicePrimaryCtxRetain"));
    auto set = reinterpret_cast<int (*)(void*)>(find("cuCtxSetCurrent"));
    auto load = reinterpret_cast<int (*)(void**, const char*)>(find("cuModuleLoad"));
    auto get = reinterpret_cast<int (*)(void**, void*, const char*)>(find("cuModuleGetFunction"));
    auto sync = reinterpret_cast<int (*)()>(find("cuCtxSynchronize"));
    auto launch = reinterpret_cast<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                           void*, void**, void**)>(find("cuLaunchKernel"));
    static void* context = nullptr;
    static void* module = nullptr;
    if (context == nullptr && (init(0) != 0 || retain(&context, 0) != 0)) return -1;
    set(context);
    if (module == nullptr && load(&module, cubin) != 0) return -2;
    void* function = nullptr;
    if (get(&function, module, name) != 0) return -3;
    unsigned long long values[64] = {};
    void* places[64];
    for (int i = 0; i < arguments; ++i) places[i] = &values[i];
    std::array<double, 15> rounds{};
    for (int round = 0; round < 15; ++round) {
        sync();
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i) {
            if (launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, places, nullptr) != 0) return -4;
        }
        const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
        rounds[round] = spent.count() / count;
    }
    sync();
    std::sort(rounds.begin(), rounds.end());
    return rounds[rounds.size() / 2];
}
