#include "passes/pipeline.h"

#include <array>
#include <chrono>

#include "base/error.h"
#include "passes/analyze_shapes.h"
#include "passes/eliminate_dead_code.h"
#include "passes/end_early.h"
#include "passes/fold_constants.h"
#include "passes/separate_counters.h"
#include "passes/split_blocks.h"

namespace treadle::passes {
namespace {

struct Pass {
    std::string_view name;
    bool (*run)(ir::Function&, const PassContext&);
    bool required;
};

// A pass over a kernel and the functions it calls.
bool run_on_all(const Pass& pass, ir::Function& kernel, const PassContext& context) {
    bool changed = pass.run(kernel, context);
    for (ir::Function& callee : kernel.callees) changed = pass.run(callee, context) || changed;
    return changed;
}

// Folding first: it turns branches and steps into constants that the shapes are better for.
constexpr std::array kPasses = {
    Pass{"fold_constants", fold_constants, false},
    Pass{"eliminate_dead_code", eliminate_dead_code, false},
    Pass{"end_early", end_early, true},
    Pass{"separate_counters", separate_counters, false},
    Pass{"split_blocks", split_blocks, false},
    Pass{"analyze_shapes", analyze_shapes, true},
};

bool listed(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        if (list.substr(0, comma) == name) return true;
        if (comma == std::string_view::npos) break;
        list.remove_prefix(comma + 1);
    }
    return false;
}

}  // namespace

std::vector<std::string_view> pass_names() {
    std::vector<std::string_view> names;
    for (const Pass& pass : kPasses) names.push_back(pass.name);
    return names;
}

bool run_pass(std::string_view name, ir::Function& function, const PassContext& context) {
    for (const Pass& pass : kPasses) {
        if (pass.name != name) continue;
        const bool changed = run_on_all(pass, function, context);
        ir::verify(function);
        return changed;
    }
    throw Error(ErrorKind::Argument, "[passes] expected the name of a pass, got '" + std::string(name) + "'");
}

std::vector<PassTiming> run_pipeline(ir::Function& function, const PassContext& context, std::string_view disabled) {
    std::vector<PassTiming> timings;
    ir::verify(function);
    for (const Pass& pass : kPasses) {
        if (!pass.required && listed(disabled, pass.name)) continue;
        const auto begin = std::chrono::steady_clock::now();
        const bool changed = run_on_all(pass, function, context);
        if (changed) ir::verify(function);
        const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
        timings.push_back({pass.name, spent.count(), changed});
    }
    return timings;
}

}  // namespace treadle::passes
