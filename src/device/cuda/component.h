// A library of NVIDIA's that is opened at run time, from the file where it was found.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include <dlfcn.h>

#include "base/error.h"

namespace treadle::device::cuda {

// A text of such a library, without the zeros and line ends behind it.
inline std::string without_end(std::string text) {
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
}

// Functions: a structure of pointers to the library's functions. Opened once; never closed, since its threads may run
// on.
template <class Functions>
class Component {
public:
    // since: the first version that has all functions.
    Component(const char* name, const char* since) : name_(name), since_(since) {}

    // fill(functions, find) calls find(member, symbol) for each function. Throws Error(Unsupported) where the library
    // cannot be opened or lacks one.
    template <class Fill>
    void open(const std::string& path, const Fill& fill) {
        const std::lock_guard lock(mutex_);
        if (functions_ != nullptr) return;
        void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            throw Error(ErrorKind::Unsupported,
                        std::string("[compile] ") + name_ + " cannot be opened: " + std::string(dlerror()));
        }
        auto found = std::make_unique<Functions>();
        fill(*found, [&](auto& member, const char* symbol) {
            member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(handle, symbol));
            if (member == nullptr) {
                throw Error(ErrorKind::Unsupported, std::string("[compile] ") + name_ + " in " + path + " has no " +
                                                        symbol + ": expected version " + since_ + " or newer");
            }
        });
        functions_ = found.release();
    }

    bool is_open() const { return functions_ != nullptr; }
    const Functions* operator->() const { return &**this; }
    const Functions& operator*() const {
        const Functions* found = functions_;
        if (found == nullptr)
            throw Error(ErrorKind::Unsupported, std::string("[compile] ") + name_ + " has not been found");
        return *found;
    }

private:
    const char* name_;
    const char* since_;
    std::mutex mutex_;
    std::atomic<const Functions*> functions_{nullptr};
};

}  // namespace treadle::device::cuda
