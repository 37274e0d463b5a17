// Register layouts: canonicalise, compare, multiply and divide two layouts of eight modes each, and
// find elements. Wanted: canonicalise and compare two layouts below 1 microsecond, locate below
// 50 ns.
//   bench_layout --benchmark_min_time=0.5
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>

#include "layout/reg_layout.h"

namespace tarsia {
namespace {

using Ints = std::vector<int64_t>;

// Eight modes of a 64 by 96 tile, some of which merge; the thirds keep divisions from being shifts.
struct Parts {
  Ints shape, modes, spatial, local;
};
const Parts& Left() {
  static const Parts parts{{64, 96}, {2, 4, 8, 2, 3, 4, 2, 2}, {0, 3, 2, 5}, {1, 4, 6, 7}};
  return parts;
}
// The same function, written with an order of merged modes split elsewhere.
const Parts& Right() {
  static const Parts parts{{64, 96}, {2, 4, 4, 2, 2, 3, 4, 4}, {0, 4, 2, 3, 6}, {1, 5, 7}};
  return parts;
}

RegLayout MakeLayout(const Parts& parts) {
  return *RegLayout::Make(parts.shape, parts.modes, parts.spatial, parts.local);
}

void CanonicaliseAndCompare(benchmark::State& state) {
  const Parts &left = Left(), &right = Right();
  if (!(MakeLayout(left) == MakeLayout(right))) return state.SkipWithError("not the same layout");
  for (auto _ : state) benchmark::DoNotOptimize(MakeLayout(left) == MakeLayout(right));
}
BENCHMARK(CanonicaliseAndCompare);

void Compare(benchmark::State& state) {
  const RegLayout left = MakeLayout(Left()), right = MakeLayout(Right());
  for (auto _ : state) benchmark::DoNotOptimize(left == right);
}
BENCHMARK(Compare);

// Indices that visit the tile in an order a predictor does not learn.
template <typename Find>
void Visit(benchmark::State& state, const RegLayout& layout, Find find) {
  std::array<int64_t, 2> index{};
  for (auto _ : state) {
    index[0] = (index[0] + 37) % layout.shape()[0];
    index[1] = (index[1] + 53) % layout.shape()[1];
    benchmark::DoNotOptimize(find(index));
  }
}

void Locate(benchmark::State& state) {
  const RegLayout layout = MakeLayout(Left());
  Visit(state, layout, [&](std::span<const int64_t> index) { return layout.Locate(index); });
}
BENCHMARK(Locate);

void LocateFirst(benchmark::State& state) {
  const RegLayout layout = MakeLayout(Left());
  Visit(state, layout, [&](std::span<const int64_t> index) { return layout.LocateFirst(index); });
}
BENCHMARK(LocateFirst);

void LocateReplicated(benchmark::State& state) {
  const RegLayout layout = *Product(MakeLayout(Left()), *RegLayout::Replicate(4));
  Visit(state, layout, [&](std::span<const int64_t> index) { return layout.Locate(index); });
}
BENCHMARK(LocateReplicated);

void Element(benchmark::State& state) {
  const RegLayout layout = MakeLayout(Left());
  std::array<int64_t, 2> index{};
  int64_t thread = 0, slot = 0;
  for (auto _ : state) {
    thread = (thread + 37) % layout.threads();
    slot = (slot + 5) % layout.slots();
    layout.Element(thread, slot, index);
    benchmark::DoNotOptimize(index);
  }
}
BENCHMARK(Element);

void MultiplyThenDivide(benchmark::State& state) {
  const RegLayout left = MakeLayout(Left());
  const RegLayout right = *Product(*RegLayout::Spatial(Ints{2, 1}), *RegLayout::Local(Ints{1, 2}));
  for (auto _ : state) benchmark::DoNotOptimize(Divide(*Product(left, right), right));
}
BENCHMARK(MultiplyThenDivide);

}  // namespace
}  // namespace tarsia

BENCHMARK_MAIN();
