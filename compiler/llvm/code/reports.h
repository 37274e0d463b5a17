// What a kernel reports to the host (compiler/report_buffer.h): lines of `print`, and why blocks
// stopped.
#ifndef TARSIA_COMPILER_LLVM_CODE_REPORTS_H_
#define TARSIA_COMPILER_LLVM_CODE_REPORTS_H_

#include <cstdint>
#include <vector>

#include "compiler/llvm/code/arguments.h"
#include "compiler/llvm/code/exchange.h"

namespace tarsia::compiler {

class Reports {
 public:
  Reports(FunctionBuilder& function, Memory& memory, Exchange& exchange, Arguments& arguments,
          std::vector<ReportRecord>& records)
      : f_(function),
        b_(function.b()),
        memory_(memory),
        exchange_(exchange),
        arguments_(arguments),
        records_(records) {}

  // The number of a new record. Errors: too many records.
  Result<uint32_t> Add(ReportRecord record);
  // Thread 0 reserves an entry of the record. Returns its address (i64) in all threads; 0 if there
  // is no room.
  llvm::Value* TakeEntry(uint32_t record, uint64_t bytes);
  // Ends the block with the record's failure unless `holds` (i1, the same in all threads).
  // `detail` (i64), if given, is the one element of the record's entry.
  Status FailUnless(llvm::Value* holds, ReportRecord record, llvm::Value* detail = nullptr);

 private:
  llvm::Value* TakeRoom(uint32_t record, uint64_t bytes);

  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  Memory& memory_;
  Exchange& exchange_;
  Arguments& arguments_;
  std::vector<ReportRecord>& records_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_REPORTS_H_
