// How the ranks that share a plan send each other the states of reductions.
#ifndef TARSIA_RUNTIME_GRAPHS_EXCHANGE_H_
#define TARSIA_RUNTIME_GRAPHS_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/result.h"

namespace tarsia::runtime {

// Messages between two ranks arrive in the order in which they are sent. Both functions may wait
// for the other rank; each must give up when it has failed. Used by one thread.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual Status Send(size_t to, std::span<const uint8_t> bytes) = 0;
  // A message of exactly this size.
  virtual Status Receive(size_t from, std::span<uint8_t> bytes) = 0;
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_GRAPHS_EXCHANGE_H_
