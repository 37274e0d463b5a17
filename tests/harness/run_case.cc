#include "tests/harness/run_case.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "compiler/target.h"
#include "tests/harness/codec.h"
#include "tests/settings.h"

namespace tarsia::harness {
namespace {

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// One launch of one case: its memory, its arguments, and its failures.
class Launcher {
 public:
  Launcher(const Program& program, const Case& c, const Witness& witness, Poison poison)
      : program_(program), case_(c), witness_(witness), poison_(poison) {}

  CaseResult Run() {
    BindScalars();
    BindPointers();
    if (!result_.ok()) return std::move(result_);
    const Outcome outcome = witness_.Run(program_, case_.source, Arguments());
    // A program with a finding has undefined behaviour; only checking witnesses are judged.
    if (!case_.findings.empty() && !witness_.checks() && !outcome.fault.empty()) {
      return std::move(result_);
    }
    if (!outcome.fault.empty()) Fail("did wrong: " + outcome.fault);
    JudgeMemory();
    if (!JudgeError(outcome)) return std::move(result_);
    JudgeFindings(outcome);
    JudgeLines(outcome);
    JudgeOutputs();
    return std::move(result_);
  }

 private:
  struct Pointer {
    std::unique_ptr<GuardedMemory> memory;
    bool writable = false;
    bool viewed = false;
  };

  void Fail(std::string text) { result_.failures.push_back(std::move(text)); }

  [[nodiscard]] const Kernel& kernel() const { return program_.kernel(); }
  [[nodiscard]] std::string NameOf(uint32_t i) const { return std::string(kernel().ValueName(i)); }

  std::optional<uint32_t> Find(const std::string& name, bool pointer) {
    const auto found = FindParameter(program_, name);
    if (found && kernel().params[*found].is_pointer == pointer) return found;
    Fail("the kernel has no " + std::string(pointer ? "pointer" : "scalar") + " `%" + name + "`");
    return std::nullopt;
  }

  void BindScalars() {
    scalars_.assign(kernel().params.size(), 0);
    std::set<uint32_t> bound;
    for (const ScalarInput& scalar : case_.scalars) {
      const auto i = Find(scalar.name, false);
      if (!i) continue;
      scalars_[*i] = scalar.code;
      bound.insert(*i);
    }
    for (uint32_t i = 0; i < kernel().params.size(); ++i) {
      if (kernel().params[i].is_pointer || bound.contains(i) || !case_.error.empty()) continue;
      Fail("the case has no value for `%" + NameOf(i) + "`");
    }
  }

  void BindPointers() {
    views_ = TopLevelViews(program_, scalars_);
    pointers_.resize(kernel().params.size());
    for (uint32_t i = 0; i < kernel().params.size(); ++i) {
      if (kernel().params[i].is_pointer) MakeMemory(i);
    }
    for (const Output& output : case_.outputs) {
      if (const auto i = Find(output.name, true)) pointers_[*i].writable = true;
    }
    std::set<uint32_t> bound;
    for (const Input& input : case_.inputs) {
      const auto i = Find(input.name, true);
      if (!i) continue;
      WriteInput(*i, input);
      bound.insert(*i);
    }
    for (uint32_t i = 0; i < pointers_.size(); ++i) {
      Pointer& pointer = pointers_[i];
      if (pointer.memory == nullptr) continue;
      pointer.memory->Seal();
      if (bound.contains(i) || pointer.writable) continue;
      pointer.writable = true;  // the case does not mention it: it may be written
      if (pointer.viewed && case_.error.empty()) {
        Fail("the case does not mention `%" + NameOf(i) + "`");
      }
    }
  }

  // The first view of a pointer defines its contents; other views may be larger.
  void MakeMemory(uint32_t i) {
    const PointerView* first = nullptr;
    uint64_t bytes = 0;
    for (const PointerView& view : views_) {
      if (view.parameter != i) continue;
      if (first == nullptr) first = &view;
      bytes = std::max(bytes, view.bytes());
    }
    for (const Input& input : case_.inputs) {
      if (input.raw && input.name == kernel().ValueName(i)) {
        bytes = first == nullptr ? input.bytes.size() : bytes;
      }
    }
    Pointer& pointer = pointers_[i];
    pointer.viewed = first != nullptr;
    pointer.memory = first != nullptr ? std::make_unique<GuardedMemory>(first->layout, first->type,
                                                                        bytes, poison_)
                                      : std::make_unique<GuardedMemory>(bytes, poison_);
  }

  void WriteInput(uint32_t i, const Input& input) {
    GuardedMemory& memory = *pointers_[i].memory;
    if (input.raw) {
      if (input.bytes.size() != memory.bytes()) {
        Fail("`%" + input.name + "` has " + std::to_string(memory.bytes()) + " bytes, and " +
             std::to_string(input.bytes.size()) + " are given");
      }
      memory.WriteBytes(input.bytes);
      return;
    }
    const auto view = std::find_if(views_.begin(), views_.end(),
                                   [&](const PointerView& v) { return v.parameter == i; });
    if (view == views_.end()) return Fail("no view tells the shape of `%" + input.name + "`");
    if (view->type != input.value.type || view->shape() != input.value.shape) {
      return Fail("`%" + input.name + "` is viewed as " + std::string(DTypeName(view->type)) +
                  ToText(view->shape()) + ", and " + std::string(DTypeName(input.value.type)) +
                  ToText(input.value.shape) + " is given");
    }
    memory.Write(input.value);
  }

  std::vector<Argument> Arguments() {
    std::vector<Argument> out;
    for (uint32_t i = 0; i < pointers_.size(); ++i) {
      if (pointers_[i].memory != nullptr) {
        GuardedMemory& memory = *pointers_[i].memory;
        out.emplace_back(launch::Buffer{memory.data(), memory.bytes(), pointers_[i].writable});
      } else {
        out.emplace_back(launch::ScalarValue{program_.type(i).dtype, scalars_[i]});
      }
    }
    return out;
  }

  void JudgeMemory() {
    for (uint32_t i = 0; i < pointers_.size(); ++i) {
      if (pointers_[i].memory == nullptr) continue;
      const std::string damage = pointers_[i].memory->FindDamage(pointers_[i].writable);
      if (!damage.empty()) Fail("`%" + NameOf(i) + "`: " + damage);
    }
  }

  // Returns whether there is more to judge.
  bool JudgeError(const Outcome& outcome) {
    if (case_.error.empty()) {
      if (!outcome.error.empty()) Fail("failed: " + outcome.error);
      return outcome.error.empty();
    }
    if (outcome.error.empty()) {
      Fail("must fail with " + Quoted(case_.error) + ", and did not");
    } else if (outcome.error.find(case_.error) == std::string::npos) {
      Fail("must fail with " + Quoted(case_.error) + ", and failed with " + outcome.error);
    }
    return false;
  }

  void JudgeFindings(const Outcome& outcome) {
    if (!witness_.checks()) return;
    std::set<std::string> expected(case_.findings.begin(), case_.findings.end());
    std::set<std::string> seen;
    for (const Found& found : outcome.findings) {
      seen.insert(found.id);
      if (!expected.contains(found.id)) Fail("unexpected finding: " + found.text);
    }
    for (const std::string& id : expected) {
      if (!seen.contains(id)) Fail("no finding `" + id + "`");
    }
  }

  void JudgeLines(const Outcome& outcome) {
    if (case_.lines.empty()) return;
    std::vector<std::string> expected = case_.lines;
    std::vector<std::string> got = outcome.lines;
    if (!witness_.checks()) {  // blocks print in any order
      std::sort(expected.begin(), expected.end());
      std::sort(got.begin(), got.end());
    }
    for (size_t i = 0; i < std::max(expected.size(), got.size()); ++i) {
      const std::string want = i < expected.size() ? Quoted(expected[i]) : "nothing";
      const std::string have = i < got.size() ? Quoted(got[i]) : "nothing";
      if (want == have) continue;
      return Fail("line " + std::to_string(i + 1) + " that is printed: expected " + want +
                  ", got " + have);
    }
  }

  void JudgeOutputs() {
    for (const Output& output : case_.outputs) {
      const auto i = FindParameter(program_, output.name);
      if (!i || pointers_[*i].memory == nullptr) continue;
      result_.outputs.push_back(pointers_[*i].memory->Read());
      if (!case_.findings.empty() && !witness_.checks()) continue;
      const std::string difference = Compare(output.expected, result_.outputs.back());
      if (!difference.empty()) Fail("`%" + output.name + "` " + difference);
    }
  }

  const Program& program_;
  const Case& case_;
  const Witness& witness_;
  const Poison poison_;
  std::vector<uint64_t> scalars_;
  std::vector<PointerView> views_;
  std::vector<Pointer> pointers_;
  CaseResult result_;
};

}  // namespace

std::string CaseResult::Text(const Case& c) const {
  std::string out;
  for (const std::string& failure : failures) {
    out += (c.where.empty() ? "" : c.where + ": ") + c.title + ": " + failure + "\n";
  }
  return out;
}

CaseResult RunProgram(const Program& program, const Case& c, const Witness& witness,
                      Poison poison) {
  if (!c.findings.empty() && !witness.bears_findings()) return {};
  return Launcher(program, c, witness, poison).Run();
}

CaseResult RunCase(const Case& c, const Witness& witness, Poison poison) {
  const Made made = MakeProgram(c.source, c.kernel, c.constants);
  if (made.program) return RunProgram(*made.program, c, witness, poison);
  CaseResult result;
  if (c.error.empty()) {
    result.failures.push_back("no program: " + made.error);
  } else if (made.error.find(c.error) == std::string::npos) {
    result.failures.push_back("must fail with " + Quoted(c.error) + ", and failed with " +
                              made.error);
  }
  return result;
}

namespace {

// Whether a case is for a witness.
bool IsFor(const Witness& witness, const Case& c) {
  const auto target = static_cast<size_t>(witness.target_number());
  if (target == 0 || IsLong()) return true;
  switch (c.compiled) {
    case Case::Compiled::kAll:
      return true;
    case Case::Compiled::kNone:
      return false;
    case Case::Compiled::kOneInTurn:
      break;
  }
  size_t hash = std::hash<std::string_view>()(c.source.text());
  for (const Binding& constant : c.constants) {
    hash = hash * 31 + std::hash<std::string>()(constant.text);
  }
  return target == hash % compiler::AllTargets().size() + 1;
}

}  // namespace

CaseResult RunEverywhere(const Case& c, const Program* program) {
  const Made made = program == nullptr ? MakeProgram(c.source, c.kernel, c.constants) : Made();
  if (program == nullptr && made.program) program = &*made.program;
  CaseResult all;
  std::set<std::string> codes;
  Poison poison = Poison::kNan;
  for (const Witness* const witness : AllWitnesses()) {
    if (!IsFor(*witness, c)) continue;
    const std::string code = program != nullptr ? witness->CodeOf(*program, c.source) : "";
    if (!code.empty() && !codes.insert(code).second) continue;
    CaseResult one = program != nullptr ? RunProgram(*program, c, *witness, poison)
                                        : RunCase(c, *witness, poison);
    for (std::string& failure : one.failures) {
      all.failures.push_back(std::string(witness->name()) + ": " + std::move(failure));
    }
    if (all.outputs.empty()) all.outputs = std::move(one.outputs);
    poison = poison == Poison::kNan ? Poison::kPattern : Poison::kNan;
  }
  return all;
}

}  // namespace tarsia::harness
