#include "array/reduction_kernel.h"

#include <map>
#include <mutex>
#include <string>

namespace treadle::array {
namespace {

bool is_flat(const ReductionForm& form) { return form.walk != ReductionForm::Walk::Columns; }

std::string converted(DType type, const std::string& text) {
    return "(call (builtin " + std::string(name_of(type)) + ") " + text + ")";
}

// Statements that take x (and for the index reductions its index j) into the state: acc, and at.
std::string combine_text(const ReductionForm& form) {
    if (form.reduction->typing != 'i') return "(set acc " + std::string(form.reduction->combine) + ") ";
    const std::string nan = "(and (cmp x != x) (cmp acc == acc))";
    const std::string tie = "(and (or (cmp x == acc) (and (cmp x != x) (cmp acc != acc))) (cmp j < at))";
    return "(set better (or " + std::string(form.reduction->combine) + " " + nan + " " + tie +
           ")) (set acc (call (builtin select) better x acc)) (set at (call (builtin select) better j at)) ";
}

// Element r as x and j, or as variables with these names and a number behind them.
std::string load_text(const ReductionForm& form, const std::string& r, const std::string& number = "") {
    const std::string place = is_flat(form) ? "(tuple o " + r + ")" : "(tuple o " + r + " i)";
    std::string text = "(set x" + number + " " + converted(form.compute, "(item a " + place + ")") + ") ";
    if (form.reduction->typing == 'i')
        text += "(set j" + number + " " + (form.with_indices ? "(item ia " + place + ")" : r) + ") ";
    return text;
}

std::string step_text(const ReductionForm& form, const std::string& r) {
    return load_text(form, r) + combine_text(form);
}

// A thread of a block takes the elements from k on, a step apart: several at once, so that as many loads are under way,
// and those as one, which keeps rounding errors of sums small.
std::string stride_text(const ReductionForm& form) {
    constexpr int kAtOnce = 8;
    const bool indexed = form.reduction->typing == 'i';
    std::string loads;
    for (int i = 0; i < kAtOnce; ++i)
        loads += load_text(form, "(bin + k (bin * step " + std::to_string(i) + "))", std::to_string(i));
    const auto take = [&](const std::string& value, const std::string& index) {
        return "(set x " + value + ") " + (indexed ? "(set j " + index + ") " : "") + combine_text(form);
    };
    std::string group = "(set before acc) (set acc x0) ";
    if (indexed) group += "(set before_at at) (set at j0) ";
    for (int i = 1; i < kAtOnce; ++i) group += take("x" + std::to_string(i), "j" + std::to_string(i));
    group += "(set group acc) (set acc before) ";
    if (indexed) group += "(set group_at at) (set at before_at) ";
    group += take("group", "group_at");
    const std::string all = std::to_string(kAtOnce);
    return "(set k (bin + begin t)) (while (cmp (bin + k (bin * step " + std::to_string(kAtOnce - 1) +
           ")) < end) (do " + loads + group + "(set k (bin + k (bin * step " + all + "))))) (while (cmp k < end) (do " +
           step_text(form, "k") + "(set k (bin + k step)))) ";
}

// A loop that takes the elements at place, a text in terms of k, into the state. Sums of floats are added in runs of
// 64, whose totals are added up: rounding errors grow with the length of a run and the number of runs, not with their
// product.
std::string loop_text(const ReductionForm& form, const std::string& begin, const std::string& end,
                      const std::string& step, const std::string& place) {
    const auto loop = [](const std::string& name, const std::string& from, const std::string& to, const std::string& by,
                         const std::string& body) {
        return "(for " + name + " (call (builtin range) " + from + " " + to + " " + by + ") (do " + body + ")) ";
    };
    const std::string one = step_text(form, place);
    if (!is_float(form.compute) || form.reduction->typing != 's') return loop("k", begin, end, step, one);
    const std::string run = step == "1" ? "64" : "(bin * " + step + " 64)";
    const std::string neutral = converted(form.compute, std::string(form.reduction->start));
    std::string combine(form.reduction->combine);
    combine.replace(combine.find(" x)"), 3, " acc)");
    combine.replace(combine.find("acc"), 3, "total");
    return "(set total acc) " +
           loop("b", begin, end, run,
                "(set acc " + neutral + ") " +
                    loop("k", "b", "(call (builtin min) (bin + b " + run + ") " + end + ")", step, one) +
                    "(set total " + combine + ")") +
           "(set acc total) ";
}

// The states of a block's threads become one, half of them at a time. result: statements of the first thread.
std::string block_text(const ReductionForm& form, const std::string& result) {
    const bool indexed = form.reduction->typing == 'i';
    const std::string threads = std::to_string(kReductionThreads);
    const auto array = [&](const std::string& name, DType type) {
        return "(set " + name + " (call (builtin shared.array) " + threads + " (builtin " + std::string(name_of(type)) +
               "))) ";
    };
    const std::string keep = "(set (item s t) acc) " + std::string(indexed ? "(set (item si t) at) " : "");
    const std::string meet = "(expr (call (builtin syncthreads))) ";
    std::string text = array("s", form.compute) + (indexed ? array("si", DType::Int64) : "") + keep + meet;
    text += "(set n (bin // step 2)) (while (cmp n > 0) (do (if (cmp t < n) (do (set x (item s (bin + t n))) ";
    if (indexed) text += "(set j (item si (bin + t n))) ";
    text += combine_text(form) + keep + ") (do)) " + meet + "(set n (bin // n 2)))) ";
    return text + "(if (cmp t == 0) (do " + result + ") (do))";
}

std::string program_of(const ReductionForm& form) {
    const bool indexed = form.reduction->typing == 'i';
    const std::string first_place = is_flat(form) ? "(tuple o begin)" : "(tuple o begin i)";
    const std::string first = "(item a " + first_place + ")";
    std::string start(form.reduction->start);
    start = start == "first" ? converted(form.compute, first) : converted(form.compute, start);
    std::string text = "(fn " + std::string(form.reduction->name) + " (a " + (form.with_indices ? "ia " : "") + "out " +
                       (indexed ? "iout " : "") + "part) ";
    text += is_flat(form) ? "(set p (call (builtin int64) (builtin blockIdx.x))) (set t (call (builtin int64) (builtin "
                            "threadIdx.x))) "
                          : "(set p (call (builtin int64) (builtin blockIdx.z))) (set i (call (builtin grid) 1)) ";
    text += "(set o (call (builtin int64) (builtin blockIdx.y))) ";
    text += "(set begin (bin * p part)) (set end (call (builtin min) (bin + begin part) (item (attr a shape) 1))) ";
    text += "(set acc " + start + ") ";
    if (indexed) text += form.with_indices ? "(set at (item ia " + first_place + ")) " : "(set at (bin + begin 0)) ";
    std::string place = "p";
    if (form.walk == ReductionForm::Walk::Block) {
        text += "(set step (call (builtin int64) (builtin blockDim.x))) " + stride_text(form);
    } else if (is_flat(form)) {
        // Whole rows of the packet without a test, then the rest.
        text +=
            "(set step (call (builtin int64) (builtin blockDim.x))) (set whole (bin - end (bin % (bin - end begin) "
            "step))) ";
        text += loop_text(form, "begin", "whole", "step", "(bin + k t)");
        text += "(if (cmp (bin + whole t) < end) (do " + step_text(form, "(bin + whole t)") + ") (do)) ";
        place = "(bin + (bin * p step) t)";
    } else {
        text += loop_text(form, "begin", "end", "1", "k");
    }
    const std::string target = "(tuple o " + place + (is_flat(form) ? ")" : " i)");
    std::string result = "(set (item out " + target + ") acc)";
    if (indexed) result += " (set (item iout " + target + ") at)";
    if (form.walk == ReductionForm::Walk::Block) return text + block_text(form, result) + ")";
    return text + result + ")";
}

}  // namespace

runtime::Function& reduction_function(const ReductionForm& form) {
    static std::mutex mutex;
    static auto* const functions = new std::map<ReductionForm, std::unique_ptr<runtime::Function>>;
    const std::lock_guard lock(mutex);
    auto& entry = (*functions)[form];
    if (entry == nullptr) {
        CompileRequest request;
        request.program = program_of(form);
        request.options.strict_types = true;
        request.options.contract = false;
        // Along a row every thread stays inside; columns beyond the last one are left to the guard.
        if (is_flat(form)) request.options.bounds = Bounds::Off;
        entry = std::make_unique<runtime::Function>(std::string(form.reduction->name), std::move(request));
    }
    return *entry;
}

}  // namespace treadle::array
