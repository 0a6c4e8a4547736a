#include "container/torch_tensors.h"

#include <gtest/gtest.h>

#include "container/archive_builder_test.h"
#include "container/memory_file.h"

namespace flambeau {
namespace {

using testing::FirstError;
using testing::Pack;
using testing::Stored;
using testing::ZipItem;

// Pickles in the manner of torch.save, from short pieces.
std::string Int(int64_t value) {
  std::string out = "\x8a\x08";
  for (int i = 0; i < 8; ++i) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  return out;
}
std::string Str(const std::string& text) { return "U" + std::string(1, static_cast<char>(text.size())) + text; }
std::string Ints(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (const int64_t value : values) out += Int(value);
  return out + "t";
}

struct TensorText {
  std::string storage = "ctorch\nFloatStorage\n";
  std::string key = "0";
  int64_t elements = 6;
  int64_t offset = 0;
  std::vector<int64_t> sizes = {2, 3}, strides = {3, 1};
  std::string dtype;  // makes it a _rebuild_tensor_v3
  std::string metadata;

  std::string Pickled() const {
    return "ctorch._utils\n_rebuild_tensor_v" + std::string(dtype.empty() ? "2" : "3") + "\n((" + Str("storage") +
           storage + Str(key) + Str("cpu") + Int(elements) + "tQ" + Int(offset) + Ints(sizes) + Ints(strides) +
           "\x89"
           "ccollections\nOrderedDict\n)R" +
           dtype + metadata + "tR";
  }
};
std::string Parameter(const TensorText& tensor) {
  return "ctorch._utils\n_rebuild_parameter\n(" + tensor.Pickled() +
         "\x88"
         "ccollections\nOrderedDict\n)RtR";
}
std::string Archive(const std::string& pickle, std::vector<ZipItem> more = {}) {
  std::vector<ZipItem> items = {Stored("m/data.pkl", "\x80\2" + pickle + "."),
                                Stored("m/data/0", std::string(24, 'w'))};
  items.insert(items.end(), more.begin(), more.end());
  return Pack(items);
}
std::string Dict(const std::string& tensor) { return "}(" + Str("w") + tensor + "u"; }

Result<std::vector<StoredTensor>> Read(const std::string& bytes, Sink& sink) {
  FLAMBEAU_TRY(const ZipArchive archive, ZipArchive::Open(MemoryFile(bytes), sink));
  return ReadStateDict(archive, sink);
}
std::string Fault(const std::string& bytes) {
  Sink sink;
  EXPECT_FALSE(Read(bytes, sink));
  return FirstError(sink);
}
// The error for a state dict with this tensor, without the place.
std::string Fault(const TensorText& tensor) {
  const std::string text = Fault(Archive(Dict(tensor.Pickled())));
  return text.substr(0, text.find(" (at byte"));
}

TEST(TorchTensorsTest, ReadsTensorsAndParameters) {
  const std::string bytes =
      Archive("ccollections\nOrderedDict\n)R(" + Str("w") + Parameter({}) + Str("b") +
                  TensorText{.offset = 2, .sizes = {2}, .strides = {2}}.Pickled() + "u}" + Str("_metadata") + "Nsb",
              {Stored("m/byteorder", "little")});
  Sink sink;
  auto tensors = Read(bytes, sink);
  ASSERT_TRUE(tensors) << FirstError(sink);
  ASSERT_EQ(tensors->size(), 2u);
  const StoredTensor& w = (*tensors)[0];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.dtype, DType::kFloat32);
  EXPECT_EQ(w.sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(w.strides, (std::vector<int64_t>{3, 1}));
  EXPECT_TRUE(w.is_parameter);
  EXPECT_TRUE(w.requires_grad);
  EXPECT_EQ(w.storage_bytes, 24u);
  EXPECT_EQ(bytes.substr(w.storage_begin, 24), std::string(24, 'w'));
  const StoredTensor& b = (*tensors)[1];
  EXPECT_EQ(b.storage_offset, 2);
  EXPECT_FALSE(b.is_parameter);
  EXPECT_FALSE(b.requires_grad);
  EXPECT_EQ(b.storage_begin, w.storage_begin);
}

TEST(TorchTensorsTest, ReadsDtypesWithoutStorageClass) {
  Sink sink;
  const TensorText tensor{.storage = "ctorch.storage\nUntypedStorage\n",
                          .elements = 24,
                          .sizes = {24},
                          .strides = {1},
                          .dtype = "ctorch\nfloat8_e5m2\n"};
  auto tensors = Read(Archive(Dict(tensor.Pickled())), sink);
  ASSERT_TRUE(tensors) << FirstError(sink);
  EXPECT_EQ((*tensors)[0].dtype, DType::kFloat8E5M2);
}

TEST(TorchTensorsTest, AcceptsEmptyAndExpandedTensors) {
  Sink sink;
  const auto empty = Read(Archive(Dict(TensorText{.offset = INT64_MAX, .sizes = {0, 3}}.Pickled())), sink);
  ASSERT_TRUE(empty) << FirstError(sink);
  EXPECT_EQ((*empty)[0].storage_offset, 0);
  EXPECT_TRUE(Read(Archive(Dict(TensorText{.sizes = {1000}, .strides = {0}}.Pickled())), sink)) << FirstError(sink);
  EXPECT_TRUE(Read(Archive(Dict(TensorText{.offset = 5, .sizes = {}, .strides = {}}.Pickled())), sink))
      << FirstError(sink);
}

TEST(TorchTensorsTest, RefusesExpansionsBeyondAllReason) {
  EXPECT_EQ(Fault(TensorText{.sizes = {int64_t{1} << 40}, .strides = {0}}),
            "bad-tensor: tensor 'w': it claims 4398046511104 bytes, of which its storage holds 24");
  EXPECT_EQ(Fault(TensorText{.sizes = {int64_t{1} << 62, 2}, .strides = {0, 0}}),
            "bad-tensor: tensor 'w': it reaches beyond its storage of 24 bytes");
}

TEST(TorchTensorsTest, SaysHowBytesAreSwapped) {
  Sink sink;
  const TensorText complex = {.storage = "ctorch\nComplexFloatStorage\n", .elements = 3, .sizes = {3}, .strides = {1}};
  const auto tensors = Read(Archive("}(" + Str("w") + TensorText{}.Pickled() + Str("c") + complex.Pickled() + "u",
                                    {Stored("m/byteorder", "big")}),
                            sink);
  ASSERT_TRUE(tensors) << FirstError(sink);
  EXPECT_EQ((*tensors)[0].swapped_width, 4);
  EXPECT_EQ((*tensors)[1].swapped_width, 4);
}

TEST(TorchTensorsTest, ReadsIntegersThatShareBytes) {
  auto quantized = [](const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, Sink& sink) -> Result<StoredTensor> {
    const std::string pickle = "ctorch._utils\n_rebuild_qtensor\n((" + Str("storage") + "ctorch\nQUInt4x2Storage\n" + Str("0") +
                               Str("cpu") + Int(24) + "tQ" + Int(0) + Ints(sizes) + Ints(strides) + "(t\x89NtR";
    FLAMBEAU_TRY(const ZipArchive archive, ZipArchive::Open(MemoryFile(Archive(pickle)), sink));
    FLAMBEAU_TRY(const Pickle parsed, ReadPickleEntry(archive, "data.pkl", sink));
    FLAMBEAU_TRY(TensorReader reader, TensorReader::Create(archive, "m/data/", sink));
    return reader.ReadQuantized(parsed.root(), "w");
  };
  Sink sink;
  const auto tensor = quantized({4, 12}, {12, 1}, sink);
  ASSERT_TRUE(tensor) << FirstError(sink);
  EXPECT_EQ(tensor->dtype, DType::kUint8);
  EXPECT_EQ(tensor->packed_bits, 4);
  EXPECT_FALSE(quantized({7, 7}, {7, 1}, sink));
  EXPECT_TRUE(FirstError(sink).starts_with("bad-tensor: tensor 'w': it reaches beyond its storage")) << FirstError(sink);
  Sink views;
  EXPECT_FALSE(quantized({12, 4}, {1, 12}, views));
  EXPECT_TRUE(FirstError(views).starts_with("bad-tensor: tensor 'w': it is a view of numbers that share bytes")) << FirstError(views);
}

TEST(TorchTensorsTest, RefusesTensorsThatDoNotFit) {
  const std::string beyond = "bad-tensor: tensor 'w': it reaches beyond its storage of 24 bytes";
  EXPECT_EQ(Fault(TensorText{.offset = 1}), beyond);
  EXPECT_EQ(Fault(TensorText{.sizes = {3, 3}}), beyond);
  EXPECT_EQ(Fault(TensorText{.offset = INT64_MAX, .sizes = {}, .strides = {}}), beyond);
  EXPECT_EQ(Fault(TensorText{.sizes = {INT64_MAX, 2}, .strides = {INT64_MAX, 1}}), beyond);
  EXPECT_EQ(Fault(TensorText{.sizes = {INT64_MAX, INT64_MAX}, .strides = {0, 0}}), beyond);
  const std::string nonsense = "bad-tensor: tensor 'w': its offset, sizes or strides make no sense";
  EXPECT_EQ(Fault(TensorText{.sizes = {-1, 3}}), nonsense);
  EXPECT_EQ(Fault(TensorText{.strides = {1}}), nonsense);
  EXPECT_EQ(Fault(TensorText{.offset = -1}), nonsense);
  EXPECT_EQ(Fault(TensorText{.elements = 7}),
            "bad-tensor: tensor 'w': its storage claims 7 elements, but has only 24 bytes");
  EXPECT_TRUE(Fault(TensorText{.key = "1"}).starts_with("missing-entry: the archive has no entry 'm/data/1'"));
  EXPECT_EQ(Fault(TensorText{.storage = "ctorch\nQUInt4x2Storage\n"}),
            "bad-tensor: tensor 'w': its storage is that of a quantized tensor");
  EXPECT_EQ(Fault(TensorText{.storage = "ctorch.storage\nUntypedStorage\n"}),
            "bad-tensor: tensor 'w': nothing says its dtype");
  EXPECT_EQ(Fault(TensorText{.dtype = "ctorch\n\n"}), "bad-tensor: tensor 'w': its dtype is unknown: ''");
  EXPECT_EQ(Fault(TensorText{.metadata = "}U\4conj\x88s"}),
            "bad-tensor: tensor 'w': it is a lazy conjugate or negative view; save .resolve_conj().resolve_neg()");
  EXPECT_EQ(Fault(TensorText{.metadata = "ctorch.jit._pickle\nrestore_type_tag\n(}U\3neg\x88s" + Str("Dict[str, bool]") + "tR"}),
            "bad-tensor: tensor 'w': it is a lazy conjugate or negative view; save .resolve_conj().resolve_neg()");
}

TEST(TorchTensorsTest, RefusesWhatIsNoStateDict) {
  EXPECT_EQ(Fault(Archive("cos\nsystem\n" + Str("echo") + "\x85R")),
            "bad-pickle: expected a dictionary of tensors, found a call of 'os.system' (at byte 20) [m/data.pkl]");
  EXPECT_EQ(Fault(Archive(Dict("cos\nsystem\n" + Str("echo") + "\x85R"))),
            "bad-tensor: tensor 'w': expected a dense tensor, found a call of 'os.system' (at byte 25) [m/data.pkl]");
  EXPECT_EQ(Fault(Archive("}(NNu")), "bad-pickle: the name of a tensor is not a string (at byte 4) [m/data.pkl]");
  EXPECT_EQ(Fault(Archive(Dict(Str("text")))),
            "bad-tensor: tensor 'w': expected a dense tensor, found a string (at byte 7) [m/data.pkl]");
  const std::string w = Str("w") + TensorText().Pickled();
  EXPECT_TRUE(Fault(Archive("}(" + w + w + "u")).starts_with("bad-pickle: two tensors are named 'w'"));
  // A parameter that is made of itself.
  EXPECT_TRUE(Fault(Archive(Dict("ctorch._utils\n_rebuild_parameter\n(ctorch._utils\n_rebuild_parameter\n(Nt"
                                 "R\x88NtR")))
                  .starts_with("bad-tensor: tensor 'w': expected a dense tensor, found a call of"));
  EXPECT_EQ(Fault(Archive("}", {Stored("m/byteorder", "middle")})),
            "bad-archive: the byte order is 'middle', neither 'little' nor 'big' [m/byteorder]");
  EXPECT_EQ(Fault(Pack({Stored("m/x", "")})), "missing-entry: the archive has no entry 'm/data.pkl'");
}

}  // namespace
}  // namespace flambeau
