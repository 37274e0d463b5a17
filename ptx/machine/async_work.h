// Asynchronous work of a cluster: copies that are queued when they are issued and done later, in
// two steps (all reads, then all writes and the completion), as late as the threads of the cluster
// allow, so that a missing wait shows. All that asynchronous operations read and write goes through
// here.
#ifndef TARSIA_PTX_MACHINE_ASYNC_WORK_H_
#define TARSIA_PTX_MACHINE_ASYNC_WORK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "ptx/machine/mbarrier.h"
#include "ptx/machine/warp.h"

namespace tarsia::ptx {

enum class Proxy : uint8_t { kGeneric, kAsync };

// Bytes of the shared memory of a block, or of global memory.
struct AsyncBytes {
  Block* block = nullptr;  // null: global
  uint64_t address = 0;    // in the block's shared memory, or global
  Place place;
};

// Bytes that are read into the operation's buffer, or written from it. Either end may be missing:
// what is not read is in the buffer from the beginning.
struct AsyncPiece {
  AsyncBytes from;
  AsyncBytes to;
  uint32_t bytes = 0;
  uint32_t buffer = 0;  // where in the buffer
};

// Bytes that complete at an mbarrier when all is written.
struct AsyncCompletion {
  Block* block = nullptr;
  uint64_t address = 0;
  int64_t bytes = 0;
  Clock copy = 0;  // of the mbarrier's agent
};

struct AsyncOperation {
  enum class Ends : uint8_t {
    kWithMbarrier,  // its bytes complete at mbarriers
    kWithGroup,     // it is of its thread's open bulk group
    kWithArrival,   // cp.async.mbarrier.arrive: delivers the thread's copies, then arrives
  };
  Issuer by;
  Proxy proxy = Proxy::kAsync;
  Ends ends = Ends::kWithMbarrier;
  bool flushes = false;        // f32: subnormals become zeros
  Type reduces = Type::kNone;  // of the elements, if memory is not overwritten but updated
  std::vector<AsyncPiece> pieces;
  std::vector<uint8_t> buffer;
  std::vector<uint8_t> defined;
  Origin origin;  // of undefined bits that are in the buffer from the beginning
  std::vector<AsyncCompletion> completions;
  uint64_t group = 0;   // of bulk operations, kWithGroup
  uint64_t copies = 0;  // kWithArrival: of the thread's, since its begin
  Clock clock = 0;      // and of their agent
  uint64_t issued = 0;  // the turn of the cluster
  bool has_read = false;

  // The completion at an mbarrier of a block, or the first if that block has none; null without
  // any.
  [[nodiscard]] const AsyncCompletion* CompletionOf(const Block* block) const;
};

class AsyncWork {
 public:
  // Queues an operation. Until its end is waited for its bytes may not be touched.
  void Issue(AsyncOperation operation);
  // At the end of a turn of the cluster. If its threads all wait, the oldest operation goes on by a
  // step; otherwise only what has waited for long. Whether anything was done.
  bool Turn(bool idle);
  // All threads have ended: whatever is left is done.
  void Finish();

 private:
  static void Note(const AsyncOperation& operation);
  static void Count(const AsyncOperation& operation);
  void Step();
  static void Read(AsyncOperation* operation);
  static void Write(const AsyncOperation& operation);
  static void Complete(const AsyncOperation& operation);
  static void CheckAlive(const AsyncOperation& operation, bool writes);

  uint64_t turn_ = 0;
  std::deque<AsyncOperation> queue_;
};

// ---- for handlers: finding bytes, with a finding where there are none -------------------------
// `bytes` bytes of shared memory at an address of the shared space, which may be another block's.
bool FindAsyncShared(const Issuer& by, uint64_t address, uint64_t bytes, Access access,
                     AsyncBytes* found);
bool FindAsyncGlobal(const Issuer& by, uint64_t address, uint64_t bytes, Access access,
                     AsyncBytes* found);
// The mbarrier at an address of the shared space, which may be another block's.
Mbarrier* FindMbarrier(const Issuer& by, uint64_t address);
// The same place in the memory of the block of another rank.
inline uint64_t AddressOfRank(uint64_t address, uint32_t rank) {
  return (address & (kSharedPeers - 1)) | uint64_t{rank + 1} << kRankShift;
}
// Reports an address or a size that is not a multiple of `align`.
bool RequireMultiple(const Issuer& by, uint64_t value, uint64_t align, std::string_view what);

// Delivers the first of a lane's cp.async copies to shared memory (exec/async.cc).
void DeliverFirstCopy(Warp& warp, int lane);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_ASYNC_WORK_H_
