// Weights packed on a device (runtime/matmul/weight_packer.h): the image is byte for byte that of
// the host, which tests/unit/runtime/packed_weights_test.cc holds against the layouts' addresses.
// All types of codes and of their operands on the interpreter, some on the emulator, over shapes
// that are multiples of nothing and of everything.
#include "runtime/matmul/weight_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/weights/packed_order.h"
#include "tests/matmul/quantised_case.h"

namespace tarsia::runtime::weight_packer_test {
namespace {

using quantised_case::Bytes;
using quantised_case::Data;
using quantised_case::Make;
using quantised_case::Memory;
using quantised_case::Spec;

std::vector<uint8_t> CodesOf(const Spec& spec, const Data& data) {
  std::vector<uint8_t> out(static_cast<size_t>(spec.k * spec.n));
  data.source.codes({0, 0, spec.k, spec.n}, out.data(), spec.n);
  return out;
}

std::vector<uint8_t> BytesOfNumbers(DType type, const std::vector<double>& values) {
  return values.empty() ? std::vector<uint8_t>() : Bytes(type, values);
}

template <typename T>
std::vector<uint8_t> BytesOfList(const std::vector<T>& list) {
  const auto* const data = reinterpret_cast<const uint8_t*>(list.data());
  return {data, data + list.size() * sizeof(T)};
}

std::vector<uint8_t> ReadBack(Device& device, const Memory& from) {
  std::vector<uint8_t> out(from.bytes());
  EXPECT_TRUE(device.Read(out.data(), from.data(), out.size(), nullptr).ok());
  return out;
}

void CheckPacker(const Spec& spec) {
  SCOPED_TRACE(spec.Text());
  const Data data = Make(spec, 7);
  const auto packed = PackedWeights::Pack(data.source);
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const auto device = OpenDevice(spec.device);
  const auto packer = WeightPacker::Make(packed->info(), spec.codebook, *device);
  ASSERT_TRUE(packer.ok()) << packer.error().message;

  const WeightInfo& info = packed->info();
  const std::vector<std::vector<uint8_t>> parts = {
      CodesOf(spec, data), BytesOfNumbers(info.scale_type, data.scales),
      BytesOfNumbers(info.zero_type, data.zeros), BytesOfList(data.gather),
      BytesOfList(data.codebook)};
  std::vector<std::unique_ptr<Memory>> memory;
  PackArguments arguments;
  for (size_t i = 0; i < kWeightParts; ++i) {
    memory.push_back(std::make_unique<Memory>(**device, parts[i]));
    arguments.parts[i] = {memory[i]->data(), memory[i]->bytes()};
  }
  // What was in the image before does not matter.
  const Memory image(**device, std::vector<uint8_t>(packed->image().size(), 0xA5));
  arguments.image = {image.data(), image.bytes()};
  const Status done = (*packer)->Pack(arguments);
  ASSERT_TRUE(done.ok()) << done.error().message;
  const std::vector<uint8_t> got = ReadBack(**device, image);
  // All of it but the header, padding too.
  const auto first = static_cast<std::ptrdiff_t>(packed->places().parts[0].offset);
  EXPECT_TRUE(std::equal(packed->image().begin() + first, packed->image().end(),
                         got.begin() + first, got.end()));

  // The inverse, into memory that holds something else.
  for (size_t i = 0; i < kWeightParts; ++i) {
    if (parts[i].empty() || i >= static_cast<size_t>(WeightPart::kGather)) continue;
    const Memory back(**device, std::vector<uint8_t>(parts[i].size(), 0x5A));
    PackArguments inverse;
    inverse.image = arguments.image;
    inverse.parts[i] = {back.data(), back.bytes()};
    const Status undone = (*packer)->Unpack(inverse);
    ASSERT_TRUE(undone.ok()) << undone.error().message;
    EXPECT_EQ(ReadBack(**device, back), parts[i]) << "part " << i;
  }
}

std::vector<DType> TypesFor(DType compute) {
  std::vector<DType> out;
  for (const DTypeRow& row : AllDTypes()) {
    if (LowPrecision(row.type) && CheckPackedOrder(row.type, compute).ok()) out.push_back(row.type);
  }
  return out;
}

// Every type of codes, each with another of the shapes.
void CheckTypes(const std::string& device, DType compute, size_t every) {
  constexpr int64_t kShapes[][3] = {{130, 67, 65}, {256, 128, 64}, {1, 1, 1}, {384, 200, 128}};
  const std::vector<DType> types = TypesFor(compute);
  for (size_t i = 0; i < types.size(); i += every) {
    const auto& [k, n, group] = kShapes[i % std::size(kShapes)];
    Spec spec;
    spec.device = device;
    spec.type = types[i];
    spec.compute = compute;
    spec.k = k;
    spec.n = n;
    spec.group = group;
    if (!spec.type.IsFloat()) spec.zero = static_cast<ZeroPoint>(i % 3);
    CheckPacker(spec);
  }
}

TEST(WeightPacker, PacksEveryTypeOnTheInterpreter) {
  for (const DType compute : {kF16, kBF16, kI8, kF8E4M3FN}) CheckTypes("cpu", compute, 1);
}

TEST(WeightPacker, PacksOnTheEmulator) {
  CheckTypes("ptx:sm_80", kF16, 3);
  CheckTypes("ptx:sm_90a", kBF16, 7);
  CheckTypes("ptx:sm_80", kI8, 5);
}

TEST(WeightPacker, PacksScalesCodebooksAndGatherLists) {
  for (const char* device : {"cpu", "ptx:sm_80"}) {
    for (const DType scale : {kF16, kF32, kE8M0}) {
      Spec spec;
      spec.device = device;
      spec.k = 96;
      spec.n = 131;
      spec.group = 32;
      spec.scale = scale;
      spec.gathers = true;
      spec.codebook = scale == kF32;
      if (!spec.codebook) spec.zero = ZeroPoint::kFloat;
      CheckPacker(spec);
    }
  }
}

TEST(WeightPacker, HasNothingToDoForNoWeights) {
  WeightInfo info;
  info.type = kU4;
  info.group = 1;
  const auto packer = WeightPacker::Make(info, false, *OpenDevice("cpu"));
  ASSERT_TRUE(packer.ok()) << packer.error().message;
  std::vector<uint8_t> image((*packer)->places().bytes);
  PackArguments arguments;
  arguments.image = {image.data(), image.size()};
  EXPECT_TRUE((*packer)->Pack(arguments).ok());
}

TEST(WeightPacker, RefusesMemoryThatIsMissingOrTooSmall) {
  Spec spec;
  const Data data = Make(spec, 1);
  const auto packed = PackedWeights::Pack(data.source);
  const auto device = OpenDevice("cpu");
  const auto packer = WeightPacker::Make(packed->info(), false, *device);
  ASSERT_TRUE(packer.ok());
  const Memory codes(**device, CodesOf(spec, data));
  const Memory scales(**device, Bytes(kF16, data.scales));
  const Memory image(**device, std::vector<uint8_t>(packed->image().size()));
  PackArguments right;
  right.parts[0] = {codes.data(), codes.bytes()};
  right.parts[1] = {scales.data(), scales.bytes()};
  right.image = {image.data(), image.bytes()};
  const auto refusal = [&](const auto& change) {
    PackArguments wrong = right;
    change(&wrong);
    const Status done = (*packer)->Pack(wrong);
    return done.ok() ? std::string() : done.error().message;
  };
  EXPECT_EQ(refusal([](PackArguments*) {}), "");
  EXPECT_EQ(refusal([](PackArguments* a) { a->parts[0].data = nullptr; }),
            "`codes` is null, and the problem has one");
  EXPECT_EQ(refusal([](PackArguments* a) { a->parts[0].bytes = 4095; }),
            "`codes` has 4095 bytes, and 4096 are needed");
  EXPECT_EQ(refusal([](PackArguments* a) { a->parts[1].bytes = 127; }),
            "`scales` has 127 bytes, and 128 are needed");
  EXPECT_EQ(refusal([](PackArguments* a) { a->parts[2] = a->parts[1]; }),
            "`zeros` is given, and the problem has none");
  EXPECT_EQ(refusal([](PackArguments* a) { a->image.bytes = 1; }),
            "`image` has 1 bytes, and " + std::to_string(packed->image().size()) + " are needed");
  EXPECT_NE(refusal([](PackArguments* a) {
              a->image.data = static_cast<uint8_t*>(a->image.data) + 8;
            }).find("not a multiple of 16"),
            std::string::npos);
}

}  // namespace
}  // namespace tarsia::runtime::weight_packer_test
