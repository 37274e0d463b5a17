// A warp at run time: 32 lanes, their registers, and the groups of lanes ("splits") that run
// apart between a divergent branch and the place where its ways meet again ("join"). The inside of
// emulator.h; handlers of instructions see this.
#ifndef TARSIA_PTX_MACHINE_WARP_H_
#define TARSIA_PTX_MACHINE_WARP_H_

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ptx/machine/bulk_groups.h"
#include "ptx/machine/wgmma_state.h"
#include "ptx/memory/homes.h"
#include "ptx/memory/image.h"
#include "ptx/memory/memory.h"
#include "ptx/memory/origin.h"
#include "ptx/race/order.h"
#include "ptx/race/race.h"
#include "ptx/race/sync_table.h"
#include "ptx/table/code.h"
#include "ptx/table/findings.h"
#include "ptx/table/lanes.h"

namespace tarsia::ptx {

class Block;
class Counter;
class Mbarrier;
struct LaunchContext;

// All bits of a register of `bytes` bytes (1 for a predicate).
inline uint64_t AllBits(int bytes) {
  return bytes == 0 ? 1 : bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (bytes * 8)) - 1;
}

// An activation of a function by some lanes of a warp.
struct Frame {
  const Function* function = nullptr;
  uint32_t number = 0;
  Frame* caller = nullptr;
  std::vector<uint8_t> values;  // registers; a 1 in `undef` is an undefined bit
  std::vector<uint8_t> undef;   // of the lanes that undef_lanes names, otherwise it says nothing
  std::vector<uint32_t> undef_lanes;  // by register: lanes with undefined bits
  Homes homes;                        // of undefined bits
  // By register and lane, of those that have been undefined since the frame began; empty if none
  // were.
  std::vector<Origin> origins;
  const uint8_t* constants = nullptr;
  const uint8_t* zeros = nullptr;
  uint64_t local_base = 0;
  std::vector<RegisterMark> marks;  // by register, if the function is watched
  std::vector<uint64_t> tops;       // by lane, behind what was allocated; empty if nothing was

  // Where the stack ends: behind the variables of the function, or what a lane has allocated.
  [[nodiscard]] uint64_t StaticEnd() const { return local_base + function->local_bytes; }
  [[nodiscard]] uint64_t TopOf(int lane) const {
    return tops.empty() ? StaticEnd() : tops[static_cast<size_t>(lane)];
  }
};

// Where lanes that went different ways meet again, or where a call returns to.
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
    kWarpSync,
    kTogether,
    kCluster,
    kRegisters,
    kMbarrier,
    kBulk,
    kWgmma
  };
  State state = State::kReady;
  uint32_t mask = 0;
  uint32_t pc = 0;
  Frame* frame = nullptr;
  Join* join = nullptr;
  uint32_t wanted = 0;     // kWarpSync: the lanes that have to come
  uint32_t executing = 0;  // kWarpSync: the lanes that are here and whose guard holds
  uint32_t barrier = 0;    // kBarrier: its number
  // kMbarrier, kBulk: they sleep (warp_wait.cc).
  const Inst* waits_at = nullptr;
  const Mbarrier* mbarrier = nullptr;  // null: several
  uint64_t wake_turn = 0;              // of the warp, when they give up
  bool retries = false;                // and run the instruction again, which learns of it:
  bool timed_out = false;
  uint32_t alone_at = kNowhere;  // kTogether, kWgmma: where the others never come, it goes on
};

enum class Access : uint8_t { kRead, kWrite, kAtomic };

// Bytes in some memory, and which of their bits are defined.
struct Place {
  uint8_t* data = nullptr;
  uint8_t* defined = nullptr;
};

// The most bytes of a thread's stack.
inline constexpr uint64_t kMaxLocal = uint64_t{1} << 20;

class Warp {
 public:
  Warp(Block* block, uint32_t number, uint32_t lanes);

  // Runs until every split waits or has ended, or about `budget` instructions. Returns how many
  // instructions ran.
  uint64_t Run(uint64_t budget);

  [[nodiscard]] bool Done() const { return splits_.empty(); }
  [[nodiscard]] uint32_t live() const { return live_; }
  [[nodiscard]] uint32_t number() const { return number_; }
  [[nodiscard]] Block& block() { return *block_; }
  // "line 12: barrier 0 (lanes 0xffff0000)" for each split, with what it waits for if it does.
  [[nodiscard]] std::string DescribeWaits() const;
  // The place of the first split, of those alone that run or that wait; false if there is none.
  bool FillPlace(Finding* finding, bool running) const;
  // Splits that wait for lanes of their warp: reports them as divergent.
  void ReportStuckLanes();

  // ---- for handlers: operands ------------------------------------------------------------
  // Lanes that execute the instruction: the split's, less those whose guard does not hold.
  [[nodiscard]] uint32_t mask() const { return mask_; }
  [[nodiscard]] const uint8_t* Values(const Operand& operand) const {
    return values_[operand.bank] + operand.offset;
  }
  [[nodiscard]] uint8_t* Dest(const Operand& operand) {
    return frame_->values.data() + operand.offset;
  }
  template <typename T>
  [[nodiscard]] T Get(const Operand& operand, int lane) const {
    return LoadLane<T>(Values(operand), lane);
  }
  // The lanes of a predicate, negated if the operand says so.
  [[nodiscard]] uint32_t Predicate(const Operand& operand) const {
    const auto lanes = LoadLane<uint32_t>(Values(operand), 0);
    return operand.negated ? ~lanes : lanes;
  }
  // Sets the predicate of the executing lanes.
  void SetPredicate(const Operand& operand, uint32_t lanes) {
    uint8_t* at = Dest(operand);
    StoreLane(at, 0, (LoadLane<uint32_t>(at, 0) & ~mask_) | (lanes & mask_));
  }
  // A lane of any width up to 64 bits.
  [[nodiscard]] uint64_t Bits(const Operand& operand, int lane) const;
  void SetBits(const Operand& operand, int lane, uint64_t bits);

  // ---- for handlers: undefined bits --------------------------------------------------------
  [[nodiscard]] uint32_t UndefLanes(const Operand& operand) const {
    return operand.bank != 0 ? 0 : frame_->undef_lanes[operand.flag];
  }
  [[nodiscard]] uint64_t Undef(const Operand& operand, int lane) const;
  // Undefined bits come from where those of the instruction's sources do, or from the instruction.
  void SetUndef(const Operand& operand, int lane, uint64_t bits);
  void SetUndef(const Operand& operand, int lane, uint64_t bits, Origin origin);
  // Executing lanes of a destination are defined.
  void SetDefined(const Operand& operand) { frame_->undef_lanes[operand.flag] &= ~mask_; }
  // Where a lane's undefined bits were loaded from; null if they were not, or are not as loaded.
  [[nodiscard]] const Home* HomeOf(const Operand& operand, int lane) const {
    return operand.bank != 0 ? nullptr : frame_->homes.Find(operand.flag, lane);
  }
  // Behind SetUndef.
  void SetHome(const Operand& operand, int lane, const Home& home) {
    if (checking_) frame_->homes.Set(operand.flag, lane, home);
  }
  // Whether a lane's undefined bits, if it has any, are those of memory at an address.
  [[nodiscard]] bool IsAtHome(const Operand& operand, int lane, uint64_t address) const;
  // Reports the executing lanes in which an operand that matters is undefined. What has been
  // reported counts as defined.
  void NeedDefined(const Inst& inst, const Operand& operand, std::string_view what);
  void ReportUndefined(const Inst& inst, int lane, std::string message, Origin origin);
  // What an instruction stores to global memory, or updates it with: reports undefined bits of a
  // source (among the low `bytes` bytes), which count as defined from then on.
  void NeedDefinedStore(const Inst& inst, const Operand& source, int lane, int bytes);
  // Where undefined bits of a lane of a register come from: none if nobody wrote it.
  [[nodiscard]] Origin OriginOf(const Operand& operand, int lane) const;
  // Of a lane's result: from the sources, of this lane first, else from the instruction.
  [[nodiscard]] Origin OriginOfResult(const Inst& inst, int lane) const;
  // Where undefined bits that an instruction reads in memory come from.
  [[nodiscard]] Origin OriginOfLoad(const Inst& inst, Space space, int lane, uint64_t address,
                                    uint64_t bytes) const;
  // Undefined bits come to lie in memory, where that is not global.
  void NoteUndefStore(const Inst& inst, const Operand& source, Space space, int lane,
                      uint64_t address, uint64_t bytes);
  // An alloca's bytes, which nobody has written.
  void NoteAlloca(const Inst& inst, int lane, uint64_t address, uint64_t bytes);

  // ---- for handlers: the stack -------------------------------------------------------------
  // The stack of a lane ends behind `bytes` undefined bytes at an address. False: it is too deep.
  bool MoveTop(int lane, uint64_t address, uint64_t bytes);

  // ---- for handlers: memory ----------------------------------------------------------------
  [[nodiscard]] uint64_t Address(const Operand& operand, int lane) const {
    const uint64_t base =
        operand.bytes == 4 ? Get<uint32_t>(operand, lane) : Get<uint64_t>(operand, lane);
    return base + static_cast<uint64_t>(operand.addend);
  }
  // Finds `bytes` bytes; false, with a finding, if they are not all there or not aligned. Takes
  // note of the access.
  bool Find(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
            Access access, Place* place);
  // Likewise, without taking note.
  bool Locate(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
              Access access, Place* place);
  // Likewise for a lane that reads and writes in one step, which update(place) does then: to other
  // host threads the note and that are one, so that notes come in the order of the steps.
  template <typename Update>
  bool FindAndUpdate(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
                     const Update& update) {
    Place place;
    if (!Locate(inst, space, lane, address, bytes, Access::kAtomic, &place)) return false;
    uint64_t within = address;
    const Space narrow = Narrow(space, &within);
    const HeldPage held(this, checking_ ? PageToHold(narrow, within, bytes) : nullptr);
    NoteFound(inst, space, lane, address, bytes, Access::kAtomic);
    update(place);
    return true;
  }
  // The common case of a whole instruction: the executing lanes' accesses of `bytes` bytes are all
  // aligned and within one range, and nothing is to be reported. Fills the offset of each executing
  // lane's within it. Null says nothing: go lane by lane.
  const MemoryRange* FindMerged(Space space, const Operand& address, uint32_t bytes, Access access,
                                uint64_t* offsets);
  // ---- for handlers: races (warp_races.cc) -------------------------------------------------
  [[nodiscard]] bool checking() const { return checking_; }
  [[nodiscard]] WarpOrder& order() { return order_; }
  [[nodiscard]] Clock AsyncDone(int lane) const { return order_.AsyncDone(lane); }
  // A lane that executes an instruction, as who accesses memory.
  [[nodiscard]] Accessor AccessorOf(const Inst& inst, int lane) const;
  // A lane's cp.async of a group that ends when the agent's clock is known to be `clock`.
  [[nodiscard]] Accessor AsyncAccessorOf(const Inst& inst, int lane, Clock clock) const;
  // Asynchronous work that lanes begin, which an agent of a block does.
  [[nodiscard]] AgentAccess BeginAgent(const Inst& inst, uint32_t lanes, const Block& block,
                                       uint32_t actor, Clock clock, bool async_proxy) const;
  // Takes note of an access to shared or global memory that is known to be good, and reports what
  // it races with; `lane` is whose doing it is.
  void NoteAccess(const Inst& inst, const Accessor& accessor, int lane, Space space,
                  uint64_t address, uint32_t bytes, Access access);
  // Likewise, of an agent's access to a block's shared memory or (null) global memory.
  void NoteAgent(const Inst& inst, const AgentAccess& agent, int lane, Block* block,
                 uint64_t address, uint64_t bytes, Access access);
  // Likewise, of what FindMerged found for the executing lanes.
  void NoteMerged(const Inst& inst, const MemoryRange& range, const uint64_t* offsets,
                  uint32_t bytes, Access access);
  // Likewise, of a store by a lane, which store() does then: to other host threads the two are one.
  template <typename Store>
  void NoteStore(const Inst& inst, int lane, Space space, uint64_t address, uint32_t bytes,
                 const Store& store) {
    const HeldPage held(this, PageToHold(space, address, bytes));
    NoteAccess(inst, AccessorOf(inst, lane), lane, space, address, bytes, Access::kWrite);
    store();
  }
  // Likewise, of stores by the executing lanes where FindMerged found, which store(lane) does then.
  template <typename Store>
  void NoteStores(const Inst& inst, const MemoryRange& range, const uint64_t* offsets,
                  uint32_t bytes, const Store& store) {
    ShadowRange& shadow = ShadowOf(range);
    for (uint32_t lanes = mask_; lanes != 0; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      const HeldPage held(this, PageToHold(&shadow, offsets[lane]));
      NoteCells(inst, AccessorOf(inst, lane), lane, &shadow, offsets[lane], bytes, Access::kWrite,
                Space::kGlobal, range.address);
      store(lane);
    }
  }
  // Whether stores there must be noted so: other blocks come there too, and what is there when a
  // store is noted tells whether it changes that.
  [[nodiscard]] bool NeedsNotesByLane(const MemoryRange& range) const;
  // Strong accesses and fences hand order on. A write is told of before it is done, a read after.
  void NoteStrongWrite(const Inst& inst, int lane, Space space, uint64_t address);
  void NoteStrongRead(const Inst& inst, int lane, Space space, uint64_t address);
  void NoteFence(const Inst& inst, Strength scope);
  // Lanes hand on what they did to whoever waits for a barrier of the cluster's scope: if they are
  // `relaxed`, what a fence of theirs released before. Or they take it.
  void ReleaseTo(uint32_t lanes, bool relaxed, Past* into);
  void AcquireFrom(uint32_t lanes, bool relaxed, const Past& past);

  // Which space an address of the generic one is in, made an address within that space.
  [[nodiscard]] static Space Narrow(Space space, uint64_t* address);
  // Likewise, but for the space of an instruction's address operand.
  [[nodiscard]] Space SpaceFor(const Inst& inst, const Operand& operand) const {
    if (inst.space != Space::kParam) return inst.space;
    return operand.frame_space ? Space::kLocal : Space::kParam;
  }

  // ---- for handlers: control ---------------------------------------------------------------
  [[nodiscard]] Split& split() { return *splits_[current_]; }
  Step Branch(const Inst& inst, uint32_t taken);
  // Lanes go to several places; `target` gives each executing lane's.
  Step BranchMany(const Inst& inst, const uint32_t* target);
  Step Call(const Inst& inst);
  Step Return();
  Step Exit(uint32_t lanes);
  // Waits until all lanes of the mask execute the instruction, in which case mask() is all of
  // them and true is returned. Reports masks that do not fit.
  bool SyncLanes(const Inst& inst, uint32_t members);
  // Waits likewise for the lanes that the operand, a mask, names, and then lets them act: those
  // that name the same lanes together, each group by itself.
  Step ActTogether(const Inst& inst, const Operand& members, void (*act)(Warp&, const Inst&));
  // Lanes look at memory that others write, in vain (a lock that is taken): others have their turn,
  // and who waits for these lanes at the nearest join may be whom they wait for, so that in the end
  // it goes on alone, as threads of a GPU do. NoteProgress: not in vain.
  // `outside`: what they look for need not come from the cluster.
  void NotePoll(uint32_t weight, bool outside = true);
  void NoteProgress();
  // Lanes come to an .aligned instruction. True: all of the warp are here and go on as one split,
  // whatever ways they came, or those that are missing never come.
  bool GatherLanes();
  // Lanes that wait for others so and can be helped by nobody but these go on without. `all`: so do
  // those whose others wait for something else, and those that wait for their warpgroup.
  bool StopGathering(bool all);
  // Waits until the other warps of the warpgroup have committed their wgmma up to this group. True:
  // they have, or never will.
  bool AwaitWarpgroup(uint32_t group);
  void WakeForWarpgroup();
  // Reports that not all lanes of the warp execute an .aligned instruction.
  void NeedAligned(const Inst& inst);

  void Report(const Inst& inst, FindingKind kind, int lane, std::string message,
              Severity severity = Severity::kCertain);
  [[nodiscard]] Dim3 ThreadOf(int lane) const;

  // Asynchronous copies of a lane, in the order in which they began.
  struct AsyncCopy {
    uint64_t address = 0;  // in shared memory
    uint8_t bytes = 0;
    uint64_t group = 0;
    Clock clock = 0;  // of the lane's agent
    const Inst* inst = nullptr;
    uint8_t data[16] = {};
    uint8_t defined[16] = {};
  };
  struct AsyncState {
    uint64_t open_group = 0;
    Clock clock = 1;  // steps on with each group, and with each arrival that waits for copies
    uint64_t delivered = 0;  // copies that were before these
    std::deque<AsyncCopy> copies;
  };
  WgmmaState& wgmma() { return wgmma_; }
  AsyncState& async(int lane) { return async_[static_cast<size_t>(lane)]; }
  [[nodiscard]] BulkGroups& bulk(int lane);
  // The split sleeps for at most so many turns; who `retries` runs the instruction again.
  void Suspend(const Inst& inst, Split::State state, const Mbarrier* mbarrier, uint64_t turns,
               bool retries);
  // What sleepers wait for has come, or may have; or nothing else can happen. The last says whether
  // there are any.
  void WakeForMbarrier(const Mbarrier* mbarrier);
  void WakeForBulk();
  bool WakeSuspended();
  // The block of its cluster that an address of another's shared memory names; null, with a
  // finding, if it cannot be reached. Takes the rank off the address.
  Block* FindPeer(const Inst& inst, int lane, uint64_t* address, uint64_t bytes, Access access);
  [[nodiscard]] LaunchContext& launch() const;
  [[nodiscard]] Frame& frame() { return *frame_; }
  void Wake(Split* split);
  // Gives lanes what barrier.red found.
  void FinishReduction(const Inst& inst, Frame* frame, uint32_t mask, uint32_t value);
  // Sets the frame's clock registers.
  void UpdateClocks();
  // Lanes whose last .cc instruction carried (or borrowed).
  uint32_t& carry() { return carry_; }
  // The bytes of a lane's local memory, of `bytes` bytes at an address that is known to be good.
  [[nodiscard]] Place LocalPlace(int lane, uint64_t address);

 private:
  void WakeLate();
  void Resume(Split* split, bool late);
  bool PickSplit();
  Step RunCounted(const Inst& inst, Counter* counter);
  void Enter(Frame* frame);
  bool Arrive();
  void RemoveCurrent();
  void SendApart(uint32_t lanes);
  void MergeGathered();
  [[nodiscard]] bool GathersWith(const Split& other) const;
  void RemoveLanes(Join* join, const Join* until, uint32_t lanes);
  Join* NewJoin(Frame* frame, uint32_t pc, uint32_t expected);
  void FreeJoin(Join* join);
  void AddSplit(uint32_t mask, uint32_t pc, Frame* frame, Join* join);
  Frame* NewFrame(uint32_t function, Frame* caller, uint32_t lanes);
  void FreeFrame(Frame* frame);
  void SetFrameValue(const FrameValue& value, Frame* frame);
  void CopyParams(const Function& callee, const Frame& from, const Frame& to, const CallSite& site,
                  bool back, uint32_t lanes);
  uint32_t Guard(const Inst& inst);
  void Propagate(const Inst& inst);
  [[nodiscard]] uint64_t SpecialValue(Special special, int lane) const;
  [[nodiscard]] Finding MakeFinding(const Inst& inst, FindingKind kind, int lane,
                                    std::string message) const;
  void AddFinding(Finding finding, int lane);
  // "reads 4 bytes at shared address 0x100: where"
  static std::string AccessText(Space space, uint64_t address, uint32_t bytes, Access access,
                                std::string_view where);
  void ReportAccess(const Inst& inst, FindingKind kind, int lane, Space space, uint64_t address,
                    uint32_t bytes, Access access, std::string_view where);
  bool FindShared(const Inst& inst, int lane, uint64_t address, uint32_t bytes, Access access,
                  Place* place);
  const MemoryRange* FindGlobal(uint64_t address, uint64_t bytes);
  // Takes note of what Find found.
  void NoteFound(const Inst& inst, Space space, int lane, uint64_t address, uint32_t bytes,
                 Access access);
  void NoteCells(const Inst& inst, const Accessor& accessor, int lane, ShadowRange* shadow,
                 uint64_t offset, uint32_t bytes, Access access, Space space, uint64_t base);
  // Of the access that the worker's conflicts are of. Whether it changed what others wrote.
  bool ReportConflicts(const Inst& inst, const Accessor& accessor, int lane, Space space,
                       uint64_t base, uint64_t offset, uint32_t bytes, Access access);
  // One of two accesses that conflict, which a thread of its block is told to have made.
  struct ConflictEnd {
    const Inst* inst = nullptr;
    Mark mark;
    bool write = false;
    uint32_t thread = 0;
    uint64_t address = 0;
    uint32_t bytes = 0;
  };
  static void FindAccess(uint64_t cell, ConflictEnd* end);
  [[nodiscard]] bool IsToldAtOther(const Inst& inst, const Accessor& accessor,
                                   const Conflict& conflict) const;
  [[nodiscard]] Finding ConflictFinding(const ConflictEnd& at, const ConflictEnd& other,
                                        Space space, Hazard hazard) const;
  [[nodiscard]] bool WritesSameValue(const Inst& inst, int lane, Space space, uint64_t address,
                                     const Conflict& conflict);
  // Whether it is a store of what is there.
  [[nodiscard]] bool ChangesNothing(const Inst& inst, int lane, Space space, uint64_t address);
  // While it lives, other host threads keep away from a page (null: from none), and the warp's own
  // notes there do not wait.
  class HeldPage {
   public:
    HeldPage(Warp* warp, ShadowRange::Page* page) : warp_(warp), lock_(page, page != nullptr) {
      warp_->held_ = page;
    }
    ~HeldPage() { warp_->held_ = nullptr; }
    HeldPage(const HeldPage&) = delete;
    HeldPage& operator=(const HeldPage&) = delete;

   private:
    Warp* const warp_;
    const PageLock lock_;
  };
  // The page with the cell of a byte that other host threads may be at, or null.
  ShadowRange::Page* PageToHold(ShadowRange* shadow, uint64_t offset) const;
  ShadowRange::Page* PageToHold(Space space, uint64_t address, uint32_t bytes);
  // `block`: of whom it is told.
  [[nodiscard]] std::string DescribeActor(const Mark& mark, uint32_t block) const;
  // Whether nothing but the memory model demands an order that two accesses lack.
  [[nodiscard]] bool IsOrderOfModel(const Accessor& accessor, const Conflict& conflict,
                                    FindingKind kind) const;
  // Whether a machine keeps the order of an access behind another, as long as it does not use all
  // that the memory model allows it.
  [[nodiscard]] bool IsOrderedInPractice(const Accessor& accessor, const Mark& with) const;
  // A lane is about to read with strength: what it sees, for that.
  void NoteSeen(int lane, Space space, uint64_t address);
  [[nodiscard]] FindingKind KindOf(const ConflictEnd& at, const ConflictEnd& other, Hazard hazard,
                                   std::string_view* why) const;
  // Whose shared memory an address of the shared space is in.
  [[nodiscard]] Block& OwnerOf(uint64_t address) const;
  // What a location is called in the table of those that hand order on.
  [[nodiscard]] uint64_t SyncKey(Space space, uint64_t address) const;
  ShadowRange& ShadowOf(const MemoryRange& range);

  Block* block_;
  uint32_t number_;
  uint32_t live_;
  uint32_t mask_ = 0;
  const uint8_t* values_[2] = {};
  const uint8_t* undef_[2] = {};
  Frame* frame_ = nullptr;
  std::vector<std::unique_ptr<Split>> splits_;
  size_t current_ = 0;
  std::vector<std::unique_ptr<Join>> joins_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<std::vector<uint8_t>> local_;  // by lane
  std::vector<std::vector<uint8_t>> local_defined_;
  MemoryOrigins origins_;    // in the lanes' local memory
  uint64_t excused_at_ = 0;  // clock_ of the instruction that undefined operands were reported of,
  uint32_t excused_ = 0;     // and in which lanes: what else it does wrong follows from that
  std::vector<AsyncState> async_;
  WgmmaState wgmma_;
  const MemoryRange* last_range_ = nullptr;
  MemoryRange heap_range_;  // what FindGlobal found in the heap last
  bool checking_;
  bool across_;                        // other blocks may touch the same global memory
  ShadowRange::Page* held_ = nullptr;  // the page that is locked while a write is noted and done
  WarpOrder order_;
  std::unique_ptr<FenceState> fences_;
  uint64_t shadow_address_ = 0;  // of the range that shadow_ is of
  ShadowRange* shadow_ = nullptr;
  std::vector<BulkGroups> bulk_;  // by lane; empty until one is used
  uint64_t turn_ = 0;             // how often it had its turn
  uint32_t suspended_ = 0;        // splits that sleep
  uint32_t gathering_ = 0;        // splits in kTogether
  uint64_t clock_ = 0;
  uint32_t carry_ = 0;
  bool yield_ = false;    // the split's turn ends
  uint32_t counted_ = 0;  // lanes in which the instruction runs; 0 if it waits and begins again
};

// Undefined bits of the destinations from those of the sources, before the instruction runs
// (undef.cc).
void PropagateUndef(Warp& warp, const Inst& inst, uint32_t lanes);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_WARP_H_
