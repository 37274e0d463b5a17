// Copies of boxes of tensors between global and shared memory (cp.async.bulk.tensor and the like).
#include <algorithm>
#include <cstring>

#include "ptx/exec/exec.h"
#include "ptx/machine/async_work.h"
#include "ptx/machine/cluster.h"
#include "ptx/memory/tensor_map.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kTileAlign = 128;
constexpr uint32_t kChunk = 16;  // bytes that a swizzle moves together

// The 128 bytes at a generic address, decoded; nothing, with a finding, if they are none.
std::optional<TensorMap> ReadMap(const Issuer& by, Space space, uint64_t address, int rank) {
  uint8_t bytes[TensorMap::kBytes];
  bool defined = true;
  for (uint64_t at = 0; at < TensorMap::kBytes; at += TensorMap::kAlign) {
    Place place;
    if (!by.warp->memory().Find(*by.inst, space, by.lane, address + at, TensorMap::kAlign,
                                Access::kRead, &place)) {
      return std::nullopt;
    }
    std::memcpy(bytes + at, place.data, TensorMap::kAlign);
    defined = defined && std::all_of(place.defined, place.defined + TensorMap::kAlign,
                                     [](uint8_t byte) { return byte == 0xFF; });
  }
  if (!defined) {
    by.ReportUndefined(
        "the tensor map has bits that were never written",
        by.warp->undefined().OriginOfLoad(*by.inst, space, by.lane, address, TensorMap::kBytes));
    return std::nullopt;
  }
  auto map = TensorMap::Decode(bytes);
  if (!map) {
    by.Report(FindingKind::kOutOfBounds,
              fmt::format("the 128 bytes at 0x{:x} are not a tensor map", address));
  } else if (rank != 0 && map->tiles().rank != rank) {
    by.Report(FindingKind::kOutOfBounds,
              fmt::format("a tensor map of {} dimensions, used with {}", map->tiles().rank, rank));
    map.reset();
  }
  return map;
}

// Boxes can be larger than any memory; no buffer is made for those.
bool FitsShared(const Issuer& by, const TensorMap& map) {
  const uint64_t room = by.warp->block().shared().bytes;
  if (map.BoxBytes() <= room) return true;
  by.Report(FindingKind::kOutOfBounds,
            fmt::format("a box of {} bytes, and the block has {}", map.BoxBytes(), room));
  return false;
}

int RankOf(const Inst& inst) {
  constexpr Mod kRanks[] = {Mod::k1d, Mod::k2d, Mod::k3d, Mod::k4d, Mod::k5d};
  for (int i = 0; i < 5; ++i) {
    if (inst.Has(kRanks[i])) return i + 1;
  }
  return 0;
}

// A box of a tensor: its rows, cut into segments that lie together both in global and in shared
// memory.
class Box {
 public:
  Box(const TensorMap& map, const std::array<int32_t, 5>& corner) : map_(map), corner_(corner) {}

  // f(offset in the box as it lies in shared memory, global address, first and last byte of the
  // segment that are within the tensor) for each segment; nothing within gives first == last.
  template <typename F>
  void ForSegments(const F& f) const {
    std::array<uint32_t, 5> at{};
    for (uint64_t row = 0;; ++row) {
      ForRow(row, at, f);
      int d = 1;
      while (d < TensorMap::kMaxRank && ++at[static_cast<size_t>(d)] == map_.Extent(d)) {
        at[static_cast<size_t>(d++)] = 0;
      }
      if (d == TensorMap::kMaxRank) return;
    }
  }

  [[nodiscard]] uint32_t SegmentBytes() const {
    // Elements that are apart are copied one by one.
    if (map_.Step(0) != 1) return map_.ElementBytes();
    const bool swizzled = map_.tiles().swizzle != MapSwizzle::kNone;
    return swizzled ? kChunk : map_.Extent(0) * map_.ElementBytes();
  }

 private:
  template <typename F>
  void ForRow(uint64_t row, const std::array<uint32_t, 5>& at, const F& f) const {
    const TensorMap::Tiles& tiles = map_.tiles();
    bool inside = true;
    uint64_t address = tiles.address;
    for (int d = 1; d < tiles.rank; ++d) {
      const auto i = static_cast<size_t>(d);
      const int64_t x = int64_t{corner_[i]} + int64_t{at[i]} * map_.Step(d);
      inside = inside && x >= 0 && static_cast<uint64_t>(x) < tiles.sizes[i];
      address += static_cast<uint64_t>(x) * tiles.strides[i - 1];
    }
    const int64_t size = map_.ElementBytes();
    const int64_t segment = SegmentBytes();
    const int64_t end = static_cast<int64_t>(tiles.sizes[0]) * size;
    for (int64_t byte = 0; byte < int64_t{map_.Extent(0)} * size; byte += segment) {
      const int64_t x = int64_t{corner_[0]} * size + byte * map_.Step(0);
      const int64_t first = inside ? std::clamp<int64_t>(-x, 0, segment) : 0;
      const int64_t last = inside ? std::clamp<int64_t>(end - x, first, segment) : 0;
      f(row * map_.RowPitch() + static_cast<uint64_t>(byte), address + static_cast<uint64_t>(x),
        static_cast<uint32_t>(first), static_cast<uint32_t>(last));
    }
  }

  const TensorMap& map_;
  std::array<int32_t, 5> corner_;
};

// One operation on a box while it is put together.
class BoxCopy {
 public:
  BoxCopy(const Issuer& by, const TensorMap& map, const std::array<int32_t, 5>& corner,
          AsyncOperation::Ends ends)
      : map_(map), box_(map, corner) {
    operation_.by = by;
    operation_.ends = ends;
    operation_.flushes = InfoOf(map.tiles().type).flushes;
    operation_.buffer.resize(map.BoxBytes());
    operation_.defined.assign(map.BoxBytes(), 0xFF);
    const uint64_t fill = map.FillBits();
    const uint32_t size = map.ElementBytes();
    for (uint64_t i = 0; i < map.BoxBytes(); i += size) {
      std::memcpy(operation_.buffer.data() + i, &fill, size);
    }
  }

  AsyncOperation& operation() { return operation_; }

  // What is within the tensor comes from global memory.
  bool ReadGlobal() {
    return ForParts([&](uint64_t, uint64_t global, uint32_t first, uint32_t last, uint32_t at) {
      if (first == last) return true;
      AsyncPiece piece;
      piece.bytes = last - first;
      piece.buffer = at + first;
      if (!FindAsyncGlobal(operation_.by, global + first, piece.bytes, Access::kRead,
                           &piece.from)) {
        return false;
      }
      operation_.pieces.push_back(piece);
      return true;
    });
  }

  // All goes to shared memory of a block.
  bool WriteShared(uint64_t address) {
    const uint32_t segment = box_.SegmentBytes();
    return ForParts([&](uint64_t offset, uint64_t, uint32_t, uint32_t, uint32_t at) {
      AsyncPiece piece;
      piece.bytes = segment;
      piece.buffer = at;
      const uint64_t to = map_.Swizzled(address + offset);
      if (!FindAsyncShared(operation_.by, to, segment, Access::kWrite, &piece.to)) return false;
      operation_.pieces.push_back(piece);
      return true;
    });
  }

  // What is within the tensor goes from shared to global memory.
  bool Store(uint64_t address, Access access) {
    return ForParts(
        [&](uint64_t offset, uint64_t global, uint32_t first, uint32_t last, uint32_t at) {
          if (first == last) return true;
          AsyncPiece piece;
          piece.bytes = last - first;
          piece.buffer = at + first;
          const uint64_t from = map_.Swizzled(address + offset) + first;
          if (!FindAsyncShared(operation_.by, from, piece.bytes, Access::kRead, &piece.from) ||
              !FindAsyncGlobal(operation_.by, global + first, piece.bytes, access, &piece.to)) {
            return false;
          }
          operation_.pieces.push_back(piece);
          return true;
        });
  }

  // A fault drops what it would read, so that zeros come instead; who waits for it goes on.
  void Issue(bool good) {
    if (!good) {
      std::erase_if(operation_.pieces,
                    [](const AsyncPiece& piece) { return piece.from.place.data != nullptr; });
    }
    operation_.by.warp->block().cluster().async().Issue(std::move(operation_));
  }

 private:
  // Until one is found to be wrong. `at` is the segment's place in the buffer.
  template <typename F>
  bool ForParts(const F& f) const {
    bool good = true;
    uint32_t at = 0;
    box_.ForSegments([&](uint64_t offset, uint64_t global, uint32_t first, uint32_t last) {
      good = good && f(offset, global, first, last, at);
      at += box_.SegmentBytes();
    });
    return good;
  }

  const TensorMap& map_;
  Box box_;
  AsyncOperation operation_;
};

// f(issuer, map, corner) for each executing lane whose map is one. The map is the n-th operand.
template <typename F>
void ForBoxes(Warp& warp, const Inst& inst, int n, const F& f) {
  for (const Operand& operand : inst.operands)
    warp.undefined().Require(inst, operand, "an operand");
  const auto operands = inst.At(n);
  ForLanes(warp.mask(), [&](int lane) {
    const Issuer by{&warp, &inst, lane};
    const auto map = ReadMap(by, Space::kGeneric, warp.Address(operands[0], lane), RankOf(inst));
    if (!map || !FitsShared(by, *map)) return warp.block().cluster().NoteDropped();
    std::array<int32_t, 5> corner{};
    for (size_t i = 1; i < operands.size(); ++i) {
      corner[i - 1] = warp.Get<int32_t>(operands[i], lane);
    }
    f(by, *map, corner);
  });
}

// Adds the completion of the box's bytes; null, with a finding, if there is no such mbarrier.
Mbarrier* AddCompletion(BoxCopy* copy, const TensorMap& map, uint64_t address) {
  AsyncOperation& operation = copy->operation();
  Mbarrier* mbarrier = FindMbarrier(operation.by, address);
  if (mbarrier == nullptr) return nullptr;
  mbarrier->RequireVisible(operation.by, true);
  operation.completions.push_back(
      {&mbarrier->block(), mbarrier->address(), static_cast<int64_t>(map.BoxBytes())});
  return mbarrier;
}

Step LoadTensor(Warp& warp, const Inst& inst) {
  const bool multicast = inst.Has(Mod::kMulticastCluster);
  ForBoxes(warp, inst, 1, [&](const Issuer& by, const TensorMap& map, const auto& corner) {
    const uint64_t to = warp.Address(inst[0], by.lane);
    const uint64_t mbarrier = warp.Address(inst[2], by.lane);
    if (!RequireMultiple(by, to, kTileAlign, "the address of the destination")) {
      return warp.block().cluster().NoteDropped();
    }
    BoxCopy copy(by, map, corner, AsyncOperation::Ends::kWithMbarrier);
    bool good = copy.ReadGlobal();
    if (!multicast) {
      const Mbarrier* found = AddCompletion(&copy, map, mbarrier);
      if (found == nullptr) return;
      return copy.Issue(copy.WriteShared(to) && good);
    }
    const auto ranks = warp.Get<uint16_t>(inst[3], by.lane);
    for (uint32_t rank = 0; rank < 16; ++rank) {
      if ((ranks >> rank & 1) == 0) continue;
      if (AddCompletion(&copy, map, AddressOfRank(mbarrier, rank)) == nullptr) return;
      good = copy.WriteShared(AddressOfRank(to, rank)) && good;
    }
    copy.Issue(good);
  });
  return Step::kNext;
}

// Which elements an operation takes.
bool Reduces(const Inst& inst, Type type) {
  const bool half = type == Type::kF16 || type == Type::kBF16;
  const bool whole = IsInteger(type) && BytesOf(type) >= 4;
  if (inst.Has(Mod::kInc) || inst.Has(Mod::kDec)) return type == Type::kU32;
  if (inst.Has(Mod::kAdd)) return whole || half || type == Type::kF32 || type == Type::kF64;
  if (inst.Has(Mod::kMin) || inst.Has(Mod::kMax)) return whole || half;
  return whole;
}

Step StoreTensor(Warp& warp, const Inst& inst) {
  const bool reduces = inst.Has(Mod::kReduce);
  ForBoxes(warp, inst, 0, [&](const Issuer& by, const TensorMap& map, const auto& corner) {
    const uint64_t from = warp.Address(inst[1], by.lane);
    const Type type = InfoOf(map.tiles().type).type;
    if (!RequireMultiple(by, from, kTileAlign, "the address of the source")) return;
    if (reduces && !Reduces(inst, type)) {
      by.Report(FindingKind::kUnknownInstruction,
                fmt::format("there is no such reduction of {}", InfoOf(map.tiles().type).name));
      return;
    }
    BoxCopy copy(by, map, corner, AsyncOperation::Ends::kWithGroup);
    if (reduces) copy.operation().reduces = type;
    copy.Issue(copy.Store(from, reduces ? Access::kAtomic : Access::kWrite));
  });
  return Step::kNext;
}

Step PrefetchBox(Warp& warp, const Inst& inst) {
  ForBoxes(warp, inst, 0, [](const Issuer&, const TensorMap&, const auto&) {});
  return Step::kNext;
}

Step PrefetchMap(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[0], "the address of the tensor map");
  ForLanes(warp.mask(), [&](int lane) {
    (void)ReadMap({&warp, &inst, lane}, inst.space, warp.Address(inst[0], lane), 0);
  });
  return Step::kNext;
}

// As many coordinates as the dimensions say.
Handler WithRank(const Inst& inst, int n, Handler handler) {
  return inst.CountAt(n) == RankOf(inst) + 1 ? handler : nullptr;
}

}  // namespace

PTX_BIND(TensorLoad) { return WithRank(inst, 1, &LoadTensor); }
PTX_BIND(TensorMulticast) { return WithRank(inst, 1, &LoadTensor); }
PTX_BIND(TensorStore) { return WithRank(inst, 0, &StoreTensor); }
PTX_BIND(TensorReduce) { return WithRank(inst, 0, &StoreTensor); }
PTX_BIND(TensorPrefetch) { return WithRank(inst, 0, &PrefetchBox); }
PTX_BIND(PrefetchTensormap) { return &PrefetchMap; }

}  // namespace tarsia::ptx
