// Reading programs: text to module, text to valid module, bytecode to module, module to text. Bytes
// per second are bytes of text in every row, so that rows can be compared.
//   bench_language --benchmark_min_time=1
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "isa/bytecode/bytecode.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "isa/validate.h"

namespace tarsia {
namespace {

// The two matmuls of examples/, repeated under new names, without their comments: 2 MB.
const SourceFile& Text() {
  static const SourceFile* const source = [] {
    std::string all;
    for (int i = 0; all.size() < 2'000'000; ++i) {
      for (const char* name : {"matmul", "matmul_scaled"}) {
        std::ifstream file(std::string(TARSIA_EXAMPLES "/") + name + ".tsa");
        SourceFile one(name, {std::istreambuf_iterator<char>(file), {}});
        Diagnostics diagnostics;
        const std::optional<Module> module = Parse(one, diagnostics);
        std::string text = Print(*module);
        const std::string head = "kernel " + std::string(name);
        text.replace(text.find(head), head.size(), head + std::to_string(i));
        all += text + "\n";
      }
    }
    return new SourceFile("all.tsa", all);
  }();
  return *source;
}

Module Parsed() {
  Diagnostics diagnostics;
  return Parse(Text(), diagnostics).value();
}

void SetBytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(Text().text().size()));
}

void ParseText(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Parsed().kernels.data());
  SetBytes(state);
}
BENCHMARK(ParseText)->Unit(benchmark::kMillisecond);

void ParseAndValidate(benchmark::State& state) {
  for (auto _ : state) {
    Diagnostics diagnostics;
    if (!Validate(Parsed(), diagnostics)) state.SkipWithError("not valid");
  }
  SetBytes(state);
}
BENCHMARK(ParseAndValidate)->Unit(benchmark::kMillisecond);

void DecodeBytes(benchmark::State& state, bool debug) {
  EncodeOptions options;
  options.debug = debug;
  const Result<std::string> bytes = Encode(Parsed(), options);
  const auto* data = reinterpret_cast<const uint8_t*>(bytes->data());
  for (auto _ : state) {
    const Result<Module> module = Decode({data, bytes->size()}, "all.tsab");
    if (!module.ok()) state.SkipWithError("not decoded");
  }
  SetBytes(state);
}
BENCHMARK_CAPTURE(DecodeBytes, with_places, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DecodeBytes, stripped, false)->Unit(benchmark::kMillisecond);

void EncodeModule(benchmark::State& state) {
  const Module module = Parsed();
  for (auto _ : state) benchmark::DoNotOptimize(Encode(module)->data());
  SetBytes(state);
}
BENCHMARK(EncodeModule)->Unit(benchmark::kMillisecond);

void PrintModule(benchmark::State& state) {
  const Module module = Parsed();
  for (auto _ : state) benchmark::DoNotOptimize(Print(module).data());
  SetBytes(state);
}
BENCHMARK(PrintModule)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tarsia

BENCHMARK_MAIN();
