// The comments of kernels/*.cu with the expected findings in the faulty twin:
//
//   // finds FAULT_MISSING_BARRIER: race
//   tile[y][x] = in[i];
//   // finds FAULT_MISSING_BARRIER: race
//   // may find FAULT_MISSING_BARRIER: uninitialised
//   out[i] = tile[x][y];
//
// A marker is on a separate line, and refers to the code after it, up to the first line that ends
// in `;`, `{` or `}`. In the code of one marker with `finds` there must be a finding of its kind; a
// finding of another kind or in other code is a failure, unless `may find` allows it, as a
// consequence of the fault.
#ifndef TARSIA_TESTS_CUDA_KERNELS_MARKERS_H_
#define TARSIA_TESTS_CUDA_KERNELS_MARKERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tarsia::cuda_kernels {

struct Marker {
  std::string kind;  // its name in findings.def
  uint32_t first_line = 0;
  uint32_t last_line = 0;
  bool required = false;

  [[nodiscard]] bool Names(uint32_t line) const { return first_line <= line && line <= last_line; }
};

// The markers of a source text, by fault ("FAULT_MISSING_BARRIER").
std::map<std::string, std::vector<Marker>> MarkersOf(const std::string& source);

// A place in a source file.
struct SourcePlace {
  uint32_t file = 0;  // as .loc counts them
  uint32_t line = 0;
  uint32_t column = 0;
  friend auto operator<=>(const SourcePlace&, const SourcePlace&) = default;
};

// The source of a line of PTX: the place itself, then, if it was inlined, the call, the call of
// that function, and so on.
std::vector<SourcePlace> PlacesOf(const std::string& ptx, uint32_t line);

// The text of a file, which must be there.
std::string ReadText(const std::string& path);

}  // namespace tarsia::cuda_kernels

#endif  // TARSIA_TESTS_CUDA_KERNELS_MARKERS_H_
