// A vector with room for N items inside; shapes and strides of most arrays need no allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>

namespace treadle {

template <class T, std::size_t N>
class SmallVector {
public:
    SmallVector() = default;
    explicit SmallVector(std::size_t size, T value = T()) { resize(size, value); }
    SmallVector(std::initializer_list<T> items) : SmallVector(std::span<const T>(items.begin(), items.size())) {}
    explicit SmallVector(std::span<const T> items) {
        reserve(items.size());
        std::copy(items.begin(), items.end(), data());
        size_ = items.size();
    }
    SmallVector(const SmallVector& other) : SmallVector(std::span<const T>(other.data(), other.size())) {}
    SmallVector(SmallVector&& other) noexcept
        : size_(other.size_), capacity_(other.capacity_), heap_(std::move(other.heap_)) {
        if (heap_ == nullptr) std::copy_n(other.inside_, size_, inside_);
        other.size_ = 0;
        other.capacity_ = N;
    }
    SmallVector& operator=(SmallVector other) noexcept {
        size_ = other.size_;
        capacity_ = other.capacity_;
        heap_ = std::move(other.heap_);
        if (heap_ == nullptr) std::copy_n(other.inside_, size_, inside_);
        return *this;
    }

    T* data() noexcept { return heap_ != nullptr ? heap_.get() : inside_; }
    const T* data() const noexcept { return heap_ != nullptr ? heap_.get() : inside_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T& operator[](std::size_t index) noexcept { return data()[index]; }
    const T& operator[](std::size_t index) const noexcept { return data()[index]; }
    T& back() noexcept { return data()[size_ - 1]; }
    const T& back() const noexcept { return data()[size_ - 1]; }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }

    void push_back(T value) {
        if (size_ == capacity_) reserve(2 * capacity_);
        data()[size_++] = value;
    }
    void insert(std::size_t at, T value) {
        push_back(value);
        std::rotate(begin() + at, end() - 1, end());
    }
    void erase(std::size_t at) {
        std::copy(begin() + at + 1, end(), begin() + at);
        --size_;
    }
    void resize(std::size_t size, T value = T()) {
        reserve(size);
        if (size > size_) std::fill(data() + size_, data() + size, value);
        size_ = size;
    }
    bool operator==(const SmallVector& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

private:
    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) return;
        std::unique_ptr<T[]> grown(new T[capacity]);
        std::copy_n(data(), size_, grown.get());
        heap_ = std::move(grown);
        capacity_ = capacity;
    }

    std::size_t size_ = 0;
    std::size_t capacity_ = N;
    std::unique_ptr<T[]> heap_;
    T inside_[N];
};

}  // namespace treadle
