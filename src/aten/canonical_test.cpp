#include "aten/canonical.h"

#include <gtest/gtest.h>

#include <array>

namespace flambeau::aten {
namespace {

std::string FaultOf(std::span<const Argument> positional, std::span<const std::pair<std::string_view, Argument>> named) {
  Context context;
  Sink sink;
  const auto call = Canonicalize(FindSchema("aten::arange"), "aten::arange", positional, named, {}, {}, context, sink);
  return call ? "none" : sink.diagnostics()[0].message;
}

TEST(Canonicalize, TakesEachArgumentOnce) {
  using Named = std::pair<std::string_view, Argument>;
  const Argument end(int64_t{3}), none;
  const std::array once{Named{"end", end}};
  const std::array twice{Named{"pin_memory", none}, Named{"end", end}, Named{"pin_memory", none}};
  const std::array unknown{Named{"end", end}, Named{"stop", end}};
  EXPECT_EQ(FaultOf({}, once), "none");
  EXPECT_EQ(FaultOf({}, twice), "argument 'pin_memory' is given twice");
  EXPECT_EQ(FaultOf({&end, 1}, once), "argument 'end' is given twice");
  EXPECT_EQ(FaultOf({}, unknown), "has no argument 'stop'");
}

}  // namespace
}  // namespace flambeau::aten
