#include "script/evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "lower/custom.h"
#include "lower/registry.h"
#include "reader/torchscript/reader.h"
#include "script/builtins.h"
#include "script/columns.h"
#include "script/quantized.h"
#include "script/rows.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Constant;
using torchscript::ObjectId;

namespace {

// Blocks nest as the program's own statements do.
constexpr int kMaxDepth = 200;

}  // namespace

std::string OperatorName(const torchscript::Node& node) {
  return node.overload.empty() ? node.kind : fmt::format("{}.{}", node.kind, node.overload);
}

Evaluator::Evaluator(const torchscript::Graph& source, Program::Impl& program, Sink& sink,
                     const lower::CustomOperators& custom, int opset, const Apart& apart, Library& library)
    : source_(source),
      custom_(custom),
      program_(program),
      sink_(sink),
      opset_(opset),
      emitter_(program, heap_, sink, custom, opset),
      library_(library),
      apart_(apart) {
  ImportObjects();
}

Failure Evaluator::Unsupported(std::string message, std::string hint) {
  return sink_.Error(DiagnosticKind::kUnsupportedForm, std::move(message), {}, std::move(hint));
}

Failure Evaluator::UsesUndefined(const Undefined& value) {
  if (!value.because) return Unsupported("uses a value that only some paths through the program define");
  return Unsupported(fmt::format("uses a value of which paths through the program make different things: {}", *value.because));
}

Failure Evaluator::TooLong() {
  return sink_.Error(DiagnosticKind::kLimitExceeded, fmt::format("makes a text or list of more than {} elements", kMaxLength));
}

Failure Evaluator::UnsupportedWherePathsMet(std::string message, std::string hint) {
  if (lossy_.empty()) return Unsupported(std::move(message), std::move(hint));
  ContextScope scope(sink_, At(*lossy_.back()));
  return Unsupported(std::move(message), std::move(hint));
}

const Type& Evaluator::TypeOf(TensorVal tensor) {
  Storages& storages = emitter_.storages();
  return storages.Knows(tensor.id) ? context()[storages.type(storages.ViewOf(tensor.id))] : emitter_.TypeOf(tensor.id);
}

Cell& Evaluator::Edit(uint32_t cell) {
  if (heap_[cell].is_row)
    for (uint32_t other = 0; other < heap_.size(); ++other)
      if (heap_[other].has_rows && !heap_[other].lost) heap_.Edit(other).lost = true;
  if (heap_[cell].shared)
    for (uint32_t other = 0; other < heap_.size(); ++other)
      if (other != cell && heap_[other].shared && !heap_[other].lost) heap_.Edit(other).lost = true;
  return heap_.Edit(cell);
}

bool Evaluator::IsLost(const Val& value) const {
  const auto* list = value.As<ListVal>();
  const auto* dict = value.As<DictVal>();
  return (list != nullptr && heap_[list->cell].lost) || (dict != nullptr && heap_[dict->cell].lost);
}

bool Evaluator::IsTooLong(const Val& value) const {
  if (const auto* text = value.As<std::string>()) return text->size() > kMaxLength;
  const auto* list = value.As<ListVal>();
  return list != nullptr && heap_[list->cell].elements.size() > kMaxLength;
}

std::optional<bool> Evaluator::KnownBool(const Val& value) const {
  if (const auto* b = value.As<bool>()) return *b;
  if (const auto* i = value.As<int64_t>()) return *i != 0;
  if (const auto* d = value.As<double>()) return *d != 0;
  if (const auto* number = value.As<NumberVal>()) return emitter_.Known(number->id);
  return std::nullopt;
}

// --- the module's state --------------------------------------------------------------

// Objects get their cells, and weights their storages, at the start: then they
// are there before any snapshot.
void Evaluator::ImportObjects() {
  for (uint32_t i = 0; i < source_.objects.size(); ++i) heap_.Add({.object = ObjectId{i}});
  // As where a model is called with nothing said about gradients: torch takes its
  // fused paths for inference, which compute the same, only where no gradient is asked for.
  heap_.Add({.attributes = {{"grad_enabled", true}}});
  for (uint32_t i = 0; i < source_.objects.size(); ++i)
    for (const torchscript::ObjectAttribute& attribute : source_.objects[i].attributes)
      if (std::holds_alternative<TensorData>(attribute.value.value)) {
        (void)GetAttribute(i, attribute.name);
      } else {
        Val value = Import(attribute.value, PathOf(ObjectId{i}, attribute.name));
        heap_.Edit(i).attributes.emplace_back(attribute.name, std::move(value));
      }
  for (uint32_t i = 0; i < source_.objects.size(); ++i)
    if (source_.objects[i].class_name.starts_with(kPackedClasses) && source_.objects[i].Find(torchscript::kOpaqueState) != nullptr)
      (void)RestorePacked(*this, i, source_.objects[i].class_name, heap_[i].attributes.front().second);
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
  for (const auto& [known, value] : heap_[cell].attributes)
    if (known == name) return value;
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
  for (auto& [known, old] : edited.attributes) {
    if (known != name) continue;
    old = std::move(value);
    return {};
  }
  edited.attributes.emplace_back(name, std::move(value));
  return {};
}

// --- the walk -----------------------------------------------------------------------------

Result<Vals> Evaluator::Run(std::span<const Val> inputs) {
  const Block& main = *source_.main;
  if (inputs.size() != main.inputs.size())
    return sink_.Error(DiagnosticKind::kBadProgram, fmt::format("the program has {} inputs, {} are given", main.inputs.size(), inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) Bind(main.inputs[i], inputs[i]);
  FindReturned();
  FLAMBEAU_TRY(Vals outputs, EvaluateBlock(main));
  if (sink_.HasErrors()) return kFailure;
  return outputs;
}

Result<Vals> Evaluator::CallLibrary(std::string_view code, std::string_view function, std::span<const Val> arguments) {
  const std::pair<const void*, std::string> key(code.data(), function);
  auto found = library_.find(key);
  if (found == library_.end()) {
    FLAMBEAU_TRY(torchscript::Graph graph, torchscript::ReadCode(std::string(code), key.second, sink_));
    found = library_.emplace(key, std::move(graph)).first;
  }
  const Block& body = *found->second.main;
  if (body.inputs.size() != arguments.size())
    return sink_.Error(DiagnosticKind::kInternalError, fmt::format("{} takes {} arguments", function, body.inputs.size()));
  for (size_t i = 0; i < arguments.size(); ++i) Bind(body.inputs[i], arguments[i]);
  FLAMBEAU_CHECK_OK(EvaluateBlock(body));
  if (sink_.HasErrors()) return kFailure;
  return Outputs(body);
}

const Val& Evaluator::ValueOf(const torchscript::Value* value) {
  return values_[value];
}

Vals Evaluator::Outputs(const Block& block) {
  Vals outputs;
  for (const torchscript::Value* output : block.outputs) outputs.push_back(ValueOf(output));
  return outputs;
}

OriginId Evaluator::OriginOf(const Node& node) {
  Origin origin;
  if (node.scopes) {
    auto& frames = frames_[node.scopes.get()];
    if (frames.empty())
      for (const torchscript::Scope& scope : *node.scopes)
        frames.push_back({context().Intern(scope.path), context().Intern(scope.class_name)});
    origin.modules = frames;
  }
  if (node.source) origin.stack_trace = context().Intern(*node.source);
  if (!node.outputs.empty()) origin.node_name = context().Intern(node.outputs[0]->name);
  origin.target = context().Intern(OperatorName(node));
  return context().Add(std::move(origin));
}

// A node that fails leaves its results undefined, so that one run reports all
// of what is missing.
void Evaluator::BindOutputs(const Node& node, Result<Vals> results) {
  for (size_t i = 0; i < node.outputs.size(); ++i)
    Bind(node.outputs[i], results && i < results->size() ? std::move((*results)[i]) : Val());
}

std::function<void(Diagnostic&)> Evaluator::At(const Node& node) const {
  return [&node](Diagnostic& diagnostic) {
    Location& at = diagnostic.location;
    if (at.operation.empty()) at.operation = OperatorName(node);
    if (at.module.empty() && node.scopes && !node.scopes->empty()) at.module = node.scopes->back().path;
    if (at.source.empty() && node.source) at.source = SourceLine(*node.source);
  };
}

// An If whose branch is known is walked in place: that takes a frame, no recursion.
Result<Vals> Evaluator::Walk(std::vector<Frame> frames) {
  const int outer = depth_;
  for (;;) {
    if (raised_) {
      depth_ = outer;
      return kFailure;
    }
    depth_ = outer + static_cast<int>(frames.size());
    if (depth_ > kMaxDepth) {
      depth_ = outer;
      return sink_.Error(DiagnosticKind::kLimitExceeded, fmt::format("the program nests more than {} blocks", kMaxDepth));
    }
    Frame& frame = frames.back();
    if (frame.next == frame.block->nodes.size()) {
      Vals outputs = Outputs(*frame.block);
      const Node* holder = frame.node;
      frames.pop_back();
      if (frames.empty()) {
        depth_ = outer;
        return outputs;
      }
      BindOutputs(*holder, std::move(outputs));
      continue;
    }
    const Node* next = frame.block->nodes[frame.next++];
    if (IsPeeled(*next)) {
      ContextScope scope(sink_, At(*next));
      emitter_.SetOrigin(OriginOf(*next));
      const auto peeled = Peel(*next);
      if (!peeled) BindOutputs(*next, kFailure);
      if (!peeled) continue;
      next = *peeled;
    }
    if (const Node* parted = Parted(*next)) next = parted;
    const Node& node = *next;
    if (node.kind == "prim::Constant") {
      const Constant* constant = node.Find("value");
      if (!node.outputs.empty())
        Bind(node.outputs[0], constant != nullptr ? Import(*constant, node.outputs[0]->name) : Val(Nothing{}));
      continue;
    }
    if (node.kind != "prim::If") {
      BindOutputs(node, Evaluate(node));
      continue;
    }
    ContextScope scope(sink_, At(node));
    emitter_.SetOrigin(OriginOf(node));
    Val condition = node.inputs.empty() ? Val() : ValueOf(node.inputs[0]);
    const auto taken = Decide(node, condition);
    if (!taken) {
      BindOutputs(node, kFailure);
    } else if (*taken != nullptr) {
      if (const auto given = given_.find(&node); given != given_.end())
        for (const auto& [value, val] : given->second) Bind(value, val);
      frames.push_back({*taken, 0, &node});
    } else if (apart_.contains(SourceOf(node))) {
      auto outputs = Branch(node, condition, frames);
      depth_ = outer;
      return outputs;
    } else {
      BindOutputs(node, Branch(node, condition, {}));
    }
  }
}

bool IsOnNumbers(const torchscript::Node& node) {
  return !NumberOperator(node.kind).empty() || FindTensorFunction(node.kind) != nullptr;
}

// Whether something translates the operator for some arguments.
bool Evaluator::HasTranslation(const Node& node) const {
  if (node.kind.starts_with("prim::") || IsOnNumbers(node)) return true;
  if (FindBuiltin(node.kind) != nullptr || FindBuiltinOnQuantized(node.kind) != nullptr) return true;
  const std::string name = OperatorName(node);
  const aten::Schema* schema = aten::FindSchema(name);
  // What writes has a pure counterpart, or not: functionalisation knows.
  return custom_.Handles(name) || (schema != nullptr && (schema->has_writes() || lower::FindOp(name) != nullptr));
}

Result<Vals> Evaluator::Evaluate(const Node& node) {
  ContextScope scope(sink_, At(node));
  Vals arguments;
  bool undefined = false;
  for (const torchscript::Value* input : node.inputs) {
    arguments.push_back(emitter_.Settled(ValueOf(input)));
    undefined |= arguments.back().Is<Undefined>();
    if (IsLost(arguments.back()) && node.kind != "prim::TupleConstruct" && node.kind != "prim::Loop")
      return sink_.Error(DiagnosticKind::kUnknownAliasing,
                         "reads a list or dict of which nobody knows what it holds: paths through the program made "
                         "different things of it, or wrote to what may be the same one",
                         {}, "copy the list or dict before the write");
  }
  if (undefined && node.kind != "prim::Loop" && node.kind != "prim::TupleConstruct" && node.kind != "prim::unchecked_cast") {
    if (!sink_.HasErrors())
      return UsesUndefined(*std::ranges::find_if(arguments, &Val::Is<Undefined>)->As<Undefined>());
    if (!HasTranslation(node)) return sink_.Error(DiagnosticKind::kUnsupportedOperator, fmt::format("{} has no translation", OperatorName(node)));
    return kFailure;
  }
  emitter_.SetOrigin(OriginOf(node));
  if (node.kind == "prim::Loop") return Loop(node, arguments);
  FLAMBEAU_TRY(std::optional<Vals> along, AlongEachAxis(node, arguments));
  if (along) return *std::move(along);
  if (node.kind == "aten::squeeze") {
    FLAMBEAU_TRY(std::optional<Vals> squeezed, SqueezeAtRunTime(node, arguments));
    if (squeezed) return *std::move(squeezed);
  } else if (node.kind == "aten::squeeze_" && SqueezesOpenAxis(arguments)) {
    return sink_.Error(DiagnosticKind::kUnsupportedForm,
                       "squeezes in place, and whether the size is 1 is known at run time only", {},
                       "assign what squeeze() gives, or leave the dimension static");
  }
  if (node.kind == "prim::fork" && node.blocks.size() == 1) {  // a model has one thread: the future is there at once
    FLAMBEAU_CHECK_OK(EvaluateBlock(*node.blocks[0]));
    return Outputs(*node.blocks[0]);
  }
  const size_t reported = sink_.diagnostics().size();
  auto results = Dispatch(node, arguments);
  if (!results) return tried_.contains(&node) ? RaiseIfPyTorchDoes(node, reported) : kFailure;
  if (std::ranges::any_of(*results, [&](const Val& each) { return IsTooLong(each); })) return TooLong();
  return results;
}

namespace {

// Whether the node wants to know what is in a text that is known at run time only.
bool ReadsRunTimeText(const torchscript::Node& node, std::span<const Val> arguments) {
  static constexpr std::string_view kReaders[] = {
      "aten::Float", "aten::Int",     "aten::__contains__", "aten::__getitem__", "aten::count", "aten::endswith", "aten::find",
      "aten::index", "aten::isalnum", "aten::isalpha",      "aten::isdigit",     "aten::isspace", "aten::len",    "aten::list",
      "aten::lower", "aten::lstrip",  "aten::ord",          "aten::replace",     "aten::rfind", "aten::rstrip",   "aten::slice",
      "aten::split", "aten::startswith", "aten::strip",     "aten::upper",       "prim::StringIndex"};
  return std::ranges::any_of(arguments.first(std::min<size_t>(arguments.size(), 2)), [](const Val& each) {
           const auto* text = each.As<std::string>();
           return text != nullptr && text->find(kRunTimeText) != std::string::npos;
         }) && std::ranges::find(kReaders, node.kind) != std::end(kReaders);
}

}  // namespace

Result<Vals> Evaluator::Dispatch(const Node& node, std::span<const Val> arguments) {
  if (ReadsRunTimeText(node, arguments)) return Unsupported("works on text that is known at run time only");
  const bool tensors = std::ranges::any_of(arguments, [](const Val& each) { return each.Is<TensorVal>(); });
  if (tensors && custom_.Overrides(OperatorName(node))) return CallOperator(node, arguments);
  if (std::ranges::any_of(arguments, [&](const Val& each) { return HoldsQuantized(each, heap_); }))
    if (const Builtin builtin = FindBuiltinOnQuantized(node.kind)) return builtin(*this, node, arguments);
  if (WantsRows(arguments, heap_)) return OnRows(*this, node, arguments);
  if (WantsColumns(node, arguments, heap_)) return OnColumns(*this, node, arguments);
  if (const Builtin builtin = FindBuiltin(node.kind)) return builtin(*this, node, arguments);
  return CallOperator(node, arguments);
}

// A trace's results, each as [dtype, size, …]. None if it is not so.
std::vector<Type> Evaluator::RecordedResults(const Node& node) {
  std::vector<Type> types;
  const Constant* recorded = node.Find("recorded");
  const auto* results = recorded != nullptr ? std::get_if<torchscript::ListConstant>(&recorded->value) : nullptr;
  if (results == nullptr) return types;
  for (const Constant& result : results->elements) {
    const auto* numbers = std::get_if<torchscript::ListConstant>(&result.value);
    const auto* code = numbers != nullptr && !numbers->elements.empty() ? std::get_if<int64_t>(&numbers->elements[0].value) : nullptr;
    const auto dtype = code != nullptr ? DTypeFromTorchCode(*code) : std::nullopt;
    if (!dtype) return {};
    Type type = Type::OfTensor(*dtype, {});
    for (size_t i = 1; i < numbers->elements.size(); ++i) {
      const auto* size = std::get_if<int64_t>(&numbers->elements[i].value);
      if (size == nullptr) return {};
      type.sizes.push_back(context().exprs().Constant(*size));
    }
    types.push_back(std::move(type));
  }
  return types;
}

// Of an int, TorchScript makes a float in some places where Python does not: 2 ** n, round(n).
Result<Vals> Evaluator::CallOnNumbers(const Node& node, std::span<const Val> arguments) {
  const aten::Schema* declared = aten::FindSchema(OperatorName(node));
  const bool floats = declared != nullptr && declared->returns.size() == 1 && declared->returns[0].type.base == aten::BaseType::kFloat;
  auto as_float = [&](Val value) -> Result<Val> {
    const auto* number = value.As<NumberVal>();
    const bool integer = value.Is<int64_t>() || (number != nullptr && emitter_.TypeOf(number->id).kind == TypeKind::kInt);
    if (!floats || !integer) return value;
    return emitter_.Call1("torch::sym_float", {std::move(value)});
  };
  Val result;
  if (const std::string_view op = NumberOperator(node.kind); !op.empty()) {
    const aten::Schema* schema = aten::FindSchema(op);
    Vals operands;
    for (const Val& argument : arguments.first(std::min(arguments.size(), schema->arguments.size()))) {
      FLAMBEAU_TRY(Val operand, as_float(argument));
      operands.push_back(std::move(operand));
    }
    FLAMBEAU_TRY(result, emitter_.Call1(op, operands));
    if (node.kind == "aten::log" && arguments.size() == 2) {  // to a base
      FLAMBEAU_TRY(const Val base, emitter_.Call1(op, arguments.subspan(1)));
      FLAMBEAU_TRY(result, emitter_.Call1("_operator::truediv", {result, base}));
    }
  } else {
    const TensorFunction& function = *FindTensorFunction(node.kind);
    Vals tensors;
    for (const Val& argument : arguments) {
      FLAMBEAU_TRY(Val tensor, emitter_.Call1("aten::scalar_tensor", {argument, int64_t{Info(function.dtype).torch_code}}));
      tensors.push_back(std::move(tensor));
    }
    FLAMBEAU_TRY(const Val computed, emitter_.Call1(function.op, tensors));
    FLAMBEAU_TRY(result, emitter_.Call1("aten::item", {computed}));
  }
  FLAMBEAU_TRY(result, as_float(std::move(result)));
  return Vals{std::move(result)};
}

Result<Vals> Evaluator::CallOperator(const Node& node, std::span<const Val> arguments) {
  Vals settled;
  for (const Val& argument : arguments) {
    const auto known = argument.Is<NumberVal>() ? KnownBool(argument) : std::nullopt;
    settled.push_back(known ? Val(*known) : argument);
  }
  const bool numbers = !settled.empty() && std::ranges::all_of(settled, &Val::IsNumber);
  if (numbers && IsOnNumbers(node)) return CallOnNumbers(node, settled);
  if (const auto condition = WhatDecides(node, settled)) return CallOnEachPath(node, *condition);
  return emitter_.Call(OperatorName(node), settled, RecordedResults(node));
}

}  // namespace flambeau::script
