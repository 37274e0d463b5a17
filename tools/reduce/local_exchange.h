// Messages between ranks that are threads of one process.
#ifndef TARSIA_TOOLS_REDUCE_LOCAL_EXCHANGE_H_
#define TARSIA_TOOLS_REDUCE_LOCAL_EXCHANGE_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <utility>

namespace tarsia::tools {

// Each function is called by the threads of the ranks that it names.
class LocalExchange {
 public:
  // Both return false if a rank has failed. Send waits until the other rank has the message, so
  // that none is ever in memory twice.
  bool Send(size_t from, size_t to, std::span<const uint8_t> bytes);
  bool Receive(size_t from, size_t to, std::span<uint8_t> bytes);
  // From now on nobody waits.
  void Fail();
  [[nodiscard]] bool failed();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<size_t, size_t>, std::span<const uint8_t>> sent_;  // from and to
  bool failed_ = false;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_LOCAL_EXCHANGE_H_
