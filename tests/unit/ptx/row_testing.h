// Runs one instruction on many operands and compares with a formula of the test. Every row of the
// table must be covered by some test (coverage_test.cc).
#ifndef TARSIA_TESTS_UNIT_PTX_ROW_TESTING_H_
#define TARSIA_TESTS_UNIT_PTX_ROW_TESTING_H_

#include <fmt/format.h>

#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx {

// The rows that tests have covered so far.
inline std::set<Op>& CoveredRows() {
  static std::set<Op> rows;
  return rows;
}
inline void Covers(Op op) { CoveredRows().insert(op); }

using Tuple = std::vector<uint64_t>;
using Formula = std::function<uint64_t(const Tuple& source)>;

// All combinations of the values (for one to three operands), and as many random words.
inline std::vector<Tuple> Combine(size_t operands, const std::vector<uint64_t>& values) {
  std::vector<Tuple> all = {{}};
  for (size_t i = 0; i < operands; ++i) {
    std::vector<Tuple> longer;
    for (const Tuple& tuple : all) {
      for (const uint64_t value : values) {
        longer.push_back(tuple);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  std::mt19937_64 random(operands * 7919 + values.size());
  for (int i = 0; i < 200; ++i) {
    Tuple tuple;
    for (size_t k = 0; k < operands; ++k) tuple.push_back(random());
    all.push_back(std::move(tuple));
  }
  return all;
}

inline uint64_t Low(uint64_t bits, int width) {
  return width >= 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

inline std::string RegisterType(int width) {
  return width == 1 ? ".pred" : fmt::format(".b{}", width);
}

// A kernel that loads s0, s1.. (64-bit words, cut to their widths), runs `instruction`, which sets
// d, and stores d as a 64-bit word. Width 1 is a predicate.
inline std::string RowKernel(const std::string& instruction, int dest,
                             const std::vector<int>& widths, const std::string& header = kHeader) {
  std::string text = header;
  text += ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 count) {\n";
  text += ".reg .b64 rin, rout, rn, ri, ra, rw; .reg .b32 r1, r2, r3; .reg .pred done, q;\n";
  text += fmt::format(".reg {} d;\n", RegisterType(dest));
  for (size_t i = 0; i < widths.size(); ++i) {
    text += fmt::format(".reg {} s{};\n", RegisterType(widths[i]), i);
  }
  text += R"(ld.param.u64 rin, [in]; ld.param.u64 rout, [out]; ld.param.u64 rn, [count];
mov.u32 r1, %ctaid.x; mov.u32 r2, %tid.x; mad.lo.u32 r3, r1, 32, r2; cvt.u64.u32 ri, r3;
setp.ge.u64 done, ri, rn;
@done bra end;
)";
  text += fmt::format("mul.lo.u64 ra, ri, {}; add.u64 ra, ra, rin;\n", widths.size() * 8);
  for (size_t i = 0; i < widths.size(); ++i) {
    text += fmt::format("ld.global.u64 rw, [ra+{}];\n", i * 8);
    if (widths[i] == 1) {
      text += fmt::format("and.b64 rw, rw, 1; setp.ne.u64 s{}, rw, 0;\n", i);
    } else if (widths[i] == 64) {
      text += fmt::format("mov.b64 s{}, rw;\n", i);
    } else {
      text += fmt::format("cvt.u{}.u64 s{}, rw;\n", widths[i], i);
    }
  }
  text += instruction + "\n";
  if (dest == 1) {
    text += "selp.u64 rw, 1, 0, d;\n";
  } else if (dest == 64) {
    text += "mov.b64 rw, d;\n";
  } else {
    text += fmt::format("cvt.u64.u{} rw, d;\n", dest);
  }
  text += "mul.lo.u64 ra, ri, 8; add.u64 ra, ra, rout; st.global.u64 [ra], rw;\nend:\nret;\n}\n";
  return text;
}

inline std::vector<uint64_t> RunRow(Op op, const std::string& instruction, int dest,
                                    const std::vector<int>& widths,
                                    const std::vector<Tuple>& inputs,
                                    const std::string& header = kHeader) {
  const std::string text = RowKernel(instruction, dest, widths, header);
  Machine machine(text);
  if (!machine.ok()) return {};
  bool found = false;
  for (const Inst& inst : machine.image().module().functions[0].code) found |= inst.op == op;
  EXPECT_TRUE(found) << instruction << " is not of the row that is meant";
  std::vector<uint64_t> words;
  for (const Tuple& tuple : inputs) words.insert(words.end(), tuple.begin(), tuple.end());
  const uint64_t in = machine.Put(words);
  const uint64_t out = machine.Room(inputs.size() * 8);
  const auto blocks = static_cast<uint32_t>((inputs.size() + 31) / 32);
  EXPECT_EQ(Text(machine.Run("k", {blocks}, {32}, {in, out, inputs.size()})), "") << instruction;
  return machine.Get<uint64_t>(out, inputs.size());
}

// Compares every result with the formula, which gets sources cut to their widths.
inline void CheckRow(Op op, const std::string& instruction, int dest,
                     const std::vector<int>& widths, const std::vector<Tuple>& inputs,
                     const Formula& formula, const std::string& header = kHeader) {
  const std::vector<uint64_t> results = RunRow(op, instruction, dest, widths, inputs, header);
  ASSERT_EQ(results.size(), inputs.size());
  int wrong = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tuple source = inputs[i];
    for (size_t k = 0; k < widths.size(); ++k) source[k] = Low(source[k], widths[k]);
    const uint64_t expected = Low(formula(source), dest);
    if (results[i] == expected || ++wrong > 5) continue;
    std::string operands;
    for (const uint64_t word : source) operands += fmt::format(" 0x{:x}", word);
    ADD_FAILURE() << instruction << " of" << operands << fmt::format(": 0x{:x}", results[i])
                  << fmt::format(", expected 0x{:x}", expected);
  }
  Covers(op);
}

inline const std::vector<uint64_t>& EdgeIntegers() {
  static const std::vector<uint64_t> values = {0,
                                               1,
                                               2,
                                               7,
                                               31,
                                               32,
                                               33,
                                               64,
                                               0x7FFF,
                                               0x8000,
                                               0xFFFF,
                                               0x12345678,
                                               0x7FFFFFFF,
                                               0x80000000,
                                               0xFFFFFFFF,
                                               0x7FFFFFFFFFFFFFFF,
                                               0x8000000000000000,
                                               0xFFFFFFFFFFFFFFFF,
                                               0xFEDCBA9876543210};
  return values;
}

}  // namespace tarsia::ptx

#endif  // TARSIA_TESTS_UNIT_PTX_ROW_TESTING_H_
