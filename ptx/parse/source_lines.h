// The source lines of instructions, as .loc gives them, and where they were inlined.
#ifndef TARSIA_PTX_PARSE_SOURCE_LINES_H_
#define TARSIA_PTX_PARSE_SOURCE_LINES_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tarsia::ptx {

// A place of the source. `caller` is the number of the place where its function was inlined, 0 if
// it was not; `own` that of the user's own line among these: the first, from the inside, that is
// not in a header of the toolkit or of another library, or the innermost if all are.
struct SourceLoc {
  uint32_t file = 0;  // by .file
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t caller = 0;
  uint32_t own = 0;
};

// All places of a module, by numbers; number 0 is none.
class SourceLines {
 public:
  using Place = std::array<uint32_t, 3>;  // file, line, column

  [[nodiscard]] const SourceLoc& operator[](uint32_t number) const { return locs_[number]; }
  [[nodiscard]] const SourceLoc& Own(uint32_t number) const { return locs_[locs_[number].own]; }

  // The number of a place that is not inlined, or is at the place where that was said last.
  uint32_t Add(const Place& place);
  uint32_t AddInlined(const Place& place, const Place& caller);
  // Once all is added: which lines are the user's own, by the names of the files.
  void FindOwn(const std::map<uint32_t, std::string>& files);

 private:
  uint32_t Number(const Place& place, uint32_t caller);

  std::vector<SourceLoc> locs_ = {SourceLoc{}};
  std::map<std::tuple<Place, uint32_t>, uint32_t> numbers_;  // by place and caller
  std::map<Place, uint32_t> last_;                           // what was said of a place last
};

// Whether a file is a header of the CUDA toolkit, or lies in a folder `include`, as those of
// libraries do.
bool IsLibraryHeader(std::string_view file);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_PARSE_SOURCE_LINES_H_
