// From compiled code to a cubin: the driver's linker, and nvJitLink for what the driver does not take.
//
// The driver's is there wherever a GPU is. nvJitLink is no quicker (docs/design/gpu.md has the figures), and first has
// 110 MB to load.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/code_image.h"

namespace treadle::device::cuda {

struct LinkRequest {
    CodeImages images;
    std::string arch;                  // such as sm_90
    std::vector<std::string> options;  // more of nvJitLink's
    bool to_ptx = false;               // nvJitLink only: what link-time optimisation leaves, as text
    bool nvjitlink = false;            // else the driver's linker, in the current context
};

struct LinkResult {
    std::string code;
    std::string log;
};

// Throws Error(Compile) with the linker's log, Error(Unsupported) for a kind of code that the linker does not take.
LinkResult link(const LinkRequest& request);

// nvJitLink, a library that is looked for when it is first needed. Throws Error(Unsupported) where the file cannot be
// opened or lacks a function.
void use_nvjitlink(const std::string& path);
std::pair<int, int> nvjitlink_version();

}  // namespace treadle::device::cuda
