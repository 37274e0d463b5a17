// Maps and sets of a few entries, which are copied often: one sorted list of them. The first N need
// no allocation.
#ifndef TARSIA_PLANNER_FLAT_MAP_H_
#define TARSIA_PLANNER_FLAT_MAP_H_

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/inline_vector.h"

namespace tarsia {

// A pair that is copied as bytes.
template <typename Key, typename Value>
struct FlatEntry {
  Key first;
  Value second;

  friend bool operator==(const FlatEntry&, const FlatEntry&) = default;
};

// As std::map, but each new entry may move the others. With N, entries are copied as bytes.
template <typename Key, typename Value, size_t N = 0>
class FlatMap {
 public:
  using Entries = std::conditional_t<N == 0, std::vector<std::pair<Key, Value>>,
                                     InlineVector<FlatEntry<Key, Value>, N>>;
  using iterator = typename Entries::iterator;
  using const_iterator = typename Entries::const_iterator;

  [[nodiscard]] iterator begin() { return entries_.begin(); }
  [[nodiscard]] iterator end() { return entries_.end(); }
  [[nodiscard]] const_iterator begin() const { return entries_.begin(); }
  [[nodiscard]] const_iterator end() const { return entries_.end(); }
  [[nodiscard]] size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  void reserve(size_t size) { entries_.reserve(size); }

  [[nodiscard]] const_iterator find(const Key& key) const {
    const auto at = LowerBound(entries_, key);
    return at != entries_.end() && at->first == key ? at : entries_.end();
  }
  [[nodiscard]] size_t count(const Key& key) const { return find(key) != end() ? 1 : 0; }
  // The key is there.
  [[nodiscard]] const Value& at(const Key& key) const { return find(key)->second; }
  Value& operator[](const Key& key) { return emplace(key, Value()).first->second; }
  // Keeps what is there, as std::map does.
  std::pair<iterator, bool> emplace(const Key& key, Value value) {
    const auto at = LowerBound(entries_, key);
    if (at != entries_.end() && at->first == key) return {at, false};
    return {entries_.insert(at, {key, std::move(value)}), true};
  }
  template <typename Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace(first->first, first->second);
  }
  void erase(const Key& key) {
    const auto at = find(key);
    if (at != entries_.end()) entries_.erase(at);
  }

  friend bool operator==(const FlatMap&, const FlatMap&) = default;

 private:
  template <typename List>
  static auto LowerBound(List& list, const Key& key) {
    return std::lower_bound(list.begin(), list.end(), key,
                            [](const auto& entry, const Key& to) { return entry.first < to; });
  }

  Entries entries_;
};

// As std::set.
template <typename Key, size_t N = 0>
class FlatSet {
 public:
  FlatSet() = default;

  [[nodiscard]] auto begin() const { return keys_.begin(); }
  [[nodiscard]] auto end() const { return keys_.end(); }
  [[nodiscard]] bool empty() const { return keys_.empty(); }
  [[nodiscard]] size_t count(const Key& key) const {
    return std::binary_search(keys_.begin(), keys_.end(), key) ? 1 : 0;
  }
  void insert(const Key& key) {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
    if (at == keys_.end() || *at != key) keys_.insert(at, key);
  }
  template <typename Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(*first);
  }

  friend bool operator==(const FlatSet&, const FlatSet&) = default;

 private:
  std::conditional_t<N == 0, std::vector<Key>, InlineVector<Key, N>> keys_;
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_FLAT_MAP_H_
