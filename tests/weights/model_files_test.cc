// The files of a model in a folder, with and without an index.
#include "runtime/importers/model_files.h"

#include <gtest/gtest.h>

#include "runtime/importers/model.h"
#include "tests/weights/files.h"

namespace tarsia::weights {
namespace {

// Two files, each with one layer of one weight.
class ModelFilesTest : public testing::Test {
 protected:
  ModelFilesTest() {
    path_ = Write("a.safetensors", "l");
    path_ = path_.substr(0, path_.rfind('/'));
    Write("b.safetensors", "m");
  }

  std::string Write(const std::string& file, const std::string& layer) {
    return folder_.Write(
        file, SafetensorsFile({{layer + ".weight", "I8", {1, 1}, "x"},
                               {layer + ".weight_scale", "F32", {1}, std::string("\0\0\0?", 4)}}));
  }
  void Index(const std::string& json) { folder_.Write("model.safetensors.index.json", json); }

  // The names of the weights and the notes, or the error.
  std::string Opened() {
    const auto model = Model::Open(path_, {});
    std::string out = model.ok() ? "" : model.error().message;
    if (model.ok()) {
      for (const ModelWeights& weights : model->weights()) out += weights.name + ";";
      for (const std::string& note : model->notes()) out += " " + note + ";";
    }
    for (size_t at = out.find(path_); at != std::string::npos; at = out.find(path_)) {
      out.replace(at, path_.size(), "D");
    }
    return out;
  }

  Folder folder_;
  std::string path_;
};

TEST_F(ModelFilesTest, WithoutAnIndexAllFilesAreRead) {
  EXPECT_EQ(Opened(), "l;m;");
  Write("c.safetensors", "l");
  EXPECT_EQ(Opened(), "tensor `l.weight`: it stands in D/a.safetensors and in D/c.safetensors");
}

TEST_F(ModelFilesTest, AnIndexSaysWhichFilesAreRead) {
  Write("c.safetensors", "l");
  Index(R"({"metadata": {}, "weight_map": {"l.weight": "a.safetensors",
            "l.weight_scale": "a.safetensors", "m.weight": "b.safetensors"}})");
  EXPECT_EQ(Opened(),
            "l;m; c.safetensors is not read: D/model.safetensors.index.json does not name it;");
  Index(R"({"weight_map": {"m.weight": "b.safetensors"}})");
  EXPECT_EQ(Opened().substr(0, 30), "m; a.safetensors is not read: ");
}

TEST_F(ModelFilesTest, AnIndexThatIsWrong) {
  const std::string index = "D/model.safetensors.index.json: ";
  Index(R"({"weight_map": {"l.weight": "b.safetensors"}})");
  EXPECT_EQ(Opened(),
            "tensor `l.weight`: it is not in D/b.safetensors, where "
            "D/model.safetensors.index.json says it is");
  Index(R"({"weight_map": {"l.weight": "b.safetensors", "m.weight": "a.safetensors"}})");
  EXPECT_EQ(Opened(),
            "tensor `l.weight`: it is not in D/b.safetensors, where "
            "D/model.safetensors.index.json says it is");
  Index(R"({"weight_map": {"n.weight": "a.safetensors"}})");
  EXPECT_EQ(Opened().substr(0, 41), "tensor `n.weight`: it is not in D/a.safet");
  Index(R"({"weight_map": {"l.weight": "d.safetensors"}})");
  EXPECT_EQ(Opened(), index + "it names d.safetensors, which is not there");
  for (const char* const place : {"\"../a.safetensors\"", "\"a.bin\"", "3", "null"}) {
    Index("{\"weight_map\": {\"l.weight\": " + std::string(place) + "}}");
    EXPECT_NE(Opened().find("which is no .safetensors file of the folder"), std::string::npos);
  }
  for (const char* const json : {"", "[1]", "{}", R"({"weight_map": 1})"}) {
    Index(json);
    EXPECT_EQ(Opened(), index + "it has no object `weight_map`");
  }
}

}  // namespace
}  // namespace tarsia::weights
