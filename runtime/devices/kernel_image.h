// The code of one kernel for one target as a device needs it: just compiled
// (runtime/devices/code.h), or from a file (StoredImage).
#ifndef TARSIA_RUNTIME_DEVICES_KERNEL_IMAGE_H_
#define TARSIA_RUNTIME_DEVICES_KERNEL_IMAGE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/target.h"
#include "support/result.h"
#include "support/stop.h"

namespace tarsia::runtime {

// Logically immutable; thread-safe.
class KernelImage {
 public:
  KernelImage() = default;
  KernelImage(const KernelImage&) = delete;
  KernelImage& operator=(const KernelImage&) = delete;
  virtual ~KernelImage() = default;

  [[nodiscard]] virtual compiler::Target target() const = 0;
  [[nodiscard]] virtual const compiler::CompiledKernel& kernel() const = 0;
  // The names of passes that were left out.
  [[nodiscard]] virtual const std::vector<std::string>& without() const = 0;
  // Machine code, and what its assembler printed; both live as long as the image. Errors: there is
  // none.
  struct Machine {
    std::string_view cubin;
    std::string_view log;
  };
  [[nodiscard]] virtual Result<Machine> FindMachine(StopCheck* stop) const = 0;
};

// What a file holds of an image.
struct StoredCode {
  compiler::Target target = compiler::Target::kSm80;
  compiler::CompiledKernel kernel;
  std::vector<std::string> without;
  std::string cubin;  // "": none
  std::string log;
};

class StoredImage final : public KernelImage {
 public:
  explicit StoredImage(StoredCode code) : code_(std::move(code)) {}

  [[nodiscard]] compiler::Target target() const override { return code_.target; }
  [[nodiscard]] const compiler::CompiledKernel& kernel() const override { return code_.kernel; }
  [[nodiscard]] const std::vector<std::string>& without() const override { return code_.without; }
  [[nodiscard]] Result<Machine> FindMachine(StopCheck* stop) const override;

 private:
  const StoredCode code_;
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_KERNEL_IMAGE_H_
