// Blocks whose packets run from barrier to barrier: the code between two barriers is a segment, a loop over all packets
// of the block. What is the same for the whole block stands between the segments, once. What a packet keeps from one
// segment to the next lies in memory, an array over the packets; indices are computed anew, which costs less.
#include <algorithm>

#include "base/error.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

using ir::Opcode;

namespace {

constexpr int kMostRecomputed = 12;  // operations that are cheaper than memory

}  // namespace

// ------------------------------------------------------------------------------------------------------------ planning

std::vector<Emitter::Piece> Emitter::pieces_of(const ir::Region& region, bool in_loop) {
    std::vector<Piece> pieces;
    Piece segment;
    const auto flush = [&] {
        if (segment.ops.empty()) return;
        segment.number = static_cast<int>(segment_count_++);
        note_uses(segment, in_loop);
        pieces.push_back(std::move(segment));
        segment = {};
    };
    for (const ir::Op& op : region) {
        Piece piece;
        piece.op = &op;
        if (ir::is_block_construct(op)) {
            flush();
            for (const ir::Region& inner : op.regions)
                piece.regions.push_back(pieces_of(inner, in_loop || op.code == Opcode::Loop));
        } else if (op.code == Opcode::BarrierReduce) {
            segment.ops.push_back(&op);  // the packets' counts are added up there
            flush();
        } else if (op.code == Opcode::VarSet && function_.block_variables[static_cast<std::size_t>(op.index)]) {
            flush();  // packets before it read the old value
        } else if (op.code == Opcode::Barrier || op.code == Opcode::Break || op.code == Opcode::Continue ||
                   op.code == Opcode::Leave || op.code == Opcode::Yield) {
            flush();
        } else if (op.result == ir::kNoValue || !function_.block_values[op.result]) {
            segment.ops.push_back(&op);
            if (op.result != ir::kNoValue) {
                definitions_[op.result] = &op;
                costs_[op.result] = cost_of(op);
            }
            continue;
        }
        pieces.push_back(std::move(piece));
    }
    flush();
    return pieces;
}

void Emitter::note_uses(const Piece& segment, bool in_loop) {
    std::set<std::int32_t> touched;
    const auto visit = [&](const ir::Op& op) {
        for (const ir::ValueId operand : op.operands) {
            if (home_[operand] >= 0 && home_[operand] != segment.number) used_elsewhere_[operand] = true;
        }
        if (op.result != ir::kNoValue && !function_.block_values[op.result]) home_[op.result] = segment.number;
        if (op.code == Opcode::VarGet || op.code == Opcode::VarSet) touched.insert(op.index);
    };
    for (const ir::Op* op : segment.ops) {
        visit(*op);
        for (const ir::Region& inner : op->regions) ir::walk(inner, visit);
    }
    for (const std::int32_t variable : touched) {
        VariableUse& use = variable_uses_[static_cast<std::size_t>(variable)];
        const bool assigned = begins_with_assignment(segment.ops, variable) == First::Assignment;
        if (!use.is_met) use.starts_assigned = assigned && !in_loop;
        use.is_met = true;
        // What it held before is read: by a later segment, or by this one in the next round.
        use.is_kept = use.is_kept || !assigned;
    }
}

// What the operations do first with a variable, on every path.
Emitter::First Emitter::begins_with_assignment(const std::vector<const ir::Op*>& ops, std::int32_t variable) {
    for (const ir::Op* op : ops) {
        if ((op->code == Opcode::VarGet || op->code == Opcode::VarSet) && op->index == variable)
            return op->code == Opcode::VarSet ? First::Assignment : First::Read;
        bool touches = false;
        for (const ir::Region& inner : op->regions) {
            ir::walk(inner, [&](const ir::Op& one) {
                touches =
                    touches || ((one.code == Opcode::VarGet || one.code == Opcode::VarSet) && one.index == variable);
            });
        }
        // Lanes may leave before they have assigned; what they hold then is read by nobody only where nobody goes on.
        if (jumps_of(*op).any()) return First::Read;
        if (!touches) continue;
        if (op->code != Opcode::If) return First::Read;
        for (const ir::Region& inner : op->regions) {
            std::vector<const ir::Op*> side;
            for (const ir::Op& one : inner) side.push_back(&one);
            if (begins_with_assignment(side, variable) != First::Assignment) return First::Read;
        }
        return First::Assignment;
    }
    return First::Nothing;
}

// The number of operations that make the value from what a block and a thread index give; too many where memory is
// read.
int Emitter::cost_of(const ir::Op& op) const {
    if (!ir::info(op.code).has('p')) return kMostRecomputed + 1;
    int cost = 1;
    for (const ir::ValueId operand : op.operands) {
        if (!function_.block_values[operand]) cost += costs_[operand];
    }
    return std::min(cost, kMostRecomputed + 1);
}

// ------------------------------------------------------------------------------------------------------------ emission

void Emitter::split_block() {
    const auto [bx, by, bz] = options_.block;
    const bool rows = options_.lanes == ir::Lanes::Rows;
    packets_in_row_ = ((rows ? bx : bx * by * bz) + width_ - 1) / width_;
    packet_count_ = packets_in_row_ * (rows ? by * bz : 1);
    home_.assign(function_.values.size(), -1);
    used_elsewhere_.assign(function_.values.size(), false);
    costs_.assign(function_.values.size(), kMostRecomputed + 1);
    variable_uses_.assign(function_.variables.size(), {});
    const std::vector<Piece> all = pieces_of(function_.body, false);
    kept_variables_.assign(function_.variables.size(), nullptr);
    for (std::size_t i = 0; i < function_.variables.size(); ++i) {
        if (function_.block_variables[i] || !variable_uses_[i].is_kept) continue;
        kept_variables_[i] = per_packet(variables_[i]->getAllocatedType(), "kept");
    }
    if (jumps_of(function_.body).returns) kept_alive_ = per_packet(mask_slot_type(), "alive");
    clear_variables();
    llvm::BasicBlock* finish = block("block_end");
    bool any_start = kept_alive_ != nullptr;
    for (std::size_t i = 0; i < kept_variables_.size(); ++i)
        any_start = any_start || (kept_variables_[i] != nullptr && !variable_uses_[i].starts_assigned);
    const auto start = [&] {
        if (kept_alive_ != nullptr) {
            llvm::AllocaInst* lanes = mask_slot(mask_, "start");
            builder_.CreateStore(builder_.CreateLoad(mask_slot_type(), lanes), of_packet(kept_alive_));
        }
        for (std::size_t i = 0; i < kept_variables_.size(); ++i) {
            if (kept_variables_[i] == nullptr || variable_uses_[i].starts_assigned) continue;
            builder_.CreateStore(cleared(i), of_packet(kept_variables_[i]));
        }
    };
    if (any_start) packet_loop(start);
    pieces(all);
    branch_to(finish);
    builder_.SetInsertPoint(finish);
}

llvm::AllocaInst* Emitter::per_packet(llvm::Type* type, const char* name) {
    llvm::AllocaInst* memory = slot(llvm::ArrayType::get(type, static_cast<std::uint64_t>(packet_count_)), name);
    memory->setAlignment(llvm::Align(64));
    return memory;
}

Emitter::Value* Emitter::of_packet(llvm::AllocaInst* memory) {
    return builder_.CreateInBoundsGEP(memory->getAllocatedType(), memory, {i64(0), packet_number_});
}

// Emits body for each packet of the block; thread indices and the mask of existing threads are set for it.
void Emitter::packet_loop(const std::function<void()>& body) {
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    llvm::BasicBlock* loop = block("segment");
    llvm::BasicBlock* after = block("segment_done");
    builder_.CreateBr(loop);
    builder_.SetInsertPoint(loop);
    llvm::PHINode* number = builder_.CreatePHI(builder_.getInt64Ty(), 2, "packet");
    number->addIncoming(i64(0), before);
    packet_number_ = number;
    Value* packet = builder_.CreateTrunc(number, builder_.getInt32Ty());
    const auto whole = [&](std::int32_t value) { return builder_.getInt32(static_cast<std::uint32_t>(value)); };
    const auto [bx, by, bz] = options_.block;
    const bool rows = options_.lanes == ir::Lanes::Rows;
    Value* row = rows ? builder_.CreateUDiv(packet, whole(packets_in_row_)) : whole(0);
    Value* in_row = rows ? builder_.CreateURem(packet, whole(packets_in_row_)) : packet;
    Value* x = builder_.CreateMul(in_row, whole(width_));
    thread_base_ = rows ? builder_.CreateAdd(builder_.CreateMul(row, whole(bx)), x) : x;
    set_threads(x, rows ? builder_.CreateURem(row, whole(by)) : whole(0),
                rows ? builder_.CreateUDiv(row, whole(by)) : whole(0), whole(rows ? bx : bx * by * bz));
    body();
    Value* next = builder_.CreateAdd(number, i64(1));
    number->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpULT(next, i64(packet_count_)), loop, after);
    builder_.SetInsertPoint(after);
    mask_ = nullptr;
    alive_ = nullptr;
}

void Emitter::segment(const Piece& piece) {
    const ir::Op& last = *piece.ops.back();
    if (last.code == Opcode::BarrierReduce) {
        llvm::AllocaInst*& total = totals_[last.result];
        if (total == nullptr) total = slot(builder_.getInt64Ty(), "total");
        builder_.CreateStore(i64(0), total);
    }
    std::vector<bool> touched(function_.variables.size(), false);
    std::vector<bool> assigned(function_.variables.size(), false);
    std::set<ir::ValueId> needed;
    const auto visit = [&](const ir::Op& op) {
        for (const ir::ValueId operand : op.operands) {
            if (home_[operand] >= 0 && home_[operand] != piece.number) needed.insert(operand);
        }
        if (op.code == Opcode::VarGet || op.code == Opcode::VarSet) touched[static_cast<std::size_t>(op.index)] = true;
        if (op.code == Opcode::VarSet) assigned[static_cast<std::size_t>(op.index)] = true;
    };
    for (const ir::Op* op : piece.ops) {
        visit(*op);
        for (const ir::Region& inner : op->regions) ir::walk(inner, visit);
    }
    packet_loop([&] {
        llvm::BasicBlock* end = block("segment_end");
        packet_end_ = end;
        if (kept_alive_ != nullptr) {
            // Threads that have returned take no part.
            alive_ = slot(mask_slot_type(), "alive");
            builder_.CreateStore(builder_.CreateLoad(mask_slot_type(), of_packet(kept_alive_)), alive_);
            mask_ = load_mask(alive_);
            llvm::BasicBlock* some = block("some");
            builder_.CreateCondBr(any(mask_), some, end);
            builder_.SetInsertPoint(some);
        }
        for (std::size_t i = 0; i < variables_.size(); ++i) {
            if (!touched[i] || function_.block_variables[i]) continue;
            Value* start = kept_variables_[i] == nullptr
                               ? cleared(i)
                               : builder_.CreateLoad(variables_[i]->getAllocatedType(), of_packet(kept_variables_[i]));
            builder_.CreateStore(start, variables_[i]);
        }
        recomputed_.clear();
        for (const ir::ValueId value : needed) fetch(value);
        sequence(piece.ops);
        branch_to(end);
        builder_.SetInsertPoint(end);
        for (std::size_t i = 0; i < variables_.size(); ++i) {
            if (!assigned[i] || kept_variables_[i] == nullptr) continue;
            builder_.CreateStore(builder_.CreateLoad(variables_[i]->getAllocatedType(), variables_[i]),
                                 of_packet(kept_variables_[i]));
        }
        if (kept_alive_ != nullptr)
            builder_.CreateStore(builder_.CreateLoad(mask_slot_type(), alive_), of_packet(kept_alive_));
    });
}

// Makes a value of an earlier segment available: computed again, or from memory.
void Emitter::fetch(ir::ValueId value) {
    if (function_.block_values[value] || !recomputed_.insert(value).second) return;
    if (costs_[value] > kMostRecomputed) {
        llvm::AllocaInst* memory = kept_values_.at(value);
        llvm::Type* type = llvm::cast<llvm::ArrayType>(memory->getAllocatedType())->getElementType();
        values_[value] = builder_.CreateLoad(type, of_packet(memory));
        return;
    }
    const ir::Op& op = *definitions_.at(value);
    for (const ir::ValueId operand : op.operands) fetch(operand);
    emit_op(op);
}

// Keeps what another segment reads and cannot compute.
void Emitter::keep(ir::ValueId value) {
    if (packet_number_ == nullptr || !used_elsewhere_[value] || costs_[value] <= kMostRecomputed) return;
    llvm::AllocaInst*& memory = kept_values_[value];
    if (memory == nullptr) memory = per_packet(values_[value]->getType(), "value");
    builder_.CreateStore(values_[value], of_packet(memory));
}

void Emitter::pieces(const std::vector<Piece>& all) {
    for (const Piece& piece : all) {
        if (ended()) return;
        if (piece.op == nullptr) {
            segment(piece);
            continue;
        }
        const ir::Op& op = *piece.op;
        switch (op.code) {
            case Opcode::If: block_if(piece); break;
            case Opcode::Loop: block_loop(piece); break;
            case Opcode::Scope: {
                const Exits outer = std::exchange(exits_, {});
                exits_.scope_exit = block("scope_exit");
                pieces(piece.regions[0]);
                branch_to(exits_.scope_exit);
                builder_.SetInsertPoint(exits_.scope_exit);
                exits_ = outer;
                break;
            }
            case Opcode::Break:
                if (leaving_ != nullptr) pieces(*leaving_);
                builder_.CreateBr(exits_.loop_exit);
                break;
            case Opcode::Continue: builder_.CreateBr(exits_.loop_step); break;
            case Opcode::Leave: builder_.CreateBr(exits_.scope_exit); break;
            case Opcode::Barrier:
            case Opcode::Yield: break;
            case Opcode::BarrierReduce:
                values_[op.result] = reduced_total(op, builder_.CreateLoad(builder_.getInt64Ty(), totals_[op.result]));
                break;
            default: emit_op(op); break;
        }
    }
}

void Emitter::block_if(const Piece& piece) {
    llvm::BasicBlock* then = block("block_then");
    llvm::BasicBlock* otherwise = block("block_else");
    llvm::BasicBlock* after = block("block_after");
    builder_.CreateCondBr(get(piece.op->operands[0]), then, otherwise);
    for (std::size_t side = 0; side < 2; ++side) {
        builder_.SetInsertPoint(side == 0 ? then : otherwise);
        pieces(piece.regions[side]);
        branch_to(after);
    }
    builder_.SetInsertPoint(after);
}

void Emitter::block_loop(const Piece& piece) {
    const Exits outer = exits_;
    const std::vector<Piece>* outer_leaving = leaving_;
    pieces(piece.regions[0]);
    exits_ = {};
    exits_.loop_exit = block("block_loop_exit");
    exits_.loop_step = block("block_loop_step");
    exits_.scope_exit = outer.scope_exit;
    leaving_ = &piece.regions[4];
    llvm::BasicBlock* header = block("block_loop");
    llvm::BasicBlock* body = block("block_loop_body");
    llvm::BasicBlock* left = block("block_loop_left");
    builder_.CreateBr(header);
    builder_.SetInsertPoint(header);
    pieces(piece.regions[1]);
    builder_.CreateCondBr(get(piece.op->regions[1].back().operands[0]), body, left);
    builder_.SetInsertPoint(left);
    pieces(piece.regions[4]);
    builder_.CreateBr(exits_.loop_exit);
    builder_.SetInsertPoint(body);
    pieces(piece.regions[2]);
    branch_to(exits_.loop_step);
    builder_.SetInsertPoint(exits_.loop_step);
    pieces(piece.regions[3]);
    builder_.CreateBr(header);
    builder_.SetInsertPoint(exits_.loop_exit);
    exits_ = outer;
    leaving_ = outer_leaving;
}

}  // namespace treadle::codegen
