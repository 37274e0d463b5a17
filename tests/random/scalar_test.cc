// Random scalar expressions wherever the language takes one, on the interpreter, compiled on the
// emulator, and by the host's queries: each says what docs/syntax.md says that the expression is
// worth (tests/random/scalar_tree.h).
//
// TARSIA_RANDOM_MODULES says how many kernels of each sort (40; with TARSIA_LONG 2,000),
// TARSIA_SEED where they begin.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/target.h"
#include "dtypes/convert.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/validate.h"
#include "launch/launch_template.h"
#include "runtime/devices/device.h"
#include "tests/harness/codec.h"
#include "tests/harness/device_launch.h"
#include "tests/random/rng.h"
#include "tests/random/scalar_tree.h"
#include "tests/settings.h"
#include "vm/interpreter.h"

namespace tarsia {
namespace {

constexpr int64_t kMostExtent = int64_t{1} << 40;
constexpr int64_t kMostGrid = (int64_t{1} << 31) - 1;
constexpr int64_t kInputs = 8;  // elements of %in: i64, kFirstInput and on
constexpr int64_t kFirstInput = 100;
constexpr size_t kOutputs = 64;  // places of 8 bytes in %out
constexpr int kDepth = 4;

using Codes = std::vector<uint64_t>;

constexpr DType kScalarTypes[] = {kI8,  kI16, kI32,  kI64, kU8,  kU16,     kU32,
                                  kU64, kF16, kBF16, kF32, kF64, kBoolType};

// ---- a kernel and what it must do ----------------------------------------------------------

// What a launch comes to, or must come to.
struct ScalarOutcome {
  std::string error;  // the id of what stopped it, or of why it was refused
  std::string text;   // the same for people
  std::vector<std::pair<DType, uint64_t>> results;  // by place
  std::vector<std::string> lines;
};

// A kernel with scalar parameters, and the results that it must leave.
class ScalarKernel {
 public:
  ScalarKernel(uint64_t seed, bool closed)
      : rng(seed), closed_(closed), writer_(rng, variables, closed) {
    AddParameters();
  }

  Rng rng;
  std::vector<ScalarVariable> variables;
  std::vector<std::string> clauses;
  ScalarOutcome expected;

  // Unless all is closed, one that reads scalars.
  ScalarTree Tree(ScalarType type) {
    ScalarTree tree = writer_.Make(type, kDepth);
    while (!closed_ && !ReadsScalars(tree)) tree = writer_.Make(type, kDepth);
    return tree;
  }
  void Line(const std::string& line) { lines_.push_back(line); }
  std::string NewName() { return "v" + std::to_string(next_++); }
  // A scalar that the kernel has made becomes a result, and one that expressions may read.
  void AddResult(const std::string& name, DType dtype, uint64_t code) {
    StoreResult(name, dtype, code);
    variables.push_back({name, NumberOf(dtype, code)});
  }
  void StoreResult(const std::string& name, DType dtype, uint64_t code) {
    const std::string type(DTypeName(dtype));
    const size_t bytes = std::max<size_t>(1, dtype.bits / 8);
    const size_t place = expected.results.size();
    Line("%t_" + name + " = fill %" + name + " : " + type + " [1]");
    Line("store %out_" + type + "[" + std::to_string(8 * place / bytes) + "], %t_" + name);
    expected.results.emplace_back(dtype, code);
  }
  [[nodiscard]] bool IsFull() const { return expected.results.size() >= kOutputs - 2; }
  [[nodiscard]] const Codes& scalars() const { return codes_; }

  [[nodiscard]] std::string Text() const {
    std::string out = "// tarsia run" + arguments_ + "\n";
    out += "kernel k(%in: ptr<i64>, %out: ptr<u8>" + parameters_ + ")\n";
    for (const std::string& clause : clauses) out += "  " + clause + "\n";
    out += "  warps 1\n{\n  %g = view %in : global<i64>[" + std::to_string(kInputs) + "]\n";
    for (const DType dtype : kScalarTypes) {
      const std::string type(DTypeName(dtype));
      const size_t count = kOutputs * 8 / std::max<size_t>(1, dtype.bits / 8);
      out +=
          "  %out_" + type + " = view %out : global<" + type + ">[" + std::to_string(count) + "]\n";
    }
    for (const std::string& line : lines_) out += "  " + line + "\n";
    return out + "}\n";
  }
  // Arguments by parameter, with memory of the kernel's own.
  std::vector<launch::Argument> Arguments() {
    for (int64_t i = 0; i < kInputs; ++i) in_[static_cast<size_t>(i)] = kFirstInput + i;
    out_.fill(0);
    std::vector<launch::Argument> arguments;
    arguments.emplace_back(launch::Buffer{in_.data(), sizeof(in_), false});
    arguments.emplace_back(launch::Buffer{out_.data(), sizeof(out_), true});
    for (size_t i = 0; i < types_.size(); ++i) {
      arguments.emplace_back(launch::ScalarValue{types_[i], codes_[i + 2]});
    }
    return arguments;
  }
  // What lies at the places of the expected results.
  [[nodiscard]] std::vector<std::pair<DType, uint64_t>> Results() const {
    std::vector<std::pair<DType, uint64_t>> out;
    for (size_t i = 0; i < expected.results.size(); ++i) {
      const DType dtype = expected.results[i].first;
      uint64_t code = 0;
      std::memcpy(&code, &out_[i], std::max<size_t>(1, dtype.bits / 8));
      out.emplace_back(dtype, code);
    }
    return out;
  }

 private:
  void AddParameters() {
    codes_ = {0, 0};  // of the pointers
    for (const DType dtype : {kI32, kI64, kU8, kU64, kI8, kBoolType, kF16, kF32, kF64}) {
      const std::string name = "p" + std::to_string(types_.size());
      const ScalarNumber number = dtype.IsInteger() || dtype.IsBool()
                                      ? ScalarNumber::Int(TroublesomeInt(rng))
                                      : ScalarNumber::Float(rng.Of({0.0, -0.5, 2.5, 1e5, -7e9}));
      codes_.push_back(RoundTo(number, dtype));
      types_.push_back(dtype);
      parameters_ += ", %" + name + ": " + std::string(DTypeName(dtype));
      variables.push_back({name, NumberOf(dtype, codes_.back())});
      arguments_ += " --arg " + name + "=" + DecodeToString(dtype, codes_.back());
      if (dtype.IsInteger() && rng.Chance(50)) Assume(variables.back());
    }
  }
  // Something true, from which a compiler may conclude.
  void Assume(const ScalarVariable& variable) {
    const int64_t x = variable.number.i;
    const std::string name = "%" + variable.name;
    const int64_t divisor = rng.Of<int64_t>({2, 3, 8, 64});
    const auto at_most = Operation("<=", {Literal(ScalarNumber::Int(x)), Literal(variable.number)});
    switch (rng.Below(3)) {
      case 0:
        clauses.push_back("assume " + name + " <= " + TextOf(at_most.children[0]));
        break;
      case 1:
        clauses.push_back("assume " + name + " >= " + TextOf(at_most.children[0]));
        break;
      default:
        if (x % divisor == 0) {
          clauses.push_back("assume " + name + " % " + std::to_string(divisor) + " == 0");
        }
        break;
    }
  }

  const bool closed_;
  ScalarTreeWriter writer_;
  int next_ = 0;
  std::string parameters_;
  std::string arguments_;  // as the command takes them
  std::vector<DType> types_;
  Codes codes_;  // by parameter
  std::vector<std::string> lines_;
  std::array<int64_t, kInputs> in_{};
  std::array<uint64_t, kOutputs> out_{};
};

// ---- uses ----------------------------------------------------------------------------------

std::string IntText(int64_t x) { return TextOf(Literal(ScalarNumber::Int(x))); }

void UseMov(ScalarKernel& k) {
  const auto type = k.rng.Of({ScalarType::kInt, ScalarType::kBool, ScalarType::kFloat});
  const ScalarTree tree = k.Tree(type);
  const std::string name = k.NewName();
  DType dtype = type == ScalarType::kInt ? kI32 : type == ScalarType::kBool ? kBoolType : kF32;
  // A lone scalar keeps its type, so it does not stand alone here.
  const bool plain = tree.kind == ScalarTree::Kind::kVariable;
  const std::string text = plain && type == ScalarType::kInt    ? "(" + TextOf(tree) + " + 0)"
                           : plain && type == ScalarType::kBool ? "(not (not " + TextOf(tree) + "))"
                           : plain                              ? "(" + TextOf(tree) + " * 1.0)"
                                                                : TextOf(tree);
  std::string annotation;
  if (k.rng.Chance(75)) {
    dtype = kScalarTypes[k.rng.Below(std::size(kScalarTypes))];
    annotation = " : " + std::string(DTypeName(dtype));
  }
  k.Line("%" + name + " = mov " + text + annotation);
  k.AddResult(name, dtype, RoundTo(ValueOf(tree), dtype));
}

// An integer expression that is small more often than not.
ScalarTree PlaceTree(ScalarKernel& k, int64_t extent) {
  ScalarTree tree = k.Tree(ScalarType::kInt);
  if (k.rng.Chance(30)) return tree;
  return Operation("%", {std::move(tree), Literal(ScalarNumber::Int(extent))});
}

// The element of %in, 0 outside.
int64_t InputAt(__int128 i) {
  return i >= 0 && i < kInputs ? kFirstInput + static_cast<int64_t>(i) : 0;
}

void UseIndex(ScalarKernel& k) {
  const ScalarTree place = PlaceTree(k, kInputs);
  const std::string name = k.NewName();
  k.Line("%" + name + " = load.scalar %g[" + TextOf(place) + "]");
  k.AddResult(name, kI64, static_cast<uint64_t>(InputAt(ValueOf(place).i)));
}

void UseSlice(ScalarKernel& k) {
  const ScalarTree first = PlaceTree(k, 8), second = PlaceTree(k, 4), place = PlaceTree(k, 2);
  const std::string name = k.NewName();
  k.Line("%a_" + name + " = slice %g[" + TextOf(first) + "] : [4]");
  k.Line("%b_" + name + " = slice %a_" + name + "[" + TextOf(second) + "] : [2]");
  k.Line("%" + name + " = load.scalar %b_" + name + "[" + TextOf(place) + "]");
  const __int128 outer = ValueOf(first).i, inner = ValueOf(second).i, i = ValueOf(place).i;
  const bool within = i >= 0 && i < 2 && inner + i >= 0 && inner + i < 4;
  k.AddResult(name, kI64, static_cast<uint64_t>(within ? InputAt(outer + inner + i) : 0));
}

void UseIf(ScalarKernel& k) {
  const ScalarTree condition = k.Tree(ScalarType::kBool);
  const std::string name = k.NewName();
  k.Line("%" + name + " = mov 0");
  k.Line("if " + TextOf(condition) + " {");
  k.Line("  %" + name + " = mov 1");
  k.Line("} else {");
  k.Line("  %" + name + " = mov 2");
  k.Line("}");
  k.AddResult(name, kI32, ValueOf(condition).b ? 1 : 2);
}

void UseWhile(ScalarKernel& k) {
  const std::string name = k.NewName();
  const ScalarTree condition = k.Tree(ScalarType::kBool);
  k.Line("%" + name + " = mov 0");
  k.Line("while %" + name + " < 3 and " + TextOf(condition) + " {");
  k.Line("  %" + name + " = add %" + name + ", 1");
  k.Line("}");
  k.AddResult(name, kI32, ValueOf(condition).b ? 3 : 0);
}

// The turns of a loop, and the sum of its counter.
struct Turns {
  int64_t count = 0;
  uint64_t sum = 0;
};
Turns TurnsOf(__int128 start, __int128 stop, __int128 step, int64_t most) {
  Turns out;
  for (__int128 i = start; (step > 0 ? i < stop : i > stop) && out.count <= most; i += step) {
    if (i != static_cast<int64_t>(i)) break;  // beyond 64 bits there is no further turn
    ++out.count;
    out.sum += static_cast<uint64_t>(static_cast<int64_t>(i));
  }
  return out;
}

void UseFor(ScalarKernel& k) {
  constexpr int64_t kMostTurns = 20;
  ScalarTree start = k.Tree(ScalarType::kInt), stop = k.Tree(ScalarType::kInt);
  const ScalarTree step = k.Tree(ScalarType::kInt);
  const int64_t by = ValueOf(step).i;
  const auto text = [](const ScalarTree& tree) { return TextOf(tree); };
  if (by == 0) return;
  if (TurnsOf(ValueOf(start).i, ValueOf(stop).i, by, kMostTurns).count > kMostTurns) {
    start = Operation("%", {start, Literal(ScalarNumber::Int(7))});
    stop = Operation("%", {stop, Literal(ScalarNumber::Int(9))});
  }
  const Turns turns = TurnsOf(ValueOf(start).i, ValueOf(stop).i, by, kMostTurns);
  const std::string count = k.NewName(), sum = k.NewName();
  k.Line("%" + count + " = mov 0 : i64");
  k.Line("%" + sum + " = mov 0 : i64");
  k.Line("for %i_" + sum + ": i64 = " + text(start) + " to " + text(stop) + " step " + text(step) +
         " {");
  k.Line("  %" + count + " = add %" + count + ", 1");
  k.Line("  %" + sum + " = add %" + sum + ", %i_" + sum);
  k.Line("}");
  k.AddResult(count, kI64, static_cast<uint64_t>(turns.count));
  k.AddResult(sum, kI64, turns.sum);
}

// An extent of 0 to 8.
void UseExtent(ScalarKernel& k) {
  const auto number = [](int64_t x) { return Literal(ScalarNumber::Int(x)); };
  const ScalarTree extent =
      Operation("min", {Operation("max", {k.Tree(ScalarType::kInt), number(0)}), number(kInputs)});
  const ScalarTree place = PlaceTree(k, kInputs);
  const std::string name = k.NewName();
  k.Line("%a_" + name + " = view %in : global<i64>[" + TextOf(extent) + "]");
  k.Line("%" + name + " = load.scalar %a_" + name + "[" + TextOf(place) + "]");
  const int64_t i = ValueOf(place).i;
  k.AddResult(name, kI64, static_cast<uint64_t>(i < ValueOf(extent).i ? InputAt(i) : 0));
}

void UsePrint(ScalarKernel& k) {
  const bool is_int = k.rng.Chance(60);
  const ScalarTree tree = k.Tree(is_int ? ScalarType::kInt : ScalarType::kBool);
  if (tree.kind != ScalarTree::Kind::kOperation) return;
  k.Line("print \"it\", " + TextOf(tree));
  const ScalarNumber number = ValueOf(tree);
  const std::string value = is_int ? std::to_string(number.i) : number.b ? "true" : "false";
  k.expected.lines.push_back("(0, 0, 0) it = " + value);
}

// ---- running -------------------------------------------------------------------------------

class ScalarRunner {
 public:
  explicit ScalarRunner(uint64_t seed) {
    const auto targets = compiler::AllTargets();
    const auto& target = targets[seed % targets.size()];
    devices_.push_back(*runtime::OpenDevice("cpu"));
    devices_.push_back(*runtime::OpenDevice("ptx:" + std::string(target.name)));
  }
  [[nodiscard]] std::span<const std::shared_ptr<runtime::Device>> devices() const {
    return devices_;
  }

  // "" where the text becomes a program, otherwise the first error.
  static std::string Specialised(const std::string& text, std::optional<Program>* out,
                                 std::string* id) {
    const SourceFile source("scalar.tsa", text);
    Diagnostics diagnostics;
    auto module = Parse(source, diagnostics);
    if (module) {
      const auto valid = Validate(*std::move(module), diagnostics);
      if (valid) *out = Specialise(*valid, "k", {}, {}, diagnostics);
    }
    if (!diagnostics.list().empty()) *id = diagnostics.list()[0].info->id;
    return diagnostics.Render(source);
  }

  static ScalarOutcome Run(runtime::Device& device, const Program& program, ScalarKernel& kernel) {
    ScalarOutcome out;
    const auto fail = [&](const Diagnostic& error) {
      out.error = error.info->id;
      out.text = Render(error, SourceFile("scalar.tsa", kernel.Text()));
      return out;
    };
    const auto loaded = device.Load(program);
    if (!loaded.ok()) return fail(loaded.error());
    vm::LaunchOptions options;
    options.threads = 1;
    options.max_instructions = 4'000'000;
    options.print = [&out](std::string_view line) { out.lines.emplace_back(line); };
    const auto launched = harness::LaunchOn(device, **loaded, kernel.Arguments(), options);
    if (!launched.ok()) return fail(launched.error());
    out.results = kernel.Results();
    return out;
  }

 private:
  std::vector<std::shared_ptr<runtime::Device>> devices_;
};

bool Same(DType dtype, uint64_t a, uint64_t b) {
  return a == b || (dtype.IsFloat() && harness::IsNan(dtype, a) && harness::IsNan(dtype, b));
}

// Every result of a launch that must run to its end.
void ExpectResults(const ScalarOutcome& got, const ScalarOutcome& want) {
  EXPECT_EQ(got.error, "") << got.text;
  EXPECT_EQ(got.lines, want.lines);
  ASSERT_EQ(got.results.size(), want.results.size());
  for (size_t i = 0; i < want.results.size(); ++i) {
    const auto [dtype, code] = want.results[i];
    EXPECT_TRUE(Same(dtype, code, got.results[i].second))
        << "result " << i << " is " << harness::Show(dtype, got.results[i].second) << ", not "
        << harness::Show(dtype, code);
  }
}

// Runs `make(seed)` for seeds from TARSIA_SEED on.
template <typename Test>
void ForEachSeed(const Test& test) {
  const uint64_t first = Seed(1);
  const uint64_t count = NumberFrom("TARSIA_RANDOM_MODULES", IsLong() ? 20'000 : 400) / 10;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("TARSIA_SEED=" + std::to_string(seed) + " TARSIA_RANDOM_MODULES=1");
    test(seed);
  }
}

// On every device, a kernel that is a program.
void ExpectOnEveryDevice(ScalarKernel& kernel, uint64_t seed) {
  SCOPED_TRACE(kernel.Text());
  std::optional<Program> program;
  std::string id;
  const std::string errors = ScalarRunner::Specialised(kernel.Text(), &program, &id);
  ASSERT_TRUE(program) << errors;
  const ScalarRunner runner(seed);
  for (const auto& device : runner.devices()) {
    SCOPED_TRACE(device->name());
    ExpectResults(ScalarRunner::Run(*device, *program, kernel), kernel.expected);
  }
}

// ---- tests ---------------------------------------------------------------------------------

TEST(RandomScalars, AreWorthWhatTheLanguageSays) {
  constexpr void (*kUses[])(ScalarKernel&) = {UseMov, UseMov,   UseMov, UseIndex,  UseSlice,
                                              UseIf,  UseWhile, UseFor, UseExtent, UsePrint};
  ForEachSeed([&](uint64_t seed) {
    ScalarKernel kernel(seed, false);
    if (seed % 3 == 0) kernel.clauses.emplace_back("fast");
    const size_t uses = 4 + kernel.rng.Below(12);
    for (size_t i = 0; i < uses && !kernel.IsFull(); ++i) {
      kUses[kernel.rng.Below(std::size(kUses))](kernel);
    }
    ExpectOnEveryDevice(kernel, seed);
  });
}

// One use that may stop the kernel: the error that it must end with, or "".
std::string UseThatMayStop(ScalarKernel& k) {
  const ScalarTree tree = k.Tree(ScalarType::kInt);
  const ScalarTree small = Operation("%", {tree, Literal(ScalarNumber::Int(3))});
  const ScalarTree& some = k.rng.Chance(50) ? tree : small;
  const int64_t value = ValueOf(some).i;
  const std::string text = TextOf(some);
  switch (k.rng.Below(4)) {
    case 0: {
      const std::string step = k.NewName();
      k.Line("%" + step + " = mov " + TextOf(small) + " : i64");
      k.Line("for %i: i64 = 0 to 1 step %" + step + " {");
      k.Line("}");
      return ValueOf(small).i == 0 ? "step-is-zero" : "";
    }
    case 1:
      k.Line("for %i: i64 = 0 to 1 step " + TextOf(small) + " {");
      k.Line("}");
      return ValueOf(small).i == 0 ? "step-is-zero" : "";
    case 2: {
      const ScalarTree condition = k.Tree(ScalarType::kBool);
      k.Line("assert " + TextOf(condition) + ", \"it holds\"");
      return ValueOf(condition).b ? "" : "assert-failed";
    }
    default:
      break;
  }
  // Within the memory of %in, so that only the extent can be wrong.
  const std::string name = k.NewName();
  k.Line("%" + name + " = slice %g[0] : [" + text + " + %one - 1]");
  return value < 0 || value > kMostExtent ? "view-extent" : "";
}

TEST(RandomScalars, StopWhereTheLanguageSays) {
  ForEachSeed([](uint64_t seed) {
    ScalarKernel kernel(seed, false);
    kernel.Line("%block = block.x");
    kernel.Line("%one = mov %block + 1");
    const std::string stops = UseThatMayStop(kernel);
    const std::string text = kernel.Text();
    SCOPED_TRACE(text);
    std::optional<Program> program;
    std::string id;
    const std::string errors = ScalarRunner::Specialised(text, &program, &id);
    ASSERT_TRUE(program) << errors;
    const ScalarRunner runner(seed);
    for (const auto& device : runner.devices()) {
      SCOPED_TRACE(device->name());
      const ScalarOutcome got = ScalarRunner::Run(*device, *program, kernel);
      EXPECT_EQ(got.error, stops) << got.text;
    }
  });
}

// An expression for a place that takes 0 to `most`: outside of that, or at most `few`.
ScalarTree FewTree(ScalarKernel& k, int64_t most, int64_t few) {
  ScalarTree tree = k.Tree(ScalarType::kInt);
  const int64_t value = ValueOf(tree).i;
  if (value < 0 || value > most || value <= few) return tree;
  return Operation("%", {std::move(tree), Literal(ScalarNumber::Int(few + 1))});
}

struct LaunchTrees {
  ScalarTree grid[3];
  ScalarTree extent, scratch, condition;
  int64_t blocks[3] = {};
  bool empty = false;
  std::set<std::string> errors;      // that must be said
  std::set<std::string> may_errors;  // that need not, where no block runs
};

LaunchTrees MakeLaunch(ScalarKernel& k) {
  LaunchTrees out;
  bool grid_fits = true;
  for (size_t d = 0; d < 3; ++d) {
    out.grid[d] = FewTree(k, kMostGrid, 2);
    out.blocks[d] = ValueOf(out.grid[d]).i;
    grid_fits = grid_fits && out.blocks[d] >= 0 && out.blocks[d] <= kMostGrid;
    out.empty = out.empty || out.blocks[d] == 0;
  }
  out.extent = FewTree(k, kMostExtent, kInputs + 1);
  out.scratch = FewTree(k, kMostExtent, 5000);
  out.condition = k.Tree(ScalarType::kBool);
  const int64_t extent = ValueOf(out.extent).i, scratch = ValueOf(out.scratch).i;
  if (!grid_fits) out.errors.insert("grid-extent");
  if (!ValueOf(out.condition).b) out.errors.insert("assumption");
  if (extent < 0 || extent > kMostExtent) out.errors.insert("view-extent");
  auto& where_blocks_run = out.empty ? out.may_errors : out.errors;
  if (extent > kInputs) where_blocks_run.insert("buffer-too-small");
  if (scratch < 0 || scratch > kMostExtent) where_blocks_run.insert("scratch-extent");
  k.clauses.push_back("assume " + TextOf(out.condition));
  k.clauses.push_back("grid (" + TextOf(out.grid[0]) + ", " + TextOf(out.grid[1]) + ", " +
                      TextOf(out.grid[2]) + ")");
  k.Line("%w = alloc.global : global<u8>[" + TextOf(out.scratch) + "]");
  k.Line("%v = view %in : global<i64>[" + TextOf(out.extent) + "]");
  return out;
}

// The queries of the host.
void ExpectQueries(const LaunchTrees& launch, const Program& program, const Codes& scalars,
                   const runtime::LoadedKernel& compiled) {
  int64_t grid[3] = {};
  const bool grid_fits = launch.errors.count("grid-extent") == 0;
  EXPECT_EQ(launch::ResolveGrid(program, scalars, grid).ok(), grid_fits);
  for (size_t d = 0; d < 3 && grid_fits; ++d) EXPECT_EQ(grid[d], launch.blocks[d]);
  const int64_t extent = ValueOf(launch.extent).i;
  const bool extent_fits = extent >= 0 && extent <= kMostExtent;
  const auto uses = launch::PointerUses(program, scalars);
  EXPECT_EQ(uses.ok(), extent_fits);
  if (uses.ok()) {
    EXPECT_EQ(uses->back().shape, std::vector<int64_t>{extent});
  }
  const int64_t scratch = ValueOf(launch.scratch).i;
  const bool scratch_fits = scratch >= 0 && scratch <= kMostExtent;
  const auto bytes = compiled.WorkspaceBytes(scalars);
  EXPECT_EQ(bytes.ok(), scratch_fits);
  if (bytes.ok()) {
    EXPECT_EQ(*bytes, (static_cast<uint64_t>(scratch) + 255) / 256 * 256);
  }
}

void ExpectLaunch(const LaunchTrees& launch, const ScalarOutcome& got, const ScalarOutcome& want) {
  if (!launch.errors.empty()) {
    const bool expected =
        launch.errors.count(got.error) != 0 || launch.may_errors.count(got.error) != 0;
    EXPECT_TRUE(expected) << got.error << " " << got.text;
  } else if (!launch.may_errors.count(got.error)) {
    ExpectResults(got, want);
  }
}

TEST(RandomScalars, LaunchAsTheLanguageSays) {
  ForEachSeed([](uint64_t seed) {
    ScalarKernel kernel(seed, false);
    const LaunchTrees launch = MakeLaunch(kernel);
    kernel.Line("%bx = block.x");
    kernel.Line("%by = block.y");
    kernel.Line("%bz = block.z");
    kernel.Line("%gx = grid.x");
    kernel.Line("%gy = grid.y");
    kernel.Line("%gz = grid.z");
    kernel.Line("if %bx == 0 and %by == 0 and %bz == 0 {");
    const auto blocks = [&](size_t d) {
      return launch.empty ? 0 : static_cast<uint64_t>(launch.blocks[d]);
    };
    kernel.StoreResult("gx", kI32, blocks(0));
    kernel.StoreResult("gy", kI32, blocks(1));
    kernel.StoreResult("gz", kI32, blocks(2));
    kernel.Line("}");
    SCOPED_TRACE(kernel.Text());
    std::optional<Program> program;
    std::string id;
    const std::string errors = ScalarRunner::Specialised(kernel.Text(), &program, &id);
    ASSERT_TRUE(program) << errors;
    const ScalarRunner runner(seed);
    const auto compiled = runner.devices()[1]->Load(*program);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    ExpectQueries(launch, *program, kernel.scalars(), **compiled);
    for (const auto& device : runner.devices()) {
      SCOPED_TRACE(device->name());
      ExpectLaunch(launch, ScalarRunner::Run(*device, *program, kernel), kernel.expected);
    }
  });
}

// Where constants stand; each stores what they are worth.
void UseConstant(ScalarKernel& k, const ScalarTree& tree) {
  const ScalarNumber number = ValueOf(tree);
  const std::string text = TextOf(tree);
  if (number.type == ScalarType::kFloat) {
    k.Line("%x = mov " + text + " : f64");
    return k.StoreResult("x", kF64, RoundTo(number, kF64));
  }
  const bool is_int = number.type == ScalarType::kInt;
  const DType dtype = is_int ? kI64 : kBoolType;
  switch (k.rng.Below(is_int ? 4 : 3)) {
    case 0:
      k.clauses.push_back("const C: " + std::string(is_int ? "int" : "bool") + " = " + text);
      k.Line(std::string("%x = mov C : ") + (is_int ? "i64" : "bool"));
      return k.StoreResult("x", dtype, RoundTo(number, dtype));
    case 1:
      k.Line("%x = mov " + text + (is_int ? " : i64" : " : bool"));
      return k.StoreResult("x", dtype, RoundTo(number, dtype));
    case 2: {
      const std::string condition = is_int ? text + " == " + IntText(number.i) : text;
      k.Line("%x = mov 0");
      k.Line("if " + condition + " {");
      k.Line("  %x = mov 1");
      k.Line("}");
      return k.StoreResult("x", kI32, is_int || number.b ? 1 : 0);
    }
    default:
      k.Line("%x = load.scalar %g[" + text + "]");
      return k.StoreResult("x", kI64, static_cast<uint64_t>(InputAt(number.i)));
  }
}

// "Constants are computed when the kernel is specialised: overflow and division by zero are errors
// there."
TEST(RandomScalars, ConstantsAreComputedWhenTheyAreSpecialised) {
  ForEachSeed([](uint64_t seed) {
    ScalarKernel kernel(seed, true);
    const auto type =
        kernel.rng.Of({ScalarType::kInt, ScalarType::kInt, ScalarType::kBool, ScalarType::kFloat});
    const ScalarTree tree = kernel.Tree(type);
    bool wrong = false;
    ValueOf(tree, &wrong);
    UseConstant(kernel, tree);
    if (!wrong) return ExpectOnEveryDevice(kernel, seed);
    SCOPED_TRACE(kernel.Text());
    std::optional<Program> program;
    std::string id;
    const std::string errors = ScalarRunner::Specialised(kernel.Text(), &program, &id);
    EXPECT_FALSE(program);
    EXPECT_TRUE(id == "division-by-zero" || id == "integer-overflow") << errors;
  });
}

}  // namespace
}  // namespace tarsia
