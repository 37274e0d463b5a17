#include "ptx/parse/source_lines.h"

#include <algorithm>
#include <iterator>

namespace tarsia::ptx {
namespace {

// How the names of the toolkit's headers begin, after their folder.
constexpr std::string_view kToolkitNames[] = {
    "cuda_",    "cooperative_groups", "sm_",      "device_",  "mma.h",
    "math_fun", "vector_fun",         "texture_", "surface_", "builtin_types",
};
// The toolkit's own folders.
constexpr std::string_view kToolkitFolders[] = {"crt", "cccl", "cooperative_groups", "cub",
                                                "thrust"};

bool IsHeaderName(std::string_view name) {
  return name.ends_with(".h") || name.ends_with(".hpp") || name.ends_with(".inl") ||
         name.ends_with(".cuh") || name.find('.') == std::string_view::npos;
}

}  // namespace

bool IsLibraryHeader(std::string_view file) {
  const auto is_any = [](std::string_view folder) {
    return folder == "include" ||
           std::ranges::find(kToolkitFolders, folder) != std::end(kToolkitFolders);
  };
  size_t slash = 0;
  while ((slash = file.find('/')) != std::string_view::npos) {
    if (is_any(file.substr(0, slash))) return true;
    file.remove_prefix(slash + 1);
  }
  return IsHeaderName(file) && std::ranges::any_of(kToolkitNames, [&](std::string_view name) {
           return file.starts_with(name);
         });
}

uint32_t SourceLines::Number(const Place& place, uint32_t caller) {
  const auto [at, is_new] = numbers_.try_emplace({place, caller}, locs_.size());
  if (is_new) locs_.push_back({place[0], place[1], place[2], caller, at->second});
  last_.insert_or_assign(place, at->second);
  return at->second;
}

uint32_t SourceLines::Add(const Place& place) { return Number(place, 0); }

uint32_t SourceLines::AddInlined(const Place& place, const Place& caller) {
  const auto known = last_.find(caller);
  return Number(place, known != last_.end() ? known->second : Number(caller, 0));
}

void SourceLines::FindOwn(const std::map<uint32_t, std::string>& files) {
  // Line 0 is of what compilers add.
  const auto is_foreign = [&](uint32_t number) {
    if (locs_[number].line == 0) return true;
    const auto found = files.find(locs_[number].file);
    return found != files.end() && IsLibraryHeader(found->second);
  };
  for (uint32_t number = 1; number < locs_.size(); ++number) {
    uint32_t at = number;
    while (at != 0 && is_foreign(at)) at = locs_[at].caller;
    locs_[number].own = at != 0 ? at : number;
  }
}

}  // namespace tarsia::ptx
