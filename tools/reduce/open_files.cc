#include "tools/reduce/open_files.h"

#include <fmt/format.h>

#include "tools/command.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

// The tensor as a .npy file has it: complex numbers that the format cannot name as their parts,
// along a last axis.
PlanTensor AsStored(PlanTensor tensor) {
  if (tensor.dtype != kC32) return tensor;
  tensor.dtype = ComponentOf(kC32);
  tensor.extents.push_back(2);
  return tensor;
}

// Whether the file has the type and the shape of the input; prints an error if not. A type that the
// format of the file cannot name is stored as bytes.
int CheckInput(const InputTensorFile& file, const PlanTensor& tensor) {
  const TensorInfo& info = file.info;
  const std::string wanted = std::string(DTypeName(tensor.dtype)) + ShapeText(tensor.extents);
  const std::string found =
      (info.type ? std::string(DTypeName(*info.type)) : info.type_name) + ShapeText(info.shape);
  const bool named = file.CanName(tensor.dtype);
  const bool bytes = !info.type || *info.type == kU8;
  const PlanTensor stored = AsStored(tensor);
  if (info.type == stored.dtype && info.shape == stored.extents) return kDone;
  const bool fits = named ? info.type == tensor.dtype && info.shape == tensor.extents
                          : bytes && info.bytes == tensor.bytes;
  if (fits) return kDone;
  PrintError(fmt::format("{}: input `%{}` is {}, but the file has {}", file.source, tensor.name,
                         wanted, found),
             named ? ""
             : tensor.dtype == kC32
                 ? fmt::format("this type is stored as f16{}", ShapeText(stored.extents))
                 : fmt::format("this type is stored as {} bytes", tensor.bytes));
  return kRejected;
}

}  // namespace

int OpenFiles::Open(const Plan& plan, const ReduceFiles& files, bool writes) {
  for (const PlanTensor& tensor : plan.inputs) {
    if (const int code = OpenInputOf(tensor, files); code != kDone) return code;
  }
  outputs_.resize(plan.outputs.size());
  if (!writes) return kDone;
  outputs_.clear();
  for (const PlanTensor& tensor : plan.outputs) {
    if (const int code = OpenOutputOf(tensor, files); code != kDone) return code;
  }
  return kDone;
}

int OpenFiles::OpenInputOf(const PlanTensor& tensor, const ReduceFiles& files) {
  InputTensorFile& file = inputs_.emplace_back();
  if (!tensor.used) return kDone;
  if (const int code = OpenInput(files.inputs.at(tensor.name), &file); code != kDone) return code;
  return CheckInput(file, tensor);
}

int OpenFiles::OpenOutputOf(const PlanTensor& tensor, const ReduceFiles& files) {
  std::optional<OutputTensorFile>& output = outputs_.emplace_back();
  const auto path = files.outputs.find(tensor.name);
  if (path == files.outputs.end()) return kDone;
  const PlanTensor stored = AsStored(tensor);
  auto file = OutputTensorFile::Create(path->second, stored.dtype, stored.extents, stored.bytes);
  if (!file.ok()) {
    PrintError(file.error());
    return kRejected;
  }
  output = *std::move(file);
  return kDone;
}

int OpenFiles::Commit() {
  for (std::optional<OutputTensorFile>& output : outputs_) {
    if (!output) continue;
    if (const Status status = output->Commit(); !status.ok()) {
      PrintError(status.error());
      return kRejected;
    }
  }
  return kDone;
}

bool OpenFiles::Read(size_t input, uint64_t offset, std::span<uint8_t> to) {
  const InputTensorFile& file = inputs_[input];
  return Keep(file.file->Read(file.info.offset + offset, to));
}

bool OpenFiles::Write(size_t output, uint64_t offset, std::span<const uint8_t> from) {
  if (!outputs_[output]) return true;
  const std::lock_guard lock(writing_);
  return Keep(outputs_[output]->WriteAt(offset, from));
}

bool OpenFiles::Keep(const Status& status) {
  if (status.ok()) return true;
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = status.error();
  return false;
}

std::optional<Diagnostic> OpenFiles::error() {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace tarsia::tools
