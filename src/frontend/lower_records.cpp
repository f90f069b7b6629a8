// Records: places in memory that are known by an array and the indices of an element, so that a field is reached by one
// access to the array's memory, with the array's bounds and strides, at a distance from the element.
//
//     a[i].x          load a, at i, the field's offset further on
//     a[i].v[k]       load an array with one more axis, at (i, k)
//     a["x"][i]       the same as a[i].x: a field of an array is the array with other elements
#include <algorithm>

#include "base/error.h"
#include "frontend/lowering.h"
#include "frontend/typing.h"

namespace treadle::frontend {
namespace {

constexpr std::int64_t kMostUnrolled = 16;  // elements of an array in a record that is copied

std::string shape_text(const std::vector<std::int64_t>& extents) {
    std::string text;
    for (const std::int64_t extent : extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text;
}

std::uint8_t normal_align(std::uint8_t align, DType dtype) {
    if (dtype == DType::Count) return align;
    return align >= size_of(part_of(dtype)) ? 0 : align;
}

}  // namespace

const RecordField& Lowering::find_field(const Entity& base, std::string_view name, Span span) const {
    const RecordField* field = base.record->find(name);
    if (field == nullptr)
        type_error(span, "the record has no field '" + std::string(name) + "'",
                   "its fields are: " + base.record->field_names());
    return *field;
}

// A field named in brackets, or numbered.
const RecordField& Lowering::find_field(const Entity& base, const Entity& index, Span span) const {
    if (index.is(Entity::Kind::String)) return find_field(base, index.text, span);
    std::int64_t number = 0;
    const auto count = static_cast<std::int64_t>(base.record->fields.size());
    if (!constant_integer(index, number))
        type_error(span, "a record is indexed with the name of a field",
                   "its fields are: " + base.record->field_names());
    if (number < -count || number >= count)
        type_error(span, "field " + std::to_string(number) + " is out of range for a record of " +
                             std::to_string(count) + " fields");
    return base.record->fields[static_cast<std::size_t>(number < 0 ? number + count : number)];
}

// What a field is: a record, an array, or a number, which is an array with all axes fixed. Of an array of records it is
// an array with the axes of both.
Entity Lowering::part(const Entity& base, const RecordField& field) {
    Entity part = base;
    part.kind = base.is(Entity::Kind::Record) && field.record != nullptr && field.shape.empty() ? Entity::Kind::Record
                                                                                                : Entity::Kind::Array;
    part.offset += field.offset;
    part.record = field.record;
    part.dtype = field.dtype;
    part.layout = ir::Layout::Any;
    std::uint8_t align = std::min(base.align, align_of_distance(field.offset));
    std::int64_t stride = part.item_bytes();
    // Records without fields take no room, and so have no stride that could be known.
    if (!field.shape.empty() && field.record == nullptr) part.layout = ir::Layout::InnerDense;
    std::vector<ValueId> strides(field.shape.size());
    for (std::size_t axis = field.shape.size(); axis-- > 0;) {
        align = std::min(align, align_of_distance(static_cast<std::uint64_t>(stride)));
        strides[axis] = constant(DType::Int64, static_cast<std::uint64_t>(stride));
        stride *= field.shape[axis];
    }
    for (const std::int64_t extent : field.shape)
        part.shape.push_back(constant(DType::Int64, static_cast<std::uint64_t>(extent)));
    part.strides.insert(part.strides.end(), strides.begin(), strides.end());
    part.align = normal_align(align, field.dtype);
    return part;
}

// The same as an expression: numbers are loaded.
Entity Lowering::part_value(const Entity& base, const RecordField& field, Span span) {
    const Entity result = part(base, field);
    const bool is_number = base.is(Entity::Kind::Record) && field.record == nullptr && field.shape.empty();
    return is_number ? load_number(result, result.fixed, span) : result;
}

void Lowering::store_record(const Entity& to, const Entity& value, Span span) {
    if (!value.is(Entity::Kind::Record))
        type_error(span, "expected " + describe(*to.record) + ", got " + describe(type_of(value)),
                   "a record is assigned as a whole from another one of its type, or field by field");
    if (value.record != to.record)
        type_error(span, "expected " + describe(*to.record) + ", got " + describe(*value.record),
                   "records are assigned to each other where their layouts are the same");
    copy_part(to, value, {}, span);
}

bool Lowering::constant_extents(const Entity& array, std::vector<std::int64_t>& extents) const {
    extents.resize(array.rank());
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        if (!constant_integer(Entity::scalar(array.extent(axis), DType::Int64), extents[axis])) return false;
    }
    return true;
}

// The elements of an array in a record, from another array of its shape.
void Lowering::store_array(const Entity& to, const Entity& value, Span span) {
    std::vector<std::int64_t> wanted, given;
    const bool fits = value.is(Entity::Kind::Array) && value.rank() == to.rank() && value.record == to.record;
    if (!fits)
        type_error(span, "expected " + describe(type_of(to)) + ", got " + describe(type_of(value)),
                   "an array in a record is assigned as a whole from another array, or element by element");
    TREADLE_CHECK(constant_extents(to, wanted), "an array in a record of unknown shape");
    if (!constant_extents(value, given))
        fail(ErrorKind::Unsupported, span,
             "arrays in records are assigned from arrays whose shape is known when the kernel is compiled",
             "store one element at a time");
    if (given != wanted)
        type_error(span, "expected an array of " + shape_text(wanted) + " elements, got one of " + shape_text(given));
    copy_part(to, value, wanted, span);
}

// Number by number: in memory of threads the bytes of one number do not lie together.
void Lowering::copy_part(const Entity& to, const Entity& from, const std::vector<std::int64_t>& extents, Span span) {
    if (!extents.empty()) {
        const std::vector<std::int64_t> inner(extents.begin() + 1, extents.end());
        repeat(extents[0], [&](const Entity& index) {
            Entity to_item = to, from_item = from;
            for (Entity* item : {&to_item, &from_item}) {
                item->fixed.push_back(index);
                if (inner.empty() && item->record != nullptr) item->kind = Entity::Kind::Record;
            }
            copy_part(to_item, from_item, inner, span);
        });
    } else if (to.record != nullptr) {
        for (const RecordField& field : to.record->fields)
            copy_part(part(to, field), part(from, field), field.shape, span);
    } else {
        store_number(to, load_number(from, from.fixed, span), "field", span);
    }
}

// Runs body for 0 .. count - 1.
void Lowering::repeat(std::int64_t count, const std::function<void(const Entity&)>& body) {
    if (count <= kMostUnrolled) {
        for (std::int64_t i = 0; i < count; ++i) body(Entity::integer(i));
        return;
    }
    const ir::Type type = ir::Type::scalar(DType::Int64);
    const std::int32_t counter = slot(frame().prefix + "#copy" + std::to_string(temporaries_++), type);
    ir::Op op;
    op.code = Opcode::Loop;
    op.line = line_here();
    op.regions.resize(5);
    const auto now = [&] { return emit(Opcode::VarGet, type, {}, counter); };
    const auto set = [&](ValueId value) { emit_effect(Opcode::VarSet, {value}, counter); };
    regions_.push_back(&op.regions[0]);
    set(constant(DType::Int64, 0));
    regions_.back() = &op.regions[1];
    const ValueId stop = constant(DType::Int64, static_cast<std::uint64_t>(count));
    emit_effect(Opcode::Yield, {emit(Opcode::Lt, ir::Type::scalar(DType::Bool), {now(), stop})});
    regions_.back() = &op.regions[2];
    body(Entity::scalar(now(), DType::Int64));
    regions_.back() = &op.regions[3];
    set(emit(Opcode::Add, type, {now(), constant(DType::Int64, 1)}));
    regions_.pop_back();
    emit(std::move(op));
}

// The same with a pointer of its own and nothing fixed, as variables hold it. A record is then the one element of an
// array; where an index was outside, that array is empty.
Entity Lowering::settled(const Entity& entity, Span span) {
    if (entity.is(Entity::Kind::Record)) {
        Entity single = entity;
        single.kind = Entity::Kind::Array;
        single.shape.push_back(constant(DType::Int64, 1));
        single.strides.push_back(constant(DType::Int64, entity.record->size_bytes));
        single = view(single, single.fixed, span);
        single.kind = Entity::Kind::Record;
        single.fixed = {Entity::scalar(constant(DType::Int64, 0), DType::Int64)};
        return single;
    }
    const bool is_plain = entity.fixed.empty() && entity.offset == 0;
    if (!entity.is(Entity::Kind::Array) || is_plain) return entity;
    if (!entity.fixed.empty()) return view(entity, entity.fixed, span);
    Entity moved = entity;
    moved.value = own_pointer(entity);
    moved.offset = 0;
    return moved;
}

// The pointer to the first element's part.
ValueId Lowering::own_pointer(const Entity& array) {
    if (array.offset == 0) return array.value;
    ir::Op op;
    op.code = Opcode::ElementPtr;
    op.type = ir::Type::pointer();
    op.operands = {array.value};
    op.imm = array.offset;
    op.elem = array.record != nullptr ? DType::UInt8 : array.dtype;
    op.space = array.space;
    return emit(std::move(op));
}

// A record given to the kernel: an array without axes, or a copy that lies by itself.
Entity Lowering::record_parameter(const ArgType& type, ValueId pointer) {
    Entity record;
    record.kind = Entity::Kind::Record;
    record.record = records_.of(type.record);
    record.value = pointer;
    record.read_only = type.kind == ArgType::Kind::Record;
    record.align = record.read_only ? kMostAlign : align_of_distance(record.record->size_bytes);
    return record;
}

}  // namespace treadle::frontend
