#include "frontend/typing.h"

#include <algorithm>

namespace treadle::frontend {
namespace {

DType mixed_float(DType a, DType b) {
    if (is_float(a) && is_float(b)) return wider_float(a, b);
    const DType flt = is_float(a) ? a : b;
    const DType whole = is_float(a) ? b : a;
    return size_of(flt) == 4 && size_of(whole) <= 2 ? DType::Float32 : DType::Float64;
}

// Weak types (of literals) adopt the other type when that can hold their kind.
bool unify_scalars(VarType& into, const VarType& other) {
    if (into.weak != other.weak) {
        const VarType& weak = into.weak ? into : other;
        const VarType& firm = into.weak ? other : into;
        const VarType result = is_float(weak.dtype) && !is_float(firm.dtype) ? weak : firm;
        into = result;
        return true;
    }
    if (into.dtype == other.dtype) return true;
    if (is_float(into.dtype) || is_float(other.dtype)) {
        into.dtype = mixed_float(into.dtype, other.dtype);
    } else {
        into.dtype = promote(into.dtype, other.dtype);
    }
    return true;
}

// Arrays of threads are laid out in another way than all others; what is read only on one path stays so.
bool unify_spaces(ir::Space& into, ir::Space other) {
    using ir::Space;
    if (into == other) return true;
    if (into == Space::Local || other == Space::Local) return false;
    into = into == Space::Constant || other == Space::Constant ? Space::Constant : Space::Global;
    return true;
}

// What holds on both paths: the smaller alignment, and no right to write where one has none.
void unify_places(VarType& into, const VarType& other) {
    if (into.align == 0 || other.align == 0) {
        into.align = std::max(into.align, other.align);  // 0 stands for all that the type asks for
    } else {
        into.align = std::min(into.align, other.align);
    }
    into.read_only = into.read_only || other.read_only;
}

}  // namespace

DType arithmetic_type(DType a, DType b) {
    if (is_float(a) || is_float(b)) return mixed_float(a, b);
    const bool unsigned_only =
        (is_unsigned(a) || is_bool(a)) && (is_unsigned(b) || is_bool(b)) && !(is_bool(a) && is_bool(b));
    if (unsigned_only) return DType::UInt64;
    if (a == DType::UInt64 || b == DType::UInt64) return DType::Float64;
    return DType::Int64;
}

DType bitwise_type(DType a, DType b) {
    if (is_bool(a) && is_bool(b)) return DType::Bool;
    if (is_bool(a)) return b;
    if (is_bool(b)) return a;
    if (a == DType::UInt64 || b == DType::UInt64) return DType::UInt64;
    return is_unsigned(a) && is_unsigned(b) ? DType::UInt64 : DType::Int64;
}

DType comparison_type(DType a, DType b) {
    if (is_float(a) || is_float(b)) return mixed_float(a, b);
    return promote(a, b);
}

DType math_type(DType a) { return is_float(a) ? a : DType::Float64; }

bool unify(VarType& into, const VarType& other) {
    using Kind = VarType::Kind;
    if (into.kind == Kind::Unset) {
        into = other;
        return true;
    }
    if (other.kind == Kind::Unset) return true;
    if (into.kind == Kind::Complex || other.kind == Kind::Complex) {
        const auto is_plain = [](const VarType& type) {
            return type.kind == Kind::Complex || type.kind == Kind::Scalar;
        };
        if (!is_plain(into) || !is_plain(other)) return false;
        into.dtype = complex_of(arithmetic_type(math_type(part_of(into.dtype)), part_of(other.dtype)));
        into.kind = Kind::Complex;
        into.weak = false;
        return true;
    }
    if (into.kind != other.kind) return false;
    switch (into.kind) {
        case Kind::Scalar: return unify_scalars(into, other);
        case Kind::Tuple:
            if (into.items.size() != other.items.size()) return false;
            if (into.names != other.names) into.names.clear();
            for (std::size_t i = 0; i < into.items.size(); ++i) {
                if (!unify(into.items[i], other.items[i])) return false;
            }
            return true;
        case Kind::Array:
            if (into.dtype != other.dtype || into.rank != other.rank || into.record != other.record) return false;
            if (into.layout != other.layout) into.layout = ir::Layout::Any;
            unify_places(into, other);
            return unify_spaces(into.space, other.space);
        case Kind::Record:
            if (into.record != other.record) return false;
            unify_places(into, other);
            return unify_spaces(into.space, other.space);
        default: return true;
    }
}

std::string describe(const VarType& type) {
    static constexpr const char* kSpaces[] = {"", "shared ", "local ", "constant "};
    switch (type.kind) {
        case VarType::Kind::None: return "none";
        case VarType::Kind::Scalar:
        case VarType::Kind::Complex: return std::string(name_of(type.dtype));
        case VarType::Kind::Array:
            return std::string(kSpaces[static_cast<int>(type.space)]) + "array(" +
                   (type.record != nullptr ? describe(*type.record) : std::string(name_of(type.dtype))) + ", " +
                   std::to_string(type.rank) + "d)";
        case VarType::Kind::Record: return kSpaces[static_cast<int>(type.space)] + describe(*type.record);
        case VarType::Kind::Tuple: {
            std::string text = "tuple(";
            for (std::size_t i = 0; i < type.items.size(); ++i) text += (i ? ", " : "") + describe(type.items[i]);
            return text + ")";
        }
        default: return "undefined";
    }
}

}  // namespace treadle::frontend
