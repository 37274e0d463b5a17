#include "tests/unit/layout/layout_testing.h"

#include <algorithm>
#include <numeric>

namespace tarsia::testing {

MemLayout Memory(std::string_view text) {
  const auto family = Eval<MemLayoutFamily>(text);
  EXPECT_EQ(family.kind, MemLayoutFamily::Kind::kConcrete) << text;
  return family.concrete;
}

int64_t Model::Count(const Ints& list) const {
  int64_t out = 1;
  for (const int64_t entry : list) out *= entry < 0 ? ~entry : modes[static_cast<size_t>(entry)];
  return out;
}

int64_t Model::Elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

Ints Model::Index(int64_t thread, int64_t slot) const {
  Ints digits(modes.size());
  const auto split = [&](const Ints& list, int64_t number) {
    for (size_t i = list.size(); i-- > 0;) {
      const int64_t extent = list[i] < 0 ? ~list[i] : modes[static_cast<size_t>(list[i])];
      if (list[i] >= 0) digits[static_cast<size_t>(list[i])] = number % extent;
      number /= extent;
    }
  };
  split(spatial, thread);
  split(local, slot);
  Ints index(shape.size());
  for (size_t mode = 0; mode < modes.size(); ++mode) {
    auto& i = index[static_cast<size_t>(dim_of_mode[mode])];
    i = i * modes[mode] + digits[mode];
  }
  return index;
}

Ints Model::Table() const {
  Ints out;
  for (int64_t thread = 0; thread < Threads(); ++thread) {
    for (int64_t slot = 0; slot < Slots(); ++slot) {
      const Ints index = Index(thread, slot);
      int64_t linear = 0;
      for (size_t dim = 0; dim < shape.size(); ++dim) linear = linear * shape[dim] + index[dim];
      out.push_back(linear);
    }
  }
  return out;
}

std::string Model::Text() const {
  return "shape=" + ToString(shape) + " modes=" + ToString(modes) +
         " spatial=" + ToString(spatial) + " local=" + ToString(local);
}

RegLayout Model::Make() const {
  const Result<RegLayout> out = RegLayout::Make(shape, modes, spatial, local);
  EXPECT_TRUE(out.ok()) << Text();
  return out.ok() ? *out : RegLayout();
}

Model RandomModel(std::mt19937_64& random, int rank, int max_modes) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  Model out;
  int64_t elements = 1;
  for (int dim = 0; dim < rank; ++dim) {
    int64_t extent = 1;
    const int64_t count = below(max_modes + 1);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t mode = elements > 64 ? 1 : 1 + below(4);
      out.modes.push_back(mode);
      out.dim_of_mode.push_back(dim);
      extent *= mode;
      elements *= mode;
    }
    out.shape.push_back(extent);
  }
  Ints order(out.modes.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  // Often in order, so that neighbours merge.
  if (below(3) == 0) std::sort(order.begin(), order.end());
  for (const int64_t mode : order) (below(2) == 0 ? out.spatial : out.local).push_back(mode);
  for (int64_t i = below(3); i > 0; --i) {
    const int64_t at = below(static_cast<int64_t>(out.spatial.size()) + 1);
    out.spatial.insert(out.spatial.begin() + at, ~(1 + below(3)));
  }
  return out;
}

std::vector<Ints> Factorisations(int64_t n) {
  if (n == 1) return {{}};
  std::vector<Ints> out;
  for (int64_t first = 2; first <= n; ++first) {
    if (n % first != 0) continue;
    for (Ints rest : Factorisations(n / first)) {
      rest.insert(rest.begin(), first);
      out.push_back(std::move(rest));
    }
  }
  return out;
}

namespace {

// All ways to deal the modes out to the two lists.
void AddArrangements(Model base, bool replicated, std::vector<Model>& out) {
  Ints order(base.modes.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    for (size_t cut = 0; cut <= order.size(); ++cut) {
      const auto middle = order.begin() + static_cast<std::ptrdiff_t>(cut);
      base.spatial.assign(order.begin(), middle);
      base.local.assign(middle, order.end());
      out.push_back(base);
      for (size_t at = 0; replicated && at <= cut; ++at) {
        Model more = base;
        more.spatial.insert(more.spatial.begin() + static_cast<std::ptrdiff_t>(at), ~int64_t{2});
        out.push_back(std::move(more));
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

void AddModes(const Ints& shape, size_t dim, const Model& base, bool replicated,
              std::vector<Model>& out) {
  if (dim == shape.size()) {
    AddArrangements(base, replicated, out);
    return;
  }
  for (const Ints& factors : Factorisations(shape[dim])) {
    Model next = base;
    next.modes.insert(next.modes.end(), factors.begin(), factors.end());
    next.dim_of_mode.insert(next.dim_of_mode.end(), factors.size(), static_cast<int>(dim));
    AddModes(shape, dim + 1, next, replicated, out);
  }
}

}  // namespace

std::vector<Model> AllModels(const Ints& shape, bool replicated) {
  std::vector<Model> out;
  Model base;
  base.shape = shape;
  AddModes(shape, 0, base, replicated, out);
  return out;
}

Ints TableOf(const RegLayout& layout) {
  const std::vector<uint32_t> table = layout.LinearTable();
  return {table.begin(), table.end()};
}

}  // namespace tarsia::testing
