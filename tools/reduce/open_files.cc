#include "tools/reduce/open_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dtypes/convert.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/output_files.h"
#include "tools/reduce/check_input.h"

namespace tarsia::tools {
namespace {

// Whether this is the file of an input that nothing reads, which is not opened.
bool IsUnread(const PlanTensor& input, const ReduceFiles& files, const std::string& path) {
  const auto found = files.inputs.find(input.name);
  if (input.used || found == files.inputs.end() || found->second == "-") return false;
  if (input.extents.empty() && ParseValue(input.dtype, found->second)) return false;
  return IsSameFile(FileOfInput(found->second), path);
}

}  // namespace

int OpenFiles::Open(const Plan& plan, const ReduceFiles& files, bool writes) {
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (const int code = OpenInputOf(i, plan.inputs[i], files); code != kDone) return code;
  }
  outputs_.resize(plan.outputs.size());
  if (!writes) return kDone;
  if (const int code = CheckOutputs(plan, files); code != kDone) return code;
  outputs_.clear();
  for (const PlanTensor& tensor : plan.outputs) {
    if (const int code = OpenOutputOf(tensor, files); code != kDone) return code;
  }
  return kDone;
}

int OpenFiles::OpenInputOf(size_t number, const PlanTensor& tensor, const ReduceFiles& files) {
  Input& input = inputs_.emplace_back();
  if (!tensor.used) return kDone;
  const std::string& source = files.inputs.at(tensor.name);
  // A number may stand in the place of a file for a scalar.
  const bool scalar = tensor.extents.empty();
  if (const auto code = scalar ? ParseValue(tensor.dtype, source) : std::nullopt) {
    for (size_t i = 0; i < tensor.bytes; ++i) {
      input.value.push_back(static_cast<uint8_t>(*code >> (8 * i)));
    }
    return kDone;
  }
  if (scalar && ParseValue(kF64, source)) {
    PrintError(fmt::format("--in {}={}: this is not a value of type {}", tensor.name, source,
                           DTypeName(tensor.dtype)));
    return kUsage;
  }
  if (const int code = OpenInput(source, &input.file); code != kDone) return code;
  const bool known = number < files.constants.size();
  return CheckInput(input.file, tensor,
                    known ? files.constants[number] : std::vector<std::string>());
}

// No output takes the file of an input, unless it is computed in its memory, nor that of another
// output.
int OpenFiles::CheckOutputs(const Plan& plan, const ReduceFiles& files) const {
  std::map<std::string, std::string> taken;  // files, and the outputs in them
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const std::string& name = plan.outputs[i].name;
    const auto path = files.outputs.find(name);
    if (path == files.outputs.end() || IsSpecialFile(path->second)) continue;
    const auto [other, fresh] = taken.emplace(TrueName(path->second), name);
    if (!fresh) {
      PrintError(
          fmt::format("--out {}={}: this is the file of `%{}`", name, path->second, other->second),
          "each output needs a file of its own");
      return kUsage;
    }
    for (size_t j = 0; j < inputs_.size(); ++j) {
      const auto& file = inputs_[j].file.file;
      const bool is_at =
          file ? file->IsAt(path->second) : IsUnread(plan.inputs[j], files, path->second);
      const bool in_place = i < files.in_place.size() && files.in_place[i] == j;
      if (!is_at || in_place) continue;
      PrintError(fmt::format("--out {}={}: this is the file of the input `%{}`", name, path->second,
                             plan.inputs[j].name),
                 fmt::format("give another one; only an output that the graph declares `in %{}` "
                             "takes its place",
                             plan.inputs[j].name));
      return kUsage;
    }
  }
  return kDone;
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
  const auto& [file, value] = inputs_[input];
  if (!value.empty()) {
    std::copy_n(value.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    return true;
  }
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
