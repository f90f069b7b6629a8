// Numbers as the bits of an element type.
#pragma once

#include <bit>
#include <cstdint>

#include "base/dtype.h"

namespace treadle {

// The upper half of a float32, rounded to nearest even. NaN stays NaN, quiet and with its sign.
inline std::uint16_t bfloat16_bits(float value) {
    constexpr std::uint32_t kQuiet = 0x00400000;
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (value != value) return static_cast<std::uint16_t>((bits | kQuiet) >> 16);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Of a floating type. A bfloat16 is made from float32, as every library does it.
inline std::uint64_t float_bits(DType type, double value) {
    switch (type) {
        case DType::Float16: return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
        case DType::BFloat16: return bfloat16_bits(static_cast<float>(value));
        case DType::Float32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
        default: return std::bit_cast<std::uint64_t>(value);
    }
}

}  // namespace treadle
