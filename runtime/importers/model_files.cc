#include "runtime/importers/model_files.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "runtime/diagnostics.h"
#include "runtime/files/file.h"

namespace tarsia {
namespace {

constexpr uint64_t kMostIndexBytes = uint64_t{256} << 20;
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr std::string_view kFileEnd = ".safetensors";

bool IsFolder(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The names of the .safetensors files in a folder.
Result<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> out;
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) {
    return MakeDiagnostic(diag::kFileOpen, {}, folder, std::generic_category().message(errno));
  }
  while (const dirent* entry = readdir(open)) {  // NOLINT(concurrency-mt-unsafe): own stream
    if (std::string_view(entry->d_name).ends_with(kFileEnd)) out.emplace_back(entry->d_name);
  }
  closedir(open);
  std::sort(out.begin(), out.end());
  return out;
}

Diagnostic IndexError(const ModelFiles& files, std::string_view why) {
  return MakeDiagnostic(diag::kImportConfig, {}, files.index, why);
}

// Reads where the tensors are; returns the names of their files.
Result<std::set<std::string>> ReadIndex(ModelFiles* files) {
  TARSIA_TRY(const std::string text, ReadFile(files->index, kMostIndexBytes));
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object()) {
    return IndexError(*files, "it has no object `weight_map`");
  }
  std::set<std::string> out;
  for (const auto& [tensor, place] : map->items()) {
    const std::string name = place.is_string() ? place.get<std::string>() : place.dump();
    const std::string path = files->folder + "/" + name;
    const bool plain = name.ends_with(kFileEnd) && name.find('/') == std::string::npos;
    if (!plain || access(path.c_str(), F_OK) != 0) {
      return IndexError(
          *files, fmt::format("it names {}, which {}", name.substr(0, 200),
                              plain ? "is not there" : "is no .safetensors file of the folder"));
    }
    files->places.emplace(tensor, path);
    out.insert(name);
  }
  return out;
}

}  // namespace

Result<ModelFiles> FindModelFiles(const std::string& path) {
  ModelFiles out;
  if (!IsFolder(path)) {
    if (access(path.c_str(), F_OK) != 0) {
      return MakeDiagnostic(diag::kFileOpen, {}, path, std::generic_category().message(errno));
    }
    if (!path.ends_with(kFileEnd)) return MakeDiagnostic(diag::kImportKind, {});
    out.folder = FolderOf(path);
    out.paths = {path};
    return out;
  }
  out.folder = path;
  TARSIA_TRY(const std::vector<std::string> names, NamesIn(path));
  if (const std::string index = path + "/" + kIndexName; access(index.c_str(), F_OK) == 0) {
    out.index = index;
    TARSIA_TRY(const std::set<std::string> named, ReadIndex(&out));
    for (const std::string& name : named) out.paths.push_back(path + "/" + name);
    std::set_difference(names.begin(), names.end(), named.begin(), named.end(),
                        std::back_inserter(out.ignored));
    return out;
  }
  if (names.empty()) return MakeDiagnostic(diag::kImportKind, {});
  for (const std::string& name : names) out.paths.push_back(path + "/" + name);
  return out;
}

Status CheckPlaces(const ModelFiles& files, const TensorSet& set) {
  for (const auto& [name, path] : files.places) {
    const TensorView* tensor = set.Find(name);
    if (tensor == nullptr) tensor = set.FindUnknown(name);
    if (tensor != nullptr && set.FileOf(*tensor) == path) continue;
    return TensorError(name,
                       fmt::format("it is not in {}, where {} says it is", path, files.index));
  }
  return OkStatus();
}

}  // namespace tarsia
