#include <gtest/gtest.h>

#include "reader/torchscript/reader.h"

namespace flambeau::torchscript {
namespace {

// The inlined graph of `f`, or the first error.
std::string Emitted(std::string code, int64_t version = INT64_MAX, const std::string& function = "f") {
  Sink sink;
  const auto graph = ReadCode(std::move(code), function, sink, version);
  return graph ? Print(*graph) : "error: " + sink.diagnostics().at(0).message;
}

TEST(TorchScriptEmitter, ResolvesOverloads) {
  EXPECT_EQ(Emitted("def f(x: Tensor, n: int) -> Tensor:\n  return torch.add(x, torch.mul(n, 2.5))\n"),
            "graph(%x.1 : Tensor, %n.1 : int):\n"
            "  %0 : float = prim::Constant[value=2.5]()\n"
            "  %1 : float = aten::mul.int_float(%n.1, %0)\n"
            "  %2 : int = prim::Constant[value=1]()\n"
            "  %3 : Tensor = aten::add.Scalar(%x.1, %1, %2)\n"
            "  return (%3)\n");
}

TEST(TorchScriptEmitter, ConvertsOnlyWhereNoOverloadFits) {
  // A list of one number for two, a tensor for a number.
  EXPECT_EQ(Emitted("def f(x: Tensor, n: Tensor) -> Tensor:\n  return torch.reshape(x, [annotate(int, n), 2])\n"),
            "graph(%x.1 : Tensor, %n.1 : Tensor):\n"
            "  %0 : int = aten::IntImplicit(%n.1)\n"
            "  %1 : int = prim::Constant[value=2]()\n"
            "  %2 : List[int] = prim::ListConstruct(%0, %1)\n"
            "  %3 : Tensor = aten::reshape(%x.1, %2)\n"
            "  return (%3)\n");
  EXPECT_EQ(Emitted("def f(x: Tensor) -> Tensor:\n  return torch.permute(x, 1, 0)\n"),
            "graph(%x.1 : Tensor):\n"
            "  %0 : int = prim::Constant[value=1]()\n"
            "  %1 : int = prim::Constant[value=0]()\n"
            "  %2 : List[int] = prim::ListConstruct(%0, %1)\n"
            "  %3 : Tensor = aten::permute(%x.1, %2)\n"
            "  return (%3)\n");
}

TEST(TorchScriptEmitter, HandsOnWhatBranchesAssign) {
  EXPECT_EQ(Emitted("def f(x: Tensor, n: Optional[int]) -> Optional[int]:\n"
                    "  if torch.__is__(n, None):\n    m = n\n    unused = 1\n  else:\n    m0 = unchecked_cast(int, n)\n    m = m0\n    unused = 2\n"
                    "  return m\n"),
            "graph(%x.1 : Tensor, %n.1 : Optional[int]):\n"
            "  %0 : NoneType = prim::Constant[value=None]()\n"
            "  %1 : bool = aten::__is__(%n.1, %0)\n"
            "  %m.1 : Optional[int] = prim::If(%1)\n"
            "    block0():\n"
            "      %unused.1 : int = prim::Constant[value=1]()\n"
            "      -> (%n.1)\n"
            "    block1():\n"
            "      %m0.1 : int = prim::unchecked_cast(%n.1)\n"
            "      %unused.2 : int = prim::Constant[value=2]()\n"
            "      -> (%m0.1)\n"
            "  return (%m.1)\n");
}

TEST(TorchScriptEmitter, CarriesWhatLoopsAssign) {
  EXPECT_EQ(Emitted("def f(x: Tensor) -> Tensor:\n  i = 0\n  go = True\n  while go:\n    y = torch.add(x, i)\n    go, x, i = torch.lt(i, 9), y, torch.add(i, 1)\n  return x\n"),
            "graph(%x.1 : Tensor):\n"
            "  %i.1 : int = prim::Constant[value=0]()\n"
            "  %go.1 : bool = prim::Constant[value=True]()\n"
            "  %0 : int = prim::Constant[value=9223372036854775807]()\n"
            "  %x.2 : Tensor, %i.2 : int = prim::Loop(%0, %go.1, %x.1, %i.1)\n"
            "    block0(%1 : int, %x.3 : Tensor, %i.3 : int):\n"
            "      %2 : int = prim::Constant[value=1]()\n"
            "      %y.1 : Tensor = aten::add.Scalar(%x.3, %i.3, %2)\n"
            "      %3 : int = prim::Constant[value=9]()\n"
            "      %go.2 : bool = aten::lt.int(%i.3, %3)\n"
            "      %4 : int = prim::Constant[value=1]()\n"
            "      %i.4 : int = aten::add.int(%i.3, %4)\n"
            "      -> (%go.2, %y.1, %i.4)\n"
            "  return (%x.2)\n");
}

TEST(TorchScriptEmitter, DecidesIsInstanceWhereTypesDo) {
  EXPECT_EQ(Emitted("def f(w: Union[int, str]) -> bool:\n  a = isinstance(w, int)\n  return a\n"),
            "graph(%w.1 : Union[int, str]):\n"
            "  %a.1 : bool = prim::isinstance[types=[int]](%w.1)\n"
            "  return (%a.1)\n");
  EXPECT_EQ(Emitted("def f(w: int) -> int:\n  if isinstance(w, str):\n    r = w\n  else:\n    r = 2\n  return r\n"),
            "graph(%w.1 : int):\n"
            "  %0 : bool = prim::Constant[value=False]()\n"
            "  %r.1 : int = prim::Constant[value=2]()\n"
            "  return (%r.1)\n");
  EXPECT_EQ(Emitted("def f(w: Union[Tuple[int, int], float]) -> bool:\n  a = isinstance(w, tuple)\n  return a\n"),
            "graph(%w.1 : Union[Tuple[int, int], float]):\n"
            "  %a.1 : bool = prim::isinstance[types=[Tuple[()]]](%w.1)\n"
            "  return (%a.1)\n");
}

TEST(TorchScriptEmitter, KnowsAVariableThatIsNamedIsInstance) {
  const auto branch = [](std::string_view what, std::string_view call) {
    return Emitted("def f(x: Tensor) -> Tensor:\n  isinstance = " + std::string(what) + "\n  if " + std::string(call) + ":\n    y = x\n  else:\n    y = x\n  return y\n");
  };
  EXPECT_TRUE(branch("print", "isinstance(x)").starts_with("error: no overload of aten::Bool takes these arguments"));
  EXPECT_TRUE(branch("torch.max", "isinstance(x, 0)").starts_with("error: no overload of aten::Bool takes these arguments"));
  EXPECT_TRUE(branch("torch.is_floating_point", "isinstance(x)").starts_with("graph("));
  EXPECT_EQ(branch("x", "isinstance(x)"), "error: 'isinstance(x)': this can't be called (line 3, column 6)");
}

TEST(TorchScriptEmitter, UpgradesOldOperators) {
  const std::string gelu = "def f(x: Tensor) -> Tensor:\n  return torch.gelu(x)\n";
  EXPECT_EQ(Emitted(gelu, 9), Emitted(gelu, 10));
  const std::string div = "def f(x: Tensor, y: Tensor) -> Tensor:\n  return torch.div(x, y)\n";
  EXPECT_NE(Emitted(div, 4).find("aten::div.Tensor(%x.1, %y.1)"), std::string::npos);
  EXPECT_NE(Emitted(div, 3).find("aten::divide.Tensor_mode"), std::string::npos);
  const std::string steps = "def f() -> Tensor:\n  return torch.linspace(0, 1)\n";
  EXPECT_NE(Emitted(steps, 7).find("aten::linspace("), std::string::npos);
  EXPECT_TRUE(Emitted(steps, 8).starts_with("error: no overload of aten::linspace takes these arguments"));
}

// All functions of the upgraders compile.
TEST(TorchScriptEmitter, KnowsEveryUpgrader) {
  const auto call = [](std::string_view code, int64_t version) { return Emitted(std::string(code), version); };
  for (const std::string_view code :
       {"def f(x: Tensor) -> Tensor:\n  return torch.div(x, 2)\n", "def f(x: Tensor) -> Tensor:\n  return torch.div(x, x, rounding_mode=\"floor\")\n",
        "def f(x: Tensor) -> Tensor:\n  return torch.div(x, 2, rounding_mode=None)\n", "def f(x: Tensor) -> Tensor:\n  return torch.div_(x, x)\n",
        "def f(x: Tensor) -> Tensor:\n  return torch.div_(x, 2.5)\n", "def f(x: Tensor) -> Tensor:\n  return torch.div_(x, x, rounding_mode=None)\n",
        "def f(x: Tensor) -> Tensor:\n  return torch.div_(x, 2, rounding_mode=None)\n", "def f(x: Tensor) -> Tensor:\n  return torch.div(x, x, out=x)\n",
        "def f(x: Tensor) -> Tensor:\n  return torch.div(x, x, rounding_mode=None, out=x)\n", "def f(x: Tensor) -> Tensor:\n  return torch.full([2], 1)\n",
        "def f(x: Tensor) -> Tensor:\n  return torch.full([2], 1, out=x)\n", "def f(x: Tensor) -> Tensor:\n  return torch.linspace(0, 1, out=x)\n",
        "def f(x: Tensor) -> Tensor:\n  return torch.logspace(0, 1)\n", "def f(x: Tensor) -> Tensor:\n  return torch.logspace(0, 1, out=x)\n",
        "def f(x: Tensor) -> Tensor:\n  return torch.gelu(x, out=x)\n"}) {
    EXPECT_TRUE(call(code, 1).starts_with("graph(")) << code << call(code, 1);
  }
}

TEST(TorchScriptInliner, PutsBodiesInThePlaceOfCalls) {
  EXPECT_EQ(Emitted("def f(x: Tensor) -> Tensor:\n  _0 = __torch__.twice\n  return _0(_0(x, ), )\n"
                    "def twice(x: Tensor, n: int=2) -> Tensor:\n  return torch.mul(x, n)\n"),
            "graph(%x.1 : Tensor):\n"
            "  %0 : int = prim::Constant[value=2]()\n"
            "  %1 : Tensor = aten::mul.Scalar(%x.1, %0)\n"
            "  %2 : int = prim::Constant[value=2]()\n"
            "  %3 : Tensor = aten::mul.Scalar(%1, %2)\n"
            "  return (%3)\n");
}

TEST(TorchScriptInliner, CallsMethodsOfClasses) {
  EXPECT_EQ(Emitted("class A:\n  n : int\n  def __init__(self: __torch__.A, n: int) -> NoneType:\n    self.n = n\n    return None\n"
                    "  def get(self: __torch__.A) -> int:\n    return self.n\n"
                    "def f() -> int:\n  a = __torch__.A.__new__(__torch__.A)\n  _0 = (a).__init__(3, )\n  return (a).get()\n"),
            "graph():\n"
            "  %a.1 : __torch__.A = prim::CreateObject()\n"
            "  %0 : int = prim::Constant[value=3]()\n"
            "  prim::SetAttr[name=\"n\"](%a.1, %0)\n"
            "  %1 : NoneType = prim::Constant[value=None]()\n"
            "  %2 : int = prim::GetAttr[name=\"n\"](%a.1)\n"
            "  return (%2)\n");
}

TEST(TorchScriptInliner, EndsWhereCallsDoNot) {
  EXPECT_EQ(Emitted("def f(x: Tensor) -> Tensor:\n  return __torch__.f(x, )\n"), "error: __torch__.f calls itself");
  std::string code = "def f(x: Tensor) -> Tensor:\n  return __torch__.f0(x, )\n";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "__torch__.f" + std::to_string(i + 1);
    code += "def f" + std::to_string(i) + "(x: Tensor) -> Tensor:\n  return torch.add(" + next + "(x, ), " + next + "(x, ))\n";
  }
  code += "def f40(x: Tensor) -> Tensor:\n  return torch.relu(x)\n";
  EXPECT_EQ(Emitted(code), "error: the program has more than 1000000 nodes");
}

TEST(TorchScriptEmitter, EndsWhereForksDoNot) {
  EXPECT_EQ(Emitted("def f(x: Tensor) -> Tensor:\n  def g():\n    a = fork(g)\n    return torch.wait(a)\n  b = fork(g)\n  return torch.wait(b)\n"),
            "error: 'fork(g)': fork takes a function that is defined beside it (line 3, column 9)");
  std::string code = "def f(x: Tensor) -> Tensor:\n", indent = "  ";
  constexpr int kDepth = 40;
  for (int i = 0; i < kDepth; ++i) {
    code += indent + "def g():\n";
    indent += "  ";
  }
  code += indent + "return x\n";
  for (int i = 0; i < kDepth; ++i) {
    indent.resize(indent.size() - 2);
    code += indent + "a = fork(g)\n" + indent + "b = fork(g)\n" + indent + "return torch.wait(b)\n";
  }
  EXPECT_EQ(Emitted(code), "error: the program has more than 1000000 nodes (line 43, column 85)");
}

TEST(TorchScriptEmitter, EndsWhereTypesDoNot) {
  const auto error = [](std::string_view first, std::string_view next, int times) {
    std::string code = "def f(x: Tensor) -> Tensor:\n  t = " + std::string(first) + "\n";
    for (int i = 0; i < times; ++i) code += "  t = " + std::string(next) + "\n";
    return Emitted(code + "  return torch.add(t, x)\n");
  };
  const std::string limits = "error: a type is nested more than 64 deep, or has more than 20000 parts (line ";
  EXPECT_EQ(error("x", "(t, t)", 60), limits + "16, column 8)");
  EXPECT_EQ(error("x", "(t,)", 100'000), limits + "67, column 8)");
  EXPECT_EQ(error("x", "[t]", 100'000), limits + "67, column 7)");
  EXPECT_EQ(error("x", "{1: t}", 100'000), limits + "67, column 7)");
}

TEST(TorchScriptEmitter, SaysWhatIsWrongAndWhere) {
  const auto error = [](std::string_view line) { return Emitted("def f(x: Tensor, n: int) -> Tensor:\n  " + std::string(line) + "\n  return x\n"); };
  EXPECT_EQ(error("y = z"), "error: 'z': the name is not defined (line 2, column 7)");
  EXPECT_EQ(error("y = torch.no_such(x)"), "error: the operator aten::no_such is not known (line 2, column 7)");
  EXPECT_EQ(error("a, b, = (1, 2, 3)"), "error: 'a, b,': 3 values are assigned to 2 names (line 2, column 3)");
  EXPECT_EQ(error("y = annotate(str, n)"), "error: what is annotated has the type int, not str (line 2, column 7)");
  EXPECT_EQ(error("y = CONSTANTS.c0"), "error: 'CONSTANTS.c0': the archive has no such constant (line 2, column 7)");
  EXPECT_EQ(error("y = __torch__.g(x, )"), "error: '__torch__.g(x, )': the archive has no function or class '__torch__.g' (line 2, column 7)");
  EXPECT_EQ(error("y = (x, n)[2]"), "error: '2': the tuple has 2 elements (line 2, column 14)");
  EXPECT_EQ(error("for y in x:\n    pass"), "error: 'x': PyTorch's serializer writes loops over range() alone (line 2, column 12)");
  EXPECT_EQ(error("if torch.gt(n, 1):\n    y = 1\n  else:\n    y = \"a\"\n  z = y"),
            "error: 'y': its type is int or str, as a condition decides (line 6, column 7)");
  EXPECT_EQ(error("return n"), "error: statements follow a return (line 2, column 11)");
  EXPECT_EQ(error("break"), "error: PyTorch's serializer writes no such statement here (line 2, column 3)");
  EXPECT_EQ(error("y = annotate(Listing[int], [])"), "error: the type 'Listing' is not known (line 2, column 16)");
}

}  // namespace
}  // namespace flambeau::torchscript
