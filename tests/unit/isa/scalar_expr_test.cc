// Typed scalar expressions: their kinds, their values, and that shared parts become one node.
#include "isa/scalar_expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "layout/text/expr_parser.h"

namespace tarsia::scalar_expr_test {
namespace {

// %a: i32, %u: u64, %f: f32, %p: bool, by number.
constexpr DType kTypes[] = {kI32, kU64, kF32, kBoolType};

std::optional<DType> TypeOf(uint32_t value) {
  if (value >= std::size(kTypes)) return std::nullopt;
  return kTypes[value];
}

ScalarExpr Made(const ExprPool& pool, ExprId id) {
  const auto made = ScalarExpr::Make(pool, id, TypeOf);
  EXPECT_TRUE(made);
  return made.value_or(ScalarExpr());
}

constexpr ExprId kA = ExprId::Value(0), kU = ExprId::Value(1), kF = ExprId::Value(2),
                 kP = ExprId::Value(3);

TEST(ScalarExpr, ReadsScalarsByTheirTypes) {
  const ExprPool pool;
  const uint64_t codes[] = {0xFFFFFFFF, 0x8000000000000000, 0x3FC00000, 1};
  EXPECT_EQ(Made(pool, kA).Int(codes), -1);
  EXPECT_EQ(Made(pool, kU).Int(codes), INT64_MIN);
  EXPECT_EQ(Made(pool, kF).Float(codes), 1.5);
  EXPECT_TRUE(Made(pool, kP).Bool(codes));
  EXPECT_EQ(Made(pool, kA).kind(), ScalarKind::kInt);
  EXPECT_EQ(Made(pool, kF).kind(), ScalarKind::kFloat);
  EXPECT_EQ(Made(pool, kP).kind(), ScalarKind::kBool);
}

TEST(ScalarExpr, SaysOnWhatItDepends) {
  ExprPool pool;
  EXPECT_TRUE(Made(pool, pool.Int(7)).IsConstant());
  EXPECT_TRUE(Made(pool, pool.Int(7)).UsesOnlyBelow(0));
  const ExprId sum = pool.Binary(BinaryOp::kAdd, kU, kA);
  EXPECT_FALSE(Made(pool, sum).IsConstant());
  EXPECT_FALSE(Made(pool, sum).UsesOnlyBelow(1));
  EXPECT_TRUE(Made(pool, sum).UsesOnlyBelow(2));
}

TEST(ScalarExpr, IntegersBesideFloatsAreFloats) {
  ExprPool pool;
  const uint64_t codes[] = {7, 0, 0x40000000, 0};  // 7, 0, 2.0
  const ScalarExpr quotient = Made(pool, pool.Binary(BinaryOp::kDivide, kA, kF));
  EXPECT_EQ(quotient.kind(), ScalarKind::kFloat);
  EXPECT_EQ(quotient.Float(codes), 3.5);
  EXPECT_TRUE(Made(pool, pool.Binary(BinaryOp::kGreater, kA, kF)).Bool(codes));
}

TEST(ScalarExpr, WhatIsNoScalarMakesNone) {
  ExprPool pool;
  EXPECT_FALSE(ScalarExpr::Make(pool, ExprId::Value(9), TypeOf));
  EXPECT_FALSE(ScalarExpr::Make(pool, pool.Type(kF16), TypeOf));
  EXPECT_FALSE(ScalarExpr::Make(pool, pool.Binary(BinaryOp::kAdd, kA, pool.Type(kF16)), TypeOf));
}

// A chain of sums of a part with itself: 2^60 leaves as a tree.
TEST(ScalarExpr, SharedPartsAreOneNode) {
  ExprPool pool;
  ExprId sum = kA;
  for (int i = 0; i < 60; ++i) sum = pool.Binary(BinaryOp::kAdd, sum, sum);
  const ScalarExpr made = Made(pool, sum);
  EXPECT_EQ(made.nodes().size(), 61u);
  const uint64_t codes[] = {3};
  EXPECT_EQ(made.Int(codes), int64_t{3} << 60);
}

// More nodes than are computed on the stack.
TEST(ScalarExpr, LongExpressions) {
  ExprPool pool;
  std::vector<ExprId> level;
  for (int i = 0; i < 2048; ++i) level.push_back(pool.Binary(BinaryOp::kMultiply, kA, pool.Int(i)));
  while (level.size() > 1) {
    for (size_t i = 0; i < level.size() / 2; ++i) {
      level[i] = pool.Binary(BinaryOp::kAdd, level[2 * i], level[2 * i + 1]);
    }
    level.resize(level.size() / 2);
  }
  const ScalarExpr made = Made(pool, level[0]);
  for (const uint64_t a : {1, 5}) {
    const uint64_t codes[] = {a};
    EXPECT_EQ(made.Int(codes), static_cast<int64_t>(a) * (2047 * 2048 / 2));
  }
}

TEST(ScalarExpr, RoundsOnceToATypeAndKeepsLowBits) {
  ExprPool pool;
  const uint64_t codes[] = {300, 0, 0x7F7FFFFF, 1};  // f32: the largest
  const ExprId sum = pool.Binary(BinaryOp::kAdd, kA, pool.Int(1));
  EXPECT_EQ(Made(pool, sum).Code(codes, kU8), 301u & 0xFF);
  EXPECT_EQ(Made(pool, pool.Int(301)).Code(codes, kU8), 255u);
  EXPECT_EQ(Made(pool, kF).Code(codes, kI16), 0x7FFFu);
  EXPECT_EQ(Made(pool, kP).Code(codes, kF32), 0x3F800000u);
}

}  // namespace
}  // namespace tarsia::scalar_expr_test
