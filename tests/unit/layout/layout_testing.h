// Helpers of the layout tests: layouts from text, a plain model of what a layout means, and random
// and exhaustive sources of layouts.
#ifndef TARSIA_TESTS_UNIT_LAYOUT_LAYOUT_TESTING_H_
#define TARSIA_TESTS_UNIT_LAYOUT_LAYOUT_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "layout/text/eval.h"
#include "tests/settings.h"

namespace tarsia::testing {

using Ints = std::vector<int64_t>;

// The value of a text, which must be of this kind.
template <typename T>
T Eval(std::string_view text) {
  Result<EvalValue> value = EvaluateText(text);
  EXPECT_TRUE(value.ok()) << text << ": " << (value.ok() ? "" : value.error().message);
  if (!value.ok() || !std::holds_alternative<T>(*value)) {
    ADD_FAILURE() << text << " is of another kind";
    return T{};
  }
  return std::get<T>(*value);
}
inline RegLayout Reg(std::string_view text) { return Eval<RegLayout>(text); }
MemLayout Memory(std::string_view text);

// A register layout as it is written, and its meaning by the plain definition.
struct Model {
  Ints shape;
  Ints modes;
  std::vector<int> dim_of_mode;
  Ints spatial;  // mode numbers, ~k for replications
  Ints local;

  [[nodiscard]] int64_t Threads() const { return Count(spatial); }
  [[nodiscard]] int64_t Slots() const { return Count(local); }
  [[nodiscard]] int64_t Elements() const;
  // The row-major number of the element in each (thread, slot), thread-major.
  [[nodiscard]] Ints Table() const;
  [[nodiscard]] Ints Index(int64_t thread, int64_t slot) const;
  [[nodiscard]] RegLayout Make() const;
  [[nodiscard]] std::string Text() const;

 private:
  [[nodiscard]] int64_t Count(const Ints& list) const;
};

// A random layout of this rank; sizes stay small enough to look at every element.
Model RandomModel(std::mt19937_64& random, int rank, int max_modes = 3);
// All ways to write n as a product of factors above 1, in order: the modes of a dimension, or the
// shapes of n elements without extents of 1.
std::vector<Ints> Factorisations(int64_t n);
// Every layout of a shape, with modes above 1, and with at most one replication (by 2) or none.
std::vector<Model> AllModels(const Ints& shape, bool replicated = true);

// The table of a layout under test, as plain numbers.
Ints TableOf(const RegLayout& layout);

// A seed that is printed when a test fails; fixed unless TARSIA_SEED is set.
inline uint64_t Seed() { return tarsia::Seed(20240607); }

}  // namespace tarsia::testing

#endif  // TARSIA_TESTS_UNIT_LAYOUT_LAYOUT_TESTING_H_
