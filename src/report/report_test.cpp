#include "flambeau/report.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/json_writer.h"

namespace flambeau {
namespace {

TEST(JsonWriter, CommasAndQuotes) {
  JsonWriter to;
  to.BeginObject();
  to.Field("a\"b", "c\\d\n\x01<");
  to.Each("list", std::vector<int>{1, 2}, [&](int i) { to.Value(i); });
  to.Objects("objects", std::vector<int>{3, 4}, [&](int i) { to.Field("i", i); });
  to.Objects("none", std::vector<int>{}, [&](int) {});
  to.Field("flag", true);
  to.Key("null");
  to.Null();
  to.EndObject();
  EXPECT_EQ(to.Take(), "{\"a\\\"b\":\"c\\\\d\\n\\u0001\\u003c\",\"list\":[1,2],\"objects\":[\n{\"i\":3},\n{\"i\":4}],\"none\":[],\"flag\":true,\"null\":null}");
}

TEST(JsonWriter, BytesThatAreNoTextAreReplaced) {
  auto quoted = [](std::string_view text) {
    JsonWriter to;
    to.Value(text);
    return to.Take();
  };
  EXPECT_EQ(quoted("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5"), "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5\"");
  EXPECT_EQ(quoted("a\xff" "b"), "\"a\xef\xbf\xbd" "b\"");
  EXPECT_EQ(quoted("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");                      // cut off
  EXPECT_EQ(quoted("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");                      // a slash in two bytes
  EXPECT_EQ(quoted("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");  // half of a pair
}

TEST(JsonWriter, NumbersThatJsonLacksAreTexts) {
  JsonWriter to;
  to.BeginList();
  to.Value(0.5);
  to.Value(std::nan(""));
  to.Value(-INFINITY);
  to.EndList();
  EXPECT_EQ(to.Take(), "[0.5,\"nan\",\"-inf\"]");
}

TEST(ReportText, SaysWhatToDoAboutMissingOperators) {
  auto missing = [](std::string operation, DiagnosticKind kind = DiagnosticKind::kUnsupportedOperator) {
    return Diagnostic{kind, Severity::kError, {.operation = std::move(operation)}, "has no translation"};
  };
  EXPECT_EQ(ReportText({missing("aten::relu", DiagnosticKind::kUnsupportedForm)}).find("hint"), std::string::npos);
  const std::string pytorch = ReportText({missing("aten::frobnicate")});
  EXPECT_NE(pytorch.find("custom_translation_table"), std::string::npos) << pytorch;
  EXPECT_EQ(pytorch.find("custom-opset"), std::string::npos) << pytorch;
  const std::string custom = ReportText({missing("shop::one.out"), missing("shop::two"), missing("bank::two")});
  EXPECT_NE(custom.find("keep the operators of bank, shop for a runtime that has them: --custom-opset bank=1"), std::string::npos) << custom;
}

TEST(ReportText, AWarningOfAFormIsNoFailure) {
  const std::string text = ReportText({{DiagnosticKind::kUnsupportedForm, Severity::kWarning, {.operation = "prim::Loop"}, "takes a round for granted"}});
  EXPECT_EQ(text, "warning: takes a round for granted [unsupported-form]\n  at: prim::Loop\n");
}

ConversionReport Small() {
  ConversionReport report;
  report.status = "converted";
  report.model = "a|b";
  report.inputs.push_back({"x", "float32", {"batch", "3"}});
  report.stages.push_back({"lowered", "each call becomes nodes", 0.5, 0.25, 1, 2});
  report.modules.push_back({"", "Model"});
  report.captured.push_back({"relu", "aten::relu", 0, "model.py:7", "y = relu(x)", false, {}});
  report.nodes.push_back({"/Relu", "Relu", 0, 0, 0, {0, ConversionReport::kNone}, {1}});
  report.values = {{"x", "float32[batch, 3]"}, {"y", "float32[batch, 3]"}};
  return report;
}

TEST(Report, AbsentIndicesAreNull) {
  const std::string json = ReportJson(Small());
  EXPECT_NE(json.find(R"("inputs":[0,null],"outputs":[1])"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("path":"","class":"Model","parent":null)"), std::string::npos) << json;
}

TEST(Report, MarkdownKeepsItsTables) {
  ConversionReport report = Small();
  report.comparisons.push_back({.name = "y", .inputs = "example", .dtype = "float32", .ok = false, .cause = "values: 1 | 2"});
  report.status = "verification-failed";
  const std::string text = ReportMarkdown(report);
  EXPECT_NE(text.find("`a\\|b`"), std::string::npos) << text;
  EXPECT_NE(text.find("❌ values: 1 \\| 2 |"), std::string::npos) << text;
  EXPECT_NE(text.find("❌ Validate model output accuracy"), std::string::npos) << text;
}

TEST(Report, SaysHowToTranslateWhatIsMissing) {
  ConversionReport report = Small();
  report.diagnostics.push_back({DiagnosticKind::kUnsupportedOperator, Severity::kError, {.operation = "shop::tax.out"}, "has no translation"});
  report.diagnostics.push_back({DiagnosticKind::kUnsupportedOperator, Severity::kError, {.operation = "prim::Odd"}, "has no translation"});
  const std::string text = ReportMarkdown(report);
  EXPECT_NE(text.find("custom_translation_table={torch.ops.shop.tax.out: tax}"), std::string::npos) << text;
  EXPECT_NE(text.find("# or: flambeau.export(model, inputs, custom_opsets={\"shop\": 1})"), std::string::npos) << text;
  EXPECT_EQ(text.find("torch.ops.prim"), std::string::npos) << text;
}

TEST(Report, PageHoldsTheReportAndNoOtherScript) {
  ConversionReport report = Small();
  report.failure = "</script><script>alert(1)</script>";
  const std::string page = ReportHtml(report);
  EXPECT_NE(page.find("\"model\":\"a|b\""), std::string::npos);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("/*STYLE*/"), std::string::npos);
  EXPECT_EQ(page.find("/*SCRIPT*/"), std::string::npos);
}

TEST(Report, TraceIsInMicroseconds) {
  EXPECT_NE(ReportTrace(Small()).find(R"("ts":500000,"dur":250000)"), std::string::npos) << ReportTrace(Small());
}

}  // namespace
}  // namespace flambeau
