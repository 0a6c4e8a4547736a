#include "reader/torchscript/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "container/quote.h"
#include "reader/torchscript/emitter.h"
#include "reader/torchscript/types.h"

namespace flambeau::torchscript {
namespace {

// Deeper than modules nest.
constexpr int kMaxDepth = 256;
constexpr size_t kMaxValues = 2'000'000;
constexpr std::string_view kPickleModule = "torch.jit._pickle";

std::string Join(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

// What messages call a value; the root has no name.
std::string Called(const std::string& name) { return name.empty() ? "the module" : Quote(name); }

const TypePtr& Element(const TypePtr& type, size_t index) {
  static const TypePtr any = AnyType();
  if (!type) return any;
  const TypePtr& inner = Unwrap(type);
  return index < inner->elements.size() ? inner->elements[index] : any;
}

}  // namespace

Result<ObjectId> ObjectReader::ReadModule() {
  Sink& sink = library_.sink();
  FLAMBEAU_TRY(const Pickle pickle, ReadPickleEntry(archive_, "data.pkl", sink));
  FLAMBEAU_TRY(TensorReader tensors, TensorReader::Create(archive_, std::string(archive_.root()) + "data/", sink));
  Source source = {std::move(tensors), {}};
  FLAMBEAU_TRY(const Constant root, Read(source, pickle.root(), nullptr, "", 0));
  if (const auto* object = std::get_if<ObjectId>(&root.value)) return *object;
  return pickle.root().Error(DiagnosticKind::kBadPickle, "the archive's object is no module", sink);
}

Result<std::vector<TypedConstant>> ObjectReader::ReadConstants() {
  Sink& sink = library_.sink();
  if (archive_.Find(std::string(archive_.root()) + "constants.pkl") == nullptr) return std::vector<TypedConstant>();
  FLAMBEAU_TRY(const Pickle pickle, ReadPickleEntry(archive_, "constants.pkl", sink));
  FLAMBEAU_TRY(TensorReader tensors, TensorReader::Create(archive_, std::string(archive_.root()) + "constants/", sink));
  Source source = {std::move(tensors), {}};
  std::vector<TypedConstant> constants;
  for (uint32_t i = 0; i < pickle.root().size(); ++i) {
    FLAMBEAU_TRY(Constant constant, Read(source, pickle.root()[i], nullptr, fmt::format("CONSTANTS.c{}", i), 0));
    TypePtr type = TypeOf(constant, *objects_);
    constants.push_back({std::move(constant), std::move(type)});
  }
  return constants;
}

namespace {

// restore_type_tag(object, type) -> object
PickleValue Untagged(PickleValue value) {
  // What a call is given is older than the call, so this ends.
  while (value.IsCallOf(kPickleModule, "restore_type_tag") && value.args().size() == 2) value = value.args()[0];
  return value;
}

}  // namespace

TypePtr ObjectReader::TracedType(PickleValue value, int depth) {
  if (++values_ > kMaxValues) return nullptr;
  value = Untagged(value);
  if (const auto shape = DescribeTensor(value)) {
    auto type = std::make_shared<Type>();
    type->kind = TypeKind::kTensor;
    type->dtype = shape->dtype;
    type->sizes = shape->sizes;
    return type;
  }
  if (value.kind() != PickleKind::kTuple || depth > kMaxTypeDepth) return nullptr;
  std::vector<TypePtr> elements;
  for (uint32_t i = 0; i < value.size(); ++i) {
    TypePtr element = TracedType(value[i], depth + 1);
    if (!element) return nullptr;
    elements.push_back(std::move(element));
  }
  return TupleOf(std::move(elements));
}

Result<std::vector<TypePtr>> ObjectReader::ReadTracedTypes(std::string_view method) {
  if (archive_.Find(std::string(archive_.root()) + "traced_inputs.pkl") == nullptr) return std::vector<TypePtr>();
  FLAMBEAU_TRY(const Pickle pickle, ReadPickleEntry(archive_, "traced_inputs.pkl", library_.sink()));
  std::vector<TypePtr> types;
  const std::optional<PickleValue> found = Untagged(pickle.root()).Get(method);
  if (!found) return types;
  const PickleValue inputs = Untagged(*found);
  for (uint32_t i = 0; i < inputs.size(); ++i) types.push_back(TracedType(inputs[i], 0));
  return types;
}

Result<Constant> ObjectReader::Read(Source& source, PickleValue value, const TypePtr& type, const std::string& name,
                                    int depth) {
  if (depth > kMaxDepth)
    return value.Error(DiagnosticKind::kLimitExceeded, fmt::format("objects are nested more than {} deep", kMaxDepth),
                       library_.sink());
  if (++values_ > kMaxValues)
    return value.Error(DiagnosticKind::kLimitExceeded, fmt::format("objects have more than {} values", kMaxValues), library_.sink());
  switch (value.kind()) {
    case PickleKind::kNone: return Constant{};
    case PickleKind::kBool: return Constant{*value.AsBool()};
    case PickleKind::kInt:
      if (type && IsKind(Unwrap(type), TypeKind::kFloat)) return Constant{static_cast<double>(*value.AsInt())};
      return Constant{*value.AsInt()};
    case PickleKind::kFloat: return Constant{*value.AsFloat()};
    case PickleKind::kString: return Constant{std::string(*value.AsString())};
    case PickleKind::kBytes: return Constant{std::string(*value.AsBytes())};
    case PickleKind::kList:
    case PickleKind::kSet:
    case PickleKind::kTuple: return ReadElements(source, value, type, name, depth);
    case PickleKind::kDict: {
      DictConstant dict;
      for (uint32_t i = 0; i < value.entry_count(); ++i) {
        const auto [key, item] = value.entry(i);
        FLAMBEAU_TRY(Constant key_constant, Read(source, key, Element(type, 0), name, depth + 1));
        const std::string item_name = Join(name, key.AsString().value_or("value"));
        FLAMBEAU_TRY(Constant item_constant, Read(source, item, Element(type, 1), item_name, depth + 1));
        dict.entries.push_back({std::move(key_constant), std::move(item_constant)});
      }
      return Constant{std::move(dict)};
    }
    case PickleKind::kCall: return ReadCall(source, value, type, name, depth);
    case PickleKind::kGlobal: return Constant{fmt::format("{}.{}", value.module(), value.name())};  // of a quantizer
    case PickleKind::kPersistent: break;
  }
  return value.Error(DiagnosticKind::kBadPickle, fmt::format("{} is {}", Called(name), Describe(value.kind())), library_.sink());
}

Result<Constant> ObjectReader::ReadElements(Source& source, PickleValue list, const TypePtr& type,
                                            const std::string& name, int depth) {
  const bool tuple = list.kind() == PickleKind::kTuple;
  std::vector<Constant> elements;
  for (uint32_t i = 0; i < list.size(); ++i) {
    FLAMBEAU_TRY(Constant element, Read(source, list[i], Element(type, tuple ? i : 0), Join(name, std::to_string(i)), depth + 1));
    elements.push_back(std::move(element));
  }
  if (tuple) return Constant{TupleConstant{std::move(elements)}};
  return Constant{ListConstant{std::move(elements)}};
}

Result<Constant> ObjectReader::ReadCall(Source& source, PickleValue call, const TypePtr& type, const std::string& name,
                                        int depth) {
  if (TensorReader::IsTensor(call)) return ReadTensor(source, call, name);
  if (TensorReader::IsQuantized(call)) return ReadQuantized(source, call, name, depth);
  const PickleValue callee = call.callee(), args = call.args();
  if (callee.kind() != PickleKind::kGlobal)
    return call.Error(DiagnosticKind::kBadPickle, fmt::format("{} is the result of a call of {}", Called(name), Describe(callee.kind())), library_.sink());
  const std::string_view module = callee.module();
  if (module == kPickleModule && args.size() >= 1)  // build_intlist(list), restore_type_tag(object, type), …
    return Read(source, args[0], type, name, depth + 1);
  if (module == "torch" && callee.name() == "device" && args.size() >= 1 && args[0].AsString()) {
    std::string device(*args[0].AsString());
    if (args.size() > 1 && args[1].AsInt()) device += fmt::format(":{}", *args[1].AsInt());
    return Constant{DeviceConstant{std::move(device)}};
  }
  if (callee.name() == "complex" && args.size() == 2 && args[0].AsFloat() && args[1].AsFloat())
    return Constant{std::complex<double>(*args[0].AsFloat(), *args[1].AsFloat())};
  // Containers that Python builds by calls.
  if (module == "collections" && callee.name() == "OrderedDict") {
    DictConstant dict;
    for (uint32_t i = 0; i < call.entry_count(); ++i) {
      FLAMBEAU_TRY(Constant key, Read(source, call.entry(i).first, Element(type, 0), name, depth + 1));
      FLAMBEAU_TRY(Constant value, Read(source, call.entry(i).second, Element(type, 1), name, depth + 1));
      dict.entries.push_back({std::move(key), std::move(value)});
    }
    return Constant{std::move(dict)};
  }
  std::string class_name = fmt::format("{}.{}", module, callee.name());
  if (const auto known = source.objects.find(call.offset()); known != source.objects.end()) return Constant{known->second};
  if (module.starts_with("__torch__") && !class_name.starts_with("__torch__.torch.classes.")) {
    FLAMBEAU_TRY(const ClassInfo* info, library_.FindClass(class_name));
    if (info == nullptr)
      return call.Error(DiagnosticKind::kMissingEntry,
                        fmt::format("{} is a {}, whose code the archive does not have", Called(name), Quote(class_name)), library_.sink());
    if (info->kind == ClassKind::kEnum) return ReadEnum(call, *info);
    if (info->kind == ClassKind::kNamedTuple) {
      FLAMBEAU_TRY(const TypePtr tuple, library_.TypeOf(*info));
      return ReadElements(source, args, tuple, name, depth + 1);
    }
    return ReadInstance(source, call, *info, name, depth);
  }
  return ReadOpaque(source, call, std::move(class_name), name, depth);
}

Constant ObjectReader::InFile(StoredTensor stored) {
  if (device_ == "cpu") device_ = stored.device;
  const Encoding encoding = {stored.packed_bits, stored.swapped_width};
  std::shared_ptr<const DataSource>& storage = storages_[{stored.storage_begin, encoding}];
  if (!storage)
    storage = MakeEncodedSource(MakeFileSource(archive_.file(), stored.storage_begin, stored.storage_bytes), encoding);
  TensorData tensor;
  tensor.source = storage;
  tensor.offset = static_cast<uint64_t>(stored.storage_offset * ByteSize(stored.dtype));
  tensor.dtype = stored.dtype;
  tensor.sizes = std::move(stored.sizes);
  tensor.strides = std::move(stored.strides);
  return Constant{std::move(tensor)};
}

Result<Constant> ObjectReader::ReadTensor(Source& source, PickleValue call, const std::string& name) {
  FLAMBEAU_TRY(StoredTensor stored, source.tensors.Read(call, name));
  return InFile(std::move(stored));
}

Result<Constant> ObjectReader::ReadQuantized(Source& source, PickleValue call, const std::string& name, int depth) {
  FLAMBEAU_TRY(StoredTensor stored, source.tensors.ReadQuantized(call, name));
  FLAMBEAU_TRY(Constant quantizer, Read(source, call.args()[4], nullptr, Join(name, "quantizer"), depth + 1));
  const ObjectId id{static_cast<uint32_t>(objects_->size())};
  TypePtr type = TypeOf(quantizer, *objects_);
  Object object = {std::string(kQuantizedTensor), name, {}};
  object.attributes.Add({"data", TensorType(), InFile(std::move(stored))});
  object.attributes.Add({"quantizer", std::move(type), std::move(quantizer)});
  objects_->push_back(std::move(object));
  return Constant{id};
}

Result<Constant> ObjectReader::ReadEnum(PickleValue call, const ClassInfo& info) {
  const PickleValue args = call.args();
  for (const ClassField& member : info.fields) {
    if (!member.value || args.size() != 1) continue;
    FLAMBEAU_TRY(Constant value, library_.Literal(*info.syntax, member.value));
    const auto* integer = std::get_if<int64_t>(&value.value);
    const auto* number = std::get_if<double>(&value.value);
    const auto* text = std::get_if<std::string>(&value.value);
    if ((integer != nullptr && args[0].AsInt() == *integer) || (text != nullptr && args[0].AsString() == *text) ||
        (number != nullptr && args[0].AsFloat() == *number))
      return Constant{EnumConstant{info.name, member.name, std::make_shared<const Constant>(std::move(value))}};
  }
  return call.Error(DiagnosticKind::kBadPickle, fmt::format("no member of {} has this value", info.name), library_.sink());
}

Result<Constant> ObjectReader::ReadInstance(Source& source, PickleValue call, const ClassInfo& info,
                                            const std::string& name, int depth) {
  // Its __setstate__ alone knows what the state means.
  if (info.methods.contains("__setstate__")) {
    FLAMBEAU_TRY(Constant object, ReadOpaque(source, call, info.name, name, depth));
    unrestored_.push_back(std::get<ObjectId>(object.value));
    return object;
  }
  const ObjectId id{static_cast<uint32_t>(objects_->size())};
  source.objects.emplace(call.offset(), id);
  objects_->push_back({info.name, info.kind == ClassKind::kModule ? name : "", {}});
  const std::optional<PickleValue> state = call.state();
  if (!state) return Constant{id};
  if (state->kind() != PickleKind::kDict)
    return state->Error(DiagnosticKind::kBadPickle, fmt::format("the state of {} is no dictionary", Called(name)), library_.sink());
  for (uint32_t i = 0; i < state->entry_count(); ++i) {
    const auto [key, value] = state->entry(i);
    const auto attribute_name = key.AsString();
    if (!attribute_name) return key.Error(DiagnosticKind::kBadPickle, "the name of an attribute is no string", library_.sink());
    ObjectAttribute attribute;
    attribute.name = *attribute_name;
    if (const ClassField* field = info.Find(attribute.name); field != nullptr && field->annotation) {
      FLAMBEAU_TRY(attribute.type, library_.Resolve(*info.syntax, field->annotation));
    }
    FLAMBEAU_TRY(attribute.value, Read(source, value, attribute.type, Join(name, attribute.name), depth + 1));
    if (!attribute.type) attribute.type = TypeOf(attribute.value, *objects_);
    if (info.parameters.contains(attribute.name)) attribute.role = AttributeRole::kParameter;
    if (info.buffers.contains(attribute.name)) attribute.role = AttributeRole::kBuffer;
    (*objects_)[id.index].attributes.Add(std::move(attribute));
  }
  return Constant{id};
}

// An object of a class that is written in C++, or restores itself.
Result<Constant> ObjectReader::ReadOpaque(Source& source, PickleValue call, std::string class_name,
                                          const std::string& name, int depth) {
  const ObjectId id{static_cast<uint32_t>(objects_->size())};
  source.objects.emplace(call.offset(), id);
  objects_->push_back({std::move(class_name), name, {}});
  std::optional<PickleValue> state = call.state();
  if (!state && call.args().size() > 0) state = call.args();
  if (!state) return Constant{id};
  FLAMBEAU_TRY(Constant value, Read(source, *state, nullptr, name, depth + 1));
  TypePtr type = TypeOf(value, *objects_);
  (*objects_)[id.index].attributes.Add({std::string(kOpaqueState), std::move(type), std::move(value)});
  return Constant{id};
}

}  // namespace flambeau::torchscript
