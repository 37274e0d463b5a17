#include "tests/weights/files.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace tarsia::weights {
namespace {

template <typename T>
void Append(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AppendString(std::string* out, const std::string& text) {
  Append(out, static_cast<uint64_t>(text.size()));
  *out += text;
}

void PadTo(std::string* out, size_t alignment) {
  while (out->size() % alignment != 0) *out += '\0';
}

}  // namespace

std::string SafetensorsFile(const std::vector<RawTensor>& tensors) {
  std::string header = "{";
  std::string data;
  for (const RawTensor& tensor : tensors) {
    if (header.size() > 1) header += ", ";
    header += "\"" + tensor.name + "\": {\"dtype\": \"" + tensor.type + "\", \"shape\": [";
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      header += (i > 0 ? ", " : "") + std::to_string(tensor.shape[i]);
    }
    header += "], \"data_offsets\": [" + std::to_string(data.size()) + ", ";
    data += tensor.bytes;
    header += std::to_string(data.size()) + "]}";
  }
  header += "}";
  std::string out;
  AppendString(&out, header);
  return out + data;
}

std::string GgufFile(const std::vector<RawGguf>& tensors, const std::vector<RawPair>& pairs) {
  std::string out = "GGUF";
  Append(&out, uint32_t{3});
  Append(&out, static_cast<uint64_t>(tensors.size()));
  Append(&out, uint64_t{2} + pairs.size());
  for (const RawPair& pair : pairs) {
    AppendString(&out, pair.key);
    Append(&out, pair.type);
    out += pair.value;
  }
  AppendString(&out, "general.name");
  Append(&out, uint32_t{8});
  AppendString(&out, "a test");
  AppendString(&out, "tokens");
  Append(&out, uint32_t{9});  // an array of strings
  Append(&out, uint32_t{8});
  Append(&out, uint64_t{2});
  AppendString(&out, "a");
  AppendString(&out, "b");
  uint64_t offset = 0;
  for (const RawGguf& tensor : tensors) {
    AppendString(&out, tensor.name);
    Append(&out, static_cast<uint32_t>(tensor.extents.size()));
    for (const int64_t extent : tensor.extents) Append(&out, static_cast<uint64_t>(extent));
    Append(&out, tensor.type);
    Append(&out, offset);
    offset = (offset + tensor.bytes.size() + 31) / 32 * 32;
  }
  for (const RawGguf& tensor : tensors) {
    PadTo(&out, 32);
    out += tensor.bytes;
  }
  return out;
}

Folder::Folder() {
  const char* const base = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  path_ = std::string(base != nullptr ? base : "/tmp") + "/tarsia-weights-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

Folder::~Folder() {
  for (const std::string& file : files_) unlink(file.c_str());
  rmdir(path_.c_str());
}

std::string Folder::Write(const std::string& name, const std::string& bytes) {
  files_.push_back(path_ + "/" + name);
  std::ofstream(files_.back(), std::ios::binary) << bytes;
  return files_.back();
}

}  // namespace tarsia::weights
