// Calls through registers, and addresses of functions.
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::indirect_call_test {
namespace {

constexpr const char* kFunctions = R"(
.func (.param .b32 result) twice (.param .b32 n) {
.reg .b32 a;
ld.param.b32 a, [n]; shl.b32 a, a, 1; st.param.b32 [result], a;
ret;
}
.func (.param .b32 result) square (.param .b32 n) {
.reg .b32 a;
ld.param.b32 a, [n]; mul.lo.u32 a, a, a; st.param.b32 [result], a;
ret;
}
.func nothing () { ret; }
.global .align 8 .u64 table[3] = {twice, square, nothing};
)";

// A kernel of 32 threads whose r0 is the thread and that stores r9 of each.
std::string Kernel(const std::string& body) {
  return std::string(kHeader) + kFunctions + R"(
.visible .entry k(.param .u64 p) {
.reg .pred p<8>; .reg .b32 r<16>; .reg .b64 rd<8>;
mov.u32 r0, %tid.x;
mov.u32 r9, 7;
setp.lt.u32 p1, r0, 20;
{
.param .b32 argument; .param .b32 value;
one: .callprototype (.param .b32 _) _ (.param .b32 _);
none: .callprototype _ ();
st.param.b32 [argument], r0;
)" + body +
         R"(
}
ld.param.u64 rd0, [p];
mul.wide.u32 rd1, r0, 4; add.u64 rd1, rd1, rd0;
st.global.u32 [rd1], r9;
ret;
}
)";
}

// What 32 threads store, by a formula of the thread.
template <typename F>
void ExpectStored(const std::string& body, const F& formula) {
  Machine machine(Kernel(body));
  const uint64_t out = machine.Put(std::vector<uint32_t>(32, 0xABABABAB));
  EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {out})), "");
  const auto got = machine.Get<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], formula(i)) << "thread " << i;
}

TEST(IndirectCall, OfOneFunction) {
  ExpectStored(
      "mov.u64 rd2, square;\ncall (value), rd2, (argument), one;\nld.param.b32 r9, "
      "[value];\nmov.u64 rd2, nothing;\ncall rd2, none;\n",
      [](uint32_t i) { return i * i; });
}

// Lanes of different functions meet after the call, and those that do not call wait there.
TEST(IndirectCall, OfDifferentFunctions) {
  const std::string choose =
      "and.b32 r1, r0, 1; mul.wide.u32 rd2, r1, 8; mov.u64 rd3, table; add.u64 rd2, rd2, rd3;\n"
      "ld.global.u64 rd2, [rd2];\n";
  const auto called = [](uint32_t i) { return i % 2 == 0 ? 2 * i : i * i; };
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 32; ++i) sum += called(i);
  ExpectStored(choose +
                   "call (value), rd2, (argument), one;\nld.param.b32 r9, [value];\n"
                   "redux.sync.add.u32 r9, r9, -1;\n",
               [&](uint32_t) { return sum; });
  ExpectStored(choose + "@p1 call (value), rd2, (argument), one;\n@p1 ld.param.b32 r9, [value];\n",
               [&](uint32_t i) { return i < 20 ? called(i) : 7; });
}

// `.calltargets` says what a call may reach: what it takes and gives, and where it may not go.
TEST(IndirectCall, OfNamedTargets) {
  const std::string targets = "several: .calltargets twice, square;\n";
  const std::string call = "call (value), rd2, (argument), several;\nld.param.b32 r9, [value];\n";
  ExpectStored(targets + "mov.u64 rd2, twice; @p1 mov.u64 rd2, square;\n" + call,
               [](uint32_t i) { return i < 20 ? i * i : 2 * i; });

  Machine machine(
      Kernel("one_only: .calltargets twice;\nmov.u64 rd2, square;\n"
             "call (value), rd2, (argument), one_only;\n"));
  const std::string found = Text(machine.Run("k", {1}, {32}, {machine.Room(128)}));
  EXPECT_NE(found.find("a function that .calltargets does not name"), std::string::npos) << found;

  const auto error = [](const std::string& body) { return ErrorsOf(Kernel(body)); };
  EXPECT_NE(error("t: .calltargets twice, nothing;\n").find("call-shape"), std::string::npos);
  EXPECT_NE(error("t: .calltargets thrice;\n").find("unknown-name"), std::string::npos);
  EXPECT_NE(error(targets + "call (value), rd2, several;\n").find("call-shape"), std::string::npos);
}

TEST(IndirectCall, FindsWhatIsNoFunction) {
  const auto found = [](const std::string& body) {
    Machine machine(Kernel(body + "call (value), rd2, (argument), one;\n"));
    const LaunchReport report = machine.Run("k", {1}, {32}, {machine.Room(128)});
    EXPECT_FALSE(report.finished);
    return Text(report);
  };
  const auto expect = [](const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  expect(found("mov.u64 rd2, 0;\n"), "calls 0x0, which is no function");
  expect(found("mov.u64 rd2, twice; add.u64 rd2, rd2, 8;\n"), "which is no function");
  expect(found("mov.u64 rd2, nothing;\n"), "a function with another list of parameters or results");
  expect(found(""), "uninitialised: the address of the function");
}

}  // namespace
}  // namespace tarsia::ptx::indirect_call_test
