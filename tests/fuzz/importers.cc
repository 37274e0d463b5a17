// Fuzzes the importers of .safetensors files: no names, types, shapes or contents of tensors make
// one read beyond them.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/importers/model.h"

namespace {

// A file that is removed with the process.
const std::string& Path() {
  static const std::string path = [] {
    std::string name = "/tmp/tarsia-fuzz-" + std::to_string(getpid()) + ".safetensors";
    std::atexit([] { unlink(Path().c_str()); });
    return name;
  }();
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::FILE* const file = std::fopen(Path().c_str(), "wb");
  if (file == nullptr) std::abort();
  std::fwrite(data + 1, 1, size - 1, file);
  std::fclose(file);
  constexpr const char* kFormats[] = {"", "gptq-v1", "gptq-v2", "awq"};
  tarsia::ModelOptions options;
  options.format = kFormats[data[0] % 4];
  options.bits = data[0] / 4 % 9;
  const auto model = tarsia::Model::Open(Path(), options);
  if (!model.ok()) return 0;
  for (const tarsia::ModelWeights& weights : model->weights()) {
    const auto source = weights.read();
    if (!source.ok()) continue;
    const auto packed = tarsia::PackedWeights::Pack(*source);
    if (packed.ok() && !tarsia::PackedWeights::FromBytes(packed->image()).ok()) std::abort();
  }
  return 0;
}
