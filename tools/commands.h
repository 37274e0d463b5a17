// The subcommands of `tarsia`, each in the file of its name. They take the arguments after the name
// and return an exit code (tools/command.h).
#ifndef TARSIA_TOOLS_COMMANDS_H_
#define TARSIA_TOOLS_COMMANDS_H_

#include "tools/command.h"

namespace tarsia::tools {

int Run(const Args& args);
int Reduce(const Args& args);
int Matmul(const Args& args);
int Pack(const Args& args);
int Unpack(const Args& args);
int Import(const Args& args);
int Reshard(const Args& args);
int Check(const Args& args);
int Compile(const Args& args);
int Emulate(const Args& args);
int Format(const Args& args);
int Assemble(const Args& args);
int Disassemble(const Args& args);
int ShowLayout(const Args& args);
int ShowDType(const Args& args);
int ShowIsa(const Args& args);
int ShowDevices(const Args& args);
int Cache(const Args& args);
int Bench(const Args& args);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_COMMANDS_H_
