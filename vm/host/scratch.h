// Working memory of matrix products and reductions. A caller that runs many of them gives its
// thread a HostScratch with room for each, so that none allocates; otherwise a thread has one of
// its own, which grows as needed.
#ifndef TARSIA_VM_HOST_SCRATCH_H_
#define TARSIA_VM_HOST_SCRATCH_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tarsia::host {

// The use of a buffer.
enum class ScratchUse : uint8_t {
  kLeft,    // of a product: A in f32
  kRight,   // B in f32
  kPanel,   // a few columns of B
  kSums,    // products of integers in f32
  kBlock,   // of a reduction: one row
  kWide,    // an array of f16 or bf16 in f32
  kNarrow,  // its reduction in f32
  kAxes0,   // reductions along some of the axes
  kAxes1,
};
inline constexpr size_t kScratchUses = 9;

// Bytes per use.
struct ScratchSizes {
  std::array<uint64_t, kScratchUses> bytes{};

  uint64_t& operator[](ScratchUse use) { return bytes[static_cast<size_t>(use)]; }
  // Room for both, one after the other.
  void Include(const ScratchSizes& other) {
    for (size_t i = 0; i < kScratchUses; ++i) bytes[i] = std::max(bytes[i], other.bytes[i]);
  }
  [[nodiscard]] uint64_t Total() const {
    uint64_t total = 0;
    for (const uint64_t size : bytes) total += size;
    return total;
  }
};

// Buffers aligned to a cache line, for one thread at a time. Their contents are lost when they
// grow.
class HostScratch {
 public:
  // Room for `count` elements; throws std::bad_alloc.
  template <typename T>
  T* Get(ScratchUse use, size_t count) {
    Buffer& buffer = buffers_[static_cast<size_t>(use)];
    buffer.Ensure(count * sizeof(T));
    return reinterpret_cast<T*>(buffer.data.get());
  }
  // Throws std::bad_alloc.
  void Reserve(const ScratchSizes& sizes) {
    for (size_t i = 0; i < kScratchUses; ++i) buffers_[i].Ensure(sizes.bytes[i]);
  }
  [[nodiscard]] ScratchSizes sizes() const {
    ScratchSizes sizes;
    for (size_t i = 0; i < kScratchUses; ++i) sizes.bytes[i] = buffers_[i].bytes;
    return sizes;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Deleter {
    void operator()(uint8_t* p) const { ::operator delete(p, kAlignment); }
  };
  struct Buffer {
    std::unique_ptr<uint8_t, Deleter> data;
    uint64_t bytes = 0;
    void Ensure(uint64_t wanted) {
      if (wanted <= bytes) return;
      data.reset();
      bytes = 0;
      data.reset(static_cast<uint8_t*>(::operator new(wanted, kAlignment)));
      bytes = wanted;
    }
  };
  std::array<Buffer, kScratchUses> buffers_;
};

// The HostScratch that this thread was given, else its own. Throws std::bad_alloc.
HostScratch& ThreadScratch();

// Gives this thread a HostScratch until the end of the scope.
class ScratchScope {
 public:
  explicit ScratchScope(HostScratch& scratch);
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;
  ~ScratchScope();

 private:
  HostScratch* before_;
};

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_SCRATCH_H_
