#include "lower/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace flambeau::lower {
namespace {

struct Listed {
  std::string file;
  std::vector<std::string> names;
  bool (*takes)(std::string_view);
};

const std::vector<Listed>& Lists() {
  static const std::vector<Listed> lists = {
      {"complex_operators.def",
       {
#define FLAMBEAU_COMPLEX(name) #name,
#include "lower/complex_operators.def"
#undef FLAMBEAU_COMPLEX
       },
       &TakesComplex},
      {"unranked_operators.def",
       {
#define FLAMBEAU_UNRANKED(name) #name,
#include "lower/unranked_operators.def"
#undef FLAMBEAU_UNRANKED
       },
       &TakesUnranked},
  };
  return lists;
}

TEST(OperatorLists, EachNameHasATranslator) {
  for (const Listed& list : Lists())
    for (const std::string& name : list.names)
      EXPECT_FALSE(NearestOps("aten::" + name).empty()) << name << " of " << list.file << " is no operator";
}

TEST(OperatorLists, AreSorted) {
  for (const Listed& list : Lists()) EXPECT_TRUE(std::is_sorted(list.names.begin(), list.names.end())) << list.file;
}

TEST(OperatorLists, WhatIsNotListedIsRefused) {
  for (const Listed& list : Lists()) {
    EXPECT_TRUE(list.takes("aten::add.Tensor")) << list.file;
    EXPECT_FALSE(list.takes("aten::max_pool2d")) << list.file;
    EXPECT_TRUE(list.takes("higher_order::cond")) << list.file;
  }
}

}  // namespace
}  // namespace flambeau::lower
