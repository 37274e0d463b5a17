// The frames of a warp: the activations of functions, with their registers.
#ifndef TARSIA_PTX_MACHINE_FRAMES_H_
#define TARSIA_PTX_MACHINE_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ptx/machine/wgmma_state.h"
#include "ptx/memory/load_source.h"
#include "ptx/memory/origin.h"
#include "ptx/table/code.h"

namespace tarsia::ptx {

class Warp;

// An activation of a function by some lanes of a warp.
struct Frame {
  const Function* function = nullptr;
  uint32_t number = 0;  // of the function, in its module
  Frame* caller = nullptr;
  std::vector<uint8_t> values;        // registers
  std::vector<uint8_t> undef;         // a 1 is an undefined bit, in the lanes of undef_lanes alone
  std::vector<uint32_t> undef_lanes;  // by register: the lanes with undefined bits
  LoadSources load_sources;           // of undefined bits
  // By register and lane: where the undefined bits come from that it has, or last had. Empty until
  // bits become undefined.
  std::vector<Origin> origins;
  const uint8_t* constants = nullptr;
  const uint8_t* zeros = nullptr;
  uint64_t local_base = 0;
  std::vector<RegisterUse> uses;  // by register, if the function has wgmma
  std::vector<uint64_t> tops;     // by lane: the end of its allocations; empty if there are none

  // The end of the function's variables, and of the lane's stack.
  [[nodiscard]] uint64_t StaticEnd() const { return local_base + function->local_bytes; }
  [[nodiscard]] uint64_t TopOf(int lane) const {
    return tops.empty() ? StaticEnd() : tops[static_cast<size_t>(lane)];
  }
  // The end of the longest stack of a lane.
  [[nodiscard]] uint64_t End() const;
};

class Frames {
 public:
  // The warp must outlive this.
  explicit Frames(Warp* warp) : warp_(*warp) {}

  // The frame of a function that lanes begin. `caller` is null for the entry.
  Frame* Make(uint32_t function, Frame* caller, uint32_t lanes);
  void Free(Frame* frame);
  // Whether a function can be called from a frame; if not, the stack is too deep.
  [[nodiscard]] bool HasRoomFor(const Function& callee, const Frame& caller) const;
  void CopyArguments(const CallSite& site, const Frame& caller, const Frame& callee,
                     uint32_t lanes);
  void CopyResults(const CallSite& site, const Frame& caller, const Frame& callee, uint32_t lanes);
  // Sets the clock registers of a frame to what they are now.
  void UpdateClocks(Frame* frame);
  // Ends the stack of a lane after `bytes` undefined bytes at an address. False if it is too deep.
  bool MoveTop(Frame* frame, int lane, uint64_t address, uint64_t bytes);

 private:
  void SetValue(const FrameValue& value, Frame* frame);
  void Copy(uint64_t to, uint64_t from, uint64_t bytes, uint32_t lanes);

  Warp& warp_;
  std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_FRAMES_H_
