#include "tools/run/turns.h"

#include <fmt/format.h>

#include "runtime/api/handles.h"
#include "tools/command.h"
#include "tools/output.h"
#include "vm/turns.h"

namespace tarsia::tools {
namespace {

std::string TurnsText(const vm::LoopTurns& loop) {
  const size_t blocks = loop.by_block.size();
  const double mean =
      blocks == 0 ? 0 : static_cast<double>(loop.Total()) / static_cast<double>(blocks);
  return fmt::format(
      "line {}: {} turns of {} blocks, {} to {} of a block, {:.2f} in the mean: the "
      "longest has {:.1f}% more\n",
      loop.location.line, loop.Total(), blocks, loop.Shortest(), loop.Longest(), mean,
      100 * loop.Tail());
}

std::string TurnsJson(const std::vector<vm::LoopTurns>& loops) {
  Json json;
  json.Begin('[');
  for (const vm::LoopTurns& loop : loops) {
    json.Begin('{').Key("line").Number(loop.location.line).Key("turns").Begin('[');
    for (const int64_t turns : loop.by_block) json.Number(turns);
    json.End(']').End('}');
  }
  return json.End(']').Take();
}

}  // namespace

int ShowTurns(const tarsia_plan* plan, const RunArgs& args, bool json) {
  std::vector<uint64_t> scalars;
  for (const tarsia_arg& arg : args.args()) {
    scalars.push_back(arg.kind == TARSIA_ARG_POINTER ? 0 : arg.value.code);
  }
  const auto prepared = vm::Prepare(plan->program);
  if (!prepared.ok()) return PrintError(prepared.error(), *plan->source), kRejected;
  const auto loops = vm::CountTurns(**prepared, scalars);
  if (!loops.ok()) return PrintError(loops.error(), *plan->source), kRejected;
  std::string text = json ? TurnsJson(*loops) : "";
  for (const vm::LoopTurns& loop : *loops) text += json ? "" : TurnsText(loop);
  if (!json && loops->empty()) text = "no loop\n";
  PrintOut(text);
  return kDone;
}

}  // namespace tarsia::tools
