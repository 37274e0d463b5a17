#include "ptx/table/semantics.h"

#include <string_view>

#include "ptx/table/table.h"

namespace tarsia::ptx {

Strength ScopeOf(const Inst& inst) {
  if (inst.Has(Mod::kSys) || inst.Has(Mod::kVolatile) || inst.Has(Mod::kMmio)) {
    return Strength::kSys;
  }
  if (inst.Has(Mod::kCluster)) return Strength::kCluster;
  return inst.Has(Mod::kCta) ? Strength::kCta : Strength::kGpu;
}

uint8_t SemanticsOf(const Inst& inst) {
  if (inst.Has(Mod::kNc)) return kNonCoherentBit;
  const std::string_view mnemonic = RowOf(inst.op).mnemonic;
  const bool atomic = mnemonic == "atom" || mnemonic == "red";
  const bool strong = atomic || inst.Has(Mod::kRelaxed) || inst.Has(Mod::kAcquire) ||
                      inst.Has(Mod::kRelease) || inst.Has(Mod::kAcqRel) ||
                      inst.Has(Mod::kVolatile) || inst.Has(Mod::kMmio);
  if (!strong) return 0;
  return static_cast<uint8_t>(static_cast<uint8_t>(ScopeOf(inst)) | (atomic ? kAtomicBit : 0));
}

}  // namespace tarsia::ptx
