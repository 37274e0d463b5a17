// Outputs of other processes, which send what they have of them to rank 0.
#ifndef TARSIA_TOOLS_REDUCE_COLLECTOR_H_
#define TARSIA_TOOLS_REDUCE_COLLECTOR_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <thread>

#include "tools/reduce/open_files.h"
#include "tools/reduce/world.h"

namespace tarsia::tools {

// On the other ranks: bytes of an output; and that there are no more.
Status SendOutput(World* world, size_t output, uint64_t offset, std::span<const uint8_t> bytes);
Status SendEndOfOutputs(World* world);

// On rank 0: a thread that writes what comes to the files.
class Collector {
 public:
  Collector(World* world, OpenFiles* files) : world_(*world), files_(*files) {}
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  ~Collector();

  void Start();
  // Waits until all ranks have sent all. False after an error, which the files have.
  bool Finish();
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  Status Collect();
  Status Take(size_t rank, size_t* ended);

  World& world_;
  OpenFiles& files_;
  std::atomic<bool> stopped_{false}, failed_{false};
  std::thread thread_;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_COLLECTOR_H_
