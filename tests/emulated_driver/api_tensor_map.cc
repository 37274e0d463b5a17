// Tensor maps, in the encoding of the emulator.
#include <algorithm>
#include <cstring>

#include "ptx/memory/tensor_map.h"
#include "tests/emulated_driver/api.h"

namespace tarsia::emulated {
namespace {

// An enumerator of a table whose last one is given, or nothing.
template <typename E>
bool ReadEnum(int number, E last, E* out) {
  if (number < 0 || number > static_cast<int>(last)) return false;
  *out = static_cast<E>(number);
  return true;
}

constexpr int kMapTypes = 0
#define PTX_MAP_TYPE(constant, name, type, flushes) +1
#include "ptx/table/tensor_types.def"
#undef PTX_MAP_TYPE
    ;

}  // namespace

CuResult TensorMapEncodeTiled(CuTensorMap* map, int type, uint32_t rank, void* address,
                              const uint64_t* sizes, const uint64_t* strides, const uint32_t* box,
                              const uint32_t* element_strides, int interleave, int swizzle,
                              int promotion, int fill) {
  return Call(symbols::kTensorMapEncodeTiled, [&](Machine& machine) -> CuResult {
    if (map == nullptr || sizes == nullptr || box == nullptr || element_strides == nullptr ||
        rank == 0 || rank > ptx::TensorMap::kMaxRank || (rank > 1 && strides == nullptr) ||
        reinterpret_cast<uintptr_t>(map) % ptx::TensorMap::kAlign != 0) {
      return kErrorInvalidValue;
    }
    if (machine.settings.major < 9) return kErrorNotSupported;
    ptx::TensorMap::Tiles tiles;
    const bool known = ReadEnum(type, static_cast<ptx::MapType>(kMapTypes - 1), &tiles.type) &&
                       ReadEnum(interleave, ptx::MapInterleave::k32B, &tiles.interleave) &&
                       ReadEnum(swizzle, ptx::MapSwizzle::k128B, &tiles.swizzle) &&
                       ReadEnum(promotion, ptx::MapPromotion::k256B, &tiles.promotion) &&
                       ReadEnum(fill, ptx::MapFill::kNaN, &tiles.fill);
    if (!known) return kErrorInvalidValue;
    tiles.rank = static_cast<int>(rank);
    tiles.address = reinterpret_cast<uintptr_t>(address);
    std::copy_n(sizes, rank, tiles.sizes.begin());
    if (rank > 1) std::copy_n(strides, rank - 1, tiles.strides.begin());
    std::copy_n(box, rank, tiles.box.begin());
    std::copy_n(element_strides, rank, tiles.element_strides.begin());
    const auto made = ptx::TensorMap::Tiled(tiles);
    if (!made.ok()) return kErrorInvalidValue;
    const auto bytes = made->Encode();
    std::memcpy(map->bytes, bytes.data(), bytes.size());
    return kSuccess;
  });
}

}  // namespace tarsia::emulated
