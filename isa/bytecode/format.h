// The numbers of the bytecode format, shared by writer and reader. The whole format, byte by byte,
// is docs/bytecode.md; its grammar in short:
//
//   file     = magic:8 major:u16 minor:u16 0:u32 length:u64 checksum:u64 section*
//   section  = id:u32 flags:u32 length:u64 0* payload 0*          (begins at a multiple of 8)
//   strings  = n { n bytes }*n
//   types    = n { parts:u8 [dtype:expr] [shape:expr] [layout:expr] [bits:expr] }*n
//   kernels  = n { name:string flags:u8 parameters constants requires assumes
//                  n expr*n warps:expr [registers:expr] length body }*n
//   graphs   = n { name:string inputs constants requires outputs length statements }*n
//   body     = values insts args { code:u8 form:u8 [type] [inside [else]] result* operand* attr* }*
//   result   = 0 name:string | value + 1
//   expr     = head [payload] expr*
//   statement = operation { name:string }*results
//   operation = code:u8 option:u8 [axes | dtype:expr] operand*
//   operand  = 0 operation | 1 expr | value + 2
//   debug    = name { some:u8 location* }*kernels { location* }*graphs
//   location = 0 | 1 + zigzag(line - previous line) column length
//
// Unless a width is given, a number is an unsigned LEB128 in its shortest form. Nothing here may
// change its meaning: numbers are only added.
#ifndef TARSIA_ISA_BYTECODE_FORMAT_H_
#define TARSIA_ISA_BYTECODE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "isa/version.h"
#include "layout/text/expr.h"

namespace tarsia::bytecode {

// Not text for any tool; a tool that changes line ends or drops the high bit corrupts it.
inline constexpr std::string_view kMagic("\x89TSB\r\n\x1a\n", 8);
inline constexpr size_t kHeaderBytes = 32;
inline constexpr size_t kLengthOffset = 16;
inline constexpr size_t kChecksumOffset = 24;
inline constexpr size_t kMaxBytes = size_t{256} << 20;

enum Section : uint32_t {
  kStrings = 1,
  kTypes = 2,
  kKernels = 3,
  kDebug = 4,
  kProducer = 5,  // kept unchanged, like an unknown section
  kGraphs = 6,    // between kKernels and kDebug
};
inline constexpr uint32_t kSkippable = 1;
inline constexpr uint32_t kAlignmentShift = 8;  // flags, bits 8 to 15: log2 of the alignment
inline constexpr uint32_t kMinAlignment = 3;
inline constexpr uint32_t kMaxAlignment = 12;
inline constexpr uint32_t kPlainFlags = kMinAlignment << kAlignmentShift;

// The flags of a kernel.
inline constexpr uint8_t kFast = 0x01;
inline constexpr uint8_t kHasRegisters = 0x02;
inline constexpr BytecodeVersion kSinceRegisters{0, 3};
inline constexpr BytecodeVersion kSinceGraphs{0, 4};

// The operands of a graph's operation: one of these numbers, or that of a value plus kFirstValue.
inline constexpr uint32_t kNestedOperation = 0;
inline constexpr uint32_t kConstantOperand = 1;
inline constexpr uint32_t kFirstValue = 2;

// An instruction's second byte.
inline constexpr uint8_t kAttrMask = 0x0F;  // the first four attributes
inline constexpr uint8_t kHasType = 0x10;
inline constexpr uint8_t kLacksLast = 0x20;  // the optional last operand
inline constexpr uint8_t kHasElse = 0x40;
inline constexpr uint8_t kHasFifth = 0x80;  // the fifth attribute
inline constexpr unsigned kFifth = 4;       // its number
inline constexpr BytecodeVersion kSinceFifth{0, 4};
inline constexpr BytecodeVersion kSinceFast{0, 4};  // the attribute `fast`
inline constexpr BytecodeVersion kSinceVia{0, 4};   // the attribute `via`

// The first byte of a type.
inline constexpr uint8_t kSpaceMask = 0x03;
inline constexpr uint8_t kHasDType = 0x04;
inline constexpr uint8_t kHasShape = 0x08;
inline constexpr uint8_t kHasLayout = 0x10;
inline constexpr uint8_t kHasBits = 0x20;

// The head of an expression: its low two bits define the rest.
inline constexpr uint32_t kNodeHead = 0;   // one of the tags below
inline constexpr uint32_t kValueHead = 1;  // the number of a value
inline constexpr uint32_t kSmallHead = 2;  // zigzag of an integer from -2^29 to 2^29 - 1

enum Tag : uint32_t {
  kNoneTag = 0,
  kIntTag = 1,    // zigzag, 64 bits
  kFloatTag = 2,  // 8 bytes, IEEE binary64
  kFalseTag = 3,
  kTrueTag = 4,
  kDTypeTag = 5,     // u8: the code of dtypes.def
  kStringTag = 6,    // string
  kNameTag = 7,      // string
  kFragmentTag = 8,  // string
  kNegateTag = 9,
  kNotTag = 10,
  kCallTag = 12,       // u8: the row of functions.def; n; arguments
  kKeywordTag = 13,    // string; expr
  kReplicateTag = 14,  // expr
  kListTag = 15,       // n; items
  kBinaryTag = 16,     // 16 to 28: 16 + BinaryOp; left, right
};
inline constexpr uint32_t kTagEnd = kBinaryTag + kBinaryOps;
static_assert(
    static_cast<int>(BinaryOp::kOr) == 0 && static_cast<int>(BinaryOp::kAnd) == 1 &&
        static_cast<int>(BinaryOp::kEqual) == 2 && static_cast<int>(BinaryOp::kNotEqual) == 3 &&
        static_cast<int>(BinaryOp::kLess) == 4 && static_cast<int>(BinaryOp::kLessEqual) == 5 &&
        static_cast<int>(BinaryOp::kGreater) == 6 &&
        static_cast<int>(BinaryOp::kGreaterEqual) == 7 && static_cast<int>(BinaryOp::kAdd) == 8 &&
        static_cast<int>(BinaryOp::kSubtract) == 9 && static_cast<int>(BinaryOp::kMultiply) == 10 &&
        static_cast<int>(BinaryOp::kDivide) == 11 && static_cast<int>(BinaryOp::kModulo) == 12,
    "the numbers of binary operators are frozen");

constexpr uint64_t ZigZag(int64_t i) {
  return static_cast<uint64_t>(i) << 1 ^ static_cast<uint64_t>(i >> 63);
}
constexpr int64_t UnZigZag(uint64_t u) { return static_cast<int64_t>(u >> 1 ^ (0 - (u & 1))); }

}  // namespace tarsia::bytecode

#endif  // TARSIA_ISA_BYTECODE_FORMAT_H_
