#include "runtime/plans/plan_blob.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "compiler/compiled/kernel_codec.h"
#include "isa/bytecode/bytecode.h"
#include "isa/specialise.h"
#include "isa/validate.h"
#include "runtime/build_id.h"
#include "runtime/diagnostics.h"
#include "support/byte_codec.h"
#include "tarsia/tarsia.h"

namespace tarsia::runtime {
namespace {

constexpr std::string_view kMagic = "tarsiaP";
constexpr uint8_t kFormat = 1;
constexpr size_t kHashBytes = sizeof(XXH128_canonical_t);
constexpr size_t kHeaderBytes = kMagic.size() + 1 + kHashBytes;

std::string HashOf(std::string_view bytes) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(digest.digest), sizeof digest.digest};
}

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string Version() {
  return fmt::format("{}.{}.{}", TARSIA_VERSION_MAJOR, TARSIA_VERSION_MINOR, TARSIA_VERSION_PATCH);
}

Diagnostic Refused(std::string_view part, std::string_view found, std::string_view wanted) {
  return MakeDiagnostic(diag::kPlanRefused, Location(), part, found, wanted);
}

// ---- writing -------------------------------------------------------------------------------

void WriteImage(const KernelImage& image, ByteSink* out) {
  out->U64(image.without().size());
  for (const std::string& name : image.without()) out->Text(name);
  out->Text(compiler::EncodeKernel(image.kernel()));
  const Result<KernelImage::Machine> machine = image.FindMachine(nullptr);
  out->Text(machine.ok() ? machine->cubin : "").Text(machine.ok() ? machine->log : "");
}

}  // namespace

std::string SealPlan(std::string_view rest) {
  ByteSink key;
  std::string body = key.Text(Version()).Text(BuildId()).Take();
  body += rest;
  return std::string(kMagic) + static_cast<char>(kFormat) + HashOf(body) + body;
}

Result<std::string> EncodePlan(const Program& program, const PlanParts& parts) {
  TARSIA_TRY(const std::string bytecode, Encode(program.module()));
  ByteSink out;
  out.U64(parts.image != nullptr ? 1 : 0);
  if (parts.image != nullptr) out.Text(compiler::Row(parts.image->target()).name);
  out.Text(parts.device).U64(parts.workspace_limit).Text(bytecode).U64(parts.constants.size());
  for (const PlanConstant& constant : parts.constants) {
    out.U32(constant.kind).Text(constant.name).Text(constant.value);
  }
  if (parts.image != nullptr) WriteImage(*parts.image, &out);
  return SealPlan(out.bytes());
}

// ---- reading -------------------------------------------------------------------------------

namespace {

Diagnostic Damaged(std::string_view what) {
  return MakeDiagnostic(diag::kPlanBlob, Location(), what);
}

Result<std::string_view> CheckHeader(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() <= kMagic.size()) {
    return Damaged("it does not begin with `tarsiaP`");
  }
  const auto format = static_cast<uint8_t>(bytes[kMagic.size()]);
  if (format != kFormat) {
    return Refused("version", fmt::format("format {}", format), fmt::format("format {}", kFormat));
  }
  if (bytes.size() < kHeaderBytes) return Damaged("it ends within its header");
  const std::string_view body = bytes.substr(kHeaderBytes);
  const std::string_view says = bytes.substr(kMagic.size() + 1, kHashBytes);
  const std::string hash = HashOf(body);
  if (says != hash) return Refused("hash", Hex(says), Hex(hash) + " for its contents");
  return body;
}

// The number of the image for the device. With a device that runs programs, none is wanted.
Result<std::optional<size_t>> FindImage(const std::vector<std::string>& targets,
                                        const Device& device) {
  const std::optional<compiler::Target> target = device.CodeTarget();
  if (!target) return std::optional<size_t>();
  const std::string_view wanted = compiler::Row(*target).name;
  const auto at = std::ranges::find(targets, wanted);
  if (at != targets.end()) return std::optional<size_t>(at - targets.begin());
  return Refused("target", targets.empty() ? "none" : fmt::format("{}", fmt::join(targets, ", ")),
                 fmt::format("{} for {}", wanted, device.name()));
}

// The program of a plan, by the same way as that of any module: nothing of it is taken on trust.
Result<Program> ReadProgram(std::string_view bytecode, const Device& device) {
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(bytecode.data()),
                                       bytecode.size());
  TARSIA_TRY(Module module, Decode(bytes, "plan"));
  Diagnostics list;
  const std::optional<ValidModule> valid = Validate(std::move(module), list);
  std::optional<Program> program;
  if (valid && valid->module().kernels.size() == 1) {
    const std::string name(valid->module().Name(valid->module().kernels[0]));
    program = Specialise(*valid, name, {}, device.Limits(), list);
  }
  if (program) return *std::move(program);
  if (list.ok()) return Damaged("it has not one kernel");
  return list.list().front();
}

struct RawImage {
  std::vector<std::string> without;
  std::string_view kernel, cubin, log;
};

RawImage ReadImage(ByteSource* in) {
  RawImage out;
  for (size_t left = in->Count(1); left > 0 && in->ok(); --left) {
    out.without.emplace_back(in->Text());
  }
  out.kernel = in->Text();
  out.cubin = in->Text();
  out.log = in->Text();
  return out;
}

Result<std::vector<std::string>> ReadKey(ByteSource* in) {
  const std::string wanted = Version();
  const std::string_view version = in->Text();
  const std::string_view build = in->Text();
  if (in->ok() && version != wanted) return Refused("version", version, wanted);
  if (in->ok() && build != BuildId()) return Refused("build", build, BuildId());
  std::vector<std::string> targets;
  for (size_t left = in->Count(1); left > 0 && in->ok(); --left) targets.emplace_back(in->Text());
  return targets;
}

}  // namespace

Result<DecodedPlan> DecodePlan(std::string_view bytes, const Device& device) {
  TARSIA_TRY(const std::string_view body, CheckHeader(bytes));
  ByteSource in(body);
  TARSIA_TRY(const std::vector<std::string> targets, ReadKey(&in));
  PlanParts parts;
  parts.device = in.Text();
  parts.workspace_limit = in.U64();
  const std::string_view bytecode = in.Text();
  for (size_t left = in.Count(1); left > 0 && in.ok(); --left) {
    PlanConstant& constant = parts.constants.emplace_back();
    constant.kind = in.U32();
    in.Require(constant.kind <= TARSIA_CONSTANT_BITLAYOUT);
    constant.name = in.Text();
    constant.value = in.Text();
  }
  std::vector<RawImage> images;
  for (size_t i = 0; i < targets.size() && in.ok(); ++i) images.push_back(ReadImage(&in));
  if (!in.done()) return Damaged("its parts do not fit together");
  TARSIA_TRY(const std::optional<size_t> image, FindImage(targets, device));
  TARSIA_TRY(Program program, ReadProgram(bytecode, device));
  if (image) {
    const RawImage& raw = images[*image];
    auto kernel = compiler::DecodeKernel(raw.kernel, program);
    if (!kernel) return Damaged("its code is not that of its program");
    parts.image = std::make_shared<const StoredImage>(
        StoredCode{*device.CodeTarget(), *std::move(kernel), raw.without, std::string(raw.cubin),
                   std::string(raw.log)});
  }
  return DecodedPlan{std::move(program), std::move(parts)};
}

}  // namespace tarsia::runtime
