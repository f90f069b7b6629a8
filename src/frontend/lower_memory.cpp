// Arrays that a kernel makes itself, arrays it captures, and atomic operations on any of them.
#include <algorithm>
#include <charconv>

#include "frontend/lowering.h"
#include "frontend/typing.h"

namespace treadle::frontend {
namespace {

constexpr std::int64_t kMostSharedBytes = 48 * 1024;    // of arrays whose size the kernel says
constexpr std::int64_t kMostDynamicRecordBytes = 1024;  // what can be read behind the memory of a block
constexpr std::int64_t kMostLocalBytes = 512 * 1024;    // of one thread

struct AtomicRow {
    std::string_view text;
    char types;
};

constexpr AtomicRow kAtomics[] = {
#define TREADLE_ATOMIC(Name, text, operands, types) {#text, types},
#include "ir/atomics.def"
#undef TREADLE_ATOMIC
};

bool accepts(char types, DType dtype) {
    if (is_bool(dtype) || is_complex(dtype)) return false;
    if (types == 'u') return dtype == DType::UInt32 || dtype == DType::UInt64;
    return types == 'n' || !is_float(dtype);
}

}  // namespace

// A contiguous array without its pointer.
Entity Lowering::new_array(const Entity& type, const std::vector<Entity>& extents, ir::Space space) const {
    Entity array;
    array.kind = Entity::Kind::Array;
    array.dtype = type.dtype;
    array.record = type.record;
    array.space = space;
    array.layout = type.record != nullptr ? ir::Layout::Any : ir::Layout::Dense;
    if (type.record != nullptr) array.align = align_of_distance(type.record->size_bytes);
    for (const Entity& extent : extents) array.shape.push_back(extent.value);
    return array;
}

bool Lowering::constant_integer(const Entity& entity, std::int64_t& value) const {
    if (!entity.is_number() || is_float(entity.dtype)) return false;
    if (entity.is(Entity::Kind::Literal)) {
        value = entity.int_value;
        return true;
    }
    for (const ir::Region* region : regions_) {
        for (const ir::Op& op : *region) {
            if (op.result != entity.value) continue;
            value = static_cast<std::int64_t>(op.imm);
            return op.code == Opcode::Const;
        }
    }
    return false;
}

std::vector<std::int64_t> Lowering::constant_shape(const Builtin& row, const Entity& shape, Span span) {
    const std::vector<Entity> items = shape.is(Entity::Kind::Tuple) ? shape.items : std::vector<Entity>{shape};
    std::vector<std::int64_t> extents;
    for (const Entity& item : items) {
        std::int64_t extent = 0;
        if (!constant_integer(item, extent)) {
            type_error(span, std::string(row.text) + ": shape: expected constant integers, got " + kind_of(item),
                       "the size must be known when the kernel is compiled; for a size of the launch use "
                       "cuda.shared.array(0, dtype) and kernel[grid, block, stream, bytes]");
        }
        if (extent < 0 || extent > INT32_MAX)
            type_error(span, std::string(row.text) + ": shape: expected extents from 0 to 2147483647, got " +
                                 std::to_string(extent));
        extents.push_back(extent);
    }
    return extents;
}

// Throws for records that memory of a block or a thread cannot hold.
void Lowering::check_record_array(const RecordType& record, bool is_shared, bool is_dynamic, Span span) const {
    if (!is_shared && record.overlaps)
        fail(ErrorKind::Unsupported, span, "records with fields that overlap are not held by local arrays",
             "in the memory of threads every number lies apart");
    if (is_dynamic && static_cast<std::int64_t>(record.size_bytes) > kMostDynamicRecordBytes)
        fail(ErrorKind::Compile, span,
             "records in shared arrays sized by the launch may have at most " +
                 std::to_string(kMostDynamicRecordBytes) + " bytes, got " + std::to_string(record.size_bytes),
             "give the number of records where the array is made");
}

Entity Lowering::block_array(const Builtin& row, const std::vector<Entity>& args, Span span) {
    const std::vector<std::int64_t> shape = constant_shape(row, args[0], span);
    Entity type = args[1];
    if (type.is(Entity::Kind::String)) {
        type.kind = Entity::Kind::Type;
        type.dtype = dtype_from_name(type.text);
    }
    if (!type.is(Entity::Kind::Type) || (type.dtype == DType::Count && type.record == nullptr))
        type_error(span, std::string(row.text) + ": dtype: expected an element type, got " + kind_of(type));
    const std::int64_t item_bytes = type.item_bytes();
    const bool is_shared = row.opcode == Opcode::SharedArray;
    const bool is_dynamic = is_shared && shape.size() == 1 && shape[0] == 0;
    const ir::Type number = ir::Type::scalar(DType::Int64);
    const std::int64_t most = is_shared ? kMostSharedBytes : kMostLocalBytes;
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count = std::min(count * extent, most + 1);
    // The first record can be read whatever the number of them.
    if (type.record != nullptr) check_record_array(*type.record, is_shared, is_dynamic, span);
    if (type.record != nullptr && !is_dynamic) count = std::max<std::int64_t>(count, 1);
    const std::int64_t bytes = count * item_bytes;
    std::vector<Entity> extents;
    for (const std::int64_t extent : shape) {
        extents.push_back(Entity::scalar(constant(DType::Int64, static_cast<std::uint64_t>(extent)), DType::Int64));
    }
    ir::Op op;
    op.code = row.opcode;
    op.type = ir::Type::pointer();
    // Records are made of words that have their alignment.
    op.elem = type.record == nullptr ? part_of(type.dtype)
                                     : integer_type(8 * align_of_distance(type.record->size_bytes), false);
    if (is_dynamic) {
        op.index = 1;
        const ValueId total = emit(Opcode::SharedBytes, number, {});
        const ValueId size = constant(DType::Int64, static_cast<std::uint64_t>(std::max<std::int64_t>(item_bytes, 1)));
        extents[0] = Entity::scalar(emit(Opcode::TruncDiv, number, {total, size}), DType::Int64);
    } else if (is_shared) {
        // A call that is lowered twice makes one array, as a static variable of a function would be.
        const auto [place, is_new] = shared_places_.try_emplace({frame().function, call_}, shared_bytes_);
        if (is_new) {
            if (shared_bytes_ + bytes > most) {
                fail(ErrorKind::Compile, span,
                     "the kernel's shared arrays need more than " + std::to_string(most) +
                         " bytes: " + std::to_string(shared_bytes_) + " and " + std::to_string(bytes) + " for this one",
                     "use cuda.shared.array(0, dtype) and give the bytes at the launch, up to 227 KiB");
            }
            shared_bytes_ = ir::aligned_shared(shared_bytes_ + static_cast<std::uint64_t>(bytes));
        }
        op.imm = place->second;
    } else {
        if (bytes > most)
            fail(ErrorKind::Compile, span,
                 "a local array may have at most " + std::to_string(most) + " bytes, got " + std::to_string(bytes));
        op.imm = static_cast<std::uint64_t>(bytes / size_of(op.elem));
    }
    Entity array = new_array(type, extents, is_shared ? ir::Space::Shared : ir::Space::Local);
    std::int64_t stride = item_bytes;
    array.strides.resize(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        array.strides[axis] = constant(DType::Int64, static_cast<std::uint64_t>(stride));
        stride *= shape[axis];
    }
    array.value = emit(std::move(op));
    return array;
}

// (constarray dtype (tuple extents) "bytes in hexadecimal")
Entity Lowering::constant_array(const Node& node) {
    Entity type;
    if (node.items[0].is_atom()) {
        type.dtype = dtype_from_name(node.items[0].atom);
    } else {
        type.record = records_.of(node.items[0]);
    }
    // Records are made of words that are aligned for anything.
    const DType word = type.record != nullptr ? DType::UInt64 : part_of(type.dtype);
    std::string text(node.items[2].atom.substr(1, node.items[2].atom.size() - 2));
    const auto size = static_cast<std::size_t>(size_of(word));
    if (type.record != nullptr) {
        const std::size_t digits = std::max<std::size_t>(text.size(), 2 * type.record->size_bytes);
        text.resize((digits + 2 * size - 1) / (2 * size) * (2 * size), '0');
    }
    const std::string key = std::string(name_of(word)) + text;
    const auto known = constants_.find(key);
    std::int32_t number = 0;
    if (known != constants_.end()) {
        number = known->second;
    } else {
        ir::Table table{word, {}};
        for (std::size_t at = 0; at + 2 * size <= text.size(); at += 2 * size) {
            std::uint64_t bits = 0;
            for (std::size_t byte = size; byte-- > 0;) {
                unsigned value = 0;
                const char* digits = text.data() + at + 2 * byte;
                std::from_chars(digits, digits + 2, value, 16);
                bits = bits << 8 | value;
            }
            table.bits.push_back(bits);
        }
        number = static_cast<std::int32_t>(function_.tables.size());
        function_.tables.push_back(std::move(table));
        constants_.emplace(key, number);
    }
    const Entity shape = expression(node.items[1]);
    std::vector<Entity> extents;
    for (const Entity& item : shape.items) extents.push_back(Entity::scalar(literal(item, DType::Int64), DType::Int64));
    Entity array = new_array(type, extents, ir::Space::Constant);
    array.strides.resize(extents.size());
    std::int64_t stride = type.item_bytes();
    for (std::size_t axis = extents.size(); axis-- > 0;) {
        array.strides[axis] = constant(DType::Int64, static_cast<std::uint64_t>(stride));
        stride *= shape.items[axis].int_value;
    }
    array.value = emit(Opcode::TablePtr, ir::Type::pointer(), {}, number);
    return array;
}

Entity Lowering::atomic(const Builtin& row, const std::vector<Entity>& args, Span span) {
    const std::string name(row.text);
    const bool is_first = row.text == "atomic.compare_and_swap";  // on the first element, without an index
    const std::string_view text = is_first ? "cas" : row.text.substr(row.text.find('.') + 1);
    const Entity& array = args[0];
    if (!array.is(Entity::Kind::Array))
        type_error(span, name + ": array: expected an array, got " + describe(type_of(array)));
    if (array.space == ir::Space::Constant) type_error(span, "constant arrays cannot be written");
    if (array.read_only) type_error(span, "records given to a kernel are copies that are only read");
    if (array.record != nullptr)
        type_error(span, name + ": expected an array of numbers, got " + describe(type_of(array)),
                   "take a field of the array: array['x']");
    if (array.align != 0)
        type_error(span,
                   name + ": expected numbers at multiples of " + std::to_string(size_of(array.dtype)) +
                       " bytes, got a field at multiples of " + std::to_string(array.align),
                   "make the dtype with align=True");
    std::uint64_t kind = 0;
    while (kAtomics[kind].text != text) ++kind;
    if (!accepts(kAtomics[kind].types, array.dtype)) {
        static constexpr std::string_view kTypes[] = {"numbers", "integers", "uint32 or uint64"};
        const char types = kAtomics[kind].types;
        type_error(span, name + ": expected an array of " +
                             std::string(kTypes[types == 'n'   ? 0
                                                : types == 'i' ? 1
                                                               : 2]) +
                             ", got " + describe(type_of(array)));
    }
    std::vector<Entity> indices = array.fixed;
    indices.resize(array.shape.size(), Entity::integer(0));
    if (!is_first) indices = index_list(array, args[1], span);
    for (const Entity& index : indices) {
        if (index.is(Entity::Kind::Slice)) type_error(span, name + ": index: expected integers, got a slice");
    }
    if (indices.size() != array.shape.size())
        type_error(span, name + ": index: expected " + std::to_string(array.rank()) + " integers, got " +
                             std::to_string(indices.size() - array.fixed.size()));
    ir::Op op = access(Opcode::Atomic, array, indices, 0, span);
    op.type = ir::Type::scalar(array.dtype);
    for (std::size_t i = is_first ? 1 : 2; i < args.size(); ++i) {
        number_type(args[i], span, (name + ": value").c_str());
        op.operands.push_back(as(args[i], array.dtype));
    }
    op.imm = kind;
    return Entity::scalar(emit(std::move(op)), array.dtype);
}

// The threads of a warp: who they are, and what they tell each other. Member masks are 32 bits wide.
Entity Lowering::warp(const Builtin& row, const std::vector<Entity>& args, Span span) {
    const ir::Type mask_type = ir::Type::scalar(DType::UInt32);
    const auto result = [&](ValueId value) { return Entity::scalar(value, function_.values[value].dtype); };
    if (row.handler == Handler::WarpQuery) {
        if (row.opcode == Opcode::LaneId) return result(emit(row.opcode, ir::Type::scalar(DType::Int32), {}));
        if (row.opcode == Opcode::ActiveMask) return result(emit(row.opcode, mask_type, {}));
        const ValueId lane = emit(Opcode::LaneId, ir::Type::scalar(DType::Int32), {});
        const ValueId bit = emit(Opcode::Shl, mask_type, {constant(DType::UInt32, 1), as(result(lane), DType::UInt32)});
        return result(emit(Opcode::Sub, mask_type, {bit, constant(DType::UInt32, 1)}));
    }
    const std::string name(row.text);
    if (is_float(number_type(args[0], span, (name + ": mask").c_str())))
        type_error(span, name + ": mask: expected an integer");
    const ValueId members = as(args[0], DType::UInt32);
    const DType type = number_type(args[1], span, (name + ": value").c_str());
    const ir::Type boolean = ir::Type::scalar(DType::Bool);
    const ir::Type number = ir::Type::scalar(DType::Int32);
    if (row.handler == Handler::Shuffle) {
        if (is_float(number_type(args[2], span, (name + ": lane").c_str())))
            type_error(span, name + ": lane: expected an integer");
        const auto kind = row.text == "shfl_sync"        ? ir::ShuffleKind::Index
                          : row.text == "shfl_up_sync"   ? ir::ShuffleKind::Up
                          : row.text == "shfl_down_sync" ? ir::ShuffleKind::Down
                                                         : ir::ShuffleKind::Xor;
        return result(emit(Opcode::Shuffle, ir::Type::scalar(type),
                           {as(args[1], type), as(args[2], DType::Int32), members}, static_cast<std::int32_t>(kind)));
    }
    if (row.handler == Handler::Vote) {
        const auto kind = row.text == "all_sync"   ? ir::VoteKind::All
                          : row.text == "any_sync" ? ir::VoteKind::Any
                          : row.text == "eq_sync"  ? ir::VoteKind::Equal
                                                   : ir::VoteKind::Ballot;
        return result(emit(Opcode::Vote, kind == ir::VoteKind::Ballot ? number : boolean,
                           {members, truth(args[1], span)}, static_cast<std::int32_t>(kind)));
    }
    const bool is_all = row.text == "match_all_sync";
    const Entity matched = result(emit(Opcode::Match, number, {members, as(args[1], type)}, is_all));
    if (!is_all) return matched;
    return Entity::tuple({matched, Entity::scalar(truth(matched, span), DType::Bool)});
}

}  // namespace treadle::frontend
