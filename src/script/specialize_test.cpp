#include "script/specialize.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "reader/torchscript/reader.h"
#include "script/inputs/inputs.h"

namespace flambeau::script {
namespace {

using Inputs = std::vector<std::pair<std::string, std::string>>;

// The ATen graph, or the diagnostics.
std::string Specialized(const std::string& code, const Inputs& given) {
  Sink sink;
  std::string text;
  if (const auto graph = torchscript::ReadCode(code, "forward", sink)) {
    if (const auto inputs = DescribeInputs(*graph, given, sink); inputs && !inputs->missing.empty()) {
      (void)ReportMissing(inputs->missing, {}, sink);
    } else if (inputs) {
      if (const auto program = Specialize(*graph, inputs->inputs, {}, sink); program && VerifyGraph(program->impl().graph, sink))
        text = PrintGraph(program->impl().graph);
    }
  }
  for (const Diagnostic& diagnostic : sink.diagnostics()) text += std::string(Slug(diagnostic.kind)) + ": " + diagnostic.message + "\n";
  return text;
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Specialize, InfersTypesByLowering) {
  const std::string text = Specialized(
      "def forward(x: Tensor) -> Tensor:\n"
      "  return torch.sum(torch.mul(x, 2), [1])\n",
      {{"x", "int32[batch,3]"}});
  EXPECT_TRUE(Has(text, "i64[batch]")) << text;
}

TEST(Specialize, LeavesOutWhatHasADefault) {
  const std::string code =
      "def forward(x: Tensor, n: int=2, dims: Optional[List[int]]=[0, 1], scale: Optional[float]=None) -> Tensor:\n"
      "  return torch.mul(torch.sum(x, dims), n)\n";
  const std::string text = Specialized(code, {{"x", "float32[3,4]"}});
  EXPECT_TRUE(Has(text, "dim=[0, 1]") && Has(text, "other=2")) << text;
  EXPECT_TRUE(Has(Specialized(code, {{"x", "float32[3,4]"}, {"n", "5"}, {"dims", "[1]"}}), "other=5"));
  EXPECT_TRUE(Has(Specialized(code, {}), "missing-information"));
}

TEST(Specialize, TakesTheBranchThatIsKnown) {
  const std::string text = Specialized(
      "def forward(x: Tensor) -> Tensor:\n"
      "  if torch.eq(torch.dim(x), 2):\n"
      "    _0 = torch.relu(x)\n"
      "  else:\n"
      "    _0 = torch.neg(x)\n"
      "  return _0\n",
      {{"x", "float32[2,3]"}});
  EXPECT_TRUE(Has(text, "aten::relu")) << text;
  EXPECT_FALSE(Has(text, "aten::neg")) << text;
  EXPECT_FALSE(Has(text, "cond")) << text;
}

TEST(Specialize, GivesOutWhatABranchWrites) {
  const std::string text = Specialized(
      "def forward(x: Tensor) -> Tensor:\n"
      "  y = torch.mul(x, 2)\n"
      "  if bool(torch.gt(torch.sum(x), 0)):\n"
      "    _0 = torch.add_(y, 1)\n"
      "  else:\n"
      "    pass\n"
      "  return y\n",
      {{"x", "float32[2]"}});
  EXPECT_TRUE(Has(text, "higher_order::cond")) << text;
  EXPECT_FALSE(Has(text, "aten::add_")) << text;
}

TEST(Specialize, UnrollsWhatIsCounted) {
  const std::string text = Specialized(
      "def forward(x: Tensor) -> Tensor:\n"
      "  y = x\n"
      "  for i in range(3):\n"
      "    y = torch.add(y, i)\n"
      "  return y\n",
      {{"x", "float32[2]"}});
  EXPECT_FALSE(Has(text, "prim::Loop")) << text;
}

TEST(Specialize, CarriesWhatALoopChanges) {
  const std::string text = Specialized(
      "def forward(x: Tensor, n: Tensor) -> Tuple[Tensor, int]:\n"
      "  y = x\n"
      "  k = 0\n"
      "  for i in range(int(n)):\n"
      "    y = torch.cat([y, x])\n"
      "    k = torch.add(k, 2)\n"
      "  return (y, k)\n",
      {{"x", "float32[2]"}, {"n", "int64[]"}});
  EXPECT_TRUE(Has(text, "prim::Loop")) << text;
  EXPECT_TRUE(Has(text, "f32[u")) << text;  // a size of its own
}

TEST(Specialize, AsksForWhatIsMissingInOneError) {
  const std::string text = Specialized(
      "def forward(x: Tensor, y: Tensor) -> Tensor:\n"
      "  return torch.add(x, y)\n",
      {});
  EXPECT_TRUE(Has(text, "missing-information")) << text;
  EXPECT_TRUE(Has(text, "x (Tensor), y (Tensor)")) << text;
}

TEST(Specialize, ReportsAllThatIsMissing) {
  const std::string text = Specialized(
      "def forward(x: Tensor) -> Tensor:\n"
      "  a = torch.geqrf(x)\n"
      "  b = torch.fft_hfft(x)\n"
      "  return torch.add(x, x)\n",
      {{"x", "float32[2,2]"}});
  EXPECT_TRUE(Has(text, "aten::geqrf")) << text;
  EXPECT_TRUE(Has(text, "aten::fft_hfft")) << text;
}

// --- programs that mean harm ------------------------------------------------------------

std::string OfText(const std::string& body) {
  return Specialized("def forward(x: Tensor) -> Tensor:\n" + body, {{"x", "float32[2]"}});
}

TEST(Specialize, DropsALoopThatDoesNothing) {
  const std::string text = OfText(
      "  for i in range(200000000000):\n"
      "    pass\n"
      "  return torch.relu(x)\n");
  EXPECT_TRUE(Has(text, "aten::relu")) << text;
  EXPECT_FALSE(Has(text, "prim::Loop")) << text;
}

TEST(Specialize, RefusesAxesThatATensorLacks) {
  for (const char* call : {"torch.transpose(x, 0, 5)", "torch.select(x, 5, 0)", "torch.unbind(x, 5)[0]", "torch.cat([x, x], 5)",
                           "torch.split(x, 1, -7)[0]", "torch.permute(x, [5])", "torch.narrow(x, 5, 0, 1)"}) {
    const std::string text = OfText("  return " + std::string(call) + "\n");
    EXPECT_TRUE(Has(text, "of a tensor of rank")) << call << ": " << text;
  }
}

TEST(Specialize, SlicesByStepsBeyondAllPlaces) {
  for (const char* step : {"9223372036854775807", "-9223372036854775807"}) {
    const std::string text = OfText(
        "  a = torch.slice([1, 2, 3], 1, None, " + std::string(step) + ")\n"
        "  return torch.mul(x, torch.len(a))\n");
    EXPECT_TRUE(Has(text, "other=1")) << text;
  }
}

// What torch.jit gives for them.
TEST(Specialize, ComputesWithIntegersNearTheEndsOfTheirRange) {
  constexpr std::string_view kMost = "9223372036854775807", kLeast = "-9223372036854775808";
  const std::pair<std::string, std::string_view> expected[] = {
      {"int(torch.le(4, MOST))", "1"},     {"int(torch.le(MOST, 4))", "0"},      {"int(torch.le(MOST, MOST))", "1"},
      {"int(torch.ge(MOST, 4))", "1"},     {"int(torch.ge(LEAST, MOST))", "0"},  {"int(torch.lt(LEAST, 5))", "1"},
      {"int(torch.gt(MOST, LEAST))", "1"}, {"int(torch.eq(LEAST, MOST))", "0"},  {"int(torch.ne(LEAST, 5))", "1"},
      {"torch.add(MOST, 1)", kLeast},      {"torch.sub(LEAST, 1)", kMost},       {"torch.sub(-5, LEAST)", "9223372036854775803"},
      {"torch.mul(MOST, 2)", "-2"},        {"torch.mul(LEAST, -1)", kLeast},     {"torch.neg(LEAST)", kLeast},
      {"torch.floordiv(LEAST, 2)", "-4611686018427387904"},                      {"torch.remainder(LEAST, -1)", "0"},
      {"torch.__lshift__(1, 63)", kLeast}, {"torch.__rshift__(LEAST, 63)", "-1"}, {"torch.__rshift__(5, 63)", "0"},
      {"int(1e30)", kLeast},               {"torch.ceil(-1e30)", kLeast},        {"abs(LEAST)", kLeast},
  };
  for (auto [code, value] : expected) {
    for (const auto& [name, number] : {std::pair("MOST", kMost), std::pair("LEAST", kLeast)})
      for (size_t at; (at = code.find(name)) != code.npos;) code.replace(at, std::string_view(name).size(), number);
    const std::string text = OfText("  return torch.mul(x, " + code + ")\n");
    EXPECT_TRUE(Has(text, "other=" + std::string(value) + ")")) << code << ": " << text;
  }
}

TEST(Specialize, KnowsListsThatHoldThemselves) {
  const std::string knot =
      "  a = annotate(List[Any], [])\n"
      "  _0 = torch.append(a, a)\n";
  const std::string read = OfText(knot + "  return torch.mul(x, torch.len(torch.str(a)))\n");
  EXPECT_TRUE(Has(read, "works on text that is known at run time only")) << read;
  const std::string given_out = Specialized("def forward(x: Tensor) -> List[Any]:\n" + knot + "  return a\n", {{"x", "float32[2]"}});
  EXPECT_TRUE(Has(given_out, "limit-exceeded: an output of the program nests too deep")) << given_out;
  const std::string branch = OfText(knot +
      "  if bool(torch.gt(torch.sum(x), 0)):\n"
      "    _1 = torch.append(a, x)\n"
      "  else:\n"
      "    pass\n"
      "  return torch.mul(x, torch.len(a))\n");
  EXPECT_TRUE(Has(branch, "other=1")) << branch;
  EXPECT_TRUE(Has(branch, "other=2")) << branch;
}

TEST(Specialize, EndsWhatGrowsByItself) {
  std::string text = "  a = 'ab'\n", list = "  a = [1, 2]\n", replaced = text, joined = "  a = 'ab'\n";
  for (int i = 0; i < 40; ++i) {
    text += "  a = torch.add(a, a)\n";
    list += "  a = torch.add(a, a)\n";
    replaced += "  a = torch.replace(a, 'a', a)\n";
    joined += "  a = torch.join(a, [a, a, a])\n";
  }
  for (const std::string& body : {text, list, replaced, joined}) {
    const std::string said = OfText(body + "  return torch.mul(x, torch.len(a))\n");
    EXPECT_TRUE(Has(said, "limit-exceeded: makes a text or list of more than")) << said;
  }
}

TEST(Specialize, ReplacesText) {
  const std::string text = OfText(
      "  a = torch.replace('aXbXXc', 'X', '--')\n"
      "  b = torch.replace('aXbXXc', 'X', '', 2)\n"
      "  if torch.__and__(torch.eq(a, 'a--b----c'), torch.eq(b, 'abXc')):\n"
      "    _0 = torch.relu(x)\n"
      "  else:\n"
      "    _0 = torch.neg(x)\n"
      "  return _0\n");
  EXPECT_TRUE(Has(text, "aten::relu")) << text;
}

TEST(Specialize, AsksOnceForWhatABranchKnows) {
  const std::string text = OfText(
      "  a = bool(torch.gt(torch.sum(x), 0))\n"
      "  b = bool(torch.gt(torch.max(x), 1))\n"
      "  if torch.__and__(a, torch.__not__(b)):\n"
      "    if torch.__or__(torch.__not__(a), b):\n"
      "      _0 = torch.relu(x)\n"
      "    else:\n"
      "      _0 = torch.neg(x)\n"
      "  else:\n"
      "    _0 = torch.sort(x, 0, a)[0]\n"
      "  return _0\n");
  EXPECT_FALSE(Has(text, "aten::relu")) << text;
  EXPECT_TRUE(Has(text, "descending=True")) << text;
  EXPECT_TRUE(Has(text, "descending=False")) << text;
}

// The paths that met are those of a function of ours; the walk is done again with them apart.
TEST(Specialize, RefusesToWriteToOneOfTwoLists) {
  const std::string text = Specialized(
      "def forward(x: Tensor) -> Tensor:\n"
      "  a = [torch.size(x, 0), 2]\n"
      "  b = [3, torch.size(x, 0)]\n"
      "  c = ops.prim.max(a, b)\n"
      "  _0 = torch.append(c, 9)\n"
      "  return torch.mul(x, torch.len(a))\n",
      {{"x", "float32[n,3]"}});
  EXPECT_TRUE(Has(text, "unknown-aliasing")) << text;
}

// `depth` loops of so many rounds as only a run knows, one within another.
std::string OfNest(int depth) {
  std::string code = "  n = int(torch.sum(x))\n  c = 0\n", indent = "  ";
  for (int i = 0; i < depth; ++i) {
    code += indent + "for i" + std::to_string(i) + " in range(n):\n";
    indent += "  ";
  }
  return OfText(code + indent + "c = torch.add(c, 1)\n  return torch.mul(x, c)\n");
}

TEST(Specialize, EndsWhereANestOfLoopsIsWalkedWithoutEnd) {
  const std::string text = OfNest(6);
  EXPECT_TRUE(Has(text, "prim::Loop") && !Has(text, "limit-exceeded")) << text;
  EXPECT_TRUE(Has(OfNest(24), "limit-exceeded: is in a nest of loops whose bodies are walked more than 20000 times"));
}

TEST(Specialize, TellsComplexNumbersApart) {
  const std::string text = OfText(
      "  if torch.eq(1j, 2j):\n"
      "    _0 = torch.relu(x)\n"
      "  else:\n"
      "    _0 = torch.neg(x)\n"
      "  return _0\n");
  EXPECT_TRUE(Has(text, "aten::neg")) << text;
}

}  // namespace
}  // namespace flambeau::script
