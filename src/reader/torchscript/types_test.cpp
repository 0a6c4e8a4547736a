#include "reader/torchscript/types.h"

#include <gtest/gtest.h>

#include "reader/torchscript/signature.h"

namespace flambeau::torchscript {
namespace {

std::string Read(std::string_view schema) {
  const TypePtr type = ParseSchemaType(schema);
  return type ? Text(*type) : "none";
}

TEST(TorchScriptTypes, ReadsTheTypesOfSchemas) {
  EXPECT_EQ(Read("Tensor(a!)"), "Tensor");
  EXPECT_EQ(Read("Tensor(a -> *)[]"), "List[Tensor]");
  EXPECT_EQ(Read("SymInt[2]?"), "Optional[List[int]]");
  EXPECT_EQ(Read("Tensor?[]"), "List[Optional[Tensor]]");
  EXPECT_EQ(Read("Dict(str, t)(a!)"), "Dict[str, t]");
  EXPECT_EQ(Read("(int, t)[]"), "List[Tuple[int, t]]");
  EXPECT_EQ(Read("ScalarType?"), "Optional[int]");
  EXPECT_EQ(Read("Future(t)"), "Future[t]");
  EXPECT_EQ(Read("__torch__.torch.classes.quantized.Conv2dPackedParamsBase"), "__torch__.torch.classes.quantized.Conv2dPackedParamsBase");
  for (const std::string_view bad : {"", "Tensor[", "(int", "int ]", "Dict(int int)", "[]"}) EXPECT_EQ(Read(bad), "none") << bad;
  EXPECT_EQ(Read(std::string(1000, '(')), "none");
}

TEST(TorchScriptTypes, KnowsSubtypes) {
  const auto is = [](std::string_view a, std::string_view b) { return IsSubtype(*ParseSchemaType(a), *ParseSchemaType(b)); };
  EXPECT_TRUE(is("int", "Scalar"));
  EXPECT_TRUE(is("int", "int?"));
  EXPECT_TRUE(is("None", "int?"));
  EXPECT_TRUE(is("int?", "Scalar?"));
  EXPECT_TRUE(is("(int, None)", "(Scalar, Tensor?)"));
  EXPECT_TRUE(is("int[]", "Any"));
  EXPECT_FALSE(is("bool", "Scalar"));
  EXPECT_FALSE(is("int?", "int"));
  EXPECT_FALSE(is("int[]", "Scalar[]"));
  EXPECT_FALSE(is("(int, int)", "(int, int, int)"));
  EXPECT_FALSE(is("Dict(str, int)", "Dict(str, Scalar)"));
}

TEST(TorchScriptTypes, JoinsBranches) {
  const auto join = [](std::string_view a, std::string_view b) {
    const TypePtr type = Unify(ParseSchemaType(a), ParseSchemaType(b));
    return type ? Text(*type) : "none";
  };
  EXPECT_EQ(join("Tensor", "None"), "Optional[Tensor]");
  EXPECT_EQ(join("int?", "int"), "Optional[int]");
  EXPECT_EQ(join("(int, None)", "(None, int)"), "Tuple[Optional[int], Optional[int]]");
  EXPECT_EQ(join("int", "float"), "none");
  EXPECT_EQ(join("int[]", "float[]"), "none");
}

TEST(TorchScriptTypes, FindsTypeVariables) {
  TypeVariables variables;
  ASSERT_TRUE(MatchVariables(ParseSchemaType("Dict(str, t)"), ParseSchemaType("Dict(str, int[])"), &variables));
  EXPECT_EQ(Text(*Substitute(ParseSchemaType("(str, t)[]"), variables)), "List[Tuple[str, List[int]]]");
  EXPECT_FALSE(MatchVariables(ParseSchemaType("t"), ParseSchemaType("str"), &variables));
  EXPECT_EQ(Substitute(ParseSchemaType("t2"), variables), nullptr);
}

// Of a tuple of a tuple twice, of that twice, and so on; each may be a class.
TypePtr Doubled(int times, bool named) {
  TypePtr type = TensorType();
  for (int i = 0; i < times; ++i) {
    auto twice = std::make_shared<Type>(*TupleOf({type, type}));
    if (named) twice->name = "C" + std::to_string(i);
    type = std::move(twice);
  }
  return type;
}

TEST(TorchScriptTypes, LooksIntoNoClassForVariables) {
  TypeVariables variables;
  const TypePtr formal = TupleOf({ParseSchemaType("t"), Doubled(60, true)});
  EXPECT_TRUE(MatchVariables(formal, TupleOf({IntType(), formal->elements[1]}), &variables));
  EXPECT_EQ(Substitute(formal, variables)->elements[1], formal->elements[1]);
}

TEST(TorchScriptTypes, AreBounded) {
  EXPECT_TRUE(IsBounded(*Doubled(13, false)));
  EXPECT_FALSE(IsBounded(*Doubled(60, false)));
  EXPECT_TRUE(IsBounded(*Doubled(60, true)));
  TypePtr list = IntType();
  for (int i = 0; i <= kMaxTypeDepth; ++i) list = ListOf(list);
  EXPECT_FALSE(IsBounded(*list));
  EXPECT_TRUE(IsBounded(*list->elements[0]));
}

TEST(TorchScriptSignatures, KeepTheOrderOfRegistration) {
  const std::vector<Signature>& overloads = FindOverloads("aten::add");
  ASSERT_GT(overloads.size(), 5u);
  EXPECT_EQ(overloads[0].overload, "Tensor");
  EXPECT_EQ(overloads[0].arguments[2].name, "alpha");
  EXPECT_EQ(std::get<int64_t>(overloads[0].arguments[2].default_value->value), 1);
  EXPECT_TRUE(FindOverloads("aten::no_such_operator").empty());
  EXPECT_EQ(FindOverloads("torchvision::nms").size(), 1U);
  EXPECT_EQ(FindOverloads("torchvision::roi_pool")[0].results.size(), 2U);
  EXPECT_TRUE(FindOverloads("_operator::add").empty());
  EXPECT_TRUE(FindOverloads("aten::format")[0].variadic);
}

}  // namespace
}  // namespace flambeau::torchscript
