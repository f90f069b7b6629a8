#include "codegen/debug_info.h"

#include <algorithm>
#include <filesystem>

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>

namespace treadle::codegen {
namespace {

constexpr std::int32_t kLineMask = (1 << ir::kLineBits) - 1;
constexpr unsigned kWordBits = 64;

std::size_t function_of(std::int32_t line) { return static_cast<std::size_t>(line >> ir::kLineBits); }

unsigned encoding_of(DType dtype) {
    if (is_bool(dtype)) return llvm::dwarf::DW_ATE_boolean;
    if (is_float(dtype)) return llvm::dwarf::DW_ATE_float;
    return is_unsigned(dtype) ? llvm::dwarf::DW_ATE_unsigned : llvm::dwarf::DW_ATE_signed;
}

// "f#3/x<float32>" -> "f#3", "x", "float32"
struct VariableName {
    std::string call, name, element;
    explicit VariableName(const std::string& text) {
        const std::size_t slash = text.rfind('/');
        if (slash != std::string::npos) call = text.substr(0, slash);
        name = slash == std::string::npos ? text : text.substr(slash + 1);
        const std::size_t mark = name.find('<');
        if (mark == std::string::npos) return;
        element = name.substr(mark + 1, name.find('>') - mark - 1);
        name.resize(mark);
    }
    bool is_users() const { return name.find('#') == std::string::npos; }
    std::string function() const {
        const std::size_t slash = call.rfind('/');
        const std::string last = slash == std::string::npos ? call : call.substr(slash + 1);
        return last.substr(0, last.find('#'));
    }
};

// A name that expressions can hold.
std::string shown(std::string name) {
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}

}  // namespace

DebugInfo::DebugInfo(llvm::Module& module, const ir::Function& function, const DebugSource& source)
    : function_(function),
      source_(source),
      builder_(module),
      context_(module.getContext()),
      declared_(function.variables.size(), false) {
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
    const std::string path = source.sources.empty() ? "<kernel>" : source.sources[0].file;
    // Debuggers know no expressions in Python; C's are near enough for names, elements and arithmetic.
    unit_ = builder_.createCompileUnit(
        llvm::dwarf::DW_LANG_C99, file(path), "treadle", source.optimized, "", 0, "",
        describes_variables() ? llvm::DICompileUnit::FullDebug : llvm::DICompileUnit::LineTablesOnly);
}

llvm::DIFile* DebugInfo::file(const std::string& path) {
    llvm::DIFile*& known = files_[path];
    if (known == nullptr) {
        const std::filesystem::path whole(path);
        known = builder_.createFile(whole.filename().string(), whole.parent_path().string());
    }
    return known;
}

int DebugInfo::line_in_file(std::size_t function, std::int32_t line) const {
    const int first = function < source_.sources.size() ? source_.sources[function].first_line : 1;
    return first + std::max(0, (line & kLineMask) - 1);
}

llvm::DISubprogram* DebugInfo::subprogram(std::size_t function) {
    llvm::DISubprogram*& known = subprograms_[function];
    if (known == nullptr) {
        const bool is_known = function < source_.sources.size();
        llvm::DIFile* where = is_known ? file(source_.sources[function].file) : unit_->getFile();
        const std::string name =
            function < source_.functions.size() ? source_.functions[function] : "f" + std::to_string(function);
        const int line = is_known ? definition_line(function) : 1;
        llvm::DISubroutineType* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({nullptr}));
        auto flags = llvm::DISubprogram::SPFlagDefinition;
        if (source_.optimized) flags |= llvm::DISubprogram::SPFlagOptimized;
        known = builder_.createFunction(where, name, "", where, static_cast<unsigned>(line), type,
                                        static_cast<unsigned>(line), llvm::DINode::FlagZero, flags);
    }
    return known;
}

void DebugInfo::begin(llvm::Function* kernel, llvm::IRBuilder<>& builder) {
    kernel->setSubprogram(subprogram(0));
    kernel->addFnAttr("frame-pointer", "all");
    leave(builder);
}

void DebugInfo::leave(llvm::IRBuilder<>& builder) {
    latest_ = llvm::DILocation::get(context_, subprogram(0)->getLine(), 0, subprogram(0));
    builder.SetCurrentDebugLocation(source_.optimized ? latest_ : nullptr);
}

// Where the function is defined: behind its decorators.
int DebugInfo::definition_line(std::size_t function) const {
    const SourceText& source = source_.sources[function];
    int line = source.first_line;
    for (std::size_t at = 0; at < source.text.size(); ++line) {
        const std::size_t begin = source.text.find_first_not_of(" \t", at);
        if (begin != std::string::npos && source.text.compare(begin, 4, "def ") == 0) return line;
        const std::size_t end = source.text.find('\n', at);
        if (end == std::string::npos) break;
        at = end + 1;
    }
    return source.first_line;
}

llvm::DILocation* DebugInfo::location(std::int32_t line) {
    const std::size_t function = function_of(line);
    const auto number = static_cast<unsigned>(line_in_file(function, line));
    if (function == 0) return llvm::DILocation::get(context_, number, 0, subprogram(0));
    const auto call = latest_calls_.find(function);
    // A function without parameters: it is called where the code before it stands.
    llvm::DILocation* at = call != latest_calls_.end() ? call->second : latest_;
    if (call == latest_calls_.end())
        latest_calls_[function] = at =
            llvm::DILocation::getDistinct(context_, at->getLine(), 0, at->getScope(), at->getInlinedAt());
    return llvm::DILocation::get(context_, number, 0, subprogram(function), at);
}

std::size_t DebugInfo::function_named(const std::string& name) const {
    const auto found = std::find(source_.functions.begin(), source_.functions.end(), name);
    return static_cast<std::size_t>(found - source_.functions.begin());
}

void DebugInfo::enter(const ir::Op& op, llvm::IRBuilder<>& builder, const std::vector<llvm::AllocaInst*>& variables) {
    const auto variable = static_cast<std::size_t>(op.index);
    if (op.line == 0) {
        // Before the first statement parameters get their variables.
        if (op.code == ir::Opcode::VarSet && describes_variables()) declare_parameter(variable, variables, builder);
        return;
    }
    if (op.code == ir::Opcode::VarSet && describes_variables()) {
        const VariableName name(function_.variables[variable].name);
        const std::size_t function = function_named(name.function());
        if (!name.call.empty() && calls_.count(name.call) == 0 && function < source_.sources.size()) {
            llvm::DILocation* at = location(op.line);
            calls_[name.call] = latest_calls_[function] =
                llvm::DILocation::getDistinct(context_, at->getLine(), 0, at->getScope(), at->getInlinedAt());
        }
        if (!declared_[variable] && name.is_users() && (name.call.empty() || calls_.count(name.call) != 0))
            declare(op, variables[variable], builder);
    }
    latest_ = location(op.line);
    builder.SetCurrentDebugLocation(latest_);
}

void DebugInfo::declare(const ir::Op& set, llvm::AllocaInst* memory, llvm::IRBuilder<>& builder) {
    const auto number = static_cast<std::size_t>(set.index);
    declared_[number] = true;
    const ir::Variable& variable = function_.variables[number];
    VariableName name(variable.name);
    const std::size_t function = name.call.empty() ? 0 : function_named(name.function());
    llvm::DIType* type = type_of(memory->getAllocatedType(), variable.type);
    const DType element = name.element.empty() ? DType::Count : dtype_from_name(name.element);
    if (element != DType::Count) {
        if (variable.type.is_pointer())
            type = builder_.createPointerType(type_of(element), kWordBits);
        else
            name.element.clear();
    }
    name.name = shown(name.name);
    llvm::DISubprogram* scope = subprogram(function);
    llvm::DILocation* call = name.call.empty() ? nullptr : calls_[name.call];
    const auto line = static_cast<unsigned>(line_in_file(function, function_of(set.line) == function ? set.line : 1));
    llvm::DILocalVariable* local =
        builder_.createAutoVariable(scope, name.name, scope->getFile(), line, type, /*AlwaysPreserve=*/true);
    builder_.insertDeclare(memory, local, builder_.createExpression(),
                           llvm::DILocation::get(context_, line, 0, scope, call), builder.GetInsertBlock());
}

void DebugInfo::declare_parameters(llvm::Value* words, llvm::IRBuilder<>& builder) {
    llvm::DISubprogram* scope = subprogram(0);
    const unsigned line = scope->getLine();
    unsigned number = 0;
    for (const DebugSource::Parameter& parameter : source_.parameters) {
        ++number;
        if (parameter.rank < 0 && variable_named(parameter.name) < function_.variables.size()) continue;
        llvm::DIType* type =
            parameter.rank < 0 ? type_of(parameter.dtype) : array_type(parameter.dtype, parameter.rank);
        llvm::DILocalVariable* local =
            builder_.createParameterVariable(scope, parameter.name, number, scope->getFile(), line, type, true);
        const std::uint64_t offset = 8 * static_cast<std::uint64_t>(parameter.first_slot);
        const std::uint64_t steps[] = {llvm::dwarf::DW_OP_deref, llvm::dwarf::DW_OP_plus_uconst, offset};
        builder_.insertDeclare(words, local, builder_.createExpression(steps),
                               llvm::DILocation::get(context_, line, 0, scope), builder.GetInsertBlock());
    }
}

std::size_t DebugInfo::variable_named(const std::string& name) const {
    const auto found = std::find_if(function_.variables.begin(), function_.variables.end(),
                                    [&](const ir::Variable& variable) { return shown(variable.name) == name; });
    return static_cast<std::size_t>(found - function_.variables.begin());
}

void DebugInfo::declare_parameter(std::size_t variable, const std::vector<llvm::AllocaInst*>& variables,
                                  llvm::IRBuilder<>& builder) {
    if (declared_[variable]) return;
    declared_[variable] = true;
    for (std::size_t i = 0; i < source_.parameters.size(); ++i) {
        const DebugSource::Parameter& parameter = source_.parameters[i];
        if (parameter.rank >= 0 || variable_named(parameter.name) != variable) continue;
        llvm::DISubprogram* scope = subprogram(0);
        llvm::DIType* type = type_of(variables[variable]->getAllocatedType(), function_.variables[variable].type);
        llvm::DILocalVariable* local = builder_.createParameterVariable(
            scope, parameter.name, static_cast<unsigned>(i + 1), scope->getFile(), scope->getLine(), type, true);
        builder_.insertDeclare(variables[variable], local, builder_.createExpression(),
                               llvm::DILocation::get(context_, scope->getLine(), 0, scope), builder.GetInsertBlock());
    }
}

void DebugInfo::declare_index(const char* name, llvm::AllocaInst* memory, llvm::IRBuilder<>& builder) {
    llvm::DISubprogram* scope = subprogram(0);
    llvm::DIType* number = type_of(DType::Int32);
    llvm::SmallVector<llvm::Metadata*, 3> members;
    const char* names[] = {"x", "y", "z"};
    for (unsigned d = 0; d < 3; ++d)
        members.push_back(builder_.createMemberType(scope, names[d], scope->getFile(), 0, 32, 32, 32 * d,
                                                    llvm::DINode::FlagZero, number));
    llvm::DIType* type = builder_.createStructType(scope, "dim3", scope->getFile(), 0, 96, 32, llvm::DINode::FlagZero,
                                                   nullptr, builder_.getOrCreateArray(members));
    llvm::DILocalVariable* local =
        builder_.createAutoVariable(scope, name, scope->getFile(), scope->getLine(), type, true);
    builder_.insertDeclare(memory, local, builder_.createExpression(),
                           llvm::DILocation::get(context_, scope->getLine(), 0, scope), builder.GetInsertBlock());
}

llvm::DIType* DebugInfo::type_of(DType dtype) {
    llvm::DIType*& known = types_[static_cast<int>(dtype)];
    if (known != nullptr) return known;
    const auto bits = static_cast<std::uint64_t>(8 * size_of(dtype));
    const std::string name(dtype == DType::BFloat16 ? "__bf16" : name_of(dtype));  // the name by which gdb knows it
    if (!is_complex(dtype)) return known = builder_.createBasicType(name, bits, encoding_of(dtype));
    llvm::DIType* part = type_of(part_of(dtype));
    llvm::SmallVector<llvm::Metadata*, 2> members;
    for (const char* member : {"real", "imag"})
        members.push_back(builder_.createMemberType(unit_, member, unit_->getFile(), 0, bits / 2, 32,
                                                    members.size() * bits / 2, llvm::DINode::FlagZero, part));
    return known = builder_.createStructType(unit_, name, unit_->getFile(), 0, bits, 32, llvm::DINode::FlagZero,
                                             nullptr, builder_.getOrCreateArray(members));
}

// Of a variable's memory: a number, an address as a number, or one of them for each lane.
llvm::DIType* DebugInfo::type_of(llvm::Type* memory, ir::Type type) {
    const bool is_widened = type.is_scalar() && type.dtype == DType::BFloat16;  // in variables, a float32
    llvm::DIType* element = type_of(!type.is_scalar() ? DType::UInt64 : is_widened ? DType::Float32 : type.dtype);
    const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(memory);
    if (lanes == nullptr || lanes->getNumElements() == 1) return element;
    const auto count = static_cast<std::int64_t>(lanes->getNumElements());
    llvm::Metadata* range = builder_.getOrCreateSubrange(0, count);
    return builder_.createVectorType(element->getSizeInBits() * static_cast<std::uint64_t>(count), 0, element,
                                     builder_.getOrCreateArray({range}));
}

// The words of an array argument: where it lies, its shape and its strides in bytes.
llvm::DIType* DebugInfo::array_type(DType element, int rank) {
    llvm::DISubprogram* scope = subprogram(0);
    llvm::DIType* number = type_of(DType::Int64);
    const auto words = static_cast<std::uint64_t>(rank);
    llvm::Metadata* range = builder_.getOrCreateSubrange(0, rank);
    llvm::DIType* numbers = builder_.createArrayType(words * kWordBits, 0, number, builder_.getOrCreateArray({range}));
    const auto member = [&](const char* name, std::uint64_t size, std::uint64_t offset, llvm::DIType* type) {
        return builder_.createMemberType(scope, name, scope->getFile(), 0, size * kWordBits, 0, offset * kWordBits,
                                         llvm::DINode::FlagZero, type);
    };
    llvm::Metadata* members[] = {member("data", 1, 0, builder_.createPointerType(type_of(element), kWordBits)),
                                 member("shape", words, 1, numbers), member("strides", words, 1 + words, numbers)};
    const std::string name = "array of " + std::string(name_of(element));
    return builder_.createStructType(scope, name, scope->getFile(), 0, (1 + 2 * words) * kWordBits, 0,
                                     llvm::DINode::FlagZero, nullptr, builder_.getOrCreateArray(members));
}

}  // namespace treadle::codegen
