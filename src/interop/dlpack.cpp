#include "interop/dlpack.h"

#include "base/error.h"

namespace treadle::interop {
namespace {

constexpr std::uint8_t kCodes[] = {'i', 'u', 'f', 0, 0, 'c', 'b'};  // DLPack's codes, by our kinds; 0: none of ours
constexpr std::uint8_t kBfloat = 4;                                 // a kind of its own there

struct Owner {
    array::Array array;
    array::Dims shape;
    array::Dims strides;
};

DlDataType dl_type(DType type) {
    if (type == DType::BFloat16) return {kBfloat, 16, 1};
    for (std::size_t code = 0; code < std::size(kCodes); ++code) {
        if (kCodes[code] == static_cast<std::uint8_t>(info(type).kind))
            return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(type)), 1};
    }
    TREADLE_CHECK(false, "an element type without a DLPack code");
}

void describe(DlTensor& tensor, Owner& owner) {
    const array::Array& array = owner.array;
    owner.shape = array.shape();
    owner.strides = array.strides();
    for (std::int64_t& stride : owner.strides) stride /= size_of(array.dtype());
    tensor.data = array.size() == 0 ? nullptr : array.data();
    tensor.device = device_of(array);
    tensor.rank = array.rank();
    tensor.dtype = dl_type(array.dtype());
    tensor.shape = owner.shape.data();
    tensor.strides = owner.strides.data();
    tensor.byte_offset = 0;
}

template <class Managed>
std::unique_ptr<Managed> managed(const array::Array& array) {
    auto result = std::make_unique<Managed>();
    auto owner = std::make_unique<Owner>();
    owner->array = array;
    describe(result->tensor, *owner);
    result->context = owner.release();
    result->deleter = [](Managed* self) {
        delete static_cast<Owner*>(self->context);
        delete self;
    };
    return result;
}

}  // namespace

ForeignView view_of(const DlTensor& tensor) {
    ForeignView view{};
    view.dtype = DType::Count;
    for (int i = 0; i < kDTypeCount; ++i) {
        if (dl_type(static_cast<DType>(i)) == tensor.dtype) view.dtype = static_cast<DType>(i);
    }
    if (view.dtype == DType::Count) {
        throw Error(ErrorKind::Type, "expected an element type that devices have, got DLPack's code " +
                                         std::to_string(tensor.dtype.code) + " with " +
                                         std::to_string(tensor.dtype.bits) + " bits");
    }
    const auto rank = static_cast<std::size_t>(tensor.rank);
    view.shape = array::Dims(std::span<const std::int64_t>(tensor.shape, rank));
    if (tensor.strides == nullptr) {
        view.strides = array::dense_strides(view.shape, view.dtype);
    } else {
        view.strides = array::Dims(std::span<const std::int64_t>(tensor.strides, rank));
        for (std::int64_t& stride : view.strides) stride *= size_of(view.dtype);
    }
    view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
    view.device = tensor.device;
    return view;
}

bool is_reachable(DlDevice device) {
    if (!device::uses_gpus()) return device.type == kDlCpu || device.type == kDlCudaHost;
    if (device.type == kDlCuda) return device.id == device::current_device_index();
    return device.type == kDlCudaHost || device.type == kDlCudaManaged;
}

DlDevice device_of(const array::Array& array) {
    if (!device::uses_gpus()) return {kDlCpu, 0};
    // Managed memory goes as the GPU's own: few libraries know of it.
    const bool of_host = array.storage() && array.storage()->place() == device::Place::Host;
    if (of_host) return {kDlCudaHost, 0};
    const device::Device* owner = array.storage() ? array.storage()->owner() : nullptr;
    return {kDlCuda, owner != nullptr ? owner->index() : device::current_device_index()};
}

std::unique_ptr<DlManagedTensor> exported(const array::Array& array) { return managed<DlManagedTensor>(array); }

std::unique_ptr<DlManagedTensorVersioned> exported_versioned(const array::Array& array) {
    auto result = managed<DlManagedTensorVersioned>(array);
    result->version = {1, 1};
    result->flags = 0;
    return result;
}

}  // namespace treadle::interop
