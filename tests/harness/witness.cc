#include "tests/harness/witness.h"

#include <deque>
#include <sstream>
#include <string>

#include "compiler/pass.h"
#include "support/environment.h"
#include "tests/harness/cuda_witness.h"
#include "tests/harness/emulator_witness.h"
#include "tests/harness/interpreter_witness.h"
#include "tests/harness/pass_witness.h"

namespace tarsia::harness {
namespace {

// Whether the environment selects a witness of this name.
bool IsWanted(std::string_view name) {
  const std::string_view text = Environment("TARSIA_WITNESSES");
  if (text.empty()) return true;
  std::istringstream words{std::string(text)};
  for (std::string word; std::getline(words, word, ',');) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// The list of witnesses.
std::vector<const Witness*> Available() {
  static const InterpreterWitness plain(false);
  static const InterpreterWitness checking(true);
  static const EmulatorWitness sm80(compiler::Target::kSm80);
  static const EmulatorWitness sm89(compiler::Target::kSm89);
  static const EmulatorWitness sm90a(compiler::Target::kSm90a);
  static const CudaWitness cuda;
  static const std::deque<PassWitness> passes = [] {
    std::deque<PassWitness> made;
    for (const compiler::Pass& pass : compiler::AllPasses()) made.emplace_back(pass.name);
    return made;
  }();
  std::vector<const Witness*> all = {&plain, &checking, &sm80, &sm89, &sm90a, &cuda};
  for (const PassWitness& pass : passes) all.push_back(&pass);
  std::vector<const Witness*> out;
  for (const Witness* const witness : all) {
    if (witness->Unavailable().empty() && IsWanted(witness->name())) out.push_back(witness);
  }
  return out;
}

}  // namespace

std::span<const Witness* const> AllWitnesses() {
  static const std::vector<const Witness*> all = Available();
  return all;
}

const Witness& AnyWitness() { return *AllWitnesses().front(); }

}  // namespace tarsia::harness
