#include "vm/host/scratch.h"

#include <utility>

namespace tarsia::host {
namespace {

thread_local HostScratch* given = nullptr;

}  // namespace

HostScratch& ThreadScratch() {
  if (given != nullptr) return *given;
  thread_local HostScratch own;
  return own;
}

ScratchScope::ScratchScope(HostScratch& scratch) : before_(std::exchange(given, &scratch)) {}
ScratchScope::~ScratchScope() { given = before_; }

}  // namespace tarsia::host
