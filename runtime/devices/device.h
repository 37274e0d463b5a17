// Devices that run programs: devices by name, their memory, and kernels prepared for them.
//
//   name                  runs on
//   cpu                   the interpreter
//   ptx, ptx:TARGET       the PTX emulator, with code for sm_90a or the target named
//   cuda, cuda:N          GPU 0 or N, through the driver
//
// Everything here is thread-safe unless it says otherwise. A device lives as long as it is
// referenced; its kernels, memory and streams must not be used after that.
#ifndef TARSIA_RUNTIME_DEVICES_DEVICE_H_
#define TARSIA_RUNTIME_DEVICES_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target.h"
#include "isa/program.h"
#include "isa/specialise.h"
#include "support/result.h"
#include "vm/interpreter.h"

namespace tarsia::ptx {
struct LaunchCounts;
}  // namespace tarsia::ptx

namespace tarsia::runtime {

class KernelImage;

// An address in a device's memory (of the device cpu: of this process), and a stream of a device;
// the null stream is always there.
using DevicePointer = void*;
using StreamHandle = void*;

// One launch. Pointers among the arguments are the device's.
struct LaunchRequest {
  std::span<const launch::Argument> args;
  DevicePointer workspace = nullptr;  // of WorkspaceBytes, initialised; null if that is 0
  StreamHandle stream = nullptr;
  const vm::LaunchOptions* options = nullptr;
  // Wait for the launch and return its report. Otherwise a device with streams enqueues and
  // returns; devices without streams always wait.
  bool wait = true;
  // Filled by devices that count PTX instructions: those of the emulator.
  ptx::LaunchCounts* counts = nullptr;

  // The default ones where none are given.
  [[nodiscard]] const vm::LaunchOptions& OptionsOrDefault() const;
};

struct LaunchResult {
  vm::LaunchReport report;
  uint64_t nanoseconds = 0;  // the time of the launch; 0 without a wait
};

// A program prepared for a device.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;

  // Errors: arguments that do not fit, assumptions that do not hold, options that the device does
  // not support; after a wait also a failure of the program. Without a wait and without errors it
  // allocates nothing and can be captured into a graph.
  virtual Result<LaunchResult> Launch(const LaunchRequest& request) const = 0;

  // Bytes of workspace that a launch with these scalars needs (codes by parameter; entries of
  // pointers are ignored).
  virtual Result<uint64_t> WorkspaceBytes(std::span<const uint64_t> scalars) const;
  // Initialises a workspace of `bytes` once; launches with any scalars for which it is large enough
  // leave it initialised. Enqueued on the stream, which may be captured.
  virtual Status InitWorkspace(std::span<const uint64_t> scalars, DevicePointer workspace,
                               uint64_t bytes, StreamHandle stream) const;
  // Waits for the stream, then reports what launches wrote to the workspace since the last call:
  // lines of `print` go to the sink, and a failed assertion is the error. `request` is that of the
  // launch.
  virtual Result<LaunchResult> Collect(const LaunchRequest& request) const;

  // Bytes of local memory that each thread has: what no register had room for, and arrays. 0 where
  // there is no machine code. Errors: those of the driver.
  [[nodiscard]] virtual Result<int64_t> LocalBytes() const { return 0; }
  // The code for the device; null if it runs the program without code.
  [[nodiscard]] virtual std::shared_ptr<const KernelImage> image() const { return nullptr; }
};

// Options of Load; `without` is not for LoadImage.
struct LoadOptions {
  uint64_t workspace_limit = 0;      // in bytes, of every launch; 0: none
  StopCheck* stop = nullptr;         // checked while code is made; null: never stopped
  std::vector<std::string> without;  // compiler::CompileOptions::without; not for the device cpu
};

// What the choice of a kernel depends on.
struct DeviceModel {
  bool interprets = false;       // runs programs without code
  int processors = 1;            // of a GPU its multiprocessors, else threads
  double bytes_per_us = 0;       // that copies reach; 0: unknown
  double operations_per_us = 0;  // of products of f16 with sums in f32 by `mma`; 0: unknown
};

// The interpreter has times of calls, the emulator counts and no times, a GPU times of launches
// (Device::TimeCalls).
enum class DeviceKind : uint8_t { kInterpreter, kEmulator, kGpu };

class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual const std::string& name() const = 0;  // in full: "cuda:0"
  [[nodiscard]] virtual DeviceKind kind() const = 0;
  [[nodiscard]] virtual std::string Description() const = 0;  // one line
  // The limits of specialisation for this device.
  [[nodiscard]] virtual TargetLimits Limits() const = 0;
  [[nodiscard]] virtual DeviceModel Model() const = 0;
  // The target whose code it runs; none: it runs programs without code.
  [[nodiscard]] virtual std::optional<compiler::Target> CodeTarget() const = 0;
  // Compiles the program where the device needs code, and loads it (runtime/devices/load.cc).
  Result<std::unique_ptr<LoadedKernel>> Load(const Program& program, const LoadOptions& options);
  Result<std::unique_ptr<LoadedKernel>> Load(const Program& program) { return Load(program, {}); }
  // The same with code of the target; null where there is none. Needs no compiler.
  virtual Result<std::unique_ptr<LoadedKernel>> LoadImage(const Program& program,
                                                          std::shared_ptr<const KernelImage> image,
                                                          const LoadOptions& options) = 0;

  // Device memory. Addresses are multiples of 256; contents are undefined. For zero bytes returns
  // null. Errors: out of memory, an address that is not from Allocate.
  virtual Result<DevicePointer> Allocate(uint64_t bytes) = 0;
  virtual Status Free(DevicePointer memory) = 0;
  // Copies and fills are in stream order. Write and Read are done with the host's memory when they
  // return; Fill is enqueued.
  virtual Status Write(DevicePointer to, const void* from, uint64_t bytes, StreamHandle stream) = 0;
  virtual Status Read(void* to, DevicePointer from, uint64_t bytes, StreamHandle stream) = 0;
  virtual Status Fill(DevicePointer to, uint8_t value, uint64_t bytes, StreamHandle stream) = 0;
  // `to` is a multiple of 4.
  virtual Status FillWords(DevicePointer to, uint32_t value, uint64_t words,
                           StreamHandle stream) = 0;

  // Streams. Devices without streams return the null stream.
  virtual Result<StreamHandle> CreateStream();
  virtual Status DestroyStream(StreamHandle stream);
  virtual Status Synchronize(StreamHandle stream);
  // For devices without streams: an error unless the stream is null.
  [[nodiscard]] Status CheckNoStream(StreamHandle stream) const;

  // Microseconds of a call, of `calls` calls that are captured into one graph, by replay of the
  // graph: `replays` of them after one that is not counted. Errors: those of the calls; a device
  // without graphs.
  virtual Result<std::vector<double>> TimeCalls(
      int calls, int replays, const std::function<Status(int call, StreamHandle stream)>& enqueue);
};

// The device of a name; "" is the default one: the first GPU if there is one, else cpu. Two calls
// return the same device while it is in use. Errors: an unknown name (with the known ones), a
// device that is not available (with the reason).
Result<std::shared_ptr<Device>> OpenDevice(std::string_view name);
// Whether OpenDevice("") returns a GPU; the error says why not.
Status DefaultIsGpu();

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_DEVICE_H_
