#include "lower/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "aten/schema.h"

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

TEST(OperatorLists, OfReductionsThoseOfAllElementsTakeTensorsOfAnyRank) {
  EXPECT_TRUE(TakesUnranked("aten::sum"));
  EXPECT_FALSE(TakesUnranked("aten::sum.dim_IntList"));
  EXPECT_FALSE(TakesUnranked("aten::max.dim"));
}

TEST(OperatorNotes, SayWhyThereIsNoOnnxForm) {
  EXPECT_EQ(NoTranslation("aten::sparse_mask"), "aten::sparse_mask has no translation: no ONNX form because ONNX's operators take dense tensors only");
  EXPECT_EQ(WhyNoOnnxForm("aten::sigmoid_backward.grad_input")->names, "aten::*_backward");
  EXPECT_EQ(WhyNoOnnxForm("aten::grad")->names, "aten::grad");
  EXPECT_EQ(WhyNoOnnxForm("aten::add.Tensor"), nullptr);
  EXPECT_EQ(NoTranslation("mine::sparse"), "mine::sparse has no translation");
}

TEST(OperatorNotes, EachSaysItOfAnOperator) {
  std::set<const OperatorNote*> said;
  for (const std::string_view text : aten::TorchSchemaTexts()) {
    // Escaped quotes, which PyTorch's own tests have in a default, are not parsed.
    if (const auto schema = aten::ParseSchema(text)) said.insert(WhyNoOnnxForm(schema->name));
  }
  for (const OperatorNote& note : OperatorsWithoutOnnxForm()) EXPECT_TRUE(said.contains(&note)) << note.names;
}

TEST(OperatorNotes, OpenResultsAreOfTranslatedOperators) {
  for (const auto& [name, what] : OpenResults()) EXPECT_FALSE(NearestOps(name).empty()) << name;
}

}  // namespace
}  // namespace flambeau::lower
