// Packs weights on a device: codes, scales and zero points that are there become the image that
// MatmulPlan::Execute reads, and back, by the kernels of kernels/pack_weights.tsa. The bytes are
// those that PackedWeights::Pack makes on the host, except for the header, which Execute does not
// read.
#ifndef TARSIA_RUNTIME_MATMUL_WEIGHT_PACKER_H_
#define TARSIA_RUNTIME_MATMUL_WEIGHT_PACKER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/specialise.h"
#include "runtime/devices/device.h"
#include "runtime/weights/weight_info.h"

namespace tarsia::runtime {

// Memory of the packer's device, at multiples of 16 bytes. The numbers of bytes may be larger than
// needed.
struct PackArguments {
  struct Memory {
    void* data = nullptr;
    uint64_t bytes = 0;
  };
  // By WeightPart: codes [k, n], one in each byte; scales and zero points [k / group, n], in their
  // types; the gather list and the codebook, in i32 and f32. Null where the weights have none.
  std::array<Memory, kWeightParts> parts;
  Memory image;
  StreamHandle stream = nullptr;
};

// Immutable and thread-safe.
class WeightPacker {
 public:
  // `has_codebook` as of PlaceWeights. Errors: those of PlaceWeights, of the compiler and of the
  // device.
  static Result<std::unique_ptr<const WeightPacker>> Make(const WeightInfo& info, bool has_codebook,
                                                          std::shared_ptr<Device> device);
  ~WeightPacker();

  // The parts to the image. Of codes of more bits than their type the lower ones count. Enqueued;
  // on devices without streams it is done when the call returns. Allocates nothing on a GPU.
  // Errors: memory that is missing, too small or at no multiple of 16; those of
  // LoadedKernel::Launch.
  [[nodiscard]] Status Pack(const PackArguments& arguments) const;
  // The image to the parts; those that are null are left out.
  [[nodiscard]] Status Unpack(const PackArguments& arguments) const;

  [[nodiscard]] const WeightInfo& info() const { return info_; }
  [[nodiscard]] const WeightPlaces& places() const { return places_; }
  [[nodiscard]] Device& device() const { return *device_; }

 private:
  // How a part comes to the image and back; nothing to do without kernels.
  struct Step {
    std::unique_ptr<LoadedKernel> pack, unpack;
    uint64_t bytes = 0;  // of the part outside of the image
  };

  WeightPacker(const WeightInfo& info, WeightPlaces places, std::shared_ptr<Device> device);
  [[nodiscard]] Status LoadCodes();
  [[nodiscard]] Status LoadRows(WeightPart part, DType type, int64_t rows, int64_t columns);
  [[nodiscard]] Result<std::unique_ptr<LoadedKernel>> Load(
      const char* kernel, const std::vector<Binding>& constants) const;
  [[nodiscard]] Status FillPadding(const PackArguments& arguments) const;
  [[nodiscard]] Status Run(const PackArguments& arguments, bool packs) const;

  const WeightInfo info_;
  const WeightPlaces places_;
  const std::shared_ptr<Device> device_;
  std::array<Step, kWeightParts> steps_;
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_MATMUL_WEIGHT_PACKER_H_
