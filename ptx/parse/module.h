// A parsed PTX module. Parsing is the only way to make one; it is immutable and can be loaded into
// any number of memories.
//
//   module     .version N.N .target name, .. [.address_size 64] { directive }
//   directive  [linkage] (.entry | .func [results]) name [params] { bound } ( ; | { body } )
//            | [linkage] space [.align n] type name [ [n] ] [= initialiser] ;
//            | .file, .section, .pragma, .loc (read over)
//   body       { .reg, .local, .shared, .param declarations, labels, scopes in braces, instructions
//   }
#ifndef TARSIA_PTX_PARSE_MODULE_H_
#define TARSIA_PTX_PARSE_MODULE_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/parse/source_lines.h"
#include "ptx/table/code.h"
#include "ptx/table/findings.h"
#include "support/diagnostic.h"

namespace tarsia::ptx {

class Module {
 public:
  std::string source_name;
  std::string version;
  std::vector<std::string> targets;
  std::vector<Function> functions;
  std::vector<Variable> variables;
  std::map<uint32_t, std::string> files;  // names of .file, by the numbers that .loc gives
  // Parsed with ParseModuleInParts: what is wrong outside of functions, if anything.
  bool in_parts = false;
  std::vector<Diagnostic> errors;
  SourceLines lines;  // of .loc
  std::vector<FrameVariable> frame_variables;

  // The entry of this name, or null.
  [[nodiscard]] const Function* FindEntry(std::string_view name) const;
  // "line 12", followed by "(k.cu:7)" where the source is known.
  [[nodiscard]] std::string LineText(const Location& location, uint32_t loc) const;
  // The name of a file of .file, or "".
  [[nodiscard]] std::string_view FileName(uint32_t file) const;
  // The instruction of this Inst::id, or null.
  [[nodiscard]] const Inst* FindInst(uint32_t id) const;
  // The numbers of the functions that one calls or may call, with its own.
  [[nodiscard]] std::vector<uint32_t> Reachable(uint32_t function) const;
  // Those of them with errors, but for functions that are only called through a register.
  [[nodiscard]] std::vector<const Function*> BrokenFrom(const Function& entry) const;
  [[nodiscard]] uint32_t NumberOf(const Function& function) const {
    return static_cast<uint32_t>(&function - functions.data());
  }
};

// Fills the line of the source of a finding at an instruction.
void SetSource(const Module& module, const Inst& inst, Finding* finding);

// Parses PTX text. Null if there are errors, all of which are added to `diagnostics`.
std::shared_ptr<const Module> ParseModule(const SourceFile& source, Diagnostics* diagnostics);

// The same, but errors are kept with the function that they are in (Function::errors) or with the
// module, and other entries are good to launch. Null if there is no module at all: no .version.
std::shared_ptr<const Module> ParseModuleInParts(const SourceFile& source,
                                                 Diagnostics* diagnostics);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_MODULE_H_
