// A GPU's primary context. Some faults of kernels in CUDA C++, such as a write to an illegal address, leave it unusable
// until the process ends, and the driver then answers every call with the same error. The first such answer is told in
// full, with the launches that may have caused it; from then on the context is lost and every use is refused in short,
// without asking the driver.
#pragma once

#include <array>
#include <atomic>
#include <string>

#include "device/cuda/driver.h"

namespace treadle::device::cuda {

class GpuContext {
public:
    explicit GpuContext(int ordinal) : ordinal_(ordinal) {}

    CuContext raw = nullptr;

    // The name must live as long as the process: see interned.
    void note_launch(const std::string* kernel, CuStream stream) noexcept {
        Launched& place = launches_[count_.fetch_add(1, std::memory_order_relaxed) % kLaunches];
        place.kernel.store(kernel, std::memory_order_relaxed);
        place.stream.store(stream, std::memory_order_relaxed);
    }
    bool is_lost() const noexcept { return lost_.load(std::memory_order_relaxed) != kSuccess; }
    // Throws Error(Device) where it is lost.
    void check_usable() const {
        if (is_lost()) refuse();
    }
    // What an error of the driver that breaks contexts leads to. call: what the driver said it to.
    [[noreturn]] void lose(CuResult result, const std::string& call);

private:
    static constexpr std::size_t kLaunches = 4;
    struct Launched {
        std::atomic<const std::string*> kernel{nullptr};
        std::atomic<CuStream> stream{nullptr};
    };

    [[noreturn]] void refuse() const;
    std::string last_launches() const;

    int ordinal_;
    std::atomic<CuResult> lost_{kSuccess};
    std::atomic<std::size_t> count_{0};
    std::array<Launched, kLaunches> launches_;
};

// Whether an error leaves the context unusable.
bool breaks_context(CuResult result);
// The context of the innermost scope of this thread; null outside of all.
GpuContext* scope_context();
// The same text for ever, one copy for each.
const std::string* interned(const std::string& text);

// Makes a context current for a scope, and the one before it afterwards. Throws Error(Device) where it is lost.
class ContextScope {
public:
    explicit ContextScope(GpuContext& context);
    ~ContextScope();
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;

private:
    // What scope_context tells, also while the constructor fails.
    class Innermost {
    public:
        explicit Innermost(GpuContext* context);
        ~Innermost();
        Innermost(const Innermost&) = delete;
        Innermost& operator=(const Innermost&) = delete;

    private:
        GpuContext* outer_;
    };
    Innermost innermost_;
    bool pushed_ = false;
};

// For destructors: makes a context current without throwing. False where that is impossible, as at the end of the
// process or where it is lost: then nothing can be given back, and nothing has to be.
class CleanupScope {
public:
    explicit CleanupScope(const GpuContext& context) noexcept;
    ~CleanupScope();
    CleanupScope(const CleanupScope&) = delete;
    CleanupScope& operator=(const CleanupScope&) = delete;
    explicit operator bool() const noexcept { return pushed_; }

private:
    bool pushed_ = false;
};

}  // namespace treadle::device::cuda
