// mbarrier objects of a block. Their state lies here, by address; the 64 bits of shared memory hold
// an opaque copy of it. A phase completes when all arrivals and all bytes that it expects have
// come.
#ifndef TARSIA_PTX_MACHINE_MBARRIER_H_
#define TARSIA_PTX_MACHINE_MBARRIER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ptx/machine/warp.h"

namespace tarsia::ptx {

class Block;

// The thread and instruction that did something which may end later, and is reported then.
struct Issuer {
  Warp* warp = nullptr;
  const Inst* inst = nullptr;
  int lane = 0;

  void Report(FindingKind kind, std::string message, Severity severity = Severity::kCertain) const {
    warp->Report(*inst, kind, lane, std::move(message), severity);
  }
  void ReportUndefined(std::string message, Origin origin) const {
    warp->undefined().Report(*inst, lane, std::move(message), origin);
  }
  // Takes note of an access to an mbarrier at an address of the shared space: strong, unless the
  // object begins or ends.
  void Note(uint64_t address, Access access) const;
};

// One mbarrier object, from its init to its inval. The object stays where it is until the block is
// gone, so that its address is its identity.
class Mbarrier {
 public:
  static constexpr uint32_t kMaxCount = (uint32_t{1} << 20) - 1;
  static constexpr uint64_t kBytes = 8;

  Mbarrier(Block* block, uint64_t address, uint32_t count, const Issuer& by, uint32_t number);

  [[nodiscard]] Block& block() const { return *block_; }
  [[nodiscard]] uint64_t address() const { return address_; }
  [[nodiscard]] uint64_t phase() const { return phase_; }
  [[nodiscard]] int64_t missing_bytes() const { return bytes_; }
  [[nodiscard]] const Issuer& initialised_by() const { return by_; }
  // The agent that does the copies that complete here; each copy has its own clock, and they end in
  // order.
  [[nodiscard]] uint32_t actor() const { return actor_; }
  Clock BeginCopy() { return ++copies_begun_; }
  // "the mbarrier at 0x400 in phase 2: 1 of 4 arrivals and 128 bytes missing"
  [[nodiscard]] std::string Describe() const;

  // ---- what changes it. Arrivals release, successful waits acquire; each has one place. ------
  // Takes `count` arrivals; `drop` takes as many from the phases to come. Returns the state before.
  uint64_t Arrive(const Issuer& by, uint32_t count, bool drop);
  // The same, where it is an error if the phase completes.
  uint64_t ArriveWithoutCompleting(const Issuer& by, uint32_t count, bool drop);
  // A wait has found its phase completed.
  void Acquire(const Issuer& by);
  void ExpectBytes(const Issuer& by, int64_t bytes);
  // `copy`: the clock of the copy whose bytes these are; 0 if there is none.
  void CompleteBytes(const Issuer& by, int64_t bytes, Clock copy);
  // The thread's cp.async up to this clock of their agent are done when the phase is.
  void ReleaseCopies(const Issuer& by, Clock clock);
  // One more arrival in this phase (cp.async.mbarrier.arrive without .noinc).
  void ExpectArrival(const Issuer& by);

  // ---- what asks -----------------------------------------------------------------------------
  // The phase in which an Arrive gave this state has completed. Reports states that are too old.
  [[nodiscard]] bool HasCompleted(const Issuer& by, uint64_t state) const;
  // The last phase of this parity has completed.
  [[nodiscard]] bool HasCompletedParity(uint32_t parity) const { return (phase_ & 1) != parity; }
  [[nodiscard]] static uint32_t PendingOf(uint64_t state) {
    return static_cast<uint32_t>(state) & kMaxCount;
  }

  // ---- who can see its init --------------------------------------------------------------------
  void ShowToAsync() { seen_by_async_ = true; }
  void ShowToCluster() { seen_by_cluster_ = true; }
  // Reports a use by an asynchronous copy, or from another block, that no fence orders after init,
  // and returns false.
  bool RequireVisible(const Issuer& by, bool async) const;

 private:
  [[nodiscard]] uint64_t State() const;
  void Release(const Issuer& by);
  void CheckCount(const Issuer& by, uint32_t count) const;
  void Take(uint32_t count, bool drop);
  void ChangeBytes(const Issuer& by, int64_t change);
  // Ends the phase if nothing is missing, and brings the copy in memory up to date.
  void Update();

  Block* block_;
  uint64_t address_;
  Issuer by_;
  uint32_t number_;  // among those of its block
  uint32_t expected_;
  uint32_t pending_;
  int64_t bytes_ = 0;
  uint64_t phase_ = 0;
  uint32_t actor_;  // the agent of the copies that complete here
  Clock copies_begun_ = 0;
  Clock copies_done_ = 0;
  Past arriving_;         // what happened before the arrivals of this phase
  Past completed_;        // and of all that are complete
  bool drained_ = false;  // all have dropped out: no phase completes any more
  bool seen_by_async_ = false;
  bool seen_by_cluster_ = false;
};

// Those of a block.
class Mbarriers {
 public:
  explicit Mbarriers(Block* block) : block_(block) {}

  void Init(const Issuer& by, uint64_t address, uint32_t count);
  void Invalidate(const Issuer& by, uint64_t address);
  // The one at an address of the block's shared memory; null, with a finding, if there is none.
  Mbarrier* Find(const Issuer& by, uint64_t address);
  // The same without a finding.
  [[nodiscard]] Mbarrier* Peek(uint64_t address) const {
    const auto found = live_.find(address);
    return found != live_.end() ? found->second.get() : nullptr;
  }
  // Whether bytes may be, or are, those of a live one.
  [[nodiscard]] bool Near(uint64_t address, uint64_t bytes) const {
    return address < end_ && address + bytes > begin_;
  }
  [[nodiscard]] const Mbarrier* Overlapping(uint64_t address, uint64_t bytes) const;

  // A thread runs fence.mbarrier_init; any thread of the block runs a fence for the asynchronous
  // proxy, or one that other blocks of the cluster can rely on.
  void FenceInit(const Warp& warp);
  void FenceAsync();
  void FenceCluster();
  // The block has ended: reports phases that wait for bytes.
  void ReportUnfinished() const;

 private:
  bool CheckPlace(const Issuer& by, uint64_t address) const;

  Block* block_;
  std::map<uint64_t, std::unique_ptr<Mbarrier>> live_;
  std::map<uint64_t, const Inst*> invalidated_;
  std::vector<std::unique_ptr<Mbarrier>> retired_;
  uint32_t count_ = 0;
  uint64_t begin_ = UINT64_MAX;  // of all live ones
  uint64_t end_ = 0;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_MBARRIER_H_
