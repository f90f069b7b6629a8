#include "ir/ir.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace treadle::ir {
namespace {

constexpr const char* kLoop = R"(kernel @count(ptr, int64, int64) bounds=raise contract {
  var $0 n : int64
  table uint32 1 2 4294967295
  %0 = param : ptr
  %1 = param {index=1} : int64
  %2 = param {index=2} : int64
  %3 = const : int64
  var_set %3
  loop {
  } {
    %4 = var_get : int64
    %5 = lt %4, %1 : bool
    yield %5
  } {
    %6 = const {imm=1} : int64
    %7 = var_get : int64
    %8 = add %7, %6 : int64
    var_set %8
    if %5 {
      break
    } {
    }
  } {
  } {
  }
  %9 = var_get : int64
  store %0, %1, %2, %3, %9 {index=1, elem=int64, layout=1, line=7}
}
)";

constexpr const char* kCall = R"(kernel @calls(ptr) bounds=guard {
  external scaled (ptr, float32) : float32
  external put status () : none
  %0 = param : ptr
  %1 = const : float32
  %2 = external_call %0, %1 : float32
  %3 = external_call {index=1} : int32
}
)";

std::string without(std::string text, const std::string& what) {
    text.replace(text.find(what), what.size(), "");
    return text;
}

void expect_error(const std::string& text, const std::string& words) {
    try {
        verify(parse(text));
        FAIL() << "expected: " << words;
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

// if %5 uses a value of the condition region, which the body does not see: the text above is wrong on purpose there.
const std::string kGood = [] {
    std::string text = kLoop;
    text.replace(text.find("if %5"), 5, "if %10");
    text.replace(text.find("    if %10"), 0, "    %10 = lt %8, %1 : bool\n");
    return text;
}();

TEST(Ir, printsWhatItParses) {
    const std::string once = print(parse(kGood));
    EXPECT_EQ(print(parse(once)), once);
    EXPECT_NE(once.find("table uint32 1 2 4294967295"), std::string::npos);
    EXPECT_NE(once.find("bounds=raise contract"), std::string::npos);
}

TEST(Ir, declaresExternalFunctions) {
    const std::string once = print(parse(kCall));
    EXPECT_EQ(print(parse(once)), once);
    EXPECT_NE(once.find("external put status () : none"), std::string::npos);
    verify(parse(kCall));
    expect_error(without(kCall, "%0, "), "operands do not fit the external function");
    expect_error(without(kCall, "  external put status () : none\n"), "names no external function");
}

TEST(Ir, acceptsAWellFormedKernel) { verify(parse(kGood)); }

TEST(Ir, accessesMayBeLessAlignedThanTheirType) {
    std::string text = kGood;
    text.replace(text.find("elem=int64, layout"), 11, "elem=int64, align=2,");
    const Function function = parse(text);
    verify(function);
    EXPECT_EQ(function.body.back().align, 2);
    EXPECT_EQ(print(function), print(parse(print(function))));
    EXPECT_NE(print(function).find("align=2"), std::string::npos);
    for (const char* wrong : {"align=8", "align=3"}) {
        std::string bad = text;
        bad.replace(bad.find("align=2"), 7, wrong);
        expect_error(bad, "has an alignment that its type does not need");
    }
}

TEST(Ir, seesValuesOnlyInTheirRegion) { expect_error(kLoop, "uses a value that is not visible"); }

TEST(Ir, refusesWrongTypes) {
    std::string text = kGood;
    text.replace(text.find("%8 = add %7, %6 : int64"), 23, "%8 = add %7, %5 : int64");
    expect_error(text, "not visible");
    expect_error(
        "kernel @f(float32, int64) bounds=guard {\n %0 = param : float32\n %1 = param {index=1} : int64\n %2 = add %0, "
        "%1 : float32\n}\n",
        "operands have different types");
    expect_error("kernel @f(float32) bounds=guard {\n %0 = param : float32\n %1 = lt %0, %0 : float32\n}\n",
                 "must give bool");
    expect_error("kernel @f(float32) bounds=guard {\n %0 = param {index=3} : float32\n}\n", "names no parameter");
}

TEST(Ir, refusesJumpsOutsideTheirTarget) {
    expect_error("kernel @f() bounds=guard {\n break\n}\n", "outside a loop");
    expect_error("kernel @f() bounds=guard {\n leave\n}\n", "outside a scope");
    expect_error("kernel @f() bounds=guard {\n return\n %0 = const : int64\n}\n", "last operation");
}

TEST(Ir, parserNamesTheLine) {
    expect_error("kernel @f() bounds=guard {\n  %0 = nonsense : int64\n}\n", "line 2: unknown operation 'nonsense'");
    expect_error(without(kGood, "yield %5"), "condition must end with yield");
}

const std::string kCalls = R"(kernel @k(ptr, int64) bounds=guard contract {
  %0 = param : ptr
  %1 = param {index=1} : int64
  %2 = call %1 {line=3} : bool
  %3 = call_result %2 : int64
  if %2 {
    return
  } {
  }
  store %0, %1, %1, %3, %3 {index=1, elem=int64}
}
function @f(int64) bounds=guard contract gives $0 {
  var $0 result : int64
  %0 = param : int64
  var_set %0
}
)";

TEST(Ir, functionsThatAreCalledFollowTheKernel) {
    const Function kernel = parse(kCalls);
    verify(kernel);
    ASSERT_EQ(kernel.callees.size(), 1u);
    EXPECT_TRUE(kernel.callees[0].is_called);
    EXPECT_EQ(print(kernel), kCalls);
    EXPECT_TRUE(runs_by_packet(kernel));
    expect_error(without(kCalls, "call %1 {line=3}").insert(kCalls.find("call %1"), "call %1, %1"),
                 "operands do not fit the function's parameters");
    expect_error(without(kCalls, "call %1 {line=3}").insert(kCalls.find("call %1"), "call %1 {index=1}"),
                 "names no function");
    expect_error(without(kCalls, "call %1 {line=3}").insert(kCalls.find("call %1"), "call %0"),
                 "has an operand of another type");
}

TEST(Ir, everyOperationIsFoundByItsText) {
    for (int i = 0; i < static_cast<int>(Opcode::Count); ++i) {
        const auto code = static_cast<Opcode>(i);
        EXPECT_EQ(opcode_from_text(info(code).text), code);
    }
}

}  // namespace
}  // namespace treadle::ir
