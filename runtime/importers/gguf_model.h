// The weights in a GGUF model.
#ifndef TARSIA_RUNTIME_IMPORTERS_GGUF_MODEL_H_
#define TARSIA_RUNTIME_IMPORTERS_GGUF_MODEL_H_

#include <string>
#include <vector>

#include "runtime/importers/model.h"
#include "support/result.h"

namespace tarsia {

// Opens a file and appends its weights, and the names of tensors that are not quantised. A tensor
// that cannot be imported is among the weights; reading it is an error. The file stays open as long
// as its weights exist. Errors: it cannot be read, or its header is damaged.
Status FindGguf(const std::string& path, std::vector<ModelWeights>* weights,
                std::vector<std::string>* others);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_GGUF_MODEL_H_
