// Tests of runtime/cuda on the emulated driver, opened as the runtime opens a driver. Each test
// begins with a fresh emulated machine and must leave no object alive on it.
#ifndef TARSIA_TESTS_UNIT_RUNTIME_CUDA_TESTING_H_
#define TARSIA_TESTS_UNIT_RUNTIME_CUDA_TESTING_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/module.h"
#include "runtime/cuda/stream.h"
#include "tests/emulated_driver/hooks.h"

namespace tarsia::cuda {

inline std::string EmulatedLibrary(const std::string& variant = "") {
  return std::string(TARSIA_EMULATED_DRIVER_FOLDER) + "/libtarsia_emulated_cuda" + variant + ".so";
}

// Opens a library once; as in the runtime, it stays open.
inline Result<const Driver*> OpenDriver(const std::string& library) {
  static std::deque<const Driver*>& opened = *new std::deque<const Driver*>;
  Result<const Driver*> driver = Driver::Open(library);
  if (driver.ok()) opened.push_back(*driver);
  return driver;
}

// A function of a library of the emulated driver, by its name.
template <typename F>
F Symbol(const char* name, const std::string& variant = "") {
  void* const library = dlopen(EmulatedLibrary(variant).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return reinterpret_cast<F>(dlsym(library, name));
}

// A process has one driver, which an earlier test may have reset. Then cuInit must be called again.
inline void InitialiseDriver() { EXPECT_EQ(Symbol<CuResult (*)(unsigned)>("cuInit")(0), kSuccess); }

inline emulated::Counts ReadCounts() {
  emulated::Counts counts;
  Symbol<emulated::CountsHook>(emulated::kCountsHook)(&counts);
  return counts;
}

inline std::string Findings() {
  const auto hook = Symbol<emulated::ReportHook>(emulated::kReportHook);
  std::string text(hook(nullptr, 0) + 1, '\0');
  hook(text.data(), text.size());
  text.pop_back();
  return text;
}

inline std::string ErrorOf(const Status& status) {
  return status.ok() ? "" : status.error().message;
}
template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result.ok() ? "" : result.error().message;
}
inline std::string IdOf(const Status& status) { return status.ok() ? "" : status.error().info->id; }
template <typename T>
std::string IdOf(const Result<T>& result) {
  return result.ok() ? "" : result.error().info->id;
}

class CudaTest : public testing::Test {
 protected:
  void SetUp() override { Reset({}); }

  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    if (expect_clean_) {
      const emulated::Counts counts = ReadCounts();
      EXPECT_TRUE(counts.Clean()) << counts.contexts << " contexts, " << counts.retained
                                  << " retained, " << counts.allocations << " allocations, "
                                  << counts.modules << " modules, " << counts.streams
                                  << " streams, " << counts.events << " events, " << counts.graphs
                                  << " graphs, " << counts.graph_execs << " executable graphs, "
                                  << counts.abandoned << " abandoned";
    }
    Symbol<emulated::ResetHook>(emulated::kResetHook)();
  }

  // Makes a fresh machine with these environment variables (NAME without TARSIA_EMULATED_, value).
  void Reset(const std::vector<std::pair<std::string, std::string>>& settings) {
    for (const auto& [name, value] : settings) {
      set_.push_back("TARSIA_EMULATED_" + name);
      setenv(set_.back().c_str(), value.c_str(), 1);
    }
    Symbol<emulated::ResetHook>(emulated::kResetHook)();
  }

  const Driver& driver() {
    const auto opened = OpenDriver(EmulatedLibrary());
    EXPECT_TRUE(opened.ok()) << ErrorOf(opened);
    return **opened;
  }

  std::shared_ptr<const Gpu> OpenGpu(int ordinal = 0) {
    auto gpu = Gpu::Open(driver(), ordinal);
    EXPECT_TRUE(gpu.ok()) << ErrorOf(gpu);
    return gpu.ok() ? *gpu : nullptr;
  }

  // A lost context takes its objects with it: they cannot be destroyed in order.
  void ExpectLost() { expect_clean_ = false; }

 private:
  std::vector<std::string> set_;
  bool expect_clean_ = true;
};

// `add`: p[i] += v for the 32-bit words i < n; one thread each, in blocks of 32. `wild` stores past
// the end of p, `odd` at an odd address, `loop` never ends, `fresh` adds p[n] to itself.
inline std::string TestPtx(const std::string& version = "8.0",
                           const std::string& target = "sm_80") {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n" + R"(
.visible .entry add(.param .u64 p, .param .u32 n, .param .u32 v) {
  .reg .pred %q<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [p]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [v];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r2, %r2, 32, %r3;
  setp.ge.u32 %q0, %r2, %r0; @%q0 bra DONE;
  mul.wide.u32 %rd1, %r2, 4; add.u64 %rd0, %rd0, %rd1;
  ld.global.u32 %r4, [%rd0]; add.u32 %r4, %r4, %r1; st.global.u32 [%rd0], %r4;
DONE: ret;
}
.visible .entry wild(.param .u64 p) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd0, [p]; mov.u32 %r0, 1; st.global.u32 [%rd0+1048576], %r0; ret;
}
.visible .entry odd(.param .u64 p) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd0, [p]; mov.u32 %r0, 1; st.global.u32 [%rd0+1], %r0; ret;
}
.visible .entry loop(.param .u64 p) { AGAIN: bra AGAIN; }
.visible .entry trap(.param .u64 p) { trap; ret; }
.visible .entry fresh(.param .u64 p) {
  .reg .pred %q<2>; .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd0, [p]; ld.global.u32 %r0, [%rd0]; setp.eq.u32 %q0, %r0, 7;
  @%q0 bra END; st.global.u32 [%rd0], 1; END: ret;
}
.extern .shared .align 16 .b8 tile[];
.visible .entry large(.param .u64 p) {
  .reg .b32 %r<2>; mov.u32 %r0, 5; st.shared.u32 [tile], %r0; ret;
}
)";
}

// The parameter block of `add`, and of the kernels with one pointer.
inline std::vector<uint8_t> Parameters(CuDevicePtr p, uint32_t n, uint32_t v) {
  std::vector<uint8_t> out(16);
  std::memcpy(out.data(), &p, 8);
  std::memcpy(out.data() + 8, &n, 4);
  std::memcpy(out.data() + 12, &v, 4);
  return out;
}
inline std::vector<uint8_t> Parameters(CuDevicePtr p) {
  std::vector<uint8_t> out(8);
  std::memcpy(out.data(), &p, 8);
  return out;
}

inline KernelCode TestCode(const std::string& entry, uint64_t shared_bytes = 0) {
  KernelCode code;
  code.entry = entry;
  code.ptx = TestPtx();
  code.threads = 32;
  code.shared_bytes = shared_bytes;
  return code;
}

inline std::unique_ptr<Kernel> LoadKernel(const std::shared_ptr<const Gpu>& gpu,
                                          const std::string& entry, uint64_t shared_bytes = 0) {
  auto kernel = Kernel::Load(gpu, TestCode(entry, shared_bytes));
  EXPECT_TRUE(kernel.ok()) << ErrorOf(kernel);
  return kernel.ok() ? *std::move(kernel) : nullptr;
}

// Words in device memory, copied with waits.
class Words {
 public:
  Words(std::shared_ptr<const Gpu> gpu, const std::vector<uint32_t>& values)
      : gpu_(std::move(gpu)), count_(values.size()) {
    auto buffer = Buffer::Allocate(gpu_, values.size() * 4);
    EXPECT_TRUE(buffer.ok()) << ErrorOf(buffer);
    if (buffer.ok()) buffer_ = *std::move(buffer);
    EXPECT_EQ(ErrorOf(CopyIn(*gpu_, buffer_.address(), values.data(), values.size() * 4, nullptr)),
              "");
    EXPECT_EQ(ErrorOf(Synchronize(*gpu_, nullptr)), "");
  }
  [[nodiscard]] CuDevicePtr address() const { return buffer_.address(); }
  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(count_); }
  // The contents as seen without waiting for other streams.
  [[nodiscard]] std::vector<uint32_t> Peek() const {
    std::vector<uint32_t> out(count_);
    auto stream = Stream::Create(gpu_);
    EXPECT_TRUE(stream.ok());
    EXPECT_EQ(ErrorOf(CopyOut(*gpu_, out.data(), address(), count_ * 4, stream->handle())), "");
    EXPECT_EQ(ErrorOf(Synchronize(*gpu_, stream->handle())), "");
    return out;
  }

 private:
  std::shared_ptr<const Gpu> gpu_;
  size_t count_;
  Buffer buffer_;
};

}  // namespace tarsia::cuda

#endif  // TARSIA_TESTS_UNIT_RUNTIME_CUDA_TESTING_H_
