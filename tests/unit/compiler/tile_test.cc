// The tile form: what is carried, the way back to a program, and the faults that are found.
#include <gtest/gtest.h>

#include <string>

#include "compiler/tile/build.h"
#include "compiler/tile/form.h"
#include "compiler/tile/to_program.h"
#include "compiler/tile/verify.h"
#include "isa/text/printer.h"
#include "tests/unit/compiler/programs.h"

namespace tarsia::compiler::tile_test {
namespace {

using tile::Form;
using tile::Operation;
using tile::OpId;
using tile::ValueId;

Form Made(const std::string& body, const std::vector<Binding>& constants = {}) {
  return tile::Build(MakeProgram(body, constants));
}

OpId Find(const Form& form, Opcode opcode, size_t which = 0) {
  for (OpId id = 0; id < form.ops.size(); ++id) {
    if (form.ops[id].opcode == opcode && which-- == 0) return id;
  }
  ADD_FAILURE() << "no " << Row(opcode).mnemonic;
  return 0;
}

// Removes an operation and puts another value in the place of its result.
void Replace(Form& form, OpId id, ValueId by) {
  const ValueId result = form.ops[id].results[0];
  const auto swap = [&](ValueId value) { return value == result ? by : value; };
  for (tile::Region& region : form.regions) {
    std::erase(region.ops, id);
    for (ValueId& yield : region.yields) yield = swap(yield);
  }
  for (Operation& op : form.ops) {
    tile::RenameUses(form.pool, op, [&](ValueId v) { return ExprId::Value(swap(v)); });
    for (ValueId& init : op.inits) init = swap(init);
  }
}

// Every copy of a value is replaced by the value.
void PropagateCopies(Form& form) {
  for (OpId id = 0; id < form.ops.size(); ++id) {
    const Operation& op = form.ops[id];
    if (op.opcode == Opcode::kMov && op.operand[0].IsValue()) {
      Replace(form, id, op.operand[0].value);
    }
  }
}

// The text of the body, after the form was found to be right and its program to be valid.
std::string BodyOf(const Form& form) {
  EXPECT_EQ(tile::FindFault(form), "");
  const Result<Program> program = tile::ToProgram(form, {});
  if (!program.ok()) {
    return program.error().message + "\n" + Print(tile::ToModule(form));
  }
  const std::string text = Print(program->module());
  return text.substr(text.find('{'));
}

// ---- build ---------------------------------------------------------------------------------

constexpr const char* kLoop = R"(kernel k(%y: ptr<i32>, %n: i32)
  warps 1
{
  %gy = view %y : global<i32>[8]
  %sum = fill 0 : i32 [8]
  %unused = mov 3
  for %i = 0 to %n {
    %unused = mov %i
    %t = fill %i : i32 [8]
    %sum = add %sum, %t
  }
  store %gy[0], %sum
}
)";

TEST(TileForm, CarriesOnlyWhatIsUsed) {
  const Form form = Made(kLoop);
  const Operation& loop = form.ops[Find(form, Opcode::kFor)];
  EXPECT_EQ(loop.inits.size(), 1u);
  EXPECT_EQ(loop.results.size(), 1u);
  EXPECT_EQ(form.regions[loop.region[0]].arguments.size(), 2u);
  EXPECT_EQ(form.regions[loop.region[0]].yields.size(), 1u);
  const Operation& store = form.ops[Find(form, Opcode::kStore)];
  EXPECT_EQ(store.operand[1].value, loop.results[0]);
  const Operation& add = form.ops[Find(form, Opcode::kAdd)];
  EXPECT_EQ(add.operand[0].value, form.regions[loop.region[0]].arguments[1]);
  EXPECT_EQ(form.regions[loop.region[0]].yields[0], add.results[0]);
}

// Nothing but the second loop uses what the first one carries.
TEST(TileForm, CarriesWhatOnlyAnotherLoopStartsWith) {
  const Form form = Made(R"(kernel k(%n: i32)
  warps 1
{
  %a = mov 1
  for %i = 0 to %n {
    %a = add %i, 1
  }
  for %i = 0 to %n {
    %a = mul %a, 2
  }
  print "a", %a
}
)");
  int carried = 0;
  for (const tile::OpId id : form.regions[tile::kBody].ops) {
    const Operation& op = form.ops[id];
    if (op.opcode != Opcode::kFor) continue;
    EXPECT_EQ(op.results.size(), 1u);
    ++carried;
  }
  EXPECT_EQ(carried, 2);
}

TEST(TileForm, ConditionsOfWhileUseTheArguments) {
  const Form form = Made(R"(kernel k(%y: ptr<i32>, %n: i32)
  warps 1
{
  %x = mov %n
  while %x > 1 {
    %x = mov %x / 2
  }
  print "x", %x
}
)");
  const Operation& loop = form.ops[Find(form, Opcode::kWhile)];
  const ValueId argument = form.regions[loop.region[0]].arguments[0];
  int uses = 0;
  tile::ForEachUse(form, loop, [&](ValueId value) {
    EXPECT_EQ(value, argument);
    ++uses;
  });
  EXPECT_EQ(uses, 1);
}

TEST(TileForm, ExtentsMeanTheValuesAtTheView) {
  const Form form = Made(R"(kernel k(%y: ptr<i32>, %n: i32)
  warps 1
{
  %m = mov %n
  %gy = view %y : global<i32>[%m]
  %m = mov 0
  %t = fill %m : i32 [1]
  store %gy[%m], %t
}
)");
  const ValueId first = form.ops[Find(form, Opcode::kMov)].results[0];
  const ValueId view = form.ops[Find(form, Opcode::kView)].results[0];
  EXPECT_EQ(form.TypeOf(view).shape_exprs[0], ExprId::Value(first));
}

TEST(TileForm, LocationsStay) {
  const Program program = MakeProgram(kLoop);
  const Result<Program> again = tile::ToProgram(tile::Build(program), {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(program.kernel().locations, again->kernel().locations);
  EXPECT_EQ(program.kernel().arg_locations, again->kernel().arg_locations);
  EXPECT_EQ(program.kernel().type_locations, again->kernel().type_locations);
  EXPECT_EQ(program.kernel().close_lines, again->kernel().close_lines);
}

// ---- the way out of SSA --------------------------------------------------------------------

TEST(TileForm, ChangedLoopsHaveTheCopiesTheyNeed) {
  Form form = Made(R"(kernel k(%n: i32)
  warps 1
{
  %a = mov 1 + %n
  %b = mov 2
  for %i = 0 to %n {
    %t = mov %a
    %a = mov %b
    %b = mov %t
  }
  print "a", %a
  print "b", %b
}
)");
  PropagateCopies(form);
  EXPECT_EQ(BodyOf(form), R"({
  %a = mov 1 + %n
  %b = mov 2
  for %i = 0 to %n {
    %a_1 = mov %a
    %a = mov %b
    %b = mov %a_1
  }
  print "a", %a
  print "b", %b
}
)");
}

// The old value of a carried variable is used after its next one is made, and after the loop.
TEST(TileForm, OldAndNewValuesGetVariablesOfTheirOwn) {
  Form form = Made(R"(kernel k(%n: i32)
  warps 1
{
  %a = mov 1 + %n
  %first = mov %a
  for %i = 0 to %n {
    %old = mov %a
    %a = add %a, %i
    print "old", %old
  }
  print "a", %a
  print "first", %first
}
)");
  PropagateCopies(form);
  EXPECT_EQ(BodyOf(form), R"({
  %a = mov 1 + %n
  %a_1 = mov %a
  for %i = 0 to %n {
    %a_2 = add %a_1, %i
    print "old", %a_1
    %a_1 = mov %a_2
  }
  print "a", %a_1
  print "first", %a
}
)");
}

// Both arms give a new value, and nothing in front of the `if` has the variable.
TEST(TileForm, ResultsOfBranchesAreDeclared) {
  Form form = Made(R"(kernel k(%n: i32, %y: ptr<e8m0>)
  warps 1
{
  %gy = view %y : global<e8m0>[4]
  %t = fill 2 : e8m0 [4]
  if %n > 0 {
    %t = fill 4 : e8m0 [4]
  } else {
    %t = fill 8 : e8m0 [4]
  }
  store %gy[0], %t
}
)");
  std::erase(form.regions[tile::kBody].ops, Find(form, Opcode::kFill));
  EXPECT_EQ(BodyOf(form), R"({
  %gy = view %y : global<e8m0>[4]
  %t = fill 1 : e8m0 [4]
  if %n > 0 {
    %t = fill 4 : e8m0 [4]
  } else {
    %t = fill 8 : e8m0 [4]
  }
  store %gy[0], %t
}
)");
}

// A bound is computed before the loop gives its variables new values.
TEST(TileForm, BoundsKeepTheirValues) {
  Form form = Made(R"(kernel k(%n: i32)
  warps 1
{
  %a = mov 1 + %n
  %b = mov 2 + %n
  %c = mov %b
  for %i = 0 to %a {
    %a = add %a, %b
    %b = add %b, %c
  }
  print "a", %a
  print "b", %b
}
)");
  // The loop starts with the values of %a and %b changed round.
  Operation& loop = form.ops[Find(form, Opcode::kFor)];
  std::swap(loop.inits[0], loop.inits[1]);
  const std::string body = BodyOf(form);
  const size_t bound = body.find("for %i = 0 to %");
  ASSERT_NE(bound, std::string::npos) << body;
  const std::string name = body.substr(bound + 14, body.find(" {", bound) - bound - 14);
  // Its variable has no other value than the first `mov` gives.
  const size_t first = body.find("%a = mov 1 + %n");
  ASSERT_NE(first, std::string::npos) << body;
  EXPECT_EQ(name, "%a") << body;
  EXPECT_EQ(body.substr(0, bound).find("%a = ", first + 1), std::string::npos) << body;
}

// ---- faults --------------------------------------------------------------------------------

class TileFaults : public testing::Test {
 protected:
  void Expect(const std::string& part) {
    EXPECT_NE(tile::FindFault(form_).find(part), std::string::npos) << tile::FindFault(form_);
  }
  Operation& Op(Opcode opcode) { return form_.ops[Find(form_, opcode)]; }
  tile::Region& LoopRegion() { return form_.regions[Op(Opcode::kFor).region[0]]; }
  Form form_ = Made(kLoop);
};

// What a launch sees stays as it was.
class TileChanges : public testing::Test {
 protected:
  void Expect(const std::string& part) {
    EXPECT_NE(tile::FindChange(form_, program_).find(part), std::string::npos)
        << tile::FindChange(form_, program_);
  }
  const Program program_ = MakeProgram(R"(kernel k(%y: ptr<i32>, %n: i32, %m: i32)
  assume %n % 4 == 0
  assume %y align 64
  grid (%n, 2)
  warps 2
{
  %gy = view %y : global<i32>[%n]
  %t = fill 1 : i32 [8]
  store %gy[0], %t
}
)");
  Form form_ = tile::Build(program_);
};

TEST_F(TileChanges, NoneInWhatIsBuilt) { EXPECT_EQ(tile::FindChange(form_, program_), ""); }
TEST_F(TileChanges, AnotherName) {
  form_.header.name = form_.pool.strings().Intern("other");
  Expect("name");
}
TEST_F(TileChanges, OneParameterLess) {
  form_.header.params.pop_back();
  form_.regions[tile::kBody].arguments.pop_back();
  Expect("parameters");
}
TEST_F(TileChanges, ParametersChangedRound) {
  std::swap(form_.regions[tile::kBody].arguments[1], form_.regions[tile::kBody].arguments[2]);
  Expect("parameters");
}
TEST_F(TileChanges, AParameterOfAnotherType) {
  form_.types[form_.values[2].type].dtype = kI64;
  Expect("parameters");
}
TEST_F(TileChanges, AParameterOfAnotherName) {
  form_.values[2].name = form_.pool.strings().Intern("k");
  Expect("parameters");
}
TEST_F(TileChanges, AnotherGrid) {
  form_.header.grid[1] = form_.pool.Int(3);
  Expect("grid");
}
TEST_F(TileChanges, MoreWarps) {
  form_.header.warps = form_.pool.Int(4);
  Expect("warps");
}
TEST_F(TileChanges, Contraction) {
  form_.header.fast = true;
  Expect("contraction");
}
TEST_F(TileChanges, AnotherAssumption) {
  form_.header.assumes[0].condition = form_.header.assumes[1].condition;
  Expect("assumptions");
}
TEST_F(TileChanges, AnotherAlignment) {
  form_.header.assumes[1].alignment = form_.pool.Int(32);
  Expect("assumptions");
}
TEST_F(TileChanges, AnAssumptionMore) {
  form_.header.assumes.push_back(form_.header.assumes[0]);
  Expect("assumptions");
}

TEST_F(TileFaults, NoneInWhatIsBuilt) { EXPECT_EQ(tile::FindFault(form_), ""); }
TEST_F(TileFaults, UseBeforeDefinition) {
  std::vector<OpId>& ops = form_.regions[tile::kBody].ops;
  std::swap(ops.front(), ops.back());
  Expect("not visible");
}
TEST_F(TileFaults, UseOutsideOfTheRegion) {
  Op(Opcode::kStore).operand[1].value = Op(Opcode::kAdd).results[0];
  Expect("not visible");
}
TEST_F(TileFaults, TwoDefinitions) {
  Op(Opcode::kAdd).results[0] = Op(Opcode::kFill).results[0];
  Expect("two definitions");
}
TEST_F(TileFaults, MissingYield) {
  LoopRegion().yields.clear();
  Expect("as many values");
}
TEST_F(TileFaults, MissingInit) {
  Op(Opcode::kFor).inits.clear();
  Expect("as many values");
}
TEST_F(TileFaults, CarriedValueOfAnotherType) {
  LoopRegion().yields[0] = LoopRegion().arguments[0];
  Expect("changes its type");
}
TEST_F(TileFaults, OperationInTwoPlaces) {
  LoopRegion().ops.push_back(LoopRegion().ops.back());
  Expect("two places");
}
TEST_F(TileFaults, MissingOperand) {
  Op(Opcode::kAdd).operand[1] = Operand();
  Expect("left out");
}
TEST_F(TileFaults, TooManyResults) {
  Op(Opcode::kStore).results.push_back(Op(Opcode::kAdd).results[0]);
  Expect("has 1 results");
}
TEST_F(TileFaults, OperandOfAnotherKind) {
  Op(Opcode::kAdd).operand[0].value = LoopRegion().arguments[0];
  Expect("of another kind");
}
TEST_F(TileFaults, RegionOfAnotherOwner) {
  LoopRegion().owner = 0;
  Expect("where it is");
}

}  // namespace
}  // namespace tarsia::compiler::tile_test
