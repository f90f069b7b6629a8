// What a device was asked to do, counted as it happens; one for all devices of the process and one for each stream. A
// count costs an addition that no other core waits for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace treadle::device {

enum class Count : std::uint8_t {
#define TREADLE_COUNT(Name, text) Name,
#include "device/counters.def"
#undef TREADLE_COUNT
    Size
};
inline constexpr std::size_t kCounts = static_cast<std::size_t>(Count::Size);
inline constexpr std::array<std::string_view, kCounts> kCountNames = {
#define TREADLE_COUNT(Name, text) #text,
#include "device/counters.def"
#undef TREADLE_COUNT
};

class Counters {
public:
    void add(Count what, std::uint64_t amount = 1) noexcept {
        values_[static_cast<std::size_t>(what)].fetch_add(amount, std::memory_order_relaxed);
    }
    std::uint64_t of(Count what) const noexcept {
        return values_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
    }

private:
    std::array<std::atomic<std::uint64_t>, kCounts> values_{};
};

// Of the whole process.
Counters& counters();

}  // namespace treadle::device
