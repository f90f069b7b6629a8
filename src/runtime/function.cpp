#include "runtime/function.h"

#include <algorithm>

#include "base/cuda_kernel_abi.h"
#include "base/error.h"

namespace treadle::runtime {
namespace {

// Arrays without elements may have no memory at all; kernels read the first element of anything.
alignas(64) const std::uint64_t kNothing[8] = {};

constexpr int kWidestPacket = 64;

int power_of_two_in(std::int64_t value) {
    int power = 1;
    while (power < kWidestPacket && value % (2 * power) == 0) power *= 2;
    return power;
}

int power_of_two_above(std::int64_t value) {
    int power = 1;
    while (power < kWidestPacket && power < value) power *= 2;
    return power;
}

// How the threads of such a block are laid over lanes. Packets should be full; a block too narrow for them is run flat.
void choose_lanes(CompileOptions& options, const std::int64_t* block) {
    constexpr int kNarrow = 8;
    const std::int64_t threads = block[0] * block[1] * block[2];
    if (block[1] == 1 && block[2] == 1) {
        options.lanes = Lanes::Line;
    } else {
        options.lanes = block[0] >= kNarrow ? Lanes::Rows : Lanes::Flat;
    }
    const std::int64_t run = options.lanes == Lanes::Flat ? threads : block[0];
    const int whole = power_of_two_in(run);
    options.full_packets = whole >= kNarrow && (whole >= 32 || whole == run);
    options.packet_limit = options.full_packets ? whole : power_of_two_above(run);
}

std::string text_of(const std::int64_t* shape) {
    return "(" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + ", " + std::to_string(shape[2]) + ")";
}

void write_text(std::string& signature, std::string_view text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    for (int byte = 0; byte < 4; ++byte) signature += static_cast<char>(length >> (8 * byte));
    signature += text;
}

std::string read_text(std::string_view signature, std::size_t& at) {
    std::uint32_t length = 0;
    for (int byte = 0; byte < 4; ++byte)
        length |= static_cast<std::uint32_t>(static_cast<unsigned char>(signature[at++])) << (8 * byte);
    at += length;
    return std::string(signature.substr(at - length, length));
}

}  // namespace

void Arguments::add_array(DType dtype, int rank, Layout layout, const void* data, const std::int64_t* shape,
                          const std::int64_t* strides, device::Storage* storage) {
    signature_ += 'A';
    signature_ += static_cast<char>(dtype);
    signature_ += static_cast<char>(rank);
    signature_ += static_cast<char>(layout);
    add_places(rank, static_cast<std::size_t>(size_of(dtype)), data, shape, strides, storage);
}

void Arguments::add_record_array(std::string_view record, std::int64_t record_bytes, int rank, Layout layout,
                                 const void* data, const std::int64_t* shape, const std::int64_t* strides,
                                 device::Storage* storage) {
    signature_ += 'R';
    write_text(signature_, record);
    signature_ += static_cast<char>(rank);
    signature_ += static_cast<char>(layout);
    add_places(rank, static_cast<std::size_t>(record_bytes), data, shape, strides, storage);
}

void Arguments::add_record(std::string_view record, const void* data, device::Storage* storage) {
    signature_ += 'C';
    write_text(signature_, record);
    words_.push_back(reinterpret_cast<std::uint64_t>(data));
    uses_.push_back(storage);
}

void Arguments::add_places(int rank, std::size_t item_bytes, const void* data, const std::int64_t* shape,
                           const std::int64_t* strides, device::Storage* storage) {
    words_.push_back(reinterpret_cast<std::uint64_t>(data != nullptr ? data : kNothing));
    std::size_t bytes = item_bytes;
    for (int i = 0; i < rank; ++i) {
        words_.push_back(static_cast<std::uint64_t>(shape[i]));
        extents_.push_back(shape[i]);
        bytes *= static_cast<std::size_t>(shape[i]);
        mix(static_cast<std::uint64_t>(shape[i]));
        note_size(static_cast<std::uint64_t>(shape[i]));
    }
    bytes_ += bytes;
    for (int i = 0; i < rank; ++i) {
        words_.push_back(static_cast<std::uint64_t>(strides[i]));
        note_size(static_cast<std::uint64_t>(strides[i]));
    }
    if (storage != nullptr) uses_.push_back(storage);
}

const std::string& Arguments::equal_extents() const {
    constexpr std::size_t kMost = 24;
    equal_.resize(extents_.size());
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        std::size_t first = 0;
        while (first < i && (i >= kMost || extents_[first] != extents_[i])) ++first;
        equal_[i] = static_cast<char>(first);
    }
    return equal_;
}

std::vector<ArgType> Arguments::types_of(std::string_view signature) {
    std::size_t at = 0;
    const auto one = [&](const auto& self) -> ArgType {
        ArgType type;
        const char kind = signature[at++];
        if (kind == 'V') {
            type.kind = ArgType::Kind::None;
            return type;
        }
        if (kind == 'T' || kind == 'N') {
            type.kind = ArgType::Kind::Tuple;
            const auto count = static_cast<unsigned char>(signature[at++]);
            for (int i = 0; i < count && kind == 'N'; ++i) {
                const auto length = static_cast<unsigned char>(signature[at++]);
                type.names.emplace_back(signature.substr(at, length));
                at += length;
            }
            for (int i = 0; i < count; ++i) type.items.push_back(self(self));
            return type;
        }
        if (kind == 'R' || kind == 'C') {
            type.record = read_text(signature, at);
        } else {
            type.dtype = static_cast<DType>(signature[at++]);
        }
        if (kind == 'C') type.kind = ArgType::Kind::Record;
        if (kind == 'A' || kind == 'R') {
            type.kind = ArgType::Kind::Array;
            type.rank = static_cast<std::uint8_t>(signature[at++]);
            type.layout = static_cast<Layout>(signature[at++]);
        }
        return type;
    };
    std::vector<ArgType> types;
    while (at < signature.size()) types.push_back(one(one));
    return types;
}

std::string Arguments::signature_of(const std::vector<ArgType>& types) {
    std::string signature;
    const auto write = [&](const auto& self, const ArgType& type) -> void {
        static constexpr char kKinds[] = {'S', 'A', 'T', 'V', 'C'};
        const bool holds_records = type.kind == ArgType::Kind::Array && !type.record.empty();
        signature += !type.names.empty() ? 'N' : holds_records ? 'R' : kKinds[static_cast<int>(type.kind)];
        if (type.kind == ArgType::Kind::None) return;
        if (type.kind == ArgType::Kind::Tuple) {
            signature += static_cast<char>(type.items.size());
            for (const std::string& name : type.names) signature += static_cast<char>(name.size()) + name;
            for (const ArgType& item : type.items) self(self, item);
            return;
        }
        if (!type.record.empty()) {
            write_text(signature, type.record);
        } else {
            signature += static_cast<char>(type.dtype);
        }
        if (type.kind == ArgType::Kind::Array) {
            signature += static_cast<char>(type.rank);
            signature += static_cast<char>(type.layout);
        }
    };
    for (const ArgType& type : types) write(write, type);
    return signature;
}

void check_shape(const LaunchShape& shape, const device::Attributes& limits, const std::string& name) {
    const std::int64_t threads = shape.block[0] * shape.block[1] * shape.block[2];
    for (int d = 0; d < 3; ++d) {
        if (shape.block[d] < 1 || shape.block[d] > limits.max_block[d]) {
            throw_device_error("CUDA_ERROR_INVALID_VALUE",
                               "[launch of " + name + "] block: expected 1 to " + std::to_string(limits.max_block[d]) +
                                   " threads in dimension " + std::to_string(d) + ", got " + text_of(shape.block));
        }
        if (shape.grid[d] < 0 || shape.grid[d] > limits.max_grid[d]) {
            throw_device_error("CUDA_ERROR_INVALID_VALUE",
                               "[launch of " + name + "] grid: expected 0 to " + std::to_string(limits.max_grid[d]) +
                                   " blocks in dimension " + std::to_string(d) + ", got " + text_of(shape.grid));
        }
    }
    if (threads > limits.max_threads_per_block) {
        throw_device_error("CUDA_ERROR_INVALID_VALUE", "[launch of " + name + "] block: expected at most " +
                                                           std::to_string(limits.max_threads_per_block) +
                                                           " threads, got " + std::to_string(threads) + " in " +
                                                           text_of(shape.block));
    }
}

Function::Function(std::string name, CompileRequest request) : name_(std::move(name)), request_(std::move(request)) {
    for (const char* part : {"(builtin shared.", "(builtin syncthreads", "(builtin cg.this_thread_block"})
        for_one_block_ = for_one_block_ || request_.program.find(part) != std::string::npos;
}

CompileRequest Function::request_for(const std::vector<ArgType>& types, const LaunchShape& shape) const {
    CompileRequest request = request_;
    request.args = types;
    request.options = options_for(shape);
    return request;
}

CompileOptions Function::options_for(const LaunchShape& shape) const {
    CompileOptions options = request_.options;
    for (std::size_t d = 0; d < 3 && for_one_block_; ++d) options.block[d] = static_cast<std::int32_t>(shape.block[d]);
    options.cuda_capability = device::current_device().attributes().cuda_capability;
    if (options.cuda_capability != 0) {
        // The assembler shares the registers out among the most threads that a block may have.
        const std::int64_t threads = shape.block[0] * shape.block[1] * shape.block[2];
        // The tree of a reduction halves its block, whatever size that has.
        if (options.strict_types) options.block = {};
        const std::int64_t blocks = shape.grid[0] * shape.grid[1] * shape.grid[2];
        options.coarse = blocks * threads / kCoarse >=
                         kCoarseThreadsPerMultiprocessor * device::current_device().attributes().multiprocessors;
        options.most_threads = threads <= 256 ? 256 : threads <= 512 ? 512 : 1024;
        return options;
    }
    choose_lanes(options, shape.block);
    return options;
}

// Called with the lock held.
std::shared_ptr<device::Kernel> Function::known(const device::Device* device, const std::string& signature,
                                                const CompileOptions& options) {
    for (std::size_t i = 0; i < variants_.size(); ++i) {
        const Variant& one = variants_[i];
        if (one.device != device || one.signature != signature || !(one.options == options)) continue;
        // The latest one first: launches repeat.
        if (i != 0) std::swap(variants_[i], variants_[0]);
        return variants_[0].kernel;
    }
    return nullptr;
}

std::shared_ptr<device::Kernel> Function::variant(const std::string& signature, CompileOptions options) {
    const device::Device* const device = &device::current_device();
    {
        // A program whose shapes change all the time gets one kernel for all of them.
        constexpr std::size_t kMostVariants = 12;
        const std::lock_guard lock(mutex_);
        if (auto kernel = known(device, signature, options)) return kernel;
        if (variants_.size() >= kMostVariants && !options.equal_extents.empty()) {
            options.equal_extents.clear();
            options.small_numbers = false;
            if (auto kernel = known(device, signature, options)) return kernel;
        }
    }
    CompileRequest request = request_;
    request.args = Arguments::types_of(signature);
    request.options = options;
    Provenance provenance;
    std::shared_ptr<device::Kernel> kernel = obtain_kernel(request, name_, &provenance);
    const std::lock_guard lock(mutex_);
    variants_.insert(variants_.begin(), {device, signature, options, kernel});
    last_compile_ = provenance;
    return kernel;
}

std::shared_ptr<device::Kernel> Function::kernel_for(const LaunchShape& shape, const Arguments& arguments) {
    CompileOptions options = options_for(shape);
    if (options.cuda_capability != 0 && !options.strict_types && !is_prepared_) {
        options.equal_extents = arguments.equal_extents();
        options.small_numbers = arguments.has_small_numbers();
    }
    return variant(arguments.signature(), std::move(options));
}

void Function::launch(const LaunchShape& shape, device::Stream& stream, const Arguments& arguments, LaunchMemo& memo) {
    const device::Device& device = device::current_device();
    if (memo.device == &device && memo.signature == arguments.signature() &&
        (memo.equal_extents.empty() || memo.equal_extents == arguments.equal_extents()) &&
        memo.small_numbers <= arguments.has_small_numbers()) {
        start(memo.kernel, shape, stream, arguments);
        return;
    }
    check_shape(shape, device.attributes(), name_);
    std::shared_ptr<device::Kernel> kernel = kernel_for(shape, arguments);
    start(kernel, shape, stream, arguments);
    const bool for_extents = device.attributes().cuda_capability != 0;
    memo = {&device, arguments.signature(), for_extents ? arguments.equal_extents() : "",
            for_extents && arguments.has_small_numbers(), std::move(kernel)};
}

void Function::launch_unchecked(const LaunchShape& shape, device::Stream& stream, const Arguments& arguments) {
    start(kernel_for(shape, arguments), shape, stream, arguments);
}

void Function::start(const std::shared_ptr<device::Kernel>& kernel, const LaunchShape& shape, device::Stream& stream,
                     const Arguments& arguments) const {
    device::Launch launch;
    launch.kernel = kernel;
    launch.shared_bytes = shape.shared_bytes;
    const std::int64_t most = device::current_device().attributes().shared_bytes_per_block_optin;
    if (shape.shared_bytes < 0 || shape.shared_bytes + launch.kernel->shared_bytes > most) {
        throw_device_error("CUDA_ERROR_INVALID_VALUE", "[launch of " + name_ + "] shared memory: expected 0 to " +
                                                           std::to_string(most - launch.kernel->shared_bytes) +
                                                           " bytes beside the kernel's own " +
                                                           std::to_string(launch.kernel->shared_bytes) + ", got " +
                                                           std::to_string(shape.shared_bytes));
    }
    for (int d = 0; d < 3; ++d) {
        launch.grid[d] = static_cast<std::int32_t>(shape.grid[d]);
        launch.block[d] = static_cast<std::int32_t>(shape.block[d]);
    }
    launch.params = arguments.words();
    launch.uses = arguments.uses();
    launch.bytes = arguments.bytes();
    launch.work_key = arguments.work_key();
    stream.count(device::Count::Launches);
    stream.launch(launch);
}

void Function::prepare(const std::vector<ArgType>& types) {
    LaunchShape shape;
    shape.block[0] = 256;
    variant(Arguments::signature_of(types), options_for(shape));
    const std::lock_guard lock(mutex_);
    is_prepared_ = true;
}

Provenance Function::last_compile() const {
    const std::lock_guard lock(mutex_);
    return last_compile_;
}

std::size_t Function::variant_count() const {
    const std::lock_guard lock(mutex_);
    return variants_.size();
}

int Function::shared_bytes(const std::vector<ArgType>& types) const {
    const std::lock_guard lock(mutex_);
    for (const Variant& variant : variants_) {
        if (Arguments::types_of(variant.signature) == types) return variant.kernel->shared_bytes;
    }
    return -1;
}

std::vector<std::vector<ArgType>> Function::signatures() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::vector<ArgType>> result;
    for (const Variant& variant : variants_) {
        auto types = Arguments::types_of(variant.signature);
        if (std::find(result.begin(), result.end(), types) == result.end()) result.push_back(std::move(types));
    }
    return result;
}

}  // namespace treadle::runtime
