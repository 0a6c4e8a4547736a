#include "aten/guards.h"

#include <gtest/gtest.h>

#include <string_view>

namespace flambeau::aten {
namespace {

TEST(Guards, ThatMakeWhatIsComputedANumberAreToldOf) {
  for (const std::string_view guard : {"(L['x'].size()[0] // 2) == 3", "((-1)*(L['x'].size()[0] // 2)) == (-2)", "math.trunc(L['n'] / 2) == 2",
                                       "max(5, L['x'].size()[0]) == 5", "(L['x'].size()[0] % 3) <= 0", "L['x'].size()[0] % 2 == 1"})
    EXPECT_TRUE(PinsSizes(guard)) << guard;
}

TEST(Guards, ThatPyTorchItselfAsksForAreNot) {
  for (const std::string_view guard : {"L['x'].size()[0] % 8 == 0", "L['x'].size()[0] == 3", "L['n'] == 4", "L['x'].size()[0] <= 100", "2 <= L['x'].size()[0]",
                                       "L['x'].size()[0] == L['y'].size()[1]", "L['x - 1'].size()[0] == 3", "(L['x'].size()[0] + 1) <= 7", "", "=="})
    EXPECT_FALSE(PinsSizes(guard)) << guard;
}

}  // namespace
}  // namespace flambeau::aten
