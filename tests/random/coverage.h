// Which element type an instruction is about, and all pairs of instruction and type that can be.
#ifndef TARSIA_TESTS_RANDOM_COVERAGE_H_
#define TARSIA_TESTS_RANDOM_COVERAGE_H_

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isa/instruction.h"
#include "isa/validate.h"

namespace tarsia {

// A mnemonic and the code of an element type; 0 for instructions that are about none.
using Pair = std::pair<Opcode, uint8_t>;

// The operand whose element type is the instruction's; none where the result's is.
std::optional<size_t> KeyOperand(const InstRow& row);
// Every pair that a valid program can have.
const std::vector<Pair>& AllPairs();
std::string PairName(const Pair& pair);

// Adds the pairs of a module's instructions. Those whose type is still open count for nothing.
void CountPairs(const ValidModule& module, std::map<Pair, int>& counts);

}  // namespace tarsia

#endif  // TARSIA_TESTS_RANDOM_COVERAGE_H_
