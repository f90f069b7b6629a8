#include "codegen/common/emit_file.h"

#include <cstdlib>

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "base/error.h"

namespace treadle::codegen {

namespace {

std::string emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind) {
    llvm::SmallVector<char, 0> buffer;
    llvm::raw_svector_ostream stream(buffer);
    llvm::legacy::PassManager passes;
    const bool failed = machine.addPassesToEmitFile(passes, stream, nullptr, kind, /*DisableVerify=*/true);
    TREADLE_CHECK(!failed, "the target cannot emit this file kind");
    passes.run(module);
    return {buffer.begin(), buffer.end()};
}

}  // namespace

std::string emit_object(llvm::Module& module, llvm::TargetMachine& machine) {
    return emit(module, machine, llvm::CodeGenFileType::ObjectFile);
}

std::string emit_assembly(llvm::Module& module, llvm::TargetMachine& machine) {
    return emit(module, machine, llvm::CodeGenFileType::AssemblyFile);
}

std::string text_of(const llvm::Module& module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    return text;
}

void check(const llvm::Module& module) {
    static const bool verify = std::getenv("TREADLE_VERIFY") != nullptr;
    if (!verify) return;
    std::string problems;
    llvm::raw_string_ostream stream(problems);
    TREADLE_CHECK(!llvm::verifyModule(module, &stream), problems);
}

}  // namespace treadle::codegen
