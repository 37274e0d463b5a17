// Makes a launchable program from a text, and finds the views of its pointers.
#ifndef TARSIA_TESTS_HARNESS_PROGRAM_H_
#define TARSIA_TESTS_HARNESS_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/program.h"
#include "isa/specialise.h"
#include "layout/mem_layout.h"
#include "support/diagnostic.h"
#include "tests/harness/tensor.h"

namespace tarsia::harness {

// Exactly one of the two is set.
struct Made {
  std::optional<Program> program;
  std::string error;  // rendered
};

// A program of the folder examples/.
SourceFile ReadExample(const std::string& name);

// Parses, validates and specialises. `kernel` may be empty if the text has only one.
Made MakeProgram(const SourceFile& source, std::string_view kernel,
                 const std::vector<Binding>& constants);

// A view of a pointer parameter at the top level of the kernel, whose shape follows from scalar
// parameters and constants.
struct PointerView {
  uint32_t parameter = 0;
  DType type;
  MemLayout layout;  // of the view's shape
  [[nodiscard]] Shape shape() const;
  [[nodiscard]] uint64_t bytes() const { return layout.SizeBytes(type.bits); }
};

// In the order of the text; `scalars` are codes by parameter (entries of pointers are ignored).
// Views whose shape is not known before the launch are left out.
std::vector<PointerView> TopLevelViews(const Program& program,
                                       const std::vector<uint64_t>& scalars);

// The number of a parameter, by its name without '%'.
std::optional<uint32_t> FindParameter(const Program& program, std::string_view name);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_PROGRAM_H_
