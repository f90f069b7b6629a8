// How a value differs between the threads of a packet. Filled in by passes/analyze_shapes, used by the code generators.
#pragma once

#include <cstdint>

namespace treadle::ir {

struct Shape {
    enum class Kind : std::uint8_t {
        Uniform,  // the same in all lanes: one scalar
        Linear,   // base + lane * stride: one scalar and a constant
        Varying,  // a vector
    };
    Kind kind = Kind::Uniform;
    std::int64_t stride = 0;

    static Shape uniform() { return {}; }
    static Shape linear(std::int64_t stride) { return stride == 0 ? uniform() : Shape{Kind::Linear, stride}; }
    static Shape varying() { return {Kind::Varying, 0}; }
    bool is_uniform() const { return kind == Kind::Uniform; }
    bool is_linear() const { return kind == Kind::Linear; }
    bool is_varying() const { return kind == Kind::Varying; }
    bool operator==(const Shape&) const = default;
};

inline Shape join(Shape a, Shape b) { return a == b ? a : Shape::varying(); }

}  // namespace treadle::ir
