#include <gtest/gtest.h>

#include "base/error.h"
#include "frontend/lowering.h"
#include "frontend/scan.h"
#include "frontend/typing.h"

namespace treadle::frontend {
namespace {

CompileRequest request(const std::string& program, std::vector<ArgType> args, bool strict = false) {
    CompileRequest result;
    result.program = program;
    result.args = std::move(args);
    result.options.strict_types = strict;
    return result;
}

ArgType scalar(DType type) { return {ArgType::Kind::Scalar, type, 0, Layout::Any, {}}; }
ArgType array(DType type, int rank = 1) {
    return {ArgType::Kind::Array, type, static_cast<std::uint8_t>(rank), Layout::Dense, {}};
}

std::string lowered(const CompileRequest& request) {
    const ir::Function function = lower(request);
    ir::verify(function);
    return ir::print(function);
}

void expect_failure(CompileRequest request, ErrorKind kind, const std::string& words) {
    request.sources = {{"file.py", 10, "def f(x):\n    line one\n    line two\n"}};
    try {
        lower(request);
        FAIL() << "expected: " << words;
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

int count(const std::string& text, const std::string& what) {
    int found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

TEST(Frontend, lowersAnElementCopy) {
    const std::string text = lowered(request("(fn f (x y) (set i (call (builtin grid) 1)) (set (item y i) (item x i)))",
                                             {array(DType::Float32), array(DType::Float32)}));
    EXPECT_EQ(count(text, "thread_idx"), 1);
    EXPECT_EQ(count(text, "= load"), 1);
    EXPECT_NE(text.find("elem=float32, layout=1"), std::string::npos);
    EXPECT_EQ(count(text, "var "), 0) << "straight-line names need no variables";
}

TEST(Frontend, typesIntegerArithmeticTo64Bits) {
    const std::string text = lowered(request("(fn f (a b x) (set (item x 0) (bin + a b)))",
                                             {scalar(DType::Int32), scalar(DType::Int16), array(DType::Int64)}));
    EXPECT_NE(text.find("add"), std::string::npos);
    EXPECT_EQ(count(text, "cast"), 2);
}

TEST(Frontend, widensAVariableUntilItsTypeSettles) {
    const std::string program =
        "(fn f (x n) (set acc 0) (for k (call (builtin range) n) (do (set acc (bin + acc (item x k))))) (set (item x "
        "0) acc))";
    const std::string text = lowered(request(program, {array(DType::Float64), scalar(DType::Int64)}));
    EXPECT_NE(text.find("acc : float64"), std::string::npos);
}

TEST(Frontend, inlinesDeviceFunctionsWithEarlyReturn) {
    const std::string program =
        "(fn k (x) (set (item x 0) (call (function 1) (item x 1))))\n(fn f (v) (if (cmp v < 0.0) (do (return 1.0)) "
        "(do)) (return v))";
    const std::string text = lowered(request(program, {array(DType::Float64)}));
    EXPECT_EQ(count(text, "scope"), 1);
    EXPECT_EQ(count(text, "leave"), 2);
}

TEST(Frontend, strictTypesLetLiteralsAdapt) {
    const std::string text =
        lowered(request("(fn f (x) (set (item x 0) (bin * (item x 1) 2.0)))", {array(DType::Float32)}, true));
    EXPECT_EQ(count(text, "cast"), 0);
    EXPECT_EQ(count(text, "float64"), 0);
    expect_failure(request("(fn f (x y) (set (item x 0) (bin * (item x 1) y)))",
                           {array(DType::Float32), scalar(DType::Float64)}, true),
                   ErrorKind::Typing, "strict types: float32 with float64");
}

TEST(Frontend, errorsShowFileLineAndCaret) {
    expect_failure(request("(fn f (x) (set @1:4:12 y (bin @1:4:9 + x 1)))", {array(DType::Float32)}), ErrorKind::Typing,
                   "expected a number, got an array\n  File \"file.py\", line 11\n        line one\n        ^^^^^");
    expect_failure(request("(fn f (x) (expr (item x 1.5)))", {array(DType::Float32)}), ErrorKind::Typing,
                   "expected an integer, got float64");
    expect_failure(request("(fn f (x) (expr (item x (tuple 1 2))))", {array(DType::Float32)}), ErrorKind::Typing,
                   "too many indices");
    expect_failure(request("(fn f (x) (expr (call (builtin nothing_f32) 1.0)))", {array(DType::Float32)}),
                   ErrorKind::Unsupported, "'nothing_f32' is not known");
    expect_failure(request("(fn f (x) (return 1))", {scalar(DType::Int64)}), ErrorKind::Typing,
                   "a kernel returns nothing");
    expect_failure(request("(fn f (x) (set y z))", {scalar(DType::Int64)}), ErrorKind::Typing,
                   "'z' is used before anything is assigned");
    expect_failure(request("(fn f (x) (expr (call (function 0) 1)))", {scalar(DType::Int64)}), ErrorKind::Unsupported,
                   "calls itself");
    expect_failure(request("(fn f (x) (for i (call (builtin range) 1 2 0) (do)))", {scalar(DType::Int64)}),
                   ErrorKind::Typing, "step must not be zero");
}

TEST(Frontend, describesTypes) {
    const std::string types = describe_types(request(
        "(fn f (a b) (set s 0) (if @3:4:9 a (do (set s b)) (do)) (return (ifexp @5:11:20 a s (call (function 1) b))))"
        "(fn g (x) (if x (do (return 1)) (do)) (return x))",
        {scalar(DType::Int32), scalar(DType::Float32)}));
    EXPECT_NE(types.find("[\"variable\", \"s\", [\"scalar\", \"float64\"]]"), std::string::npos) << types;
    EXPECT_NE(types.find("[\"return\", [\"scalar\", \"float64\"]]"), std::string::npos) << types;
    EXPECT_EQ(types.find("#if"), std::string::npos) << "names of the front end's own are left out";
}

TEST(Frontend, keepsNamesForDebuggers) {
    CompileRequest plain = request("(fn f (x) (set i (call (builtin grid) 1)) (set v (item x i)) (set (item x i) v))",
                                   {array(DType::Float32)});
    plain.sources = {{"file.py", 10, "def f(x):\n"}};
    EXPECT_EQ(count(lowered(plain), "var $"), 0);
    plain.options.debug = DebugLevel::Lines;
    EXPECT_EQ(count(lowered(plain), "var $"), 0);
    plain.options.debug = DebugLevel::Full;
    const std::string text = lowered(plain);
    for (const char* variable : {"x<float32> : ptr", " i : int64", " v : float32"})
        EXPECT_NE(text.find(variable), std::string::npos) << text;
    EXPECT_EQ(count(text, "var_get"), 0) << "nothing but a debugger reads them";
}

TEST(Frontend, findsNamesThatNeedVariables) {
    const auto program =
        parse_program("(fn f (x) (set a 1) (set a 2.5) (set b 0) (if x (do (set b 1) (set c b)) (do)) (set d b))");
    const auto names = names_that_need_variables(program[0]);
    EXPECT_EQ(names, (std::set<std::string, std::less<>>{"b"}));
    const auto loop = parse_program("(fn f (n) (while n (do (set t last) (set last 1))))");
    EXPECT_EQ(names_that_need_variables(loop[0]).count("last"), 1U);
}

TEST(Typing, followsNumbaCuda) {
    EXPECT_EQ(arithmetic_type(DType::Int32, DType::Int32), DType::Int64);
    EXPECT_EQ(arithmetic_type(DType::UInt8, DType::UInt32), DType::UInt64);
    EXPECT_EQ(arithmetic_type(DType::Int64, DType::UInt64), DType::Float64);
    EXPECT_EQ(arithmetic_type(DType::Float32, DType::Int64), DType::Float64);
    EXPECT_EQ(arithmetic_type(DType::Float32, DType::Float32), DType::Float32);
    EXPECT_EQ(bitwise_type(DType::Bool, DType::Bool), DType::Bool);
}

}  // namespace
}  // namespace treadle::frontend
