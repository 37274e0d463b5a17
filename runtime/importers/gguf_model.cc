#include "runtime/importers/gguf_model.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "runtime/files/file.h"
#include "runtime/importers/gguf_blocks.h"
#include "runtime/importers/gguf_file.h"
#include "runtime/importers/tensor_set.h"

namespace tarsia {
namespace {

// A .gguf file that stays open while its weights are read.
struct OpenedGguf {
  MappedFile file;
  std::vector<GgufTensor> tensors;
};

Result<std::shared_ptr<const OpenedGguf>> OpenGguf(const std::string& path) {
  TARSIA_TRY(MappedFile file, MappedFile::Open(path));
  auto tensors = ParseGguf(file.bytes());
  if (!tensors.ok()) return tensors.TakeError();
  return std::make_shared<const OpenedGguf>(OpenedGguf{std::move(file), *std::move(tensors)});
}

// How many matrices a tensor has that is not one of plain numbers.
Result<int64_t> MatricesOf(const GgufTensor& tensor) {
  const auto block = GgufBlockSize(tensor.type);
  if (!block) {
    return TensorError(tensor.name, fmt::format("weights of the type {} cannot be imported",
                                                GgufTypeName(tensor.type)));
  }
  if (tensor.extents.size() < 2) return TensorError(tensor.name, "it is no matrix");
  int64_t matrices = 1;
  for (size_t i = 0; i < tensor.extents.size(); ++i) {
    if (tensor.extents[i] == 0) return TensorError(tensor.name, "an extent of its shape is 0");
    if (i >= 2) matrices *= tensor.extents[i];
  }
  if (matrices > kMostMatrices) return TooManyMatrices(tensor.name, matrices);
  return matrices;
}

void AddTensor(const std::shared_ptr<const OpenedGguf>& model, const GgufTensor& tensor,
               std::vector<ModelWeights>* out) {
  const std::string type = GgufTypeName(tensor.type);
  const auto matrices = MatricesOf(tensor);
  if (!matrices.ok()) {
    out->push_back(RefusedWeights(tensor.name, type, tensor.bytes, matrices.error()));
    return;
  }
  for (int64_t i = 0; i < *matrices; ++i) {
    const std::string name = *matrices > 1 ? fmt::format("{}.{}", tensor.name, i) : tensor.name;
    out->push_back(
        {name, type, tensor.bytes / static_cast<uint64_t>(*matrices),
         [model, &tensor, i] { return ReadGguf(tensor, model->file.bytes().data(), i); }});
  }
}

}  // namespace

Status FindGguf(const std::string& path, std::vector<ModelWeights>* weights,
                std::vector<std::string>* others) {
  TARSIA_TRY(const auto model, OpenGguf(path));
  for (const GgufTensor& tensor : model->tensors) {
    const auto block = GgufBlockSize(tensor.type);
    if (block && !block->weights) {
      others->push_back(tensor.name);
    } else {
      AddTensor(model, tensor, weights);
    }
  }
  return OkStatus();
}

}  // namespace tarsia
