// Element types. The rows of types.def are the only list of them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace treadle {

enum class DType : std::uint8_t {
#define TREADLE_DTYPE(Name, name, ctype, size, kind, str) Name,
#include "base/types.def"
#undef TREADLE_DTYPE
    Count
};

inline constexpr int kDTypeCount = static_cast<int>(DType::Count);

struct DTypeInfo {
    std::string_view name;
    std::uint8_t size_bytes;
    char kind;  // see types.def
    std::string_view numpy_str;
};

inline constexpr std::array<DTypeInfo, kDTypeCount> kDTypes = {{
#define TREADLE_DTYPE(Name, name, ctype, size, kind, str) {#name, size, kind, str},
#include "base/types.def"
#undef TREADLE_DTYPE
}};
static_assert(kDTypeCount == 15, "a new element type needs a row in every table that is indexed by DType");

constexpr const DTypeInfo& info(DType type) { return kDTypes[static_cast<std::size_t>(type)]; }
constexpr std::string_view name_of(DType type) { return info(type).name; }
constexpr int size_of(DType type) { return info(type).size_bytes; }
constexpr int bits_of(DType type) { return type == DType::Bool ? 1 : 8 * size_of(type); }
constexpr bool is_float(DType type) { return info(type).kind == 'f'; }
// Floats of 16 bits, whose operations are computed in float32.
constexpr bool is_half(DType type) { return type == DType::Float16 || type == DType::BFloat16; }
constexpr bool is_signed(DType type) { return info(type).kind == 'i'; }
constexpr bool is_unsigned(DType type) { return info(type).kind == 'u'; }
constexpr bool is_integer(DType type) { return is_signed(type) || is_unsigned(type); }
constexpr bool is_complex(DType type) { return info(type).kind == 'c'; }
// The type of a complex number's parts; any other type itself.
constexpr DType part_of(DType type) {
    if (type == DType::Complex64) return DType::Float32;
    return type == DType::Complex128 ? DType::Float64 : type;
}
constexpr DType complex_of(DType part) { return part == DType::Float64 ? DType::Complex128 : DType::Complex64; }
constexpr bool is_bool(DType type) { return type == DType::Bool; }

// Finds a type by its name ("float32"); returns DType::Count when there is none.
constexpr DType dtype_from_name(std::string_view name) {
    for (int i = 0; i < kDTypeCount; ++i) {
        if (kDTypes[static_cast<std::size_t>(i)].name == name) return static_cast<DType>(i);
    }
    return DType::Count;
}

constexpr DType integer_type(int bits, bool with_sign) {
    switch (bits) {
        case 8: return with_sign ? DType::Int8 : DType::UInt8;
        case 16: return with_sign ? DType::Int16 : DType::UInt16;
        case 32: return with_sign ? DType::Int32 : DType::UInt32;
        default: return with_sign ? DType::Int64 : DType::UInt64;
    }
}

// The smallest float type that holds both.
constexpr DType wider_float(DType a, DType b) {
    if (a != b && size_of(a) == size_of(b)) return DType::Float32;  // float16 has more digits, bfloat16 more range
    return size_of(a) > size_of(b) ? a : b;
}

// NumPy's result type of an operation on two arrays (NEP 50, no weak scalars): promote(int8, uint8) is int16. bfloat16
// behaves as float16 does.
constexpr DType promote(DType a, DType b) {
    if (a == b) return a;
    if (is_bool(a)) return b;
    if (is_bool(b)) return a;
    if (is_complex(a) || is_complex(b)) {
        const DType part = promote(part_of(a), part_of(b));
        return complex_of(part);
    }
    if (is_float(a) && is_float(b)) return wider_float(a, b);
    if (is_float(a) || is_float(b)) {
        const DType flt = is_float(a) ? a : b;
        const DType whole = is_float(a) ? b : a;
        const int needed = size_of(whole) == 1 ? 2 : size_of(whole) == 2 ? 4 : 8;
        if (needed <= size_of(flt)) return flt;
        return needed == 4 ? DType::Float32 : DType::Float64;
    }
    if (info(a).kind == info(b).kind) return size_of(a) > size_of(b) ? a : b;
    const DType with_sign = is_signed(a) ? a : b;
    const DType without = is_signed(a) ? b : a;
    if (size_of(with_sign) > size_of(without)) return with_sign;
    if (size_of(without) == 8) return DType::Float64;
    return integer_type(16 * size_of(without), true);
}

}  // namespace treadle
