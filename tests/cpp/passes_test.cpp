// Each pass as text before and after.
#include <gtest/gtest.h>

#include "base/error.h"
#include "passes/mark_spins.h"
#include "passes/pipeline.h"

namespace treadle::passes {
namespace {

ir::Function after(const char* pass, const std::string& text) {
    ir::Function function = ir::parse(text);
    run_pass(pass, function, {});
    return function;
}

std::string kernel(const std::string& body, const std::string& head = "") {
    return "kernel @f(ptr, int64, int64) bounds=guard {\n" + head +
           "%0 = param : ptr\n%1 = param {index=1} : int64\n%2 = param {index=2} : int64\n" + body + "}\n";
}

const std::string kThread = "%3 = thread_idx : int32\n%4 = cast %3 : int64\n";

TEST(FoldConstants, evaluatesAndDropsNeutralElements) {
    const std::string before = kernel(
        "%3 = const {imm=3} : int64\n%4 = const {imm=4} : int64\n%5 = mul %3, %4 : int64\n%6 = const : int64\n%7 = add "
        "%1, %6 : int64\n"
        "store %0, %1, %2, %7, %5 {index=1, elem=int64}\n");
    const std::string text = ir::print(after("fold_constants", before));
    EXPECT_NE(text.find("%5 = const {imm=12} : int64"), std::string::npos) << text;
    EXPECT_NE(text.find("store %0, %1, %2, %1, %5"), std::string::npos) << text;
}

TEST(EliminateDeadCode, removesWhatNobodyUses) {
    const std::string before =
        kernel("%3 = add %1, %2 : int64\n%4 = load %0, %1, %2, %3 {index=1, elem=int64} : int64\nvar_set %3\n",
               "var $0 v : int64\n");
    const std::string text = ir::print(after("eliminate_dead_code", before));
    EXPECT_EQ(text.find("add"), std::string::npos) << text;
    EXPECT_EQ(text.find("load"), std::string::npos) << text;
    EXPECT_EQ(text.find("var_set"), std::string::npos) << text;
}

TEST(EliminateDeadCode, keepsLoadsThatMayFault) {
    std::string before = kernel("%3 = load %0, %1, %2, %1 {index=1, elem=int64} : int64\n");
    before.replace(before.find("guard"), 5, "raise");
    EXPECT_NE(ir::print(after("eliminate_dead_code", before)).find("load"), std::string::npos);
}

TEST(AnalyzeShapes, tellsUniformLinearAndVaryingApart) {
    const ir::Function function =
        after("analyze_shapes",
              kernel(kThread + "%5 = const {imm=3} : int64\n%6 = mul %4, %5 : int64\n%7 = add %6, %1 : int64\n"
                               "%8 = mul %4, %1 : int64\n%9 = sub %4, %4 : int64\n%10 = lt %4, %1 : bool\n"
                               "%11 = load %0, %1, %2, %1 {index=1, elem=int64} : int64\n"));
    EXPECT_TRUE(function.value_shapes[1].is_uniform());
    EXPECT_EQ(function.value_shapes[4], ir::Shape::linear(1));
    EXPECT_EQ(function.value_shapes[7], ir::Shape::linear(3));
    EXPECT_TRUE(function.value_shapes[8].is_varying());
    EXPECT_TRUE(function.value_shapes[9].is_uniform());
    EXPECT_TRUE(function.value_shapes[10].is_varying());
    EXPECT_TRUE(function.value_shapes[11].is_uniform());
    EXPECT_TRUE(function.nonnegative[7] == false && function.nonnegative[6]);
}

TEST(AnalyzeShapes, nothingIsKnownOfWhatACalledFunctionIsGiven) {
    const ir::Function function = after("analyze_shapes", R"(kernel @k(int64) bounds=guard {
  %0 = param : int64
  %1 = call %0 : bool
  %2 = call_result %1 : int64
}
function @f(int64) bounds=guard gives $0 {
  var $0 result : int64
  %0 = param : int64
  %1 = const {imm=1} : int64
  var_set %1
}
)");
    EXPECT_TRUE(function.value_shapes[0].is_uniform());
    EXPECT_TRUE(function.value_shapes[1].is_varying() && function.value_shapes[2].is_varying());
    EXPECT_TRUE(function.callees[0].value_shapes[0].is_varying());
    EXPECT_TRUE(function.callees[0].variable_shapes[0].is_uniform());
}

TEST(EliminateDeadCode, keepsResults) {
    const ir::Function function = after("eliminate_dead_code", R"(kernel @k() bounds=guard {
}
function @f(int64) bounds=guard gives $1 {
  var $0 other : int64
  var $1 result : int64
  %0 = param : int64
  var_set %0
  var_set %0 {index=1}
}
)");
    EXPECT_EQ(function.callees[0].body.size(), 2u);
}

TEST(AnalyzeShapes, aVariableUsedOnlyUnderAMaskStaysUniform) {
    const std::string inside =
        "if %5 {\nvar_set %1 {index=0}\n%6 = var_get : int64\nstore %0, %1, %2, %4, %6 {index=1, elem=int64}\n} {\n}\n";
    const ir::Function local =
        after("analyze_shapes", kernel(kThread + "%5 = lt %4, %1 : bool\n" + inside, "var $0 v : int64\n"));
    EXPECT_TRUE(local.variable_shapes[0].is_uniform());
    const ir::Function outer =
        after("analyze_shapes",
              kernel(kThread + "%5 = lt %4, %1 : bool\nvar_set %2\nif %5 {\nvar_set %1\n} {\n}\n%7 = var_get : int64\n",
                     "var $0 v : int64\n"));
    EXPECT_TRUE(outer.variable_shapes[0].is_varying());
    EXPECT_TRUE(outer.body[7].regions[0][0].blend);
}

const std::string kCounter = kernel(kThread +
                                        "var_set %2\nloop {\n} {\n%5 = var_get : int64\n%6 = lt %5, %1 : bool\n%7 = lt "
                                        "%5, %4 : bool\n%8 = and %6, %7 : bool\n"
                                        "yield %8\n} {\n%9 = var_get : int64\n%10 = const {imm=1} : int64\n%11 = add "
                                        "%9, %10 : int64\nvar_set %11\n} {\n} {\n}\n"
                                        "%12 = var_get : int64\nstore %0, %1, %2, %4, %12 {index=1, elem=int64}\n",
                                    "var $0 n : int64\n");

TEST(SeparateCounters, makesACounterUniformInsideTheLoop) {
    const ir::Function function = after("separate_counters", kCounter);
    ASSERT_EQ(function.variables.size(), 2U);
    EXPECT_EQ(function.variables[1].name, "n'");
    EXPECT_TRUE(function.variable_shapes[1].is_uniform());
    EXPECT_TRUE(function.variable_shapes[0].is_varying());
    const ir::Op& loop = function.body[6];
    ASSERT_EQ(loop.code, ir::Opcode::Loop);
    EXPECT_EQ(loop.regions[0].size(), 1U) << "the counter starts with the loop";
    EXPECT_EQ(loop.regions[4].size(), 2U) << "lanes take it along when they leave";
}

TEST(SeparateCounters, leavesOtherVariablesAlone) {
    std::string by_lane = kCounter;
    by_lane.replace(by_lane.find("%11 = add %9, %10"), 17, "%11 = add %9, %4 ");
    EXPECT_EQ(after("separate_counters", by_lane).variables.size(), 1U);
}

TEST(Pipeline, runsInOrderAndCanSkip) {
    ir::Function function = ir::parse(kCounter);
    const auto timings = run_pipeline(function, {}, "separate_counters,fold_constants");
    EXPECT_EQ(function.variables.size(), 1U);
    ASSERT_EQ(timings.size(), pass_names().size() - 2);
    EXPECT_EQ(timings.back().name, "analyze_shapes");
    EXPECT_THROW(run_pass("no_such_pass", function, {}), Error);
}

// A branch on the thread's index, a value that %3 and %4 hold, with a barrier in it.
const std::string kBranch =
    kThread + "%5 = lt %4, %1 : bool\nif %5 {\nbarrier\nstore %0, %1, %2, %4, %4 {index=1, elem=int64}\n} {\n}\n";

TEST(EndEarly, letsThreadsGoThatSkipTheLastBarrier) {
    const std::string text = ir::print(after("end_early", kernel(kBranch)));
    const std::size_t leaves = text.find("return");
    const std::size_t meets = text.find("barrier");
    ASSERT_NE(leaves, std::string::npos) << text;
    EXPECT_LT(leaves, meets) << text;
    EXPECT_NE(text.find("not %5"), std::string::npos) << text;
}

TEST(EndEarly, leavesBranchesAloneThatAreNotTheLast) {
    const std::string before = kernel(kBranch + "store %0, %1, %2, %4, %4 {index=1, elem=int64}\n");
    EXPECT_EQ(ir::print(after("end_early", before)), ir::print(ir::parse(before)));
}

bool spins(const std::string& condition, const std::string& body) {
    ir::Function function =
        ir::parse(kernel(kThread + "var_set %4\nloop {\n} {\n" + condition + "yield %9\n} {\n" + body + "} {\n} {\n}\n",
                         "var $0 v : int64\n"));
    mark_spins(function);
    return ir::has_spin(function);
}

TEST(MarkSpins, findsLoopsThatWaitForAnElement) {
    const std::string fixed = "%6 = load %0, %1, %2, %1 {index=1, elem=int64} : int64\n%9 = lt %6, %1 : bool\n";
    EXPECT_TRUE(spins(fixed, ""));
    EXPECT_FALSE(spins(fixed, "store %0, %1, %2, %1, %4 {index=1, elem=int64}\n"));  // it changes the element itself
    const std::string walking =
        "%5 = var_get : int64\n%6 = load %0, %1, %2, %5 {index=1, elem=int64} : int64\n%9 = lt %6, %1 : bool\n";
    EXPECT_FALSE(spins(walking, "%7 = var_get : int64\n%8 = add %7, %1 : int64\nvar_set %8\n"));
    EXPECT_TRUE(spins(walking, ""));
}

TEST(MarkSpins, tellsLocksFromUpdates) {
    // A lock is taken with the same operands again and again; an update offers what it has just computed.
    const std::string lock =
        "%6 = atomic %0, %1, %2, %1, %1, %2 {imm=12, index=1, elem=int64} : int64\n%9 = ne %6, %1 : bool\n";
    EXPECT_TRUE(spins(lock, ""));
    const std::string update =
        "%5 = var_get : int64\n%6 = atomic %0, %1, %2, %1, %5, %2 {imm=12, index=1, elem=int64} : int64\n"
        "var_set %6\n%9 = ne %6, %5 : bool\n";
    EXPECT_FALSE(spins(update, ""));
}

bool splits(const std::string& text) {
    ir::Function function = ir::parse(text);
    run_pass("split_blocks", function, {ir::Lanes::Line, {64, 1, 1}});
    return function.splits;
}

TEST(SplitBlocks, needsControlFlowThatIsTheSameForTheBlock) {
    EXPECT_TRUE(splits(kernel("barrier\n")));
    EXPECT_FALSE(splits(kernel("%3 = const : int64\n")));  // no barrier, nothing to split
    EXPECT_TRUE(splits(kernel("%3 = lt %1, %2 : bool\nif %3 {\nbarrier\n} {\n}\n")));
    EXPECT_FALSE(splits(kernel(kBranch)));
    const std::string read = "%3 = load %0, %1, %2, %1 {index=1, elem=int64} : int64\n%4 = lt %3, %1 : bool\n";
    EXPECT_FALSE(splits(kernel(read + "if %4 {\nbarrier\n} {\n}\n")));  // another packet may have changed it
}

TEST(SplitBlocks, keepsCountersOfTheBlockApartFromThoseOfPackets) {
    ir::Function function = ir::parse(kernel(
        "var_set %1\nvar_set %1 {index=1}\nloop {\n} {\n%3 = var_get : int64\n%4 = lt %3, %2 : bool\nyield %4\n} {\n"
        "barrier\n%5 = thread_idx : int32\n%6 = cast %5 : int64\nvar_set %6 {index=1}\n} {\n"
        "%7 = var_get : int64\n%8 = add %7, %1 : int64\nvar_set %8\n} {\n}\n",
        "var $0 i : int64\nvar $1 t : int64\n"));
    run_pass("split_blocks", function, {ir::Lanes::Line, {64, 1, 1}});
    EXPECT_TRUE(function.splits);
    EXPECT_TRUE(function.block_variables[0]);
    EXPECT_FALSE(function.block_variables[1]);
    EXPECT_TRUE(function.block_values[8]);
    EXPECT_FALSE(function.block_values[6]);
}

}  // namespace
}  // namespace treadle::passes
