// Checks the certificate of a plan (planner/certificate.h) by itself: it shares no code with the
// planner, and believes nothing that it can derive. What it knows besides the certificate are the
// graph's own facts.
#ifndef TARSIA_PLANNER_CHECK_CHECKER_H_
#define TARSIA_PLANNER_CHECK_CHECKER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia {

// What the graph says: the extents of its axes, and its inputs and outputs.
struct TensorFacts {
  std::vector<std::string> axes;
  uint64_t bits = 0;  // of an element
  // Of an input: what the graph renames axes of it to; from the new name to that of the input.
  std::vector<std::map<std::string, std::string>> renamings{};
};
struct CertificateFacts {
  std::map<std::string, int64_t> axes;
  std::map<std::string, TensorFacts> inputs, outputs;
  std::map<std::string, std::string> in_place;  // outputs that take the memory of an input
};

// The faults of a certificate, one sentence each; none if it proves that
//   - every step reads only what was loaded or what earlier steps wrote, or inputs without
//   elements;
//     where it reads a chunk of an input, its ranges lie in that chunk;
//   - every part of every output is stored exactly once, and what a step writes of it is stored
//     before the buffer is written again and lies in the part that is stored;
//   - a buffer with other names for the axes of an input has those of a `rename` in the graph, and
//     its ranges are checked under these names;
//   - the buffers of inputs and outputs have room for the parts that are in them;
//   - no two buffers that are needed at the same time overlap, and each is declared for as long as
//     it is needed, from the first step that writes or loads it to the last one that reads or
//     stores it (what the limit does not count: an input from the beginning, an output to the end);
//   - an output in the memory of an input is one that the graph has there, both are as long and in
//     one place, and once it is written only the one kernel that has written it reads the input,
//     which nothing loads again;
//   - the end of every buffer is at most the peak, and the peak at most the limit;
//   - the ranges of each kernel's steps contain each index of its split axes exactly once; of the
//     axis that ranks share, each index of the rank's range;
//   - what a kernel reads that is not of one rank alone was merged since a kernel of one rank alone
//     wrote it, and no kernel of one rank alone goes on with what was merged.
std::vector<std::string> CheckCertificate(std::string_view json, const CertificateFacts& facts);

// The faults of the certificates of all ranks, in any order; none if each has none, and
//   - they are those of ranks 0 to n - 1 of n that share one axis below one limit;
//   - the ranges of the ranks contain each index of that axis exactly once;
//   - all ranks merge the same states in the same order, and the same kernels have the axis.
std::vector<std::string> CheckShares(const std::vector<std::string>& certificates,
                                     const CertificateFacts& facts);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_CHECK_CHECKER_H_
