#include "tools/reduce/device_list.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/devices/cuda_device.h"
#include "tools/diagnostics.h"

namespace tarsia::tools {
namespace {

constexpr std::string_view kAllGpus = "cuda:all";

}  // namespace

Result<std::vector<std::string>> DevicesOf(std::string_view text, const ProcessRank& process) {
  std::vector<std::string> out;
  if (text == kAllGpus) {
    TARSIA_TRY(const int count, runtime::CudaDeviceCount());
    for (int i = 0; i < count; ++i) out.push_back("cuda:" + std::to_string(i));
  } else if (text == "cuda" || text.empty()) {
    const Result<int> count = runtime::CudaDeviceCount();
    if (process.ranks < 2 || !count.ok()) return std::vector<std::string>{std::string(text)};
    return std::vector<std::string>{
        "cuda:" + std::to_string(process.local_rank % static_cast<size_t>(*count))};
  } else {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      if (begin == end) return MakeDiagnostic(diag::kDeviceList, Location(), text);
      out.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (out.size() > 1 && process.ranks > 1) {
    return MakeDiagnostic(diag::kDevicesOfRank, Location(), out.size());
  }
  return out;
}

uint32_t ThreadsOf(const ProcessRank& process) {
  const auto online = static_cast<uint32_t>(std::max<int64_t>(sysconf(_SC_NPROCESSORS_ONLN), 1));
  cpu_set_t mask;
  const bool known = sched_getaffinity(0, sizeof mask, &mask) == 0;
  const auto own = known ? static_cast<uint32_t>(CPU_COUNT(&mask)) : online;
  if (own < online) return own;  // mpirun has bound the process
  return std::max<uint32_t>(online / static_cast<uint32_t>(process.local_ranks), 1);
}

}  // namespace tarsia::tools
