// What debug information is made of beside the IR: plain data, for any target.
#pragma once

#include <string>
#include <vector>

#include "base/artifact.h"
#include "base/dtype.h"
#include "base/kernel_facts.h"

namespace treadle::codegen {

// What the IR does not say of the kernel.
struct DebugSource {
    struct Parameter {
        std::string name;
        DType dtype = DType::Count;
        int rank = -1;       // of an array; -1: a scalar
        int first_slot = 0;  // 8-byte words: an array's are pointer, extents, strides
    };
    DebugLevel level = DebugLevel::None;
    bool optimized = true;
    std::vector<SourceText> sources;     // by function of the program
    std::vector<std::string> functions;  // their names
    std::vector<Parameter> parameters;
};

}  // namespace treadle::codegen
