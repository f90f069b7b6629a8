#include "device/memory_report.h"

#include <algorithm>
#include <map>

namespace treadle::device {
namespace {

constexpr std::size_t kMostHolders = 5;

std::string text_of(const Contents& contents) {
    if (contents.item_bytes == 0) return "";
    std::string text = contents.is_record ? "records of " + std::to_string(contents.item_bytes) + " bytes"
                                          : std::string(name_of(contents.dtype));
    text += " (";
    const int shown = std::min<int>(contents.rank, Contents::kMostShown);
    for (int axis = 0; axis < shown; ++axis) text += (axis > 0 ? ", " : "") + std::to_string(contents.shape[axis]);
    if (shown < contents.rank) text += ", ...";
    return text + (contents.rank == 1 ? ",)" : ")");
}

struct Holder {
    std::string text;
    std::size_t size_bytes;
    std::size_t count;
};

// Blocks of one size and kind together, those that hold the most first.
std::vector<Holder> holders_of(const std::vector<const Storage*>& live) {
    std::map<std::pair<std::size_t, std::string>, std::size_t> counts;
    for (const Storage* storage : live) ++counts[{storage->size_bytes(), text_of(storage->contents())}];
    std::vector<Holder> holders;
    for (const auto& [kind, count] : counts) holders.push_back({kind.second, kind.first, count});
    std::stable_sort(holders.begin(), holders.end(),
                     [](const Holder& a, const Holder& b) { return a.size_bytes * a.count > b.size_bytes * b.count; });
    return holders;
}

}  // namespace

Error out_of_memory(const MemoryState& state, const std::vector<const Storage*>& live) {
    const auto bytes = [](std::size_t size) { return std::to_string(size) + " bytes"; };
    std::string text = "CUDA_ERROR_OUT_OF_MEMORY: cannot allocate " + bytes(state.asked_bytes) + " of " + state.place +
                       ": " + std::to_string(state.free_bytes) + " of " + bytes(state.total_bytes) + " are free; " +
                       bytes(state.used_bytes) + " are in use by arrays";
    if (state.given_back_bytes != 0)
        text += ", and " + bytes(state.given_back_bytes) + " that were kept for reuse have been given back";
    const std::vector<Holder> holders = holders_of(live);
    if (!holders.empty()) text += ". The largest holders:";
    for (std::size_t i = 0; i < std::min(holders.size(), kMostHolders); ++i) {
        const Holder& one = holders[i];
        text += "\n  " + std::to_string(one.count) + (one.count == 1 ? " block of " : " blocks of ") +
                bytes(one.size_bytes) + (one.text.empty() ? "" : ": " + one.text);
    }
    if (holders.size() > kMostHolders)
        text += "\n  and " + std::to_string(holders.size() - kMostHolders) + " more kinds";
    return {ErrorKind::Memory, text};
}

}  // namespace treadle::device
