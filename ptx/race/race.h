// Races: two accesses to the same bytes, one of them a write, which neither causality orders nor
// sufficient strength and scope ("morally strong") makes harmless (PTX ISA, "Memory Consistency
// Model"). Asynchronous work takes part as an actor of its own, and so does the asynchronous proxy,
// which relies on what was fenced alone.
//
// The findings do not depend on which access comes first. So a conflict is looked for with every
// access that a cell holds, and is reported at the access that comes later in the text.
//
// Unordered stores of the value that is there already are no race here: CUDA code does so on
// purpose (a flag that several threads set).
#ifndef TARSIA_PTX_RACE_RACE_H_
#define TARSIA_PTX_RACE_RACE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ptx/race/shadow.h"

namespace tarsia::ptx {

// The bytes of a cell, a bit each.
inline constexpr uint8_t kAllBytes = 0xF;

[[nodiscard]] inline bool IsSubset(uint8_t bytes, uint8_t of) { return (bytes & ~of) == 0; }

// The actor of an access.
struct Accessor {
  uint32_t block = 0;
  const ClusterMap* clusters = nullptr;
  uint16_t actor = 0;
  uint16_t issuer = 0;        // the thread; kNobody for an agent, of which `past` says enough
  uint16_t issuer_async = 0;  // the agent of the thread's cp.async
  uint8_t semantics = 0;
  Clock clock = 0;
  Clock async_done = 0;  // of the thread's cp.async
  Clock floor = 0;       // up to which every thread of its block is known
  uint32_t inst = 0;
  const std::vector<Clock>* own = nullptr;  // what it knows of its own block
  const Past* past = nullptr;

  static constexpr uint16_t kNobody = UINT16_MAX;
  [[nodiscard]] bool IsAgent() const { return (semantics & kAsyncBit) != 0; }
  [[nodiscard]] AccessRecord RecordOf(uint8_t bytes) const {
    return {block, actor, bytes, semantics, clock, inst};
  }
  // Whether the marked access happened before.
  [[nodiscard]] bool IsAfter(const AccessRecord& record) const {
    if (record.block != block) {
      return past != nullptr && past->all.Of(record.block, record.actor) >= record.clock;
    }
    if (record.actor == issuer_async && record.clock <= async_done) return true;
    if (record.actor == issuer) return true;
    return own != nullptr && record.actor < own->size() && (*own)[record.actor] >= record.clock;
  }
  // Whether it may be after accesses of other blocks at all.
  [[nodiscard]] bool KnowsOtherBlocks() const {
    return past != nullptr && past->all.KnowsOtherThan(block);
  }
  // Whether all that a slot holds happened before. If false, it may have or not.
  [[nodiscard]] bool IsSurelyAfter(const Slot& slot, const Trails& trails) const {
    const AccessRecord& newest = slot.newest;
    if (newest.block != block) return false;
    if (newest.actor == issuer && slot.older == 0) return true;
    // Threads of a block have one clock, so that older accesses have no later one.
    return newest.clock <= floor && (newest.semantics & kAsyncBit) == 0 &&
           (slot.older == 0 || trails[slot.older].plain);
  }
  // Whether this access's proxy sees a write through the generic proxy.
  [[nodiscard]] bool Sees(const AccessRecord& record) const;
  // The narrowest scope that takes in this access's thread and one of another block.
  [[nodiscard]] Strength NeededScope(uint32_t other) const { return NeededScope(block, other); }
  [[nodiscard]] Strength NeededScope(uint32_t one, uint32_t other) const;
  // Whether both are strong, each is within the other's scope, and they overlap completely. PTX
  // wants them of one size; here one may lie within the other (a byte read from a word that others
  // update), which the hardware does in one step.
  [[nodiscard]] bool IsMorallyStrongWith(const AccessRecord& record, uint8_t bytes) const {
    return AreMorallyStrong(RecordOf(bytes), record);
  }
  // The same for any two.
  [[nodiscard]] bool AreMorallyStrong(const AccessRecord& a, const AccessRecord& b) const;
  // Whether a record says that the same instruction of the same thread did the same to these bytes,
  // and that nobody can have learned of that in between.
  [[nodiscard]] bool IsRepeatOf(const AccessRecord& record, uint8_t bytes) const {
    return record.inst == inst && record.actor == actor && record.clock == clock &&
           record.block == block && record.semantics == semantics && (bytes & ~record.bytes) == 0 &&
           (semantics & kAsyncBit) == 0;
  }
};

// Whether an access after another makes that superfluous, as far as strength matters: what races
// with the other races with this. A strong access races with fewer.
inline bool IsNoStronger(uint8_t semantics, uint8_t bytes, const AccessRecord& than) {
  const int strength = semantics & kStrengthBits;
  return strength == 0 || (strength <= (than.semantics & kStrengthBits) && bytes == than.bytes);
}

// Asynchronous work that accesses memory, with what its threads did and knew when they began it.
struct AgentAccess {
  Past past;
  Accessor accessor;
  // Valid as long as this is.
  [[nodiscard]] Accessor Get() const {
    Accessor now = accessor;
    now.past = &past;
    now.own = past.all.OfBlock(accessor.block);
    return now;
  }
};

enum class Hazard : uint8_t { kUnordered, kUnfenced, kNonCoherent };

struct Conflict {
  Hazard hazard = Hazard::kUnordered;
  AccessRecord with;
  bool with_write = false;
  uint64_t cell = 0;  // its number
};

// The conflicts of an access: one for each instruction and kind of access.
class Conflicts {
 public:
  // Adds one, unless a thread with a lower number did the same there, or any thread in another
  // cell.
  void Add(const Conflict& conflict);
  void Clear() { all_.clear(); }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] std::span<const Conflict> all() const { return all_; }

 private:
  std::vector<Conflict> all_;
};

// Adds the conflicts of an access to some bytes of a cell with the writes there, and of a write
// with the reads.
void AddConflictsWithWrites(const Slot& writes, uint64_t cell, uint8_t bytes, const Accessor& by,
                            const Trails& trails, Conflicts* conflicts);
void AddConflictsWithReads(const Slot& reads, uint64_t cell, uint8_t bytes, const Accessor& by,
                           const Trails& trails, Conflicts* conflicts);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_RACE_RACE_H_
