// Code that this process has compiled and may need again.
#ifndef TARSIA_RUNTIME_DEVICES_CODE_CACHE_H_
#define TARSIA_RUNTIME_DEVICES_CODE_CACHE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/devices/code.h"
#include "support/result.h"
#include "support/stop.h"

namespace tarsia::runtime {

// Finds code by a key while it is in use, and the newest entries for longer. Thread-safe: if
// several threads need the same code, one makes it and the others wait.
class CodeCache {
 public:
  using Made = Result<std::shared_ptr<const Code>>;

  static CodeCache& Get();

  // The code of a key, or the result of `make`. Errors are not kept: the next call tries again.
  // `stop` may be null; it ends the wait for another thread, and `make` must then report that.
  Made Find(const std::string& key, StopCheck* stop, const std::function<Made()>& make);
  // Releases all entries that are not in use.
  void Clear();

 private:
  struct Entry {
    std::weak_ptr<const Code> code;
    int users = 0;  // threads in Find
    bool busy = false;
  };
  class Use;

  void Keep(const std::shared_ptr<const Code>& code);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Entry> entries_;
  std::vector<std::shared_ptr<const Code>> newest_;  // the oldest first
  uint64_t kept_bytes_ = 0;
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_CODE_CACHE_H_
