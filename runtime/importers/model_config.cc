#include "runtime/importers/model_config.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "runtime/diagnostics.h"
#include "runtime/files/file.h"

namespace tarsia {
namespace {

constexpr uint64_t kMostConfigBytes = uint64_t{16} << 20;

const nlohmann::json* Member(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string TextMember(const nlohmann::json& object, const char* key) {
  const nlohmann::json* const member = Member(object, key);
  return member != nullptr && member->is_string() ? member->get<std::string>() : "";
}

int64_t NumberMember(const nlohmann::json& object, const char* key) {
  const nlohmann::json* const member = Member(object, key);
  if (member == nullptr || !member->is_number_integer()) return 0;
  const auto value = member->get<int64_t>();
  return value >= -1 && value <= INT32_MAX ? value : 0;
}

// compressed-tensors has several groups of layers; they agree on the bits, or nothing is known.
void ReadConfigGroups(const nlohmann::json& groups, ModelConfig* out) {
  if (!groups.is_object()) return;
  int64_t bits = 0;
  for (const auto& group : groups) {
    const nlohmann::json* const weights = Member(group, "weights");
    if (weights == nullptr) continue;
    const int64_t here = NumberMember(*weights, "num_bits");
    if (bits != 0 && here != bits) return;
    bits = here;
  }
  out->bits = static_cast<int>(bits > 0 && bits <= 8 ? bits : 0);
}

}  // namespace

Result<ModelConfig> ParseModelConfig(std::string_view text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) {
    return MakeDiagnostic(diag::kImportConfig, {}, "the configuration", "this is no JSON object");
  }
  const nlohmann::json* const nested = Member(json, "quantization_config");
  const nlohmann::json& config = nested != nullptr && nested->is_object() ? *nested : json;
  ModelConfig out;
  out.method = TextMember(config, "quant_method");
  out.checkpoint_format = TextMember(config, "checkpoint_format");
  const int64_t bits = NumberMember(config, "bits");
  out.bits = static_cast<int>(bits > 0 && bits <= 8 ? bits : 0);
  out.group = NumberMember(config, "group_size");
  const nlohmann::json* const groups = Member(config, "config_groups");
  if (groups != nullptr) ReadConfigGroups(*groups, &out);
  return out;
}

Result<ModelConfig> ReadModelConfig(const std::string& folder) {
  for (const char* const name : {"quantize_config.json", "config.json"}) {
    const std::string path = folder + "/" + name;
    if (access(path.c_str(), F_OK) != 0) continue;
    TARSIA_TRY(const std::string text, ReadFile(path, kMostConfigBytes));
    auto config = ParseModelConfig(text);
    if (config.ok()) return config;
    return MakeDiagnostic(diag::kImportConfig, {}, path, "this is no JSON object");
  }
  return ModelConfig();
}

}  // namespace tarsia
