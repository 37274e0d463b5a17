// An engine in C++: a product of the standard library on the interpreter and, through the compiler,
// on the PTX emulator. It has a function of the same name as one of the library: they must not
// clash.
#include <tarsia/tarsia.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tarsia {
std::string DTypeNames() { return "the engine's"; }
}  // namespace tarsia

namespace {

void Must(tarsia_status status) {
  if (status == TARSIA_STATUS_OK) return;
  std::fprintf(stderr, "%s: %s\n", tarsia_status_name(status), tarsia_last_error());
  std::exit(1);
}

template <typename T, void (*kFree)(T*)>
struct Delete {
  void operator()(T* handle) const { kFree(handle); }
};
using Module = std::unique_ptr<tarsia_module, Delete<tarsia_module, tarsia_module_destroy>>;
using Plan = std::unique_ptr<tarsia_plan, Delete<tarsia_plan, tarsia_plan_destroy>>;
using Device = std::unique_ptr<tarsia_device, Delete<tarsia_device, tarsia_device_close>>;

Device Open(const char* name) {
  tarsia_device* made = nullptr;
  Must(tarsia_device_open(name, &made));
  return Device(made);
}

Plan MakePlan(const tarsia_module* module, const char* device) {
  const std::vector<std::pair<const char*, const char*>> constants = {
      {"K", "32"}, {"N", "16"}, {"W", "u8"}, {"BM", "16"}, {"BN", "16"}, {"BK", "32"}};
  std::vector<tarsia_binding> bindings;
  for (const auto& [name, value] : constants) {
    bindings.push_back({sizeof(tarsia_binding), name, value});
  }
  tarsia_plan_options options = {};
  options.size = sizeof options;
  options.device = device;
  options.bindings = bindings.data();
  options.binding_count = bindings.size();
  tarsia_plan* made = nullptr;
  Must(tarsia_plan_create(module, &options, &made, nullptr));
  return Plan(made);
}

// Memory of a device with the contents of `values`.
template <typename T>
class Memory {
 public:
  Memory(const Device& device, const std::vector<T>& values)
      : device_(device), bytes_(values.size() * sizeof(T)) {
    Must(tarsia_memory_alloc(device.get(), bytes_, &data_));
    Must(tarsia_memory_write(device.get(), data_, values.data(), bytes_, nullptr));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { Must(tarsia_memory_free(device_.get(), data_)); }

  [[nodiscard]] tarsia_arg argument() const { return tarsia_arg_pointer(data_, bytes_); }
  void Read(std::vector<T>* values) const {
    Must(tarsia_memory_read(device_.get(), values->data(), data_, bytes_, nullptr));
  }

 private:
  const Device& device_;
  size_t bytes_;
  void* data_ = nullptr;
};

// A row of 32 ones and one of 32 twos, times ones: 32 and 64, which f16 codes as 0x5000 and 0x5400.
bool IsProductRight(const tarsia_module* module, const char* name) {
  constexpr size_t kM = 2, kN = 16, kK = 32;
  constexpr uint16_t kOne = 0x3C00, kTwo = 0x4000;
  const Device device = Open(name);
  const Plan plan = MakePlan(module, name);
  std::vector<uint16_t> x(kM * kK, kOne), y(kM * kN);
  for (size_t i = kK; i < x.size(); ++i) x[i] = kTwo;
  const Memory<uint16_t> gx(device, x), gy(device, y);
  const Memory<uint8_t> gw(device, std::vector<uint8_t>(kK * kN, 1));
  const tarsia_arg args[] = {gx.argument(), gw.argument(), gy.argument(), tarsia_arg_i32(kM)};
  Must(tarsia_execute(plan.get(), args, 4, nullptr, nullptr, nullptr, nullptr));
  gy.Read(&y);
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] != (i < kN ? 0x5000 : 0x5400)) return false;
  }
  return true;
}

}  // namespace

int main() {
  tarsia_module* made = nullptr;
  Must(tarsia_module_create_from_library("matmul", &made));
  const Module module(made);
  std::printf("%s cpu %s ptx %s %s\n", tarsia_version(),
              IsProductRight(module.get(), "cpu") ? "right" : "wrong",
              IsProductRight(module.get(), "ptx") ? "right" : "wrong",
              tarsia::DTypeNames().c_str());
  return 0;
}
