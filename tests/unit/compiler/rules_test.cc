// The rules of instructions: with the layouts that they say, every thread has the elements that it
// needs, in the slots that it needs.
#include "compiler/rules/rules.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layout/text/eval.h"

namespace tarsia::compiler::rules_test {
namespace {

struct Made {
  ConcreteType from, to;
  RuleOp op;
};

ConcreteType TileOf(std::vector<int64_t> shape) {
  ConcreteType type;
  type.kind = ValueKind::kTile;
  type.space = Space::kRegister;
  type.dtype = kF32;
  type.shape = std::move(shape);
  return type;
}

// One operand and one result.
std::unique_ptr<Made> Make(Opcode opcode, std::vector<int64_t> from, std::vector<int64_t> to,
                           std::vector<int64_t> axes = {}, bool keepdims = false) {
  auto out = std::make_unique<Made>();
  out->from = TileOf(std::move(from));
  out->to = TileOf(std::move(to));
  out->op.opcode = opcode;
  out->op.axes = std::move(axes);
  out->op.keepdims = keepdims;
  out->op.operand[0] = &out->from;
  out->op.result[0] = &out->to;
  return out;
}

TileLayout LayoutOf(const std::string& text, const std::vector<int64_t>& shape) {
  Result<EvalValue> value = EvaluateText(text);
  EXPECT_TRUE(value.ok()) << text;
  return TileLayout::Padded(std::get<RegLayout>(*value), shape);
}

// The elements of a thread's slots.
std::vector<Extents> ElementsOf(const TileLayout& layout, int64_t thread) {
  std::vector<Extents> out;
  for (int64_t slot = 0; slot < layout.slots(); ++slot) {
    Extents at = layout.ThreadOffset(thread);
    const Extents offset = layout.SlotOffset(slot);
    for (size_t d = 0; d < at.size(); ++d) at[d] += offset[d];
    out.push_back(std::move(at));
  }
  return out;
}

TEST(Rules, ByElementAllTilesAreInOnePlace) {
  const auto made = Make(Opcode::kNeg, {8, 6}, {8, 6});
  EXPECT_EQ(AnchorOf(made->op), Port::Result(0));
  const TileLayout layout = LayoutOf("spatial(8, 4) * local(1, 2)", {8, 6});
  EXPECT_EQ(LayoutAt(made->op, Port::Operand(0), layout), layout);
  EXPECT_EQ(AnchorFor(made->op, Port::Operand(0), layout), layout);
}

TEST(Rules, PermuteKeepsThreadsAndSlots) {
  const auto made = Make(Opcode::kPermute, {4, 8, 3}, {8, 3, 4}, {1, 2, 0});
  const TileLayout from = LayoutOf("local(1, 2, 3) * spatial(4, 4, 2)", {4, 8, 3});
  const auto to = LayoutAt(made->op, Port::Result(0), from);
  ASSERT_TRUE(to);
  EXPECT_EQ(to->shape(), (Extents{8, 3, 4}));
  for (int64_t thread = 0; thread < 32; ++thread) {
    std::vector<Extents> wanted;
    for (const Extents& at : ElementsOf(from, thread)) wanted.push_back({at[1], at[2], at[0]});
    EXPECT_EQ(ElementsOf(*to, thread), wanted);
  }
  EXPECT_EQ(AnchorFor(made->op, Port::Result(0), *to), from);
}

TEST(Rules, ReductionsHaveTheirResultsWhereTheirParts) {
  for (const bool keepdims : {false, true}) {
    const auto to_shape = keepdims ? std::vector<int64_t>{1, 5} : std::vector<int64_t>{5};
    const auto made = Make(Opcode::kReduceSum, {7, 5}, to_shape, {0}, keepdims);
    EXPECT_EQ(AnchorOf(made->op), Port::Operand(0));
    const TileLayout from = LayoutOf("spatial(4, 8) * local(2, 1)", {7, 5});
    const auto to = LayoutAt(made->op, Port::Result(0), from);
    ASSERT_TRUE(to);
    EXPECT_EQ(to->shape(), Extents(to_shape));
    for (int64_t thread = 0; thread < 32; ++thread) {
      std::set<int64_t> wanted, has;
      for (const Extents& at : ElementsOf(from, thread)) wanted.insert(at[1]);
      for (const Extents& at : ElementsOf(*to, thread)) has.insert(at.back());
      EXPECT_EQ(has, wanted);
    }
    EXPECT_FALSE(AnchorFor(made->op, Port::Result(0), *to));
  }
}

TEST(Rules, BroadcastTakesItsSourceWhereItsResultIs) {
  const auto made = Make(Opcode::kBroadcast, {8, 1}, {8, 16});
  EXPECT_EQ(AnchorOf(made->op), Port::Result(0));
  const TileLayout to = LayoutOf("spatial(4, 8) * local(2, 2)", {8, 16});
  const auto from = LayoutAt(made->op, Port::Operand(0), to);
  ASSERT_TRUE(from);
  EXPECT_EQ(from->shape(), (Extents{8, 1}));
  for (int64_t thread = 0; thread < 32; ++thread) {
    std::set<int64_t> wanted, has;
    for (const Extents& at : ElementsOf(to, thread)) wanted.insert(at[0]);
    for (const Extents& at : ElementsOf(*from, thread)) has.insert(at[0]);
    EXPECT_EQ(has, wanted);
  }
}

TEST(Rules, ReshapeKeepsPlacesOrMoves) {
  const auto made = Make(Opcode::kReshape, {8, 8}, {64});
  const TileLayout rows = LayoutOf("spatial(8, 4) * local(1, 2)", {8, 8});
  const auto to = LayoutAt(made->op, Port::Result(0), rows);
  ASSERT_TRUE(to);
  for (int64_t thread = 0; thread < 32; ++thread) {
    std::vector<Extents> wanted;
    for (const Extents& at : ElementsOf(rows, thread)) wanted.push_back({at[0] * 8 + at[1]});
    EXPECT_EQ(ElementsOf(*to, thread), wanted);
  }
  EXPECT_EQ(AnchorFor(made->op, Port::Result(0), *to), rows);
  const auto ragged = Make(Opcode::kReshape, {7, 8}, {56});
  EXPECT_FALSE(
      LayoutAt(ragged->op, Port::Result(0), LayoutOf("spatial(8, 4) * local(1, 2)", {7, 8})));
}

TEST(Rules, IndicesAreWhereTheirElementsAre) {
  ConcreteType indices = TileOf({8});
  ConcreteType result = TileOf({4, 8});
  RuleOp op;
  op.opcode = Opcode::kGather;
  op.axes = {1};
  op.operand[1] = &indices;
  op.result[0] = &result;
  EXPECT_EQ(AnchorOf(op), Port::Result(0));
  const TileLayout layout = LayoutOf("spatial(4, 8)", {4, 8});
  const auto at = LayoutAt(op, Port::Operand(1), layout);
  ASSERT_TRUE(at);
  for (int64_t thread = 0; thread < 32; ++thread) {
    EXPECT_EQ(ElementsOf(*at, thread)[0][0], ElementsOf(layout, thread)[0][1]);
  }
}

}  // namespace
}  // namespace tarsia::compiler::rules_test
