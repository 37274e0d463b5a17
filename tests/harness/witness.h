// Who runs programs: the interpreter, and the compiler with the PTX emulator; whoever comes later
// (a GPU) derives from Witness, is added to AllWitnesses(), and sees every case of every test.
#ifndef TARSIA_TESTS_HARNESS_WITNESS_H_
#define TARSIA_TESTS_HARNESS_WITNESS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isa/program.h"
#include "support/diagnostic.h"

namespace tarsia::harness {

// Host memory behind a pointer parameter. A witness with a memory of its own copies both ways.
struct MemoryArgument {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
  bool writable = false;
};
struct ScalarArgument {
  DType type;
  uint64_t code = 0;
};
using Argument = std::variant<MemoryArgument, ScalarArgument>;

struct Found {
  std::string id;    // of the diagnostic
  std::string text;  // rendered
};

// What a launch came to.
struct Outcome {
  std::string error;  // rendered; empty when it ran to its end
  std::string fault;  // what the witness itself did wrong; a program with findings may cause it
  std::vector<Found> findings;     // of checking witnesses
  std::vector<std::string> lines;  // printed
};

class Witness {
 public:
  virtual ~Witness() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // "" when it can run here, otherwise why not.
  [[nodiscard]] virtual std::string Unavailable() const { return ""; }
  // It reports findings, and runs blocks one after the other.
  [[nodiscard]] virtual bool checks() const { return false; }
  // What this witness compiles for, as one of many; 0 for none.
  [[nodiscard]] virtual int target_number() const { return 0; }
  // What is run to run a program: of witnesses that say the same, one is enough. "" says nothing.
  [[nodiscard]] virtual std::string CodeOf(const Program& /*program*/,
                                           const SourceFile& /*source*/) const {
    return "";
  }
  // It outlives programs with findings, which may do anything.
  [[nodiscard]] virtual bool bears_findings() const { return true; }
  // Arguments by parameter. Writes the outputs in place.
  virtual Outcome Run(const Program& program, const SourceFile& source,
                      std::span<const Argument> arguments) const = 0;
};

// Those that can run here, at least one of them checking. They live as long as the process. The
// environment variable TARSIA_WITNESSES leaves only those whose names contain one of its words
// (separated by commas): `interpreter,cuda`.
std::span<const Witness* const> AllWitnesses();
// The fastest one, for tests that need just any right result.
const Witness& AnyWitness();

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_WITNESS_H_
