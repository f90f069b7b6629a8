// What the compiler makes and a device loads, and the source text that messages about it show.
#pragma once

#include <string>

#include "base/kernel_facts.h"

namespace treadle {

struct SourceText {
    std::string file;
    int first_line = 1;
    std::string text;  // the function's lines as written
};

struct Artifact {
    std::string object;        // relocatable object for the CPU device; PTX, and later machine code, for a GPU
    int packet = 0;            // lanes of a packet
    int param_slots = 0;       // 8-byte words of parameters
    bool has_loops = false;    // its time depends on more than the number of threads
    bool one_packet = false;   // the code runs one packet of a block: kPacketSymbol
    bool whole_block = false;  // the code runs all packets of a block: kPacketSymbol, called once for each block
    bool has_barriers = false;
    bool blocks_wait = false;    // for each other: all of a grid must be under way at once
    bool meets_grid = false;     // a cooperative launch
    bool recurses = false;       // calls functions that call themselves, so its stack has room for many calls
    int called_bytes = 0;        // of the largest local arrays of one of these
    bool reports = false;        // may tell the host of faults or print; of GPU kernels
    bool coarse = false;         // a block of the device runs several of the grid; of GPU kernels
    bool shares_memory = false;  // has shared arrays
    bool needs_links = false;    // calls functions of other compilers
    Lanes lanes = Lanes::Line;
    int shared_bytes = 0;  // of arrays whose size the kernel says
    std::string texts;     // what the kernel prints and raises, a line of JSON each
    double compile_ms = 0;
};

}  // namespace treadle
