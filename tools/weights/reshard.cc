// tarsia reshard: cuts and joins .tsw files by copying ranges of bytes.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include "runtime/weights/pair.h"
#include "runtime/weights/shards.h"
#include "tools/commands.h"
#include "tools/output.h"
#include "tools/output_files.h"
#include "tools/weights/summary.h"

namespace tarsia::tools {

std::optional<std::pair<uint32_t, uint32_t>> ParseShard(const std::string& text) {
  const char* const end = text.data() + text.size();
  std::pair<uint32_t, uint32_t> out;
  const auto first = std::from_chars(text.data(), end, out.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, out.second);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  if (out.first >= out.second) return std::nullopt;
  return out;
}

namespace {

// False, and an error was printed, if one cannot be read.
bool LoadAll(const std::vector<std::string>& files, std::vector<PackedWeights>* out) {
  for (const std::string& file : files) {
    auto packed = PackedWeights::Load(file);
    if (!packed.ok()) {
      PrintError(file + ": " + packed.error().message, packed.error().help);
      return false;
    }
    out->push_back(*std::move(packed));
  }
  return true;
}

}  // namespace

int Reshard(const Args& args) {
  Command command(
      "reshard", "Writes a part of a matrix, from .tsw files that hold all of it, or a gated pair.",
      {"tarsia pack weights.npy --type i4 --group 32 -o w.tsw && "
       "tarsia reshard w.tsw --shard 1/2 --along k -o half.tsw"});
  std::vector<std::string> files;
  std::string shard = "0/1";
  std::string along = "n";
  std::string output;
  bool pair = false;
  bool json = false;
  command.Positionals("FILES", &files, "The .tsw files: one of the whole matrix, or its parts");
  command.Value("--shard", "I/N", &shard,
                "Part I (from 0) of N equal parts; the default, 0/1, joins the files");
  command.Choice("--along", &along, {"n", "k"}, "The dimension that is cut; the default is n");
  command.Flag(
      "--pair", &pair,
      "FILES are two matrices; their columns side by side are the weights of a gated pair");
  command.Value("-o,--output", "OUT", &output, "The .tsw file");
  command.Flag("--json", &json, "Print the summary as JSON");
  if (const auto code = command.Parse(args)) return *code;
  const auto part = ParseShard(shard);
  if (!part) return command.Misuse("--shard " + shard + ": not of the form 0/4");
  if (output.empty()) return command.Misuse("-o is required");
  if (pair && part->second != 1) return command.Misuse("--pair and --shard exclude each other");
  if (pair && files.size() != 2) return command.Misuse("--pair takes two files");
  if (const int code = CheckOutputFiles(files, {{"-o", output}}); code != kDone) return code;
  std::vector<PackedWeights> loaded;
  if (!LoadAll(files, &loaded)) return kRejected;
  std::vector<const PackedWeights*> pieces;
  for (const PackedWeights& piece : loaded) pieces.push_back(&piece);
  const auto out = pair ? PairOf(loaded[0], loaded[1])
                        : ShardOf(pieces, along == "k", part->first, part->second);
  if (!out.ok()) {
    PrintError(out.error());
    return kRejected;
  }
  return WriteWeights(*out, output, json);
}

}  // namespace tarsia::tools
