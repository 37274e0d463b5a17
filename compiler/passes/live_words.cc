#include "compiler/passes/live_words.h"

#include <map>
#include <set>

#include "compiler/tile_layout.h"
#include "layout/access.h"
#include "support/align.h"

namespace tarsia::compiler {

int64_t WordsOf(int64_t slots, DType type) { return CeilDiv(slots * type.bits, int64_t{32}); }

LiveWords::LiveWords(const tile::Form& form)
    : form_(form), threads_(form.Warps() * kWarpThreads), live_(tile::FindLiveRanges(form)) {}

int64_t LiveWords::Across(tile::OpId op) const {
  std::set<tile::ValueId> own;
  tile::ForEachUse(form_, form_.ops[op], [&](tile::ValueId value) { own.insert(value); });
  const tile::LiveRange here = {{live_.before[op], live_.after[op]}};
  int64_t words = 0;
  for (tile::ValueId value = 0; value < form_.values.size(); ++value) {
    const ConcreteType& type = form_.TypeOf(value);
    if (!IsRegisterTile(type) || live_.defined_at[value] >= live_.after[op]) continue;
    if (own.count(value) != 0 || !tile::Overlap(live_.range[value], here)) continue;
    words += WordsOf(CeilDiv(type.Elements(), threads_), type.dtype);
  }
  return words;
}

bool LiveWords::IsReadFromShared(tile::ValueId value) const {
  const tile::OpId op = live_.definition[value].op;
  if (op == tile::kNone || form_.ops[op].opcode != Opcode::kLoad) return false;
  return form_.TypeOf(form_.ops[op].operand[0].value).space == Space::kShared;
}

LiveWords::Peak LiveWords::Most() const {
  std::map<uint32_t, int64_t> change;  // by place
  for (tile::ValueId value = 0; value < form_.values.size(); ++value) {
    const ConcreteType& type = form_.TypeOf(value);
    if (!IsRegisterTile(type) || !type.reg_layout || IsReadFromShared(value)) continue;
    const Extents shape(type.shape.begin(), type.shape.end());
    const int64_t words = WordsOf(TileLayout::Padded(*type.reg_layout, shape).slots(), type.dtype);
    for (const tile::Interval& interval : live_.range[value]) {
      change[interval.begin] += words;
      change[interval.end + 1] -= words;
    }
  }
  uint32_t place = 0;
  int64_t now = 0;
  Peak most;
  for (const auto& [at, words] : change) {
    now += words;
    if (now <= most.words) continue;
    most.words = now;
    place = at;
  }
  if (most.words == 0) return most;
  // The places of regions' ends belong to no operation: then it is the last one before.
  for (tile::OpId op = 0; op < form_.ops.size(); ++op) {
    if (live_.before[op] > place) continue;
    if (most.op == tile::kNone || live_.before[op] > live_.before[most.op]) most.op = op;
  }
  return most;
}

}  // namespace tarsia::compiler
