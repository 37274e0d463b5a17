// Module to bytes and back. The format: docs/bytecode.md; in short at the head of
// isa/bytecode/format.h.
#ifndef TARSIA_ISA_BYTECODE_BYTECODE_H_
#define TARSIA_ISA_BYTECODE_BYTECODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "isa/module.h"
#include "isa/version.h"
#include "support/result.h"

namespace tarsia {

// The lowest version that can express the module, which is written by default. `needs`, if given,
// is set to the name of the first clause or instruction that needs it (unchanged if every version
// can express the module).
BytecodeVersion LowestVersion(const Module& module, std::string_view* needs = nullptr);

struct EncodeOptions {
  // The newest version that the reader knows; a module that needs a newer one is an error.
  std::optional<BytecodeVersion> version;
  bool debug = true;     // write the debug locations if the module has them
  std::string producer;  // the program that wrote it, for people; replaces that of the module
};

// Canonical: modules that are Equal have equal bytes, up to debug locations. The module must be one
// that Parse or Decode could have made (values numbered in the order of their definition, valid
// names), otherwise the bytes will not decode. Errors: see EncodeOptions::version; more than 256
// MiB.
Result<std::string> Encode(const Module& module, const EncodeOptions& options = {});

// Treats its input as hostile: checks every count before it allocates, and accepts exactly what
// Encode writes, so that encoding the module again gives the same bytes. Time and memory are linear
// in the size. Without debug locations, those of the module are byte offsets and its source_name is
// `name`. Errors have byte offsets as locations.
Result<Module> Decode(std::span<const uint8_t> bytes, std::string name);

}  // namespace tarsia

#endif  // TARSIA_ISA_BYTECODE_BYTECODE_H_
