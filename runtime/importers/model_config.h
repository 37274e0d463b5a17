// What the configuration beside a model says of its quantisation: quantize_config.json (AutoGPTQ,
// GPTQModel), quant_config.json (AutoAWQ) and config.json (transformers).
#ifndef TARSIA_RUNTIME_IMPORTERS_MODEL_CONFIG_H_
#define TARSIA_RUNTIME_IMPORTERS_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/importers/model.h"
#include "support/result.h"

namespace tarsia {

struct ModelConfig {
  std::string method;             // "gptq", "awq", ..; empty: unknown
  std::string checkpoint_format;  // of GPTQ: "gptq", "gptq_v2"; empty: unknown
  int bits = 0;                   // 0: unknown
  int64_t group = 0;              // 0: unknown; -1: all rows
  std::string group_field;        // "`group_size` of PATH", if the group is known
  // Rules for some layers have other bits or groups: these are known from g_idx and the shapes.
  bool by_layer = false;
};

// Reads the text of a file, whose path is for messages; unknown members do not matter, nor do those
// of which the caller's options say the right value. Errors: no JSON object; a member of GPTQ or
// AWQ with a value that the importers do not know.
Result<ModelConfig> ParseModelConfig(std::string_view text, const std::string& path,
                                     const ModelOptions& options);
// What the files in the folder say together. Without any, all is unknown. Errors: two of them
// contradict each other where the caller's options do not say which is right.
Result<ModelConfig> ReadModelConfig(const std::string& folder, const ModelOptions& options);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_MODEL_CONFIG_H_
