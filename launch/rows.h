// Tiles as lines of text: the output of `print` on every device.
#ifndef TARSIA_LAUNCH_ROWS_H_
#define TARSIA_LAUNCH_ROWS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "dtypes/dtype.h"

namespace tarsia::launch {

// Receives lines without newline. Called from one thread at a time.
using LineSink = std::function<void(std::string_view)>;

// Calls sink(line) for each innermost row of a row-major tile: `prefix[1, :] = 3 4 5`. A tile of
// rank 0 is one line without index. `edge` > 0 shortens rows and the list of rows.
void WriteRows(std::string_view prefix, DType type, std::span<const int64_t> shape,
               const void* tile, int64_t edge, const LineSink& sink);

}  // namespace tarsia::launch

#endif  // TARSIA_LAUNCH_ROWS_H_
