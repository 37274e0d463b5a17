// Register layouts: canonicalise, compare, multiply and divide two layouts of eight modes each, and
// find elements. Goals: canonicalise and compare two layouts below 1 microsecond, locate below 50
// ns.
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

// 256 pairs below these bounds, in an order that a branch predictor does not learn; made before the
// timing.
using Pair = std::array<int64_t, 2>;
std::array<Pair, 256> Pairs(int64_t first, int64_t second) {
  std::array<Pair, 256> out{};
  for (size_t i = 1; i < out.size(); ++i) {
    out[i] = {(out[i - 1][0] * 5 + 37) % first, (out[i - 1][1] * 7 + 53) % second};
  }
  return out;
}

template <typename Find>
void Visit(benchmark::State& state, const RegLayout& layout, Find find) {
  const auto indices = Pairs(layout.shape()[0], layout.shape()[1]);
  uint8_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(find(indices[next++]));
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
  const auto places = Pairs(layout.threads(), layout.slots());
  Pair index{};
  uint8_t next = 0;
  for (auto _ : state) {
    const Pair& place = places[next++];
    layout.Element(place[0], place[1], index);
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
