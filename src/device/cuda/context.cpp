#include "device/cuda/context.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/error.h"

namespace treadle::device::cuda {
namespace {

thread_local GpuContext* innermost = nullptr;

std::string text_of(CuStream stream) {
    if (stream == nullptr) return "the default stream";
    char text[32];
    std::snprintf(text, sizeof text, "stream %#llx",
                  static_cast<unsigned long long>(reinterpret_cast<std::uint64_t>(stream)));
    return text;
}

}  // namespace

bool breaks_context(CuResult result) {
    constexpr CuResult kBreaking[] = {214, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721};
    return std::find(std::begin(kBreaking), std::end(kBreaking), result) != std::end(kBreaking);
}

GpuContext* scope_context() { return innermost; }

const std::string* interned(const std::string& text) {
    static std::mutex mutex;
    static auto* const texts = new std::unordered_set<std::string>;
    const std::lock_guard lock(mutex);
    return &*texts->insert(text).first;
}

std::string GpuContext::last_launches() const {
    std::string text;
    const std::size_t count = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < std::min(count, kLaunches); ++i) {
        const Launched& place = launches_[(count - 1 - i) % kLaunches];
        const std::string* const kernel = place.kernel.load(std::memory_order_relaxed);
        if (kernel == nullptr) continue;
        text += (text.empty() ? "" : ", ") + *kernel + " on " + text_of(place.stream.load(std::memory_order_relaxed));
    }
    return text;
}

void GpuContext::lose(CuResult result, const std::string& call) {
    CuResult before = kSuccess;
    if (!lost_.compare_exchange_strong(before, result)) refuse();
    const std::string gpu = "GPU " + std::to_string(ordinal_);
    std::string message =
        call + ": a kernel has made the context of " + gpu +
        " unusable, so the GPU cannot be used again in this process and its arrays are lost; host arrays";
    if (const int others = driver_state().devices - 1; others > 0) message += " and the other GPUs";
    message += " are not";
    if (const std::string launches = last_launches(); !launches.empty())
        message += ". The last launches, latest first: " + launches;
    throw_device_error(error_name(result), message);
}

void GpuContext::refuse() const {
    throw_device_error(error_name(lost_), "GPU " + std::to_string(ordinal_) +
                                              " cannot be used again in this process: a kernel has made its context "
                                              "unusable, as the first error of this kind told");
}

ContextScope::Innermost::Innermost(GpuContext* context) : outer_(std::exchange(innermost, context)) {}

ContextScope::Innermost::~Innermost() { innermost = outer_; }

ContextScope::ContextScope(GpuContext& context) : innermost_(&context) {
    context.check_usable();
    CuContext current = nullptr;
    check(driver().ctx_get_current(&current), "cuCtxGetCurrent");
    if (current == nullptr) {
        // A thread without any context keeps this one, as it would with CUDA's runtime: later calls find it.
        check(driver().ctx_set_current(context.raw), "cuCtxSetCurrent");
    } else if (current != context.raw) {
        check(driver().ctx_push_current(context.raw), "cuCtxPushCurrent");
        pushed_ = true;
    }
}

ContextScope::~ContextScope() {
    CuContext popped = nullptr;
    if (pushed_) driver().ctx_pop_current(&popped);
}

CleanupScope::CleanupScope(const GpuContext& context) noexcept
    : pushed_(!context.is_lost() && driver().ctx_push_current(context.raw) == kSuccess) {}

CleanupScope::~CleanupScope() {
    CuContext popped = nullptr;
    if (pushed_) driver().ctx_pop_current(&popped);
}

}  // namespace treadle::device::cuda
