// Shared by the commands of packed weights: what is printed of them, and how they are written.
#ifndef TARSIA_TOOLS_WEIGHTS_SUMMARY_H_
#define TARSIA_TOOLS_WEIGHTS_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runtime/weights/packed_weights.h"
#include "support/json.h"

namespace tarsia::tools {

// "u4 [384, 1536], f16 scales by 128, integer zero points": one line.
std::string WeightsText(const WeightInfo& info);
// {"type": "u4", "shape": [384, 1536], ..}.
void AppendWeights(const TswSummary& weights, Json* json);

// "1/4" as part 1 of 4; empty if it is not of this form.
std::optional<std::pair<uint32_t, uint32_t>> ParseShard(const std::string& text);

// Packs into a .tsw file. Errors: those of the weights, after which `*file_failed` is false; of the
// file, after which it is true.
Result<TswSummary> PackToFile(const CodeSource& source, const std::string& path,
                              const Progress& progress, bool* file_failed);
// Prints a line about a .tsw file that was written.
void PrintWeights(const TswSummary& weights, const std::string& path, bool json);
// Writes a .tsw file and prints a line about it. Returns an exit code; errors are printed.
int WriteWeights(const PackedWeights& weights, const std::string& path, bool json);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_WEIGHTS_SUMMARY_H_
