// Writes models of many shapes. tests/onnx/test_writer.py runs these cases with
// FLAMBEAU_TEST_OUTPUT set and reads the files with onnx and onnxruntime.
#include "onnx/save.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "onnx/check.h"
#include "onnx/ir_version.h"
#include "onnx/names.h"
#include "onnx/reader.h"
#include "onnx/serialize.h"
#include "onnx/string_tensor.h"
#include "onnx/text.h"

namespace flambeau::onnx {
namespace {

namespace fs = std::filesystem;

class SaveTest : public testing::Test {
 protected:
  SaveTest() : graph_(&context_) {
    const char* folder = std::getenv("FLAMBEAU_TEST_OUTPUT");
    kept_ = folder != nullptr;
    folder_ = kept_ ? fs::path(folder) : fs::path(testing::TempDir()) / FolderName();
    fs::create_directories(folder_);
  }
  ~SaveTest() override {
    std::error_code ignored;
    if (!kept_) fs::remove_all(folder_, ignored);
  }
  static std::string FolderName() { return "flambeau-save-" + std::to_string(::getpid()); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  TypeId Tensor(std::vector<int64_t> sizes, DType dtype = DType::kFloat32) {
    std::vector<Expr> exprs;
    for (int64_t size : sizes) exprs.push_back(context_.exprs().Constant(size));
    return context_.Intern(Type::OfTensor(dtype, std::move(exprs)));
  }
  ValueId Op(std::string_view op, std::vector<ValueId> operands, TypeId type,
             std::vector<std::pair<std::string_view, Attribute>> attributes = {}, BlockId block = {0}) {
    std::vector<NamedAttribute> named;
    for (auto& [name, value] : attributes) named.push_back({context_.Intern(name), std::move(value)});
    return graph_.result(graph_.Append(block, context_.Intern(op), operands, std::move(named), std::span(&type, 1)));
  }
  static std::vector<std::byte> Ramp(size_t floats) {
    std::vector<std::byte> bytes(floats * sizeof(float));
    for (size_t i = 0; i < floats; ++i) {
      const auto value = static_cast<float>(i % 1000);
      std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(float));
    }
    return bytes;
  }
  ValueId Weight(std::string_view name, TensorData data) {
    const TypeId type = Tensor(data.sizes, data.dtype);
    return graph_.AddConstant(context_.Add(std::move(data)), type, context_.Intern(name));
  }
  ValueId Input(std::string_view name, TypeId type) {
    return graph_.AddInput(graph_.main(), type, context_.Intern(name));
  }
  // A file whose bytes are `bytes` after `offset` others.
  std::shared_ptr<const File> MakeFile(const std::string& name, std::span<const std::byte> bytes, size_t offset) {
    std::ofstream out(Path(name), std::ios::binary);
    out << std::string(offset, '#');
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.close();
    return Open(name);
  }
  std::shared_ptr<const File> Open(const std::string& name) {
    std::string error;
    auto file = File::Open(Path(name), &error);
    EXPECT_NE(file, nullptr) << error;
    return file;
  }
  ModelData Model(int opset = 20) {
    EXPECT_TRUE(AssignNames(graph_, {}, sink_));
    ModelData model(graph_);
    model.opset_imports = {{"", opset}};
    model.producer_name = "flambeau";
    model.ir_version = LeastIrVersion(model);
    return model;
  }
  // x[4] + w, for each of the weights given.
  ModelData Sum(std::vector<ValueId> weights, TypeId type) {
    ValueId sum = Input("x", type);
    for (ValueId weight : weights) sum = Op("Add", {sum, weight}, type);
    graph_.SetOutputs(graph_.main(), std::span(&sum, 1));
    return Model();
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  std::string Kind() const {
    return sink_.diagnostics().empty() ? "" : std::string(Slug(sink_.diagnostics().back().kind));
  }

  Context context_;
  Graph graph_;
  Sink sink_;
  fs::path folder_;
  bool kept_ = false;  // by whoever named the folder
};

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Every kind of attribute, type and name.
TEST_F(SaveTest, Everything) {
  ExprPool& exprs = context_.exprs();
  const Expr batch = exprs.Symbolic("batch");
  const TypeId dynamic = context_.Intern(Type::OfTensor(
      DType::kFloat32, {exprs.Add(exprs.Mul(exprs.Constant(2), batch), exprs.Constant(1)), exprs.Constant(3)}));
  const TypeId unknown_size = context_.Intern(Type::OfTensor(DType::kFloat32, {exprs.Anonymous(), exprs.Constant(3)}));
  const ValueId x = Input("x", dynamic);
  const ValueId condition = Input("c", Tensor({}, DType::kBool));
  const ValueId weight = Weight("fc.weight", {MakeBufferSource(Ramp(9)), 0, DType::kFloat32, {3, 3}, {}});
  const ValueId transposed = Weight("fc.weight", {MakeBufferSource(Ramp(9)), 0, DType::kFloat32, {3, 3}, {1, 3}});
  const ValueId strings = Weight("words", MakeStringTensor(std::vector<std::string>{"a", "b\"c", ""}, {3}));
  const ValueId a = Op("Gemm", {x, weight, {}}, dynamic, {{"alpha", 2.0}, {"transB", true}});
  const ValueId b = Op("MatMul", {a, transposed}, dynamic);
  const BlockId yes = graph_.AddBlock(), no = graph_.AddBlock();
  const ValueId relu = Op("Relu", {b}, unknown_size, {}, yes);
  graph_.SetOutputs(yes, std::span(&relu, 1));
  graph_.SetOutputs(no, std::span(&b, 1));
  const ValueId chosen = Op("If", {condition}, unknown_size, {{"then_branch", yes}, {"else_branch", no}});
  const ValueId reduced = Op("ReduceMax", {chosen}, Tensor({}), {{"keepdims", false}});
  const TensorData two{MakeBufferSource(Ramp(2)), 0, DType::kFloat32, {2}, {}};
  const ValueId constant = Op("Constant", {}, Tensor({2}), {{"value", context_.Add(two)}});
  const ValueId list = Op("Constant", {}, Tensor({3}), {{"value_floats", Floats{1.5, -2, 1e30}}});
  const ValueId ints = Op("Constant", {}, Tensor({2}, DType::kInt64), {{"value_ints", Ints{INT64_MIN, -1}}});
  const ValueId words = Op("Constant", {}, Tensor({2}, DType::kString), {{"value_strings", Strings{"é", "b"}}});
  const ValueId cast = Op("Cast", {reduced}, Tensor({}, DType::kBfloat16), {{"to", DType::kBfloat16}});
  Type sequence = context_[Tensor({2})];
  sequence.kind = TypeKind::kSequence;
  const ValueId tensors = Op("SequenceConstruct", {constant, constant}, context_.Intern(sequence));
  Type maybe = context_[Tensor({2})], maybe_list = sequence;
  maybe.kind = TypeKind::kOptional;
  maybe_list.kind = TypeKind::kOptionalSequence;
  const ValueId present = Op("Optional", {constant}, context_.Intern(maybe));
  const ValueId none = Op("Optional", {}, context_.Intern(maybe_list), {{"type", context_.Intern(sequence)}});
  graph_.SetOutputs(graph_.main(),
                    std::vector{chosen, chosen, x, cast, list, ints, words, strings, weight, tensors, present, none});

  ModelData model = Model();
  model.metadata = {{"author", "none"}};
  model.node_metadata = [](NodeId node, Properties& properties) {
    properties.emplace_back("id", std::to_string(node.index));
  };
  model.ir_version = LeastIrVersion(model);
  EXPECT_EQ(model.ir_version, 10);
  ASSERT_TRUE(SaveModel(model, Path("everything.onnx"), ExternalData::kAuto, {}, sink_))
      << sink_.diagnostics()[0].message;
  ASSERT_TRUE(CheckModel(model, sink_)) << sink_.diagnostics()[0].message;
  std::ofstream(Path("everything.txt")) << ModelText(model);
  const auto bytes = SerializeModel(model, true, sink_);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, Contents(Path("everything.onnx")));

  // What is read is what was written.
  Context context;
  const auto read = ReadModel(Path("everything.onnx"), &context, sink_);
  ASSERT_TRUE(read) << sink_.diagnostics()[0].message;
  EXPECT_EQ(ModelText(*read), ModelText(model));
  EXPECT_EQ(*SerializeModel(*read, true, sink_), *bytes);
}

// No bytes that a model could have crash the reader, or are taken for bytes of
// others.
TEST_F(SaveTest, DamagedModels) {
  const TypeId type = Tensor({2});
  const ValueId x = Input("x", type), weight = Weight("w", {MakeBufferSource(Ramp(2)), 0, DType::kFloat32, {2}, {}});
  const BlockId body = graph_.AddBlock();
  const ValueId inner = Op("Relu", {x}, type, {}, body);
  graph_.SetOutputs(body, std::span(&inner, 1));
  const ValueId sum =
      Op("Add", {x, weight}, type, {{"a", body}, {"b", Ints{1, 2}}, {"c", Floats{1}}, {"d", std::string("s")}});
  graph_.SetOutputs(graph_.main(), std::span(&sum, 1));
  const auto bytes = SerializeModel(Model(), true, sink_);
  ASSERT_TRUE(bytes);
  const auto survives = [](const std::string& damaged) {
    Context context;
    Sink sink;
    const auto model = ReadModel(damaged, nullptr, "/nonexistent", &context, sink);
    EXPECT_NE(static_cast<bool>(model), sink.HasErrors());
    if (model) (void)ModelText(*model);
  };
  for (size_t i = 0; i < bytes->size(); ++i) {
    survives(bytes->substr(0, i));
    for (unsigned char flip : {0x01, 0x02, 0x05, 0x08, 0x80, 0xff}) {
      std::string damaged = *bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      survives(damaged);
    }
  }
}

TEST_F(SaveTest, ReadsExternalData) {
  const auto ramp = Ramp(20000);
  const ModelData model =
      Sum({Weight("w", {MakeBufferSource(ramp), 0, DType::kFloat32, {20000}, {}})}, Tensor({20000}));
  ASSERT_TRUE(SaveModel(model, Path("outside.onnx"), ExternalData::kAlways, {}, sink_));
  Context context;
  const auto read = ReadModel(Path("outside.onnx"), &context, sink_);
  ASSERT_TRUE(read) << sink_.diagnostics()[0].message;
  const ValueId weight = Initializers(read->graph).at(0);
  EXPECT_EQ(context[read->graph[weight].data].ReadAll(1 << 20), ramp);
  fs::resize_file(Path("outside.onnx.data"), 70000);
  EXPECT_FALSE(ReadModel(Path("outside.onnx"), &context, sink_));
  EXPECT_EQ(Kind(), "bad-tensor");
  fs::remove(Path("outside.onnx.data"));
  EXPECT_FALSE(ReadModel(Path("outside.onnx"), &context, sink_));
  EXPECT_EQ(Kind(), "cannot-open");
}

// Models that other tools wrote: FLAMBEAU_TEST_INPUT names one.
TEST_F(SaveTest, ReadsAndWritesAnother) {
  const char* input = std::getenv("FLAMBEAU_TEST_INPUT");
  if (input == nullptr) GTEST_SKIP() << "only in tests/onnx/test_writer.py";
  Context context;
  const auto model = ReadModel(input, &context, sink_);
  ASSERT_TRUE(model) << sink_.diagnostics()[0].message;
  EXPECT_TRUE(SaveModel(*model, Path("again.onnx"), ExternalData::kNever, {}, sink_));
}

TEST_F(SaveTest, IrVersions) {
  std::ofstream out(Path("ir_versions.txt"));
  for (int opset = 1; opset <= 28; ++opset) {
    ModelData model(graph_);
    model.opset_imports = {{"com.microsoft", 1}, {"", opset}};
    out << opset << ' ' << LeastIrVersion(model) << '\n';
  }
  Op("Relu", {Weight("w", {MakeBufferSource(Ramp(2)), 0, DType::kFloat32, {2}, {}})}, Tensor({2}));
  ModelData weighted(graph_);
  weighted.opset_imports = {{"", 7}};
  EXPECT_EQ(LeastIrVersion(weighted), 4);
  weighted.initializers_are_inputs = true;
  EXPECT_EQ(LeastIrVersion(weighted), 3);
  const TypeId type = Tensor({2}, DType::kInt4);
  const ValueId x = Input("x", type), y = Op("Identity", {x}, type);
  graph_.SetOutputs(graph_.main(), std::span(&y, 1));
  EXPECT_EQ(LeastIrVersion(Model(20)), 10);
}

// Weights of all sources, equal ones stored once, strided ones gathered.
TEST_F(SaveTest, External) {
  constexpr int64_t kRows = 300, kColumns = 700;
  const std::vector<std::byte> ramp = Ramp(kRows * kColumns);
  const auto file = MakeFile("archive.bin", ramp, 100);
  const auto memory = MakeBufferSource(ramp);
  const auto on_disk = MakeFileSource(file, 100, ramp.size());
  const auto fetched = MakeCallbackSource(ramp.size(), [&](uint64_t offset, std::span<std::byte> out) {
    std::memcpy(out.data(), ramp.data() + offset, out.size());
    return true;
  });
  const DType f32 = DType::kFloat32;
  const std::vector<int64_t> sizes{kRows, kColumns}, transposed{1, kRows};
  std::vector<ValueId> weights{
      Weight("memory", {memory, 0, f32, sizes, {}}),
      Weight("tied", {memory, 0, f32, sizes, {}}),
      Weight("file", {on_disk, 0, f32, sizes, {}}),
      Weight("callback", {fetched, 0, f32, sizes, {}}),
      Weight("memory_t", {memory, 0, f32, sizes, transposed}),
      Weight("file_t", {on_disk, 0, f32, sizes, transposed}),
      Weight("callback_t", {fetched, 0, f32, sizes, transposed}),
      Weight("expanded", {on_disk, 40, f32, sizes, {0, 1}}),
      Weight("small", {on_disk, 400, f32, {kColumns}, {}}),
  };
  const ModelData model = Sum(weights, Tensor({kRows, kColumns}));
  EXPECT_TRUE(SaveModel(model, Path("never.onnx"), ExternalData::kNever, {}, sink_));
  EXPECT_TRUE(SaveModel(model, Path("auto.onnx"), ExternalData::kAuto, {}, sink_));
  EXPECT_TRUE(SaveModel(model, Path("always.onnx"), ExternalData::kAlways, {}, sink_));
  EXPECT_TRUE(SaveModel(model, Path("reference.onnx"), ExternalData::kReference, {}, sink_));
  EXPECT_FALSE(fs::exists(Path("never.onnx.data")));
  EXPECT_FALSE(fs::exists(Path("auto.onnx.data")));
  // Seven places of 840,000 bytes, as "tied" and "memory" are one, and right behind them "small".
  EXPECT_EQ(fs::file_size(Path("always.onnx.data")), 6 * 843776 + 840000u + 2800u);
  // "file" stays where it is.
  EXPECT_EQ(fs::file_size(Path("reference.onnx.data")), 5 * 843776 + 840000u);
  EXPECT_TRUE(sink_.diagnostics().empty());
  const auto without = SerializeModel(model, false, sink_);
  ASSERT_TRUE(without);
  EXPECT_LT(without->size(), 10000u);
}

TEST_F(SaveTest, ReferenceNeedsTheArchiveBelow) {
  fs::create_directories(folder_ / "deeper");
  const auto file = MakeFile("archive.bin", Ramp(20000), 0);
  const ModelData model =
      Sum({Weight("w", {MakeFileSource(file, 0, 80000), 0, DType::kFloat32, {20000}, {}})}, Tensor({20000}));
  EXPECT_FALSE(SaveModel(model, Path("deeper/model.onnx"), ExternalData::kReference, {}, sink_));
  EXPECT_EQ(Kind(), "bad-option");
  EXPECT_FALSE(SaveModel(model, Path("archive.bin"), ExternalData::kReference, {}, sink_));
  EXPECT_EQ(Kind(), "bad-option");
  EXPECT_EQ(fs::file_size(Path("archive.bin")), 80000u);
}

TEST_F(SaveTest, FailuresLeaveTheTarget) {
  const auto broken = MakeCallbackSource(400000, [](uint64_t, std::span<std::byte>) { return false; });
  const ModelData bad = Sum({Weight("w", {broken, 0, DType::kFloat32, {100000}, {}})}, Tensor({100000}));
  fs::create_directories(folder_ / "failures/folder.onnx");
  folder_ /= "failures";
  std::ofstream(Path("m.onnx")) << "old";
  std::ofstream(Path("m.onnx.data")) << "older";

  EXPECT_FALSE(SaveModel(bad, Path("m.onnx"), ExternalData::kAlways, {}, sink_));
  EXPECT_EQ(Kind(), "cannot-open");
  EXPECT_FALSE(SaveModel(bad, Path("m.onnx"), ExternalData::kNever, {}, sink_));
  EXPECT_EQ(Kind(), "cannot-open");
  EXPECT_FALSE(SaveModel(bad, Path("nowhere/m.onnx"), ExternalData::kNever, {}, sink_));
  EXPECT_EQ(Kind(), "cannot-write");
  EXPECT_EQ(sink_.diagnostics().back().message, "cannot write: there is no folder " + Path("nowhere"));
  EXPECT_FALSE(SaveModel(bad, Path("folder.onnx"), ExternalData::kNever, {}, sink_));
  EXPECT_EQ(sink_.diagnostics().back().message, "cannot write: it is a folder");

  EXPECT_EQ(Contents(Path("m.onnx")), "old");
  EXPECT_EQ(Contents(Path("m.onnx.data")), "older");
  EXPECT_EQ(Files(), (std::vector<std::string>{"folder.onnx", "m.onnx", "m.onnx.data"}));
}

TEST_F(SaveTest, FollowsLinksAndWritesToPipes) {
  const ModelData model = Sum({Weight("w", {MakeBufferSource(Ramp(4)), 0, DType::kFloat32, {4}, {}})}, Tensor({4}));
  std::ofstream(Path("real.onnx")) << "old";
  fs::permissions(Path("real.onnx"), fs::perms(0640));
  fs::remove(Path("link.onnx"));
  fs::create_symlink("real.onnx", Path("link.onnx"));
  ASSERT_TRUE(SaveModel(model, Path("link.onnx"), ExternalData::kAuto, {}, sink_));
  EXPECT_TRUE(fs::is_symlink(Path("link.onnx")));
  EXPECT_EQ(fs::status(Path("real.onnx")).permissions(), fs::perms(0640));
  EXPECT_GT(fs::file_size(Path("real.onnx")), 50u);
  EXPECT_TRUE(SaveModel(model, "/dev/null", ExternalData::kAuto, {}, sink_));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// The three below are long-running for the sake of the Python test, which
// measures, kills and starves them; alone they are quick, the weights being
// holes of a sparse file.
class BigSaveTest : public SaveTest {
 protected:
  ModelData Big(uint64_t bytes) {
    std::ofstream(Path("big.bin")).close();
    fs::resize_file(Path("big.bin"), bytes);
    const auto count = static_cast<int64_t>(bytes / sizeof(float));
    return Sum({Weight("w", {MakeFileSource(Open("big.bin"), 0, bytes), 0, DType::kFloat32, {count}, {}})},
               Tensor({count}));
  }
};

TEST_F(BigSaveTest, AboveTwoGigabytes) {
  const ModelData model = Big(uint64_t{3} << 30);
  EXPECT_TRUE(SaveModel(model, Path("big.onnx"), ExternalData::kReference, {}, sink_));
  EXPECT_FALSE(fs::exists(Path("big.onnx.data")));
  EXPECT_FALSE(SaveModel(model, Path("one.onnx"), ExternalData::kNever, {}, sink_));
  EXPECT_EQ(Kind(), "bad-option");
  EXPECT_FALSE(SerializeModel(model, true, sink_));
  EXPECT_EQ(Kind(), "graph-too-large");
  // Too much for one file, so `auto` wants a data file; stop it there.
  uint64_t total = 0;
  EXPECT_FALSE(SaveModel(
      model, Path("auto-big.onnx"), ExternalData::kAuto,
      [&](const Progress& progress) {
        total = progress.total;
        EXPECT_EQ(progress.stage, "writing");
        return progress.done < (64 << 20);
      },
      sink_));
  EXPECT_EQ(Kind(), "interrupted");
  EXPECT_GT(total, uint64_t{3} << 30);
  for (const std::string& name : Files()) EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
}

TEST_F(BigSaveTest, TransposedInAFile) {
  constexpr int64_t kRows = 5000, kColumns = 16000;
  std::ofstream(Path("big.bin")).close();
  fs::resize_file(Path("big.bin"), kRows * kColumns * 4);
  const auto source = MakeFileSource(Open("big.bin"), 0, kRows * kColumns * 4);
  const ModelData model =
      Sum({Weight("w", {source, 0, DType::kFloat32, {kRows, kColumns}, {1, kRows}})}, Tensor({kRows, kColumns}));
  EXPECT_TRUE(SaveModel(model, Path("transposed.onnx"), ExternalData::kAlways, {}, sink_));
  EXPECT_EQ(fs::file_size(Path("transposed.onnx.data")), kRows * kColumns * 4u);
}

TEST_F(BigSaveTest, MetadataGoesBeforeTheGraphIsTooLarge) {
  const TypeId type = Tensor({4});
  ValueId value = Input("x", type);
  for (int i = 0; i < 300; ++i) value = Op("Relu", {value}, type);
  graph_.SetOutputs(graph_.main(), std::span(&value, 1));
  ModelData model = Model();
  model.node_metadata = [text = std::string(8 << 20, 'm')](NodeId, Properties& properties) {
    properties.emplace_back("stack_trace", text);
  };
  EXPECT_TRUE(SaveModel(model, Path("dropped.onnx"), ExternalData::kAuto, {}, sink_));
  EXPECT_EQ(Kind(), "dropped-metadata");
  EXPECT_LT(fs::file_size(Path("dropped.onnx")), 100000u);

  const auto nothing = MakeCallbackSource(uint64_t{3} << 30, [](uint64_t, std::span<std::byte>) { return false; });
  const TensorData large{nothing, 0, DType::kUint8, {int64_t{3} << 30}, {}};
  (void)Op("Constant", {}, Tensor(large.sizes, large.dtype), {{"value", context_.Add(large)}});
  EXPECT_FALSE(SaveModel(Model(), Path("large.onnx"), ExternalData::kAuto, {}, sink_));
  EXPECT_EQ(Kind(), "graph-too-large");
  EXPECT_FALSE(fs::exists(Path("large.onnx")));
}

TEST_F(BigSaveTest, RunsIntoTheLimit) {
  std::signal(SIGXFSZ, SIG_IGN);
  constexpr int64_t kCount = 16 << 20;
  const auto source = MakeCallbackSource(kCount * sizeof(float), [](uint64_t, std::span<std::byte> out) {
    std::ranges::fill(out, std::byte{1});
    return true;
  });
  const ModelData model = Sum({Weight("w", {source, 0, DType::kFloat32, {kCount}, {}})}, Tensor({kCount}));
  std::ofstream(Path("limited.onnx")) << "old";
  const bool saved{SaveModel(model, Path("limited.onnx"), ExternalData::kAlways, {}, sink_)};
  for (const Diagnostic& diagnostic : sink_.diagnostics())
    std::printf("%s: %s\n", std::string(Slug(diagnostic.kind)).c_str(), diagnostic.message.c_str());
  EXPECT_EQ(saved, sink_.diagnostics().empty());
}

TEST_F(BigSaveTest, IsKilled) {
  const ModelData model = Big(256 << 20);
  std::ofstream(Path("killed.onnx")) << "old";
  EXPECT_TRUE(SaveModel(
      model, Path("killed.onnx"), ExternalData::kNever,
      [](const Progress& progress) {
        if (progress.done > (64 << 20) && std::getenv("FLAMBEAU_TEST_KILL") != nullptr) std::raise(SIGKILL);
        return true;
      },
      sink_));
}

// Time and memory are linear in the nodes, and small.
TEST_F(SaveTest, ManyNodes) {
  const char* wanted = std::getenv("FLAMBEAU_TEST_NODES");
  const int count = wanted != nullptr ? std::atoi(wanted) : 20000;
  const TypeId type = Tensor({4, 8});
  ValueId value = Input("x", type);
  for (int i = 0; i < count; ++i) value = Op("LeakyRelu", {value}, type, {{"alpha", 0.5}});
  graph_.SetOutputs(graph_.main(), std::span(&value, 1));
  const auto start = std::chrono::steady_clock::now();
  const ModelData model = Model();
  const auto named = std::chrono::steady_clock::now();
  EXPECT_TRUE(SaveModel(model, Path("many.onnx"), ExternalData::kAuto, {}, sink_));
  const auto end = std::chrono::steady_clock::now();
  using Seconds = std::chrono::duration<double>;
  std::printf("naming %.3f s, writing %.3f s\n", Seconds(named - start).count(), Seconds(end - named).count());
}

}  // namespace
}  // namespace flambeau::onnx
