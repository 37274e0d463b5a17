#include "runtime/plans/sealed_plan.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/compiled/kernel_codec.h"
#include "isa/bytecode/bytecode.h"
#include "isa/specialise.h"
#include "isa/validate.h"
#include "runtime/build_id.h"
#include "runtime/diagnostics.h"
#include "tarsia/tarsia.h"

namespace tarsia::runtime {
namespace {

constexpr std::string_view kMagic = "tarsia";
constexpr uint8_t kFormat = 3;
constexpr size_t kHashBytes = sizeof(XXH128_canonical_t);
constexpr size_t kHeaderBytes = kMagic.size() + 2 + kHashBytes;

std::string MagicOf(PlanKind kind) { return std::string(kMagic) + static_cast<char>(kind); }

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

std::string_view NameOf(PlanKind kind) {
  return kind == PlanKind::kKernel ? "a plan of a kernel" : "a plan of a quantised matmul";
}

// What follows the hash.
Result<std::string_view> CheckHeader(PlanKind kind, std::string_view bytes) {
  const std::string magic = MagicOf(kind);
  for (const PlanKind other : {PlanKind::kKernel, PlanKind::kMatmul}) {
    if (other != kind && bytes.starts_with(MagicOf(other))) {
      return Refused("kind", NameOf(other), NameOf(kind));
    }
  }
  if (!bytes.starts_with(magic) || bytes.size() <= magic.size()) {
    return DamagedPlan(fmt::format("it does not begin with `{}`", magic));
  }
  const auto format = static_cast<uint8_t>(bytes[magic.size()]);
  if (format != kFormat) {
    return Refused("version", fmt::format("format {}", format), fmt::format("format {}", kFormat));
  }
  if (bytes.size() < kHeaderBytes) return DamagedPlan("it ends within its header");
  const std::string_view body = bytes.substr(kHeaderBytes);
  const std::string_view says = bytes.substr(magic.size() + 1, kHashBytes);
  const std::string hash = HashOf(body);
  if (says != hash) {
    return DamagedPlan(
        fmt::format("its hash is {}, and that of its contents {}: they are cut short or damaged",
                    Hex(says), Hex(hash)));
  }
  return body;
}

}  // namespace

Diagnostic DamagedPlan(std::string_view what) {
  return MakeDiagnostic(diag::kPlanBlob, Location(), what);
}

std::string SealPlan(PlanKind kind, std::string_view contents) {
  ByteSink key;
  std::string body = key.Text(Version()).Text(BuildId()).Take();
  body += contents;
  return MagicOf(kind) + static_cast<char>(kFormat) + HashOf(body) + body;
}

Result<std::string_view> OpenPlan(PlanKind kind, std::string_view bytes) {
  TARSIA_TRY(const std::string_view body, CheckHeader(kind, bytes));
  ByteSource in(body);
  const std::string wanted = Version();
  const std::string_view version = in.Text();
  const std::string_view build = in.Text();
  if (in.ok() && version != wanted) return Refused("version", version, wanted);
  if (in.ok() && build != BuildId()) return Refused("build", build, BuildId());
  if (!in.ok()) return DamagedPlan("its parts do not fit together");
  return in.rest();
}

// ---- kernels -----------------------------------------------------------------------------------

namespace {

struct RawImage {
  std::string_view target;
  std::vector<std::string> without;
  std::string_view kernel, cubin, log;
};

void WriteImage(const KernelImage& image, ByteSink* out) {
  out->Text(compiler::Row(image.target()).name).U64(image.without().size());
  for (const std::string& name : image.without()) out->Text(name);
  out->Text(compiler::EncodeKernel(image.kernel()));
  const Result<KernelImage::Machine> machine = image.FindMachine(nullptr);
  out->Text(machine.ok() ? machine->cubin : "").Text(machine.ok() ? machine->log : "");
}

RawImage ReadImage(ByteSource* in) {
  RawImage out;
  out.target = in->Text();
  for (size_t left = in->Count(1); left > 0 && in->ok(); --left) {
    out.without.emplace_back(in->Text());
  }
  out.kernel = in->Text();
  out.cubin = in->Text();
  out.log = in->Text();
  return out;
}

// The image for the device; null for a device that runs programs.
Result<const RawImage*> FindImage(const std::vector<RawImage>& images, const Device& device) {
  const std::optional<compiler::Target> target = device.CodeTarget();
  const RawImage* none = nullptr;
  if (!target) return none;
  const std::string_view wanted = compiler::Row(*target).name;
  std::vector<std::string_view> found;
  for (const RawImage& image : images) {
    if (image.target == wanted) return &image;
    found.push_back(image.target);
  }
  return Refused("target", found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", ")),
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
  if (list.ok()) return DamagedPlan("it has not one kernel");
  return list.list().front();
}

}  // namespace

Status WriteKernel(const Program& program, const KernelImage* image, ByteSink* out) {
  TARSIA_TRY(const std::string bytecode, Encode(program.module()));
  out->Text(bytecode).U64(image != nullptr ? 1 : 0);
  if (image != nullptr) WriteImage(*image, out);
  return OkStatus();
}

Result<StoredKernel> ReadKernel(ByteSource* in, const Device& device) {
  const std::string_view bytecode = in->Text();
  std::vector<RawImage> images;
  for (size_t left = in->Count(1); left > 0 && in->ok(); --left) images.push_back(ReadImage(in));
  if (!in->ok()) return DamagedPlan("its parts do not fit together");
  TARSIA_TRY(const RawImage* const raw, FindImage(images, device));
  TARSIA_TRY(Program program, ReadProgram(bytecode, device));
  std::shared_ptr<const KernelImage> image;
  if (raw != nullptr) {
    auto kernel = compiler::DecodeKernel(raw->kernel, program);
    if (!kernel) return DamagedPlan("its code is not that of its program");
    image = std::make_shared<const StoredImage>(StoredCode{*device.CodeTarget(), *std::move(kernel),
                                                           raw->without, std::string(raw->cubin),
                                                           std::string(raw->log)});
  }
  return StoredKernel{std::move(program), std::move(image)};
}

}  // namespace tarsia::runtime
