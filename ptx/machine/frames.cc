#include "ptx/machine/frames.h"

#include <algorithm>

#include "ptx/machine/block.h"
#include "ptx/machine/special_values.h"
#include "ptx/machine/warp.h"
#include "ptx/table/bind.h"

namespace tarsia::ptx {
namespace {

constexpr size_t kMostFrames = 4096;
constexpr uint64_t kLocalAlign = 256;  // of the variables of a function

}  // namespace

uint64_t Frame::End() const {
  uint64_t end = StaticEnd();
  for (const uint64_t top : tops) end = std::max(end, top);
  return end;
}

Frame* Frames::Make(uint32_t number, Frame* caller, uint32_t lanes) {
  const EntryImage& entry = *warp_.launch().entry;
  const Function& function = warp_.launch().image->module().functions[number];
  auto frame = std::make_unique<Frame>();
  frame->function = &function;
  frame->number = number;
  frame->caller = caller;
  frame->constants = entry.constants[number].data();
  frame->zeros = entry.zeros[number].data();
  frame->values.assign(function.register_bytes, 0);
  frame->undef.assign(function.register_bytes, 0xFF);
  frame->undef_lanes.assign(function.registers.size(), warp_.checking() ? lanes : 0);
  if (function.has_wgmma) frame->uses.resize(function.registers.size());
  frame->local_base = LocalMemory::kBase;
  if (caller != nullptr) {
    frame->local_base = (caller->End() + kLocalAlign - 1) / kLocalAlign * kLocalAlign;
  }
  LocalMemory& local = warp_.memory().local();
  ForLanes(lanes, [&](int lane) { local.EndAfter(lane, frame->local_base, function.local_bytes); });
  for (const FrameValue& value : function.frame_values) SetValue(value, frame.get());
  frames_.push_back(std::move(frame));
  return frames_.back().get();
}

void Frames::Free(Frame* frame) {
  std::erase_if(frames_, [&](const auto& known) { return known.get() == frame; });
}

bool Frames::HasRoomFor(const Function& callee, const Frame& caller) const {
  return frames_.size() < kMostFrames &&
         caller.End() + callee.local_bytes <= LocalMemory::kMostBytes;
}

void Frames::Copy(uint64_t to, uint64_t from, uint64_t bytes, uint32_t lanes) {
  ForLanes(lanes, [&](int lane) { warp_.memory().local().Copy(lane, to, from, bytes); });
}

void Frames::CopyArguments(const CallSite& site, const Frame& caller, const Frame& callee,
                           uint32_t lanes) {
  const std::vector<Param>& params = callee.function->params;
  for (size_t i = 0; i < params.size(); ++i) {
    Copy(callee.local_base + params[i].offset, caller.local_base + site.arguments[i],
         params[i].bytes, lanes);
  }
}

void Frames::CopyResults(const CallSite& site, const Frame& caller, const Frame& callee,
                         uint32_t lanes) {
  const std::vector<Param>& results = callee.function->results;
  for (size_t i = 0; i < results.size(); ++i) {
    Copy(caller.local_base + site.results[i], callee.local_base + results[i].offset,
         results[i].bytes, lanes);
  }
}

bool Frames::MoveTop(Frame* frame, int lane, uint64_t address, uint64_t bytes) {
  const uint64_t from = address - LocalMemory::kBase;
  if (from > LocalMemory::kMostBytes || bytes > LocalMemory::kMostBytes - from) return false;
  if (frame->tops.empty()) frame->tops.assign(kLanes, frame->StaticEnd());
  frame->tops[static_cast<size_t>(lane)] = address + bytes;
  warp_.memory().local().EndAfter(lane, address, bytes);
  return true;
}

void Frames::SetValue(const FrameValue& value, Frame* frame) {
  uint8_t* at = frame->values.data() + value.where.offset;
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t bits = value.kind == FrameValue::Kind::kSpecial
                              ? SpecialValue(warp_, value.special, lane)
                              : frame->local_base + value.local;
    StoreLaneBits(at, value.where.bytes, lane, bits);
  }
  frame->undef_lanes[value.where.flag] = 0;
}

void Frames::UpdateClocks(Frame* frame) {
  for (const FrameValue& value : frame->function->frame_values) {
    const bool is_clock = value.kind == FrameValue::Kind::kSpecial && IsClock(value.special);
    if (is_clock) SetValue(value, frame);
  }
}

Step RunWithClock(Warp& warp, const Inst& inst) {
  warp.frames().UpdateClocks(&warp.frame());
  return inst.wrapped(warp, inst);
}

}  // namespace tarsia::ptx
