// The properties of every module of the fuzzers. A violation aborts with a line that names it.
#ifndef TARSIA_TESTS_FUZZ_MODULE_CHECKS_H_
#define TARSIA_TESTS_FUZZ_MODULE_CHECKS_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#include "isa/bytecode/bytecode.h"
#include "isa/gradient/expand.h"
#include "isa/graph/specialise.h"
#include "isa/rewrite/complex_parts.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "isa/validate.h"

namespace tarsia {

inline void Ensure(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// A valid module survives both forms, and specialises or fails with an error.
inline void CheckValid(const ValidModule& valid) {
  const Module& module = valid.module();
  Diagnostics diagnostics;
  const std::string text = Print(module);
  const auto parsed = Parse(SourceFile("printed", text), diagnostics);
  Ensure(parsed.has_value(), "what is printed can be parsed");
  Ensure(Equal(*parsed, module) || !module.opaque.empty(), "and is the same module");
  EncodeOptions options;
  options.debug = false;
  const auto bytes = Encode(module, options);
  Ensure(bytes.ok(), "a module can be encoded");
  const auto decoded = Decode(BytesOf(*bytes), "encoded");
  Ensure(decoded.ok(), "what is encoded can be decoded");
  Ensure(Equal(*decoded, module), "and is the same module");
  for (const Kernel& kernel : module.kernels) {
    Diagnostics problems;
    const bool done = Specialise(valid, module.Name(kernel), {}, {}, problems).has_value();
    Ensure(done == problems.ok(), "specialisation fails exactly when it says so");
  }
  for (const Graph& graph : module.graphs) {
    Diagnostics problems;
    const auto concrete = SpecialiseGraph(valid, module.Name(graph), {}, problems);
    Ensure(concrete.has_value() == problems.ok(),
           "specialisation of a graph fails exactly when it says so");
    if (!concrete) continue;
    const auto real = SplitComplex(*concrete, problems);
    Ensure(real.has_value(), "complex numbers can be split");
    const bool done = ExpandGradients(*real, {}, problems).has_value();
    Ensure(done == problems.ok(), "derivatives are refused exactly with an error");
  }
}

// Takes the module.
inline void CheckModule(Module module, const SourceFile& source) {
  Diagnostics diagnostics;
  const auto valid = Validate(std::move(module), diagnostics);
  Ensure(valid.has_value() == diagnostics.ok(), "validation fails exactly when it says so");
  static_cast<void>(diagnostics.Render(source));
  if (valid) CheckValid(*valid);
}

}  // namespace tarsia

#endif  // TARSIA_TESTS_FUZZ_MODULE_CHECKS_H_
