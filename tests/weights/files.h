// Files of models, made from bytes: .safetensors and GGUF.
#ifndef TARSIA_TESTS_WEIGHTS_FILES_H_
#define TARSIA_TESTS_WEIGHTS_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tarsia::weights {

struct RawTensor {
  std::string name;
  std::string type;  // "I32"
  std::vector<int64_t> shape;
  std::string bytes;
};

std::string SafetensorsFile(const std::vector<RawTensor>& tensors);

struct RawGguf {
  std::string name;
  uint32_t type = 0;
  std::vector<int64_t> extents;  // the fastest first
  std::string bytes;
};

// A key with the bytes of its value.
struct RawPair {
  std::string key;
  uint32_t type = 0;
  std::string value;
};
std::string GgufFile(const std::vector<RawGguf>& tensors, const std::vector<RawPair>& pairs = {});

// A folder that is removed with the object.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();
  // Writes a file; returns its path.
  std::string Write(const std::string& name, const std::string& bytes);

 private:
  std::string path_;
  std::vector<std::string> files_;
};

// Little-endian bytes of numbers.
template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace tarsia::weights

#endif  // TARSIA_TESTS_WEIGHTS_FILES_H_
