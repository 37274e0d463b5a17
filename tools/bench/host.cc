// The suite `host`: matrix products on the interpreter.
#include <fmt/format.h>

#include "tools/bench/kernel.h"
#include "tools/bench/suite.h"

namespace tarsia::tools::bench {
namespace {

class HostMatmul final : public Case {
 public:
  HostMatmul(const std::string& type, int bits, int64_t m, int64_t n, int64_t k)
      : name_(fmt::format("matmul/{}/{}x{}x{}", type, m, n, k)), kernel_(type, bits, m, n, k) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  std::string Prepare() override { return kernel_.Prepare("cpu"); }
  std::string Verify() override { return kernel_.Verify(); }
  std::string Run() override { return kernel_.Run(); }
  // Every byte of x, w and y moves once.
  [[nodiscard]] Floor floor() const override {
    const auto bytes = static_cast<double>(kernel_.bytes());
    return {bytes / CopyBandwidth(), fmt::format("{:.2f} MB at the {:.1f} GB/s of copying memory",
                                                 bytes / 1e6, CopyBandwidth() / 1e9)};
  }

 private:
  const std::string name_;
  MatmulKernel kernel_;
};

}  // namespace

std::vector<std::unique_ptr<Case>> HostCases() {
  std::vector<std::unique_ptr<Case>> out;
  for (const auto& [type, bits] : {std::pair("u4", 4), {"u3", 3}, {"i8", 8}, {"u2", 2}}) {
    out.push_back(std::make_unique<HostMatmul>(type, bits, 16, 1024, 1024));
  }
  out.push_back(std::make_unique<HostMatmul>("u4", 4, 1, 1024, 1024));
  return out;
}

}  // namespace tarsia::tools::bench
