// Memory that grows, aligned for vector code; growing does not keep the contents.
#ifndef TARSIA_VM_ALIGNED_BUFFER_H_
#define TARSIA_VM_ALIGNED_BUFFER_H_

#include <cstdint>
#include <memory>
#include <new>

namespace tarsia::vm {

class AlignedBuffer {
 public:
  static constexpr std::align_val_t kAlignment{64};
  // At least `bytes` bytes; throws std::bad_alloc, which the launch catches.
  uint8_t* Ensure(uint64_t bytes) {
    if (bytes > bytes_ || data_ == nullptr) {
      data_.reset();
      bytes_ = 0;
      data_.reset(static_cast<uint8_t*>(::operator new[](bytes + 64, kAlignment)));
      bytes_ = bytes;
    }
    return data_.get();
  }
  [[nodiscard]] uint8_t* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(uint8_t* data) const { ::operator delete[](data, kAlignment); }
  };
  std::unique_ptr<uint8_t[], Free> data_;
  uint64_t bytes_ = 0;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_ALIGNED_BUFFER_H_
