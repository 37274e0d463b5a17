// The files of an execution: inputs that are read part by part, outputs that appear under their
// names when they are complete.
#ifndef TARSIA_TOOLS_REDUCE_OPEN_FILES_H_
#define TARSIA_TOOLS_REDUCE_OPEN_FILES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/plan.h"
#include "tools/tensor_io.h"

namespace tarsia::tools {

struct ReduceFiles {
  std::map<std::string, std::string> inputs;   // a file for each input; a number for a scalar
  std::map<std::string, std::string> outputs;  // files for some outputs
  std::vector<std::vector<std::string>> constants{};  // as of ExtentConstants
  std::vector<uint32_t> in_place{};  // by output: the input that it is declared `in`, if any
};

// Thread-safe after Open.
class OpenFiles {
 public:
  // `writes`: creates the outputs; otherwise they are dropped. Returns an exit code; errors are
  // printed.
  int Open(const Plan& plan, const ReduceFiles& files, bool writes);
  // All outputs appear. Returns an exit code.
  int Commit();

  // Numbers are those of the graph. An output without a file is dropped. They keep the first error.
  bool Read(size_t input, uint64_t offset, std::span<uint8_t> to);
  bool Write(size_t output, uint64_t offset, std::span<const uint8_t> from);
  bool Keep(const Status& status);
  [[nodiscard]] std::optional<Diagnostic> error();

 private:
  struct Input {
    InputTensorFile file;
    std::vector<uint8_t> value;  // in place of a file
  };
  int OpenInputOf(size_t number, const PlanTensor& tensor, const ReduceFiles& files);
  int CheckOutputs(const Plan& plan, const ReduceFiles& files) const;
  int OpenOutputOf(const PlanTensor& tensor, const ReduceFiles& files);

  std::vector<Input> inputs_;
  std::vector<std::optional<OutputTensorFile>> outputs_;
  std::mutex writing_;
  std::mutex mutex_;  // of the error
  std::optional<Diagnostic> error_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_OPEN_FILES_H_
