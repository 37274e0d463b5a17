// tarsia isa: the reference.
#include "tools/commands.h"
#include "tools/isa/text.h"
#include "tools/output.h"

namespace tarsia::tools {

int ShowIsa(const Args& args) {
  Command command("isa", "Lists the instructions, or describes one.",
                  {"tarsia isa", "tarsia isa load", "tarsia isa --markdown",
                   "tarsia isa --grammar > tarsia.tmLanguage.json", "tarsia isa --graphs"});
  std::string mnemonic;
  bool markdown = false;
  bool grammar = false;
  bool json = false;
  bool graphs = false;
  command.MaybePositional("MNEMONIC", &mnemonic, "The instruction");
  command.Flag("--markdown", &markdown,
               "Print the whole reference (docs/isa.md, without its examples)");
  command.Flag("--grammar", &grammar, "Print the grammar for text editors (TextMate, JSON)");
  command.Flag("--graphs", &graphs,
               "Print the reference of the operations of graphs (docs/graph-operations.md)");
  command.Flag("--json", &json, "Print the table as JSON");
  if (const auto code = command.Parse(args)) return *code;
  const int actions = (mnemonic.empty() ? 0 : 1) + (markdown ? 1 : 0) + (grammar ? 1 : 0) +
                      (json ? 1 : 0) + (graphs ? 1 : 0);
  if (actions > 1) {
    return command.Misuse(
        "MNEMONIC, --markdown, --grammar, --graphs and --json exclude each other");
  }
  if (graphs) {
    PrintOut(GraphMarkdown());
    return kDone;
  }
  if (mnemonic.empty()) {
    PrintOut(markdown ? IsaMarkdown() : grammar ? IsaGrammar() : json ? IsaJson() : IsaList());
    return kDone;
  }
  const auto opcode = FindMnemonic(mnemonic);
  if (!opcode) {
    PrintError("there is no instruction `" + mnemonic + "`", DidYouMean(mnemonic, Mnemonics()));
    return kRejected;
  }
  PrintOut(IsaCard(Row(*opcode)));
  return kDone;
}

}  // namespace tarsia::tools
