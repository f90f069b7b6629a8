#include "array/creation.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "array/elementwise.h"
#include "array/tuning.h"
#include "base/error.h"
#include "runtime/function.h"

namespace treadle::array {
namespace {

runtime::Function& function_of(const std::string& name, const std::string& program) {
    static std::mutex mutex;
    static auto* const functions = new std::map<std::string, std::unique_ptr<runtime::Function>>;
    const std::lock_guard lock(mutex);
    auto& entry = (*functions)[program];
    if (entry == nullptr) {
        CompileRequest request;
        request.program = program;
        request.options.strict_types = true;
        request.options.contract = false;
        entry = std::make_unique<runtime::Function>(name, std::move(request));
    }
    return *entry;
}

void launch(const std::string& name, const std::string& program, const Array& out,
            const std::vector<std::pair<DType, std::uint64_t>>& scalars) {
    const std::int64_t size = out.size();
    if (size == 0) return;
    const std::int64_t shape[] = {size};
    const std::int64_t strides[] = {size_of(out.dtype())};
    runtime::Arguments arguments;
    arguments.add_array(out.dtype(), 1, Layout::Dense, out.data(), shape, strides, out.storage().get());
    for (const auto& [dtype, bits] : scalars) arguments.add_scalar(dtype, bits);
    runtime::LaunchShape launch;
    launch.block[0] = std::min<std::int64_t>(1024, Tuning::of_device().block);
    launch.grid[0] = (size + launch.block[0] - 1) / launch.block[0];
    function_of(name, program).launch_unchecked(launch, current_stream(), arguments);
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

std::string store(DType dtype, const std::string& value) {
    return "(set (item out i) (call (builtin " + std::string(name_of(dtype)) + ") " + value + "))";
}

// The numbers of thread i: Philox on the counter drawn + i, in the library; r is a tuple of four uint32.
std::string random_program(const std::string& name, DType dtype, const std::string& params, const std::string& value) {
    return "(fn " + name + " (out seed drawn " + params + ") (set i (call (builtin grid) 1)) " +
           "(set r (call (builtin philox) seed (bin + drawn (call (builtin uint64) i)))) (set value " + value + ") " +
           store(dtype, "value") + ")";
}

}  // namespace

Array arange(double start, double step, std::int64_t start_integer, std::int64_t step_integer, std::int64_t count,
             DType dtype) {
    Array out = empty({count}, dtype);
    // As NumPy: the first two numbers decide the distance, in the type of the result.
    if (is_float(dtype)) {
        launch("arange",
               "(fn arange (out start step) (set i (call (builtin grid) 1)) " +
                   store(dtype, "(bin + start (bin * (call (builtin float64) i) step))") + ")",
               out, {{DType::Float64, bits(start)}, {DType::Float64, bits(step)}});
    } else {
        launch("arange",
               "(fn arange (out start step) (set i (call (builtin grid) 1)) " +
                   store(dtype, "(bin + start (bin * i step))") + ")",
               out,
               {{DType::Int64, static_cast<std::uint64_t>(start_integer)},
                {DType::Int64, static_cast<std::uint64_t>(step_integer)}});
    }
    return out;
}

Array linspace(double start, double stop, std::int64_t count, bool endpoint, DType dtype) {
    Array out = empty({count}, dtype);
    const auto steps = static_cast<double>(endpoint ? count - 1 : count);
    const double step = steps > 0 ? (stop - start) / steps : 0;
    // The last number is stop itself, not what rounding leaves of it.
    const std::string value =
        "(call (builtin select) (cmp i == last) stop (bin + start (bin * (call (builtin float64) i) step)))";
    launch("linspace",
           "(fn linspace (out start step stop last) (set i (call (builtin grid) 1)) " +
               store(dtype, is_float(dtype) ? value : "(call (builtin floor) " + value + ")") + ")",
           out,
           {{DType::Float64, bits(start)},
            {DType::Float64, bits(step)},
            {DType::Float64, bits(stop)},
            {DType::Int64, static_cast<std::uint64_t>(endpoint && count > 1 ? count - 1 : -1)}});
    return out;
}

Array random(Generator& generator, std::string_view kind, const Dims& shape, DType dtype, double low, double high) {
    Array out = empty(shape, dtype);
    const bool single = dtype == DType::Float32;
    const std::string suffix = single ? "f32" : "f64";
    const std::string type = single ? "float32" : "float64";
    const std::string number = "(call (builtin " + std::string(kind == "normal" ? "normal_" : "uniform_") + suffix +
                               ") (item r 0) (item r 1) (item r 2))";
    const std::string value = kind == "normal" ? "(bin + (call (builtin " + type + ") low) (bin * " + number +
                                                     " (call (builtin " + type + ") high)))"
                                               : "(bin + (call (builtin " + type + ") low) (bin * " + number +
                                                     " (call (builtin " + type + ") (bin - high low))))";
    launch(std::string(kind), random_program(std::string(kind), dtype, "low high", value), out,
           {{DType::UInt64, generator.seed},
            {DType::UInt64, generator.drawn},
            {DType::Float64, bits(low)},
            {DType::Float64, bits(high)}});
    generator.drawn += static_cast<std::uint64_t>(out.size());
    return out;
}

Array random_integers(Generator& generator, const Dims& shape, DType dtype, std::int64_t low, std::uint64_t range) {
    Array out = empty(shape, dtype);
    // The high half of a 64-bit product: the bias is below 2**-32 for ranges of 32 bits.
    const std::string whole =
        "(bin | (bin << (call (builtin uint64) (item r 0)) 32) (call (builtin uint64) (item r 1)))";
    const std::string scaled = "(call (builtin select) (cmp range == 0) wide (call (builtin mulhi) wide range))";
    const std::string program =
        "(fn integers (out seed drawn low range) (set i (call (builtin grid) 1)) " +
        std::string("(set r (call (builtin philox) seed (bin + drawn (call (builtin uint64) i)))) (set wide ") + whole +
        ") (set value (bin + low " + scaled + ")) " + store(dtype, "value") + ")";
    launch("integers", program, out,
           {{DType::UInt64, generator.seed},
            {DType::UInt64, generator.drawn},
            {DType::UInt64, static_cast<std::uint64_t>(low)},
            {DType::UInt64, range}});
    generator.drawn += static_cast<std::uint64_t>(out.size());
    return out;
}

}  // namespace treadle::array
