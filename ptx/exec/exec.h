// What the files exec_<family>.cc share: handlers made of a function over one lane.
#ifndef TARSIA_PTX_EXEC_EXEC_H_
#define TARSIA_PTX_EXEC_EXEC_H_

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ptx/machine/warp.h"
#include "ptx/table/bind.h"
#include "ptx/table/code.h"

#define PTX_BIND(name) Handler Bind##name([[maybe_unused]] const Inst& inst)

namespace tarsia::ptx {

inline bool IsF16(Type type) { return type == Type::kF16 || type == Type::kF16X2; }

// Reports that lanes of the warp do not come to a barrier that is .aligned.
void ReportMissingLanes(Warp& warp, const Inst& inst);

// F(arguments...). A lambda is called as a new object of its type: the parameter's own object would
// have one name in all files, and the linker keeps one of them.
template <auto F, typename... A>
constexpr auto Call(A... arguments) {
  using Callable = std::remove_cv_t<decltype(F)>;
  if constexpr (std::is_class_v<Callable>) {
    return Callable{}(arguments...);
  } else {
    return F(arguments...);
  }
}

namespace internal {

// The lanes of a source, where the compiler sees that no destination overlaps them.
template <typename T>
std::array<T, kLanes> AllLanesOf(const uint8_t* from) {
  std::array<T, kLanes> lanes;
  std::memcpy(lanes.data(), from, sizeof lanes);
  return lanes;
}

template <auto F, typename D, typename... S, size_t... N>
Step MapLanes(Warp& warp, const Inst& inst, std::index_sequence<N...> /*numbers*/) {
  uint8_t* const dest = warp.Dest(inst.operands[0]);
  const uint8_t* const sources[] = {warp.Values(inst.operands[N + 1])...};
  const uint32_t mask = warp.mask();
  if (mask == kAllLanes) {  // vector code
    const std::tuple<std::array<S, kLanes>...> in(AllLanesOf<S>(sources[N])...);
    std::array<D, kLanes> out;
    for (size_t lane = 0; lane < kLanes; ++lane) out[lane] = Call<F>(std::get<N>(in)[lane]...);
    std::memcpy(dest, out.data(), sizeof out);
    return Step::kNext;
  }
  ForLanes(mask,
           [&](int lane) { StoreLane<D>(dest, lane, Call<F>(LoadLane<S>(sources[N], lane)...)); });
  return Step::kNext;
}

}  // namespace internal

// dest = F(sources...) in every lane; D and S are the types of the operands, in their order.
template <auto F, typename D, typename... S>
Step Map(Warp& warp, const Inst& inst) {
  return internal::MapLanes<F, D, S...>(warp, inst, std::index_sequence_for<S...>());
}

// The handler for an integer type (or bits) of 16, 32 or 64 bits, of `Maker::template Make<T>()`.
template <typename Maker>
Handler ForInteger(Type type, const Maker& maker) {
  const int bytes = BytesOf(type);
  if (IsSigned(type)) {
    if (bytes == 2) return maker(int16_t{});
    return bytes == 4 ? maker(int32_t{}) : maker(int64_t{});
  }
  if (bytes == 2) return maker(uint16_t{});
  return bytes == 4 ? maker(uint32_t{}) : maker(uint64_t{});
}

// Binary and ternary operations on one integer type; F is a generic lambda over it.
template <auto F>
Handler IntegerUnary(Type type) {
  return ForInteger(type, []<typename T>(T) -> Handler { return &Map<F, T, T>; });
}
template <auto F>
Handler IntegerBinary(Type type) {
  return ForInteger(type, []<typename T>(T) -> Handler { return &Map<F, T, T, T>; });
}
template <auto F>
Handler IntegerTernary(Type type) {
  return ForInteger(type, []<typename T>(T) -> Handler { return &Map<F, T, T, T, T>; });
}

// The unsigned type to compute in, where wrapping is meant.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) < 4, uint32_t, std::make_unsigned_t<T>>;

// The integer type of twice as many bits.
template <typename T>
struct WideOf;
template <>
struct WideOf<uint16_t> {
  using Of = uint32_t;
};
template <>
struct WideOf<int16_t> {
  using Of = int32_t;
};
template <>
struct WideOf<uint32_t> {
  using Of = uint64_t;
};
template <>
struct WideOf<int32_t> {
  using Of = int64_t;
};
template <>
struct WideOf<uint64_t> {
  using Of = unsigned __int128;
};
template <>
struct WideOf<int64_t> {
  using Of = __int128;
};
template <typename T>
using Wide = typename WideOf<T>::Of;

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_EXEC_EXEC_H_
