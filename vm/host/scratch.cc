#include "vm/host/scratch.h"

#include <utility>

#include "support/per_thread.h"

namespace tarsia::host {
namespace {

thread_local HostScratch* given = nullptr;

}  // namespace

HostScratch& ThreadScratch() {
  if (given != nullptr) return *given;
  static PerThread<HostScratch> own;
  return own.Get();
}

ScratchScope::ScratchScope(HostScratch& scratch) : before_(std::exchange(given, &scratch)) {}
ScratchScope::~ScratchScope() { given = before_; }

}  // namespace tarsia::host
