#include "support/markup.h"

#include <gtest/gtest.h>

namespace tarsia::markup_test {
namespace {

TEST(Markup, EscapesWhatEndsAnElement) {
  EXPECT_EQ(EscapeMarkup("%p: ptr<f32> & \"x\" 'y'"), "%p: ptr&lt;f32&gt; &amp; &quot;x&quot; 'y'");
  EXPECT_EQ(EscapeMarkup(""), "");
}

}  // namespace
}  // namespace tarsia::markup_test
