// Calls of functions that are linked to a kernel, such as those of CUDA C++.
#include <algorithm>

#include "frontend/lowering.h"
#include "frontend/typing.h"

namespace treadle::frontend {
namespace {

// float32, or float32* for the address of elements of that type; none.
ir::Type external_type(std::string_view text) {
    if (text == "none") return ir::Type::none();
    if (text.back() == '*') return ir::Type::pointer();
    return ir::Type::scalar(dtype_from_name(text));
}

std::string plural(std::size_t count) { return std::to_string(count) + (count == 1 ? " argument" : " arguments"); }

}  // namespace

std::int32_t Lowering::external_number(const ir::External& external, Span span) {
    std::vector<ir::External>& known = function_.externals;
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const ir::External& other) { return other.name == external.name; });
    if (found == known.end()) {
        known.push_back(external);
        return static_cast<std::int32_t>(known.size() - 1);
    }
    if (!(*found == external)) type_error(span, external.name + ": declared with two signatures in one kernel");
    return static_cast<std::int32_t>(found - known.begin());
}

Entity Lowering::call_external(const Entity& callee, const std::vector<Entity>& args, Span span) {
    if (request_.options.cuda_capability == 0) {
        fail(ErrorKind::Unsupported, span, "'" + callee.text + "' is code for GPUs, and this is the CPU device",
             "write the function in Python to run it on both");
    }
    ir::External external{callee.text, callee.names[0] == "numba", external_type(callee.names[1]), {}};
    const std::vector<std::string> types(callee.names.begin() + 2, callee.names.end());
    if (args.size() != types.size())
        type_error(span, callee.text + ": expected " + plural(types.size()) + ", got " + std::to_string(args.size()));
    ir::Op op;
    op.code = Opcode::ExternalCall;
    for (std::size_t i = 0; i < types.size(); ++i) {
        external.params.push_back(external_type(types[i]));
        if (external.params.back().is_scalar()) {
            number_type(args[i], span, callee.text.c_str());
            op.operands.push_back(as(args[i], external.params.back().dtype));
            continue;
        }
        const DType element = dtype_from_name(std::string_view(types[i]).substr(0, types[i].size() - 1));
        if (!args[i].is(Entity::Kind::Array) || args[i].record != nullptr || args[i].dtype != element) {
            type_error(span, callee.text + ": argument " + std::to_string(i + 1) + ": expected an array of " +
                                 std::string(name_of(element)) + ", got " + describe(type_of(args[i])));
        }
        const bool rows =
            args[i].layout == ir::Layout::Dense || (args[i].rank() == 1 && args[i].layout == ir::Layout::InnerDense);
        if (!rows || !args[i].fixed.empty()) {
            type_error(span, callee.text + ": argument " + std::to_string(i + 1) +
                                 ": expected a contiguous array, since the function gets an address alone, got " +
                                 describe(type_of(args[i])));
        }
        op.operands.push_back(args[i].value);
        op.imm |= static_cast<std::uint64_t>(args[i].space) << (2 * i);
    }
    const bool returns = external.result.is_scalar();
    op.type = returns ? external.result : ir::Type::scalar(DType::Int32);
    op.index = external_number(external, span);
    const ValueId value = emit(std::move(op));
    return returns ? Entity::scalar(value, external.result.dtype) : Entity();
}

}  // namespace treadle::frontend
