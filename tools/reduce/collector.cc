#include "tools/reduce/collector.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include "tools/diagnostics.h"

namespace tarsia::tools {
namespace {

constexpr auto kChannel = World::Channel::kOutput;
constexpr uint64_t kNoOutput = UINT64_MAX;  // the rank has no more
constexpr uint64_t kMostBytes = uint64_t{1} << 20;
constexpr std::chrono::microseconds kPause{200};

// Before the bytes of each message.
struct Header {
  uint64_t output = 0, offset = 0, bytes = 0;
};

Status SendHeader(World* world, const Header& header) {
  uint8_t bytes[sizeof header];
  std::memcpy(bytes, &header, sizeof header);
  return world->Send(0, kChannel, bytes);
}

}  // namespace

Status SendOutput(World* world, size_t output, uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min<uint64_t>(bytes.size(), kMostBytes));
    TARSIA_CHECK(SendHeader(world, {output, offset, piece.size()}));
    TARSIA_CHECK(world->Send(0, kChannel, piece));
    offset += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return OkStatus();
}

Status SendEndOfOutputs(World* world) { return SendHeader(world, {kNoOutput, 0, 0}); }

Collector::~Collector() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void Collector::Start() {
  thread_ = std::thread([this] {
    if (!files_.Keep(Collect())) failed_ = true;
  });
}

bool Collector::Finish() {
  thread_.join();
  return !failed_;
}

Status Collector::Collect() {
  size_t ended = 0;
  while (ended + 1 < world_.ranks() && !stopped_) {
    TARSIA_TRY(const std::optional<size_t> rank, world_.Waiting(kChannel));
    if (rank) {
      TARSIA_CHECK(Take(*rank, &ended));
      continue;
    }
    if (const auto failed = world_.FailedRank()) {
      return MakeDiagnostic(diag::kRankFailed, Location(), *failed);
    }
    std::this_thread::sleep_for(kPause);
  }
  return OkStatus();
}

Status Collector::Take(size_t rank, size_t* ended) {
  uint8_t bytes[sizeof(Header)];
  TARSIA_CHECK(world_.Receive(rank, kChannel, bytes));
  Header header;
  std::memcpy(&header, bytes, sizeof header);
  if (header.output == kNoOutput) {
    ++*ended;
    return OkStatus();
  }
  std::vector<uint8_t> piece(std::min(header.bytes, kMostBytes));
  TARSIA_CHECK(world_.Receive(rank, kChannel, piece));
  if (files_.Write(header.output, header.offset, piece)) return OkStatus();
  return *files_.error();
}

}  // namespace tarsia::tools
