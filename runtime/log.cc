#include "runtime/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace tarsia::api {
namespace {

static_assert(TARSIA_LOG_TRACE == static_cast<int>(spdlog::level::trace));
static_assert(TARSIA_LOG_WARNING == static_cast<int>(spdlog::level::warn));
static_assert(TARSIA_LOG_ERROR == static_cast<int>(spdlog::level::err));
constexpr int kOff = spdlog::level::off;

spdlog::level::level_enum ToSpdlog(tarsia_log_level level) {
  return level >= TARSIA_LOG_OFF ? spdlog::level::off
                                 : static_cast<spdlog::level::level_enum>(level);
}

// Hands messages to the callback, one at a time (base_sink holds its mutex around sink_it_).
class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void Set(tarsia_log_fn callback, void* user) {
    const std::lock_guard<std::mutex> lock(mutex_);
    callback_ = callback;
    user_ = user;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (callback_ == nullptr) return;
    const std::string text(message.payload.data(), message.payload.size());
    callback_(user_, static_cast<tarsia_log_level>(message.level), text.c_str());
  }
  void flush_() override {}

  tarsia_log_fn callback_ = nullptr;
  void* user_ = nullptr;
};

// Made at the first tarsia_set_log_callback and never destroyed: messages may come at any time.
struct Channel {
  std::shared_ptr<CallbackSink> sink = std::make_shared<CallbackSink>();
  spdlog::logger logger{"tarsia", sink};
};

std::atomic<int> enabled_level{kOff};
std::atomic<Channel*> channel{nullptr};
std::mutex set_mutex;

}  // namespace

void SetLogCallback(tarsia_log_fn callback, void* user, tarsia_log_level level) {
  const std::lock_guard<std::mutex> lock(set_mutex);
  Channel* to = channel.load(std::memory_order_acquire);
  if (to == nullptr) {
    to = new Channel;
    channel.store(to, std::memory_order_release);
  }
  const bool off = callback == nullptr || level == TARSIA_LOG_OFF;
  to->logger.set_level(off ? spdlog::level::off : ToSpdlog(level));
  to->sink->Set(off ? nullptr : callback, user);
  enabled_level.store(off ? kOff : static_cast<int>(level), std::memory_order_relaxed);
}

bool IsLogEnabled(tarsia_log_level level) {
  return static_cast<int>(level) >= enabled_level.load(std::memory_order_relaxed);
}

void Log(tarsia_log_level level, std::string_view message) noexcept {
  if (!IsLogEnabled(level)) return;
  Channel* const to = channel.load(std::memory_order_acquire);
  if (to == nullptr) return;
  try {
    // One line, even if a tool wrote several.
    std::string line(message);
    std::ranges::replace(line, '\n', ' ');
    to->logger.log(ToSpdlog(level), line);
  } catch (...) {  // a lost message is better than a failing call
  }
}

}  // namespace tarsia::api
