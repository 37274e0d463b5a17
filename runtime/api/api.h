// Shared by all files of the C API: how a call fails, how exceptions are caught, how structs with a
// size are read and written.
#ifndef TARSIA_RUNTIME_API_API_H_
#define TARSIA_RUNTIME_API_API_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <string>

#include "runtime/diagnostics.h"
#include "tarsia/tarsia.h"

namespace tarsia::api {

// Sets this thread's last error, logs it, and returns `status`.
tarsia_status Fail(tarsia_status status, const Diagnostic& error);
tarsia_status FailText(tarsia_status status, std::string text);
// Fails with NOT_FOUND behind the last element of a list, which is no fault: logs it as a detail.
tarsia_status FailBehindEnd(const char* name, size_t index, size_t count);
// The status of an error of the runtime: NO_DEVICE if the machine lacks something, OUT_OF_MEMORY,
// INVALID_ARGUMENT for arguments that do not fit; `other` for the rest.
tarsia_status StatusOf(const Diagnostic& error, tarsia_status other);
// Fails with the status of StatusOf.
inline tarsia_status FailWith(const Diagnostic& error, tarsia_status other) {
  return Fail(StatusOf(error, other), error);
}
// Fails with OUT_OF_MEMORY without any allocation.
tarsia_status FailOutOfMemory() noexcept;
tarsia_status FailInternal(const char* what) noexcept;

template <typename... Args>
tarsia_status Fail(tarsia_status status, const DiagInfo& info, const Args&... args) {
  return Fail(status, MakeDiagnostic(info, Location(), args...));
}
template <typename... Args>
tarsia_status Invalid(const DiagInfo& info, const Args&... args) {
  return Fail(TARSIA_STATUS_INVALID_ARGUMENT, info, args...);
}
// `name` is the name of the argument.
inline tarsia_status NullArgument(const char* name) {
  return Invalid(diag::kApiArgumentNull, name);
}
inline tarsia_status BadIndex(const char* name, size_t index, size_t count) {
  return Invalid(diag::kApiIndexRange, name, index, count);
}

// A function that calls the caller's callback; null if there is none.
inline std::function<bool()> Asker(tarsia_cancel_fn cancel, void* user) {
  if (cancel == nullptr) return nullptr;
  return [cancel, user] { return cancel(user); };
}
// The compile limit in options. A time that the clock cannot represent means no limit.
inline std::chrono::milliseconds CompileLimit(uint64_t ms) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  return std::chrono::milliseconds(static_cast<int64_t>(ms > kMost ? 0 : ms));
}

// Runs the body of an API function; no exception leaves it.
template <typename Body>
tarsia_status Guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return FailOutOfMemory();
  } catch (const std::exception& error) {
    return FailInternal(error.what());
  } catch (...) {
    return FailInternal("unknown exception");
  }
}

// The size of a struct in the version that introduced it; larger only once it has grown, and then
// specialised to the size of the first version.
template <typename T>
inline constexpr size_t kFirstSize = sizeof(T);
template <>
inline constexpr size_t kFirstSize<tarsia_code_options> = offsetof(tarsia_code_options, cancel);
template <>
inline constexpr size_t kFirstSize<tarsia_plan_options> = offsetof(tarsia_plan_options, cancel);
template <>
inline constexpr size_t kFirstSize<tarsia_matmul_args> = offsetof(tarsia_matmul_args, row_scales);
template <>
inline constexpr size_t kFirstSize<tarsia_execute_options> =
    offsetof(tarsia_execute_options, cancel);
// No struct is ever larger than this, so that an invalid `size` is not used.
inline constexpr size_t kMaxStructSize = 4096;

inline tarsia_status CheckStructSize(size_t size, size_t first, size_t now, const char* name) {
  if (size >= first && size <= kMaxStructSize) return TARSIA_STATUS_OK;
  return Invalid(diag::kApiStructSize, name, size, now);
}

// Copies the members that the caller's struct has; the rest is zero. `in` is not null.
template <typename T>
tarsia_status ReadStruct(const T* in, const char* name, T* out) {
  const size_t size = in->size;
  if (const auto status = CheckStructSize(size, kFirstSize<T>, sizeof(T), name);
      status != TARSIA_STATUS_OK) {
    return status;
  }
  *out = T{};
  std::memcpy(out, in, std::min(size, sizeof(T)));
  const char* bytes = reinterpret_cast<const char*>(in);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      return Fail(TARSIA_STATUS_UNSUPPORTED, diag::kApiStructUnknown, name, tarsia_version());
    }
  }
  return TARSIA_STATUS_OK;
}

// Copies as many members as the caller's struct has room for.
template <typename T>
tarsia_status WriteStruct(T value, const char* name, T* out) {
  if (out == nullptr) return NullArgument(name);
  const size_t size = out->size;
  if (const auto status = CheckStructSize(size, kFirstSize<T>, sizeof(T), name);
      status != TARSIA_STATUS_OK) {
    return status;
  }
  value.size = size;
  std::memcpy(out, &value, std::min(size, sizeof(T)));
  return TARSIA_STATUS_OK;
}

// Element `index` of an array of structs, whose stride is the size of its first one.
template <typename T>
tarsia_status ReadElement(const T* array, size_t index, const char* name, T* out) {
  const size_t stride = array->size;
  if (const auto status = CheckStructSize(stride, kFirstSize<T>, sizeof(T), name);
      status != TARSIA_STATUS_OK) {
    return status;
  }
  const auto* element =
      reinterpret_cast<const T*>(reinterpret_cast<const char*>(array) + stride * index);
  if (element->size != stride) return Invalid(diag::kApiArraySizes, name, stride, element->size);
  return ReadStruct(element, name, out);
}

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_API_API_H_
