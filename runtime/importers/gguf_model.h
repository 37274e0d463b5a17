// The weights in a GGUF model.
#ifndef TARSIA_RUNTIME_IMPORTERS_GGUF_MODEL_H_
#define TARSIA_RUNTIME_IMPORTERS_GGUF_MODEL_H_

#include <string>
#include <vector>

#include "runtime/importers/model.h"
#include "support/result.h"

namespace tarsia {

// Opens a file, with all other parts of the model if it is one part, and appends the weights, and
// the names of tensors that are not quantised. A tensor that cannot be imported is among the
// weights; reading it is an error. The files stay open as long as the weights exist. Errors: a file
// cannot be read, its header is damaged, a part is missing.
Status FindGguf(const std::string& path, std::vector<ModelWeights>* weights,
                std::vector<std::string>* others);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_GGUF_MODEL_H_
