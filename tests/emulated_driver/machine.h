// The state of the emulated driver: GPUs, contexts and their objects. Handles are numbers that are
// never reused, so that stale ones are detected.
#ifndef TARSIA_TESTS_EMULATED_DRIVER_MACHINE_H_
#define TARSIA_TESTS_EMULATED_DRIVER_MACHINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ptx/machine/emulator.h"
#include "runtime/cuda/driver_types.h"
#include "tests/emulated_driver/hooks.h"
#include "tests/emulated_driver/settings.h"
#include "tests/emulated_driver/work.h"

namespace tarsia::emulated {

// Objects of one kind by handle.
template <typename T>
using Table = std::map<uintptr_t, std::shared_ptr<T>>;

struct Module {
  Context* context = nullptr;
  std::unique_ptr<ptx::Image> image;
};

struct Function {
  std::weak_ptr<Module> module;
  Context* context = nullptr;
  std::string name;
  const ptx::EntryImage* entry = nullptr;  // lives as long as the module
  uint64_t local_bytes = 0;                // of a thread
  uint64_t max_dynamic_shared = 48 * 1024;
  bool non_portable_cluster = false;  // clusters of more than 8 blocks are allowed
};

struct Context {
  Context(uintptr_t own_handle, cuda::CuDevice own_device, uint64_t capacity, uint64_t base)
      : handle(own_handle), device(own_device), memory(capacity, base) {}

  uintptr_t handle;
  cuda::CuDevice device;
  ptx::Memory memory;
  cuda::CuResult error = cuda::kSuccess;     // never reset once set
  std::map<uint64_t, uint64_t> allocations;  // of clients: address and bytes
  std::shared_ptr<Stream> legacy;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread;
  // Streams that exist, and those destroyed before their work was done.
  std::vector<std::shared_ptr<Stream>> queues;

  std::shared_ptr<Stream> NewQueue(bool blocking);
};

class Machine {
 public:
  static Machine& Get();

  Machine() : settings(Settings::Read()), faults(settings.faults) {}
  void Reset();
  void Count(Counts* counts) const;
  // Adds lines to the report for tests and users.
  void Report(const std::string& text);

  uintptr_t NewHandle() { return next_handle_ += 16; }
  Context* NewContext(cuda::CuDevice device);
  void DestroyContext(uintptr_t handle);
  // The stack of the calling thread's contexts; a reset empties it.
  std::vector<uintptr_t>& Stack();
  // The current context, or null.
  Context* Current();
  // The context that has an allocation at this address, or null.
  Context* Owner(uint64_t address, uint64_t bytes);

  std::mutex mutex;
  Settings settings;
  FaultPlan faults;
  bool initialised = false;
  Table<Context> contexts;
  Table<Stream> streams;
  Table<Event> events;
  Table<Module> modules;
  Table<Function> functions;
  Table<Graph> graphs;
  Table<Graph> graph_execs;
  struct Primary {
    uintptr_t context = 0;
    uint64_t retains = 0;
  };
  std::map<cuda::CuDevice, Primary> primaries;
  uint64_t calls = 0;
  uint64_t launches = 0;
  uint64_t abandoned = 0;
  std::string reports;
  void (*enter_call)() = nullptr;  // hooks.h
  void (*leave_call)() = nullptr;

 private:
  template <typename T>
  void Abandon(const Context* context, Table<T>* table);

  uint64_t epoch_ = 1;
  uintptr_t next_handle_ = 0x10000;
  uint64_t contexts_made_ = 0;
};

// An object of a table, or null.
template <typename T>
std::shared_ptr<T> Find(const Table<T>& table, const void* handle) {
  const auto found = table.find(reinterpret_cast<uintptr_t>(handle));
  return found == table.end() ? nullptr : found->second;
}

template <typename Handle>
Handle ToHandle(uintptr_t number) {
  return reinterpret_cast<Handle>(number);  // NOLINT(performance-no-int-to-ptr)
}

// Adds an object and returns its handle.
template <typename Handle, typename T>
Handle Add(Machine& machine, Table<T>* table, std::shared_ptr<T> object) {
  const uintptr_t handle = machine.NewHandle();
  table->emplace(handle, std::move(object));
  return ToHandle<Handle>(handle);
}

// Lives during the work of a driver function: holds the lock, and calls the hooks.
class AtWork {
 public:
  explicit AtWork(Machine& machine) : lock_(machine.mutex), leave_(machine.leave_call) {
    if (machine.enter_call != nullptr) machine.enter_call();
  }
  ~AtWork() {
    if (leave_ != nullptr) leave_();
  }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  const std::lock_guard<std::mutex> lock_;
  void (*const leave_)();
};

// A function of the driver: takes the lock, counts, fails if the settings say so, and calls `body`.
template <typename Body>
cuda::CuResult Call(const char* symbol, Body body) {
  Machine& machine = Machine::Get();
  const AtWork at_work(machine);
  ++machine.calls;
  if (const cuda::CuResult fault = machine.faults.Next(symbol, true)) return fault;
  if (!machine.initialised) return cuda::kErrorNotInitialized;
  return body(machine);
}

// The same for a function that needs a current context; fails once that context has failed.
template <typename Body>
cuda::CuResult CallInContext(const char* symbol, Body body) {
  return Call(symbol, [&](Machine& machine) -> cuda::CuResult {
    Context* const context = machine.Current();
    if (context == nullptr) return cuda::kErrorInvalidContext;
    if (context->error != cuda::kSuccess) return context->error;
    return body(machine, *context);
  });
}

// The stream of a handle: a stream object, or a default stream of the context; null if it is not a
// stream of this context.
std::shared_ptr<Stream> FindStream(Machine& machine, Context& context, cuda::CuStream stream);

}  // namespace tarsia::emulated

#endif  // TARSIA_TESTS_EMULATED_DRIVER_MACHINE_H_
