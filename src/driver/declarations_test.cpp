// What one program says of a user's operator is nothing to another.
#include <gtest/gtest.h>

#include "flambeau/convert.h"
#include "flambeau/program.h"

namespace flambeau {
namespace {

const ValueInfo kVector = {.sizes = {int64_t{8}}, .strides = {int64_t{1}}};

// y = mylib::scale(x), where the operator has that schema.
Program Scaled(std::string_view schema) {
  ProgramBuilder builder;
  builder.DeclareOperator(schema);
  const ValueHandle x = builder.AddInput(InputKind::kUser, "x", kVector);
  const std::pair<std::string_view, ValueInfo> results[] = {{"y", kVector}};
  const Argument arguments[] = {x};
  builder.AddOutput(OutputKind::kUser, builder.AddCall("mylib.scale.default", arguments, {}, results, {.name = "y"})[0], "y");
  std::vector<Diagnostic> diagnostics;
  std::optional<Program> program = builder.Finish(diagnostics);
  EXPECT_TRUE(program) << (diagnostics.empty() ? "" : diagnostics[0].message);
  return *std::move(program);
}

std::string Converted(Program program) {
  Options options;
  options.custom_opsets = {{"mylib", 1}};
  std::vector<Diagnostic> diagnostics;
  std::string text = Dump(std::move(program), "onnx", options, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics[0].message;
  return text;
}

TEST(DeclaredOperators, AreThoseOfTheProgram) {
  Program one = Scaled("mylib::scale(Tensor x, float by=1.5) -> Tensor"), other = Scaled("mylib::scale(Tensor x, int times=7) -> Tensor");
  const std::string of_other = Converted(std::move(other)), of_one = Converted(std::move(one));
  EXPECT_NE(of_one.find("by: float = 1.5"), std::string::npos) << of_one;
  EXPECT_NE(of_other.find("times: int = 7"), std::string::npos) << of_other;
  // And another program that says nothing of it knows nothing.
  ProgramBuilder silent;
  const ValueHandle x = silent.AddInput(InputKind::kUser, "x", kVector);
  const std::pair<std::string_view, ValueInfo> results[] = {{"y", kVector}};
  const Argument arguments[] = {x};
  silent.AddOutput(OutputKind::kUser, silent.AddCall("mylib.scale.default", arguments, {}, results, {.name = "y"})[0], "y");
  std::vector<Diagnostic> diagnostics;
  std::optional<Program> program = silent.Finish(diagnostics);
  ASSERT_TRUE(program);
  Options options;
  options.custom_opsets = {{"mylib", 1}};
  const Outcome outcome = Convert(*std::move(program), options);
  ASSERT_EQ(outcome.diagnostics.size(), 1u);
  EXPECT_EQ(outcome.diagnostics[0].kind, DiagnosticKind::kUnknownAliasing);
}

}  // namespace
}  // namespace flambeau
