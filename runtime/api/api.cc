#include "runtime/api/api.h"

#include <utility>

#include "runtime/log.h"
#include "support/per_thread.h"

namespace tarsia::api {
namespace {

PerThread<std::string> error_text;            // the message, if there was memory for it
thread_local const char* error_pointer = "";  // the result of tarsia_last_error

}  // namespace

tarsia_status FailText(tarsia_status status, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::string& kept = error_text.Get();
  kept = std::move(text);
  error_pointer = kept.c_str();
  Log(TARSIA_LOG_ERROR, kept);
  return status;
}

tarsia_status Fail(tarsia_status status, const Diagnostic& error) {
  std::string text = error.message;
  if (!error.help.empty()) text += "\n  help: " + error.help;
  return FailText(status, std::move(text));
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
