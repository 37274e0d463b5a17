#include "isa/prune.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "isa/renumber.h"

namespace tarsia {
namespace {

class Pruner {
 public:
  Pruner(Module& module, Kernel& kernel)
      : module_(module), pool_(module.pool), kernel_(kernel), live_(kernel.code.size(), true) {}

  void Run() {
    Walk(0, kernel_.code.size());
    if (std::find(live_.begin(), live_.end(), false) == live_.end()) return;
    Compact();
    RenumberValues(module_, kernel_);
  }

 private:
  void Kill(size_t begin, size_t end) {
    std::fill(live_.begin() + static_cast<std::ptrdiff_t>(begin),
              live_.begin() + static_cast<std::ptrdiff_t>(end), false);
  }

  // Whether nothing after these instructions runs.
  bool Walk(size_t begin, size_t end) {
    for (size_t i = begin; i < end; i = kernel_.code[i].end) {
      if (!WalkInst(i)) continue;
      Kill(kernel_.code[i].end, end);
      return true;
    }
    return false;
  }

  bool WalkInst(size_t i) {
    const Inst& inst = kernel_.code[i];
    if (inst.opcode == Opcode::kIf) return WalkIf(i);
    if (inst.opcode == Opcode::kWhile) return WalkWhile(i);
    if (inst.opcode == Opcode::kFor) {
      if (HasNoTurn(inst)) {
        Kill(i, inst.end);
      } else {
        Walk(i + 1, inst.end);
      }
      return false;
    }
    return Row(inst.opcode).Has(kEndsBlock);
  }

  bool WalkIf(size_t i) {
    Inst& inst = kernel_.code[i];
    const auto condition = pool_.AsBool(kernel_.Slots(inst)[0]);
    if (!condition) {
      Walk(i + 1, inst.else_begin);
      Walk(inst.else_begin, inst.end);
      return false;
    }
    const size_t begin = *condition ? i + 1 : inst.else_begin;
    const size_t end = *condition ? inst.else_begin : inst.end;
    Kill(i + 1, begin);
    Kill(end, inst.end);
    const bool ends = Walk(begin, end);
    if (begin == end) {
      live_[i] = false;
    } else if (!*condition) {
      kernel_.args[inst.first_arg] = pool_.Bool(true);
    }
    inst.else_begin = inst.end;
    return ends;
  }

  bool WalkWhile(size_t i) {
    const Inst& inst = kernel_.code[i];
    const auto condition = pool_.AsBool(kernel_.Slots(inst)[0]);
    if (condition == false) {
      Kill(i, inst.end);
      return false;
    }
    Walk(i + 1, inst.end);
    return condition == true;
  }

  bool HasNoTurn(const Inst& inst) const {
    const auto slots = kernel_.Slots(inst);
    const auto start = pool_.AsInt(slots[0]);
    const auto stop = pool_.AsInt(slots[1]);
    const auto step = slots.size() > 2 ? pool_.AsInt(slots[2]) : 1;
    if (!start || !stop || !step) return false;
    return *step > 0 ? *start >= *stop : *step < 0 && *start <= *stop;
  }

  // Keeps the live entries of an array that is parallel to the code or to the arguments.
  template <typename T>
  static void Keep(std::vector<T>& all, const std::vector<bool>& live) {
    size_t kept = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      if (live[i]) all[kept++] = std::move(all[i]);
    }
    all.resize(kept);
  }

  void Compact() {
    std::vector<uint32_t> index(live_.size() + 1, 0);  // the number of live ones before
    for (size_t i = 0; i < live_.size(); ++i) index[i + 1] = index[i] + (live_[i] ? 1 : 0);
    std::vector<bool> live_args(kernel_.args.size(), false);
    uint32_t args = 0;
    for (size_t i = 0; i < live_.size(); ++i) {
      if (!live_[i]) continue;
      Inst& inst = kernel_.code[i];
      const auto count = static_cast<uint32_t>(inst.results + inst.slots) +
                         static_cast<uint32_t>(std::popcount(inst.attrs));
      std::fill_n(live_args.begin() + inst.first_arg, count, true);
      inst.first_arg = std::exchange(args, args + count);
      inst.end = index[inst.end];
      inst.else_begin = index[inst.else_begin];
    }
    Keep(kernel_.code, live_);
    Keep(kernel_.locations, live_);
    Keep(kernel_.type_locations, live_);
    Keep(kernel_.close_lines, live_);
    Keep(kernel_.else_lines, live_);
    Keep(kernel_.args, live_args);
    Keep(kernel_.arg_locations, live_args);
  }

  Module& module_;
  ExprPool& pool_;
  Kernel& kernel_;
  std::vector<bool> live_;  // by instruction
};

}  // namespace

void Prune(Module& module, Kernel& kernel) { Pruner(module, kernel).Run(); }

bool RunsItsBlock(const ExprPool& pool, const Kernel& kernel, const Inst& inst) {
  return inst.opcode == Opcode::kIf && pool.AsBool(kernel.Slots(inst)[0]) == true;
}

}  // namespace tarsia
