// The layout of a kernel's workspace, computed once except for the sizes that depend on the scalars
// of a launch:
//
//   the report buffer, if there is one (compiler/report_buffer.h), at the beginning
//   scratch that is zero between launches, of constant size
//   scratch that is zero between launches, of sizes that depend on scalars
//   other scratch
//
// All offsets are multiples of compiler::kWorkspaceAlignment. The parts that must be initialised
// come first, so an initialised workspace can be used by launches with other scalars too. Immutable
// and thread-safe.
#ifndef TARSIA_RUNTIME_DEVICES_WORKSPACE_PLAN_H_
#define TARSIA_RUNTIME_DEVICES_WORKSPACE_PLAN_H_

#include <cstdint>
#include <vector>

#include "compiler/compile.h"
#include "isa/program.h"
#include "isa/tile_size.h"
#include "support/inline_vector.h"
#include "support/result.h"

namespace tarsia::runtime {

// The layout for the scalars of one launch.
struct WorkspaceLayout {
  // Up to this many pieces of scratch need no allocation.
  static constexpr size_t kInline = 32;
  InlineVector<uint64_t, kInline> offsets;  // by CompiledKernel::workspace
  uint64_t zeroed = 0;                      // where scratch that is zero between launches begins
  uint64_t zeroed_by_scalars = 0;           // and where that whose size depends on scalars does
  uint64_t other = 0;                       // where other scratch begins
  uint64_t bytes = 0;                       // of all
};

class WorkspacePlan {
 public:
  // A `limit` of 0 bytes means none; `program`, here and below, only names the kernel in errors.
  // Errors: no scalars could meet the limit.
  static Result<WorkspacePlan> Make(const Program& program, const compiler::CompiledKernel& kernel,
                                    uint64_t limit);

  // Allocates nothing for a layout without errors. `scalars`: codes by parameter. Errors: extents
  // outside of 0 to 2^40, a layout that does not fit, more bytes than the limit.
  Status LayOut(const Program& program, const uint64_t* scalars, WorkspaceLayout* out) const;

  [[nodiscard]] bool has_report() const { return has_report_; }
  [[nodiscard]] uint64_t report_room() const { return report_room_; }  // bytes of entries
  // Whether other scratch follows zeroed scratch whose size depends on scalars. Then one launch may
  // write where the next has zeroed scratch, so zeroed scratch is filled before every launch.
  [[nodiscard]] bool ZeroesBeforeLaunch() const { return zeroes_before_launch_; }
  [[nodiscard]] bool has_other() const { return has_other_; }

 private:
  struct Piece {
    size_t index = 0;  // in CompiledKernel::workspace
    compiler::Workspace workspace;
  };
  static Result<uint64_t> BytesOf(const compiler::Workspace& workspace, const uint64_t* scalars);
  // The least bytes for any scalars; `room` of them for the entries of a report.
  Result<uint64_t> ConstantBytes(uint64_t room) const;
  Status ChooseRoom(const Program& program, const compiler::CompiledKernel& kernel);
  [[nodiscard]] uint64_t ReportBytes(uint64_t room) const;
  [[nodiscard]] Status CheckLimit(const Program& program, uint64_t bytes) const;

  std::vector<Piece> pieces_;  // in the order of their addresses
  uint64_t limit_ = 0;
  bool has_report_ = false;
  uint64_t report_room_ = 0;
  bool zeroes_before_launch_ = false;
  bool has_other_ = false;
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_WORKSPACE_PLAN_H_
