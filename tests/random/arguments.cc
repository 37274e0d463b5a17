#include "tests/random/arguments.h"

#include <algorithm>
#include <cstring>

#include "dtypes/container.h"
#include "dtypes/convert.h"
#include "launch/launch_template.h"
#include "tests/random/rng.h"
#include "vm/interpreter.h"

namespace tarsia {
namespace {

constexpr size_t kAlignment = 4096;

// A small number as a code of a scalar type.
uint64_t ScalarCode(DType type, int64_t value) {
  if (type.IsBool()) return static_cast<uint64_t>(value & 1);
  if (type.IsInteger()) return static_cast<uint64_t>(value);
  if (type == kF16) return 0x3C00;   // 1.0
  if (type == kBF16) return 0x3F80;  // 1.0
  const auto wide = static_cast<double>(value);
  const auto narrow = static_cast<float>(value);
  uint64_t code = 0;
  if (type == kF64) {
    std::memcpy(&code, &wide, sizeof wide);
  } else {
    std::memcpy(&code, &narrow, sizeof narrow);
  }
  return code;
}

// Whole numbers from -2 to 2.
void FillWithSmallParts(Rng& rng, DType part, uint8_t* data, uint64_t bytes) {
  const auto each = static_cast<uint64_t>(ContainerBytes(part));
  for (uint64_t at = 0; at + each <= bytes; at += each) {
    const uint64_t code = EncodeFromDouble(part, static_cast<double>(rng.Between(-2, 2)));
    std::memcpy(data + at, &code, each);
  }
}

}  // namespace

RandomArguments::RandomArguments(const Program& program, const RandomKernel& kernel,
                                 uint64_t seed) {
  Rng rng(seed);
  std::vector<uint64_t> scalars;
  for (const RandomArgument& argument : kernel.arguments) {
    const bool scalar = argument.kind == RandomArgument::Kind::kScalar;
    scalars.push_back(scalar ? ScalarCode(argument.dtype, argument.value) : 0);
  }
  // Layouts may need more bytes than the elements.
  std::vector<uint64_t> sizes(kernel.arguments.size());
  const auto uses = launch::PointerUses(program, scalars);
  for (size_t i = 0; uses.ok() && i < uses->size(); ++i) {
    uint64_t& size = sizes[(*uses)[i].parameter];
    size = std::max(size, (*uses)[i].bytes);
  }
  rooms_.resize(kernel.arguments.size());
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const RandomArgument& argument = kernel.arguments[i];
    if (argument.kind == RandomArgument::Kind::kScalar) {
      arguments_.emplace_back(launch::ScalarValue{argument.dtype, scalars[i]});
      continue;
    }
    rooms_[i].resize(sizes[i] + kAlignment);
    auto* const room = rooms_[i].data();
    uint8_t* const data = room + (kAlignment - reinterpret_cast<uintptr_t>(room) % kAlignment);
    if (argument.small) {
      FillWithSmallParts(rng, ComponentOf(argument.dtype), data, sizes[i]);
    }
    // Otherwise any bytes will do, except that a bool is 0 or 1.
    for (uint64_t b = 0; b < sizes[i] && !argument.small; ++b) {
      data[b] = static_cast<uint8_t>(rng.Next() & (argument.dtype.IsBool() ? 1 : 0xFF));
    }
    const bool writable = argument.kind != RandomArgument::Kind::kInput;
    arguments_.emplace_back(launch::Buffer{data, sizes[i], writable});
  }
}

std::vector<uint8_t> RandomArguments::Bytes(size_t parameter) const {
  const auto* memory = std::get_if<launch::Buffer>(&arguments_[parameter]);
  if (memory == nullptr) return {};
  const auto* const data = static_cast<const uint8_t*>(memory->data);
  return {data, data + memory->bytes};
}

std::vector<std::vector<uint8_t>> RandomArguments::AllBytes() const {
  std::vector<std::vector<uint8_t>> out;
  for (size_t i = 0; i < arguments_.size(); ++i) out.push_back(Bytes(i));
  return out;
}

}  // namespace tarsia
