// Loops over all cores.
#ifndef TARSIA_RUNTIME_WEIGHTS_PARALLEL_H_
#define TARSIA_RUNTIME_WEIGHTS_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace tarsia {

// Told how much of a job is done, from one thread at a time; returns false to cancel it.
using Progress = std::function<bool(uint64_t done, uint64_t total)>;

// Calls work(i) for every i below `count`, from several threads, and waits for all. `progress` (may
// be empty) is called by the caller's own thread. Returns false if it cancelled the rest; an
// exception of one of the calls is passed on.
bool ParallelFor(int64_t count, const std::function<void(int64_t)>& work,
                 const Progress& progress = {});

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_PARALLEL_H_
