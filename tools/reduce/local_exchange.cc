#include "tools/reduce/local_exchange.h"

#include <algorithm>

namespace tarsia::tools {

bool LocalExchange::Send(size_t from, size_t to, std::span<const uint8_t> bytes) {
  std::unique_lock lock(mutex_);
  const std::pair key(from, to);
  sent_.emplace(key, bytes);
  changed_.notify_all();
  changed_.wait(lock, [&] { return failed_ || sent_.count(key) == 0; });
  return !failed_;
}

bool LocalExchange::Receive(size_t from, size_t to, std::span<uint8_t> bytes) {
  std::unique_lock lock(mutex_);
  const std::pair key(from, to);
  changed_.wait(lock, [&] { return failed_ || sent_.count(key) != 0; });
  if (failed_ || sent_.at(key).size() != bytes.size()) return false;
  std::copy(sent_.at(key).begin(), sent_.at(key).end(), bytes.begin());
  sent_.erase(key);
  changed_.notify_all();
  return true;
}

void LocalExchange::Fail() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  changed_.notify_all();
}

bool LocalExchange::failed() {
  const std::lock_guard lock(mutex_);
  return failed_;
}

}  // namespace tarsia::tools
