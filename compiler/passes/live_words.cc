#include "compiler/passes/live_words.h"

#include <set>

#include "layout/access.h"
#include "support/align.h"

namespace tarsia::compiler {

int64_t WordsOf(int64_t slots, DType type) { return CeilDiv(slots * type.bits, int64_t{32}); }

LiveWords::LiveWords(const tile::Form& form, int64_t warps)
    : form_(form), threads_(warps * kWarpThreads), live_(tile::FindLiveRanges(form)) {}

int64_t LiveWords::Across(tile::OpId op) const {
  std::set<tile::ValueId> own;
  tile::ForEachUse(form_, form_.ops[op], [&](tile::ValueId value) { own.insert(value); });
  const tile::LiveRange here = {{live_.before[op], live_.after[op]}};
  int64_t words = 0;
  for (tile::ValueId value = 0; value < form_.values.size(); ++value) {
    const ConcreteType& type = form_.TypeOf(value);
    if (!IsRegisterTile(type) || live_.defined_at[value] >= live_.after[op]) continue;
    if (own.count(value) != 0 || !tile::Overlap(live_.range[value], here)) continue;
    int64_t elements = 1;
    for (const int64_t extent : type.shape) elements *= extent;
    words += WordsOf(CeilDiv(elements, threads_), type.dtype);
  }
  return words;
}

}  // namespace tarsia::compiler
