// The convert family.
#include <cmath>
#include <span>

#include "dtypes/bulk.h"
#include "dtypes/container.h"
#include "vm/diagnostics.h"
#include "vm/exec.h"

namespace tarsia::vm {
namespace {

// Reports the first source of a `cast .. finite` that breaks the promise.
void CheckFinite(Agent& agent, const PlannedInst& inst) {
  const PlannedOperand& source = inst.operand[0];
  const DType type = source.type;
  const bool tile = source.IsTile();
  const uint64_t scalar = tile ? 0 : agent.Code(inst, 0);
  const void* data = tile ? agent.RowMajor(inst, 0) : nullptr;
  const int64_t elements = tile ? agent.plan().values[source.value].elements : 1;
  for (int64_t i = 0; i < elements; ++i) {
    const uint64_t code = tile ? LoadContainer(type, data, static_cast<size_t>(i)) : scalar;
    const double value = DecodeToDouble(type, code);
    if (std::isfinite(value)) continue;
    return agent.Find(diag::kNotFinite, inst, agent.plan().ValueName(source.value), i,
                      std::isnan(value) ? "NaN" : "infinite");
  }
}

// Result `r` of `unpack`, in the order of the codes' slots.
template <typename T>
void UnpackInto(const UnpackTable& table, size_t r, std::span<const uint8_t> codes, T* out) {
  int64_t slot = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t form = table.form[static_cast<size_t>(slot)];
    out[i] = static_cast<T>(r == 0 ? table.codes[form][codes[i]] : table.bias[form]);
    if (++slot == table.slots) slot = 0;
  }
}

// The real or the imaginary parts of complex numbers, which lie side by side.
ExecState TakeParts(Agent& agent, const PlannedInst& inst, size_t part) {
  const void* const source = agent.Elements(inst, 0).data;
  void* const out = agent.Tile(inst.result[0]);
  const auto count = static_cast<size_t>(inst.count);
  VisitContainer(agent.plan().values[inst.result[0]].container, [&](auto container) {
    using T = decltype(container);
    const T* const in = static_cast<const T*>(source) + part;
    for (size_t i = 0; i < count; ++i) static_cast<T*>(out)[i] = in[2 * i];
  });
  return ExecState::kNext;
}

}  // namespace

EXEC(Real) { return TakeParts(agent, inst, 0); }
EXEC(Imag) { return TakeParts(agent, inst, 1); }

EXEC(Complex) {
  const void* const re = agent.Elements(inst, 0).data;
  const void* const im = agent.Elements(inst, 1).data;
  void* const to = agent.Tile(inst.result[0]);
  const auto count = static_cast<size_t>(inst.count);
  VisitContainer(agent.plan().values[inst.operand[0].value].container, [&](auto container) {
    using T = decltype(container);
    T* const out = static_cast<T*>(to);
    for (size_t i = 0; i < count; ++i) {
      out[2 * i] = static_cast<const T*>(re)[i];
      out[2 * i + 1] = static_cast<const T*>(im)[i];
    }
  });
  return ExecState::kNext;
}

EXEC(Cast) {
  if (inst.finite && agent.check()) CheckFinite(agent, inst);
  const DType from = inst.operand[0].type;
  const DType to = agent.plan().values[inst.result[0]].dtype;
  if (!inst.tile_result) {
    agent.Scalar(inst.result[0]) = CastCode(from, agent.Code(inst, 0), to, inst.cast);
    return ExecState::kNext;
  }
  const void* random = inst.operand[1].IsTile() ? agent.Elements(inst, 1).data : nullptr;
  CastBulk(from, agent.Elements(inst, 0).data, to, agent.Tile(inst.result[0]),
           static_cast<size_t>(inst.count), inst.cast, static_cast<const uint32_t*>(random));
  return ExecState::kNext;
}

// By thread and slot: the bit layout defines the meaning of q for each slot.
EXEC(Unpack) {
  const UnpackTable& table = *inst.unpack;
  const uint32_t source = inst.operand[0].value;
  const auto stored = agent.plan().values[source].stored;
  const std::span<const uint8_t> codes(agent.Tile(source), static_cast<size_t>(stored));
  for (size_t r = 0; r < inst.results; ++r) {
    const bool converts = inst.unpack_results[r] != nullptr;
    const auto bytes = ContainerBytes(agent.plan().values[inst.result[r]].dtype);
    uint8_t* tile = agent.Tile(inst.result[r]);
    uint8_t* out = converts ? agent.Scratch(kMaxOperands + r, stored * bytes) : tile;
    if (bytes == 1) {
      UnpackInto(table, r, codes, out);
    } else {
      UnpackInto(table, r, codes, reinterpret_cast<uint16_t*>(out));
    }
    if (converts) GatherContainers(bytes, out, *inst.unpack_results[r], tile);
  }
  return ExecState::kNext;
}

// Codes are native containers, and so are the table's elements.
EXEC(Lookup) {
  const ValuePlan& result = agent.plan().values[inst.result[0]];
  const auto* codes = static_cast<const uint8_t*>(agent.RowMajor(inst, 0));
  const void* table = agent.RowMajor(inst, 1);
  const uint64_t mask = CodeMask(inst.operand[0].type);
  void* out = agent.BeginResult(inst);
  VisitContainer(result.container, [&](auto container) {
    using T = decltype(container);
    for (int64_t i = 0; i < result.elements; ++i) {
      static_cast<T*>(out)[i] = static_cast<const T*>(table)[codes[i] & mask];
    }
  });
  agent.EndResult(inst);
  return ExecState::kNext;
}

}  // namespace tarsia::vm
