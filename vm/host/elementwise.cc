// Splits arrays into runs for the loops of kernels.h: uniform operands are copied into a small
// buffer once, f16 and bf16 are widened to f32 and narrowed again run by run.
#include "vm/host/elementwise.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "dtypes/arith.h"
#include "dtypes/bulk.h"
#include "dtypes/container.h"
#include "vm/host/kernels.h"

namespace tarsia::host {
namespace {

using internal::BinaryKernel;
using internal::Lane;
using internal::TernaryKernel;
using internal::UnaryKernel;

constexpr size_t kRun = 512;
struct alignas(64) RunBuffer {
  uint8_t bytes[kRun * sizeof(uint64_t)];
};

bool IsHalf(DType type) { return type == kF16 || type == kBF16; }

// The loops that compute a type; f16 and bf16 use those of f32.
std::optional<Lane> LaneOf(DType type) {
  if (type == kF32 || IsHalf(type)) return Lane::kF32;
  if (type == kF64) return Lane::kF64;
  if (type.IsBool()) return Lane::kU8;
  if (!IsArithmetic(type)) return std::nullopt;
  if (type.bits == 8) return type.IsSigned() ? Lane::kI8 : Lane::kU8;
  if (type.bits == 16) return type.IsSigned() ? Lane::kI16 : Lane::kU16;
  if (type.bits == 32) return type.IsSigned() ? Lane::kI32 : Lane::kU32;
  return type.IsSigned() ? Lane::kI64 : Lane::kU64;
}

size_t BytesOf(DType type) { return static_cast<size_t>(ContainerBytes(type)); }

// One input, run by run, in the type of the computation.
class Input {
 public:
  // `n`: the total number of elements that will be read.
  Input(DType type, const void* data, bool uniform, size_t n)
      : type_(type), data_(static_cast<const uint8_t*>(data)), uniform_(uniform) {
    if (!uniform_) return;
    const DType wide = IsHalf(type) ? kF32 : type;
    uint64_t code = LoadContainer(type, data, 0);
    if (IsHalf(type)) code = CastCode(type, code, kF32);
    Fill(ContainerBytes(wide), code, buffer_.bytes, std::min(n, kRun));
  }

  // Elements [first, first + count), count at most kRun.
  const void* Run(size_t first, size_t count) {
    if (uniform_) return buffer_.bytes;
    const uint8_t* run = data_ + first * BytesOf(type_);
    if (!IsHalf(type_)) return run;
    CastBulk(type_, run, kF32, buffer_.bytes, count);
    return buffer_.bytes;
  }

  // Whether runs may be as long as the array.
  [[nodiscard]] bool direct() const { return !uniform_ && !IsHalf(type_); }

 private:
  DType type_;
  const uint8_t* data_;
  bool uniform_;
  RunBuffer buffer_;
};

void* At(void* out, DType type, size_t index) {
  return static_cast<uint8_t*>(out) + index * BytesOf(type);
}

// Calls run(first, count, result) for each run, where result takes `count` elements of `computed`,
// which are then narrowed to `type` if they differ.
template <typename Function>
void ForEachRun(DType computed, DType type, void* out, size_t n, size_t longest,
                const Function& run) {
  RunBuffer narrow;
  for (size_t first = 0; first < n; first += longest) {
    const size_t count = std::min(longest, n - first);
    void* const target = At(out, type, first);
    void* const result = computed == type ? target : narrow.bytes;
    run(first, count, result);
    if (result != target) CastBulk(computed, result, type, target, count);
  }
}

void UnaryHalf(DType type, UnaryKernel kernel, const void* a, void* out, size_t n) {
  Input in(type, a, false, n);
  ForEachRun(kF32, type, out, n, kRun, [&](size_t first, size_t count, void* result) {
    kernel(in.Run(first, count), result, count);
  });
}

// One component after the other, each step rounded, as FindFmaComplex does for c64.
void FmaHalfComplex(const arith::F16* a, const arith::F16* b, const arith::F16* c,
                    arith::F16* out) {
  const arith::F16 re = arith::Fma(arith::Neg(a[1]), b[1], arith::Fma(a[0], b[0], c[0]));
  const arith::F16 im = arith::Fma(a[1], b[0], arith::Fma(a[0], b[1], c[1]));
  out[0] = re;
  out[1] = im;
}

void FmaHalfComplexRun(const void* a, const void* b, const void* c, void* out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    arith::F16 x[3][2];
    arith::F16 y[2];
    std::memcpy(x[0], static_cast<const uint8_t*>(a) + 4 * i, 4);
    std::memcpy(x[1], static_cast<const uint8_t*>(b) + 4 * i, 4);
    std::memcpy(x[2], static_cast<const uint8_t*>(c) + 4 * i, 4);
    FmaHalfComplex(x[0], x[1], x[2], y);
    std::memcpy(static_cast<uint8_t*>(out) + 4 * i, y, 4);
  }
}

TernaryKernel FmaKernel(DType type) {
  if (type == kF32) return internal::FindFma(Lane::kF32);
  if (type == kF64) return internal::FindFma(Lane::kF64);
  if (IsHalf(type)) return internal::FindFma(Lane::kHalf);
  if (type == kC64) return internal::FindFmaComplex();
  return type == kC32 ? &FmaHalfComplexRun : nullptr;
}

}  // namespace

void Unary(Opcode op, DType type, const void* a, void* out, size_t n) {
  if (n == 0) return;
  if (type.IsBool()) {
    const uint8_t one = 1;
    if (op == Opcode::kNot) Binary(Opcode::kXor, type, a, false, &one, true, out, n);
    return;
  }
  const std::optional<Lane> lane = LaneOf(type);
  if (!lane) return;
  if (IsHalf(type)) {
    if (const UnaryKernel bits = internal::FindUnary(op, Lane::kHalf)) return bits(a, out, n);
  }
  const UnaryKernel kernel = internal::FindUnary(op, *lane);
  if (kernel == nullptr) return;
  if (IsHalf(type)) return UnaryHalf(type, kernel, a, out, n);
  kernel(a, out, n);
}

void Binary(Opcode op, DType type, const void* a, bool a_uniform, const void* b, bool b_uniform,
            void* out, size_t n) {
  const std::optional<Lane> lane = LaneOf(type);
  if (n == 0 || !lane) return;
  const BinaryKernel kernel = internal::FindBinary(op, *lane);
  if (kernel == nullptr) return;
  Input x(type, a, a_uniform, n);
  Input y(type, b, b_uniform, n);
  const DType result_type = Row(op).Has(kCompares) ? kBoolType : type;
  const DType computed = IsHalf(result_type) ? kF32 : result_type;
  const size_t longest = x.direct() && y.direct() ? n : kRun;
  ForEachRun(computed, result_type, out, n, longest, [&](size_t first, size_t count, void* result) {
    kernel(x.Run(first, count), y.Run(first, count), result, count);
  });
}

void Fma(DType type, const void* a, bool a_uniform, const void* b, bool b_uniform, const void* c,
         bool c_uniform, void* out, size_t n) {
  const TernaryKernel kernel = FmaKernel(type);
  if (n == 0 || kernel == nullptr) return;
  Input x(type, a, a_uniform, n);
  Input y(type, b, b_uniform, n);
  Input z(type, c, c_uniform, n);
  const DType computed = IsHalf(type) ? kF64 : type;
  const size_t longest = x.direct() && y.direct() && z.direct() ? n : kRun;
  ForEachRun(computed, type, out, n, longest, [&](size_t first, size_t count, void* result) {
    kernel(x.Run(first, count), y.Run(first, count), z.Run(first, count), result, count);
  });
}

void Select(int container_bytes, const uint8_t* condition, bool condition_uniform, const void* a,
            bool a_uniform, const void* b, bool b_uniform, void* out, size_t n) {
  const TernaryKernel kernel = internal::FindSelect(container_bytes);
  if (n == 0 || kernel == nullptr) return;
  const DType type{DTypeKind::kUnsigned, static_cast<uint8_t>(8 * container_bytes)};
  Input x(kU8, condition, condition_uniform, n);
  Input y(type, a, a_uniform, n);
  Input z(type, b, b_uniform, n);
  const size_t longest = x.direct() && y.direct() && z.direct() ? n : kRun;
  ForEachRun(type, type, out, n, longest, [&](size_t first, size_t count, void* result) {
    kernel(x.Run(first, count), y.Run(first, count), z.Run(first, count), result, count);
  });
}

std::optional<Loop> Loop::Find(Opcode op, DType type) {
  Loop loop;
  loop.op_ = op;
  loop.type_ = type;
  if (op == Opcode::kSelect) {
    loop.ternary_ = internal::FindSelect(ContainerBytes(type));
    return loop;
  }
  if (op == Opcode::kFma) {
    if (FmaKernel(type) == nullptr) return std::nullopt;
    if (!IsHalf(type)) loop.ternary_ = FmaKernel(type);
    return loop;
  }
  const std::optional<Lane> lane = LaneOf(type);
  if (!lane) return std::nullopt;
  const UnaryKernel unary = internal::FindUnary(op, *lane);
  const BinaryKernel binary = internal::FindBinary(op, *lane);
  if (unary == nullptr && binary == nullptr) return std::nullopt;
  if (IsHalf(type) || type.IsBool()) return loop;
  loop.unary_ = unary;
  loop.binary_ = binary;
  return loop;
}

void Loop::Run(const void* const* operands, void* out, size_t n) const {
  if (unary_ != nullptr) return unary_(operands[0], out, n);
  if (binary_ != nullptr) return binary_(operands[0], operands[1], out, n);
  if (ternary_ != nullptr) return ternary_(operands[0], operands[1], operands[2], out, n);
  if (op_ == Opcode::kFma) {
    return Fma(type_, operands[0], false, operands[1], false, operands[2], false, out, n);
  }
  if (Row(op_).operands.size() == 1) return Unary(op_, type_, operands[0], out, n);
  Binary(op_, type_, operands[0], false, operands[1], false, out, n);
}

void Fill(int container_bytes, uint64_t code, void* out, size_t n) {
  VisitContainer(container_bytes, [&](auto container) {
    using T = decltype(container);
    std::fill_n(static_cast<T*>(out), n, static_cast<T>(code));
  });
}

void IotaRun(DType type, int64_t first, void* out, size_t n) {
  int64_t values[kRun];
  for (size_t begin = 0; begin < n; begin += kRun) {
    const size_t count = std::min(kRun, n - begin);
    for (size_t i = 0; i < count; ++i)
      values[i] = arith::Add(first, static_cast<int64_t>(begin + i));
    CastBulk(kI64, values, type, At(out, type, begin), count);
  }
}

}  // namespace tarsia::host
