#include "service/compiler_service.h"

namespace treadle {

std::string CompileOptions::key() const {
    std::string text = "b" + std::to_string(static_cast<int>(bounds));
    text += contract ? " contract" : "";
    text += fastmath ? " fastmath" : "";
    text += strict_types ? " strict" : "";
    if (cuda_capability != 0) {
        text += " cuda" + std::to_string(cuda_capability) + " threads" + std::to_string(most_threads) +
                (coarse ? " coarse" : "") + (small_numbers ? " small" : "") + " blocks" + std::to_string(min_blocks) +
                " registers" + std::to_string(max_registers) + " equal";
        for (const char first : equal_extents) text += std::to_string(static_cast<int>(first)) + ",";
        for (const std::int32_t extent : block) text += " block" + std::to_string(extent);
        return text + " -" + disabled_passes;
    }
    text += " layout" + std::to_string(static_cast<int>(lanes));
    text += full_packets ? " full" : "";
    text += " limit" + std::to_string(packet_limit) + " packet" + std::to_string(packet);
    if (debug != DebugLevel::None) text += " debug" + std::to_string(static_cast<int>(debug));
    text += optimize ? "" : " unoptimized";
    for (const std::int32_t extent : block) text += " block" + std::to_string(extent);
    text += " -" + disabled_passes;
    return text;
}

}  // namespace treadle
