// The divergence of a warp. Lanes that take different paths of a branch run apart as "splits" (warp
// splits) and go on as one at a "join" (a reconvergence point): the immediate post-dominator of the
// branch. A call is a join where it returns. Splits run in turn, so that one may wait for another.
// At an .aligned instruction splits wait for each other too, and go on as one: compilers let
// several paths lead there that have not met before.
#ifndef TARSIA_PTX_MACHINE_DIVERGENCE_H_
#define TARSIA_PTX_MACHINE_DIVERGENCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ptx/machine/frames.h"
#include "ptx/table/code.h"
#include "ptx/table/findings.h"

namespace tarsia::ptx {

class Mbarrier;
class Warp;

// Where lanes that took different paths meet again, or where a call returns to.
struct Join {
  Join* parent = nullptr;
  Frame* frame = nullptr;
  uint32_t pc = 0;
  uint32_t expected = 0;  // lanes that have not ended
  uint32_t arrived = 0;
  uint32_t polls = 0;       // by lanes that have not arrived, since others wait for them
  Frame* callee = nullptr;  // of a call
};

// Lanes that run together.
struct Split {
  enum class State : uint8_t {
    kReady,
    kBarrier,
    kWarpSync,   // for the lanes of a mask (SyncLanes)
    kGather,     // for the other lanes of the warp (GatherLanes)
    kCluster,    // at barrier.cluster
    kRegisters,  // for registers of the block (setmaxnreg)
    kMbarrier,
    kBulk,
    kWgmma  // for the other warps of the warpgroup (AwaitWarpgroup)
  };
  State state = State::kReady;
  uint32_t mask = 0;
  uint32_t pc = 0;
  Frame* frame = nullptr;
  Join* join = nullptr;
  uint32_t wanted = 0;     // kWarpSync: the lanes that have to come
  uint32_t executing = 0;  // kWarpSync: the lanes that are here and whose guard holds
  uint32_t barrier = 0;    // kBarrier: its number
  // kMbarrier, kBulk: the split sleeps (Suspend).
  const Inst* waits_at = nullptr;
  const Mbarrier* mbarrier = nullptr;  // null: several
  uint64_t wake_turn = 0;              // the turn of the warp in which the wait times out
  bool retries = false;  // when it wakes, it runs the instruction again, which reads timed_out
  bool timed_out = false;
  uint32_t alone_at = kNowhere;  // the instruction that it runs without those that never come
};

class Divergence {
 public:
  // The warp must outlive this.
  Divergence(Warp* warp, uint32_t lanes);

  // ---- the loop ----------------------------------------------------------------------------
  // The lanes begin to run the entry.
  void Begin(Frame* frame) { AddSplit(live_, 0, frame, nullptr); }
  // The warp has its turn: wakes the splits whose waits have timed out.
  void BeginTurn();
  // Makes the next split that can run the current one, after merging those that have reached their
  // join. False if there is none.
  bool Pick();
  [[nodiscard]] Split& split() { return *splits_[current_]; }
  [[nodiscard]] bool Done() const { return splits_.empty(); }
  [[nodiscard]] size_t count() const { return splits_.size(); }
  // Lanes that have not ended.
  [[nodiscard]] uint32_t live() const { return live_; }
  // Whether the current split has polled, so that others have their turn.
  void ClearYield() { yields_ = false; }
  [[nodiscard]] bool yields() const { return yields_; }
  // The lanes in which the current instruction is counted; 0 if it waits and begins again.
  void SetCounted(uint32_t lanes) { counted_ = lanes; }
  [[nodiscard]] uint32_t counted() const { return counted_; }

  // ---- branches and calls (divergence.cc) --------------------------------------------------
  Step Branch(const Inst& inst, uint32_t taken);
  // Lanes go to several places; `target` has one for each executing lane.
  Step BranchMany(const Inst& inst, const uint32_t* target);
  Step Call(const Inst& inst);
  Step Return();
  Step Exit(uint32_t lanes);

  // ---- lanes that act together (divergence_sync.cc) ----------------------------------------
  // Waits until the lanes that the operand, a mask, names execute the instruction, and then lets
  // them act: lanes that name the same mask together, each such group by itself. Reports masks that
  // do not fit.
  Step ActTogether(const Inst& inst, const Operand& members, void (*act)(Warp&, const Inst&));
  // Lanes come to an .aligned instruction. True: all of the warp are here and go on as one split,
  // whatever paths they took, or those that are missing never come.
  bool GatherLanes();
  // Lets lanes go on that wait in GatherLanes for lanes that nobody but they can help. `all`: also
  // those whose missing lanes wait for something else, and those that wait for their warpgroup.
  bool StopGathering(bool all);
  // Reports that not all lanes of the warp execute an .aligned instruction.
  void RequireAligned(const Inst& inst);
  // Reports splits that wait in ActTogether for lanes that never come.
  void ReportStuckLanes();

  // ---- waits (divergence_waits.cc) ---------------------------------------------------------
  // Lanes read memory that others write, in vain (a lock that is taken). Others have their turn.
  // Lanes that wait at the nearest join for these may be the ones that these wait for, so that at
  // last they go on alone, as threads of a GPU do. `outside`: what is awaited need not come from
  // the cluster.
  void NotePoll(uint32_t weight, bool outside = true);
  // The lanes read what they waited for.
  void NoteProgress();
  // The current split sleeps for at most so many turns; if it `retries`, it then runs the
  // instruction again.
  void Suspend(const Inst& inst, Split::State state, const Mbarrier* mbarrier, uint64_t turns,
               bool retries);
  // These wake sleepers: what they wait for has come or may have come, or nothing else can happen.
  // The last returns whether there are any.
  void WakeForMbarrier(const Mbarrier* mbarrier);
  void WakeForBulk();
  bool WakeSuspended();
  // Waits until the other warps of the warpgroup have committed their wgmma up to this group. True:
  // they have, or never will.
  bool AwaitWarpgroup(uint32_t group);
  void WakeForWarpgroup();
  // A split goes on after the instruction where it waits.
  static void Wake(Split* split);
  // "line 12: barrier 0 (lanes 0xffff0000)" for each split, with what it waits for if it does.
  [[nodiscard]] std::string DescribeWaits() const;
  // Fills the place of the first split of those that run, or of those that wait. False if there is
  // none.
  bool FillPlace(Finding* finding, bool running) const;

 private:
  void AddSplit(uint32_t mask, uint32_t pc, Frame* frame, Join* join);
  void RemoveCurrent();
  Join* NewJoin(uint32_t pc, uint32_t expected);
  void FreeJoin(Join* join);
  // Lets the current split arrive at the joins at its instruction. False if it waits at one.
  bool Arrive();
  // Lanes leave for good: the joins up to (and without) `until` do not wait for them any more.
  void RemoveLanes(Join* join, const Join* until, uint32_t lanes);
  // Leaves those executing lanes of an indirect call that call one function; the others come to the
  // call again. Returns the function's number.
  uint32_t SplitIndirectCall(const Inst& inst);
  // Lets some lanes of the current split run its instruction as a split of their own; all meet
  // again after it.
  void SendApart(uint32_t lanes);
  // Waits until all lanes of the mask execute the instruction, in which case they become the
  // executing lanes and true is returned. Reports masks that do not fit.
  bool SyncLanes(const Inst& inst, uint32_t members);
  void MergeGathered();
  // Whether a split waits in GatherLanes where the current one is.
  [[nodiscard]] bool GathersWith(const Split& other) const;
  void Resume(Split* split, bool late);

  Warp& warp_;
  uint32_t live_;
  std::vector<std::unique_ptr<Split>> splits_;
  size_t current_ = 0;
  std::vector<std::unique_ptr<Join>> joins_;
  uint64_t turn_ = 0;       // how many turns the warp had
  uint32_t suspended_ = 0;  // splits that sleep
  uint32_t gathering_ = 0;  // splits in kGather
  bool yields_ = false;
  uint32_t counted_ = 0;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_DIVERGENCE_H_
