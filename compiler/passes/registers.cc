#include "compiler/passes/registers.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/passes/live_words.h"
#include "isa/limits.h"
#include "layout/access.h"

namespace tarsia::compiler {
namespace {

// CUDA C++ Programming Guide, "Compute Capabilities": of a multiprocessor, 7.0 to 9.0.
constexpr int64_t kRegistersOfProcessor = 65536;
constexpr int64_t kRegistersAtOnce = 8;

}  // namespace

int64_t MostRegistersOfThread(int64_t warps) {
  const int64_t of_thread = kRegistersOfProcessor / (warps * kWarpThreads);
  return std::min(of_thread / kRegistersAtOnce * kRegistersAtOnce, kMostRegisterBound);
}

void BoundRegisters(tile::Form& form, Target /*target*/) {
  if (!form.header.registers.none()) return;
  const int64_t most = MostRegistersOfThread(form.Warps());
  if (LiveWords(form).Most().words <= most) return;
  form.header.registers = form.pool.Int(most);
}

std::vector<LineAdvice> AdviceOnRegisters(const tile::Form& form) {
  const int64_t bound = form.pool.AsInt(form.header.registers).value_or(kMostRegisterBound);
  const int64_t most = std::min(MostRegistersOfThread(form.Warps()), bound);
  const LiveWords::Peak peak = LiveWords(form).Most();
  if (peak.words <= most) return {};
  return {{form.ops[peak.op].location.line,
           fmt::format("the tiles that live here take {} registers of a thread, which has at most "
                       "{}: make them smaller, or use more warps",
                       peak.words, most)}};
}

}  // namespace tarsia::compiler
