// The compiled part of Highway, for static builds: Debian ships it as a shared library only. It is
// what run-time dispatch calls: which vector units this processor has, and which was chosen.
#include <hwy/base.h>
#include <hwy/targets.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace hwy {
namespace {

std::atomic<int64_t> disabled{0};
std::atomic<int64_t> mocked{0};

// The sets that the names of Highway's targets stand for, from its headers' attributes.
int64_t Detect() {
  int64_t targets = HWY_ENABLED_BASELINE | HWY_EMU128 | HWY_SCALAR;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  const auto has = [](auto... features) { return (... && (features != 0)); };
  if (!has(__builtin_cpu_supports("ssse3"))) return targets;
  targets |= HWY_SSSE3;
  if (!has(__builtin_cpu_supports("sse4.1"), __builtin_cpu_supports("sse4.2"),
           __builtin_cpu_supports("aes"), __builtin_cpu_supports("pclmul"))) {
    return targets;
  }
  targets |= HWY_SSE4;
  if (!has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"),
           __builtin_cpu_supports("f16c"), __builtin_cpu_supports("lzcnt"),
           __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2"))) {
    return targets;
  }
  targets |= HWY_AVX2;
  if (!has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512vl"),
           __builtin_cpu_supports("avx512cd"), __builtin_cpu_supports("avx512dq"),
           __builtin_cpu_supports("avx512bw"))) {
    return targets;
  }
  targets |= HWY_AVX3;
#endif
  return targets;
}

}  // namespace

int64_t SupportedTargets() {
  static const int64_t detected = Detect();
  const int64_t mock = mocked.load();
  const int64_t targets = (mock != 0 ? mock : detected) & ~disabled.load();
  return targets != 0 ? targets : HWY_STATIC_TARGET;
}

void DisableTargets(int64_t targets) { disabled.store(targets); }

void SetSupportedTargetsForTest(int64_t targets) {
  mocked.store(targets);
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: ", file, line);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace hwy
