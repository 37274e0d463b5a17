#include "runtime/api/api.h"

#include <utility>

#include "runtime/log.h"
#include "support/per_thread.h"

namespace tarsia::api {
namespace {

PerThread<std::string> error_text;            // the message, if there was memory for it
thread_local const char* error_pointer = "";  // the result of tarsia_last_error

void KeepError(std::string text, tarsia_log_level level) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::string& kept = error_text.Get();
  kept = std::move(text);
  error_pointer = kept.c_str();
  Log(level, kept);
}

std::string TextOf(const Diagnostic& error) {
  return error.help.empty() ? error.message : error.message + "\n  help: " + error.help;
}

}  // namespace

tarsia_status FailText(tarsia_status status, std::string text) {
  KeepError(std::move(text), TARSIA_LOG_ERROR);
  return status;
}

tarsia_status Fail(tarsia_status status, const Diagnostic& error) {
  return FailText(status, TextOf(error));
}

tarsia_status FailBehindEnd(const char* name, size_t index, size_t count) {
  KeepError(TextOf(MakeDiagnostic(diag::kApiIndexRange, Location(), name, index, count)),
            TARSIA_LOG_DEBUG);
  return TARSIA_STATUS_NOT_FOUND;
}

tarsia_status FailOutOfMemory() noexcept {
  error_pointer = "out of memory";
  return TARSIA_STATUS_OUT_OF_MEMORY;
}

tarsia_status FailInternal(const char* what) noexcept {
  try {
    return Fail(TARSIA_STATUS_INTERNAL, diag::kApiInternal, what);
  } catch (...) {
    error_pointer = "internal error";
    return TARSIA_STATUS_INTERNAL;
  }
}

}  // namespace tarsia::api

const char* tarsia_last_error(void) { return tarsia::api::error_pointer; }
