#include "frontend/record.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "frontend/lowering.h"
#include "runtime/function.h"

namespace treadle::frontend {
namespace {

constexpr const char* kParticle =
    "(record 33 packed (\"id\" 0 int8) (\"v\" 1 float32 3) (\"p\" 13 (record 16 packed (\"x\" 0 float32) (\"y\" 8 "
    "float64))) (\"t\" 29 float32))";

std::string lowered(const std::string& body, const std::string& record) {
    CompileRequest request;
    request.program = "(fn f (a out) (set i (call (builtin grid) 1)) " + body + ")";
    ArgType records;
    records.kind = ArgType::Kind::Array;
    records.rank = 1;
    records.layout = Layout::Dense;
    records.record = record;
    ArgType numbers = records;
    numbers.record.clear();
    numbers.dtype = DType::Float64;
    request.args = {records, numbers};
    const ir::Function function = lower(request);
    ir::verify(function);
    const std::string text = ir::print(function);
    EXPECT_EQ(ir::print(ir::parse(text)), text);
    return text;
}

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(Record, readsLayouts) {
    RecordTypes types;
    const RecordType* record = types.of(kParticle);
    EXPECT_EQ(record->size_bytes, 33u);
    EXPECT_EQ(record->field_names(), "id, v, p, t");
    EXPECT_EQ(record->find("v")->shape, std::vector<std::int64_t>{3});
    EXPECT_EQ(record->find("p")->record->find("y")->offset, 8u);
    EXPECT_EQ(record->find("none"), nullptr);
    EXPECT_FALSE(record->overlaps);
    EXPECT_EQ(describe(*record), "record(id: int8, v: float32[3], p: record(x: float32, y: float64), t: float32)");
    std::string aligned = kParticle;
    aligned.replace(aligned.find("packed"), 6, "aligned");
    EXPECT_EQ(types.of(aligned), record) << "how NumPy came to a layout makes no difference";
}

TEST(Record, knowsOverlaps) {
    RecordTypes types;
    EXPECT_TRUE(types.of("(record 4 packed (\"i\" 0 int32) (\"f\" 0 float32))")->overlaps);
    EXPECT_FALSE(types.of("(record 8 packed (\"i\" 4 int32) (\"f\" 0 float32))")->overlaps);
    EXPECT_TRUE(types.of("(record 9 packed (\"i\" 4 int32) (\"f\" 0 uint8 5))")->overlaps);
}

TEST(Record, refusesWhatIsNoLayout) {
    RecordTypes types;
    for (const char* text : {"(record 4)", "(record 4 packed (\"i\" 0 text))", "(record 4 packed (\"i\" 2 int32))",
                             "(record x packed (\"i\" 0 int32))", "(tuple 1 2)"}) {
        EXPECT_THROW(types.of(text), Error) << text;
    }
}

TEST(Record, alignsByDistance) {
    EXPECT_EQ(align_of_distance(0), 8);
    EXPECT_EQ(align_of_distance(48), 8);
    EXPECT_EQ(align_of_distance(12), 4);
    EXPECT_EQ(align_of_distance(33), 1);
}

TEST(Record, reachesAFieldByOneAccess) {
    const std::string text = lowered("(set (item out i) (attr (attr (item a i) p) y))", kParticle);
    EXPECT_TRUE(has(text, "{imm=21, index=1, elem=float64, align=1")) << text;
    EXPECT_FALSE(has(text, "element_ptr")) << text;
    const std::string turned = lowered("(set (item out i) (item (item (item a \"p\") \"y\") i))", kParticle);
    EXPECT_TRUE(has(turned, "{imm=21, index=1, elem=float64, align=1")) << turned;
    EXPECT_FALSE(has(turned, "element_ptr")) << turned;
}

TEST(Record, reachesArraysInRecordsByOneAccess) {
    const std::string text = lowered("(set (item out i) (item (attr (item a i) v) 2))", kParticle);
    EXPECT_TRUE(has(text, "{imm=1, index=2, elem=float32, align=1, layout=2")) << text;
    EXPECT_FALSE(has(text, "element_ptr")) << text;
}

TEST(Record, knowsWhatIsAligned) {
    const std::string record = "(record 12 packed (\"x\" 4 float32) (\"y\" 0 int16) (\"z\" 2 int32))";
    EXPECT_FALSE(has(lowered("(set (item out i) (attr (item a i) x))", record), "align"));
    EXPECT_FALSE(has(lowered("(set (item out i) (attr (item a i) y))", record), "align"));
    EXPECT_TRUE(has(lowered("(set (item out i) (attr (item a i) z))", record), "align=2"));
}

TEST(Record, signaturesSayWhatTheyWereMadeOf) {
    ArgType array;
    array.kind = ArgType::Kind::Array;
    array.rank = 2;
    array.record = kParticle;
    ArgType record;
    record.kind = ArgType::Kind::Record;
    record.record = "(record 4 packed (\"x\" 0 float32))";
    ArgType tuple;
    tuple.kind = ArgType::Kind::Tuple;
    tuple.items = {record, array};
    const std::vector<ArgType> types = {array, tuple, record};
    EXPECT_EQ(runtime::Arguments::types_of(runtime::Arguments::signature_of(types)), types);
    runtime::Arguments arguments;
    const std::int64_t numbers[] = {3, 4};
    arguments.add_record_array(kParticle, 33, 2, Layout::Any, numbers, numbers, numbers, nullptr);
    EXPECT_EQ(arguments.signature(), runtime::Arguments::signature_of({array}));
    EXPECT_EQ(arguments.words().size(), 5u);
    EXPECT_EQ(arguments.bytes(), 33u * 12u);
}

}  // namespace
}  // namespace treadle::frontend
