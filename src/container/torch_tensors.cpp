#include "container/torch_tensors.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "container/quote.h"
#include "support/expansion.h"

namespace flambeau {
namespace {

constexpr std::string_view kUtils = "torch._utils";
// Pickles hold structure, not weights.
constexpr uint64_t kLargestPickle = uint64_t{1} << 28;

// Storage classes are named after c10's scalar types, not after the dtypes.
constexpr struct StorageRow {
  std::string_view storage;
  DType dtype;
  int packed_bits = 0;
} kStorages[] = {
    {"FloatStorage", DType::kFloat32},
    {"HalfStorage", DType::kFloat16},
    {"BFloat16Storage", DType::kBfloat16},
    {"DoubleStorage", DType::kFloat64},
    {"LongStorage", DType::kInt64},
    {"IntStorage", DType::kInt32},
    {"ShortStorage", DType::kInt16},
    {"CharStorage", DType::kInt8},
    {"ByteStorage", DType::kUint8},
    {"BoolStorage", DType::kBool},
    {"ComplexHalfStorage", DType::kComplex32},
    {"ComplexFloatStorage", DType::kComplex64},
    {"ComplexDoubleStorage", DType::kComplex128},
    {"Float8_e5m2Storage", DType::kFloat8E5M2},
    {"Float8_e4m3fnStorage", DType::kFloat8E4M3FN},
    {"Float8_e5m2fnuzStorage", DType::kFloat8E5M2FNUZ},
    {"Float8_e4m3fnuzStorage", DType::kFloat8E4M3FNUZ},
    {"Float8_e8m0fnuStorage", DType::kFloat8E8M0},
    {"UInt16Storage", DType::kUint16},
    {"UInt32Storage", DType::kUint32},
    {"UInt64Storage", DType::kUint64},
    {"QInt8Storage", DType::kInt8},
    {"QUInt8Storage", DType::kUint8},
    {"QInt32Storage", DType::kInt32},
    {"QUInt4x2Storage", DType::kUint8, 4},
    {"QUInt2x4Storage", DType::kUint8, 2},
};

const StorageRow* FindStorage(PickleValue storage) {
  if (storage.module() != "torch") return nullptr;
  const auto row = std::ranges::find(kStorages, storage.name(), &StorageRow::storage);
  return row != std::end(kStorages) ? row : nullptr;
}

// Of a tensor whose extent is known.
bool IsPacked(const StoredTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.sizes.size(); i-- > 0; expected *= tensor.sizes[i])
    if (tensor.sizes[i] > 1 && tensor.strides[i] != expected) return false;
  return true;
}

// A tuple of natural numbers.
std::optional<std::vector<int64_t>> AsNaturals(PickleValue value) {
  if ((value.kind() != PickleKind::kTuple && value.kind() != PickleKind::kList) || value.size() > kMostDimensions) {
    return std::nullopt;
  }
  std::vector<int64_t> numbers;
  for (uint32_t i = 0; i < value.size(); ++i) {
    const auto number = value[i].AsInt();
    if (!number || *number < 0) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

struct Extent {
  uint64_t reach;  // elements of the storage, from its start to the last that the tensor has
  uint64_t bytes;  // of the tensor's own elements
};

// Of a tensor with elements; nothing if one of the two is more than can be counted.
std::optional<Extent> ExtentOf(const StoredTensor& tensor) {
  const auto& sizes = tensor.sizes;
  int64_t last = tensor.storage_offset, bytes = ByteSize(tensor.dtype);
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t step = 0;
    // Zero strides make many elements of few, so their number needs its own check.
    if (__builtin_mul_overflow(sizes[i] - 1, tensor.strides[i], &step) || __builtin_add_overflow(last, step, &last) ||
        __builtin_mul_overflow(bytes, sizes[i], &bytes)) {
      return std::nullopt;
    }
  }
  return Extent{static_cast<uint64_t>(last) + 1, static_cast<uint64_t>(bytes)};
}

constexpr std::string_view kTensorModule = "torch._tensor", kOfType = "_rebuild_from_type_v2";

// What function of torch._utils rebuilds a value of what: by a call of its own, or by
// _rebuild_from_type_v2(function, type, args, state), which makes the result one of a class.
struct Rebuild {
  std::string_view function;
  PickleValue args;
};
std::optional<Rebuild> RebuildOf(PickleValue value) {
  if (value.kind() != PickleKind::kCall) return std::nullopt;
  PickleValue callee = value.callee(), args = value.args();
  if (value.IsCallOf(kTensorModule, kOfType)) {
    if (args.size() < 3 || args[2].kind() != PickleKind::kTuple) return std::nullopt;
    callee = args[0];
    args = args[2];
  }
  if (callee.kind() != PickleKind::kGlobal || callee.module() != kUtils) return std::nullopt;
  return Rebuild{callee.name(), args};
}

bool IsParameterFunction(std::string_view function) {
  return function == "_rebuild_parameter" || function == "_rebuild_parameter_with_state";
}

bool IsTensorFunction(std::string_view function) { return function == "_rebuild_tensor_v2" || function == "_rebuild_tensor_v3"; }

// The attributes of what _rebuild_from_type_v2 makes: its state is a dictionary, or that and one of slots.
PickleValue AttributesOf(PickleValue value) {
  const PickleValue state = value.args()[3];
  return state.kind() == PickleKind::kTuple && state.size() > 0 ? state[0] : state;
}

// restore_type_tag(value, type)
PickleValue Untagged(PickleValue value) {
  return value.IsCallOf("torch.jit._pickle", "restore_type_tag") && value.args().size() > 0 ? value.args()[0] : value;
}

std::string DescribeCall(PickleValue value) {
  if (value.kind() != PickleKind::kCall) return std::string(Describe(value.kind()));
  const PickleValue callee = value.callee();
  if (callee.kind() != PickleKind::kGlobal) return "a call of " + std::string(Describe(callee.kind()));
  return "a call of " + Quote(std::string(callee.module()) + "." + std::string(callee.name()));
}

}  // namespace

Result<Pickle> ReadPickleEntry(const ZipArchive& archive, std::string_view name, Sink& sink) {
  const std::string path = std::string(archive.root()) + std::string(name);
  FLAMBEAU_TRY(const ZipEntry* entry, archive.Require(path, sink));
  FLAMBEAU_TRY(const std::string bytes, archive.Read(*entry, kLargestPickle, sink));
  return Pickle::Parse(bytes, archive.Where(entry), sink);
}

std::optional<TensorShape> DescribeTensor(PickleValue call) {
  if (!call.IsCallOf(kUtils, "_rebuild_tensor_v2") || call.args().size() < 4) return std::nullopt;
  const PickleValue storage = call.args()[0];
  if (storage.kind() != PickleKind::kPersistent || storage.id().size() < 2) return std::nullopt;
  const StorageRow* row = FindStorage(storage.id()[1]);
  auto sizes = AsNaturals(call.args()[2]);
  if (row == nullptr || !sizes) return std::nullopt;
  return TensorShape{row->dtype, *std::move(sizes)};
}

Result<bool> IsBigEndian(const ZipArchive& archive, Sink& sink) {
  const ZipEntry* entry = archive.Find(std::string(archive.root()) + "byteorder");
  if (entry == nullptr) return false;  // the archive is older than the entry
  FLAMBEAU_TRY(std::string order, archive.Read(*entry, 64, sink));
  while (order.ends_with('\n') || order.ends_with('\r')) order.pop_back();
  if (order == "little") return false;
  if (order == "big") return true;
  return sink.Error(DiagnosticKind::kBadArchive, "the byte order is " + Quote(order) + ", neither 'little' nor 'big'",
                    archive.Where(entry));
}

Result<TensorReader> TensorReader::Create(const ZipArchive& archive, std::string folder, Sink& sink) {
  FLAMBEAU_TRY(const bool big_endian, IsBigEndian(archive, sink));
  return TensorReader(archive, std::move(folder), big_endian, sink);
}

bool TensorReader::IsTensor(PickleValue value) {
  const auto rebuild = RebuildOf(value);
  return rebuild && (IsTensorFunction(rebuild->function) || IsParameterFunction(rebuild->function));
}

bool TensorReader::IsWrapper(PickleValue value) {
  const auto rebuild = RebuildOf(value);
  return rebuild && rebuild->function == "_rebuild_wrapper_subclass" && value.IsCallOf(kTensorModule, kOfType) && value.args().size() > 3;
}

Result<std::vector<StoredTensor>> TensorReader::ReadWrapped(PickleValue value, const std::string& name) {
  const PickleValue attributes = AttributesOf(value);
  std::vector<StoredTensor> tensors;
  for (uint32_t i = 0; i < attributes.entry_count(); ++i) {
    const auto [key, attribute] = attributes.entry(i);
    const auto text = key.AsString();
    if (!text || !IsTensor(attribute)) continue;
    FLAMBEAU_TRY(StoredTensor tensor, Read(attribute, name + "." + std::string(*text)));
    tensor.name = std::string(*text);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Failure TensorReader::Bad(PickleValue value, const StoredTensor& tensor, const std::string& message) const {
  return value.Error(DiagnosticKind::kBadTensor, "tensor " + Quote(tensor.name) + ": " + message, *sink_);
}

Result<StoredTensor> TensorReader::Read(PickleValue value, std::string name) {
  StoredTensor tensor;
  tensor.name = std::move(name);
  PickleValue call = value;
  std::optional<bool> requires_grad;
  // _rebuild_parameter(data, requires_grad, backward_hooks), …_with_state(data, requires_grad, backward_hooks, state)
  if (const auto rebuild = RebuildOf(value); rebuild && IsParameterFunction(rebuild->function)) {
    const PickleValue args = rebuild->args;
    if (args.size() < 2 || !(requires_grad = args[1].AsBool())) {
      return Bad(value, tensor, "the arguments of " + std::string(rebuild->function) + " are not (tensor, bool, …)");
    }
    tensor.is_parameter = true;
    call = args[0];
  }
  FLAMBEAU_CHECK_OK(ReadTensor(call, &tensor));
  if (requires_grad) tensor.requires_grad = *requires_grad;
  return tensor;
}

// _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None)
// _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None)
Status TensorReader::ReadTensor(PickleValue call, StoredTensor* tensor) {
  const auto rebuild = RebuildOf(call);
  if (!rebuild || !IsTensorFunction(rebuild->function)) return Bad(call, *tensor, "expected a dense tensor, found " + DescribeCall(call));
  const bool v3 = rebuild->function == "_rebuild_tensor_v3";
  const PickleValue args = rebuild->args;
  const uint32_t metadata = v3 ? 7 : 6;
  if (args.size() < metadata || args.size() > metadata + 1) {
    return Bad(call, *tensor, "it is rebuilt from " + std::to_string(args.size()) + " arguments");
  }
  bool untyped = false;
  FLAMBEAU_CHECK_OK(ReadStorage(args[0], tensor, &untyped));
  if (tensor->packed_bits != 0) return Bad(args[0], *tensor, "its storage is that of a quantized tensor");
  if (v3) {
    const auto dtype = args[6].module() == "torch" ? DTypeFromTorchName(args[6].name()) : std::nullopt;
    if (!dtype || ByteSize(*dtype) == 0) return Bad(args[6], *tensor, "its dtype is unknown: " + Quote(args[6].name()));
    tensor->dtype = *dtype;
  } else if (untyped) {
    return Bad(args[0], *tensor, "nothing says its dtype");
  }
  const auto requires_grad = args[4].AsBool();
  if (!requires_grad) return Bad(call, *tensor, "whether it requires a gradient is no bool");
  tensor->requires_grad = *requires_grad;
  // The conjugate and negative bits change what the bytes mean. TorchScript's archives say the dictionary's type as well.
  if (args.size() > metadata && !args[metadata].IsNone() && Untagged(args[metadata]).entry_count() > 0) {
    return Bad(args[metadata], *tensor, "it is a lazy conjugate or negative view; save .resolve_conj().resolve_neg()");
  }
  return ReadGeometry(call, args, tensor);
}

// (storage, storage_offset, size, stride, …), of which the storage was read.
Status TensorReader::ReadGeometry(PickleValue call, PickleValue args, StoredTensor* tensor) {
  const auto offset = args[1].AsInt();
  const auto sizes = AsNaturals(args[2]), strides = AsNaturals(args[3]);
  if (!offset || *offset < 0 || !sizes || !strides || sizes->size() != strides->size()) {
    return Bad(call, *tensor, "its offset, sizes or strides make no sense");
  }
  tensor->storage_offset = *offset;
  tensor->sizes = *sizes;
  tensor->strides = *strides;
  if (std::ranges::find(tensor->sizes, 0) != tensor->sizes.end()) {  // the other sizes need not multiply
    tensor->storage_offset = 0;
    return {};
  }
  const auto extent = ExtentOf(*tensor);
  const auto width = static_cast<uint64_t>(ByteSize(tensor->dtype));
  const uint64_t capacity = tensor->packed_bits != 0 ? tensor->storage_bytes * static_cast<uint64_t>(8 / tensor->packed_bits)
                                                     : tensor->storage_bytes / width;
  if (!extent || extent->reach > capacity) {
    return Bad(call, *tensor, "it reaches beyond its storage of " + std::to_string(tensor->storage_bytes) + " bytes");
  }
  if (!IsCredibleExpansion(extent->bytes, tensor->storage_bytes)) {
    return Bad(call, *tensor, "it claims " + std::to_string(extent->bytes) + " bytes, of which its storage holds " +
                                  std::to_string(tensor->storage_bytes));
  }
  if (tensor->packed_bits != 0 && (tensor->storage_offset != 0 || !IsPacked(*tensor)))
    return Bad(call, *tensor, "it is a view of numbers that share bytes; save its .contiguous()");
  if (big_endian_ && width > 1) tensor->swapped_width = static_cast<int>(width) / (IsComplex(tensor->dtype) ? 2 : 1);
  return {};
}

bool TensorReader::IsQuantized(PickleValue value) { return value.IsCallOf(kUtils, "_rebuild_qtensor"); }

// _rebuild_qtensor(storage, storage_offset, size, stride, quantizer, requires_grad, backward_hooks)
Result<StoredTensor> TensorReader::ReadQuantized(PickleValue value, std::string name) {
  StoredTensor tensor;
  tensor.name = std::move(name);
  const PickleValue args = value.args();
  if (args.size() < 5) return Bad(value, tensor, "it is rebuilt from " + std::to_string(args.size()) + " arguments");
  bool untyped = false;
  FLAMBEAU_CHECK_OK(ReadStorage(args[0], &tensor, &untyped));
  if (untyped) return Bad(args[0], tensor, "nothing says its dtype");
  FLAMBEAU_CHECK_OK(ReadGeometry(value, args, &tensor));
  return tensor;
}

// The persistent id ('storage', class, key, device, elements).
Status TensorReader::ReadStorage(PickleValue storage, StoredTensor* tensor, bool* untyped) {
  if (storage.kind() != PickleKind::kPersistent) {
    return Bad(storage, *tensor, "its storage is " + DescribeCall(storage));
  }
  const PickleValue id = storage.id();
  // Old versions of torch add what is seen of the storage: None, all of it.
  const bool whole = id.kind() == PickleKind::kTuple && (id.size() == 5 || (id.size() == 6 && id[5].IsNone()));
  if (!whole || id[0].AsString() != "storage" || !id[2].AsString() ||
      !id[4].AsInt() || *id[4].AsInt() < 0) {
    return Bad(storage, *tensor, "its storage is not ('storage', class, key, device, elements)");
  }
  *untyped = id[1].IsGlobal("torch.storage", "UntypedStorage") || id[1].IsGlobal("torch", "UntypedStorage");
  const StorageRow* row = *untyped ? nullptr : FindStorage(id[1]);
  if (!*untyped && row == nullptr) return Bad(storage, *tensor, "its storage has the unknown class " + Quote(id[1].name()));
  tensor->dtype = *untyped ? DType::kUint8 : row->dtype;
  tensor->packed_bits = *untyped ? 0 : row->packed_bits;
  tensor->storage_key = *id[2].AsString();
  if (const auto device = id[3].AsString()) tensor->device = *device;
  auto found = storages_.find(tensor->storage_key);
  if (found == storages_.end()) {
    FLAMBEAU_TRY(const ZipEntry* entry, archive_->Require(folder_ + tensor->storage_key, *sink_));
    FLAMBEAU_TRY(const uint64_t begin, archive_->DataOffset(*entry, *sink_));
    found = storages_.emplace(tensor->storage_key, Storage{begin, entry->size}).first;
  }
  tensor->storage_begin = found->second.begin;
  tensor->storage_bytes = found->second.bytes;
  if (static_cast<uint64_t>(*id[4].AsInt()) > tensor->storage_bytes / static_cast<uint64_t>(ByteSize(tensor->dtype))) {
    return Bad(storage, *tensor,
               "its storage claims " + std::to_string(*id[4].AsInt()) + " elements, but has only " +
                   std::to_string(tensor->storage_bytes) + " bytes");
  }
  return {};
}

Result<std::vector<StoredTensor>> ReadStateDict(const ZipArchive& archive, Sink& sink) {
  FLAMBEAU_TRY(const Pickle pickle, ReadPickleEntry(archive, "data.pkl", sink));
  FLAMBEAU_TRY(TensorReader reader, TensorReader::Create(archive, std::string(archive.root()) + "data/", sink));
  const PickleValue dict = pickle.root();
  if (dict.kind() != PickleKind::kDict && !dict.IsCallOf("collections", "OrderedDict")) {
    return dict.Error(DiagnosticKind::kBadPickle, "expected a dictionary of tensors, found " + DescribeCall(dict),
                      sink);
  }
  std::vector<StoredTensor> tensors;
  std::unordered_set<std::string_view> names;
  for (uint32_t i = 0; i < dict.entry_count(); ++i) {
    const auto [key, value] = dict.entry(i);
    const auto name = key.AsString();
    if (!name) return key.Error(DiagnosticKind::kBadPickle, "the name of a tensor is not a string", sink);
    if (!names.insert(*name).second) {
      return key.Error(DiagnosticKind::kBadPickle, "two tensors are named " + Quote(*name), sink);
    }
    FLAMBEAU_TRY(StoredTensor tensor, reader.Read(value, std::string(*name)));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace flambeau
