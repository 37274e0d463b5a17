#include "layout/swizzle_search.h"

#include <bit>
#include <utility>
#include <vector>

#include "layout/access.h"
#include "layout/diagnostics.h"

namespace tarsia {
namespace {

// Banks are bits 2 to 6 of an address, of which a swizzle can change bits 4 to 6.
constexpr int kFirstBit = 4;
constexpr int kLastBit = 7;

// More than the bytes of shared memory of any device; each address is tried with every swizzle.
constexpr int64_t kMaxAddresses = int64_t{1} << 18;

// The requests of the warps of all accesses to shared memory: `bytes` from each address.
struct Request {
  std::vector<uint64_t> addresses;
  int bytes = 0;
  int64_t weight = 1;
};

Result<std::vector<Request>> RequestsOf(const MemLayout& memory, int bits,
                                        const SharedAccess& access, int64_t* ideal) {
  Extents offsets = access.offsets;
  if (offsets.empty()) offsets.assign(static_cast<size_t>(memory.rank()), 0);
  TARSIA_TRY(const MemLayout part, memory.Slice(offsets, access.tile.shape()));
  TARSIA_TRY(const TileAccess tile, TileAccess::Make(access.tile, part, bits));
  std::vector<Request> out;
  const TileAccess::LdMatrix shape =
      access.ldmatrix ? tile.LdMatrixShape() : TileAccess::LdMatrix::kNo;
  const bool matrices = shape != TileAccess::LdMatrix::kNo;
  const int bytes = matrices ? 16 : tile.WidestVector();
  if (bytes == 0) return MakeDiagnostic(diag::kAccessNoBytes, {}, ToString(access.tile));
  const TileAccess::Cost cost =
      matrices ? tile.LdMatrixWavefronts(shape) : tile.SharedWavefronts(bytes);
  *ideal += access.weight * cost.ideal;
  const int64_t warps = (tile.threads() + kWarpThreads - 1) / kWarpThreads;
  const int64_t units = matrices ? tile.Units(4) : tile.Units(bytes);
  for (int64_t warp = 0; warp < warps; ++warp) {
    for (int64_t unit = 0; unit < units; ++unit) {
      out.push_back(
          {matrices ? tile.MatrixRows(shape, warp, unit) : tile.WarpAddresses(warp, unit, bytes),
           bytes, access.weight});
    }
  }
  return out;
}

int64_t Cost(const std::vector<Request>& requests, const Swizzle* swizzle) {
  int64_t out = 0;
  std::vector<uint64_t> addresses;
  for (const Request& request : requests) {
    addresses = request.addresses;
    if (swizzle != nullptr) {
      for (uint64_t& address : addresses) address = swizzle->Apply(address);
    }
    out += request.weight * WavefrontsOf(addresses, request.bytes);
  }
  return out;
}

}  // namespace

Result<SwizzleChoice> BestSwizzle(const MemLayout& memory, int bits,
                                  std::span<const SharedAccess> accesses) {
  if (memory.IsPacked()) return MakeDiagnostic(diag::kLayoutSwizzlePacked, {});
  SwizzleChoice out;
  std::vector<Request> requests;
  int64_t addresses = 0;
  for (const SharedAccess& access : accesses) {
    TARSIA_TRY(std::vector<Request> more, RequestsOf(memory, bits, access, &out.ideal));
    for (Request& request : more) {
      addresses += static_cast<int64_t>(request.addresses.size());
      requests.push_back(std::move(request));
    }
    if (addresses > kMaxAddresses) {
      return MakeDiagnostic(diag::kLayoutTooLarge, {}, addresses, kMaxAddresses,
                            "addresses to try swizzles on");
    }
  }
  out.before = out.wavefronts = Cost(requests, nullptr);
  const auto top =
      static_cast<int>(std::bit_width(memory.SizeBytes(bits)));  // no address has this bit
  for (int count = 1; count <= kLastBit - kFirstBit; ++count) {
    for (int shift = 1; kFirstBit + shift < top && kFirstBit + shift + count <= 32; ++shift) {
      for (int base = kFirstBit; base + count <= kLastBit; ++base) {
        const Swizzle swizzle{base, count, shift};
        if (base + count + shift > 32) continue;
        const int64_t cost = Cost(requests, &swizzle);
        if (cost >= out.wavefronts) continue;
        out.wavefronts = cost;
        out.swizzle = swizzle;
      }
    }
  }
  return out;
}

}  // namespace tarsia
