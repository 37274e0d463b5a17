// Loading and launching kernels, and their errors.
#include "tests/unit/runtime/cuda_testing.h"

namespace tarsia::cuda::cuda_module_test {
namespace {

class CudaModule : public CudaTest {
 protected:
  // Runs an entry that takes a pointer to four bytes on a fresh machine; returns the result of the
  // wait.
  Status RunBad(const std::string& entry) {
    const auto gpu = OpenGpu();
    const auto kernel = LoadKernel(gpu, entry);
    const auto buffer = Buffer::Allocate(gpu, 4);
    EXPECT_TRUE(buffer.ok());
    EXPECT_EQ(ErrorOf(kernel->Launch({1, 1, 1}, Parameters(buffer->address()), nullptr)), "");
    Status status = Synchronize(*gpu, nullptr);
    EXPECT_EQ(ErrorOf(Synchronize(*gpu, nullptr)), ErrorOf(status));  // it stays
    return status;
  }
};

TEST_F(CudaModule, RunsAKernel) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  std::vector<uint32_t> values(70), expected(70);
  for (uint32_t i = 0; i < 70; ++i) values[i] = expected[i] = i * i;
  for (uint32_t i = 0; i < 69; ++i) expected[i] += 1000;
  const Words words(gpu, values);
  std::vector<uint8_t> parameters = Parameters(words.address(), 69, 1000);
  EXPECT_EQ(ErrorOf(kernel->Launch({3, 1, 1}, parameters, nullptr)), "");
  std::fill(parameters.begin(), parameters.end(), 0xEE);  // they were copied
  EXPECT_EQ(ErrorOf(kernel->Launch({0, 1, 1}, parameters, nullptr)), "");
  EXPECT_EQ(words.Peek(), values);
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, nullptr)), "");
  EXPECT_EQ(words.Peek(), expected);
  EXPECT_EQ(ReadCounts().launches, 1U);
}

TEST_F(CudaModule, TellsAttributes) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "large", 100 * 1024);
  const auto attributes = kernel->Attributes();
  ASSERT_TRUE(attributes.ok()) << ErrorOf(attributes);
  EXPECT_TRUE(attributes->from_ptx);
  EXPECT_EQ(attributes->static_shared_bytes, 0);
  EXPECT_EQ(attributes->blocks_per_multiprocessor, 2);  // 228 KiB, 101 KiB per block
}

TEST_F(CudaModule, OptsInToSharedMemory) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "large", 227 * 1024);
  EXPECT_EQ(ErrorOf(kernel->Launch({1, 1, 1}, Parameters(0), nullptr)), "");
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, nullptr)), "");
  EXPECT_EQ(
      ErrorOf(Kernel::Load(gpu, TestCode("large", 228 * 1024))),
      "the kernel `large` needs 233472 bytes of shared memory per block, but cuda:0 (Emulated "
      "GPU 9.0) has 232448");
}

// Without opting in a launch with more than 48 KiB is refused, as by a GPU.
TEST_F(CudaModule, SharedMemoryIsAPrivilege) {
  const auto gpu = OpenGpu();
  const auto current = CurrentContext::Enter(*gpu);
  const Driver& d = driver();
  CuModule module = nullptr;
  CuFunction function = nullptr;
  const std::string ptx = TestPtx();
  ASSERT_EQ(d.ModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr), kSuccess);
  ASSERT_EQ(d.ModuleGetFunction(&function, module, "large"), kSuccess);
  CuDevicePtr p = 0;
  void* parameters[] = {&p};
  const auto launch = [&](unsigned threads, unsigned shared) {
    return d.LaunchKernel(function, 1, 1, 1, threads, 1, 1, shared, nullptr, parameters, nullptr);
  };
  EXPECT_EQ(launch(32, 48 * 1024), kSuccess);
  EXPECT_EQ(launch(32, 48 * 1024 + 1), kErrorInvalidValue);
  EXPECT_EQ(launch(1025, 0), kErrorInvalidValue);
  EXPECT_EQ(launch(0, 0), kErrorInvalidValue);
  EXPECT_EQ(d.FuncSetAttribute(function, kFunctionMaxDynamicSharedSizeBytes, 227 * 1024 + 1),
            kErrorInvalidValue);
  EXPECT_EQ(d.CtxSynchronize(), kSuccess);
  EXPECT_EQ(d.ModuleUnload(module), kSuccess);
  EXPECT_EQ(launch(32, 0), kErrorInvalidHandle);
  EXPECT_EQ(d.ModuleUnload(module), kErrorInvalidHandle);
}

TEST_F(CudaModule, ShowsTheLogOfTheCompiler) {
  const auto gpu = OpenGpu();
  KernelCode code = TestCode("add");
  code.ptx = ".version 8.0\n.target sm_80\n.visible .entry add() { frobnicate.u32 r; }\n";
  const auto kernel = Kernel::Load(gpu, code);
  EXPECT_EQ(IdOf(kernel), "cuda-load");
  EXPECT_NE(ErrorOf(kernel).find("cuda:0 (Emulated GPU 9.0) cannot load the kernel `add`: "
                                 "CUDA_ERROR_INVALID_PTX"),
            std::string::npos);
  EXPECT_NE(ErrorOf(kernel).find("unknown instruction `frobnicate"), std::string::npos)
      << ErrorOf(kernel);
}

TEST_F(CudaModule, RefusesPtxForOthers) {
  Reset({{"CAPABILITY", "8.9"}, {"VERSION", "12020"}});
  const auto gpu = OpenGpu();
  const auto load = [&](const std::string& version, const std::string& target) {
    KernelCode code = TestCode("add");
    code.ptx = TestPtx(version, target);
    return ErrorOf(Kernel::Load(gpu, code));
  };
  EXPECT_EQ(load("8.2", "sm_89"), "");
  EXPECT_EQ(load("7.8", "sm_80"), "");
  EXPECT_NE(load("8.0", "sm_90").find("PTX for sm_90 cannot be compiled for sm_89"),
            std::string::npos);
  EXPECT_NE(load("8.0", "sm_90a").find("PTX for sm_90a"), std::string::npos);
  EXPECT_NE(load("8.3", "sm_80").find("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"), std::string::npos);
  Reset({{"CAPABILITY", "10.0"}});
  const auto newer = OpenGpu();
  KernelCode code = TestCode("add");
  code.ptx = TestPtx("8.0", "sm_90a");
  EXPECT_NE(ErrorOf(Kernel::Load(newer, code)).find("PTX for sm_90a"), std::string::npos);
  ExpectLost();  // the first one was destroyed with the machine
}

TEST_F(CudaModule, FallsBackFromCubinToPtx) {
  const auto gpu = OpenGpu();
  KernelCode code = TestCode("add");
  code.cubin = std::string(
      "\x7f"
      "ELF\x02\x01\0\0",
      8);
  {
    const auto kernel = Kernel::Load(gpu, code);
    ASSERT_TRUE(kernel.ok()) << ErrorOf(kernel);
    EXPECT_TRUE((*kernel)->Attributes()->from_ptx);
  }
  code.ptx.clear();
  EXPECT_NE(ErrorOf(Kernel::Load(gpu, code)).find("CUDA_ERROR_NO_BINARY_FOR_GPU"),
            std::string::npos);
  code = TestCode("nobody");
  EXPECT_EQ(ErrorOf(Kernel::Load(gpu, code)),
            "cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (symbol not found)");
  EXPECT_EQ(ReadCounts().modules, 0U);
}

TEST_F(CudaModule, ChecksTheParameterBlock) {
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  EXPECT_EQ(ErrorOf(kernel->Launch({1, 1, 1}, Parameters(0), nullptr)),
            "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (invalid argument)");
}

TEST_F(CudaModule, WrongAccessesEndTheContext) {
  ExpectLost();
  const Status wild = RunBad("wild");
  EXPECT_EQ(IdOf(wild), "device-lost");
  EXPECT_EQ(ErrorOf(wild),
            "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (illegal memory access)");
  EXPECT_NE(Findings().find("wild:"), std::string::npos) << Findings();
  EXPECT_NE(Findings().find("out_of_bounds"), std::string::npos) << Findings();
}

TEST_F(CudaModule, OtherFaultsHaveTheirCodes) {
  ExpectLost();
  EXPECT_NE(ErrorOf(RunBad("odd")).find("MISALIGNED_ADDRESS"), std::string::npos);
  Reset({});
  EXPECT_NE(ErrorOf(RunBad("trap")).find("LAUNCH_FAILED"), std::string::npos);
  Reset({{"LIMIT", "1000"}});
  EXPECT_NE(ErrorOf(RunBad("loop")).find("LAUNCH_TIMEOUT"), std::string::npos);
  Reset({});
  EXPECT_NE(ErrorOf(RunBad("fresh")).find("LAUNCH_FAILED"), std::string::npos);
  EXPECT_NE(Findings().find("uninitialised"), std::string::npos) << Findings();
}

TEST_F(CudaModule, WhatAGpuDoesNotNoticeCanBeTolerated) {
  Reset({{"TOLERATE", "race,uninitialised"}});
  EXPECT_EQ(ErrorOf(RunBad("fresh")), "");
  EXPECT_NE(Findings().find("uninitialised"), std::string::npos) << Findings();
}

TEST_F(CudaModule, FindingsGoToAFile) {
  const std::string file = testing::TempDir() + "/emulated_findings.txt";
  std::remove(file.c_str());
  Reset({{"TOLERATE", "race,uninitialised"}, {"REPORT", file}});
  EXPECT_EQ(ErrorOf(RunBad("fresh")), "");
  std::string text(1000, '\0');
  FILE* const stream = std::fopen(file.c_str(), "r");
  ASSERT_NE(stream, nullptr);
  text.resize(std::fread(text.data(), 1, text.size(), stream));
  std::fclose(stream);
  std::remove(file.c_str());
  EXPECT_EQ(text, Findings());
  EXPECT_NE(text.find("uninitialised"), std::string::npos);
}

TEST_F(CudaModule, LaunchesFailWhereTheyAreTold) {
  ExpectLost();
  Reset({{"FAULTS", "cuLaunchKernel@2=701,kernel@2=719"}});
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const Words words(gpu, {1});
  const auto launch = [&] {
    return kernel->Launch({1, 1, 1}, Parameters(words.address(), 1, 1), nullptr);
  };
  EXPECT_EQ(ErrorOf(launch()), "");
  EXPECT_NE(ErrorOf(launch()).find("LAUNCH_OUT_OF_RESOURCES"), std::string::npos);
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, nullptr)), "");
  EXPECT_EQ(ErrorOf(launch()), "");
  EXPECT_EQ(IdOf(Synchronize(*gpu, nullptr)), "device-lost");
  EXPECT_EQ(IdOf(launch()), "device-lost");
  EXPECT_EQ(IdOf(AllocateMemory(*gpu, 4)), "device-lost");
}

TEST_F(CudaModule, ALostDeviceIsNoticedByEveryCall) {
  ExpectLost();
  const auto gpu = OpenGpu();
  const auto kernel = LoadKernel(gpu, "add");
  const auto stream = Stream::Create(gpu);
  const auto event = Event::Create(gpu);
  uint64_t calls = ReadCounts().calls;
  setenv("TARSIA_EMULATED_FAULTS", "*@1+=999", 1);
  Symbol<emulated::ResetHook>(emulated::kResetHook)();
  (void)calls;
  uint32_t word = 0;
  EXPECT_EQ(IdOf(AllocateMemory(*gpu, 4)), "device-lost");
  EXPECT_EQ(IdOf(CopyIn(*gpu, 4096, &word, 4, nullptr)), "device-lost");
  EXPECT_EQ(IdOf(kernel->Launch({1, 1, 1}, Parameters(0, 0, 0), nullptr)), "device-lost");
  EXPECT_EQ(IdOf(Synchronize(*gpu, stream->handle())), "device-lost");
  EXPECT_EQ(IdOf(event->Record(nullptr)), "device-lost");
  EXPECT_EQ(IdOf(IsDone(*gpu, nullptr)), "device-lost");
  EXPECT_EQ(IdOf(IsCapturing(*gpu, nullptr)), "device-lost");
  EXPECT_EQ(IdOf(ReadMemoryInfo(*gpu)), "device-lost");
  unsetenv("TARSIA_EMULATED_FAULTS");
}

TEST_F(CudaModule, UnloadedTooEarlyShows) {
  ExpectLost();
  const auto gpu = OpenGpu();
  const Words words(gpu, {1});
  {
    const auto kernel = LoadKernel(gpu, "add");
    EXPECT_EQ(ErrorOf(kernel->Launch({1, 1, 1}, Parameters(words.address(), 1, 1), nullptr)), "");
  }
  EXPECT_EQ(IdOf(Synchronize(*gpu, nullptr)), "device-lost");
  EXPECT_NE(Findings().find("unloaded before it ran"), std::string::npos) << Findings();
}

// In a second context the kernel is loaded when it is first launched, or by Prepare.
TEST_F(CudaModule, IsLoadedOnceInEachContext) {
  const auto gpu = OpenGpu();
  auto kernel = LoadKernel(gpu, "add");
  EXPECT_EQ(ReadCounts().modules, 1U);
  CuContext own = nullptr;
  ASSERT_EQ(Symbol<CuResult (*)(CuContext*, unsigned, CuDevice)>("cuCtxCreate_v2")(&own, 0, 0),
            kSuccess);
  {
    const Words words(gpu, {5});
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(ErrorOf(kernel->Launch({1, 1, 1}, Parameters(words.address(), 1, 1), nullptr)), "");
      EXPECT_EQ(ErrorOf(kernel->Prepare()), "");
    }
    EXPECT_EQ(ErrorOf(Synchronize(*gpu, nullptr)), "");
    EXPECT_EQ(words.Peek(), std::vector<uint32_t>{7});
    EXPECT_EQ(ReadCounts().modules, 2U);
  }
  kernel.reset();
  EXPECT_EQ(ReadCounts().modules, 0U);
  EXPECT_EQ(Symbol<CuResult (*)(CuContext)>("cuCtxDestroy_v2")(own), kSuccess);
}

// Memory of one context is not valid in another, but copies between them are possible.
TEST_F(CudaModule, AContextsMemoryIsItsOwn) {
  ExpectLost();
  const auto gpu = OpenGpu();
  const Words words(gpu, {5});
  CuContext own = nullptr;
  ASSERT_EQ(Symbol<CuResult (*)(CuContext*, unsigned, CuDevice)>("cuCtxCreate_v2")(&own, 0, 0),
            kSuccess);
  const Words copy(gpu, {0});
  EXPECT_EQ(ErrorOf(CopyWithin(*gpu, copy.address(), words.address(), 4, nullptr)), "");
  EXPECT_EQ(ErrorOf(Synchronize(*gpu, nullptr)), "");
  EXPECT_EQ(copy.Peek(), std::vector<uint32_t>{5});
  const auto kernel = LoadKernel(gpu, "add");
  EXPECT_EQ(ErrorOf(kernel->Launch({1, 1, 1}, Parameters(words.address(), 1, 1), nullptr)), "");
  EXPECT_NE(ErrorOf(Synchronize(*gpu, nullptr)).find("ILLEGAL_ADDRESS"), std::string::npos);
}

}  // namespace
}  // namespace tarsia::cuda::cuda_module_test
