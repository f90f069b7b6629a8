// The message of an allocation that failed: what was asked for, what there is, and who holds it.
//
//     CUDA_ERROR_OUT_OF_MEMORY: cannot allocate 629145600 bytes of GPU 0: 4194304 of 1073741824 bytes are free;
//     734003200 bytes are in use by arrays, and 335544320 bytes that were kept for reuse have been given back. The
//     largest holders:
//       2 blocks of 262144000 bytes: float32 (8000, 8192)
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "device/device.h"

namespace treadle::device {

struct MemoryState {
    std::string place;  // "GPU 0"
    std::size_t asked_bytes = 0;
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    std::size_t used_bytes = 0;        // by arrays of this process
    std::size_t given_back_bytes = 0;  // before the last attempt
};

Error out_of_memory(const MemoryState& state, const std::vector<const Storage*>& live);

// All blocks of a pool, in use or kept for reuse. It changes only where memory is asked of the system or given back to
// it, so that handing out a kept block costs nothing. The pool's lock guards it.
template <class Block>
class BlockList {
public:
    void add(const Block* block) { blocks_.insert(block); }
    void remove(const Block* block) { blocks_.erase(block); }
    std::vector<const Storage*> live() const {
        std::vector<const Storage*> found;
        for (const Block* block : blocks_) {
            if (block->in_use()) found.push_back(block);
        }
        return found;
    }

private:
    std::unordered_set<const Block*> blocks_;
};

}  // namespace treadle::device
