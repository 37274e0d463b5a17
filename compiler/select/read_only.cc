#include "compiler/select/read_only.h"

#include <algorithm>
#include <vector>

namespace tarsia::compiler {
namespace {

bool IsLoop(Opcode opcode) { return opcode == Opcode::kFor || opcode == Opcode::kWhile; }

bool IsInLoopWithBarrier(const std::vector<Inst>& code, size_t number) {
  for (size_t loop = 0; loop < number; ++loop) {
    if (!IsLoop(code[loop].opcode) || code[loop].end <= number) continue;
    const auto begin = code.begin() + static_cast<std::ptrdiff_t>(loop);
    const auto end = code.begin() + static_cast<std::ptrdiff_t>(code[loop].end);
    if (std::any_of(begin, end,
                    [](const Inst& inst) { return Row(inst.opcode).Has(kCollective); })) {
      return true;
    }
  }
  return false;
}

// Whether earlier kernels may have written the memory since this one began.
bool FollowsOtherGrids(const std::vector<Inst>& code, size_t number) {
  for (size_t wait = 0; wait < code.size(); ++wait) {
    if (code[wait].opcode != Opcode::kGriddepWait) continue;
    if (wait < number) return true;
    for (size_t loop = 0; loop < number; ++loop) {
      if (IsLoop(code[loop].opcode) && code[loop].end > wait) return true;
    }
  }
  return false;
}

}  // namespace

bool IsReadOnly(const Program& program, size_t number, uint32_t value) {
  const std::vector<Inst>& code = program.kernel().code;
  return program.type(value).space == Space::kGlobal && !program.resolved().WritesMemoryOf(value) &&
         !IsInLoopWithBarrier(code, number) && !FollowsOtherGrids(code, number);
}

}  // namespace tarsia::compiler
