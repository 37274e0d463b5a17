// A vector whose first N elements need no allocation: for what is mostly short and made often.
#ifndef TARSIA_SUPPORT_INLINE_VECTOR_H_
#define TARSIA_SUPPORT_INLINE_VECTOR_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tarsia {

// As std::vector of at most 2^32 - 1 elements, which are in the object while they fit.
template <typename T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() = default;
  InlineVector(std::initializer_list<T> values) { Assign(values.begin(), values.size()); }
  // NOLINTNEXTLINE(google-explicit-constructor): as a vector of the same elements
  InlineVector(std::span<const T> values) { Assign(values.data(), values.size()); }
  // NOLINTNEXTLINE(google-explicit-constructor)
  InlineVector(const std::vector<T>& values) { Assign(values.data(), values.size()); }
  template <typename Iterator>
  InlineVector(Iterator first, Iterator last) {
    append(first, last);
  }
  InlineVector(const InlineVector& other) { Assign(other.data(), other.size_); }
  InlineVector(InlineVector&& other) noexcept { Take(&other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) Assign(other.data(), other.size_);
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this == &other) return *this;
    delete[] heap_;
    heap_ = nullptr;
    Take(&other);
    return *this;
  }
  ~InlineVector() { delete[] heap_; }
  [[nodiscard]] std::vector<T> Vector() const { return {begin(), end()}; }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* data() { return heap_ != nullptr ? heap_ : array_; }
  [[nodiscard]] const T* data() const { return heap_ != nullptr ? heap_ : array_; }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] T* end() { return data() + size_; }
  [[nodiscard]] const T* end() const { return data() + size_; }
  [[nodiscard]] T& operator[](size_t i) { return data()[i]; }
  [[nodiscard]] const T& operator[](size_t i) const { return data()[i]; }
  [[nodiscard]] T& front() { return data()[0]; }
  [[nodiscard]] const T& front() const { return data()[0]; }
  [[nodiscard]] T& back() { return data()[size_ - 1]; }
  [[nodiscard]] const T& back() const { return data()[size_ - 1]; }

  void push_back(const T& value) {
    const T copy = value;  // it may be one of these
    if (size_ == capacity_) Grow(2 * size_t{capacity_});
    data()[size_++] = copy;
  }
  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  // Puts the value before `at`.
  iterator insert(const_iterator at, const T& value) {
    const auto index = static_cast<size_t>(at - data());
    push_back(value);
    std::rotate(begin() + index, end() - 1, end());
    return begin() + index;
  }
  iterator erase(const_iterator at) {
    const auto index = static_cast<size_t>(at - data());
    std::copy(begin() + index + 1, end(), begin() + index);
    --size_;
    return begin() + index;
  }
  // New elements are T().
  void resize(size_t size) {
    if (size > capacity_) Grow(size);
    if (size > size_) std::fill(data() + size_, data() + size, T());
    size_ = static_cast<uint32_t>(size);
  }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const InlineVector& a, const InlineVector& b)
    requires std::three_way_comparable<T>
  {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void Assign(const T* values, size_t size) {
    size_ = 0;
    if (size > capacity_) Grow(size);
    std::copy_n(values, size, data());
    size_ = static_cast<uint32_t>(size);
  }
  void Take(InlineVector* other) {
    heap_ = std::exchange(other->heap_, nullptr);
    capacity_ = std::exchange(other->capacity_, static_cast<uint32_t>(N));
    size_ = std::exchange(other->size_, 0);
    if (heap_ == nullptr) std::copy_n(other->array_, size_, array_);
  }
  void Grow(size_t capacity) {
    T* const more = new T[capacity];
    std::copy_n(data(), size_, more);
    delete[] heap_;
    heap_ = more;
    capacity_ = static_cast<uint32_t>(capacity);
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  T* heap_ = nullptr;  // null: all are in the array
  T array_[N] = {};
};

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_INLINE_VECTOR_H_
