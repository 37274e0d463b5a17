// Register layouts: the worked example, the algebra's laws over random layouts, completeness of
// the canonical form and of division and reshape by brute force, and every error.
#include "layout/reg_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "layout/diagnostics.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::reg_layout_test {
namespace {

using testing::AllModels;
using testing::Ints;
using testing::Model;
using testing::RandomModel;
using testing::Reg;
using testing::Seed;
using testing::TableOf;

// The number of random layouts for each law.
constexpr int kRounds = 10000;

const DiagInfo* ErrorOf(const Result<RegLayout>& result) {
  return result.ok() ? nullptr : result.error().info;
}

TEST(RegLayoutTest, WorkedExample) {
  const auto layout = RegLayout::Make(Ints{4, 6}, Ints{2, 2, 3, 2}, Ints{0, 2}, Ints{3, 1});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->threads(), 6);
  EXPECT_EQ(layout->slots(), 4);
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 6; ++j) {
      const Holder expected{(i / 2) * 3 + j / 2, (j % 2) * 2 + i % 2};
      EXPECT_EQ(layout->Locate(Ints{i, j}), std::vector<Holder>{expected});
      Ints index(2);
      layout->Element(expected.thread, expected.slot, index);
      EXPECT_EQ(index, (Ints{i, j}));
    }
  }
  EXPECT_EQ(ToString(*layout),
            "layout(shape=[4, 6], modes=[2, 2, 3, 2], spatial=[0, 2], local=[3, 1])");
}

TEST(RegLayoutTest, Primitives) {
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      EXPECT_EQ(RegLayout::Local(Ints{3, 5})->LocateFirst(Ints{i, j}), (Holder{0, i * 5 + j}));
      EXPECT_EQ(RegLayout::Spatial(Ints{3, 5})->LocateFirst(Ints{i, j}), (Holder{i * 5 + j, 0}));
      EXPECT_EQ(RegLayout::ColumnLocal(Ints{3, 5})->LocateFirst(Ints{i, j}),
                (Holder{0, j * 3 + i}));
      EXPECT_EQ(RegLayout::ColumnSpatial(Ints{3, 5})->LocateFirst(Ints{i, j}),
                (Holder{j * 3 + i, 0}));
    }
  }
  const auto replicate = RegLayout::Replicate(4);
  ASSERT_TRUE(replicate.ok());
  EXPECT_EQ(replicate->rank(), 0);
  EXPECT_EQ(replicate->Locate({}), (std::vector<Holder>{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
}

TEST(RegLayoutTest, ReplicationFitsAnyRank) {
  // Inner: neighbours hold the same; outer: the second half repeats the first.
  const RegLayout inner = Reg("spatial(2, 3) * replicate(4)");
  const RegLayout outer = Reg("replicate(4) * spatial(2, 3)");
  for (int64_t t = 0; t < 24; ++t) {
    Ints index(2);
    inner.Element(t, 0, index);
    EXPECT_EQ(index, (Ints{t / 4 / 3, t / 4 % 3}));
    outer.Element(t, 0, index);
    EXPECT_EQ(index, (Ints{t % 6 / 3, t % 3}));
  }
  EXPECT_EQ(inner.replication(), 4);
  EXPECT_EQ(Reg("spatial(2, 3) * replicate(4) / replicate(2)"),
            Reg("spatial(2, 3) * replicate(2)"));
}

// Make follows the definition for every notation.
TEST(RegLayoutTest, MeansWhatTheDefinitionSays) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed());
  for (int round = 0; round < kRounds; ++round) {
    const Model model = RandomModel(random, round % 4);
    const RegLayout layout = model.Make();
    ASSERT_EQ(layout.shape(), model.shape);
    ASSERT_EQ(layout.threads(), model.Threads()) << model.Text();
    ASSERT_EQ(layout.slots(), model.Slots()) << model.Text();
    ASSERT_EQ(TableOf(layout), model.Table()) << model.Text();
  }
}

TEST(RegLayoutTest, ElementAndLocateAreInverse) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 1);
  for (int round = 0; round < kRounds; ++round) {
    const Model model = RandomModel(random, round % 4);
    const RegLayout layout = model.Make();
    std::map<Ints, std::vector<Holder>> holders;
    for (int64_t t = 0; t < layout.threads(); ++t) {
      for (int64_t l = 0; l < layout.slots(); ++l) {
        Ints index(model.shape.size());
        layout.Element(t, l, index);
        ASSERT_EQ(index, model.Index(t, l));
        holders[index].push_back({t, l});
      }
    }
    ASSERT_EQ(static_cast<int64_t>(holders.size()), model.Elements());
    for (const auto& [index, expected] : holders) {
      ASSERT_EQ(layout.Locate(index), expected) << model.Text();
      ASSERT_EQ(layout.LocateFirst(index), expected.front());
      ASSERT_EQ(layout.replication(), static_cast<int64_t>(expected.size()));
    }
  }
}

// The model itself, and with one more replication by each of `counts` at each place that is not
// before `first`, and so on up to `most` replications.
void WithReplications(const Model& model, size_t first, int most, const Ints& counts,
                      std::vector<Model>& out) {
  out.push_back(model);
  if (most == 0) return;
  for (size_t at = first; at <= model.spatial.size(); ++at) {
    for (const int64_t count : counts) {
      Model more = model;
      more.spatial.insert(more.spatial.begin() + static_cast<std::ptrdiff_t>(at), ~count);
      WithReplications(more, at + 1, most - 1, counts, out);
    }
  }
}

// Every layout of a shape: all factorisations into modes above 1 (16 elements have at most 4), all
// orders of all choices of the local ones, all places of the replications. In the long form also
// with one mode of extent 1 at each place of each list.
std::vector<Model> EveryLayout(const Ints& shape, bool all) {
  std::vector<Model> out;
  for (const Model& model : AllModels(shape, false)) {
    WithReplications(model, 0, all ? 2 : 1, all ? Ints{2, 3} : Ints{2}, out);
  }
  const size_t count = all && !shape.empty() ? out.size() : 0;
  for (size_t i = 0; i < count; ++i) {
    const auto one = static_cast<int64_t>(out[i].modes.size());
    for (const bool local : {false, true}) {
      const size_t places = (local ? out[i].local : out[i].spatial).size();
      for (size_t at = 0; at <= places; ++at) {
        Model more = out[i];
        more.modes.push_back(1);
        more.dim_of_mode.push_back(static_cast<int>(shape.size()) - 1);
        Ints& list = local ? more.local : more.spatial;
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), one);
        out.push_back(std::move(more));
      }
    }
  }
  return out;
}

// Two layouts are equal exactly when they are the same function: over all layouts of every shape of
// up to 16 elements.
TEST(RegLayoutTest, CanonicalFormIsComplete) {
  const bool all = IsLong();
  int64_t compared = 0, functions = 0;
  for (int64_t elements = 1; elements <= 16; ++elements) {
    for (const Ints& shape : testing::Factorisations(elements)) {
      std::map<std::tuple<int64_t, int64_t, Ints>, RegLayout> by_function;
      for (const Model& model : EveryLayout(shape, all)) {
        const RegLayout layout = model.Make();
        const auto key = std::tuple(model.Threads(), model.Slots(), model.Table());
        const auto [found, added] = by_function.emplace(key, layout);
        ASSERT_EQ(found->second, layout) << model.Text();
        ++compared;
      }
      functions += static_cast<int64_t>(by_function.size());
      for (auto a = by_function.begin(); a != by_function.end(); ++a) {
        for (auto b = by_function.begin(); b != a; ++b) {
          ASSERT_FALSE(a->second == b->second)
              << ToString(a->second) << " and " << ToString(b->second);
        }
      }
    }
  }
  RecordProperty("layouts", std::to_string(compared));
  RecordProperty("functions", std::to_string(functions));
  std::printf("%lld layouts, %lld functions\n", static_cast<long long>(compared),
              static_cast<long long>(functions));
  EXPECT_GT(compared, 6000);
  EXPECT_GT(functions, 5000);
}

TEST(RegLayoutTest, WrittenFormMakesTheSameLayout) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 2);
  for (int round = 0; round < kRounds; ++round) {
    const RegLayout layout = RandomModel(random, round % 5).Make();
    const RegLayout::Written w = layout.Write();
    ASSERT_TRUE(std::all_of(w.modes.begin(), w.modes.end(), [](int64_t m) { return m > 1; }));
    const auto again = RegLayout::Make(w.shape, w.modes, w.spatial, w.local);
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(*again, layout);
    ASSERT_EQ(Reg(ToString(layout)), layout);
  }
}

// (thread, slot) of a product, digit by digit.
TEST(RegLayoutTest, ProductMeansTilesWithinElements) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 3);
  for (int round = 0; round < kRounds; ++round) {
    const Model a = RandomModel(random, round % 4, 2), b = RandomModel(random, round % 4, 2);
    const auto product = Product(a.Make(), b.Make());
    ASSERT_TRUE(product.ok());
    ASSERT_EQ(product->threads(), a.Threads() * b.Threads());
    ASSERT_EQ(product->slots(), a.Slots() * b.Slots());
    for (int64_t t = 0; t < product->threads(); ++t) {
      for (int64_t l = 0; l < product->slots(); ++l) {
        const Ints outer = a.Index(t / b.Threads(), l / b.Slots());
        const Ints inner = b.Index(t % b.Threads(), l % b.Slots());
        Ints expected(outer.size()), found(outer.size());
        for (size_t d = 0; d < outer.size(); ++d) expected[d] = outer[d] * b.shape[d] + inner[d];
        product->Element(t, l, found);
        ASSERT_EQ(found, expected) << a.Text() << " * " << b.Text();
      }
    }
  }
}

// Operations that undo each other, and those that do nothing.
TEST(RegLayoutTest, InversesAndIdentities) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 8);
  for (int round = 0; round < kRounds; ++round) {
    const RegLayout a = RandomModel(random, 1 + round % 3).Make();
    const RegLayout b = RandomModel(random, 1).Make(), c = RandomModel(random, 1).Make();
    Ints order(static_cast<size_t>(a.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    Ints inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    ASSERT_EQ(*Permute(*Permute(a, order), inverse), a) << ToString(a);
    ASSERT_EQ(*Squeeze(*Unsqueeze(a, Ints{1}), Ints{1}), a) << ToString(a);
    ASSERT_EQ(*Product(a, RegLayout()), a);
    ASSERT_EQ(*Product(RegLayout(), a), a);
    ASSERT_EQ(*Divide(a, RegLayout()), a);
    ASSERT_TRUE(Divides(a, RegLayout()));
    ASSERT_EQ(Divides(RegLayout(), a), a == RegLayout() || Divide(RegLayout(), a).ok());
    ASSERT_EQ(*LeftDivide(a, RegLayout()), a);
    ASSERT_EQ(Divide(a, a)->elements(), 1) << ToString(a);
    ASSERT_EQ(*Reduce(a, {}), a);
    ASSERT_EQ(*Concat(a, RegLayout()), a);
    ASSERT_EQ(*Concat(RegLayout(), a), a);
    ASSERT_EQ(*Concat(*Concat(a, b), c), *Concat(a, *Concat(b, c)));
    // A reshape keeps the numbers of the elements, so it can be undone where it can be done.
    const auto flat = Flatten(a);
    ASSERT_TRUE(flat.ok()) << ToString(a);
    ASSERT_EQ(flat->LinearTable(), a.LinearTable());
    ASSERT_EQ(*Reshape(*flat, a.shape()), a) << ToString(a);
  }
}

TEST(RegLayoutTest, LawsOfProductAndDivision) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 4);
  for (int round = 0; round < kRounds; ++round) {
    const int rank = round % 4;
    const RegLayout a = RandomModel(random, rank, 2).Make();
    const RegLayout b = RandomModel(random, rank, 2).Make();
    const RegLayout c = RandomModel(random, rank, 1).Make();
    const auto ab = Product(a, b), bc = Product(b, c), ba = Product(b, a);
    ASSERT_TRUE(ab.ok() && bc.ok() && ba.ok());
    const auto left = Product(*ab, c), right = Product(a, *bc);
    ASSERT_TRUE(left.ok() && right.ok());
    ASSERT_EQ(*left, *right);
    const auto quotient = Divide(*ab, b);
    ASSERT_TRUE(quotient.ok()) << ToString(a) << " * " << ToString(b) << ": "
                               << quotient.error().message;
    ASSERT_EQ(*quotient, a);
    const auto left_quotient = LeftDivide(*ba, b);
    ASSERT_TRUE(left_quotient.ok())
        << ToString(b) << " * " << ToString(a) << ": " << left_quotient.error().message;
    ASSERT_EQ(*left_quotient, a);
  }
}

// Division finds the quotient exactly when one exists: over all layouts of small shapes.
TEST(RegLayoutTest, DivisionIsComplete) {
  const auto layouts = [](const Ints& shape) {
    std::vector<RegLayout> out;
    for (const Model& model : AllModels(shape)) {
      const RegLayout layout = model.Make();
      if (std::find(out.begin(), out.end(), layout) == out.end()) out.push_back(layout);
    }
    return out;
  };
  const std::pair<Ints, Ints> cases[] = {{{8}, {2}},       {{8}, {4}},       {{12}, {2}},
                                         {{4, 2}, {2, 2}}, {{4, 2}, {2, 1}}, {{6, 2}, {3, 2}}};
  size_t solved = 0, refused = 0;
  for (const auto& [dividend, divisor] : cases) {
    Ints quotient(dividend.size());
    for (size_t d = 0; d < quotient.size(); ++d) quotient[d] = dividend[d] / divisor[d];
    const auto as = layouts(dividend), bs = layouts(divisor), cs = layouts(quotient);
    for (const RegLayout& a : as) {
      for (const RegLayout& b : bs) {
        const RegLayout* right = nullptr;
        const RegLayout* left = nullptr;
        for (const RegLayout& c : cs) {
          if (*Product(c, b) == a) right = &c;
          if (*Product(b, c) == a) left = &c;
        }
        const auto divided = Divide(a, b), left_divided = LeftDivide(a, b);
        if (right != nullptr) {
          ASSERT_TRUE(divided.ok()) << ToString(a) << " / " << ToString(b);
          ASSERT_EQ(*divided, *right);
        }
        if (divided.ok()) {
          ASSERT_EQ(*Product(*divided, b), a);
        }
        ASSERT_EQ(Divides(a, b), divided.ok()) << ToString(a) << " / " << ToString(b);
        if (left != nullptr) {
          ASSERT_TRUE(left_divided.ok()) << ToString(b) << " \\ " << ToString(a);
          ASSERT_EQ(*left_divided, *left);
        }
        if (left_divided.ok()) {
          ASSERT_EQ(*Product(b, *left_divided), a);
        }
        ++(divided.ok() ? solved : refused);
      }
    }
  }
  EXPECT_GT(solved, 100u);
  EXPECT_GT(refused, 1000u);
}

// Each thread keeps its elements, projected, in the order of their first slots.
TEST(RegLayoutTest, ReduceProjects) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 5);
  for (int round = 0; round < kRounds; ++round) {
    const Model model = RandomModel(random, 1 + round % 3);
    const RegLayout layout = model.Make();
    Ints dims;
    for (int64_t d = 0; d < layout.rank(); ++d) {
      if (random() % 2 == 0) dims.push_back(d);
    }
    const auto reduced = Reduce(layout, dims, true);
    ASSERT_TRUE(reduced.ok());
    ASSERT_EQ(reduced->threads(), layout.threads());
    for (int64_t t = 0; t < layout.threads(); ++t) {
      std::vector<Ints> expected;
      for (int64_t l = 0; l < layout.slots(); ++l) {
        Ints index = model.Index(t, l);
        for (const int64_t d : dims) index[static_cast<size_t>(d)] = 0;
        if (std::find(expected.begin(), expected.end(), index) == expected.end()) {
          expected.push_back(index);
        }
      }
      ASSERT_EQ(reduced->slots(), static_cast<int64_t>(expected.size()));
      for (int64_t l = 0; l < reduced->slots(); ++l) {
        Ints index(model.shape.size());
        reduced->Element(t, l, index);
        ASSERT_EQ(index, expected[static_cast<size_t>(l)]) << model.Text();
      }
    }
    const auto dropped = Reduce(layout, dims);
    ASSERT_TRUE(dropped.ok());
    const auto squeezed = Squeeze(*reduced, dims);
    ASSERT_TRUE(squeezed.ok());
    ASSERT_EQ(*dropped, *squeezed);
  }
}

TEST(RegLayoutTest, ReduceOfAProduct) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 6);
  for (int round = 0; round < kRounds; ++round) {
    const RegLayout a = RandomModel(random, 2, 2).Make(), b = RandomModel(random, 2, 2).Make();
    const Ints dims{round % 2};
    const auto whole = Reduce(*Product(a, b), dims, true);
    const auto parts = Product(*Reduce(a, dims, true), *Reduce(b, dims, true));
    ASSERT_TRUE(whole.ok() && parts.ok());
    ASSERT_EQ(*whole, *parts);
  }
}

TEST(RegLayoutTest, ReducingEverythingLeavesRankZero) {
  const auto reduced = Reduce(Reg("spatial(4, 8) * local(2, 1)"), Ints{0, 1});
  ASSERT_TRUE(reduced.ok());
  EXPECT_EQ(reduced->rank(), 0);
  EXPECT_EQ(reduced->threads(), 32);
  EXPECT_EQ(reduced->slots(), 1);
  EXPECT_EQ(*reduced, *RegLayout::Replicate(32));
}

TEST(RegLayoutTest, PermuteConcatUnsqueeze) {
  SCOPED_TRACE(Seed());
  std::mt19937_64 random(Seed() + 7);
  for (int round = 0; round < kRounds; ++round) {
    const Model model = RandomModel(random, 3);
    const Model other = RandomModel(random, 1);
    Ints order{0, 1, 2};
    std::shuffle(order.begin(), order.end(), random);
    const auto permuted = Permute(model.Make(), order);
    const auto joined = Concat(model.Make(), other.Make());
    const auto wider = Unsqueeze(model.Make(), Ints{1, 3});
    ASSERT_TRUE(permuted.ok() && joined.ok() && wider.ok());
    for (int64_t t = 0; t < model.Threads(); ++t) {
      for (int64_t l = 0; l < model.Slots(); ++l) {
        const Ints index = model.Index(t, l);
        Ints found(3);
        permuted->Element(t, l, found);
        for (size_t d = 0; d < 3; ++d) ASSERT_EQ(found[d], index[static_cast<size_t>(order[d])]);
        Ints wide(5);
        wider->Element(t, l, wide);
        ASSERT_EQ(wide, (Ints{index[0], 0, index[1], 0, index[2]}));
      }
    }
    for (int64_t t = 0; t < joined->threads(); ++t) {
      for (int64_t l = 0; l < joined->slots(); ++l) {
        Ints expected = model.Index(t / other.Threads(), l / other.Slots());
        expected.push_back(other.Index(t % other.Threads(), l % other.Slots())[0]);
        Ints found(4);
        joined->Element(t, l, found);
        ASSERT_EQ(found, expected);
      }
    }
  }
}

// Reshape keeps row-major numbers, and succeeds exactly when some layout does.
TEST(RegLayoutTest, ReshapeIsComplete) {
  const Ints shapes[] = {{12}, {2, 6}, {6, 2}, {3, 4}, {4, 3}, {2, 3, 2}, {2, 2, 3}, {12, 1}};
  size_t refused = 0;
  for (const Ints& to : shapes) {
    std::map<std::tuple<int64_t, int64_t, Ints>, RegLayout> wanted;
    for (const Model& model : AllModels(to)) {
      wanted.emplace(std::tuple(model.Threads(), model.Slots(), model.Table()), model.Make());
    }
    for (const Ints& from : shapes) {
      for (const Model& model : AllModels(from)) {
        const auto reshaped = Reshape(model.Make(), to);
        const auto found = wanted.find({model.Threads(), model.Slots(), model.Table()});
        ASSERT_EQ(reshaped.ok(), found != wanted.end()) << model.Text() << " to " << ToString(to);
        if (reshaped.ok()) {
          ASSERT_EQ(*reshaped, found->second);
        } else {
          ASSERT_EQ(ErrorOf(reshaped), &diag::kLayoutReshapeSplit);
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST(RegLayoutTest, FlattenGivesOneDimension) {
  EXPECT_EQ(*Flatten(Reg("spatial(2, 4)")), Reg("spatial(8)"));
  EXPECT_EQ(*Flatten(RegLayout()), Reg("local(1)"));
}

TEST(RegLayoutTest, MakeRefuses) {
  using V = Ints;
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{0}, V{}, V{}, V{})), &diag::kLayoutExtent);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{2, 3}, V{0}, V{1})), &diag::kLayoutModes);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{2}, V{0}, V{})), &diag::kLayoutModes);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{4, 2}, V{0}, V{1})), &diag::kLayoutModesLeft);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{2, 2}, V{0}, V{})), &diag::kLayoutModeMissing);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{1, 4}, V{1}, V{})), &diag::kLayoutModeMissing);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{2, 2}, V{0, 1}, V{1})), &diag::kLayoutModeTwice);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{4}, V{0, 1}, V{})), &diag::kLayoutModeUnknown);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{4}, V{0}, V{~int64_t{2}})),
            &diag::kLayoutLocalReplication);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{4}, V{0, ~int64_t{0}}, V{})), &diag::kLayoutExtent);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{4}, V{-4}, V{0}, V{})), &diag::kLayoutExtent);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V(9, 1), V{}, V{}, V{})), &diag::kLayoutRank);
  EXPECT_EQ(ErrorOf(RegLayout::Make(V{1}, V(65, 1), V{}, V{})), &diag::kLayoutTooManyModes);
}

TEST(RegLayoutTest, HugeSizesAreRefused) {
  const int64_t huge = INT64_MAX;
  EXPECT_EQ(ErrorOf(RegLayout::Local(Ints{huge, huge})), &diag::kLayoutTooLarge);
  EXPECT_EQ(ErrorOf(RegLayout::Spatial(Ints{1 << 21})), &diag::kLayoutTooLarge);
  EXPECT_EQ(ErrorOf(RegLayout::Replicate(huge)), &diag::kLayoutTooLarge);
  EXPECT_EQ(ErrorOf(RegLayout::Make(Ints{4}, Ints{4}, Ints{~huge, ~huge, 0}, Ints{})),
            &diag::kLayoutTooLarge);
  EXPECT_EQ(ErrorOf(RegLayout::Make(Ints{8}, Ints{2, huge}, Ints{0, 1}, Ints{})),
            &diag::kLayoutModes);
  const RegLayout big = Reg("local(1048576)");
  EXPECT_EQ(ErrorOf(Product(big, big)), &diag::kLayoutTooLarge);
  EXPECT_EQ(ErrorOf(Concat(big, Reg("spatial(1048576)"))), &diag::kLayoutTooLarge);
}

// The error has the numbers, also if a product does not fit in 64 bits.
TEST(RegLayoutTest, SaysHowMuchIsTooMuch) {
  const int64_t huge = INT64_MAX;
  EXPECT_EQ(RegLayout::Local(Ints{huge, 2}).error().message,
            "9223372036854775807 * 2 is more than 16777216 elements");
  EXPECT_EQ(Product(Reg("local(1048576)"), Reg("local(32)")).error().message,
            "33554432 is more than 16777216 elements");
  EXPECT_EQ(Product(Reg("spatial(1048576)"), Reg("replicate(2)")).error().message,
            "1048576 * 2 is more than 1048576 threads");
  EXPECT_EQ(Product(Reg("spatial(4096)"), Reg("local(4096) * replicate(2)")).error().message,
            "8192 * 4096 is more than 16777216 threads times slots");
}

TEST(RegLayoutTest, OperationsRefuse) {
  const RegLayout a = Reg("spatial(4, 6)");
  EXPECT_EQ(ErrorOf(Product(a, Reg("local(2)"))), &diag::kLayoutRanksDiffer);
  EXPECT_EQ(ErrorOf(Divide(a, Reg("local(3, 2)"))), &diag::kLayoutNotDivisible);
  EXPECT_EQ(Divide(a, Reg("local(3, 2)")).error().message,
            "the shape [4, 6] is not divisible by [3, 2]: 4 % 3 is not 0 in dimension 0");
  EXPECT_EQ(ErrorOf(Divide(a, Reg("local(2, 2)"))), &diag::kLayoutNoQuotient);
  EXPECT_EQ(
      Divide(a, Reg("local(2, 2)")).error().message,
      "no layout solves the division: the local list of the dividend ends in nothing, that of "
      "the divisor 2 of stride 1 in dimension 1");
  EXPECT_EQ(ErrorOf(LeftDivide(a, Reg("column_spatial(2, 2)"))), &diag::kLayoutNoQuotient);
  EXPECT_EQ(ErrorOf(Reduce(a, Ints{2})), &diag::kLayoutDim);
  EXPECT_EQ(ErrorOf(Reduce(a, Ints{-1})), &diag::kLayoutDim);
  EXPECT_EQ(ErrorOf(Reduce(a, Ints{0, 0})), &diag::kLayoutDimTwice);
  EXPECT_EQ(ErrorOf(Permute(a, Ints{0})), &diag::kLayoutOrder);
  EXPECT_EQ(ErrorOf(Permute(a, Ints{0, 0})), &diag::kLayoutOrder);
  EXPECT_EQ(ErrorOf(Reshape(a, Ints{5, 5})), &diag::kLayoutReshapeSize);
  EXPECT_EQ(ErrorOf(Squeeze(a, Ints{0})), &diag::kLayoutSqueeze);
  EXPECT_EQ(ErrorOf(Unsqueeze(a, Ints{5})), &diag::kLayoutDim);
  EXPECT_EQ(ErrorOf(Unsqueeze(a, Ints{0, 1, 2, 3, 4, 5, 6, 7})), &diag::kLayoutRank);
  EXPECT_EQ(Reshape(Reg("local(3) * spatial(2)"), Ints{2, 3}).error().message,
            "cannot reshape [6] to [2, 3]: a mode of extent 2 and row-major stride 1 would be "
            "split unevenly in dimension 1, which has room for 3");
}

TEST(RegLayout, IsMadeOfItsDigits) {
  const auto threads = RegLayout::Spatial(Extents{8, 4});
  const auto slots = RegLayout::ColumnLocal(Extents{2, 6});
  const auto copies = RegLayout::Replicate(3);
  const RegLayout layout = *Product(*Product(*copies, *threads), *slots);
  const auto same = RegLayout::FromDigits(layout.shape(), layout.spatial(), layout.local());
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(*same, layout);
  // 2 x 4 of stride 8 and 1 leave gaps.
  const auto gaps = RegLayout::FromDigits(Extents{8}, {{0, 2, 8}}, {{0, 4, 1}});
  ASSERT_FALSE(gaps.ok());
  EXPECT_STREQ(gaps.error().info->id, "layout-digits");
}

}  // namespace
}  // namespace tarsia::reg_layout_test
