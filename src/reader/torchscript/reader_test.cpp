#include "reader/torchscript/reader.h"

#include <gtest/gtest.h>

#include "container/archive_builder_test.h"
#include "container/memory_file.h"

namespace flambeau::torchscript {
namespace {

using namespace std::string_literals;
using flambeau::testing::FirstError;
using flambeau::testing::Pack;
using flambeau::testing::Stored;
using flambeau::testing::ZipItem;

std::string Text(std::string_view text) {  // BINUNICODE
  return "X" + std::string(1, static_cast<char>(text.size())) + "\0\0\0"s + std::string(text);
}
// float32[2], of storage "0".
std::string Weight() {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + Text("storage") + "ctorch\nFloatStorage\n" + Text("0") + Text("cpu") +
         "K\x02tQK\0K\x02\x85K\x01\x85\x89"s + "ccollections\nOrderedDict\n)RtR";
}
std::string Pickle(std::string_view entries) { return "\x80\x02""c__torch__\nM\n)\x81}(" + std::string(entries) + "ub."; }

constexpr std::string_view kCode =
    "class M(Module):\n  __parameters__ = [\"w\", ]\n  __buffers__ = []\n  w : Tensor\n  same : Tensor\n  color : __torch__.Color\n  rate : float\n"
    "  sizes : List[int]\n"
    "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    w = self.w\n    return torch.mul(x, w)\n"
    "class Color(Enum):\n  RED = 1\n  GREEN = 2\n";

// The archive with those entries replaced or added.
std::string Archive(std::vector<std::pair<std::string, std::string>> changes = {}) {
  std::vector<std::pair<std::string, std::string>> entries = {
      {"version", "3\n"},
      {"code/__torch__.py", std::string(kCode)},
      {"data.pkl", Pickle(Text("w") + Weight() + Text("same") + Weight() + Text("color") + "c__torch__\nColor\nK\x02R" + Text("rate") + "K\x02" +
                          Text("sizes") + "ctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02" "e\x85R")},
      {"constants.pkl", "\x80\x02)."},
      {"data/0", std::string(8, '\0')},
  };
  for (auto& [name, data] : changes) {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& each) { return each.first == name; });
    if (found == entries.end()) {
      entries.emplace_back(name, data);
    } else {
      found->second = data;
    }
  }
  std::vector<ZipItem> items;
  for (const auto& [name, data] : entries) items.push_back(Stored("m/" + name, data));
  return Pack(items);
}

Result<Graph> Read(const std::string& bytes, Sink& sink, const std::string& method = "forward") {
  FLAMBEAU_TRY(const ZipArchive archive, ZipArchive::Open(MemoryFile(bytes), sink));
  return ReadArchive(archive, sink, method);
}
std::string Error(const std::string& bytes, const std::string& method = "forward") {
  Sink sink;
  const auto graph = Read(bytes, sink, method);
  return graph ? "none" : FirstError(sink);
}

TEST(TorchScriptArchive, GivesTheGraphAndItsState) {
  Sink sink;
  const auto graph = Read(Archive(), sink);
  ASSERT_TRUE(graph) << FirstError(sink);
  EXPECT_EQ(Print(*graph),
            "graph(%self.1 : __torch__.M, %x.1 : Tensor):\n"
            "  %w.1 : Tensor = prim::GetAttr[name=\"w\"](%self.1)\n"
            "  %0 : Tensor = aten::mul.Tensor(%x.1, %w.1)\n"
            "  return (%0)\n");
  const Object& self = (*graph)[graph->self];
  EXPECT_EQ(self.class_name, "__torch__.M");
  EXPECT_EQ(self.Find("w")->role, AttributeRole::kParameter);
  EXPECT_EQ(self.Find("same")->role, AttributeRole::kAttribute);
  const auto& weight = std::get<TensorData>(self.Find("w")->value.value);
  EXPECT_EQ(weight.sizes, std::vector<int64_t>{2});
  EXPECT_TRUE(weight.SameBytes(std::get<TensorData>(self.Find("same")->value.value)));
  EXPECT_EQ(std::get<EnumConstant>(self.Find("color")->value.value).member, "GREEN");
  EXPECT_EQ(std::get<double>(self.Find("rate")->value.value), 2.0);
  EXPECT_EQ(std::get<ListConstant>(self.Find("sizes")->value.value).elements.size(), 2u);
  ASSERT_TRUE(graph->main->nodes[0]->scopes);
  EXPECT_EQ(graph->main->nodes[0]->scopes->back().class_name, "M");
}

TEST(TorchScriptArchive, TakesDtypesAndSizesOfTracedInputs) {
  const std::string inputs = "\x80\x02}" + Text("forward") + "](" + Weight() + "es.";
  Sink sink;
  const auto graph = Read(Archive({{"traced_inputs.pkl", inputs}}), sink);  // whose bytes are not there
  ASSERT_TRUE(graph) << FirstError(sink);
  EXPECT_EQ(torchscript::Text(*graph->main->inputs[1]->type), "Tensor(float32, 2)");
}

TEST(TorchScriptArchive, KeepsOpaqueStateAsItIs) {
  Sink sink;
  const std::string packed = "c__torch__.torch.classes.quantized\nLinearPackedParamsBase\n)\x81" + Weight() + "\x85" "b";
  const auto graph = Read(Archive({{"data.pkl", Pickle(Text("w") + packed)}}), sink);
  ASSERT_TRUE(graph) << FirstError(sink);
  const ObjectId packed_id = std::get<ObjectId>((*graph)[graph->self].Find("w")->value.value);
  EXPECT_EQ((*graph)[packed_id].class_name, "__torch__.torch.classes.quantized.LinearPackedParamsBase");
  EXPECT_NE((*graph)[packed_id].Find("__state__"), nullptr);
}

TEST(TorchScriptArchive, SaysWhatIsWrong) {
  EXPECT_EQ(Error(Archive({{"version", "99"}})), "unsupported-version: the archive has version 99; versions to 10 are read [m/version]");
  EXPECT_EQ(Error(Archive({{"version", "x"}})), "bad-archive: the version of the archive is 'x', which is no number [m/version]");
  EXPECT_EQ(Error(Archive(), "backward"), "bad-program: the module has no method 'backward'");
  EXPECT_EQ(Error(Archive({{"code/__torch__.py", "class N(Module):\n  pass\n"}})),
            "missing-entry: the module is a '__torch__.M', whose code the archive does not have (at byte 16) [m/data.pkl]");
  EXPECT_EQ(Error(Archive({{"code/__torch__.py", "x = (\n"}})),
            "bad-program: the code ends inside of brackets (line 2, column 1) [m/code/__torch__.py]");
  EXPECT_EQ(Error(Archive({{"data.pkl", "\x80\x02]."}})), "bad-pickle: the archive's object is no module (at byte 2) [m/data.pkl]");
  EXPECT_EQ(Error(Archive({{"data/0", "1234"}})).substr(0, 11), "bad-tensor:");
  EXPECT_EQ(Error(Archive({{"data.pkl", Pickle(Text("color") + "c__torch__\nColor\nK\x07R")}})).substr(0, 52),
            "bad-pickle: no member of __torch__.Color has this va");
}

// A call of the module with such hooks; ones that were not scripted for it, or are not there.
TEST(TorchScriptArchive, RunsHooksThatFit) {
  const auto with = [](std::string_view hooks, std::string_view method) {
    std::string code(kCode);
    code.insert(code.find("  w : Tensor"), hooks);
    code.insert(code.find("class Color"), method);
    return Archive({{"code/__torch__.py", code}});
  };
  const std::string doubled = "  def h(self: __torch__.M,\n    inp: Tuple[Tensor],\n    out: Tensor) -> Tensor:\n    return torch.add(out, out)\n";
  Sink sink;
  const auto graph = Read(with("  __forward_hooks__ = [\"h\", ]\n", doubled), sink);
  ASSERT_TRUE(graph) << FirstError(sink);
  EXPECT_EQ(graph->main->nodes.back()->kind, "aten::add");
  EXPECT_EQ(Error(with("  __forward_hooks__ = [\"g\", ]\n", doubled)), "bad-program: a call of __torch__.M: there is no hook 'g'");
  EXPECT_EQ(Error(with("  __forward_pre_hooks__ = [\"h\", ]\n", doubled)), "bad-program: a call of __torch__.M: 'h' does not take what it is given");
  EXPECT_EQ(Error(with("  __forward_hooks__ = [\"forward\", ]\n", doubled)).substr(0, 45), "bad-program: a call of __torch__.M: 'forward'");
}

TEST(TorchScriptArchive, StopsWhereObjectsNestTooDeep) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "](";
  for (int i = 0; i < 5000; ++i) deep += "e";
  EXPECT_EQ(Error(Archive({{"data.pkl", Pickle(Text("w") + deep)}})).substr(0, 60), "limit-exceeded: objects are nested more than 256 deep (at by");
  // A list that holds itself.
  EXPECT_EQ(Error(Archive({{"data.pkl", Pickle(Text("w") + "]q\x01h\x01""a")}})).substr(0, 15), "limit-exceeded:");
}

TEST(TorchScriptArchive, ReadsCodeWithoutItsSourceLines) {
  Sink sink;
  const auto graph = Read(Archive({{"code/__torch__.py.debug_pkl", "no pickle"}}), sink);
  ASSERT_TRUE(graph) << FirstError(sink);
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].severity, Severity::kWarning);
}

}  // namespace
}  // namespace flambeau::torchscript
