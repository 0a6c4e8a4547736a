// The cost of a conversion is linear in the program, whatever its shape: an
// eight times larger one makes eight times as many allocations, of eight times
// as many bytes. (Times would depend on the machine.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "flambeau/convert.h"
#include "flambeau/program.h"
#include "reader/torchscript/reader.h"
#include "script/specialize.h"

namespace {

struct Allocated {
  size_t calls = 0, bytes = 0;
} allocated;

}  // namespace

// Not inlined, or the compiler takes the pairs new and free for mistakes.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocated.calls;
  allocated.bytes += size;
  return std::malloc(size);
}
[[gnu::noinline]] void* operator new(size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace flambeau {
namespace {

const ValueInfo kVector = {.sizes = {int64_t{8}}, .strides = {int64_t{1}}};
const ValueInfo kElement = {};

// A program under construction.
class Sketch {
 public:
  Options options;  // of the conversion

  ValueHandle Input(const ValueInfo& info = kVector) { return builder_.AddInput(InputKind::kUser, Name(), info); }
  ValueHandle Call(std::string_view target, std::vector<Argument> arguments, const ValueInfo& result = kVector) {
    const std::string name = Name();
    const std::pair<std::string_view, ValueInfo> results[] = {{name, result}};
    return builder_.AddCall(target, arguments, {}, results, {.modules = {{"layer", "Layer"}}, .name = name})[0];
  }
  // What the next input, result or output will be called.
  std::string NextName() const { return "v" + std::to_string(names_); }
  void Output(ValueHandle value) { builder_.AddOutput(OutputKind::kUser, value, Name()); }
  Program Finish() {
    std::vector<Diagnostic> diagnostics;
    std::optional<Program> program = builder_.Finish(diagnostics);
    EXPECT_TRUE(program) << (diagnostics.empty() ? "" : diagnostics[0].message);
    return *std::move(program);
  }

 private:
  std::string Name() {
    std::string name = NextName();
    ++names_;
    return name;
  }

  ProgramBuilder builder_;
  int names_ = 0;
};

using Shape = void (*)(Sketch& sketch, int size);

void Chain(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  ValueHandle y = to.Input();
  for (int i = 0; i < size; ++i) y = to.Call(i % 2 ? "aten.mul.Tensor" : "aten.add.Tensor", {y, x});
  to.Output(y);
}
void ManyInputsAndOutputs(Sketch& to, int size) {
  std::vector<ValueHandle> inputs;
  for (int i = 0; i < size; ++i) inputs.push_back(to.Input());
  for (ValueHandle input : inputs) to.Output(to.Call("aten.relu.default", {input}));
}
void InputsAsOutputs(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  for (int i = 0; i < size; ++i) to.Output(x);
}
void NoOps(Sketch& to, int size) {
  ValueHandle x = to.Input();
  for (int i = 0; i < size; ++i) x = to.Call("aten.clone.default", {x});
  to.Output(to.Call("aten.relu.default", {x}));
}
void EqualNodes(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  ValueHandle sum = x;
  for (int i = 0; i < size; ++i) {
    const ValueHandle equal = to.Call("aten.relu.default", {x});
    sum = to.Call("aten.add.Tensor", {sum, equal});
  }
  to.Output(sum);
}
void DeadNodes(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  ValueHandle dead = x;
  for (int i = 0; i < size; ++i) dead = to.Call("aten.relu.default", {dead});
  to.Output(x);
}
void Writes(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  ValueHandle y = to.Call("aten.relu.default", {x});
  for (int i = 0; i < size; ++i) y = to.Call("aten.add_.Tensor", {y, x});
  to.Output(y);
}
void WritesThroughViews(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  const ValueHandle y = to.Call("aten.relu.default", {x});
  for (int i = 0; i < size; ++i) {
    const ValueHandle view = to.Call("aten.select.int", {y, int64_t{0}, int64_t{i % 8}}, kElement);
    to.Call("aten.mul_.Scalar", {view, 2.0}, kElement);
  }
  to.Output(y);
}
void ViewsReadAfterWrites(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  const ValueHandle y = to.Call("aten.relu.default", {x});
  std::vector<ValueHandle> views;
  for (int i = 0; i < size; ++i) views.push_back(to.Call("aten.select.int", {y, int64_t{0}, int64_t{i % 8}}, kElement));
  for (int i = 0; i < size; ++i) to.Call("aten.add_.Tensor", {y, x});
  ValueHandle sum = views[0];
  for (ValueHandle view : views) sum = to.Call("aten.add.Tensor", {sum, view}, kElement);
  to.Output(sum);
}

void ManyUsesOfOneValue(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  for (int i = 0; i < size; ++i) to.Output(to.Call("aten.mul.Scalar", {x, 0.5 + i}));
}
void WideConcat(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  Argument::List parts;
  for (int i = 0; i < size; ++i) parts.emplace_back(i % 2 ? x : to.Call("aten.mul.Scalar", {x, 0.5 + i}));
  to.Output(to.Call("aten.cat.default", {parts}, {.sizes = {int64_t{8} * size}, .strides = {int64_t{1}}}));
}
void UnrolledList(Sketch& to, int size) {
  const ValueHandle x = to.Input();
  Argument::List parts;
  ValueHandle last = x;
  for (int i = 0; i < size; ++i) parts.emplace_back(last = to.Call("aten.add.Tensor", {last, x}));
  to.Output(to.Call("aten.stack.default", {parts}, {.sizes = {int64_t{size}, int64_t{8}}, .strides = {int64_t{8}, int64_t{1}}}));
}
void ChainOfViews(Sketch& to, int size) {
  const ValueInfo matrix = {.sizes = {int64_t{2}, int64_t{4}}, .strides = {int64_t{4}, int64_t{1}}};
  ValueHandle x = to.Call("aten.relu.default", {to.Input()});
  const ValueHandle base = x;
  for (int i = 0; i < size; ++i)
    x = i % 2 ? to.Call("aten.view.default", {x, Argument::List{int64_t{8}}})
              : to.Call("aten.view.default", {x, Argument::List{int64_t{2}, int64_t{4}}}, matrix);
  to.Call("aten.mul_.Scalar", {x, 2.0}, size % 2 ? matrix : kVector);
  to.Output(base);
}
// v = v.view(…) again and again, of which each is written: size + 1 views deep.
void WrittenChain(Sketch& to, int size) {
  const ValueInfo column = {.sizes = {int64_t{8}, int64_t{1}}, .strides = {int64_t{1}, int64_t{1}}};
  ValueHandle x = to.Call("aten.relu.default", {to.Input()});
  const ValueHandle base = x;
  for (int i = 0; i < size; ++i) {
    x = i % 2 ? to.Call("aten.select.int", {x, int64_t{1}, int64_t{0}}) : to.Call("aten.unsqueeze.default", {x, int64_t{1}}, column);
    to.Call("aten.mul_.Scalar", {x, 2.0}, i % 2 ? kVector : column);
  }
  to.Output(base);
}
// The same views, of which first the last is written.
void WrittenUpwards(Sketch& to, int size) {
  const ValueInfo column = {.sizes = {int64_t{8}, int64_t{1}}, .strides = {int64_t{1}, int64_t{1}}};
  ValueHandle x = to.Call("aten.relu.default", {to.Input()});
  std::vector<ValueHandle> views = {x};
  for (int i = 0; i < size; ++i)
    views.push_back(x = i % 2 ? to.Call("aten.select.int", {x, int64_t{1}, int64_t{0}})
                              : to.Call("aten.unsqueeze.default", {x, int64_t{1}}, column));
  for (int i = size; i >= 0; --i) to.Call("aten.add_.Scalar", {views[static_cast<size_t>(i)], 2.0}, i % 2 ? column : kVector);
  to.Output(views[0]);
}
// Each piece of a list is written, and then all of them are read.
void WrittenPieces(Sketch& to, int size) {
  const ValueHandle x = to.Call("aten.relu.default", {to.Input()});
  Argument::List parts;
  for (int i = 0; i < size; ++i) {
    const ValueHandle part = to.Call("aten.clone.default", {to.Call("aten.select.int", {x, int64_t{0}, int64_t{i % 8}}, kElement)}, kElement);
    to.Call("aten.add_.Scalar", {part, 1.0 + i}, kElement);
    parts.emplace_back(part);
  }
  to.Output(to.Call("aten.stack.default", {parts}, {.sizes = {int64_t{size}}, .strides = {int64_t{1}}}));
}

void NamedDimensions(Sketch& to, int size) {
  for (int i = 0; i < size; ++i) {
    const std::string symbol = "s" + std::to_string(i);
    const ValueInfo vector = {.sizes = {symbol}, .strides = {int64_t{1}}};
    to.options.dim_names.emplace_back(to.NextName() + ".0", "in" + symbol);
    const ValueHandle relu = to.Call("aten.relu.default", {to.Input(vector)}, vector);
    to.options.dim_names.emplace_back(to.NextName() + ".0", "out" + symbol);
    to.Output(relu);
  }
}
// Inputs of which only the sizes count, which are known.
void UnusedInputs(Sketch& to, int size) {
  to.options.keep_unused_inputs = false;
  ValueHandle x = to.Input();
  for (int i = 0; i < size; ++i)
    x = to.Call("aten.expand_as.default", {to.Call("aten.add.Tensor", {x, x}), to.Input()});
  to.Output(x);
}

// Allocations since `before`, of what ends in this conversion.
Allocated CostOfConverting(Program program, Allocated before, const Options& options = {}) {
  const Outcome outcome = Convert(std::move(program), options);
  EXPECT_TRUE(outcome.model) << (outcome.diagnostics.empty() ? "" : outcome.diagnostics[0].message);
  return {allocated.calls - before.calls, allocated.bytes - before.bytes};
}

Allocated CostOf(Shape shape, int size) {
  Sketch sketch;
  shape(sketch, size);
  Program program = sketch.Finish();
  return CostOfConverting(std::move(program), allocated, sketch.options);
}

void ExpectLinear(const Allocated& small, const Allocated& large, size_t times) {
  EXPECT_LT(large.calls, small.calls * times * 5 / 4);
  EXPECT_LT(large.bytes, small.bytes * times * 3 / 2);  // tables grow in steps
}

struct NamedShape {
  const char* name;
  Shape shape;
};

class LinearCostTest : public testing::TestWithParam<NamedShape> {};

TEST_P(LinearCostTest, EightTimesTheProgramIsEightTimesTheWork) {
  constexpr int kSize = 500, kTimes = 8;
  CostOf(GetParam().shape, 8);  // tables that are made once
  const Allocated small = CostOf(GetParam().shape, kSize);
  ExpectLinear(small, CostOf(GetParam().shape, kTimes * kSize), kTimes);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearCostTest,
                         testing::Values(NamedShape{"Chain", Chain}, NamedShape{"ChainOfViews", ChainOfViews},
                                         NamedShape{"ManyUsesOfOneValue", ManyUsesOfOneValue},
                                         NamedShape{"WideConcat", WideConcat}, NamedShape{"UnrolledList", UnrolledList},
                                         NamedShape{"WrittenPieces", WrittenPieces},
                                         NamedShape{"ManyInputsAndOutputs", ManyInputsAndOutputs},
                                         NamedShape{"InputsAsOutputs", InputsAsOutputs}, NamedShape{"NoOps", NoOps},
                                         NamedShape{"EqualNodes", EqualNodes}, NamedShape{"DeadNodes", DeadNodes},
                                         NamedShape{"Writes", Writes},
                                         NamedShape{"WritesThroughViews", WritesThroughViews},
                                         NamedShape{"ViewsReadAfterWrites", ViewsReadAfterWrites},
                                         NamedShape{"WrittenChain", WrittenChain},
                                         NamedShape{"WrittenUpwards", WrittenUpwards},
                                         NamedShape{"NamedDimensions", NamedDimensions},
                                         NamedShape{"UnusedInputs", UnusedInputs}),
                         [](const auto& info) { return info.param.name; });

// A TorchScript function of one statement again and again; x is float32[2, 2].
struct Script {
  const char* name;
  std::string first;      // a line before the statements
  std::string statement;  // every $ is the number of the statement
  std::string result;
};

Allocated CostOf(const Script& script, int size) {
  std::string code = "def forward(x: Tensor) -> Tensor:\n" + script.first;
  for (int i = 0; i < size; ++i)
    for (const char c : script.statement) code += c == '$' ? std::to_string(i) : std::string(1, c);
  code += "  return " + script.result + "\n";
  const Allocated before = allocated;
  Sink sink;
  const auto graph = torchscript::ReadCode(code, "forward", sink);
  const ScriptInput x = {.name = "x", .sizes = {int64_t{2}, int64_t{2}}, .captured = {}, .constant = {}, .elements = {}, .keys = {}};
  auto program = graph ? script::Specialize(*graph, {&x, 1}, {}, sink) : Result<Program>(kFailure);
  EXPECT_TRUE(program) << (sink.diagnostics().empty() ? "" : sink.diagnostics()[0].message);
  return program ? CostOfConverting(*std::move(program), before) : Allocated{};
}

class LinearScriptCostTest : public testing::TestWithParam<Script> {};

TEST_P(LinearScriptCostTest, EightTimesTheCodeIsEightTimesTheWork) {
  constexpr int kSize = 100, kTimes = 8;
  CostOf(GetParam(), 8);
  const Allocated small = CostOf(GetParam(), kSize);
  ExpectLinear(small, CostOf(GetParam(), kTimes * kSize), kTimes);
}

INSTANTIATE_TEST_SUITE_P(
    Scripts, LinearScriptCostTest,
    testing::Values(Script{"Chain", "", "  x = torch.add(x, $.5)\n", "x"},
                    Script{"Writes", "  x = torch.clone(x)\n", "  _$ = torch.add_(torch.select(x, 0, 1), $.5)\n", "x"},
                    Script{"Lists", "  l = [x]\n", "  _$ = torch.append(l, torch.add(x, $.5))\n", "torch.cat(l)"},
                    Script{"Splits", "  l = [x]\n", "  _$ = torch.append(l, torch.add(x, $.5))\n", "torch.cat(torch.split(torch.cat(l), 1))"},
                    Script{"Branches", "",
                           "  if bool(torch.gt(torch.sum(x), $.5)):\n    x$ = torch.add(x, 1)\n  else:\n    x$ = torch.sub(x, 1)\n  x = x$\n",
                           "x"},
                    Script{"WritesInBranches", "  x = torch.clone(x)\n",
                           "  if bool(torch.gt(torch.sum(x), $.5)):\n    _$ = torch.add_(x, 1)\n  else:\n    pass\n", "x"},
                    Script{"OfOnePathAlone", "",
                           "  if bool(torch.gt(torch.sum(x), $.5)):\n    x$ = torch.add(x, 1)\n  else:\n    x$ = x\n  x = x$\n", "x"},
                    Script{"Optionals", "  o = annotate(Optional[Tensor], None)\n",
                           "  if bool(torch.gt(torch.sum(x), $.5)):\n    o$ = annotate(Optional[Tensor], torch.add(x, 1))\n  else:\n    o$ = o\n  o = o$\n"
                           "  if torch.__isnot__(o, None):\n    x$ = torch.mul(x, unchecked_cast(Tensor, o))\n  else:\n    x$ = x\n  x = x$\n",
                           "x"},
                    Script{"EntriesOfOnePathAlone", "  d = {\"a\": x, \"b\": x}\n",
                           "  if bool(torch.gt(torch.sum(x), $.5)):\n    torch._set_item(d, \"a\", torch.add(d[\"b\"], 1))\n  else:\n    pass\n", "d[\"a\"]"},
                    Script{"Rounds", "  n = int(torch.sum(x))\n", "  for i$ in range(n):\n    x = torch.add(x, i$)\n", "x"},
                    Script{"Loops", "", "  for i$ in range(torch.size(x, 0)):\n    x = torch.add(x, i$)\n", "x"},
                    Script{"Literals", "", "  x = torch.add(x, torch.tensor([$.5, 1.]))\n", "x"},
                    Script{"EitherList", "  l = [x]\n  m = [x]\n", "  _$ = torch.append(l, torch.add(x, $.5))\n  m_$ = torch.append(m, torch.sub(x, $.5))\n",
                           "torch.cat(l if bool(torch.gt(torch.sum(x), 0)) else m)"},
                    // Any two elements may be one tensor.
                    Script{"OneTensorInManyPlaces", "  y = torch.add(x, 1)\n  l = [x]\n  m = [y]\n", "  _$ = torch.append(l, x)\n  m_$ = torch.append(m, y)\n",
                           "torch.cat(l if bool(torch.gt(torch.sum(x), 0)) else m)"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace flambeau
