// The device cuda:0 as a witness: on the emulated driver (tests/emulated_driver), from opening the
// driver to the results; or on a GPU. The environment variable TARSIA_CUDA_WITNESS selects
// `emulated`, `gpu`, or `none`; the default is the emulated one, if it was built.
#ifndef TARSIA_TESTS_HARNESS_CUDA_WITNESS_H_
#define TARSIA_TESTS_HARNESS_CUDA_WITNESS_H_

#include <memory>
#include <string>

#include "tests/harness/witness.h"

namespace tarsia::harness {

class CudaWitness final : public Witness {
 public:
  CudaWitness();
  ~CudaWitness() override;
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string Unavailable() const override { return unavailable_; }
  // On a GPU such a program may destroy the context, and with it all further work of the process.
  [[nodiscard]] bool bears_findings() const override { return emulated_; }
  Outcome Run(const Program& program, const SourceFile& source,
              std::span<const Argument> arguments) const override;

 private:
  class Machine;
  bool emulated_ = true;
  std::string name_;
  std::string unavailable_;
  std::unique_ptr<Machine> machine_;
};

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_CUDA_WITNESS_H_
