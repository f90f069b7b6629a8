#include "frontend/lowering.h"
#include "frontend/typing.h"

namespace treadle::frontend {

VarType Lowering::type_of(const Entity& entity) const {
    VarType type;
    switch (entity.kind) {
        case Entity::Kind::None: type.kind = VarType::Kind::None; break;
        case Entity::Kind::Literal:
        case Entity::Kind::Scalar:
            type.kind = VarType::Kind::Scalar;
            type.dtype = entity.dtype;
            type.weak = frame().strict && entity.adapts();
            break;
        case Entity::Kind::Complex:
            type.kind = VarType::Kind::Complex;
            type.dtype = entity.dtype;
            break;
        case Entity::Kind::Tuple:
            type.kind = VarType::Kind::Tuple;
            for (const Entity& item : entity.items) type.items.push_back(type_of(item));
            type.names = entity.names;
            break;
        case Entity::Kind::Array:
            type.kind = VarType::Kind::Array;
            type.dtype = entity.dtype;
            type.rank = entity.rank();
            type.layout = entity.layout;
            type.space = entity.space;
            type.record = entity.record;
            type.align = entity.align;
            type.read_only = entity.read_only;
            break;
        case Entity::Kind::Record:
            type.kind = VarType::Kind::Record;
            type.space = entity.space;
            type.record = entity.record;
            type.align = entity.align;
            type.read_only = entity.read_only;
            break;
        default: break;
    }
    return type;
}

void Lowering::write_variable(const std::string& name, const Entity& value, Span span) {
    const VarType type = type_of(value);
    if (type.kind == VarType::Kind::Unset) {
        type_error(span, "a function, type or string cannot be held by a variable that changes",
                   "give the name one meaning in the whole kernel");
    }
    Variable& variable = types_[name];
    VarType unified = variable.type;
    if (!unify(unified, type)) {
        type_error(span,
                   "cannot unify " + describe(variable.type) + " and " + describe(type) + " for variable '" +
                       name.substr(name.rfind('/') + 1) + "'",
                   "assign values of one type on all paths, or use another name");
    }
    if (unified != variable.type) {
        // A use of the narrower type may have been lowered already.
        if (variable.type.kind != VarType::Kind::Unset) changed_ = true;
        variable.type = unified;
    }
    write_parts(name, variable.type, value, span);
}

void Lowering::write_parts(const std::string& name, const VarType& type, const Entity& value, Span span) {
    take_apart(type, value, span, [&](const std::string& part, ir::Type kind, ValueId number) {
        emit_effect(Opcode::VarSet, {number}, slot(name + part, kind));
    });
}

// Calls part(name, type, value) for each number that a value of a type consists of.
void Lowering::take_apart(const VarType& type, const Entity& value, Span span, const PartSink& part) {
    const ir::Type extent = ir::Type::scalar(DType::Int64);
    switch (type.kind) {
        case VarType::Kind::Scalar: part("", ir::Type::scalar(type.dtype), as(value, type.dtype)); break;
        case VarType::Kind::Complex: {
            const Entity number = as_complex(value, type.dtype, span);
            const ir::Type half = ir::Type::scalar(part_of(type.dtype));
            part(".real", half, number.items[0].value);
            part(".imag", half, number.items[1].value);
            break;
        }
        case VarType::Kind::Tuple:
            for (std::size_t i = 0; i < type.items.size(); ++i) {
                const std::string prefix = "." + std::to_string(i);
                take_apart(
                    type.items[i], value.items[i], span,
                    [&](const std::string& name, ir::Type kind, ValueId number) { part(prefix + name, kind, number); });
            }
            break;
        case VarType::Kind::Array: {
            const Entity array = settled(value, span);
            part(".data", ir::Type::pointer(), array.value);
            for (std::size_t i = 0; i < type.rank; ++i) {
                part(".shape" + std::to_string(i), extent, array.shape[i]);
                part(".stride" + std::to_string(i), extent, array.strides[i]);
            }
            break;
        }
        case VarType::Kind::Record: {
            const Entity record = settled(value, span);
            part(".data", ir::Type::pointer(), record.value);
            part(".count", extent, record.shape[0]);
            break;
        }
        default: break;
    }
}

Entity Lowering::read_variable(const std::string& name, Span span) {
    const auto entry = types_.find(name);
    if (entry == types_.end() || entry->second.type.kind == VarType::Kind::Unset) {
        type_error(span,
                   "variable '" + name.substr(name.rfind('/') + 1) + "' is used before anything is assigned to it");
    }
    return read_parts(name, entry->second.type);
}

Entity Lowering::read_parts(const std::string& name, const VarType& type) {
    return put_together(type, [&](const std::string& part, ir::Type kind) {
        return emit(Opcode::VarGet, kind, {}, slot(name + part, kind));
    });
}

// The value of a type whose numbers part(name, type) gives, asked in the order of take_apart.
Entity Lowering::put_together(const VarType& type, const PartSource& part) {
    const ir::Type extent = ir::Type::scalar(DType::Int64);
    Entity entity;
    switch (type.kind) {
        case VarType::Kind::Scalar:
            entity = Entity::scalar(part("", ir::Type::scalar(type.dtype)), type.dtype);
            entity.weak = type.weak;
            return entity;
        case VarType::Kind::Complex: {
            const DType dtype = part_of(type.dtype);
            const ValueId real = part(".real", ir::Type::scalar(dtype));
            const ValueId imaginary = part(".imag", ir::Type::scalar(dtype));
            return complex_number(Entity::scalar(real, dtype), Entity::scalar(imaginary, dtype), type.dtype);
        }
        case VarType::Kind::Tuple:
            entity.kind = Entity::Kind::Tuple;
            entity.names = type.names;
            for (std::size_t i = 0; i < type.items.size(); ++i) {
                const std::string prefix = "." + std::to_string(i);
                entity.items.push_back(put_together(
                    type.items[i], [&](const std::string& name, ir::Type kind) { return part(prefix + name, kind); }));
            }
            return entity;
        case VarType::Kind::Array:
            entity.kind = Entity::Kind::Array;
            entity.dtype = type.dtype;
            entity.layout = type.layout;
            entity.space = type.space;
            entity.record = type.record;
            entity.align = type.align;
            entity.read_only = type.read_only;
            entity.value = part(".data", ir::Type::pointer());
            for (std::size_t i = 0; i < type.rank; ++i) {
                entity.shape.push_back(part(".shape" + std::to_string(i), extent));
                entity.strides.push_back(part(".stride" + std::to_string(i), extent));
            }
            return entity;
        case VarType::Kind::Record:
            entity.kind = Entity::Kind::Record;
            entity.space = type.space;
            entity.record = type.record;
            entity.align = type.align;
            entity.read_only = type.read_only;
            entity.value = part(".data", ir::Type::pointer());
            entity.shape = {part(".count", extent)};
            entity.strides = {constant(DType::Int64, type.record->size_bytes)};
            entity.fixed = {Entity::scalar(constant(DType::Int64, 0), DType::Int64)};
            return entity;
        default: return entity;
    }
}

std::int32_t Lowering::slot(const std::string& name, ir::Type type) {
    const auto [entry, is_new] = slots_.try_emplace(name, static_cast<std::int32_t>(function_.variables.size()));
    if (is_new) function_.variables.push_back({name, type});
    ir::Variable& variable = function_.variables[static_cast<std::size_t>(entry->second)];
    if (!(variable.type == type)) {
        // The type was widened in this pass; the next pass starts with it.
        TREADLE_CHECK(changed_, "variable " + name + " has two types");
        variable.type = type;
    }
    return entry->second;
}

}  // namespace treadle::frontend
