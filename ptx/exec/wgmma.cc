// wgmma: each warp of a warpgroup works out its 16 of the 64 rows when it executes the instruction.
// The results are there at once; what may not be touched until wgmma.wait_group is in
// wgmma_state.h, that the four warps go together in warpgroup.h.
#include <array>

#include "ptx/exec/exec.h"
#include "ptx/exec/matrix.h"
#include "ptx/exec/wgmma_descriptor.h"
#include "ptx/machine/block.h"
#include "ptx/machine/warpgroup.h"
#include "ptx/machine/wgmma_state.h"
#include "ptx/memory/access.h"

namespace tarsia::ptx {
namespace {

constexpr int kRows = 16;  // of a warp
constexpr int kMostColumns = 256;
constexpr int kMostWgmmaK = 32;
constexpr int kKBytes = 32;  // K is as many bytes of every type

// The numbers of the operands.
enum Part : int { kD, kA, kB, kScaleD, kScaleA, kScaleB, kTrans, kTransB };

// ---- matrices in shared memory -----------------------------------------------------------------

struct Chunk {
  std::array<uint8_t, kChunkBytes> data{};
  std::array<uint8_t, kChunkBytes> defined{};
};

// Reads 16 bytes of shared memory at each address: all that wgmma reads there, by the asynchronous
// proxy. What cannot be read is reported and is 0.
void ReadChunks(Warp& warp, const Inst& inst, std::span<const uint32_t> addresses, Chunk* chunks) {
  Block& block = warp.block();
  MemoryRange& shared = block.shared();
  const int lane = std::countr_zero(warp.mask());
  const AgentAccess agent = warp.races().BeginAgent(
      inst, warp.mask(), block, block.WgmmaActor(warp.number()), warp.wgmma().open, true);
  for (const uint32_t address : addresses) {
    Chunk& chunk = *chunks++;
    if (!shared.Holds(address, kChunkBytes)) {
      chunk.defined.fill(0xFF);
      warp.Report(inst, FindingKind::kOutOfBounds, lane,
                  fmt::format("a matrix reads 16 bytes at shared address 0x{:x}: the block has {} "
                              "bytes from 0x{:x}",
                              address, shared.bytes, kSharedBase));
      continue;
    }
    if (warp.checking()) {
      warp.races().NoteAccess(inst, agent.Get(), lane, Space::kShared, address, kChunkBytes,
                              Access::kRead);
    }
    const uint64_t at = address - kSharedBase;
    for (uint64_t half = 0; half < kChunkBytes; half += 8) {
      const uint64_t bits = ReadBytes(shared.data + at + half, 8);
      const uint64_t known = ReadBytes(shared.defined + at + half, 8);
      std::memcpy(chunk.data.data() + half, &bits, 8);
      std::memcpy(chunk.defined.data() + half, &known, 8);
    }
  }
}

// Rows of A or columns of B, as they are multiplied.
struct MatrixSource {
  const Operand* descriptor = nullptr;
  Type type = Type::kNone;
  bool mn_major = false;
  int first = 0;  // row or column
  int count = 0;
  int extent = 0;  // rows or columns of the whole matrix
  std::string_view name;
};

// Calls store(row or column, k, code, whether it is defined) for each element.
template <typename Store>
void ReadShared(Warp& warp, const Inst& inst, const MatrixSource& source, const Store& store) {
  const int lane = std::countr_zero(warp.mask());
  const WgmmaDescriptor descriptor(warp.Get<uint64_t>(*source.descriptor, lane));
  const int bytes = BytesOf(source.type);
  const int per_chunk = static_cast<int>(kChunkBytes) / bytes;
  const int k = kKBytes / bytes;
  const bool mn = source.mn_major;
  const int row_chunks = (mn ? source.extent : k) / per_chunk;
  const std::string fault = descriptor.Fault(mn, static_cast<uint32_t>(row_chunks));
  if (!fault.empty()) {
    warp.Report(inst, FindingKind::kWgmma, lane,
                fmt::format("the descriptor of {}: {}", source.name, fault));
  }
  // Rows of chunks are of K in an MN-major matrix.
  const int rows = mn ? k : source.count;
  const int chunks = (mn ? source.count : k) / per_chunk;
  const int first_row = mn ? 0 : source.first;
  const int first_chunk = mn ? source.first / per_chunk : 0;
  std::array<uint32_t, kMostColumns * 2> addresses{};
  std::array<Chunk, kMostColumns * 2> data;
  const auto total = static_cast<size_t>(rows * chunks);
  for (int row = 0; row < rows; ++row) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      addresses[static_cast<size_t>(row * chunks + chunk)] = descriptor.ChunkAddress(
          mn, static_cast<uint32_t>(first_row + row), static_cast<uint32_t>(first_chunk + chunk));
    }
  }
  ReadChunks(warp, inst, std::span(addresses).first(total), data.data());
  const uint64_t mask = AllBits(bytes);
  for (int row = 0; row < rows; ++row) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Chunk& from = data[static_cast<size_t>(row * chunks + chunk)];
      for (int e = 0; e < per_chunk; ++e) {
        uint32_t code = 0;
        uint32_t known = 0;
        std::memcpy(&code, from.data.data() + e * bytes, static_cast<size_t>(bytes));
        std::memcpy(&known, from.defined.data() + e * bytes, static_cast<size_t>(bytes));
        const int along = chunk * per_chunk + e;
        store(mn ? along : row, mn ? row : along, code, known == mask);
      }
    }
  }
}

// ---- multiplication ----------------------------------------------------------------------------

// T is what elements are multiplied as, Acc what products are summed in: products of the narrow
// floats are exact, and so are sums of those of integers.
template <typename T, typename Acc>
struct Tile {
  T a[kRows][kMostWgmmaK];
  T b[kMostWgmmaK][kMostColumns];
  Acc sums[kRows][kMostColumns];
  bool undef_rows[kRows] = {};
  bool undef_columns[kMostColumns] = {};
  bool undef_some = false;
};

// An element as it is multiplied.
float DecodeAs(Type type, uint32_t code, float) {
  return static_cast<float>(Decode(type, code, double{}));
}
int32_t DecodeAs(Type type, uint32_t code, int32_t) { return Decode(type, code, int32_t{}); }

// 1 or -1.
template <typename T>
T ScaleOf(const Inst& inst, int place) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<T>(static_cast<int32_t>(inst[place].immediate));
  }
  return 1;
}

template <typename T, typename Acc>
void ReadFragments(Warp& warp, const Inst& inst, Tile<T, Acc>* tile) {
  const Type type = inst.type[1];
  const int bits = InfoOf(type).bits;
  const int k = kKBytes * 8 / bits;
  const T scale = ScaleOf<T>(inst, kScaleA);
  const Fragment at{'A', {kRows, 8, k}, 32 / bits};
  for (int r = 0; r < at.registers(); ++r) {
    const Operand& reg = inst.At(kA)[static_cast<size_t>(r)];
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto word = warp.Get<uint32_t>(reg, lane);
      const int row = at.Row(lane, r, 0);
      for (int e = 0; e < at.per_register; ++e) {
        const auto code = static_cast<uint32_t>(word >> (e * bits) & AllBits(bits / 8));
        tile->a[row][at.Column(lane, r, e)] = scale * DecodeAs(type, code, T{});
      }
      if (warp.undefined().Bits(reg, lane) == 0) continue;
      tile->undef_rows[row] = true;
      tile->undef_some = true;
    }
  }
}

template <typename T, typename Acc>
void ReadMatrices(Warp& warp, const Inst& inst, Tile<T, Acc>* tile) {
  const bool transposes = inst.op == Op::kWgmmaHalf;
  const auto transposed = [&](int place) { return transposes && inst[place].immediate != 0; };
  if (inst[kA].bytes != 8) {
    ReadFragments(warp, inst, tile);
  } else {
    const int rank = static_cast<int>(warp.number() % kWarpgroupWarps);
    const MatrixSource a{&inst[kA], inst.type[1], transposed(kTrans), kRows * rank,
                         kRows,     4 * kRows,    "matrix A"};
    const T scale = ScaleOf<T>(inst, kScaleA);
    ReadShared(warp, inst, a, [&](int row, int k, uint32_t code, bool defined) {
      tile->a[row][k] = scale * DecodeAs(a.type, code, T{});
      if (defined) return;
      tile->undef_rows[row] = tile->undef_some = true;
    });
  }
  const MatrixSource b{&inst[kB], inst.type[2], transposed(inst[kA].bytes == 8 ? kTransB : kTrans),
                       0,         inst.number,  inst.number,
                       "matrix B"};
  const T scale = ScaleOf<T>(inst, kScaleB);
  ReadShared(warp, inst, b, [&](int column, int k, uint32_t code, bool defined) {
    tile->b[k][column] = scale * DecodeAs(b.type, code, T{});
    if (defined) return;
    tile->undef_columns[column] = tile->undef_some = true;
  });
}

template <typename T, typename Acc>
void Multiply(int columns, int depth, Tile<T, Acc>* tile) {
  for (int row = 0; row < kRows; ++row) {
    Acc* const sums = tile->sums[row];
    for (int k = 0; k < depth; ++k) {
      const auto factor = static_cast<Acc>(tile->a[row][k]);
      const T* const b = tile->b[k];
      for (int column = 0; column < columns; ++column) {
        sums[column] += factor * static_cast<Acc>(b[column]);
      }
    }
  }
}

// ---- accumulators ------------------------------------------------------------------------------

// Calls each(register, lane, element's shift, row, column) for the accumulator's elements.
template <typename Each>
void ForAccumulator(const Inst& inst, const Each& each) {
  const int bits = InfoOf(inst.type[0]).bits;
  const Fragment at{'C', {kRows, inst.number, 0}, 32 / bits};
  for (int r = 0; r < at.registers(); ++r) {
    const Operand& reg = inst.At(kD)[static_cast<size_t>(r)];
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int e = 0; e < at.per_register; ++e) {
        each(reg, lane, e * bits, at.Row(lane, r, e), at.Column(lane, r, e));
      }
    }
  }
}

// The sums begin with D, or with 0 if scale-d does not hold.
template <typename T, typename Acc>
void BeginSums(Warp& warp, const Inst& inst, bool scale_d, Tile<T, Acc>* tile) {
  const Type type = inst.type[0];
  const uint64_t mask = AllBits(BytesOf(type));
  ForAccumulator(inst, [&](const Operand& reg, int lane, int shift, int row, int column) {
    const uint64_t code = warp.Get<uint32_t>(reg, lane) >> shift & mask;
    tile->sums[row][column] =
        scale_d ? static_cast<Acc>(Decode(
                      type, code, std::conditional_t<std::is_same_v<T, float>, double, int32_t>{}))
                : Acc{0};
  });
}

template <typename T, typename Acc>
void WriteSums(Warp& warp, const Inst& inst, bool scale_d, const Tile<T, Acc>& tile) {
  const Type type = inst.type[0];
  const bool satfinite = inst.Has(Mod::kSatfinite);
  const auto mask = static_cast<uint32_t>(AllBits(BytesOf(type)));
  const int last = 32 - InfoOf(type).bits;
  uint32_t word = 0;
  uint32_t unknown = 0;
  ForAccumulator(inst, [&](const Operand& reg, int lane, int shift, int row, int column) {
    if (shift == 0) word = unknown = 0;
    word |= static_cast<uint32_t>(EncodeResult(tile.sums[row][column], type, satfinite)) << shift;
    if (tile.undef_some && (tile.undef_rows[row] || tile.undef_columns[column])) {
      unknown |= mask << shift;
    }
    if (shift != last || (warp.mask() >> lane & 1) == 0) return;
    // An undefined element of D stays one.
    if (scale_d) {
      const auto before = static_cast<uint32_t>(warp.undefined().Bits(reg, lane));
      if ((before & mask) != 0) unknown |= mask;
      if (last != 0 && before >> last != 0) unknown |= mask << last;
    }
    StoreLane(warp.Dest(reg), lane, word);
    warp.undefined().Set(reg, lane, unknown,
                         unknown != 0 ? warp.undefined().OriginOfResult(inst, lane) : Origin());
  });
}

// ---- the instruction ---------------------------------------------------------------------------

// A value that has to be the same in all lanes.
uint64_t UniformBits(Warp& warp, const Inst& inst, const Operand& operand, std::string_view what) {
  warp.undefined().Require(inst, operand, what);
  const uint64_t value = warp.Bits(operand, std::countr_zero(warp.mask()));
  ForLanes(warp.mask(), [&](int lane) {
    if (warp.Bits(operand, lane) == value) return;
    warp.Report(inst, FindingKind::kWgmma, lane, fmt::format("{} differs by lane", what));
  });
  return value;
}

void TakeRegisters(Warp& warp, const Inst& inst) {
  if (inst[kA].bytes != 8) UseFragments(warp, inst, inst.At(kA));
  const auto depth = static_cast<uint32_t>(kKBytes / BytesOf(inst.type[1]));
  const uint32_t shape =
      uint32_t{inst.number} << 16 | depth << 8 | static_cast<uint32_t>(inst.type[0]);
  UseAccumulators(warp, inst, inst.At(kD), shape);
  warp.wgmma().Join(inst);
}

template <typename T, typename Acc>
Step MmaAsync(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  const bool scale_d = UniformBits(warp, inst, inst[kScaleD], "scale-d") != 0;
  WarpgroupStep step{&inst, {scale_d ? 1U : 0U}};
  if (inst[kA].bytes == 8)
    step.values[1] = UniformBits(warp, inst, inst[kA], "the descriptor of A");
  step.values[2] = UniformBits(warp, inst, inst[kB], "the descriptor of B");
  NoteWarpgroup(warp, step);
  TakeRegisters(warp, inst);
  Tile<T, Acc> tile;
  ReadMatrices(warp, inst, &tile);
  BeginSums(warp, inst, scale_d, &tile);
  Multiply(inst.number, kKBytes / BytesOf(inst.type[1]), &tile);
  WriteSums(warp, inst, scale_d, tile);
  const auto depth = static_cast<uint64_t>(kKBytes / BytesOf(inst.type[1]));
  AddTensorOperations(warp, inst, 2 * kRows * uint64_t{inst.number} * depth);
  return Step::kNext;
}

Step FenceRegisters(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  NoteWarpgroup(warp, {&inst, {}});
  ++warp.wgmma().fences;
  return Step::kNext;
}

// Calls visit(number of the warp) for each of the warpgroup.
template <typename Visit>
void ForWarpgroup(Warp& warp, const Visit& visit) {
  const uint32_t first = warp.number() - warp.number() % kWarpgroupWarps;
  const uint32_t end = std::min(first + kWarpgroupWarps, warp.block().warps());
  for (uint32_t number = first; number < end; ++number) visit(number);
}

Step CommitGroup(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  NoteWarpgroup(warp, {&inst, {}});
  ++warp.wgmma().open;
  ForWarpgroup(warp,
               [&](uint32_t number) { warp.block().warp(number).divergence().WakeForWarpgroup(); });
  return Step::kNext;
}

// A group is of the warpgroup: who has waited knows that the wgmma of all four warps are done.
Step WaitForGroup(Warp& warp, const Inst& inst) {
  warp.divergence().RequireAligned(inst);
  WgmmaState& state = warp.wgmma();
  const auto rest = static_cast<uint32_t>(inst[0].immediate);
  if (!warp.divergence().AwaitWarpgroup(state.NewestBut(rest))) return Step::kMoved;
  NoteWarpgroup(warp, {&inst, {}});
  state.Wait(rest);
  if (!warp.checking() || state.waited == 0) return Step::kNext;
  ForWarpgroup(warp, [&](uint32_t number) {
    warp.races().order().Learn(warp.mask(), warp.block().WgmmaActor(number), state.waited);
  });
  return Step::kNext;
}

bool IsOneOf(uint64_t value, std::initializer_list<int32_t> allowed) {
  return std::ranges::find(allowed, static_cast<int32_t>(value)) != allowed.end();
}

// Whether N, the registers and the immediate operands are as the form has them.
bool FormFits(const Inst& inst) {
  const int n = inst.number;
  if (n < 8 || n > kMostColumns || n % 8 != 0) return false;
  // Integers have few of the odd multiples of 8.
  if (inst.op == Op::kWgmmaInt && n % 16 != 0 && n > 24) return false;
  if (inst.CountAt(kD) != n * kRows / kLanes * InfoOf(inst.type[0]).bits / 32) return false;
  const bool fragments = inst[kA].bytes != 8;
  if (inst.CountAt(kA) != (fragments ? 4 : 1)) return false;
  for (int place = kScaleA; place < inst.groups && inst.op != Op::kWgmmaInt; ++place) {
    const bool scale = place <= kScaleB;
    // One matrix in shared memory, one transposition.
    if (inst.CountAt(place) == 0) return place == kTransB && fragments;
    if (place == kTransB && fragments) return false;
    if (inst[place].bank == 0) return false;
    const uint64_t value = inst[place].immediate;
    if (!(scale ? IsOneOf(value, {1, -1}) : IsOneOf(value, {0, 1}))) return false;
  }
  return true;
}

}  // namespace

PTX_BIND(WgmmaFence) { return &FenceRegisters; }
PTX_BIND(WgmmaCommit) { return &CommitGroup; }
PTX_BIND(WgmmaWait) { return inst[0].bank == 0 ? nullptr : &WaitForGroup; }
PTX_BIND(WgmmaHalf) {
  const bool fits =
      inst.type[1] == inst.type[2] && (inst.type[1] == Type::kF16 || inst.type[0] == Type::kF32);
  return fits && FormFits(inst) ? &MmaAsync<float, double> : nullptr;
}
PTX_BIND(WgmmaTf32) { return FormFits(inst) ? &MmaAsync<float, double> : nullptr; }
PTX_BIND(WgmmaF8) { return FormFits(inst) ? &MmaAsync<float, double> : nullptr; }
PTX_BIND(WgmmaInt) { return FormFits(inst) ? &MmaAsync<int32_t, int64_t> : nullptr; }

}  // namespace tarsia::ptx
