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

// What the graph says: the extents of its axes, and the bytes of its inputs and outputs.
struct CertificateFacts {
  std::map<std::string, int64_t> axes;
  std::map<std::string, uint64_t> inputs, outputs;
};

// The faults of a certificate, one sentence each; none if it proves that
//   - every step reads only inputs and what earlier steps wrote, and every output is written;
//   - no two buffers that are needed at the same time overlap, and each is declared for as long as
//     it is needed, where it is needed from the step that writes it (an input: from the beginning)
//     to the last one that reads it (an output: to the end);
//   - the end of every buffer is at most the peak, and the peak at most the limit;
//   - the ranges of each kernel's steps contain each index of its split axes exactly once.
std::vector<std::string> CheckCertificate(std::string_view json, const CertificateFacts& facts);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_CHECK_CHECKER_H_
