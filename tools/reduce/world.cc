#include "tools/reduce/world.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <string>
#include <thread>
#include <vector>

#include "support/environment.h"
#include "tools/diagnostics.h"

namespace tarsia::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kLibrary = "libtarsia_mpi.so";
constexpr std::chrono::seconds kLastWords{3};

size_t NumberOf(const char* variable, size_t otherwise) {
  const std::string_view text = Environment(variable);
  size_t out = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// Waits longer and longer, so that a long wait costs little and a short one is short.
class Patience {
 public:
  void Wait() {
    std::this_thread::sleep_for(time_);
    time_ = std::min(time_ * 2, std::chrono::microseconds(1000));
  }

 private:
  std::chrono::microseconds time_{10};
};

// The paths to try: PREFIX/lib for PREFIX/bin/tarsia, and what the system finds by its name.
std::vector<std::string> LibraryPaths() {
  if (const std::string_view given = Environment(kMpiLibraryVariable); !given.empty()) {
    return {std::string(given)};
  }
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  std::vector<std::string> out;
  if (size > 0) {
    const std::string command(path, static_cast<size_t>(size));
    const std::string folder = command.substr(0, command.rfind('/'));
    out.push_back(fmt::format("{}/../lib/{}", folder, kLibrary));
  }
  out.emplace_back(kLibrary);
  return out;
}

Result<const TarsiaMpiFunctions*> OpenLibrary() {
  std::string reason;
  for (const std::string& path : LibraryPaths()) {
    // Open MPI opens its own parts, which need the names of this library's libraries.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      reason = dlerror();  // NOLINT(concurrency-mt-unsafe)
      continue;
    }
    const auto get = reinterpret_cast<tarsia_mpi_get_fn>(dlsym(library, TARSIA_MPI_GET));
    if (get == nullptr || get()->version != kTarsiaMpiVersion) {
      return MakeDiagnostic(diag::kMpiVersion, Location(), path);
    }
    return get();
  }
  return MakeDiagnostic(diag::kMpiLibrary, Location(), reason);
}

}  // namespace

ProcessRank RankOfProcess() {
  ProcessRank out;
  out.rank = NumberOf("OMPI_COMM_WORLD_RANK", 0);
  out.ranks = std::max<size_t>(NumberOf("OMPI_COMM_WORLD_SIZE", 1), 1);
  out.local_rank = NumberOf("OMPI_COMM_WORLD_LOCAL_RANK", out.rank);
  out.local_ranks = std::max<size_t>(NumberOf("OMPI_COMM_WORLD_LOCAL_SIZE", out.ranks), 1);
  return out;
}

Result<std::unique_ptr<World>> World::Open(const ProcessRank& process) {
  std::unique_ptr<World> out(new World);
  TARSIA_TRY(out->mpi_, OpenLibrary());
  int rank = 0;
  int ranks = 1;
  TARSIA_CHECK(out->Check(out->mpi_->open(&rank, &ranks)));
  out->rank_ = static_cast<size_t>(rank);
  out->ranks_ = static_cast<size_t>(ranks);
  if (out->rank_ != process.rank || out->ranks_ != process.ranks) {
    return MakeDiagnostic(diag::kMpiRanks, Location(), rank, ranks, process.rank, process.ranks);
  }
  return out;
}

Status World::Check(int code) {
  if (code == 0) return OkStatus();
  return MakeDiagnostic(diag::kMpiError, Location(), code);
}

Status World::Wait(Request request, bool receives) {
  for (Patience patience;; patience.Wait()) {
    int done = 0;
    {
      const std::lock_guard lock(mutex_);
      TARSIA_CHECK(Check(mpi_->test(request, &done)));
    }
    if (done != 0) return OkStatus();
    if (const auto failed = FailedRank()) {
      // The memory is no longer there when a message comes.
      const std::lock_guard lock(mutex_);
      if (receives) static_cast<void>(mpi_->cancel(request));
      return MakeDiagnostic(diag::kRankFailed, Location(), *failed);
    }
  }
}

Status World::Send(size_t to, Channel channel, std::span<const uint8_t> bytes) {
  Request request = nullptr;
  {
    const std::lock_guard lock(mutex_);
    TARSIA_CHECK(Check(mpi_->send(static_cast<int>(to), static_cast<int>(channel), bytes.data(),
                                  bytes.size(), &request)));
  }
  return Wait(request, false);
}

Status World::Receive(size_t from, Channel channel, std::span<uint8_t> bytes) {
  Request request = nullptr;
  {
    const std::lock_guard lock(mutex_);
    TARSIA_CHECK(Check(mpi_->receive(static_cast<int>(from), static_cast<int>(channel),
                                     bytes.data(), bytes.size(), &request)));
  }
  return Wait(request, true);
}

Result<std::optional<size_t>> World::Waiting(Channel channel) {
  int there = 0;
  int from = 0;
  const std::lock_guard lock(mutex_);
  TARSIA_CHECK(Check(mpi_->probe(static_cast<int>(channel), &there, &from)));
  if (there == 0) return std::optional<size_t>();
  return std::optional<size_t>(static_cast<size_t>(from));
}

std::optional<size_t> World::FailedRank() {
  const auto waiting = Waiting(Channel::kFailure);
  const std::lock_guard lock(mutex_);
  if (!failed_ && waiting.ok()) failed_ = *waiting;
  return failed_;
}

// All ranks come here when one has failed, so that each hears of all others.
void World::Fail() {
  const Clock::time_point end = Clock::now() + kLastWords;
  static constexpr uint8_t kWord = 0;
  std::vector<uint8_t> heard(ranks_);
  std::vector<Request> requests;
  {
    const std::lock_guard lock(mutex_);
    for (size_t other = 0; other < ranks_; ++other) {
      if (other == rank_) continue;
      const int to = static_cast<int>(other);
      const int tag = static_cast<int>(Channel::kFailure);
      for (const bool sends : {true, false}) {
        Request request = nullptr;
        const int code = sends ? mpi_->send(to, tag, &kWord, 1, &request)
                               : mpi_->receive(to, tag, &heard[other], 1, &request);
        if (code == 0) requests.push_back(request);
      }
    }
  }
  for (Patience patience; !requests.empty() && Clock::now() < end; patience.Wait()) {
    const std::lock_guard lock(mutex_);
    const auto is_done = [&](Request request) {
      int done = 0;
      return mpi_->test(request, &done) != 0 || done != 0;
    };
    requests.erase(std::remove_if(requests.begin(), requests.end(), is_done), requests.end());
  }
}

Status World::Close() {
  const std::lock_guard lock(mutex_);
  return Check(mpi_->close());
}

}  // namespace tarsia::tools
