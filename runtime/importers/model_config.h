// What config.json or quantize_config.json beside a model says of its quantisation.
#ifndef TARSIA_RUNTIME_IMPORTERS_MODEL_CONFIG_H_
#define TARSIA_RUNTIME_IMPORTERS_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tarsia {

struct ModelConfig {
  std::string method;             // "gptq", "awq", ..; empty: unknown
  std::string checkpoint_format;  // of GPTQ: "gptq", "gptq_v2"
  int bits = 0;
  int64_t group = 0;  // 0: unknown; -1: all rows
};

// Reads the text of either file; unknown members do not matter. Errors: no JSON object.
Result<ModelConfig> ParseModelConfig(std::string_view text);
// Of the folder; quantize_config.json comes first. Without either file all is unknown.
Result<ModelConfig> ReadModelConfig(const std::string& folder);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_MODEL_CONFIG_H_
