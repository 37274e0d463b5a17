// The C API: the log.
#include "runtime/log.h"

#include "runtime/api/api.h"

tarsia_status tarsia_set_log_callback(tarsia_log_fn callback, void* user, tarsia_log_level level) {
  using namespace tarsia;
  using namespace tarsia::api;
  return Guarded([&] {
    if (level < TARSIA_LOG_TRACE || level > TARSIA_LOG_OFF) {
      return Invalid(diag::kApiEnumValue, "level", static_cast<int>(level), "tarsia_log_level");
    }
    SetLogCallback(callback, user, level);
    return TARSIA_STATUS_OK;
  });
}
