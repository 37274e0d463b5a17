// Lists that are mostly short: the first few items need no memory of their own.
#ifndef TARSIA_SUPPORT_SMALL_LIST_H_
#define TARSIA_SUPPORT_SMALL_LIST_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tarsia {

// As std::vector of at most 2^32 - 1 items, with room for `kInside` items within the object.
template <typename T, size_t kInside>
class SmallList {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  SmallList() = default;
  SmallList(std::initializer_list<T> items) { Assign(items.begin(), items.size()); }
  // NOLINTNEXTLINE(google-explicit-constructor): as a list of the same items
  SmallList(std::span<const T> items) { Assign(items.data(), items.size()); }
  // NOLINTNEXTLINE(google-explicit-constructor)
  SmallList(const std::vector<T>& items) { Assign(items.data(), items.size()); }
  SmallList(const SmallList& other) { Assign(other.data(), other.size_); }
  SmallList(SmallList&& other) noexcept { Take(&other); }
  SmallList& operator=(const SmallList& other) {
    if (this != &other) Assign(other.data(), other.size_);
    return *this;
  }
  SmallList& operator=(SmallList&& other) noexcept {
    if (this == &other) return *this;
    delete[] outside_;
    outside_ = nullptr;
    Take(&other);
    return *this;
  }
  ~SmallList() { delete[] outside_; }
  [[nodiscard]] std::vector<T> Vector() const { return {begin(), end()}; }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* data() { return outside_ != nullptr ? outside_ : inside_; }
  [[nodiscard]] const T* data() const { return outside_ != nullptr ? outside_ : inside_; }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + size_; }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  [[nodiscard]] const T& back() const { return data()[size_ - 1]; }

  void push_back(const T& item) {
    const T copy = item;  // it may be one of these
    if (size_ == capacity_) Grow(2 * size_t{capacity_});
    data()[size_++] = copy;
  }
  // New items are T().
  void resize(size_t size) {
    if (size > capacity_) Grow(size);
    std::fill(data() + std::min<size_t>(size_, size), data() + size, T());
    size_ = static_cast<uint32_t>(size);
  }

  friend bool operator==(const SmallList& a, const SmallList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void Assign(const T* items, size_t size) {
    size_ = 0;
    if (size > capacity_) Grow(size);
    std::copy_n(items, size, data());
    size_ = static_cast<uint32_t>(size);
  }
  void Take(SmallList* other) {
    outside_ = std::exchange(other->outside_, nullptr);
    capacity_ = std::exchange(other->capacity_, kInside);
    size_ = std::exchange(other->size_, 0);
    if (outside_ == nullptr) std::copy_n(other->inside_, size_, inside_);
  }
  void Grow(size_t capacity) {
    T* const more = new T[capacity];
    std::copy_n(data(), size_, more);
    delete[] outside_;
    outside_ = more;
    capacity_ = static_cast<uint32_t>(capacity);
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = kInside;
  T* outside_ = nullptr;  // null: all are inside
  T inside_[kInside] = {};
};

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_SMALL_LIST_H_
