// The pipeline from kernel syntax text to an artifact; implements CompilerService.
#pragma once

#include "service/compiler_service.h"

namespace treadle::compiler {

class Compiler final : public CompilerService {
public:
    Artifact compile(const CompileRequest& request) override;
    std::string dump(const CompileRequest& request, const std::string& stage) override;
    std::string version() const override;
};

}  // namespace treadle::compiler

extern "C" __attribute__((visibility("default"))) treadle::CompilerService* treadle_compiler_service();
