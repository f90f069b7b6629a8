// A kernel function as the host calls it: its program, and the variants compiled so far, one for each combination of
// argument types and block form. Launching a known variant touches no text and takes no lock of the compiler.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "runtime/kernel_store.h"

namespace treadle::runtime {

// Arguments of one launch, flattened. signature holds the types, words the values, uses the memory behind them.
class Arguments {
public:
    void add_scalar(DType dtype, std::uint64_t bits) {
        signature_ += 'S';
        signature_ += static_cast<char>(dtype);
        words_.push_back(bits);
        mix(bits);
        if (dtype == DType::Int64) note_size(bits);
    }
    void add_complex(DType dtype, std::uint64_t real, std::uint64_t imaginary) {
        add_scalar(dtype, real);
        words_.push_back(imaginary);
        mix(imaginary);
    }
    void add_array(DType dtype, int rank, Layout layout, const void* data, const std::int64_t* shape,
                   const std::int64_t* strides, device::Storage* storage);
    // Elements are records of so many bytes, laid out as the text says.
    void add_record_array(std::string_view record, std::int64_t record_bytes, int rank, Layout layout, const void* data,
                          const std::int64_t* shape, const std::int64_t* strides, device::Storage* storage);
    // One record at an address that is aligned for anything; the kernel only reads it.
    void add_record(std::string_view record, const void* data, device::Storage* storage);
    void add_none() { signature_ += 'V'; }
    void begin_named_tuple(const std::vector<std::string>& names) {
        signature_ += 'N';
        signature_ += static_cast<char>(names.size());
        for (const std::string& name : names) {
            signature_ += static_cast<char>(name.size());
            signature_ += name;
        }
    }
    void begin_tuple(int count) {
        signature_ += 'T';
        signature_ += static_cast<char>(count);
    }
    void clear() {
        signature_.clear();
        words_.clear();
        uses_.clear();
        extents_.clear();
        bytes_ = 0;
        work_key_ = 1;
        beyond_ = 0;
    }

    const std::string& signature() const { return signature_; }
    const std::vector<std::uint64_t>& words() const { return words_; }
    const std::vector<device::Storage*>& uses() const { return uses_; }
    std::size_t bytes() const { return bytes_; }  // of all arrays
    std::uint64_t work_key() const { return work_key_; }
    // As CompileOptions::equal_extents; valid until the next change.
    const std::string& equal_extents() const;
    // As CompileOptions::small_numbers.
    bool has_small_numbers() const { return beyond_ == 0; }
    static std::vector<ArgType> types_of(std::string_view signature);
    static std::string signature_of(const std::vector<ArgType>& types);

private:
    std::string signature_;
    std::vector<std::uint64_t> words_;
    std::vector<device::Storage*> uses_;
    std::vector<std::int64_t> extents_;  // of all arrays
    mutable std::string equal_;
    void add_places(int rank, std::size_t item_bytes, const void* data, const std::int64_t* shape,
                    const std::int64_t* strides, device::Storage* storage);
    void mix(std::uint64_t word) { work_key_ = (work_key_ ^ word) * 0x9e3779b97f4a7c15ull; }

    void note_size(std::uint64_t number) { beyond_ |= (number + (std::uint64_t{1} << 31)) >> 32; }

    std::size_t bytes_ = 0;
    std::uint64_t work_key_ = 1;
    std::uint64_t beyond_ = 0;  // not zero: a number needs more than 32 bits
};

struct LaunchShape {
    std::int64_t grid[3] = {1, 1, 1};
    std::int64_t block[3] = {1, 1, 1};
    std::int64_t shared_bytes = 0;  // of arrays sized by the launch
};

// The kernel of a launcher's last launch: the next one is mostly of the same types.
struct LaunchMemo {
    const device::Device* device = nullptr;
    std::string signature;
    std::string equal_extents;
    bool small_numbers = false;
    std::shared_ptr<device::Kernel> kernel;
};

class Function {
public:
    Function(std::string name, CompileRequest request);

    // Compiles where needed and launches. Throws Error(Device) with CUDA_ERROR_INVALID_VALUE for a shape out of limits.
    // memo: of launches of this shape.
    void launch(const LaunchShape& shape, device::Stream& stream, const Arguments& arguments, LaunchMemo& memo);
    // For kernels of our own, whose blocks are not bound by the limits that programs see.
    void launch_unchecked(const LaunchShape& shape, device::Stream& stream, const Arguments& arguments);
    // Compiles without launching; the block form is that of a one-dimensional block of 256.
    void prepare(const std::vector<ArgType>& types);
    CompileRequest request_for(const std::vector<ArgType>& types, const LaunchShape& shape) const;

    const std::string& name() const { return name_; }
    Provenance last_compile() const;
    std::size_t variant_count() const;
    // Of the shared arrays whose size the kernel says; -1 where nothing is compiled for the types.
    int shared_bytes(const std::vector<ArgType>& types) const;
    std::vector<std::vector<ArgType>> signatures() const;

private:
    struct Variant {
        const device::Device* device;
        std::string signature;
        CompileOptions options;
        std::shared_ptr<device::Kernel> kernel;
    };
    std::shared_ptr<device::Kernel> known(const device::Device* device, const std::string& signature,
                                          const CompileOptions& options);
    std::shared_ptr<device::Kernel> kernel_for(const LaunchShape& shape, const Arguments& arguments);
    void start(const std::shared_ptr<device::Kernel>& kernel, const LaunchShape& shape, device::Stream& stream,
               const Arguments& arguments) const;
    CompileOptions options_for(const LaunchShape& shape) const;
    std::shared_ptr<device::Kernel> variant(const std::string& signature, CompileOptions options);

    std::string name_;
    CompileRequest request_;
    bool for_one_block_ = false;  // kernels that share memory are compiled for one shape of block
    mutable std::mutex mutex_;
    std::vector<Variant> variants_;
    bool is_prepared_ = false;  // for types, before any launch
    Provenance last_compile_;
};

void check_shape(const LaunchShape& shape, const device::Attributes& limits, const std::string& name);

}  // namespace treadle::runtime
