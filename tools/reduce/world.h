// The processes that mpirun started together, each of which is a rank of `tarsia reduce`. MPI is in
// libtarsia_mpi.so (tools/mpi/), which is opened only then.
#ifndef TARSIA_TOOLS_REDUCE_WORLD_H_
#define TARSIA_TOOLS_REDUCE_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "support/result.h"
#include "tools/mpi/mpi_functions.h"

namespace tarsia::tools {

// The library to open; without it, that beside the command, then that of the system.
inline constexpr const char* kMpiLibraryVariable = "TARSIA_MPI_LIBRARY";

// What the environment says of this process.
struct ProcessRank {
  size_t rank = 0, ranks = 1;
  size_t local_rank = 0, local_ranks = 1;  // among those of one machine
};
ProcessRank RankOfProcess();

// Thread-safe. Functions that wait give up when another rank has failed.
class World {
 public:
  // Messages of one channel between two ranks arrive in the order in which they are sent.
  enum class Channel : uint8_t { kMerge = 1, kOutput, kEnd, kFailure };

  // Errors: no library, one that does not fit, and those of MPI.
  static Result<std::unique_ptr<World>> Open(const ProcessRank& process);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() = default;

  [[nodiscard]] size_t rank() const { return rank_; }
  [[nodiscard]] size_t ranks() const { return ranks_; }

  // Both wait until the memory can be used again. A message is received as a whole.
  Status Send(size_t to, Channel channel, std::span<const uint8_t> bytes);
  Status Receive(size_t from, Channel channel, std::span<uint8_t> bytes);
  // The rank of a message that is there; none if there is no message.
  Result<std::optional<size_t>> Waiting(Channel channel);

  // The first other rank that has failed; none if none has.
  std::optional<size_t> FailedRank();
  // Tells all ranks that this one has failed, and waits until they know, a few seconds at most.
  void Fail();
  // Waits for all ranks; nothing more can be sent. Not after a failure.
  Status Close();

 private:
  World() = default;
  using Request = void*;
  Status Wait(Request request, bool receives);
  Status Check(int code);

  const TarsiaMpiFunctions* mpi_ = nullptr;
  size_t rank_ = 0, ranks_ = 1;
  std::mutex mutex_;  // of calls of MPI
  std::optional<size_t> failed_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_WORLD_H_
