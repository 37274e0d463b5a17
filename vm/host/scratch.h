// Memory that a thread keeps between calls, so that tile operations of one size allocate once.
#ifndef TARSIA_VM_HOST_SCRATCH_H_
#define TARSIA_VM_HOST_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tarsia::host::internal {

// One growing buffer, aligned to a cache line. Its content is lost when it grows.
class Scratch {
 public:
  // Room for `count` elements; throws std::bad_alloc.
  template <typename T>
  T* Get(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes > bytes_) {
      data_.reset();
      bytes_ = 0;
      data_.reset(static_cast<uint8_t*>(::operator new(bytes, kAlignment)));
      bytes_ = bytes;
    }
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Deleter {
    void operator()(uint8_t* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<uint8_t, Deleter> data_;
  size_t bytes_ = 0;
};

}  // namespace tarsia::host::internal

#endif  // TARSIA_VM_HOST_SCRATCH_H_
