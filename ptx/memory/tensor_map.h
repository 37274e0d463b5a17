// Tensor maps: what cp.async.bulk.tensor knows of a tensor in global memory and of the boxes that
// it copies. A map is 128 bytes, as a CUtensorMap is, in an encoding of the emulator's own.
//
//   bytes 0-3     "TMAP"
//   bytes 4-9     type, rank, interleave, swizzle, L2 promotion, fill
//   bytes 10-19   box, 5 x u16
//   bytes 20-24   element strides, 5 x u8
//   bytes 32-39   global address
//   bytes 40-59   sizes less 1, 5 x u32
//   bytes 64-95   strides in bytes, 4 x u64
//   bytes 124-127 FNV-1a of the bytes before
#ifndef TARSIA_PTX_MEMORY_TENSOR_MAP_H_
#define TARSIA_PTX_MEMORY_TENSOR_MAP_H_

#include <array>
#include <cstdint>
#include <optional>

#include "ptx/table/types.h"
#include "support/result.h"

namespace tarsia::ptx {

// In the order of CUtensorMapDataType, CUtensorMapInterleave and so on.
enum class MapType : uint8_t {
#define PTX_MAP_TYPE(constant, name, type, flushes) constant,
#include "ptx/table/tensor_types.def"
#undef PTX_MAP_TYPE
};
enum class MapInterleave : uint8_t { kNone, k16B, k32B };
enum class MapSwizzle : uint8_t { kNone, k32B, k64B, k128B };
enum class MapPromotion : uint8_t { kNone, k64B, k128B, k256B };
enum class MapFill : uint8_t { kZeros, kNaN };

struct MapTypeInfo {
  std::string_view name;
  Type type = Type::kNone;  // of an element in memory
  bool flushes = false;     // subnormals become zeros on the way
};
const MapTypeInfo& InfoOf(MapType type);

class TensorMap {
 public:
  static constexpr int kMaxRank = 5;
  static constexpr uint64_t kBytes = 128;
  static constexpr uint64_t kAlign = 64;

  // The arguments of cuTensorMapEncodeTiled. Dimension 0 is the innermost.
  struct Tiles {
    MapType type = MapType::kU8;
    int rank = 1;
    uint64_t address = 0;
    std::array<uint64_t, 5> sizes{1, 1, 1, 1, 1};            // elements
    std::array<uint64_t, 4> strides{};                       // bytes, of the dimensions from 1 on
    std::array<uint32_t, 5> box{1, 1, 1, 1, 1};              // elements
    std::array<uint32_t, 5> element_strides{1, 1, 1, 1, 1};  // of what is copied
    MapInterleave interleave = MapInterleave::kNone;
    MapSwizzle swizzle = MapSwizzle::kNone;
    MapPromotion promotion = MapPromotion::kNone;
    MapFill fill = MapFill::kZeros;
  };

  // Fails with what a driver would refuse (CUDA driver API, cuTensorMapEncodeTiled).
  static Result<TensorMap> Tiled(const Tiles& tiles);
  // Nothing unless the bytes are what Encode gave.
  static std::optional<TensorMap> Decode(const uint8_t* bytes);
  [[nodiscard]] std::array<uint8_t, kBytes> Encode() const;
  // The same of a map that need not make sense: it is being changed field by field. It may begin as
  // zeros, which have no dimension yet.
  static std::optional<Tiles> Peek(const uint8_t* bytes);
  static std::array<uint8_t, kBytes> Pack(const Tiles& tiles);

  [[nodiscard]] const Tiles& tiles() const { return tiles_; }
  [[nodiscard]] uint32_t ElementBytes() const;
  // How many elements of a dimension a box brings to shared memory.
  [[nodiscard]] uint32_t Extent(int dimension) const;
  // Elements apart in global memory that are neighbours in the box.
  [[nodiscard]] uint32_t Step(int dimension) const;
  // The bytes of a whole box, as an mbarrier counts them.
  [[nodiscard]] uint64_t BoxBytes() const;
  // Bytes from one row of the innermost dimension to the next in shared memory: a swizzle takes its
  // whole span.
  [[nodiscard]] uint64_t RowPitch() const;
  // Where the 16 bytes at an address of shared memory are with the map's swizzle: bits 4 to 6 are
  // changed by bits 7 to 9, of which narrower swizzles take fewer.
  [[nodiscard]] uint64_t Swizzled(uint64_t address) const;
  // What an element beyond the tensor reads as.
  [[nodiscard]] uint64_t FillBits() const;

 private:
  explicit TensorMap(const Tiles& tiles) : tiles_(tiles) {}

  Tiles tiles_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MEMORY_TENSOR_MAP_H_
