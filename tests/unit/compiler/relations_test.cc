// Relations: what is proven holds of every value by brute force, and what kernels need is proven.
#include "compiler/facts/relations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "layout/text/arithmetic.h"

namespace tarsia::compiler::relations_test {
namespace {

LinearForm Number(int64_t x) { return LinearForm::Constant(x); }

// ---- nothing false is proven ----------------------------------------------------------------

// A value beside what it is for each choice of the symbols.
struct Value {
  LinearForm form;
  std::vector<int64_t> numbers;
};

bool Holds(const Facts& facts, int64_t x) {
  if (x < facts.lo || x > facts.hi) return false;
  return facts.multiple == 0 ? x == 0 : static_cast<__int128>(x) % facts.multiple == 0;
}

// Random values and assumptions, beside all choices of the symbols.
class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    const int64_t symbols = 2 + Pick(2);
    std::vector<std::vector<int64_t>> choices;
    for (int64_t i = 0; i < symbols; ++i) choices.push_back(NewSymbol());
    size_t worlds = 1;
    for (const auto& numbers : choices) worlds *= numbers.size();
    possible_.assign(worlds, true);
    size_t step = 1;
    for (size_t i = 0; i < choices.size(); ++i) {
      for (size_t w = 0; w < worlds; ++w) {
        values_[i].numbers.push_back(choices[i][w / step % choices[i].size()]);
      }
      step *= choices[i].size();
    }
  }

  void Run() {
    for (int i = 0; i < 8; ++i) Compute();
    for (int i = 0; i < 4; ++i) Assume();
    const size_t count = values_.size();
    const Relations::Mark mark = relations_.Here();
    const std::vector<bool> possible = possible_;
    for (int i = 0; i < 3; ++i) Assume();
    for (int i = 0; i < 5; ++i) Compute();
    Check();
    relations_.Return(mark);
    possible_ = possible;
    values_.resize(count);
    for (int i = 0; i < 3; ++i) Compute();
    Check();
  }
  [[nodiscard]] int proven() const { return proven_; }

 private:
  int64_t Pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  // A symbol with all its numbers: most are small, some are at the ends of 64 bits.
  std::vector<int64_t> NewSymbol() {
    Facts facts = Facts::Between(-Pick(7), 1 + Pick(9));
    if (Pick(8) == 0) facts = Facts::Between(INT64_MAX - Pick(4) - 1, INT64_MAX);
    if (Pick(8) == 0) facts = Facts::Between(INT64_MIN, INT64_MIN + Pick(4) + 1);
    facts.multiple = Pick(3) == 0 ? 2 + static_cast<uint64_t>(Pick(3)) : 1;
    std::vector<int64_t> out;
    for (int64_t x = facts.lo;; ++x) {
      if (Holds(facts, x)) out.push_back(x);
      if (x == facts.hi) break;
    }
    if (out.empty()) return NewSymbol();
    values_.push_back({relations_.NewSymbol(facts, "s"), {}});
    return out;
  }

  const Value& Any() { return values_[static_cast<size_t>(Pick(std::ssize(values_)))]; }
  Value AnyOrNumber() {
    if (Pick(2) == 0) return Any();
    const int64_t x = Pick(4) == 0 ? Pick(3) - 1 : 1 + Pick(9);
    return {Number(x), std::vector<int64_t>(possible_.size(), x)};
  }

  void Compute() {
    const Value a = Any();
    const Value b = AnyOrNumber();
    Value out;
    const auto with = [&](LinearForm form, const std::function<int64_t(int64_t, int64_t)>& op) {
      out.form = std::move(form);
      for (size_t w = 0; w < possible_.size(); ++w) {
        out.numbers.push_back(op(a.numbers[w], b.numbers[w]));
      }
    };
    switch (Pick(9)) {
      case 0:
        with(relations_.Add(a.form, b.form), WrapAdd);
        break;
      case 1:
        with(relations_.Subtract(a.form, b.form), WrapSubtract);
        break;
      case 2:
        with(relations_.Multiply(a.form, b.form), WrapMultiply);
        break;
      case 3:
        with(relations_.Divide(a.form, b.form), WrapDivide);
        break;
      case 4:
        with(relations_.Modulo(a.form, b.form), WrapModulo);
        break;
      case 5:
        with(relations_.CeilDivide(a.form, b.form), WrapCeilDivide);
        break;
      case 6:
        with(relations_.Min(a.form, b.form), [](int64_t x, int64_t y) { return std::min(x, y); });
        break;
      case 7:
        with(relations_.Max(a.form, b.form), [](int64_t x, int64_t y) { return std::max(x, y); });
        break;
      default:
        with(relations_.Truncated(a.form, kI4), [](int64_t x, int64_t) {
          return static_cast<int64_t>(static_cast<uint64_t>(x) << 60) >> 60;
        });
        break;
    }
    values_.push_back(std::move(out));
  }

  // Something that leaves at least one choice.
  void Assume() {
    const Value a = Any();
    const Value b = AnyOrNumber();
    const int64_t kind = Pick(3);
    const auto holds = [&](size_t w) {
      if (kind == 0) return a.numbers[w] <= b.numbers[w];
      return kind == 1 ? a.numbers[w] < b.numbers[w] : a.numbers[w] == b.numbers[w];
    };
    std::vector<bool> left(possible_.size());
    bool some = false;
    for (size_t w = 0; w < left.size(); ++w) {
      left[w] = possible_[w] && holds(w);
      some = some || left[w];
    }
    if (!some) return;
    possible_ = left;
    if (kind == 0) relations_.AssumeLessEqual(a.form, b.form);
    if (kind == 1) relations_.AssumeLess(a.form, b.form);
    if (kind == 2) relations_.AssumeEqual(a.form, b.form);
  }

  void Check() {
    for (const Value& a : values_) {
      const Facts facts = relations_.FactsOf(a.form);
      for (size_t w = 0; w < possible_.size(); ++w) {
        ASSERT_TRUE(!possible_[w] || Holds(facts, a.numbers[w])) << relations_.Text(a.form);
      }
      for (int i = 0; i < 6; ++i) CheckLess(a, AnyOrNumber());
      CheckMultiple(a, 2 + Pick(7));
    }
  }

  void CheckLess(const Value& a, const Value& b) {
    const int64_t margin = Pick(5) - 2;
    if (!relations_.ProvesLessEqual(a.form, b.form, margin)) return;
    ++proven_;
    for (size_t w = 0; w < possible_.size(); ++w) {
      if (!possible_[w]) continue;
      ASSERT_LE(static_cast<__int128>(a.numbers[w]) + margin, static_cast<__int128>(b.numbers[w]))
          << relations_.Text(a.form) << " + " << margin << " <= " << relations_.Text(b.form);
    }
  }

  void CheckMultiple(const Value& a, int64_t n) {
    if (!relations_.IsMultipleOf(a.form, n)) return;
    ++proven_;
    for (size_t w = 0; w < possible_.size(); ++w) {
      ASSERT_TRUE(!possible_[w] || a.numbers[w] % n == 0) << relations_.Text(a.form) << " by " << n;
    }
  }

  std::mt19937_64 random_;
  Relations relations_;
  std::vector<Value> values_;
  std::vector<bool> possible_;
  int proven_ = 0;
};

TEST(Relations, ProveNothingFalse) {
  int proven = 0;
  for (uint64_t seed = 0; seed < 1500 && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    world.Run();
    proven += world.proven();
  }
  EXPECT_GT(proven, 30000);
}

// ---- what kernels need ----------------------------------------------------------------------

class Kernels : public testing::Test {
 protected:
  LinearForm Parameter(const char* name) { return r.NewSymbol(Facts::Between(0, INT32_MAX), name); }
  // An index of blocks along a dimension of `extent` in tiles of b.
  LinearForm Block(const LinearForm& extent, int64_t b) {
    const LinearForm grid = r.CeilDivide(extent, Number(b));
    const LinearForm block = r.NewSymbol(Facts::Between(0, INT32_MAX), "%b");
    r.AssumeLess(block, grid);
    return block;
  }
  // The index of a loop.
  LinearForm Loop(const LinearForm& start, const LinearForm& stop, int64_t step) {
    const LinearForm turn = r.NewSymbol(Facts::Between(0, INT32_MAX), "%turn");
    const LinearForm i = r.Add(start, r.Multiply(turn, Number(step)));
    r.AssumeLess(i, stop);
    return i;
  }
  LinearForm Times(const LinearForm& x, int64_t n) { return r.Multiply(x, Number(n)); }

  Relations r;
};

TEST_F(Kernels, BlocksOfWholeTilesLieInside) {
  const LinearForm m = Parameter("%m");
  r.AssumeEqual(r.Modulo(m, Number(16)), Number(0));
  const LinearForm row = Times(Block(m, 16), 16);
  EXPECT_TRUE(r.ProvesLessEqual(row, m, 16));
  EXPECT_FALSE(r.ProvesLessEqual(row, m, 17));
  EXPECT_TRUE(r.IsMultipleOf(m, 16));
  EXPECT_TRUE(r.IsMultipleOf(row, 16));
  EXPECT_FALSE(r.IsMultipleOf(row, 32));
}

TEST_F(Kernels, BlocksOfRaggedTilesOnlyBegin) {
  const LinearForm m = Parameter("%m");
  const LinearForm row = Times(Block(m, 16), 16);
  EXPECT_TRUE(r.ProvesLess(row, m));
  EXPECT_FALSE(r.ProvesLessEqual(row, m, 2));
}

// What is learnt after the grid was seen counts too.
TEST_F(Kernels, DivisorsMayComeLast) {
  const LinearForm m = Parameter("%m");
  const LinearForm row = Times(Block(m, 64), 64);
  EXPECT_FALSE(r.ProvesLessEqual(row, m, 64));
  r.AssumeEqual(r.Modulo(m, Number(64)), Number(0));
  EXPECT_TRUE(r.ProvesLessEqual(row, m, 64));
}

TEST_F(Kernels, TwoTilesOfADivisorFitTogether) {
  const LinearForm m = Parameter("%m");
  r.AssumeEqual(r.Modulo(m, Number(128)), Number(0));
  const LinearForm row = Times(Block(m, 128), 128);
  EXPECT_TRUE(r.ProvesLessEqual(r.Add(row, Number(64)), m, 64));
  EXPECT_FALSE(r.ProvesLessEqual(r.Add(row, Number(65)), m, 64));
}

TEST_F(Kernels, LoopsOverTilesOfADimensionLieInside) {
  const LinearForm k = Parameter("%k");
  r.AssumeEqual(r.Modulo(k, Number(64)), Number(0));
  const LinearForm t = Loop(Number(0), r.CeilDivide(k, Number(64)), 1);
  EXPECT_TRUE(r.ProvesLessEqual(Times(t, 64), k, 64));
  const LinearForm u = Loop(Number(0), r.Divide(k, Number(64)), 1);
  EXPECT_TRUE(r.ProvesLessEqual(Times(u, 64), k, 64));
  EXPECT_FALSE(r.ProvesLessEqual(Times(u, 64), k, 65));
}

// The quotient rounded down needs no divisor.
TEST_F(Kernels, LoopsOverWholeTilesNeedNoDivisor) {
  const LinearForm k = Parameter("%k");
  const LinearForm t = Loop(Number(0), r.Divide(k, Number(64)), 1);
  EXPECT_TRUE(r.ProvesLessEqual(Times(t, 64), k, 64));
  const LinearForm i = Loop(Times(r.Divide(k, Number(64)), 64), k, 1);
  EXPECT_TRUE(r.ProvesLessEqual(Number(0), i));
  EXPECT_TRUE(r.ProvesLess(i, k));
}

TEST_F(Kernels, StepsKeepTheRemainder) {
  const LinearForm k = Parameter("%k");
  r.AssumeEqual(r.Modulo(k, Number(32)), Number(0));
  const LinearForm i = Loop(Number(0), k, 32);
  EXPECT_TRUE(r.IsMultipleOf(i, 32));
  EXPECT_TRUE(r.ProvesLessEqual(i, k, 32));
  EXPECT_FALSE(r.ProvesLessEqual(i, k, 33));
  EXPECT_EQ(r.Modulo(r.Add(i, Number(3)), Number(32)), Number(3));
}

// A slice of a block's part, and the loop inside of it.
TEST_F(Kernels, LoopsInsideOfASliceLieInsideOfIt) {
  const LinearForm m = Parameter("%m");
  const LinearForm first = Times(Block(m, 128), 128);
  const LinearForm end = r.Min(m, r.Add(first, Number(128)));
  const LinearForm i = Loop(first, end, 1);
  EXPECT_TRUE(r.ProvesLess(i, m));
  EXPECT_TRUE(r.ProvesLess(i, end));
  EXPECT_TRUE(r.ProvesLess(r.Subtract(i, first), Number(128)));
  EXPECT_TRUE(r.ProvesLessEqual(first, i));
  // The slice ends at the smaller of two ends: both have to be proven.
  r.AssumeEqual(r.Modulo(m, Number(128)), Number(0));
  EXPECT_TRUE(r.ProvesLessEqual(r.Add(first, Number(64)), end, 64));
}

TEST_F(Kernels, QuotientsOfSums) {
  const LinearForm a = Parameter("%a");
  const LinearForm x = r.Add(Times(a, 8), Number(3));
  EXPECT_EQ(r.Divide(x, Number(8)), a);
  EXPECT_EQ(r.Modulo(x, Number(8)), Number(3));
  EXPECT_EQ(r.Divide(Times(a, 64), Number(8)), Times(a, 8));
  EXPECT_EQ(r.CeilDivide(x, Number(8)), r.Add(a, Number(1)));
  EXPECT_EQ(r.Divide(r.Add(Times(a, 8), Number(4)), Number(16)), r.Divide(a, Number(2)));
  const LinearForm group = r.Divide(a, Number(128));
  EXPECT_TRUE(r.ProvesLessEqual(Times(group, 128), a));
  EXPECT_TRUE(r.ProvesLess(a, r.Add(Times(group, 128), Number(128))));
}

// 8 warps of a 2-dimensional tile: i / 4 < 2 and i % 4 < 4.
TEST_F(Kernels, QuotientAndRemainderOfARange) {
  const LinearForm i = Loop(Number(0), Number(8), 1);
  EXPECT_TRUE(r.ProvesLess(r.Divide(i, Number(4)), Number(2)));
  EXPECT_TRUE(r.ProvesLess(r.Modulo(i, Number(4)), Number(4)));
  EXPECT_TRUE(r.ProvesLessEqual(Number(0), r.Modulo(i, Number(4))));
}

TEST_F(Kernels, OneParameterBoundsAnother) {
  const LinearForm m = Parameter("%m");
  const LinearForm n = Parameter("%n");
  r.AssumeLessEqual(m, n);
  const LinearForm i = Loop(Number(0), m, 1);
  EXPECT_TRUE(r.ProvesLess(i, n));
  EXPECT_FALSE(r.ProvesLess(r.Add(i, Number(1)), n));
  const LinearForm k = Parameter("%k");
  EXPECT_FALSE(r.ProvesLess(i, k));
  r.AssumeEqual(k, m);
  EXPECT_TRUE(r.ProvesLess(i, k));
}

TEST_F(Kernels, SharedRingsStayInside) {
  const LinearForm t = Loop(Number(0), Parameter("%n"), 1);
  const LinearForm stage = r.Modulo(t, Number(3));
  EXPECT_TRUE(r.ProvesLessEqual(Times(stage, 64), Number(192), 64));
  EXPECT_TRUE(r.ProvesLessEqual(Number(0), stage));
}

TEST_F(Kernels, WrappingIsNoSum) {
  const LinearForm big = r.NewSymbol({}, "%big");
  const LinearForm next = r.Add(big, Number(1));
  EXPECT_FALSE(r.ProvesLess(big, next));
  EXPECT_FALSE(r.ProvesLessEqual(Number(0), r.Multiply(big, big)));
  const LinearForm some = r.NewSymbol(Facts::OfType(kI32), "%some");
  EXPECT_FALSE(r.ProvesLess(some, r.Truncated(r.Add(some, Number(1)), kI32)));
  r.AssumeLess(some, Number(100));
  EXPECT_TRUE(r.ProvesLess(some, r.Truncated(r.Add(some, Number(1)), kI32)));
}

TEST_F(Kernels, ScopesForget) {
  const LinearForm x = Parameter("%x");
  const LinearForm n = Parameter("%n");
  Relations::Mark mark = r.Here();
  r.AssumeLess(x, n);
  r.AssumeLess(x, Number(10));
  r.AssumeEqual(r.Modulo(n, Number(4)), Number(0));
  EXPECT_TRUE(r.ProvesLess(x, n));
  EXPECT_TRUE(r.IsMultipleOf(n, 4));
  r.Return(std::move(mark));
  EXPECT_FALSE(r.ProvesLess(x, n));
  EXPECT_FALSE(r.ProvesLess(x, Number(10)));
  EXPECT_FALSE(r.IsMultipleOf(n, 4));
}

TEST_F(Kernels, ReadAsText) {
  const LinearForm m = Parameter("%m");
  const LinearForm x = r.Subtract(Times(m, 64), Number(3));
  EXPECT_EQ(r.Text(x), "64 * %m - 3");
  EXPECT_EQ(r.Text(r.Divide(m, Number(16))), "(%m / 16)");
}

}  // namespace
}  // namespace tarsia::compiler::relations_test
