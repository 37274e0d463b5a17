// Status and Result<T>: the return types of functions that can fail. The error is a Diagnostic.
#ifndef TARSIA_SUPPORT_RESULT_H_
#define TARSIA_SUPPORT_RESULT_H_

#include <cassert>
#include <memory>
#include <utility>
#include <variant>

#include "support/diagnostic.h"

namespace tarsia {

class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  // NOLINTNEXTLINE(google-explicit-constructor): `return MakeDiagnostic(...)` is the point.
  Status(Diagnostic error) : error_(std::make_unique<Diagnostic>(std::move(error))) {}
  [[nodiscard]] bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Diagnostic& error() const {
    assert(error_);
    return *error_;
  }
  [[nodiscard]] Diagnostic TakeError() {
    assert(error_);
    return std::move(*error_);
  }

 private:
  std::unique_ptr<Diagnostic> error_;
};

inline Status OkStatus() { return {}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Diagnostic error) : value_(std::in_place_index<1>, std::move(error)) {}
  [[nodiscard]] bool ok() const { return value_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] T& value() & {
    assert(ok());
    return *std::get_if<0>(&value_);
  }
  [[nodiscard]] const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&value_);
  }
  [[nodiscard]] T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&value_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  [[nodiscard]] const Diagnostic& error() const {
    assert(!ok());
    return *std::get_if<1>(&value_);
  }
  [[nodiscard]] Diagnostic TakeError() {
    assert(!ok());
    return std::move(*std::get_if<1>(&value_));
  }

 private:
  std::variant<T, Diagnostic> value_;
};

}  // namespace tarsia

#define TARSIA_CONCAT_(a, b) a##b
#define TARSIA_CONCAT(a, b) TARSIA_CONCAT_(a, b)

// Returns the error of a Status from the function, if it has one.
#define TARSIA_CHECK(expr)                                    \
  do {                                                        \
    if (auto tarsia_status_ = (expr); !tarsia_status_.ok()) { \
      return tarsia_status_.TakeError();                      \
    }                                                         \
  } while (false)

// TARSIA_TRY(auto x, F()): x is the value of F(); returns its error if it fails.
#define TARSIA_TRY(declaration, expr)                           \
  auto TARSIA_CONCAT(tarsia_result_, __LINE__) = (expr);        \
  if (!TARSIA_CONCAT(tarsia_result_, __LINE__).ok()) {          \
    return TARSIA_CONCAT(tarsia_result_, __LINE__).TakeError(); \
  }                                                             \
  declaration = *std::move(TARSIA_CONCAT(tarsia_result_, __LINE__))

#endif  // TARSIA_SUPPORT_RESULT_H_
