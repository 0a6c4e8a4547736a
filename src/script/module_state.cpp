// The module's state: objects, weights and constants as values of the walk.
#include <fmt/format.h>

#include "reader/torchscript/reader.h"
#include "script/evaluator.h"
#include "script/quantized.h"

namespace flambeau::script {

using torchscript::Constant;
using torchscript::ObjectId;

// Objects get their cells, and weights their storages, at the start: then they
// are there before any snapshot.
void Evaluator::ImportObjects() {
  for (uint32_t i = 0; i < source_.objects.size(); ++i) heap_.Add({.class_name = source_.objects[i].class_name, .object = ObjectId{i}});
  // As where a model is called with nothing said about gradients: torch takes its
  // fused paths for inference, which compute the same, only where no gradient is asked for.
  heap_.Add({.attributes = {{"grad_enabled", true}}});
  for (uint32_t i = 0; i < source_.objects.size(); ++i)
    for (const torchscript::ObjectAttribute& attribute : source_.objects[i].attributes)
      if (std::holds_alternative<TensorData>(attribute.value.value)) {
        (void)GetAttribute(i, attribute.name);
      } else {
        Val value = Import(attribute.value, PathOf(ObjectId{i}, attribute.name));
        heap_.Edit(i).attributes.Add({attribute.name, std::move(value)});
      }
  emitter_.LinkTensors();
  for (uint32_t i = 0; i < source_.objects.size(); ++i)
    if (source_.objects[i].class_name.starts_with(kPackedClasses) && source_.objects[i].Find(torchscript::kOpaqueState) != nullptr)
      if (const Result<Val> state = GetAttribute(i, torchscript::kOpaqueState))
        (void)RestorePacked(*this, i, source_.objects[i].class_name, *state);
}

std::string Evaluator::PathOf(ObjectId object, std::string_view attribute) const {
  const std::string& owner = source_[object].path;
  if (attribute == torchscript::kOpaqueState) return owner;
  return owner.empty() ? std::string(attribute) : fmt::format("{}.{}", owner, attribute);
}

Val Evaluator::ImportTensor(const TensorData& data, InputKind kind, std::string_view path, bool persistent) {
  const auto [found, fresh] = tensors_.try_emplace(&data);
  if (fresh) found->second = emitter_.AddTensor(data, kind, path, persistent);
  return TensorVal{found->second};
}

// Constants nest no deeper than their readers let them.
Val Evaluator::Import(const Constant& constant, std::string_view path) {
  auto import_all = [&](const std::vector<Constant>& constants) {
    Vals values;
    for (size_t i = 0; i < constants.size(); ++i) values.push_back(Import(constants[i], fmt::format("{}.{}", path, i)));
    return values;
  };
  return std::visit(
      [&](const auto& value) -> Val {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return Nothing{};
        } else if constexpr (std::is_same_v<T, TensorData>) {
          return ImportTensor(value, InputKind::kConstantTensor, path, false);
        } else if constexpr (std::is_same_v<T, torchscript::DeviceConstant>) {
          return DeviceVal{value.text};
        } else if constexpr (std::is_same_v<T, torchscript::ListConstant>) {
          return List(import_all(value.elements));
        } else if constexpr (std::is_same_v<T, torchscript::TupleConstant>) {
          return Tuple(import_all(value.elements));
        } else if constexpr (std::is_same_v<T, torchscript::DictConstant>) {
          Cell cell;
          for (const auto& [key, entry] : value.entries)
            cell.entries.emplace_back(Import(key, path), Import(entry, path));
          return DictVal{heap_.Add(std::move(cell))};
        } else if constexpr (std::is_same_v<T, torchscript::EnumConstant>) {
          return EnumVal{std::make_shared<const torchscript::EnumConstant>(value)};
        } else if constexpr (std::is_same_v<T, ObjectId>) {
          // The cells of objects are the first ones, in order.
          if (value.index < source_.objects.size() && source_[value].class_name == torchscript::kQuantizedTensor)
            return ImportQuantized(source_[value], path);
          return value.index < source_.objects.size() ? Val(ObjectVal{value.index}) : Val();
        } else {
          return value;
        }
      },
      constant.value);
}

// Its scheme ("torch.per_tensor_affine"), scale and zero point and, by channel, the axis.
Val Evaluator::ImportQuantized(const torchscript::Object& object, std::string_view path) {
  const torchscript::ObjectAttribute *data = object.Find("data"), *quantizer = object.Find("quantizer");
  const auto* fields = quantizer != nullptr ? std::get_if<torchscript::TupleConstant>(&quantizer->value.value) : nullptr;
  const auto* integers = data != nullptr ? std::get_if<TensorData>(&data->value.value) : nullptr;
  if (integers == nullptr || fields == nullptr || fields->elements.size() < 3 || !IsOfQuantized(integers->dtype)) return Undefined{};
  const Val tensor = ImportTensor(*integers, InputKind::kConstantTensor, path, false);
  Grid grid = {Import(fields->elements[1], fmt::format("{}.scale", path)), Import(fields->elements[2], fmt::format("{}.zero_point", path)), {}};
  auto listed = [&](const Val& value) -> const Vals* {
    const auto* list = value.As<ListVal>();
    const auto* tuple = value.As<TupleVal>();
    return list != nullptr ? &heap_[list->cell].elements : tuple != nullptr ? tuple->elements.get() : nullptr;
  };
  if (fields->elements.size() > 3) {
    const Val axis = Import(fields->elements[3], path);
    const Vals* axes = listed(axis);  // torch 1.4 pickles lists
    grid.axis = (axes != nullptr && !axes->empty() ? axes->front() : axis).AsInt();
  }
  for (Val* numbers : {&grid.scale, &grid.zero_point})
    if (const Vals* elements = listed(*numbers))
      if (auto made = emitter_.NumbersTensor(Vals(*elements), DType::kFloat32)) *numbers = *std::move(made);
  return MakeQuantized(*tensor.As<TensorVal>(), std::move(grid));
}

Result<Val> Evaluator::GetAttribute(uint32_t cell, std::string_view name) {
  if (const NamedVal* known = heap_[cell].attributes.Find(name)) return known->second;
  const ObjectId id = heap_[cell].object;
  const torchscript::ObjectAttribute* attribute = id ? source_[id].Find(name) : nullptr;
  const auto* data = attribute != nullptr ? std::get_if<TensorData>(&attribute->value.value) : nullptr;
  if (data == nullptr)
    return sink_.Error(DiagnosticKind::kBadProgram, fmt::format("reads the attribute '{}', which the object lacks", name));
  const InputKind kind = attribute->role == torchscript::AttributeRole::kParameter ? InputKind::kParameter
                         : attribute->role == torchscript::AttributeRole::kBuffer  ? InputKind::kBuffer
                                                                                   : InputKind::kConstantTensor;
  return ImportTensor(*data, kind, PathOf(id, name), attribute->persistent);
}

Status Evaluator::SetAttribute(uint32_t cell, std::string_view name, Val value) {
  Cell& edited = heap_.Edit(cell);
  if (NamedVal* known = edited.attributes.Find(name)) {
    known->second = std::move(value);
  } else {
    edited.attributes.Add({std::string(name), std::move(value)});
  }
  return {};
}

}  // namespace flambeau::script
