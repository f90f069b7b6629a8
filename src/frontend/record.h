// Layouts of records: numbers, records, and arrays of both, at byte offsets.
//
//     RecordTypes types;
//     const RecordType* point = types.of("(record 8 packed (\"x\" 0 float32) (\"y\" 4 float32))");
//     point->find("y")->offset == 4
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "frontend/syntax.h"

namespace treadle::frontend {

struct RecordType;

struct RecordField {
    std::string name;
    std::uint64_t offset = 0;
    DType dtype = DType::Count;          // of a number, or of the numbers of an array
    const RecordType* record = nullptr;  // of a record, or of the records of an array
    std::vector<std::int64_t> shape;     // of an array
};

struct RecordType {
    std::string text;
    std::uint64_t size_bytes = 0;
    std::vector<RecordField> fields;
    bool overlaps = false;  // some bytes belong to two fields

    const RecordField* find(std::string_view name) const;
    std::string field_names() const;
};

// What divides the addresses of elements that lie so many bytes apart, the first at a multiple of 8. No number asks for
// more than 8.
inline constexpr std::uint64_t kMostAlign = 8;
constexpr std::uint8_t align_of_distance(std::uint64_t bytes) {
    bytes |= kMostAlign;
    return static_cast<std::uint8_t>(bytes & (~bytes + 1));
}

// Owns layouts; there is one for each text, so that pointers tell them apart.
class RecordTypes {
public:
    // (record SIZE WORD ("name" OFFSET TYPE [EXTENT ...]) ...), see docs/design/syntax.md. Throws Error(Internal) for
    // anything else.
    const RecordType* of(std::string_view text);
    const RecordType* of(const Node& node);

private:
    std::map<std::string, std::unique_ptr<RecordType>, std::less<>> known_;
};

std::string describe(const RecordType& record);

}  // namespace treadle::frontend
