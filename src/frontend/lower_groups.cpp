// Cooperative groups: the grid, a block, and parts of a warp. A group is known when the kernel is compiled; its methods
// are made of the operations on blocks and warps.
#include <array>
#include <utility>

#include "frontend/lowering.h"
#include "frontend/typing.h"

namespace treadle::frontend {
namespace {

constexpr std::int64_t kGrid = 0;
constexpr std::int64_t kBlock = -1;  // else a tile of so many threads

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kTileMethods = {{
    {"shfl", "shfl_sync"},
    {"shfl_up", "shfl_up_sync"},
    {"shfl_down", "shfl_down_sync"},
    {"shfl_xor", "shfl_xor_sync"},
    {"any", "any_sync"},
    {"all", "all_sync"},
    {"ballot", "ballot_sync"},
    {"match_any", "match_any_sync"},
    {"match_all", "match_all_sync"},
}};

Entity make_group(std::int64_t threads) {
    Entity group;
    group.kind = Entity::Kind::Group;
    group.int_value = threads;
    return group;
}

}  // namespace

Entity Lowering::group(const Builtin& row, const std::vector<Entity>& args, Span span) {
    if (row.text == "cg.this_grid") return make_group(kGrid);
    if (row.text == "cg.this_thread_block") return make_group(kBlock);
    std::int64_t size = 0;
    if (!args[0].is(Entity::Kind::Group) || args[0].int_value == kGrid)
        type_error(span, "cg.tiled_partition: group: expected a thread block or a tile");
    if (!constant_integer(args[1], size) || size < 1 || size > ir::kWarp || (size & (size - 1)) != 0)
        type_error(span, "cg.tiled_partition: size: expected the constant 1, 2, 4, 8, 16 or 32");
    if (args[0].int_value > 0 && size > args[0].int_value)
        type_error(span, "cg.tiled_partition: size: expected at most the " + std::to_string(args[0].int_value) +
                             " threads of the tile, got " + std::to_string(size));
    return make_group(size);
}

Entity Lowering::linear_thread() {
    Entity row = thread_query(Opcode::ThreadIdx, 2);
    row = arithmetic(Opcode::Mul, row, thread_query(Opcode::BlockDim, 1), DType::Int32);
    row = arithmetic(Opcode::Add, row, thread_query(Opcode::ThreadIdx, 1), DType::Int32);
    row = arithmetic(Opcode::Mul, row, thread_query(Opcode::BlockDim, 0), DType::Int32);
    return arithmetic(Opcode::Add, row, thread_query(Opcode::ThreadIdx, 0), DType::Int32);
}

// The lanes of a tile in its warp, as bits.
ValueId Lowering::tile_members(const Entity& lane, std::int64_t threads) {
    const Entity first = arithmetic(Opcode::And, lane, Entity::integer(~(threads - 1)), DType::Int32);
    const std::int64_t ones = threads == ir::kWarp ? 0xffffffff : (std::int64_t{1} << threads) - 1;
    return emit(Opcode::Shl, ir::Type::scalar(DType::UInt32),
                {literal(Entity::integer(ones), DType::UInt32), as(first, DType::UInt32)});
}

Entity Lowering::group_method(const Entity& group, const std::string& method, const std::vector<Entity>& args,
                              Span span) {
    const std::int64_t threads = group.int_value;
    const auto expect = [&](std::size_t count) {
        if (args.size() != count)
            type_error(span, method + ": expected " + std::to_string(count) + " arguments, got " +
                                 std::to_string(args.size()));
    };
    const auto block_size = [&] {
        Entity size =
            arithmetic(Opcode::Mul, thread_query(Opcode::BlockDim, 0), thread_query(Opcode::BlockDim, 1), DType::Int32);
        return arithmetic(Opcode::Mul, size, thread_query(Opcode::BlockDim, 2), DType::Int32);
    };
    if (method == "sync") {
        expect(0);
        if (threads <= 0) emit_effect(Opcode::Barrier, {}, threads == kGrid);
        if (threads > 0) {
            const Entity lane = Entity::scalar(emit(Opcode::LaneId, ir::Type::scalar(DType::Int32), {}), DType::Int32);
            emit_effect(Opcode::Fence, {tile_members(lane, threads)}, static_cast<std::int32_t>(ir::FenceKind::Warp));
        }
        return {};
    }
    if (method == "thread_rank" || method == "size" || method == "num_threads") {
        expect(0);
        const bool is_rank = method == "thread_rank";
        if (threads == kBlock) return is_rank ? linear_thread() : block_size();
        if (threads > 0) {
            if (!is_rank)
                return Entity::scalar(constant(DType::Int32, static_cast<std::uint64_t>(threads)), DType::Int32);
            const Entity lane = Entity::scalar(emit(Opcode::LaneId, ir::Type::scalar(DType::Int32), {}), DType::Int32);
            return arithmetic(Opcode::And, lane, Entity::integer(threads - 1), DType::Int32);
        }
        Entity blocks = thread_query(Opcode::GridDim, 0);
        Entity block = thread_query(Opcode::BlockIdx, 2);
        for (int d = 1; d >= 0; --d) {
            block = arithmetic(Opcode::Mul, block, thread_query(Opcode::GridDim, d), DType::Int64);
            block = arithmetic(Opcode::Add, block, thread_query(Opcode::BlockIdx, d), DType::Int64);
        }
        for (int d = 1; d < 3; ++d)
            blocks = arithmetic(Opcode::Mul, blocks, thread_query(Opcode::GridDim, d), DType::Int64);
        const Entity first = arithmetic(Opcode::Mul, is_rank ? block : blocks, block_size(), DType::Int64);
        return is_rank ? arithmetic(Opcode::Add, first, linear_thread(), DType::Int64) : first;
    }
    if (threads > 0) {
        const Entity lane = Entity::scalar(emit(Opcode::LaneId, ir::Type::scalar(DType::Int32), {}), DType::Int32);
        if (method == "meta_group_rank" || method == "meta_group_size") {
            expect(0);
            const Entity size = Entity::integer(threads);
            if (method == "meta_group_rank") return arithmetic(Opcode::TruncDiv, linear_thread(), size, DType::Int32);
            const Entity up = arithmetic(Opcode::Add, block_size(), Entity::integer(threads - 1), DType::Int32);
            return arithmetic(Opcode::TruncDiv, up, size, DType::Int32);
        }
        for (const auto& [name, builtin] : kTileMethods) {
            if (method != name) continue;
            const Builtin& row = *find_builtin(builtin);
            expect(static_cast<std::size_t>(row.min_args - 1));
            const Entity first = arithmetic(Opcode::And, lane, Entity::integer(~(threads - 1)), DType::Int32);
            std::vector<Entity> all = {Entity::scalar(tile_members(lane, threads), DType::UInt32)};
            all.insert(all.end(), args.begin(), args.end());
            if (row.handler != Handler::Shuffle || threads == ir::kWarp) {
                const Entity result = call_builtin(row, all, span);
                if (name != "ballot" && name != "match_any") return result;
                // Bits count from the tile's first thread.
                return Entity::scalar(emit(Opcode::Shr, ir::Type::scalar(DType::UInt32),
                                           {as(result, DType::UInt32), as(first, DType::UInt32)}),
                                      DType::UInt32);
            }
            // A lane inside the tile, or one's own.
            const Entity own = arithmetic(Opcode::Sub, lane, first, DType::Int32);
            const Entity by = Entity::scalar(as(args[1], DType::Int32), DType::Int32);
            Entity source = name == "shfl" ? arithmetic(Opcode::And, by, Entity::integer(threads - 1), DType::Int32)
                            : name == "shfl_up"   ? arithmetic(Opcode::Sub, own, by, DType::Int32)
                            : name == "shfl_down" ? arithmetic(Opcode::Add, own, by, DType::Int32)
                                                  : arithmetic(Opcode::Xor, own, by, DType::Int32);
            const Entity unsigned_source = Entity::scalar(as(source, DType::UInt32), DType::UInt32);
            const ValueId inside =
                emit(Opcode::Lt, ir::Type::scalar(DType::Bool),
                     {unsigned_source.value, constant(DType::UInt32, static_cast<std::uint64_t>(threads))});
            source = Entity::scalar(emit(Opcode::Select, ir::Type::scalar(DType::Int32),
                                         {inside, as(source, DType::Int32), as(own, DType::Int32)}),
                                    DType::Int32);
            all[2] = arithmetic(Opcode::Add, first, source, DType::Int32);
            return call_builtin(*find_builtin("shfl_sync"), all, span);
        }
    }
    type_error(span, "this group has no method '" + method + "'",
               threads > 0
                   ? "known: sync, thread_rank, size, shfl, shfl_up, shfl_down, shfl_xor, any, all, ballot, match_any, "
                     "match_all, meta_group_rank, meta_group_size"
                   : "known: sync, thread_rank, size");
}

}  // namespace treadle::frontend
