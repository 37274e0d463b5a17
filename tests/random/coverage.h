// The element type of an instruction, and all possible pairs of instruction and type.
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

// A mnemonic and the code of an element type; 0 for instructions without one.
using Pair = std::pair<Opcode, uint8_t>;

// The operand whose element type is the instruction's; empty if that of the result is.
std::optional<size_t> KeyOperand(const InstRow& row);
// Every pair that a valid program can have.
const std::vector<Pair>& AllPairs();
std::string PairName(const Pair& pair);

// Adds the pairs of a module's instructions. Those whose type is still open are not counted.
void CountPairs(const ValidModule& module, std::map<Pair, int>& counts);

}  // namespace tarsia

#endif  // TARSIA_TESTS_RANDOM_COVERAGE_H_
