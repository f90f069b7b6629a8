#include "device/cpu/jit_debug.h"

#include <cstdint>
#include <mutex>
#include <utility>

// The names and layouts are gdb's (its manual, "JIT Compilation Interface"): it looks for these two symbols.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

struct jit_code_entry {
    jit_code_entry* next_entry;
    jit_code_entry* prev_entry;
    const char* symfile_addr;
    std::uint64_t symfile_size;
};

struct jit_descriptor {
    std::uint32_t version;
    std::uint32_t action_flag;
    jit_code_entry* relevant_entry;
    jit_code_entry* first_entry;
};

__attribute__((visibility("default"))) extern jit_descriptor __jit_debug_descriptor;
jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};

__attribute__((visibility("default"), noinline)) void __jit_debug_register_code();
void __jit_debug_register_code() { asm volatile("" ::: "memory"); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

namespace treadle::device {
namespace {

enum Action : std::uint32_t { Nothing, Register, Unregister };

std::mutex& list_mutex() {
    static std::mutex mutex;
    return mutex;
}

void tell(Action action, jit_code_entry* entry) {
    __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = Nothing;
}

}  // namespace

struct RegisteredObject::Entry {
    jit_code_entry links{};
    std::string image;
};

RegisteredObject::RegisteredObject(std::string image) : entry_(std::make_unique<Entry>()) {
    entry_->image = std::move(image);
    jit_code_entry& links = entry_->links;
    links.symfile_addr = entry_->image.data();
    links.symfile_size = entry_->image.size();
    const std::lock_guard lock(list_mutex());
    links.next_entry = __jit_debug_descriptor.first_entry;
    if (links.next_entry != nullptr) links.next_entry->prev_entry = &links;
    __jit_debug_descriptor.first_entry = &links;
    tell(Register, &links);
}

RegisteredObject::RegisteredObject() = default;
RegisteredObject::RegisteredObject(RegisteredObject&&) noexcept = default;

RegisteredObject& RegisteredObject::operator=(RegisteredObject&& other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
}

RegisteredObject::~RegisteredObject() {
    if (entry_ == nullptr) return;
    jit_code_entry& links = entry_->links;
    const std::lock_guard lock(list_mutex());
    if (links.prev_entry != nullptr) links.prev_entry->next_entry = links.next_entry;
    if (links.prev_entry == nullptr) __jit_debug_descriptor.first_entry = links.next_entry;
    if (links.next_entry != nullptr) links.next_entry->prev_entry = links.prev_entry;
    tell(Unregister, &links);
}

}  // namespace treadle::device
