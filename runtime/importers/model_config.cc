#include "runtime/importers/model_config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runtime/diagnostics.h"
#include "runtime/files/file.h"

namespace tarsia {
namespace {

using JsonValue = nlohmann::json;

constexpr uint64_t kMostConfigBytes = uint64_t{16} << 20;
constexpr int64_t kMostBits = 8;
constexpr const char* kSayFormat = "--format says which one is right";

// Null if there is none, or if it is null.
const JsonValue* MemberOf(const JsonValue& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

int64_t NumberMember(const JsonValue& object, const char* key) {
  const JsonValue* const member = MemberOf(object, key);
  if (member == nullptr || !member->is_number_integer()) return 0;
  const auto value = member->get<int64_t>();
  return value >= -1 && value <= INT32_MAX ? value : 0;
}

std::string InSmallLetters(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// The object that describes the quantisation: a part of config.json, the whole of another file.
// Null if there is none.
const JsonValue* QuantisationOf(const JsonValue& json, std::string_view path) {
  const JsonValue* const text = MemberOf(json, "text_config");  // of a model for text and images
  for (const JsonValue* const outer : {&json, text}) {
    const JsonValue* const nested =
        outer != nullptr ? MemberOf(*outer, "quantization_config") : nullptr;
    if (nested != nullptr && nested->is_object()) return nested;
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return name == "config.json" ? nullptr : &json;
}

// A member under one of its names, which depend on the program that wrote the file.
struct Member {
  const char* key = "";
  const JsonValue* value = nullptr;  // null: there is none
  [[nodiscard]] std::string Text() const {
    return value != nullptr && value->is_string() ? InSmallLetters(value->get<std::string>()) : "";
  }
};

class ConfigReader {
 public:
  ConfigReader(const JsonValue& config, const std::string& path, const ModelOptions& options)
      : config_(config), path_(path), options_(options) {}

  Result<ModelConfig> Read() {
    FindMethod();
    if (out_.method != "gptq" && out_.method != "awq") {
      out_.bits = static_cast<int>(std::max<int64_t>(NumberMember(config_, "bits"), 0));
      if (out_.bits > kMostBits) out_.bits = 0;
      out_.group = NumberMember(config_, "group_size");
      if (const JsonValue* const groups = MemberOf(config_, "config_groups")) ReadGroups(*groups);
    } else {
      TARSIA_CHECK(ReadFormat());
      TARSIA_CHECK(ReadBits());
      TARSIA_CHECK(ReadGroup());
      TARSIA_CHECK(ReadDynamic());
    }
    if (out_.group != 0) out_.group_field = fmt::format("`group_size` of {}", path_);
    return std::move(out_);
  }

 private:
  [[nodiscard]] Member Find(std::initializer_list<const char*> keys) const {
    for (const char* const key : keys) {
      if (const JsonValue* const value = MemberOf(config_, key)) return {key, value};
    }
    return {};
  }

  [[nodiscard]] Diagnostic Refuse(const Member& member, std::string_view why,
                                  std::string help) const {
    const std::string value =
        member.value->dump(-1, ' ', true, JsonValue::error_handler_t::replace);
    Diagnostic error =
        MakeDiagnostic(diag::kImportConfig, {}, path_,
                       fmt::format("`{}` is {}, {}", member.key, value.substr(0, 60), why));
    error.help = std::move(help);
    return error;
  }

  void FindMethod() {
    out_.method = Find({"quant_method", "method"}).Text();
    if (!out_.method.empty()) return;
    // Old files do not name the method, but members that only it has.
    const bool awq = Find({"w_bit"}).value != nullptr;
    const bool gptq = Find({"checkpoint_format", "is_marlin_format"}).value != nullptr ||
                      (Find({"bits"}).value != nullptr && Find({"desc_act"}).value != nullptr);
    if (awq || gptq) out_.method = awq ? "awq" : "gptq";
  }

  // Of the tensors.
  Status ReadFormat() {
    if (!options_.format.empty()) return OkStatus();
    const bool awq = out_.method == "awq";
    const Member format = awq ? Find({"version", "format"}) : Find({"checkpoint_format", "format"});
    const std::string text = format.Text();
    const bool known = awq ? text == "gemm" : text == "gptq" || text == "gptq_v2";
    if (format.value != nullptr && !known) {
      return Refuse(format, awq ? "and only gemm is read" : "and only gptq and gptq_v2 are read",
                    "--format names the format, if this is wrong");
    }
    if (!awq) out_.checkpoint_format = text;
    const Member marlin = Find({"is_marlin_format"});
    if (marlin.value == nullptr || *marlin.value == false) return OkStatus();
    return Refuse(marlin, "and this format is not read",
                  "--format names the format, if this is wrong");
  }

  Status ReadBits() {
    const Member bits = Find({"bits", "w_bit"});
    if (bits.value == nullptr || options_.bits != 0) return OkStatus();
    const int64_t value = bits.value->is_number_integer() ? NumberMember(config_, bits.key) : 0;
    if (value < 1 || value > kMostBits) {
      return Refuse(bits, "and should be a whole number from 1 to 8",
                    "--bits says how many, if this is wrong");
    }
    out_.bits = static_cast<int>(value);
    return OkStatus();
  }

  Status ReadGroup() {
    const Member group = Find({"group_size", "q_group_size"});
    if (group.value == nullptr || options_.group != 0) return OkStatus();
    out_.group = NumberMember(config_, group.key);
    if (out_.group != 0) return OkStatus();
    return Refuse(group, "and should be a whole number above 0, or -1 for all rows",
                  "--group says how many, if this is wrong");
  }

  // Rules of GPTQModel for the layers whose names match a pattern. Those that are not quantised
  // have no codes, and codes, g_idx and scales show how many bits and which groups the others have.
  Status ReadDynamic() {
    const Member dynamic = Find({"dynamic"});
    if (dynamic.value == nullptr) return OkStatus();
    for (const JsonValue& rule : *dynamic.value) {
      for (const char* const key : {"quant_method", "method", "checkpoint_format", "format"}) {
        if (options_.format.empty() && MemberOf(rule, key) != nullptr) {
          return Refuse(dynamic, "and rules for the format of some layers are not read",
                        "--format names the format of all layers");
        }
      }
      const bool differs =
          MemberOf(rule, "bits") != nullptr || MemberOf(rule, "group_size") != nullptr;
      out_.by_layer = out_.by_layer || differs;
    }
    return OkStatus();
  }

  // compressed-tensors has several groups of layers; they agree on the bits, or nothing is known.
  void ReadGroups(const JsonValue& groups) {
    if (!groups.is_object()) return;
    int64_t bits = 0;
    for (const auto& group : groups) {
      const JsonValue* const weights = MemberOf(group, "weights");
      if (weights == nullptr) continue;
      const int64_t here = NumberMember(*weights, "num_bits");
      if (bits != 0 && here != bits) return;
      bits = here;
    }
    out_.bits = static_cast<int>(bits > 0 && bits <= kMostBits ? bits : 0);
  }

  const JsonValue& config_;
  const std::string& path_;
  const ModelOptions& options_;
  ModelConfig out_;
};

struct ConfigFile {
  std::string path;
  ModelConfig config;
};

// Adds a value that another file may have said already.
template <typename T>
Status Join(const char* what, const char* help, const ConfigFile& from, const T& value,
            std::pair<T, std::string>* to) {
  if (value == T()) return OkStatus();
  if (to->first != T() && to->first != value) {
    Diagnostic error = MakeDiagnostic(
        diag::kImportConfig, {}, from.path,
        fmt::format("{} is {} here, and {} in {}", what, value, to->first, to->second));
    error.help = help;
    return error;
  }
  *to = {value, from.path};
  return OkStatus();
}

Result<ModelConfig> JoinConfigs(const std::vector<ConfigFile>& files, const ModelOptions& options) {
  std::pair<std::string, std::string> method, format;
  std::pair<int, std::string> bits;
  std::pair<int64_t, std::string> group;
  ModelConfig out;
  for (const ConfigFile& file : files) {
    const ModelConfig& config = file.config;
    if (options.format.empty()) {
      TARSIA_CHECK(Join("the method", kSayFormat, file, config.method, &method));
      TARSIA_CHECK(Join("the format", kSayFormat, file, config.checkpoint_format, &format));
    }
    if (options.bits == 0) {
      TARSIA_CHECK(
          Join("the number of bits", "--bits says which one is right", file, config.bits, &bits));
    }
    if (options.group == 0) {
      TARSIA_CHECK(Join("the size of a group", "--group says which one is right", file,
                        config.group, &group));
    }
    out.by_layer = out.by_layer || config.by_layer;
    if (config.group != 0) out.group_field = config.group_field;
  }
  out.method = method.first;
  out.checkpoint_format = format.first;
  out.bits = out.by_layer ? 0 : bits.first;
  out.group = out.by_layer ? 0 : group.first;
  return out;
}

}  // namespace

Result<ModelConfig> ParseModelConfig(std::string_view text, const std::string& path,
                                     const ModelOptions& options) {
  const auto json = JsonValue::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) {
    return MakeDiagnostic(diag::kImportConfig, {}, path, "this is no JSON object");
  }
  const JsonValue* const config = QuantisationOf(json, path);
  return config == nullptr ? ModelConfig() : ConfigReader(*config, path, options).Read();
}

Result<ModelConfig> ReadModelConfig(const std::string& folder, const ModelOptions& options) {
  std::vector<ConfigFile> files;
  for (const char* const name : {"quantize_config.json", "quant_config.json", "config.json"}) {
    const std::string path = folder + "/" + name;
    if (access(path.c_str(), F_OK) != 0) continue;
    TARSIA_TRY(const std::string text, ReadFile(path, kMostConfigBytes));
    TARSIA_TRY(ModelConfig config, ParseModelConfig(text, path, options));
    files.push_back({path, std::move(config)});
  }
  return JoinConfigs(files, options);
}

}  // namespace tarsia
