// A vector whose first N elements need no allocation: layouts have few modes, and most of the cost
// of making one is allocation.
#ifndef TARSIA_LAYOUT_INLINE_VECTOR_H_
#define TARSIA_LAYOUT_INLINE_VECTOR_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <vector>

namespace tarsia {

// The elements are in the array while they fit; otherwise all of them are in the vector.
template <typename T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() = default;
  InlineVector(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  template <typename Iterator>
  InlineVector(Iterator first, Iterator last) {
    append(first, last);
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* data() { return size_ <= N ? array_.data() : heap_.data(); }
  [[nodiscard]] const T* data() const { return size_ <= N ? array_.data() : heap_.data(); }
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
    if (size_ < N) {
      array_[size_++] = value;
      return;
    }
    if (size_ == N) heap_.assign(array_.begin(), array_.end());
    heap_.push_back(value);
    ++size_;
  }
  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }
  void pop_back() { shrink(size_ - 1); }
  // Keeps the first `size` elements.
  void shrink(size_t size) {
    if (size_ > N && size <= N) std::copy_n(heap_.begin(), size, array_.begin());
    if (size_ > N) heap_.resize(size > N ? size : 0);
    size_ = size;
  }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  size_t size_ = 0;
  std::array<T, N> array_{};
  std::vector<T> heap_;
};

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_INLINE_VECTOR_H_
