#include "driver/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "container/pickle.h"
#include "container/quote.h"
#include "container/torch_tensors.h"

namespace flambeau {
namespace {

constexpr std::string_view kExport = "save the model with torch.export.save(torch.export.export(model, inputs), \"model.pt2\")";
constexpr std::string_view kWeights =
    "it holds no program: load it in Python into the model's class, and save torch.export.export(model, inputs) with torch.export.save";
constexpr std::string_view kJit = "save the module with torch.jit.save, as a zip archive that holds code";

struct Signature {
  size_t at;
  std::string_view bytes, what, hint;
};
constexpr Signature kSignatures[] = {
    {4, "PTMF", "the file is a flatbuffer of PyTorch Mobile, which holds bytecode and no code", kJit},
    {4, "ET12", "the file is a program of ExecuTorch", kExport},
    {0, "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", "the file holds pickled objects in torch.save's format before 1.6", kWeights},
    {0, "\x80\x02", "the file is a pickle, perhaps of PyTorch's format before 1.6", kWeights},
    {0, "\x80\x04", "the file is a pickle", kWeights},
    {257, "ustar", "the file is a tar archive, as torch.save wrote them before 0.1.10", kWeights},
    {8, "{\"", "the file looks like safetensors", kWeights},
    {0, "GGUF", "the file is a GGUF model", kExport},
    {0, "\x1f\x8b", "the file is compressed by gzip", "decompress it first"},
    {0, "\x89HDF", "the file is an HDF5 archive", kExport},
    {0, "\x08", "the file looks like an ONNX model", "give the archive that it came from; of the commands, diff and verify take ONNX models"},
};

// What torch.save was given.
std::string DescribePickled(PickleValue root) {
  if (TensorReader::IsTensor(root)) return "a tensor";
  const bool dictionary = root.kind() == PickleKind::kDict || root.IsCallOf("collections", "OrderedDict");
  if (dictionary) {
    uint32_t tensors = 0;
    std::string keys;
    constexpr uint32_t kShown = 5;
    for (uint32_t i = 0; i < root.entry_count(); ++i) {
      const auto [key, value] = root.entry(i);
      tensors += TensorReader::IsTensor(value);
      if (i < kShown) keys += (i != 0 ? ", " : "") + Quote(key.AsString().value_or("?"));
    }
    if (root.entry_count() > 0 && tensors == root.entry_count()) return fmt::format("a state_dict of {} tensors", tensors);
    return fmt::format("a dictionary with the keys {}{}", keys, root.entry_count() > kShown ? ", …" : "");
  }
  if (root.kind() == PickleKind::kCall && root.callee().kind() == PickleKind::kGlobal)
    return fmt::format("an object of the class {}", Quote(fmt::format("{}.{}", root.callee().module(), root.callee().name())));
  return std::string(Describe(root.kind()));
}

}  // namespace

FileKind DescribeBytes(const File& file) {
  char start[512] = {};
  const uint64_t size = std::min<uint64_t>(file.size(), sizeof start);
  if (size == 0) return {"the file is empty", std::string(kExport)};
  if (!file.Read(0, std::as_writable_bytes(std::span(start)).first(size))) return {"the file cannot be read", ""};
  const std::string_view text(start, size);
  for (const Signature& row : kSignatures)
    if (text.size() > row.at && text.substr(row.at).starts_with(row.bytes)) return {std::string(row.what), std::string(row.hint)};
  return {"the file is no zip archive", std::string(kExport)};
}

FileKind DescribeArchive(const ZipArchive& archive) {
  if (archive.Find(std::string(archive.root()) + ".data/extern_modules") != nullptr)
    return {"the file is one of torch.package, which holds Python code and pickled objects",
            "load it in Python with torch.package.PackageImporter, and save torch.export.export(model, inputs) with torch.export.save"};
  if (archive.Find(std::string(archive.root()) + "data.pkl") == nullptr)
    return {"the file is a zip archive, but not one of PyTorch's", std::string(kExport)};
  const std::string what = "the file holds pickled objects, as torch.save writes them, and no program";
  Sink unsaid;  // a broken pickle is no program either
  const Result<Pickle> pickle = ReadPickleEntry(archive, "data.pkl", unsaid);
  if (!pickle) return {what, std::string(kWeights)};
  return {fmt::format("{}: {}", what, DescribePickled(pickle->root())), std::string(kWeights)};
}

}  // namespace flambeau
