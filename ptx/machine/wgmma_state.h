// The registers that wgmma has in flight, and which were written since the last wgmma.fence. In a
// function that has wgmma every other instruction is checked: it must not touch what is in flight,
// but for mov, which copies the state along. (Compilers copy accumulators between wgmmas; ptxas
// makes one register of them.)
#ifndef TARSIA_PTX_MACHINE_WGMMA_STATE_H_
#define TARSIA_PTX_MACHINE_WGMMA_STATE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>

#include "ptx/table/code.h"

namespace tarsia::ptx {

// The use of a register of a frame by wgmma.
struct RegisterUse {
  uint32_t group = 0;    // of the last wgmma that uses it; in flight until that is waited for
  uint32_t written = 0;  // how many fences came before the last ordinary write; 0: none did
  uint32_t shape = 0;    // of the matrix that it accumulates; 0 in a register of A
};

// The wgmma groups of a warp.
struct WgmmaState {
  struct Group {
    uint32_t number = 0;
    const Inst* inst = nullptr;  // its first wgmma
  };
  uint32_t fences = 1;  // one more than there were
  uint32_t open = 1;    // the group that wgmma joins
  uint32_t waited = 0;  // groups up to this one are complete
  std::deque<Group> pending;

  [[nodiscard]] bool InFlight(const RegisterUse& use) const { return use.group > waited; }
  // wgmma joins the open group.
  void Join(const Inst& inst) {
    if (pending.empty() || pending.back().number != open) pending.push_back({open, &inst});
  }
  // The newest of the groups that were committed, but for the newest `rest`; 0: there is none.
  [[nodiscard]] uint32_t NewestBut(uint32_t rest) const {
    return open - 1 - std::min(rest, open - 1);
  }
  // Those groups are complete.
  void Wait(uint32_t rest) {
    waited = std::max(waited, NewestBut(rest));
    while (!pending.empty() && pending.front().number <= waited) pending.pop_front();
  }
};

// A wgmma uses its accumulators, and registers of A if it has any: reports those that it must not.
void UseAccumulators(Warp& warp, const Inst& inst, std::span<const Operand> registers,
                     uint32_t shape);
void UseFragments(Warp& warp, const Inst& inst, std::span<const Operand> registers);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_WGMMA_STATE_H_
