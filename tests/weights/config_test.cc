// The configuration beside a model: what is read of it, and what is refused.
#include "runtime/importers/model_config.h"

#include <gtest/gtest.h>

#include "tests/weights/files.h"

namespace tarsia::weights {
namespace {

// "gptq gptq_v2 4 bits group 32", or the error.
std::string TextOf(const Result<ModelConfig>& config) {
  if (!config.ok()) return config.error().message + "; " + config.error().help;
  return config->method + " " + config->checkpoint_format + " " + std::to_string(config->bits) +
         " bits group " + std::to_string(config->group) + (config->by_layer ? " by layer" : "");
}

std::string Parsed(const std::string& json, const ModelOptions& options = {},
                   const std::string& path = "d/quantize_config.json") {
  return TextOf(ParseModelConfig(json, path, options));
}

struct Files {
  std::string quantize, quant, config;  // empty: there is no such file
};

std::string Read(const Files& files, const ModelOptions& options = {}) {
  Folder folder;
  const std::string model = folder.Write("m.safetensors", "");
  if (!files.quantize.empty()) folder.Write("quantize_config.json", files.quantize);
  if (!files.quant.empty()) folder.Write("quant_config.json", files.quant);
  if (!files.config.empty()) folder.Write("config.json", files.config);
  const std::string path = model.substr(0, model.rfind('/'));
  std::string out = TextOf(ReadModelConfig(path, options));
  for (size_t at = out.find(path); at != std::string::npos; at = out.find(path)) {
    out.replace(at, path.size(), "D");
  }
  return out;
}

std::string Nested(const std::string& quantisation) {
  return "{\"bits\": 7, \"quantization_config\": " + quantisation + "}";
}

TEST(ModelConfig, ReadsTheNamesOfEveryProgram) {
  EXPECT_EQ(Parsed(R"({"quant_method": "gptq", "bits": 3, "group_size": -1})"),
            "gptq  3 bits group -1");
  EXPECT_EQ(Parsed(R"({"quant_method": "gptq", "checkpoint_format": "gptq_v2", "bits": 4})"),
            "gptq gptq_v2 4 bits group 0");
  EXPECT_EQ(Parsed(R"({"method": "gptq", "format": "gptq_v2", "bits": 4, "group_size": 128})"),
            "gptq gptq_v2 4 bits group 128");
  EXPECT_EQ(Parsed(R"({"bits": 4, "group_size": 128, "desc_act": false, "sym": true})"),
            "gptq  4 bits group 128");
  EXPECT_EQ(Parsed(R"({"bits": 4, "checkpoint_format": "gptq"})"), "gptq gptq 4 bits group 0");
  EXPECT_EQ(Parsed(R"({"w_bit": 4, "q_group_size": 64, "version": "GEMM"})"),
            "awq  4 bits group 64");
  EXPECT_EQ(Parsed(R"({"quant_method": "hqq", "bits": "four", "group_size": 1e300})"),
            "hqq  0 bits group 0");
  EXPECT_EQ(Parsed(R"({"bits": null, "quant_method": "gptq", "group_size": null})"),
            "gptq  0 bits group 0");
}

TEST(ModelConfig, ReadsTheQuantisationOfConfigJson) {
  const std::string gptq = R"({"quant_method": "gptq", "bits": 3})";
  EXPECT_EQ(Parsed(Nested(gptq), {}, "d/config.json"), "gptq  3 bits group 0");
  EXPECT_EQ(Parsed("{\"text_config\": " + Nested(gptq) + "}", {}, "d/config.json"),
            "gptq  3 bits group 0");
  EXPECT_EQ(Parsed(R"({"bits": 4, "desc_act": true})", {}, "d/config.json"), "  0 bits group 0");
}

TEST(ModelConfig, RefusesValuesThatAreNotKnown) {
  const auto gptq = [](const std::string& members, const ModelOptions& options = {}) {
    return Parsed(R"({"quant_method": "gptq", )" + members + "}", options);
  };
  const std::string format = "; --format names the format, if this is wrong";
  EXPECT_EQ(gptq(R"("checkpoint_format": "gptq_v3")"),
            "d/quantize_config.json: `checkpoint_format` is \"gptq_v3\", and only gptq and gptq_v2 "
            "are read" +
                format);
  EXPECT_EQ(gptq(R"("checkpoint_format": "gptq_v3", "bits": 4)", {"gptq-v2", 0, 0}),
            "gptq  4 bits group 0");
  EXPECT_EQ(
      gptq(R"("is_marlin_format": true)"),
      "d/quantize_config.json: `is_marlin_format` is true, and this format is not read" + format);
  EXPECT_EQ(gptq(R"("is_marlin_format": false)"), "gptq  0 bits group 0");
  EXPECT_EQ(Parsed(R"({"quant_method": "awq", "version": "gemv"})"),
            "d/quantize_config.json: `version` is \"gemv\", and only gemm is read" + format);
  for (const char* const bits : {"0", "9", "-1", "\"4\"", "4.0", "[]", "1000000000000000000000"}) {
    EXPECT_EQ(gptq("\"bits\": " + std::string(bits)).rfind("d/quantize_config.json: `bits` is ", 0),
              0U)
        << bits;
    EXPECT_EQ(gptq("\"bits\": " + std::string(bits), {"", 4, 0}), "gptq  0 bits group 0") << bits;
  }
  EXPECT_EQ(gptq("\"bits\": 0"),
            "d/quantize_config.json: `bits` is 0, and should be a whole number from 1 to 8; "
            "--bits says how many, if this is wrong");
  for (const char* const group : {"0", "-2", "\"64\"", "1e9", "5000000000"}) {
    EXPECT_EQ(gptq("\"group_size\": " + std::string(group))
                  .rfind("d/quantize_config.json: `group_size` is ", 0),
              0U)
        << group;
  }
  EXPECT_EQ(gptq("\"group_size\": 0"),
            "d/quantize_config.json: `group_size` is 0, and should be a whole number above 0, "
            "or -1 for all rows; --group says how many, if this is wrong");
  EXPECT_EQ(gptq("\"group_size\": 0", {"", 0, 32}), "gptq  0 bits group 0");
  EXPECT_EQ(Parsed(""), "d/quantize_config.json: this is no JSON object; ");
  EXPECT_EQ(Parsed("[1]"), "d/quantize_config.json: this is no JSON object; ");
}

// Layers with rules of their own show in their tensors how many bits they have.
TEST(ModelConfig, RulesForSomeLayers) {
  const auto with = [](const std::string& rules) {
    return Read(
        {R"({"quant_method": "gptq", "bits": 4, "group_size": 32, "dynamic": {)" + rules + "}}", "",
         ""});
  };
  EXPECT_EQ(with(""), "gptq  4 bits group 32");
  EXPECT_EQ(with(R"("-:lm_head": {}, "-:.*gate": false)"), "gptq  4 bits group 32");
  EXPECT_EQ(with(R"("+:.*down.*": {"bits": 8})"), "gptq  0 bits group 0 by layer");
  EXPECT_EQ(with(R"(".*up.*": {"group_size": 64})"), "gptq  0 bits group 0 by layer");
  EXPECT_EQ(with(R"(".*up.*": {"format": "marlin"})").substr(0, 40),
            "D/quantize_config.json: `dynamic` is {\".");
}

TEST(ModelConfig, FilesThatContradictEachOther) {
  const std::string first = R"({"quant_method": "gptq", "bits": 4, "group_size": 32})";
  const std::string second =
      R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": "gptq_v2", "group_size": 32})";
  const std::string v1 = R"({"quant_method": "gptq", "checkpoint_format": "gptq"})";
  EXPECT_EQ(Read({}), "  0 bits group 0");
  EXPECT_EQ(Read({second, "", Nested(first)}), "gptq gptq_v2 4 bits group 32");
  EXPECT_EQ(Read({first, "", Nested(second)}), "gptq gptq_v2 4 bits group 32");
  EXPECT_EQ(Read({v1, "", Nested(second)}),
            "D/config.json: the format is gptq_v2 here, and gptq in D/quantize_config.json; "
            "--format says which one is right");
  EXPECT_EQ(Read({v1, "", Nested(second)}, {"gptq-v2", 0, 0}), "  4 bits group 32");
  EXPECT_EQ(Read({first, R"({"w_bit": 4})", ""}),
            "D/quant_config.json: the method is awq here, and gptq in D/quantize_config.json; "
            "--format says which one is right");
  const std::string eight = R"({"quant_method": "gptq", "bits": 8, "group_size": 32})";
  EXPECT_EQ(Read({first, "", Nested(eight)}),
            "D/config.json: the number of bits is 8 here, and 4 in D/quantize_config.json; --bits "
            "says which one is right");
  EXPECT_EQ(Read({first, "", Nested(eight)}, {"", 4, 0}), "gptq  0 bits group 32");
  const std::string wide = R"({"quant_method": "gptq", "bits": 4, "group_size": 64})";
  EXPECT_EQ(Read({first, "", Nested(wide)}),
            "D/config.json: the size of a group is 64 here, and 32 in D/quantize_config.json; "
            "--group says which one is right");
  EXPECT_EQ(Read({first, "", Nested(wide)}, {"", 0, 64}), "gptq  4 bits group 0");
}

}  // namespace
}  // namespace tarsia::weights
