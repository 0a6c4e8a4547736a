// The tensors of a torch.save'd archive, described but not read.
//
// Knows how PyTorch pickles tensors (torch._utils._rebuild_*) and where it
// stores their bytes; every description has been checked against the archive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "container/pickle.h"
#include "container/zip.h"
#include "support/dtype.h"

namespace flambeau {

// Of a tensor, as c10 and numpy have it.
inline constexpr uint32_t kMostDimensions = 64;

struct StoredTensor {
  std::string name;
  DType dtype = DType::kNone;
  std::vector<int64_t> sizes, strides;  // in elements; strides are not negative
  int64_t storage_offset = 0;           // in elements
  // Tensors with the same key share their storage.
  std::string storage_key;
  uint64_t storage_begin = 0, storage_bytes = 0;  // in the archive's file
  // How the storage differs from the tensor: numbers of `packed_bits` bits, the first in the lowest bits of a byte, that
  // stand for bytes; and numbers of `swapped_width` bytes whose order is not this machine's. 0 where it does not.
  int packed_bits = 0, swapped_width = 0;
  std::string device = "cpu";  // where it was when it was saved
  bool requires_grad = false;
  bool is_parameter = false;
};

// What the pickle of a tensor says of it, whether or not its bytes are there.
struct TensorShape {
  DType dtype = DType::kNone;
  std::vector<int64_t> sizes;
};
std::optional<TensorShape> DescribeTensor(PickleValue call);

// Interprets the tensors of one archive's pickles. Storages are
// `folder` + key: "model/data/" for data.pkl, "model/constants/" for TorchScript's constants.pkl.
class TensorReader {
 public:
  static Result<TensorReader> Create(const ZipArchive& archive, std::string folder, Sink& sink);

  // Is it a call that makes a tensor or parameter? Not whether it is a sane one.
  static bool IsTensor(PickleValue value);
  // `name` is what messages call it.
  Result<StoredTensor> Read(PickleValue value, std::string name);
  // Is it a call that makes a tensor of a class that wraps others, as torchao's do?
  static bool IsWrapper(PickleValue value);
  // The tensors that it wraps, under the names of its attributes.
  Result<std::vector<StoredTensor>> ReadWrapped(PickleValue value, const std::string& name);
  // The integers of a quantized tensor; what they mean stands beside them.
  static bool IsQuantized(PickleValue value);
  Result<StoredTensor> ReadQuantized(PickleValue value, std::string name);

 private:
  TensorReader(const ZipArchive& archive, std::string folder, bool big_endian, Sink& sink)
      : archive_(&archive), folder_(std::move(folder)), big_endian_(big_endian), sink_(&sink) {}
  Status ReadTensor(PickleValue call, StoredTensor* tensor);
  Status ReadStorage(PickleValue storage, StoredTensor* tensor, bool* untyped);
  Status ReadGeometry(PickleValue call, PickleValue args, StoredTensor* tensor);
  Failure Bad(PickleValue value, const StoredTensor& tensor, const std::string& message) const;

  struct Storage {
    uint64_t begin, bytes;
  };
  const ZipArchive* archive_;
  std::string folder_;
  bool big_endian_;
  Sink* sink_;
  std::unordered_map<std::string, Storage> storages_;  // those that were found, by key
};

// A torch.save'd archive that holds one (ordered) dictionary from names to
// tensors: a state dict. In the dictionary's order.
Result<std::vector<StoredTensor>> ReadStateDict(const ZipArchive& archive, Sink& sink);

// Whether the archive's numbers are big endian: its entry `byteorder`, which older archives lack.
Result<bool> IsBigEndian(const ZipArchive& archive, Sink& sink);

// The archive's data.pkl (or another pickle under its root), parsed.
Result<Pickle> ReadPickleEntry(const ZipArchive& archive, std::string_view name, Sink& sink);

}  // namespace flambeau
