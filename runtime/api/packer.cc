// The C API: weights are packed on a device.
#include <memory>
#include <utility>

#include "runtime/api/api.h"
#include "runtime/api/matmul.h"
#include "runtime/matmul/weight_packer.h"

struct tarsia_packer {
  std::unique_ptr<const tarsia::runtime::WeightPacker> packer;
};

namespace tarsia::api {
namespace {

using runtime::PackArguments;
using runtime::WeightPacker;

tarsia_status MakePacker(const tarsia_matmul* problem, const char* device, tarsia_packer** out) {
  if (problem == nullptr) return NullArgument("problem");
  tarsia_matmul from;
  runtime::MatmulProblem described;
  auto status = ReadStruct(problem, "problem", &from);
  if (status == TARSIA_STATUS_OK) status = ReadLayerWeights(from, &described);
  if (status != TARSIA_STATUS_OK) return status;
  auto opened = runtime::OpenDevice(device != nullptr ? device : "");
  if (!opened.ok()) return FailWith(opened.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  auto made = WeightPacker::Make(described.weights, described.codebook, *std::move(opened));
  if (!made.ok()) return FailWith(made.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  *out = new tarsia_packer{*std::move(made)};
  return TARSIA_STATUS_OK;
}

using Run = Status (WeightPacker::*)(const PackArguments&) const;

tarsia_status RunPacker(const tarsia_packer* packer, const tarsia_packer_args* args, void* stream,
                        Run run) {
  if (packer == nullptr) return NullArgument("packer");
  if (args == nullptr) return NullArgument("args");
  tarsia_packer_args read;
  const auto status = ReadStruct(args, "args", &read);
  if (status != TARSIA_STATUS_OK) return status;
  PackArguments to;
  to.parts = {{{read.codes, read.codes_bytes},
               {read.scales, read.scales_bytes},
               {read.zeros, read.zeros_bytes},
               {read.gather, read.gather_bytes},
               {read.codebook, read.codebook_bytes}}};
  to.image = {read.image, read.image_bytes};
  to.stream = stream;
  const Status done = ((*packer->packer).*run)(to);
  return done.ok() ? TARSIA_STATUS_OK : FailWith(done.error(), TARSIA_STATUS_LAUNCH_FAILED);
}

}  // namespace
}  // namespace tarsia::api

using namespace tarsia;
using namespace tarsia::api;

tarsia_status tarsia_packer_create(const tarsia_matmul* problem, const char* device,
                                   tarsia_packer** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    return MakePacker(problem, device, out);
  });
}

void tarsia_packer_destroy(tarsia_packer* packer) { delete packer; }

tarsia_status tarsia_packer_pack(const tarsia_packer* packer, const tarsia_packer_args* args,
                                 void* stream) {
  return Guarded([&] { return RunPacker(packer, args, stream, &WeightPacker::Pack); });
}

tarsia_status tarsia_packer_unpack(const tarsia_packer* packer, const tarsia_packer_args* args,
                                   void* stream) {
  return Guarded([&] { return RunPacker(packer, args, stream, &WeightPacker::Unpack); });
}
