// DLPack's structures, as its binary interface (version 1) has them, and what they mean for our arrays.
#pragma once

#include <cstdint>
#include <memory>

#include "array/array.h"

namespace treadle::interop {

struct DlDevice {
    std::int32_t type;
    std::int32_t id;
};
inline constexpr std::int32_t kDlCpu = 1;
inline constexpr std::int32_t kDlCuda = 2;
inline constexpr std::int32_t kDlCudaHost = 3;
inline constexpr std::int32_t kDlCudaManaged = 13;

struct DlDataType {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
    bool operator==(const DlDataType&) const = default;
};

struct DlTensor {
    void* data;
    DlDevice device;
    std::int32_t rank;
    DlDataType dtype;
    std::int64_t* shape;
    std::int64_t* strides;  // elements; may be null: C order
    std::uint64_t byte_offset;
};

struct DlVersion {
    std::uint32_t major;
    std::uint32_t minor;
};

struct DlManagedTensor {
    DlTensor tensor;
    void* context;
    void (*deleter)(DlManagedTensor*);
};

struct DlManagedTensorVersioned {
    DlVersion version;
    void* context;
    void (*deleter)(DlManagedTensorVersioned*);
    std::uint64_t flags;
    DlTensor tensor;
};
inline constexpr std::uint64_t kDlReadOnly = 1;

// The table of functions that a Python type can offer, in a capsule.
struct DlExchange {
    DlVersion version;
    const DlExchange* previous;
    int (*allocate)(DlTensor*, DlManagedTensorVersioned**, void*, void (*)(void*, const char*, const char*));
    int (*managed_from_object)(void*, DlManagedTensorVersioned**);
    int (*managed_to_object)(DlManagedTensorVersioned*, void**);
    int (*tensor_from_object)(void*, DlTensor*);  // may be null
    int (*current_stream)(std::int32_t, std::int32_t, void**);
};

// A tensor of somebody else as an array of ours would be described.
struct ForeignView {
    DType dtype;
    array::Dims shape;
    array::Dims strides;  // bytes
    char* data;
    DlDevice device;
};
// Throws Error(Type) for element types that we do not have.
ForeignView view_of(const DlTensor& tensor);
// Whether the current device reaches the memory.
bool is_reachable(DlDevice device);
DlDevice device_of(const array::Array& array);

// An array for somebody else: holds the memory until its deleter is called, from any thread.
std::unique_ptr<DlManagedTensor> exported(const array::Array& array);
std::unique_ptr<DlManagedTensorVersioned> exported_versioned(const array::Array& array);

}  // namespace treadle::interop
