// support/elementary.h against values that were computed with 140 decimal digits, and rounded.
#include "support/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tarsia::elementary_test {
namespace {

struct Value {
  double x;
  double expected;
};

template <typename Function, size_t n>
void Check(const Function& function, const Value (&values)[n]) {
  for (const Value& value : values) EXPECT_EQ(function(value.x), value.expected) << value.x;
}

TEST(Elementary, Exp) {
  Check(Exp, {{1.0, 0x1.5bf0a8b145769p+1},
              {-1.0, 0x1.78b56362cef38p-2},
              {0.1, 0x1.1aec7b35a00d4p+0},
              {1e-20, 0x1.0000000000000p+0},
              {0.34657, 0x1.6a099138a089dp+0},
              {-745.1, 0x0.0000000000001p-1022},
              {709.7, 0x1.d75ae7a50ee14p+1023},
              {-30.25, 0x1.4835bd010a41bp-44}});
}

TEST(Elementary, Exp2) {
  Check(Exp2, {{0.5, 0x1.6a09e667f3bcdp+0},
               {-0.5, 0x1.6a09e667f3bcdp-1},
               {3.0, 0x1.0000000000000p+3},
               {0.1, 0x1.125fbee250664p+0},
               {1023.9, 0x1.ddb680117aa8ep+1023},
               {-1074.0, 0x0.0000000000001p-1022},
               {-1022.5, 0x0.b504f333f9de6p-1022},
               {1e-17, 0x1.0000000000000p+0}});
}

TEST(Elementary, Log) {
  Check(Log, {{2.0, 0x1.62e42fefa39efp-1},
              {0.5, -0x1.62e42fefa39efp-1},
              {1.0000000000000002, 0x1.fffffffffffffp-53},
              {0.9999999999999999, -0x1.0000000000000p-53},
              {5e-324, -0x1.74385446d71c3p+9},
              {1.7e+308, 0x1.62dd08fdc6f88p+9},
              {0.1, -0x1.26bb1bbb55515p+1},
              {3.0, 0x1.193ea7aad030bp+0}});
}

TEST(Elementary, Log2) {
  Check(Log2, {{8.0, 0x1.8000000000000p+1},
               {0.5, -0x1.0000000000000p+0},
               {1.0000000000000002, 0x1.71547652b82fdp-52},
               {0.9999999999999999, -0x1.71547652b82fep-53},
               {5e-324, -0x1.0c80000000000p+10},
               {1.7e+308, 0x1.fff5ae814b54ap+9},
               {0.1, -0x1.a934f0979a371p+1},
               {3.0, 0x1.95c01a39fbd68p+0}});
}

TEST(Elementary, Sin) {
  Check(Sin, {{1.0, 0x1.aed548f090ceep-1},
              {-3.0, -0x1.210386db6d55bp-3},
              {1e-300, 0x1.56e1fc2f8f359p-997},
              {3.141592653589793, 0x1.1a62633145c07p-53},
              {100000.0, 0x1.24daa9c527e96p-5},
              {8388607.5, 0x1.9f919943e1642p-1},
              {1e+22, -0x1.b453ab76bf397p-1},
              {0.7853981633974483, 0x1.6a09e667f3bccp-1}});
}

TEST(Elementary, Cos) {
  Check(Cos, {{1.0, 0x1.14a280fb5068cp-1},
              {-3.0, -0x1.fae04be85e5d2p-1},
              {0.0, 0x1.0000000000000p+0},
              {1.5707963267948966, 0x1.1a62633145c07p-54},
              {100000.0, -0x1.ffac3841b3da7p-1},
              {8388607.5, -0x1.2b1386c2356f5p-1},
              {1e+22, 0x1.0be2cef01c8f4p-1},
              {0.7853981633974483, 0x1.6a09e667f3bcdp-1}});
}

TEST(Elementary, Tanh) {
  Check(Tanh, {{1.0, 0x1.85efab514f394p-1},
               {-0.1, -0x1.983d7795f413ap-4},
               {1e-300, 1e-300},
               {0.17499, 0x1.62c40764e0fb3p-3},
               {0.17501, 0x1.62ce3330a4845p-3},
               {18.5, 0x1.ffffffffffffep-1},
               {22.5, 0x1.0000000000000p+0},
               {-3.0, -0x1.fd77d111a0b00p-1}});
}

TEST(Elementary, Erf) {
  Check(Erf, {{1.0, 0x1.af767a741088bp-1},
              {-0.1, -0x1.cca5ea24fb334p-4},
              {1e-300, 0x1.82e6d98711d3ap-997},
              {0.5, 0x1.0a7ef5c18edd2p-1},
              {2.5, 0x1.ffcaa8f4c9beap-1},
              {4.75, 0x1.ffffffffd759dp-1},
              {6.5, 0x1.0000000000000p+0},
              {-3.0, -0x1.fffd1ac4135f9p-1}});
}

TEST(Elementary, SpecialValues) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (double (*function)(double) : {Exp, Exp2, Log, Log2, Sin, Cos, Tanh, Erf}) {
    EXPECT_TRUE(std::isnan(function(kNan)));
  }
  Check(Exp, {{0.0, 1.0}, {kInfinity, kInfinity}, {-kInfinity, 0.0}, {800, kInfinity}, {-800, 0}});
  Check(Exp2, {{0.0, 1.0}, {kInfinity, kInfinity}, {-kInfinity, 0.0}, {1024, kInfinity}});
  Check(Log, {{1.0, 0.0}, {0.0, -kInfinity}, {-0.0, -kInfinity}, {kInfinity, kInfinity}});
  Check(Log2, {{1.0, 0.0}, {0.0, -kInfinity}, {-0.0, -kInfinity}, {kInfinity, kInfinity}});
  Check(Tanh, {{kInfinity, 1.0}, {-kInfinity, -1.0}});
  Check(Erf, {{kInfinity, 1.0}, {-kInfinity, -1.0}});
  EXPECT_TRUE(std::isnan(Log(-1)) && std::isnan(Log2(-1)));
  EXPECT_TRUE(std::isnan(Sin(kInfinity)) && std::isnan(Cos(-kInfinity)));
  EXPECT_TRUE(std::signbit(Sin(-0.0)) && std::signbit(Tanh(-0.0)) && std::signbit(Erf(-0.0)));
}

}  // namespace
}  // namespace tarsia::elementary_test
