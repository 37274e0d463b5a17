#include "tools/reduce/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "runtime/files/file.h"
#include "tools/command.h"
#include "tools/modules.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/tensor_io.h"
#include "tools/workspace.h"

namespace tarsia::tools {
namespace {

int Report(const Diagnostic& error) {
  PrintError(error);
  return kRejected;
}

// Whether the file has the type and the shape of the input; prints an error if not. A type that the
// format of the file cannot name is stored as bytes.
int CheckInput(const InputTensorFile& file, const PlanBuffer& buffer) {
  const TensorInfo& info = file.info;
  const std::string wanted = std::string(DTypeName(buffer.dtype)) + ShapeText(buffer.extents);
  const std::string found =
      (info.type ? std::string(DTypeName(*info.type)) : info.type_name) + ShapeText(info.shape);
  const bool named = file.CanName(buffer.dtype);
  const bool bytes = !info.type || *info.type == kU8;
  const bool fits = named ? info.type == buffer.dtype && info.shape == buffer.extents
                          : bytes && info.bytes == buffer.bytes;
  if (fits) return kDone;
  PrintError(fmt::format("{}: input `%{}` is {}, but the file has {}", file.source, buffer.name,
                         wanted, found),
             named ? "" : fmt::format("this type is stored as {} bytes", buffer.bytes));
  return kRejected;
}

}  // namespace

ReduceExecution::~ReduceExecution() {
  for (void* const memory : owned_) tarsia_memory_free(device_.get(), memory);
}

int ReduceExecution::Prepare(const std::string& device, uint32_t compile_limit) {
  tarsia_device* opened = nullptr;
  const auto status = tarsia_device_open(device.empty() ? nullptr : device.c_str(), &opened);
  device_.reset(opened);
  if (status != TARSIA_STATUS_OK) return ReportFailure(status);
  const std::string text = plan_.Text();
  auto options = Sized<tarsia_module_options>();
  options.name = "the plan";
  tarsia_module* made = nullptr;
  tarsia_diagnostics* errors = nullptr;
  const auto parsed = tarsia_module_create(text.data(), text.size(), &options, &made, &errors);
  const Handle<tarsia_module> module(made);
  const Handle<tarsia_diagnostics> owned(errors);
  if (parsed != TARSIA_STATUS_OK) {
    PrintDiagnostics(errors);
    return ExitCode(parsed);
  }
  PlanRequest request;
  request.device = this->device();
  request.compile_limit = compile_limit;
  for (const KernelText& kernel : plan_.kernels) {
    request.kernel = kernel.name;
    if (const int code = MakePlan(made, request, &kernels_.emplace_back()); code != kDone) {
      return code;
    }
  }
  workspaces_.resize(kernels_.size(), nullptr);
  return Allocate();
}

int ReduceExecution::Allocate() {
  const auto allocate = [&](uint64_t bytes, void** out) {
    const auto status = tarsia_memory_alloc(device_.get(), bytes, out);
    if (status != TARSIA_STATUS_OK) return ReportFailure(status);
    owned_.push_back(*out);
    return kDone;
  };
  if (const int code = allocate(plan_.peak, &arena_); code != kDone) return code;
  for (const PlanBuffer& buffer : plan_.buffers) {
    void*& place = places_.emplace_back();
    if (buffer.bytes == 0 || !buffer.used) continue;
    if (buffer.offset) {
      place = static_cast<uint8_t*>(arena_) + *buffer.offset;
    } else if (const int code = allocate(buffer.bytes, &place); code != kDone) {
      return code;
    }
  }
  return kDone;
}

// ---- files ------------------------------------------------------------------------------------

int ReduceExecution::ReadInput(const PlanBuffer& buffer, void* to, const std::string& spec) {
  InputTensorFile file;
  if (const int code = OpenInput(spec, &file); code != kDone) return code;
  if (const int code = CheckInput(file, buffer); code != kDone) return code;
  if (buffer.bytes == 0) return kDone;
  if (device() == "cpu") {  // the device's memory is this process's
    const std::span<uint8_t> bytes(static_cast<uint8_t*>(to), buffer.bytes);
    const Status status = file.file->Read(file.info.offset, bytes);
    return status.ok() ? kDone : Report(status.error());
  }
  const auto data = ReadTensor(*file.file, file.info);
  if (!data.ok()) return Report(data.error());
  const auto status = tarsia_memory_write(device_.get(), to, data->data(), buffer.bytes, nullptr);
  return status == TARSIA_STATUS_OK ? kDone : ReportFailure(status);
}

int ReduceExecution::ReadInputs(const ReduceFiles& files) {
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    if (buffer.kind != PlanBuffer::Kind::kInput || !buffer.used) continue;
    const int code = ReadInput(buffer, places_[i], files.inputs.at(buffer.name));
    if (code != kDone) return code;
  }
  return kDone;
}

int ReduceExecution::WriteOutputs(const ReduceFiles& files) {
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    const auto file = files.outputs.find(buffer.name);
    if (buffer.kind != PlanBuffer::Kind::kOutput || file == files.outputs.end()) continue;
    std::span<const uint8_t> bytes(static_cast<const uint8_t*>(places_[i]), buffer.bytes);
    HostBuffer copy;
    if (device() != "cpu" && buffer.bytes > 0) {
      auto made = HostBuffer::Allocate(buffer.bytes);
      if (!made.ok()) return Report(made.error());
      copy = *std::move(made);
      const auto status =
          tarsia_memory_read(device_.get(), copy.data(), places_[i], buffer.bytes, nullptr);
      if (status != TARSIA_STATUS_OK) return ReportFailure(status);
      bytes = copy.bytes();
    }
    const Status status = WriteOutput(file->second, buffer.dtype, buffer.extents, true, bytes);
    if (!status.ok()) return Report(status.error());
  }
  return kDone;
}

// ---- steps ------------------------------------------------------------------------------------

std::vector<tarsia_arg> ReduceExecution::ArgsOf(const PlanStep& step) const {
  std::vector<tarsia_arg> out;
  const auto range = [&](uint32_t axis) {
    return *std::find_if(step.ranges.begin(), step.ranges.end(),
                         [&](const StepRange& r) { return r.axis == axis; });
  };
  for (const KernelParam& param : plan_.kernels[step.kernel].params) {
    switch (param.kind) {
      case KernelParam::Kind::kTensor: {
        void* const place = places_[param.id];
        const uint64_t bytes = plan_.buffers[param.id].bytes;
        out.push_back(param.written ? tarsia_arg_pointer(place, bytes)
                                    : tarsia_arg_const_pointer(place, bytes));
        break;
      }
      case KernelParam::Kind::kLow:
        out.push_back(tarsia_arg_i64(range(param.id).low));
        break;
      case KernelParam::Kind::kHigh:
        out.push_back(tarsia_arg_i64(range(param.id).high));
        break;
      case KernelParam::Kind::kFresh:
        out.push_back(tarsia_arg_bool(step.fresh));
        break;
    }
  }
  return out;
}

int ReduceExecution::RunStep(const PlanStep& step, uint32_t threads) {
  const std::vector<tarsia_arg> args = ArgsOf(step);
  const tarsia_plan* const kernel = kernels_[step.kernel].get();
  void*& workspace = workspaces_[step.kernel];
  if (workspace == nullptr) {
    const auto made = MakeWorkspace(device_.get(), kernel, args.data(), args.size(), &workspace);
    if (made != TARSIA_STATUS_OK) return ReportFailure(made);
    if (workspace != nullptr) owned_.push_back(workspace);
  }
  auto options = Sized<tarsia_execute_options>();
  options.threads = threads;
  tarsia_report* made = nullptr;
  const auto status =
      tarsia_execute(kernel, args.data(), args.size(), workspace, nullptr, &options, &made);
  const Handle<tarsia_report> report(made);
  if (status != TARSIA_STATUS_OK) {
    if (made == nullptr) return ReportFailure(status);
    PrintDiagnostics(tarsia_report_findings(made));
    return kRejected;
  }
  auto info = Sized<tarsia_report_info>();
  tarsia_report_get(made, &info);
  nanoseconds_ += info.nanoseconds;
  return kDone;
}

int ReduceExecution::Run(uint32_t threads) {
  ProgressBar progress("steps");
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (const int code = RunStep(plan_.steps[i], threads); code != kDone) return code;
    if (ProgressBar::wanted()) progress.Show(i + 1, plan_.steps.size());
  }
  return kDone;
}

}  // namespace tarsia::tools
