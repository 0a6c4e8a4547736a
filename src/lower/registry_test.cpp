#include "lower/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace flambeau::lower {
namespace {

const std::vector<std::string>& ComplexNames() {
  static const std::vector<std::string> names = {
#define FLAMBEAU_COMPLEX(name) #name,
#include "lower/complex_operators.def"
#undef FLAMBEAU_COMPLEX
  };
  return names;
}

TEST(ComplexOperators, EachNameHasATranslator) {
  for (const std::string& name : ComplexNames())
    EXPECT_FALSE(NearestOps("aten::" + name).empty()) << name << " of complex_operators.def is no operator";
}

TEST(ComplexOperators, AreSorted) {
  EXPECT_TRUE(std::is_sorted(ComplexNames().begin(), ComplexNames().end()));
}

TEST(ComplexOperators, WhatIsNotListedIsRefused) {
  EXPECT_TRUE(TakesComplex("aten::add.Tensor"));
  EXPECT_FALSE(TakesComplex("aten::max_pool2d"));
  EXPECT_TRUE(TakesComplex("higher_order::cond"));
}

}  // namespace
}  // namespace flambeau::lower
