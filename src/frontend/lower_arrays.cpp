#include "frontend/lowering.h"

namespace treadle::frontend {

Entity Lowering::shape_tuple(const Entity& array, const std::vector<ValueId>& extents) const {
    std::vector<Entity> items;
    for (std::size_t axis = array.fixed.size(); axis < extents.size(); ++axis)
        items.push_back(Entity::scalar(extents[axis], DType::Int64));
    return Entity::tuple(std::move(items));
}

Entity Lowering::table_element(const Node& table, const Entity& index, Span span) {
    const DType dtype = dtype_from_name(table.items[0].atom);
    ir::Table constants{dtype, {}};
    for (std::size_t i = 1; i < table.items.size(); ++i) {
        constants.bits.push_back(literal_bits(atom(table.items[i]), dtype));
    }
    function_.tables.push_back(std::move(constants));
    number_type(index, span, "table index");
    const auto number = static_cast<std::int32_t>(function_.tables.size() - 1);
    return Entity::scalar(emit(Opcode::TableLoad, ir::Type::scalar(dtype), {as(index, DType::Int32)}, number), dtype);
}

Entity Lowering::load(const Node& node) {
    if (node.items[0].head == Head::Table) return table_element(node.items[0], expression(node.items[1]), node.span);
    const Entity base = expression(node.items[0]);
    const Entity index = expression(node.items[1]);
    if (base.is(Entity::Kind::Tuple)) {
        if (!index.is(Entity::Kind::Literal) || is_float(index.dtype)) {
            type_error(node.span, "a tuple is indexed with a constant integer in kernels",
                       "use an array for a run-time index");
        }
        const auto count = static_cast<std::int64_t>(base.items.size());
        const std::int64_t at = index.int_value < 0 ? index.int_value + count : index.int_value;
        if (at < 0 || at >= count) {
            type_error(node.span, "tuple index " + std::to_string(index.int_value) + " is out of range for " +
                                      std::to_string(count) + " items");
        }
        return base.items[static_cast<std::size_t>(at)];
    }
    if (base.is(Entity::Kind::Array)) return element(base, index, node.span);
    if (base.is(Entity::Kind::Record)) return part_value(base, find_field(base, index, node.span), node.span);
    type_error(node.span, "cannot index " + describe(type_of(base)));
}

Entity Lowering::element(const Entity& array, const Entity& index, Span span) {
    if (array.record != nullptr && index.is(Entity::Kind::String))
        return part_value(array, find_field(array, index, span), span);
    std::vector<Entity> indices = index_list(array, index, span);
    bool is_view = indices.size() < array.shape.size();
    for (const Entity& one : indices) is_view = is_view || one.is(Entity::Kind::Slice);
    if (is_view) return view(array, indices, span);
    if (array.record == nullptr) return load_number(array, indices, span);
    Entity record = array;
    record.kind = Entity::Kind::Record;
    for (Entity& one : indices) one = Entity::scalar(as(one, DType::Int64), DType::Int64);
    record.fixed = std::move(indices);
    return record;
}

Entity Lowering::load_number(const Entity& array, const std::vector<Entity>& indices, Span span) {
    const auto load = [&](int part) {
        ir::Op op = access(Opcode::Load, array, indices, part, span);
        op.type = ir::Type::scalar(op.elem);
        const DType type = op.elem;
        return Entity::scalar(emit(std::move(op)), type);
    };
    if (!is_complex(array.dtype)) return load(0);
    const Entity real = load(0);
    return complex_number(real, load(1), array.dtype);
}

// An operation on an element, or on a part of a complex one: those lie side by side.
ir::Op Lowering::access(Opcode code, const Entity& array, const std::vector<Entity>& indices, int part, Span span) {
    ir::Op op;
    op.code = code;
    op.operands = access_operands(array, indices, span);
    // An atomic operation has no room for a distance.
    if (code == Opcode::Atomic) op.operands[0] = own_pointer(array);
    op.index = static_cast<std::int32_t>(array.shape.size());
    op.elem = part_of(array.dtype);
    op.space = array.space;
    op.layout = array.layout;
    op.align = array.align;
    if (code != Opcode::Atomic) op.imm = array.offset;
    if (is_complex(array.dtype)) {
        op.imm += static_cast<std::uint64_t>(part * size_of(op.elem));
        const bool dense = array.layout == ir::Layout::Dense || array.layout == ir::Layout::InnerDense;
        if (dense && op.index != 0)
            op.operands[static_cast<std::size_t>(2 * op.index)] =
                constant(DType::Int64, static_cast<std::uint64_t>(size_of(array.dtype)));
        if (dense) op.layout = ir::Layout::Any;
    }
    return op;
}

// An element or a field that is assigned to: a record, an array with all axes fixed, or an array in a record.
Entity Lowering::place(const Node& target) {
    Entity array = expression(target.items[0]);
    const bool is_attribute = target.head == Head::Attr;
    if (array.is(Entity::Kind::Record)) {
        const RecordField& field = is_attribute ? find_field(array, target.items[1].atom, target.span)
                                                : find_field(array, expression(target.items[1]), target.span);
        return part(array, field);
    }
    if (array.is(Entity::Kind::Tuple)) type_error(target.span, "tuples cannot be changed");
    if (!array.is(Entity::Kind::Array)) type_error(target.span, "cannot store into " + describe(type_of(array)));
    if (is_attribute)
        type_error(target.span, "cannot assign to an attribute of " + describe(type_of(array)),
                   "a kernel stores one element at a time");
    const Entity given = expression(target.items[1]);
    if (array.record != nullptr && given.is(Entity::Kind::String))
        fail(ErrorKind::Unsupported, target.span, "a field of a whole array cannot be assigned to in kernels",
             "a kernel stores one element at a time");
    const std::vector<Entity> indices = index_list(array, given, target.span);
    for (const Entity& index : indices) {
        if (index.is(Entity::Kind::Slice))
            fail(ErrorKind::Unsupported, target.span, "slices of arrays cannot be assigned to in kernels",
                 "a kernel stores one element at a time");
    }
    if (indices.size() != array.shape.size()) {
        type_error(target.span,
                   "expected " + std::to_string(array.rank()) + " indices, got " +
                       std::to_string(indices.size() - array.fixed.size()),
                   "a kernel stores one element at a time");
    }
    if (array.record != nullptr) array.kind = Entity::Kind::Record;
    array.fixed = indices;
    return array;
}

void Lowering::store(const Node& target, const Entity& value) {
    const Entity to = place(target);
    if (to.space == ir::Space::Constant)
        type_error(target.span, "constant arrays cannot be written", "pass the array as an argument");
    if (to.read_only)
        type_error(target.span, "records given to a kernel are copies that are only read",
                   "pass an array of one record, or an element of a device array");
    if (to.is(Entity::Kind::Record)) return store_record(to, value, target.span);
    if (to.rank() != 0) return store_array(to, value, target.span);
    const bool is_field = target.head == Head::Attr;
    store_number(to, value, is_field ? "field '" + std::string(target.items[1].atom) + "'" : "stored value",
                 target.span);
}

// Into an array with all axes fixed.
void Lowering::store_number(const Entity& array, const Entity& value, const std::string& what, Span span) {
    const auto put = [&](const Entity& number, int part) {
        ir::Op op = access(Opcode::Store, array, array.fixed, part, span);
        op.operands.push_back(is_bool(op.elem) ? truth(number, span) : as(number, op.elem));
        emit(std::move(op));
    };
    if (is_complex(array.dtype)) {
        const Entity number = as_complex(value, array.dtype, span);
        put(number.items[0], 0);
        put(number.items[1], 1);
        return;
    }
    if (!is_bool(array.dtype)) number_type(value, span, what.c_str());
    put(value, 0);
}

std::vector<Entity> Lowering::index_list(const Entity& array, const Entity& index, Span span) {
    std::vector<Entity> indices = array.fixed;
    const std::vector<Entity> given = index.is(Entity::Kind::Tuple) ? index.items : std::vector<Entity>{index};
    indices.insert(indices.end(), given.begin(), given.end());
    if (given.size() > array.rank()) {
        type_error(span, "too many indices: the array has " + std::to_string(array.rank()) + " dimensions, got " +
                             std::to_string(given.size()));
    }
    for (const Entity& one : given) {
        if (one.is(Entity::Kind::Slice)) continue;
        if (is_float(number_type(one, span, "array index"))) {
            type_error(span, "array index: expected an integer, got " + std::string(name_of(one.dtype)),
                       "convert it with int(...)");
        }
    }
    return indices;
}

std::vector<ValueId> Lowering::access_operands(const Entity& array, const std::vector<Entity>& indices, Span span) {
    (void)span;
    std::vector<ValueId> operands = {array.value};
    operands.insert(operands.end(), array.shape.begin(), array.shape.end());
    operands.insert(operands.end(), array.strides.begin(), array.strides.end());
    for (const Entity& index : indices) operands.push_back(as(index, DType::Int64));
    return operands;
}

Entity Lowering::view(const Entity& array, const std::vector<Entity>& indices, Span span) {
    // The first element of the view; integer indices outside their dimension give an empty view, so nothing can be
    // reached.
    Entity result = array;
    result.shape.clear();
    result.strides.clear();
    result.fixed.clear();
    result.offset = 0;
    std::vector<Entity> first = indices;
    const Entity zero = Entity::integer(0);
    const ir::Type boolean = ir::Type::scalar(DType::Bool);
    const ir::Type extent_type = ir::Type::scalar(DType::Int64);
    ValueId valid = ir::kNoValue;
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
        const ValueId extent = array.shape[axis];
        if (axis >= indices.size()) {
            first.push_back(zero);
            result.shape.push_back(extent);
            result.strides.push_back(array.strides[axis]);
            continue;
        }
        const Entity& index = indices[axis];
        if (!index.is(Entity::Kind::Slice)) {
            const ValueId at = as(index, DType::Int64);
            const ValueId negative = emit(Opcode::Lt, boolean, {at, constant(DType::Int64, 0)});
            const ValueId wrapped =
                emit(Opcode::Select, extent_type, {negative, emit(Opcode::Add, extent_type, {at, extent}), at});
            const ValueId low = emit(Opcode::Ge, boolean, {wrapped, constant(DType::Int64, 0)});
            const ValueId inside = emit(Opcode::And, boolean, {low, emit(Opcode::Lt, boolean, {wrapped, extent})});
            valid = valid == ir::kNoValue ? inside : emit(Opcode::And, boolean, {valid, inside});
            first[axis] = Entity::scalar(
                emit(Opcode::Select, extent_type, {inside, wrapped, constant(DType::Int64, 0)}), DType::Int64);
            continue;
        }
        const auto limit = [&](const Entity& bound, ValueId otherwise) {
            if (bound.is(Entity::Kind::None)) return otherwise;
            const ValueId at = as(bound, DType::Int64);
            const ValueId negative = emit(Opcode::Lt, boolean, {at, constant(DType::Int64, 0)});
            const ValueId wrapped =
                emit(Opcode::Select, extent_type, {negative, emit(Opcode::Add, extent_type, {at, extent}), at});
            return emit(Opcode::Min, extent_type,
                        {emit(Opcode::Max, extent_type, {wrapped, constant(DType::Int64, 0)}), extent});
        };
        const Entity& step = index.items[2];
        if (!step.is(Entity::Kind::None) && !(step.is(Entity::Kind::Literal) && step.int_value > 0)) {
            type_error(span, "slices in kernels take a constant positive step");
        }
        const std::int64_t stride = step.is(Entity::Kind::None) ? 1 : step.int_value;
        const ValueId begin = limit(index.items[0], constant(DType::Int64, 0));
        const ValueId end = limit(index.items[1], extent);
        first[axis] = Entity::scalar(begin, DType::Int64);
        ValueId length =
            emit(Opcode::Max, extent_type, {emit(Opcode::Sub, extent_type, {end, begin}), constant(DType::Int64, 0)});
        ValueId stride_bytes = array.strides[axis];
        if (stride != 1) {
            const ValueId by = constant(DType::Int64, static_cast<std::uint64_t>(stride));
            const ValueId up = emit(Opcode::Add, extent_type,
                                    {length, constant(DType::Int64, static_cast<std::uint64_t>(stride - 1))});
            length = emit(Opcode::FloorDiv, extent_type, {up, by});
            stride_bytes = emit(Opcode::Mul, extent_type, {stride_bytes, by});
            result.layout = ir::Layout::Any;
        }
        result.shape.push_back(length);
        result.strides.push_back(stride_bytes);
    }
    if (valid != ir::kNoValue) {
        for (ValueId& extent : result.shape)
            extent = emit(Opcode::Select, extent_type, {valid, extent, constant(DType::Int64, 0)});
    }
    const bool last_kept = indices.size() < array.shape.size() || indices.back().is(Entity::Kind::Slice);
    if (!last_kept) result.layout = ir::Layout::Any;
    if (result.layout == ir::Layout::Dense) result.layout = ir::Layout::InnerDense;
    ir::Op op;
    op.code = Opcode::ElementPtr;
    op.type = ir::Type::pointer();
    op.operands = access_operands(array, first, span);
    op.index = static_cast<std::int32_t>(array.shape.size());
    op.elem = array.record != nullptr ? DType::UInt8 : array.dtype;
    op.layout = array.layout;
    op.space = array.space;
    op.imm = array.offset;
    result.value = emit(std::move(op));
    return result;
}

}  // namespace treadle::frontend
