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
    switch (type.kind) {
        case VarType::Kind::Scalar:
            emit_effect(Opcode::VarSet, {as(value, type.dtype)}, slot(name, ir::Type::scalar(type.dtype)));
            break;
        case VarType::Kind::Complex: {
            const Entity number = as_complex(value, type.dtype, span);
            const ir::Type part = ir::Type::scalar(part_of(type.dtype));
            emit_effect(Opcode::VarSet, {number.items[0].value}, slot(name + ".real", part));
            emit_effect(Opcode::VarSet, {number.items[1].value}, slot(name + ".imag", part));
            break;
        }
        case VarType::Kind::Tuple:
            for (std::size_t i = 0; i < type.items.size(); ++i) {
                write_parts(name + "." + std::to_string(i), type.items[i], value.items[i], span);
            }
            break;
        case VarType::Kind::Array: {
            const ir::Type extent = ir::Type::scalar(DType::Int64);
            const Entity array = settled(value, span);
            emit_effect(Opcode::VarSet, {array.value}, slot(name + ".data", ir::Type::pointer()));
            for (std::size_t i = 0; i < type.rank; ++i) {
                emit_effect(Opcode::VarSet, {array.shape[i]}, slot(name + ".shape" + std::to_string(i), extent));
                emit_effect(Opcode::VarSet, {array.strides[i]}, slot(name + ".stride" + std::to_string(i), extent));
            }
            break;
        }
        case VarType::Kind::Record: {
            const Entity record = settled(value, span);
            emit_effect(Opcode::VarSet, {record.value}, slot(name + ".data", ir::Type::pointer()));
            emit_effect(Opcode::VarSet, {record.shape[0]}, slot(name + ".count", ir::Type::scalar(DType::Int64)));
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
    Entity entity;
    switch (type.kind) {
        case VarType::Kind::Scalar: {
            const ir::Type scalar = ir::Type::scalar(type.dtype);
            entity = Entity::scalar(emit(Opcode::VarGet, scalar, {}, slot(name, scalar)), type.dtype);
            entity.weak = type.weak;
            return entity;
        }
        case VarType::Kind::Complex: {
            const DType dtype = part_of(type.dtype);
            const ir::Type part = ir::Type::scalar(dtype);
            const ValueId real = emit(Opcode::VarGet, part, {}, slot(name + ".real", part));
            const ValueId imaginary = emit(Opcode::VarGet, part, {}, slot(name + ".imag", part));
            return complex_number(Entity::scalar(real, dtype), Entity::scalar(imaginary, dtype), type.dtype);
        }
        case VarType::Kind::Tuple:
            entity.kind = Entity::Kind::Tuple;
            entity.names = type.names;
            for (std::size_t i = 0; i < type.items.size(); ++i) {
                entity.items.push_back(read_parts(name + "." + std::to_string(i), type.items[i]));
            }
            return entity;
        case VarType::Kind::Array: {
            const ir::Type extent = ir::Type::scalar(DType::Int64);
            entity.kind = Entity::Kind::Array;
            entity.dtype = type.dtype;
            entity.layout = type.layout;
            entity.space = type.space;
            entity.record = type.record;
            entity.align = type.align;
            entity.read_only = type.read_only;
            entity.value = emit(Opcode::VarGet, ir::Type::pointer(), {}, slot(name + ".data", ir::Type::pointer()));
            for (std::size_t i = 0; i < type.rank; ++i) {
                entity.shape.push_back(
                    emit(Opcode::VarGet, extent, {}, slot(name + ".shape" + std::to_string(i), extent)));
                entity.strides.push_back(
                    emit(Opcode::VarGet, extent, {}, slot(name + ".stride" + std::to_string(i), extent)));
            }
            return entity;
        }
        case VarType::Kind::Record: {
            const ir::Type extent = ir::Type::scalar(DType::Int64);
            entity.kind = Entity::Kind::Record;
            entity.space = type.space;
            entity.record = type.record;
            entity.align = type.align;
            entity.read_only = type.read_only;
            entity.value = emit(Opcode::VarGet, ir::Type::pointer(), {}, slot(name + ".data", ir::Type::pointer()));
            entity.shape = {emit(Opcode::VarGet, extent, {}, slot(name + ".count", extent))};
            entity.strides = {constant(DType::Int64, type.record->size_bytes)};
            entity.fixed = {Entity::scalar(constant(DType::Int64, 0), DType::Int64)};
            return entity;
        }
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
