#include "tools/reduce/execution.h"

#include <fmt/format.h>

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "tools/command.h"
#include "tools/handles.h"
#include "tools/modules.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/tensor_io.h"

namespace tarsia::tools {
namespace {

// Whether the file has the type and the shape of the input; prints an error if not. A type that the
// format of the file cannot name is stored as bytes.
int CheckInput(const InputTensorFile& file, const PlanTensor& tensor) {
  const TensorInfo& info = file.info;
  const std::string wanted = std::string(DTypeName(tensor.dtype)) + ShapeText(tensor.extents);
  const std::string found =
      (info.type ? std::string(DTypeName(*info.type)) : info.type_name) + ShapeText(info.shape);
  const bool named = file.CanName(tensor.dtype);
  const bool bytes = !info.type || *info.type == kU8;
  const bool fits = named ? info.type == tensor.dtype && info.shape == tensor.extents
                          : bytes && info.bytes == tensor.bytes;
  if (fits) return kDone;
  PrintError(fmt::format("{}: input `%{}` is {}, but the file has {}", file.source, tensor.name,
                         wanted, found),
             named ? "" : fmt::format("this type is stored as {} bytes", tensor.bytes));
  return kRejected;
}

// The files of one execution. A callback that fails leaves its error here.
class Files {
 public:
  int Open(const tarsia_graph_plan& plan, const ReduceFiles& files) {
    for (const PlanTensor& tensor : plan.plan.inputs) {
      if (const int code = OpenInputOf(tensor, files); code != kDone) return code;
    }
    for (const PlanTensor& tensor : plan.plan.outputs) {
      if (const int code = OpenOutputOf(tensor, files); code != kDone) return code;
    }
    return kDone;
  }
  int Commit() {
    for (Output& output : written_) {
      if (const Status status = output.file->Commit(); !status.ok()) return Report(status.error());
    }
    return kDone;
  }
  [[nodiscard]] const std::vector<tarsia_graph_input>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<tarsia_graph_output>& outputs() const { return outputs_; }
  [[nodiscard]] const std::optional<Diagnostic>& error() const { return error_; }
  static int Report(const Diagnostic& error) {
    PrintError(error);
    return kRejected;
  }

 private:
  struct Input {
    Files* files;
    InputTensorFile file;
  };
  struct Output {
    Files* files;
    std::optional<OutputTensorFile> file;
  };

  int OpenInputOf(const PlanTensor& tensor, const ReduceFiles& files) {
    auto& given = inputs_.emplace_back(Sized<tarsia_graph_input>());
    if (!tensor.used) return kDone;
    Input& input = read_.emplace_back(Input{this, {}});
    if (const int code = OpenInput(files.inputs.at(tensor.name), &input.file); code != kDone) {
      return code;
    }
    if (const int code = CheckInput(input.file, tensor); code != kDone) return code;
    given.read = [](void* user, uint64_t offset, void* to, uint64_t bytes) {
      const auto* const from = static_cast<const Input*>(user);
      const InputTensorFile& file = from->file;
      return from->files->Keep(
          file.file->Read(file.info.offset + offset, std::span(static_cast<uint8_t*>(to), bytes)));
    };
    given.user = &input;
    return kDone;
  }

  int OpenOutputOf(const PlanTensor& tensor, const ReduceFiles& files) {
    auto& given = outputs_.emplace_back(Sized<tarsia_graph_output>());
    given.write = [](void*, uint64_t, const void*, uint64_t) { return true; };
    const auto path = files.outputs.find(tensor.name);
    if (path == files.outputs.end()) return kDone;
    auto file = OutputTensorFile::Create(path->second, tensor.dtype, tensor.extents, tensor.bytes);
    if (!file.ok()) return Report(file.error());
    Output& output = written_.emplace_back(Output{this, *std::move(file)});
    given.write = [](void* user, uint64_t offset, const void* from, uint64_t bytes) {
      auto* const to = static_cast<Output*>(user);
      return to->files->Keep(
          to->file->WriteAt(offset, std::span(static_cast<const uint8_t*>(from), bytes)));
    };
    given.user = &output;
    return kDone;
  }

  bool Keep(const Status& status) {
    if (!status.ok() && !error_) error_ = status.error();
    return status.ok();
  }

  std::deque<Input> read_;
  std::deque<Output> written_;
  std::vector<tarsia_graph_input> inputs_;
  std::vector<tarsia_graph_output> outputs_;
  std::optional<Diagnostic> error_;
};

}  // namespace

int ExecuteOnFiles(const tarsia_graph_plan& plan, const ReduceFiles& files, uint32_t threads,
                   uint64_t* nanoseconds) {
  Files open;
  if (const int code = open.Open(plan, files); code != kDone) return code;
  ProgressBar progress("steps");
  auto options = Sized<tarsia_graph_execute_options>();
  options.threads = threads;
  if (ProgressBar::wanted()) {
    options.progress = [](void* bar, uint64_t done, uint64_t total) {
      static_cast<ProgressBar*>(bar)->Show(done, total);
    };
    options.progress_user = &progress;
  }
  tarsia_report* made = nullptr;
  const auto status =
      tarsia_graph_execute(&plan, open.inputs().data(), open.inputs().size(), open.outputs().data(),
                           open.outputs().size(), &options, &made);
  const Handle<tarsia_report> report(made);
  progress.Clear();
  if (open.error()) return Files::Report(*open.error());
  if (status != TARSIA_STATUS_OK) return ReportFailure(status);
  auto info = Sized<tarsia_report_info>();
  tarsia_report_get(made, &info);
  *nanoseconds = info.nanoseconds;
  return open.Commit();
}

}  // namespace tarsia::tools
