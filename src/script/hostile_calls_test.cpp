// No call that an archive may make brings the engine down, whatever its arguments are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "aten/schema.h"
#include "reader/torchscript/reader.h"
#include "reader/torchscript/signature.h"
#include "script/inputs/inputs.h"
#include "script/specialize.h"

namespace flambeau::script {
namespace {

using torchscript::FormalArgument;
using torchscript::Signature;
using torchscript::TypeKind;

// Expressions of the type over what the program below has; none where the language has no way to write one.
std::vector<std::string> Expressions(const torchscript::Type& type) {
  switch (type.kind) {
    case TypeKind::kTensor: return {"x", "n", "q"};
    case TypeKind::kInt: return {"1", "int(n)", "-9223372036854775807", "0", "-1", "3", "9223372036854775806"};
    case TypeKind::kFloat: return {"0.5", "float(n)"};
    case TypeKind::kBool: return {"True", "bool(n)"};
    case TypeKind::kNumber: return {"2", "0.5", "int(n)"};
    case TypeKind::kString: return {"\"\"", "\"sum\""};
    case TypeKind::kNone: return {"None"};
    case TypeKind::kAny:
    case TypeKind::kVariable: return {"x", "1", "None", "(x, 1)", "annotate(List[int], [])", "\"\"", "torch.unbind(x)"};
    case TypeKind::kOptional: {
      std::vector<std::string> all = Expressions(*type.elements[0]);
      all.insert(all.begin(), "None");
      return all;
    }
    case TypeKind::kList: {
      std::vector<std::string> all;
      for (const std::string& element : Expressions(*type.elements[0])) all.push_back(fmt::format("[{}]", element));
      if (!all.empty()) all.push_back(fmt::format("[{0}, {0}, {0}]", all[0].substr(1, all[0].size() - 2)));
      if (type.elements[0]->kind == TypeKind::kTensor) {
        all.push_back("torch.unbind(x)");
        all.push_back("annotate(List[Tensor], [])");
      }
      return all;
    }
    case TypeKind::kDict: return {"{1: x}", "{\"a\": 1}"};
    default: return {};
  }
}

// The call with one expression after the other for each argument, thrice as often as it takes for each to have its turn.
std::vector<std::string> CallsOf(const Signature& signature) {
  std::vector<std::vector<std::string>> choices;
  size_t turns = 1;
  for (const FormalArgument& argument : signature.arguments) {
    choices.push_back(Expressions(*argument.type));
    turns = std::max(turns, choices.back().size());
  }
  const size_t colons = signature.name.find("::");
  std::vector<std::string> calls;
  for (size_t round = 0; round < 3 * turns; ++round) {
    const size_t turn = round % turns, stride = round / turns;  // in each stride others meet
    std::string arguments;
    for (size_t i = 0; i < choices.size(); ++i) {
      if (choices[i].empty()) continue;
      if (!arguments.empty()) arguments += ", ";
      if (signature.arguments[i].keyword_only) arguments += signature.arguments[i].name + "=";
      arguments += choices[i][(turn + i / 2 + stride * i) % choices[i].size()];
    }
    calls.push_back(fmt::format("ops.{}.{}({})", signature.name.substr(0, colons), signature.name.substr(colons + 2), arguments));
  }
  return calls;
}

// A program, or a reason why there is none.
void Expect(const std::string& call) {
  const std::string code =
      "def forward(x: Tensor, n: Tensor) -> Any:\n"
      "  q = torch.quantize_per_tensor(x, 0.5, 1, 13)\n"
      "  return " + call + "\n";
  static const std::vector<std::pair<std::string, std::string>> kInputs = {{"x", "float32[a,3]"}, {"n", "int64[]"}};
  Sink sink;
  bool done = false;
  if (const auto graph = torchscript::ReadCode(code, "forward", sink))
    if (const auto inputs = DescribeInputs(*graph, kInputs, sink); inputs && inputs->missing.empty()) done = static_cast<bool>(Specialize(*graph, inputs->inputs, {}, sink));
  EXPECT_NE(done, sink.HasErrors()) << call;
}

TEST(HostileCalls, EndInAProgramOrADiagnostic) {
  std::set<std::string_view> seen;
  for (const std::string_view schema : aten::TorchSchemaTexts()) {
    const std::string_view name = schema.substr(0, schema.find_first_of("(."));
    if (!seen.insert(name).second) continue;
    for (const Signature& signature : torchscript::FindOverloads(name))
      for (const std::string& call : CallsOf(signature)) Expect(call);
  }
}

}  // namespace
}  // namespace flambeau::script
