#include "runtime/matmul/weight_packer.h"

#include <fmt/format.h>

#include <utility>

#include "launch/arguments.h"
#include "runtime/diagnostics.h"
#include "runtime/library.h"
#include "runtime/matmul/device_bytes.h"
#include "runtime/weights/packed_order.h"

namespace tarsia::runtime {
namespace {

constexpr const char* kNames[kWeightParts] = {"codes", "scales", "zeros", "gather", "codebook"};

// The unsigned integer of as many bits.
std::string BitsOf(DType type) { return fmt::format("u{}", type.bits); }

}  // namespace

WeightPacker::WeightPacker(const WeightInfo& info, WeightPlaces places,
                           std::shared_ptr<Device> device)
    : info_(info), places_(std::move(places)), device_(std::move(device)) {}

WeightPacker::~WeightPacker() = default;

Result<std::unique_ptr<const WeightPacker>> WeightPacker::Make(const WeightInfo& info,
                                                               bool has_codebook,
                                                               std::shared_ptr<Device> device) {
  TARSIA_TRY(WeightPlaces places, PlaceWeights(info, has_codebook));
  std::unique_ptr<WeightPacker> out(new WeightPacker(info, std::move(places), std::move(device)));
  if (info.k > 0 && info.n > 0) {
    TARSIA_CHECK(out->LoadCodes());
    TARSIA_CHECK(out->LoadRows(WeightPart::kScales, info.scale_type, info.groups(), info.n));
    if (info.zero != ZeroPoint::kNone) {
      TARSIA_CHECK(out->LoadRows(WeightPart::kZeros, info.zero_type, info.groups(), info.n));
    }
    if (info.gathers) TARSIA_CHECK(out->LoadRows(WeightPart::kGather, kI32, 1, info.k));
  }
  if (has_codebook) {
    TARSIA_CHECK(out->LoadRows(WeightPart::kCodebook, kF32, 1, int64_t{1} << info.type.bits));
  }
  return std::unique_ptr<const WeightPacker>(std::move(out));
}

Result<std::unique_ptr<LoadedKernel>> WeightPacker::Load(
    const char* kernel, const std::vector<Binding>& constants) const {
  static const ValidModule module = ValidLibraryModule("pack_weights");
  Diagnostics diagnostics;
  auto program = Specialise(module, kernel, constants, device_->Limits(), diagnostics);
  if (!program) return diagnostics.list().front();
  return device_->Load(*program);
}

Status WeightPacker::LoadCodes() {
  const DType type = info_.type;
  const DType compute = info_.compute;
  TARSIA_TRY(const std::string tile, PackedTileText(type, compute));
  TARSIA_TRY(const std::string order, PackedOrderText(type, compute));
  const std::vector<Binding> constants = {{"K", std::to_string(info_.k)},
                                          {"N", std::to_string(info_.n)},
                                          {"W", std::string(DTypeName(type))},
                                          {"U", BitsOf(type)},
                                          {"TILE", tile},
                                          {"TK", std::to_string(PackedTileRows(type, compute))},
                                          {"TN", std::to_string(PackedTileColumns(type, compute))},
                                          {"PACK", order}};
  Step& step = steps_[static_cast<size_t>(WeightPart::kCodes)];
  TARSIA_TRY(step.pack, Load("pack_codes", constants));
  TARSIA_TRY(step.unpack, Load("unpack_codes", constants));
  step.bytes = static_cast<uint64_t>(info_.k) * static_cast<uint64_t>(info_.n);
  return OkStatus();
}

// Rows are padded in the image.
Status WeightPacker::LoadRows(WeightPart part, DType type, int64_t rows, int64_t columns) {
  const auto bytes = static_cast<uint64_t>(type.bits) / 8;
  const std::string dense = std::to_string(columns);
  const std::string padded =
      std::to_string(places_[part].bytes / bytes / static_cast<uint64_t>(rows));
  const auto load = [&](const std::string& from, const std::string& to) {
    return Load("copy_rows",
                {{"ROWS", std::to_string(rows)}, {"FROM", from}, {"TO", to}, {"T", BitsOf(type)}});
  };
  Step& step = steps_[static_cast<size_t>(part)];
  TARSIA_TRY(step.pack, load(dense, padded));
  TARSIA_TRY(step.unpack, load(padded, dense));
  step.bytes = static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns) * bytes;
  return OkStatus();
}

Status WeightPacker::Pack(const PackArguments& arguments) const { return Run(arguments, true); }

Status WeightPacker::Unpack(const PackArguments& arguments) const { return Run(arguments, false); }

// Kernels leave the padding of incomplete tiles, of rows and between parts as it is.
Status WeightPacker::FillPadding(const PackArguments& arguments) const {
  const PartRange& codes = places_[WeightPart::kCodes];
  const bool incomplete = info_.k % PackedTileRows(info_.type, info_.compute) != 0 ||
                          info_.n % PackedTileColumns(info_.type, info_.compute) != 0;
  const uint64_t begin = incomplete ? codes.offset : codes.offset + codes.bytes;
  if (begin >= places_.bytes) return OkStatus();
  return device_->Fill(static_cast<uint8_t*>(arguments.image.data) + begin, 0,
                       places_.bytes - begin, arguments.stream);
}

Status WeightPacker::Run(const PackArguments& arguments, bool packs) const {
  const auto& image = arguments.image;
  TARSIA_CHECK(CheckDeviceBytes("image", image.data, image.bytes, places_.bytes, true));
  for (size_t i = 0; i < kWeightParts; ++i) {
    const auto& part = arguments.parts[i];
    if (!packs && part.data == nullptr) continue;
    TARSIA_CHECK(
        CheckDeviceBytes(kNames[i], part.data, part.bytes, steps_[i].bytes, steps_[i].bytes != 0));
  }
  if (packs) TARSIA_CHECK(FillPadding(arguments));
  for (size_t i = 0; i < kWeightParts; ++i) {
    const auto& part = arguments.parts[i];
    const LoadedKernel* const kernel = packs ? steps_[i].pack.get() : steps_[i].unpack.get();
    if (kernel == nullptr || part.data == nullptr) continue;
    const PartRange& range = places_.parts[i];
    const launch::Buffer outside = {part.data, part.bytes, !packs};
    const launch::Buffer inside = {static_cast<uint8_t*>(image.data) + range.offset, range.bytes,
                                   packs};
    const launch::Argument list[] = {packs ? outside : inside, packs ? inside : outside};
    LaunchRequest request;
    request.args = list;
    request.stream = arguments.stream;
    request.wait = false;
    const auto launched = kernel->Launch(request);
    if (!launched.ok()) return launched.error();
    TARSIA_CHECK(CheckFindings(launched->report));
  }
  return OkStatus();
}

}  // namespace tarsia::runtime
