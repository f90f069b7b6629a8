// NVIDIA's compiler for CUDA C++, a library that is looked for when it is first needed.
#pragma once

#include <string>
#include <vector>

#include "base/code_image.h"

namespace treadle::device::cuda {

struct CppRequest {
    std::string code;
    std::string name;  // of the source, in messages
    std::vector<std::string> options;
    std::vector<std::string> headers;       // texts
    std::vector<std::string> header_names;  // by which they are included
    std::vector<std::string> expressions;   // names of templates' instances and of functions, as C++ writes them
    CodeKind target = CodeKind::Cubin;      // or Ptx, or LtoIr
};

struct CppResult {
    std::string code;
    std::string log;
    std::vector<std::string> names;  // the symbols of the expressions
};

// Opens the library in this file. Throws Error(Unsupported) where it cannot be opened or lacks a function.
void use_nvrtc(const std::string& path);
bool has_nvrtc();
std::pair<int, int> nvrtc_version();
// Throws Error(Compile) with the compiler's log.
CppResult compile_cpp(const CppRequest& request);

}  // namespace treadle::device::cuda
