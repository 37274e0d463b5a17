// The .safetensors files of a model: one file, those of a folder, or those that an index names.
#ifndef TARSIA_RUNTIME_IMPORTERS_MODEL_FILES_H_
#define TARSIA_RUNTIME_IMPORTERS_MODEL_FILES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/importers/tensor_set.h"
#include "support/result.h"

namespace tarsia {

struct ModelFiles {
  std::string folder;
  std::vector<std::string> paths;
  std::string index;  // the path of the index; empty: there is none
  std::map<std::string, std::string>
      places;                        // by the index: tensors, and the path of each one's file
  std::vector<std::string> ignored;  // names of files in the folder that it does not name
};

// `path` is a file or a folder. Of a folder with model.safetensors.index.json, exactly the files
// that this names; else all .safetensors files in it. Errors: it is neither; a folder that cannot
// be read; a damaged index, or one that names a file which is not there.
Result<ModelFiles> FindModelFiles(const std::string& path);

// Errors: a tensor that is not in the file that the index names.
Status CheckPlaces(const ModelFiles& files, const TensorSet& set);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_MODEL_FILES_H_
