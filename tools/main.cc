// The `tarsia` command: finds the subcommand and hands it the rest.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "compiler/compile.h"
#include "dtypes/simd.h"
#include "support/temporary_file.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

struct Entry {
  std::string_view name;
  int (*run)(const Args&);
  std::string_view summary;
};

constexpr Entry kCommands[] = {
    {"run", Run, "run a kernel on .npy and .safetensors files"},
    {"reduce", Reduce, "run a graph on files, below a memory limit"},
    {"matmul", Matmul, "multiply by packed weights, or time it"},
    {"pack", Pack, "quantise weights and pack them into a .tsw file"},
    {"unpack", Unpack, "print or unpack a .tsw file"},
    {"import", Import, "pack the weights of a quantised model"},
    {"reshard", Reshard, "cut and join .tsw files"},
    {"check", Check, "report every error of a program"},
    {"compile", Compile, "compile a kernel to PTX or machine code"},
    {"emulate", Emulate, "run PTX on the CPU, check and count its operations"},
    {"fmt", Format, "format a program"},
    {"as", Assemble, "assemble text into bytecode"},
    {"dis", Disassemble, "print bytecode as text"},
    {"layout", ShowLayout, "draw a layout, answer questions about it"},
    {"dtype", ShowDType, "show a type, encode and decode its values"},
    {"isa", ShowIsa, "describe the instructions"},
    {"devices", ShowDevices, "list the devices that programs can run on"},
    {"cache", Cache, "show and prune the cache of compiled code"},
    {"bench", Bench, "run benchmarks, compare results"},
};

std::string Overview() {
  std::string out =
      "tarsia: a virtual machine for low-precision GPU compute\n\n"
      "Usage: tarsia COMMAND [ARGUMENTS]\n\nCommands:\n";
  for (const Entry& entry : kCommands) out += fmt::format("  {:<9}{}\n", entry.name, entry.summary);
  out +=
      "\n`tarsia COMMAND --help` shows the options of a command, with examples. `-` is standard\n"
      "input or output. Exit status: 0 success, 1 the input was rejected, 2 bad usage, 3 this\n"
      "machine lacks something.\n";
  return out;
}

int UnknownCommand(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Entry& entry : kCommands) names.push_back(entry.name);
  const std::string nearest = DidYouMean(name, names);
  PrintError(fmt::format("unknown command `{}`", name),
             nearest.empty() ? "see `tarsia --help`" : nearest);
  return kUsage;
}

int Dispatch(std::string_view name, const Args& args) {
  if (name == "--version") {
    PrintOut(fmt::format("tarsia {}\n", tarsia_version()));
    return kDone;
  }
  if (name == "help" && !args.empty()) return Dispatch(args[0], {"--help"});
  if (name == "--help" || name == "-h" || name == "help") {
    PrintOut(Overview());
    return kDone;
  }
  for (const Entry& entry : kCommands) {
    if (entry.name == name) return entry.run(args);
  }
  return UnknownCommand(name);
}

// Output that could not be written is an error.
int CloseStandardOutput(int code) {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed || code != kDone) return code;
  PrintError("cannot write standard output");
  return kEnvironment;
}

// The process does not wait for a compilation that took too long.
int Leave(int code) {
  if (compiler::AbandonedCompilations() == 0) return code;
  std::fflush(nullptr);
  std::_Exit(code);
}

int Main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error like a full disk
  RemoveTemporaryFilesOnSignals();
  try {
    if (argc < 2) {
      fmt::print(stderr, "{}", Overview());
      return kUsage;
    }
    if (const Status simd = CheckSimd(); !simd.ok()) {
      PrintError(simd.error());
      return kUsage;
    }
    return Leave(CloseStandardOutput(Dispatch(argv[1], Args(argv + 2, argv + argc))));
  } catch (const std::bad_alloc&) {
    std::fputs("tarsia: error: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tarsia: internal error: %s\n", error.what());
  }
  return kEnvironment;
}

}  // namespace
}  // namespace tarsia::tools

int main(int argc, char** argv) { return tarsia::tools::Main(argc, argv); }
