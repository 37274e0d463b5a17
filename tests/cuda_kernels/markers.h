// The comments of kernels/*.cu that say what an emulator must find in the twin with a fault:
//
//   tile[y][x] = in[i];  // finds FAULT_MISSING_BARRIER: race
//   out[i] = tile[x][y];  // finds FAULT_MISSING_BARRIER: race; may find FAULT_MISSING_BARRIER:
//   uninitialised
//
// One of the lines that `finds` names must be found, with this kind; a finding of another kind or
// line is a failure, unless `may find` allows it, as a consequence of the fault.
#ifndef TARSIA_TESTS_CUDA_KERNELS_MARKERS_H_
#define TARSIA_TESTS_CUDA_KERNELS_MARKERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tarsia::cuda_kernels {

struct Marker {
  std::string kind;  // as findings.def names it
  uint32_t line = 0;
  bool required = false;
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

// Where a line of PTX comes from: the place itself, then, if it was inlined, the call, the call of
// that function, and so on.
std::vector<SourcePlace> PlacesOf(const std::string& ptx, uint32_t line);

// The text of a file, which must be there.
std::string ReadText(const std::string& path);

}  // namespace tarsia::cuda_kernels

#endif  // TARSIA_TESTS_CUDA_KERNELS_MARKERS_H_
