#include <algorithm>
#include <chrono>
#include <cstring>

#include "tools/bench/suite.h"

namespace tarsia::tools::bench {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

}  // namespace

std::string Measure(Case& one, Times* out) {
  if (std::string error = one.Run(); !error.empty()) return error;
  double total = 0;
  for (int i = 0; i < 1000 && (i < 5 || total < 0.5); ++i) {
    const auto begin = Clock::now();
    if (std::string error = one.Run(); !error.empty()) return error;
    out->sorted.push_back(Seconds(begin));
    total += out->sorted.back();
  }
  std::sort(out->sorted.begin(), out->sorted.end());
  return "";
}

double CopyBandwidth() {
  static const double bandwidth = [] {
    constexpr size_t kBytes = size_t{64} << 20;
    const std::vector<char> from(kBytes, 1);
    std::vector<char> to(kBytes, 0);
    double best = 0;
    for (int i = 0; i < 5; ++i) {
      const auto begin = Clock::now();
      std::memcpy(to.data(), from.data(), kBytes);
      best = std::max(best, 2 * static_cast<double>(kBytes) / Seconds(begin));
      if (to[kBytes - 1] != 1) return 1.0;  // the copy must happen
    }
    return best;
  }();
  return bandwidth;
}

}  // namespace tarsia::tools::bench
