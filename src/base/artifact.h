// What the compiler makes and a device loads, and the source text that messages about it show.
#pragma once

#include <string>

namespace treadle {

struct SourceText {
    std::string file;
    int first_line = 1;
    std::string text;  // the function's lines as written
};

struct Artifact {
    std::string object;      // relocatable object for the CPU device
    int packet = 0;          // lanes of a packet
    int param_slots = 0;     // 8-byte words of parameters
    bool has_loops = false;  // its time depends on more than the number of threads
    double compile_ms = 0;
};

}  // namespace treadle
