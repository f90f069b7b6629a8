// The passes over the kernel IR and their order. pipeline.cpp is the only place that knows the order.
//
//     run_pipeline(function, {.lanes = Lanes::Line}, "");
//
// Each pass can be disabled by name (comma-separated list); the IR is verified after each one that changed something.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace treadle::passes {

struct PassContext {
    ir::Lanes lanes = ir::Lanes::Line;
    BlockDims block{};
    bool whole_block = false;  // shapes that hold for all threads of a block, not only for those of a packet
};

struct PassTiming {
    std::string_view name;
    double milliseconds;
    bool changed;
};

// Returns what each pass cost. Throws Error(Internal) when a pass breaks the IR, Error(Argument) for an unknown
// disabled name.
std::vector<PassTiming> run_pipeline(ir::Function& function, const PassContext& context, std::string_view disabled);

// The names in order.
std::vector<std::string_view> pass_names();

// One pass alone, for tests.
bool run_pass(std::string_view name, ir::Function& function, const PassContext& context);

}  // namespace treadle::passes
