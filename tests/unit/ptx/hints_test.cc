// Instructions that hint: what they leave alone, and what they do not.
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::hints_test {
namespace {

constexpr char kStart[] = R"(
.visible .entry k(.param .u64 p) {
.reg .b64 x; .reg .b32 r;
ld.param.u64 x, [p];
)";

std::string RunBody(const std::string& body, uint64_t offset = 0) {
  Machine machine(std::string(kHeader) + kStart + body + "\nret;\n}\n");
  const uint64_t at = machine.Put(std::vector<uint32_t>(64, 77));
  const LaunchReport report = machine.Run("k", {1}, {1}, {at + offset});
  return Text(report);
}

TEST(Hints, LeaveMemoryAlone) {
  const std::string store = "ld.global.u32 r, [x]; st.global.u32 [x+128], r;";
  EXPECT_EQ(RunBody("applypriority.global.L2::evict_normal [x], 128;\n" + store), "");
  EXPECT_EQ(RunBody("applypriority.L2::evict_normal [x], 128;\n" + store), "");
  EXPECT_EQ(RunBody("pmevent 3; pmevent.mask 0xff00;\n" + store), "");
  Covers(Op::kApplypriority);
  Covers(Op::kPmevent);
}

TEST(Hints, DiscardedBytesAreNotDefined) {
  const std::string store = "\nld.global.u32 r, [x+64]; st.global.u32 [x+128], r;";
  for (const char* const name : {"discard.global.L2", "discard.L2"}) {
    EXPECT_NE(RunBody(std::string(name) + " [x], 128;" + store).find("uninitialised: "),
              std::string::npos);
    EXPECT_EQ(RunBody(std::string(name) + " [x], 128; st.global.u32 [x+64], 5;" + store), "");
  }
  Covers(Op::kDiscard);
}

TEST(Hints, CheckTheirAddresses) {
  EXPECT_NE(RunBody("discard.global.L2 [x], 128;", 64).find("misaligned: "), std::string::npos);
  EXPECT_NE(RunBody("applypriority.global.L2::evict_normal [x+4096], 128;").find("out_of_bounds: "),
            std::string::npos);
}

TEST(Hints, Numbers) {
  const auto error = [](const std::string& body) {
    return ErrorsOf(std::string(kHeader) + kStart + body + "\nret;\n}\n");
  };
  for (const char* const body : {"discard.L2 [x], 64;", "discard.L2 [x], r;", "pmevent 16;",
                                 "pmevent.mask 0x10000;", "pmevent r;"}) {
    EXPECT_NE(error(body).find("no-such-form"), std::string::npos) << body;
  }
}

}  // namespace
}  // namespace tarsia::ptx::hints_test
