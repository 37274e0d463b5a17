// Files of quantised models: which weights they hold, in which format, and how to read them.
#ifndef TARSIA_RUNTIME_IMPORTERS_MODEL_H_
#define TARSIA_RUNTIME_IMPORTERS_MODEL_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/weights/packed_weights.h"
#include "support/result.h"

namespace tarsia {

struct ModelOptions {
  std::string format;  // "gptq-v1", "gptq-v2" or "awq" for such layers; empty: as the files say
  int bits = 0;        // 0: as the files say
  int64_t group = 0;   // 0: as the files say; -1: all rows
};

// One matrix of weights.
struct ModelWeights {
  std::string name;    // of the layer; with ".3" behind it for matrix 3 of several
  std::string format;  // "gptq-v1", "awq", "Q4_K", ..
  uint64_t bytes = 0;  // of its tensors in the files
  // Finds codes and scales. It keeps the model's files open, from which the codes are read.
  std::function<Result<CodeSource>()> read;
};

// Weights that cannot be imported: to read them is this error.
ModelWeights RefusedWeights(std::string name, std::string format, uint64_t bytes,
                            const Diagnostic& why);
// Of one tensor, so that a header of few bytes cannot ask for any number of files.
inline constexpr int64_t kMostMatrices = 4096;
Diagnostic TooManyMatrices(std::string_view tensor, int64_t matrices);

class Model {
 public:
  // Opens a .safetensors file, a folder with such files, or a .gguf file. Reads the
  // configuration beside it (model_config.h). Errors: a file that cannot be read or is damaged;
  // nothing in a known format.
  static Result<Model> Open(const std::string& path, const ModelOptions& options);

  [[nodiscard]] std::span<const ModelWeights> weights() const { return weights_; }  // by name
  // Tensors that are not part of any quantised weights: they are not imported.
  [[nodiscard]] std::span<const std::string> others() const { return others_; }
  // What a user should know of the files: which ones are not read.
  [[nodiscard]] std::span<const std::string> notes() const { return notes_; }

 private:
  std::vector<ModelWeights> weights_;
  std::vector<std::string> others_;
  std::vector<std::string> notes_;
};

// A file name for weights: the name with all but letters, digits and `.`, `-`, `_` replaced by `_`.
std::string FileNameOf(const std::string& name);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_MODEL_H_
