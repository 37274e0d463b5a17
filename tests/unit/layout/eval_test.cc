// Evaluation of expressions and their static kinds: values by hand, every error with its place.
#include "layout/text/eval.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "layout/diagnostics.h"
#include "layout/text/diagnostics.h"
#include "layout/text/expr_parser.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::eval_test {
namespace {

using testing::Eval;
using testing::Ints;
using testing::Reg;

TEST(EvalTest, Integers) {
  EXPECT_EQ(Eval<int64_t>("2 + 3 * 4 - 6 / 4"), 13);
  EXPECT_EQ(Eval<int64_t>("17 % 5"), 2);
  EXPECT_EQ(Eval<int64_t>("-7 / 2"), -3);
  EXPECT_EQ(Eval<int64_t>("ceildiv(7, 2) + ceildiv(8, 2) + ceildiv(-7, 2) + ceildiv(0, 3)"), 5);
  EXPECT_EQ(Eval<int64_t>("min(3, 4) * max(3, 4)"), 12);
  EXPECT_EQ(Eval<int64_t>("bits(u3) + bits(f4e2m1) + bits(f64)"), 71);
  EXPECT_EQ(Eval<int64_t>("(-9223372036854775807 - 1) % -1"), 0);
}

TEST(EvalTest, Booleans) {
  EXPECT_TRUE(Eval<bool>("1 < 2 and 2 <= 2 and not 3 < 3"));
  EXPECT_TRUE(Eval<bool>("3 > 2 and 3 >= 3 and 3 != 4 and 3 == 3"));
  EXPECT_TRUE(Eval<bool>("u4 == u4 and u4 != i4"));
  EXPECT_TRUE(Eval<bool>("[1, 2] == [1, 2] and [1] != [1, 2]"));
  EXPECT_TRUE(Eval<bool>("local(2) * local(3) == local(6)"));
  EXPECT_TRUE(Eval<bool>("1 == 1.0 and 1 < 1.5"));
  EXPECT_FALSE(Eval<bool>("nan == nan or nan < 1.0 or nan >= 1.0"));
  // The right side is not evaluated if the left one decides.
  EXPECT_FALSE(Eval<bool>("false and 1 / 0 == 0"));
  EXPECT_TRUE(Eval<bool>("true or 1 / 0 == 0"));
}

TEST(EvalTest, LargeIntegersAreNotComparedAsFloats) {
  EXPECT_TRUE(Eval<bool>("9007199254740993 > 9007199254740992"));
  EXPECT_FALSE(Eval<bool>("9007199254740993 == 9007199254740992"));
}

TEST(EvalTest, Floats) {
  EXPECT_EQ(Eval<double>("1.5 * 2 + 1"), 4.0);
  EXPECT_EQ(Eval<double>("-(1.0 / 4)"), -0.25);
}

TEST(EvalTest, Layouts) {
  const RegLayout explicit_form =
      Reg("layout(shape=[4, 6], modes=[2, 2, 3, 2], spatial=[0, ~4, 2], local=[3, 1])");
  EXPECT_EQ(explicit_form.threads(), 24);
  EXPECT_EQ(Reg("layout([4], [4], [0], [])"), Reg("spatial(4)"));
  EXPECT_EQ(Reg("left_divide(spatial(2, 4) * local(2, 1), spatial(2, 4))"), Reg("local(2, 1)"));
  EXPECT_EQ(Reg("spatial(2, 4) * local(2, 1) / local(2, 1)"), Reg("spatial(2, 4)"));
  EXPECT_EQ(Reg("reduce(spatial(2, 4), [0])"), Reg("replicate(2) * spatial(4)"));
  EXPECT_EQ(Reg("reduce(spatial(2, 4), [0], keepdims)"), Reg("replicate(2) * spatial(1, 4)"));
  EXPECT_EQ(Reg("reduce(a=spatial(2, 4), dims=[0], keepdims=true)").rank(), 2);
  EXPECT_EQ(Reg("reduce(spatial(2, 4), [0], keepdims=false)").rank(), 1);
  EXPECT_EQ(Reg("permute(spatial(2, 4), [1, 0])"), Reg("column_spatial(4, 2)"));
  EXPECT_EQ(Reg("reshape(local(6), [2, 3])"), Reg("local(2, 3)"));
  EXPECT_EQ(Reg("flatten(local(2, 3))"), Reg("local(6)"));
  EXPECT_EQ(Reg("squeeze(local(1, 3), [0])"), Reg("local(3)"));
  EXPECT_EQ(Reg("unsqueeze(local(3), [0])"), Reg("local(1, 3)"));
  EXPECT_EQ(Reg("concat(spatial(2), local(3))").shape(), (Ints{2, 3}));
  EXPECT_EQ(Reg("spatial(bits(u4), 2 * 4)"), Reg("spatial(4, 8)"));
}

struct ErrorCase {
  const char* text;
  const DiagInfo* info;
  uint32_t column;
  uint32_t length;
};

TEST(EvalTest, ErrorsPointAtTheirExpression) {
  const ErrorCase cases[] = {
      {"1 + 2 / 0", &diag::kDivisionByZero, 5, 5},
      {"3 % (1 - 1)", &diag::kDivisionByZero, 1, 11},
      {"1 + 9223372036854775807", &diag::kIntegerOverflow, 1, 23},
      {"-9223372036854775808 / -1", &diag::kIntegerOverflow, 1, 25},
      {"4611686018427387904 * 2", &diag::kIntegerOverflow, 1, 23},
      {"ceildiv(1, 0)", &diag::kDivisionByZero, 1, 13},
      {"spatial(2) + 1", &diag::kOperandKinds, 1, 14},
      {"u4 < u5", &diag::kOperandKinds, 1, 7},
      {"1 and true", &diag::kOperandKinds, 1, 10},
      {"not 1", &diag::kUnaryOperand, 1, 5},
      {"- u4", &diag::kUnaryOperand, 1, 4},
      {"1 + foo", &diag::kUnknownName, 5, 3},
      {"local(2) * rowmajor", &diag::kUnknownName, 12, 8},
      {"~4", &diag::kMisplaced, 1, 2},
      {"[~4]", &diag::kMisplaced, 2, 2},
      {"local(u4)", &diag::kArgumentKind, 1, 9},
      {"permute(local(2), [u4])", &diag::kArgumentKind, 1, 23},
      {"permute(local(2))", &diag::kArgumentMissing, 1, 17},
      {"permute(local(2), [0], 1)", &diag::kArgumentExtra, 1, 25},
      {"permute(local(2), a=local(2), order=[0])", &diag::kArgumentTwice, 1, 40},
      {"permute(local(2), axes=[0])", &diag::kArgumentUnknown, 1, 27},
      {"local()", &diag::kArgumentMissing, 1, 7},
      {"lanes(u3, 32)", &diag::kArgumentMissing, 1, 13},
      {"lanes(f32)", &diag::kLanesCompute, 1, 10},
      {"layout([4], [4], [-1], [0])", &diag::kMisplaced, 1, 27},
      {"layout([4], [4], [~0], [0])", &diag::kLayoutExtent, 1, 27},
      {"spatial(2) * (local(2) / spatial(2))", &diag::kLayoutNoQuotient, 15, 21},
      {"swizzle(row_major(4), 3, 3, 3)", &diag::kLayoutSwizzle, 1, 30},
      {"swizzle(packed(spatial(32), contiguous), 4, 3, 3)", &diag::kLayoutSwizzlePacked, 1, 49},
      {"packed(local(4), contiguous)", &diag::kPackedThreads, 1, 28},
      {"packed(spatial(32) * local(4), lanes(f16))", &diag::kLanesCount, 1, 42},
      {"lokal(2)", &diag::kUnknownFunction, 1, 5},
      {"local(2", &diag::kExpected, 8, 0},
  };
  for (const ErrorCase& c : cases) {
    const Result<EvalValue> value = EvaluateText(c.text);
    ASSERT_FALSE(value.ok()) << c.text;
    EXPECT_EQ(value.error().info, c.info) << c.text << ": " << value.error().message;
    EXPECT_EQ(value.error().location.line, 1u) << c.text;
    EXPECT_EQ(value.error().location.column, c.column) << c.text;
    EXPECT_EQ(value.error().location.length, c.length) << c.text;
  }
}

TEST(EvalTest, SuggestsTheNearestName) {
  EXPECT_EQ(EvaluateText("rowmajor").error().help, "did you mean `row_major`?");
  EXPECT_EQ(EvaluateText("bf61").error().help, "did you mean `bf16`?");
  EXPECT_EQ(EvaluateText("spatial").error().help,
            "`spatial` is a function: call it, as in `spatial(...)`");
}

TEST(EvalTest, ErrorsInLaterLines) {
  const auto error = EvaluateText("spatial(2) *\n  foo").error();
  // A newline outside of brackets ends an expression.
  EXPECT_EQ(error.location.line, 1u);
  const auto inside = EvaluateText("(spatial(2) *\n  foo)").error();
  EXPECT_EQ(inside.location.line, 2u);
  EXPECT_EQ(inside.location.column, 3u);
}

class MapEnv : public EvalEnv, public TypeEnv {
 public:
  explicit MapEnv(ExprPool& pool) : pool_(pool) {}
  void Set(std::string_view name, EvalValue value) {
    names_[pool_.strings().Intern(name)] = std::move(value);
  }
  void SetValue(uint32_t number, EvalValue value) { values_[number] = std::move(value); }
  [[nodiscard]] const EvalValue* FindName(StringId name) const override {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const EvalValue* FindValue(uint32_t value) const override {
    const auto found = values_.find(value);
    return found == values_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::optional<ExprType> NameType(StringId name) const override {
    const EvalValue* value = FindName(name);
    return value == nullptr ? std::nullopt : std::optional(TypeOf(*value));
  }
  [[nodiscard]] std::optional<ExprType> ValueType(uint32_t value) const override {
    const EvalValue* found = FindValue(value);
    return found == nullptr ? std::nullopt : std::optional(TypeOf(*found));
  }
  [[nodiscard]] std::vector<std::string_view> Names() const override { return {"STAGES"}; }

 private:
  ExprPool& pool_;
  std::map<StringId, EvalValue> names_;
  std::map<uint32_t, EvalValue> values_;
};

TEST(EvalTest, NamesAndValues) {
  ExprPool pool;
  MapEnv env(pool);
  env.Set("K", int64_t{100});
  env.SetValue(7, int64_t{3});
  const ExprId k = pool.Name("K"), value = ExprId::Value(7);
  const auto product = Evaluate(pool, pool.Binary(BinaryOp::kMultiply, k, value), env, {4, 5, 6});
  ASSERT_TRUE(product.ok());
  EXPECT_EQ(std::get<int64_t>(*product), 300);
  const auto missing = Evaluate(pool, ExprId::Value(8), env, {4, 5, 6});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().info, &diag::kUnknownValue);
  EXPECT_EQ(missing.error().location, (Location{4, 5, 6}));
  EXPECT_EQ(Evaluate(pool, pool.Name("STAGE"), env).error().help, "did you mean `STAGES`?");
}

// Shared parts must not multiply the work.
TEST(EvalTest, ExponentialSharingIsRefused) {
  ExprPool pool;
  ExprId id = pool.Int(0);
  for (int i = 0; i < 100; ++i) id = pool.Binary(BinaryOp::kAdd, id, id);
  EXPECT_EQ(Evaluate(pool, id, EmptyEnv()).error().info, &diag::kTooMany);
  MapEnv env(pool);
  EXPECT_EQ(StaticType(pool, id, env).error().info, &diag::kTooMany);
}

TEST(EvalTest, DepthIsBounded) {
  ExprPool pool;
  ExprId id = pool.Name("x");
  for (int i = 0; i < 100000; ++i) id = pool.Unary(UnaryOp::kNegate, id);
  EXPECT_EQ(Evaluate(pool, id, EmptyEnv()).error().info, &diag::kTooDeep);
  MapEnv env(pool);
  EXPECT_EQ(StaticType(pool, id, env).error().info, &diag::kTooDeep);
}

struct TypeCase {
  const char* text;
  ExprType type;
};

TEST(EvalTest, StaticTypes) {
  ExprPool pool;
  MapEnv env(pool);
  env.Set("K", int64_t{1});
  env.Set("X", kF16);
  env.Set("T", RegLayout());
  env.Set("open", EvalValue());
  const TypeCase cases[] = {
      {"K * 2 + 1", ExprType::kInt},
      {"K * 2.0", ExprType::kFloat},
      {"open * 2", ExprType::kUnknown},
      {"open * T", ExprType::kRegLayout},
      {"open + 1.0", ExprType::kFloat},
      {"open == T", ExprType::kBool},
      {"K < open and not open", ExprType::kBool},
      {"X", ExprType::kDType},
      {"T * local(K, 2) / T", ExprType::kRegLayout},
      {"mma.m16n8k16.f16.a", ExprType::kRegLayout},
      {"row_major", ExprType::kMemLayout},
      {"packed(T, lanes(X))", ExprType::kMemLayout},
      {"contiguous", ExprType::kBitLayout},
      {"lanes(X)", ExprType::kBitLayout},
      {"ceildiv(open, K)", ExprType::kInt},
      {"[K, 2]", ExprType::kList},
      {"-K", ExprType::kInt},
      {"reduce(T, [0], keepdims)", ExprType::kRegLayout},
      {"layout(shape=[K], modes=[K], spatial=[0, ~K], local=[])", ExprType::kRegLayout},
  };
  for (const TypeCase& c : cases) {
    const auto type = StaticType(pool, *ParseExpression(c.text, pool), env);
    ASSERT_TRUE(type.ok()) << c.text << ": " << type.error().message;
    EXPECT_EQ(*type, c.type) << c.text;
  }
  const std::pair<const char*, const DiagInfo*> errors[] = {
      {"K + T", &diag::kOperandKinds},
      {"T + open", &diag::kOperandKinds},
      {"T < T", &diag::kOperandKinds},
      {"X * X", &diag::kOperandKinds},
      {"K and true", &diag::kOperandKinds},
      {"not K", &diag::kUnaryOperand},
      {"-T", &diag::kUnaryOperand},
      {"local(X)", &diag::kArgumentKind},
      {"lanes(K)", &diag::kArgumentKind},
      {"unknown + 1", &diag::kUnknownName},
      {"permute(T, K)", &diag::kArgumentKind},
      {"mma.nothing", &diag::kUnknownFragment},
      {"~K", &diag::kMisplaced},
      {"permute(T)", &diag::kArgumentMissing},
  };
  for (const auto& [text, info] : errors) {
    const auto type = StaticType(pool, *ParseExpression(text, pool), env, {9, 8, 7});
    ASSERT_FALSE(type.ok()) << text;
    EXPECT_EQ(type.error().info, info) << text;
    EXPECT_EQ(type.error().location, (Location{9, 8, 7})) << text;
  }
}

// Each function of the table is evaluated by some test above and has kinds that fit its result.
TEST(EvalTest, TheTableNamesWhatTheEvaluatorReturns) {
  const std::map<std::string_view, const char*> examples = {
      {"local", "local(2)"},
      {"spatial", "spatial(2)"},
      {"column_local", "column_local(2, 3)"},
      {"column_spatial", "column_spatial(2, 3)"},
      {"replicate", "replicate(2)"},
      {"layout", "layout([2], [2], [0], [])"},
      {"left_divide", "left_divide(local(4), local(2))"},
      {"reduce", "reduce(local(4), [0])"},
      {"permute", "permute(local(4), [0])"},
      {"reshape", "reshape(local(4), [2, 2])"},
      {"flatten", "flatten(local(4))"},
      {"squeeze", "squeeze(local(1), [0])"},
      {"unsqueeze", "unsqueeze(local(4), [0])"},
      {"concat", "concat(local(4), local(4))"},
      {"row_major", "row_major(4)"},
      {"column_major", "column_major()"},
      {"strided", "strided(shape=[4], strides=[2])"},
      {"swizzle", "swizzle(row_major, 4, 3, 3)"},
      {"contiguous", "contiguous(u4)"},
      {"lanes", "lanes(bf16)"},
      {"packed", "packed(spatial(32), contiguous)"},
      {"ceildiv", "ceildiv(3, 2)"},
      {"min", "min(1, 2)"},
      {"max", "max(1, 2)"},
      {"bits", "bits(u4)"},
  };
  for (const FuncInfo& info : Functions()) {
    const auto example = examples.find(info.name);
    ASSERT_NE(example, examples.end()) << info.name;
    const auto value = EvaluateText(example->second);
    ASSERT_TRUE(value.ok()) << example->second << ": " << value.error().message;
    EXPECT_EQ(TypeOf(*value), info.result) << info.name;
    EXPECT_EQ(FindFunc(info.name), info.func);
  }
}

TEST(EvalTest, ValuesPrintAsTextThatEvaluatesToThem) {
  for (const char* const text :
       {"42", "-1", "1.5", "true", "f8e4m3fn", "[1, [2, u4], 3.0]", "lanes(u3, 32, f16)",
        "swizzle(row_major, 4, 3, 3)", "reduce(spatial(2, 4) * local(3, 1), [0])",
        "packed(spatial(32) * local(32), lanes(bf16))"}) {
    const auto value = EvaluateText(text);
    ASSERT_TRUE(value.ok()) << text;
    const auto again = EvaluateText(ToString(*value));
    ASSERT_TRUE(again.ok()) << ToString(*value);
    EXPECT_EQ(*again, *value) << text;
  }
}

}  // namespace
}  // namespace tarsia::eval_test
