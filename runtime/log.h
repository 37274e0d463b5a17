// The library's log, for the callback of tarsia_set_log_callback.
#ifndef TARSIA_RUNTIME_LOG_H_
#define TARSIA_RUNTIME_LOG_H_

#include <string_view>

#include "tarsia/tarsia.h"

namespace tarsia::api {

// Messages of this level and above go to the callback from now on; null or TARSIA_LOG_OFF: none do.
// May throw std::bad_alloc. Thread-safe.
void SetLogCallback(tarsia_log_fn callback, void* user, tarsia_log_level level);
// Whether a message of this level reaches the callback. Costs one relaxed load. Thread-safe.
bool IsLogEnabled(tarsia_log_level level);
// Hands a message to the callback. Never throws. Thread-safe.
void Log(tarsia_log_level level, std::string_view message) noexcept;

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_LOG_H_
