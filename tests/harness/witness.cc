#include "tests/harness/witness.h"

#include "tests/harness/interpreter_witness.h"

namespace tarsia::harness {
namespace {

// The one list of witnesses.
std::vector<const Witness*> Available() {
  static const InterpreterWitness plain(false);
  static const InterpreterWitness checking(true);
  std::vector<const Witness*> out;
  for (const Witness* const witness : {&plain, &checking}) {
    if (witness->Unavailable().empty()) out.push_back(witness);
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
