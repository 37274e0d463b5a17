#include "tools/real_layers/launch.h"

#include <chrono>

#include "dtypes/bits.h"
#include "tools/handles.h"
#include "tools/workspace.h"

namespace tarsia::real_layers {
namespace {

using tools::Handle;
using tools::Sized;
using Clock = std::chrono::steady_clock;

void Check(tarsia_status status) {
  if (status == TARSIA_STATUS_OK) return;
  Fail(status == TARSIA_STATUS_NO_DEVICE ? 3 : 1, tarsia_last_error());
}

double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

// The constants of the kernel for a job; holds their texts.
class Bindings {
 public:
  explicit Bindings(const Job& job)
      : values_{std::to_string(job.q.k), std::to_string(job.q.n), std::to_string(job.q.spec.group),
                job.type_name, job.q.zeros.empty() ? "false" : "true"} {
    static constexpr const char* kNames[] = {"K", "N", "G", "W", "ZERO"};
    for (size_t i = 0; i < std::size(kNames); ++i) {
      list_.push_back({sizeof(tarsia_binding), kNames[i], values_[i].c_str()});
    }
  }
  Bindings(const Bindings&) = delete;
  Bindings& operator=(const Bindings&) = delete;
  [[nodiscard]] const std::vector<tarsia_binding>& list() const { return list_; }

 private:
  const std::vector<std::string> values_;
  std::vector<tarsia_binding> list_;
};

// Device memory with the contents of a vector.
class DeviceVector {
 public:
  template <typename T>
  DeviceVector(tarsia_device* device, const std::vector<T>& host)
      : device_(device), bytes_(host.size() * sizeof(T)) {
    Check(tarsia_memory_alloc(device, bytes_, &memory_));
    Check(tarsia_memory_write(device, memory_, host.data(), bytes_, nullptr));
  }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;
  ~DeviceVector() { tarsia_memory_free(device_, memory_); }

  template <typename T>
  void Read(std::vector<T>* host) const {
    Check(tarsia_memory_read(device_, host->data(), memory_, bytes_, nullptr));
  }
  [[nodiscard]] tarsia_arg Input() const { return tarsia_arg_const_pointer(memory_, bytes_); }
  [[nodiscard]] tarsia_arg Output() const { return tarsia_arg_pointer(memory_, bytes_); }

 private:
  tarsia_device* const device_;
  const uint64_t bytes_;
  void* memory_ = nullptr;
};

}  // namespace

Run Execute(const tarsia_module* module, const char* device_name, const Job& job) {
  tarsia_device* opened = nullptr;
  Check(tarsia_device_open(device_name, &opened));
  const Handle<tarsia_device> device(opened);
  const Bindings bindings(job);
  auto options = Sized<tarsia_plan_options>();
  options.device = device_name;
  options.bindings = bindings.list().data();
  options.binding_count = bindings.list().size();
  tarsia_plan* made = nullptr;
  Check(tarsia_plan_create(module, &options, &made, nullptr));
  const Handle<tarsia_plan> plan(made);

  const Quantised& q = job.q;
  std::vector<uint8_t> packed((q.codes.size() * q.spec.type.bits + 7) / 8);
  PackBits(q.codes.data(), q.spec.type.bits, q.codes.size(), packed.data(), 0);
  std::vector<uint8_t> zeros;
  for (const float zero : q.zeros) zeros.push_back(static_cast<uint8_t>(zero));
  const std::vector<uint16_t> scales = ToF16(q.scales);
  Run run;
  run.weight_bytes = packed.size() + scales.size() * 2 + zeros.size();
  run.y.assign(static_cast<size_t>(job.m * q.n), 0x7E00);  // NaN: every element must be written

  const DeviceVector x(opened, job.x), w(opened, packed), s(opened, scales), z(opened, zeros),
      y(opened, run.y);
  const tarsia_arg args[] = {x.Input(), w.Input(),  s.Input(),
                             z.Input(), y.Output(), tarsia_arg_i32(static_cast<int32_t>(job.m))};
  void* workspace = nullptr;
  Check(tools::MakeWorkspace(opened, made, args, std::size(args), &workspace));
  for (int turn = 0; turn < 2; ++turn) {  // the second one is warm
    const auto begin = Clock::now();
    Check(tarsia_execute(made, args, std::size(args), workspace, nullptr, nullptr, nullptr));
    Check(tarsia_stream_synchronize(opened, nullptr));
    run.milliseconds = Milliseconds(begin);
  }
  y.Read(&run.y);
  Check(tarsia_memory_free(opened, workspace));
  return run;
}

CodeFigures CompileFor(const tarsia_module* module, const char* target, const Job& job) {
  const Bindings bindings(job);
  auto options = Sized<tarsia_code_options>();
  options.target = target;
  options.bindings = bindings.list().data();
  options.binding_count = bindings.list().size();
  CodeFigures out;
  const auto begin = Clock::now();
  tarsia_code* made = nullptr;
  Check(tarsia_code_create(module, &options, &made, nullptr));
  const Handle<tarsia_code> code(made);
  out.compile_ms = Milliseconds(begin);
  auto info = Sized<tarsia_code_info>();
  Check(tarsia_code_get(made, &info));
  out.ptx_bytes = info.ptx_bytes;
  out.machine = Sized<tarsia_code_resources>();
  const tarsia_status status = tarsia_code_assemble(made, &out.machine);
  if (status != TARSIA_STATUS_NO_DEVICE) Check(status);
  out.assembled = status == TARSIA_STATUS_OK;
  return out;
}

}  // namespace tarsia::real_layers
