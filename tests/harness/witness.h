// A witness runs programs: the interpreter, the compiler with the PTX emulator, the driver. A new
// one derives from Witness, is added to AllWitnesses(), and runs every case of every test.
#ifndef TARSIA_TESTS_HARNESS_WITNESS_H_
#define TARSIA_TESTS_HARNESS_WITNESS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.h"
#include "launch/arguments.h"
#include "support/diagnostic.h"

namespace tarsia::harness {

// By parameter. Buffers are host memory; a witness with its own memory copies in both directions.
using launch::Argument;

struct Found {
  std::string id;    // of the diagnostic
  std::string text;  // rendered
};

// The outcome of a launch.
struct Outcome {
  std::string error;  // rendered; empty when it ran to its end
  std::string fault;  // a fault of the witness itself; a program with findings may cause it
  std::vector<Found> findings;     // of checking witnesses
  std::vector<std::string> lines;  // printed
};

class Witness {
 public:
  virtual ~Witness() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // "" if it can run here, otherwise the reason why not.
  [[nodiscard]] virtual std::string Unavailable() const { return ""; }
  // Whether it reports findings and runs blocks one after the other.
  [[nodiscard]] virtual bool checks() const { return false; }
  // The number of the witness's compilation target; 0: none.
  [[nodiscard]] virtual int target_number() const { return 0; }
  // The code that runs for a program: of witnesses with the same code, one is enough. "": unknown.
  [[nodiscard]] virtual std::string CodeOf(const Program& /*program*/,
                                           const SourceFile& /*source*/) const {
    return "";
  }
  // Whether it survives programs with findings, which may do anything.
  [[nodiscard]] virtual bool bears_findings() const { return true; }
  // Writes the outputs in place.
  virtual Outcome Run(const Program& program, const SourceFile& source,
                      std::span<const Argument> arguments) const = 0;
};

// The witnesses that can run here, at least one of them checking. They live as long as the process.
// The environment variable TARSIA_WITNESSES selects those whose names contain one of its words
// (separated by commas): `interpreter,cuda`.
std::span<const Witness* const> AllWitnesses();
// The fastest one, for tests that need any correct result.
const Witness& AnyWitness();

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_WITNESS_H_
