#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "aten/builder_access.h"
#include "aten/canonical.h"
#include "aten/default_dtype.h"
#include "aten/equivalents.h"
#include "aten/guards.h"
#include "aten/program.h"
#include "aten/schema.h"
#include "diag/sink.h"
#include "ir/sympy.h"

namespace flambeau {

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

struct ProgramBuilder::Impl {
  struct Target {
    Symbol op;
    Symbol text;
    const aten::Schema* schema;
    std::optional<aten::Equivalent> equivalent;  // `op` is its operator then
    bool with_effects;
  };

  std::unique_ptr<Program::Impl> program = std::make_unique<Program::Impl>();
  Sink sink;
  std::vector<ValueId> values;   // by handle
  std::vector<BlockId> bodies;   // by handle
  std::vector<uint32_t> open;    // bodies being built, innermost last
  std::vector<ValueId> outputs;
  std::unordered_map<std::string, Expr> expressions;
  std::unordered_map<std::string, Target> targets;
  std::unordered_map<std::string, std::shared_ptr<const File>> files;

  Context& context() { return *program->context; }
  Graph& graph() { return program->graph; }
  BlockId block() const { return open.empty() ? BlockId{0} : bodies[open.back()]; }

  const Target& FindTarget(std::string_view text);
  Expr ParseSize(const SymbolicInt& size);
  TypeId TypeOf(const ValueInfo& info);
  ValueHandle Keep(ValueId value) {
    values.push_back(value);
    return {static_cast<uint32_t>(values.size() - 1)};
  }
  ValueId ValueOf(const Argument& argument);
  NodeId AddNode(Symbol op, aten::CanonicalCall call, std::span<const TypeId> types, OriginId origin);
  ValueHandle KeepResult(ValueId value, std::string_view name) {
    graph().SetName(value, context().Intern(name));
    return Keep(value);
  }
  Result<std::vector<ValueHandle>> AddEquivalents(const Target& target, const aten::CanonicalCall& call,
                                                  std::span<const std::pair<std::string_view, ValueInfo>> results, OriginId origin);
  std::vector<ValueHandle> AddEffect(ProgramBuilder& builder, std::span<const Argument> positional,
                                     std::span<const std::pair<std::string_view, Argument>> named,
                                     std::span<const std::pair<std::string_view, ValueInfo>> results,
                                     const NodeSource& source);
  OriginId AddOrigin(const NodeSource& source, Symbol target);
};

const ProgramBuilder::Impl::Target& ProgramBuilder::Impl::FindTarget(std::string_view text) {
  std::string key(text);
  if (auto it = targets.find(key); it != targets.end()) return it->second;
  const std::string name = aten::CanonicalName(text);
  constexpr std::string_view kOps = "torch.ops.";
  const std::string_view shown = text.starts_with(kOps) ? text.substr(kOps.size()) : text;
  const aten::DeclarationScope scope(program->declared);
  auto equivalent = aten::FindEquivalent(name);
  const Symbol op = context().Intern(equivalent ? equivalent->schema->name : name);
  return targets[std::move(key)] = {op, context().Intern(shown), aten::FindSchema(name), std::move(equivalent),
                                    name == "higher_order::with_effects"};
}

Expr ProgramBuilder::Impl::ParseSize(const SymbolicInt& size) {
  if (const auto* number = std::get_if<int64_t>(&size)) return context().exprs().Constant(*number);
  std::string text(std::get<std::string_view>(size));
  if (auto it = expressions.find(text); it != expressions.end()) return it->second;
  const auto parsed = ParseSympy(text, context().exprs(), sink);
  const Expr expr = parsed && !parsed->is_float ? parsed->expr : context().exprs().Anonymous();
  return expressions[std::move(text)] = expr;
}

TypeId ProgramBuilder::Impl::TypeOf(const ValueInfo& info) {
  Type type;
  switch (info.kind) {
    case ValueInfo::Kind::kTensor: {
      const auto dtype = DTypeFromTorchCode(info.dtype);
      if (!dtype) sink.Error(DiagnosticKind::kBadProgram, fmt::format("unknown scalar type {}", info.dtype));
      type = Type::OfTensor(dtype.value_or(DType::kFloat32), {});
      for (const SymbolicInt& size : info.sizes) type.sizes.push_back(ParseSize(size));
      if (info.strides.size() == info.sizes.size())
        for (const SymbolicInt& stride : info.strides) type.strides.push_back(ParseSize(stride));
      break;
    }
    case ValueInfo::Kind::kInt:
      type = Type::OfInt(info.expression ? ParseSize(*info.expression) : context().exprs().AnonymousInteger());
      break;
    case ValueInfo::Kind::kBool:
      type = Type::OfBool();
      if (info.expression) type.contents = {ParseSize(*info.expression)};
      break;
    case ValueInfo::Kind::kFloat: type = Type::OfFloat(); break;
    case ValueInfo::Kind::kNone: type = Type::OfNone(); break;
    case ValueInfo::Kind::kToken: type.kind = TypeKind::kToken; break;
    case ValueInfo::Kind::kObject: type.kind = TypeKind::kObject; break;
  }
  return context().Intern(std::move(type));
}

namespace {

// The path in the user's model: within branches and loops, captures call that `_export_root`.
std::string_view PathInModel(std::string_view path) {
  static constexpr std::string_view kRoot = "_export_root";
  if (path == kRoot) return {};
  if (path.starts_with(kRoot) && path[kRoot.size()] == '.') path.remove_prefix(kRoot.size() + 1);
  return path;
}

}  // namespace

OriginId ProgramBuilder::Impl::AddOrigin(const NodeSource& source, Symbol target) {
  Origin origin;
  origin.modules.reserve(source.modules.size());
  std::optional<std::unordered_set<Symbol>> outer;
  for (const NodeSource::Module& frame : source.modules) {
    const std::string_view in_model = PathInModel(frame.path);
    const Symbol path = context().Intern(in_model);
    // The stack around a branch or loop stands in front of the one within it.
    const bool within = in_model.size() < frame.path.size();
    if (within && !outer) {
      outer.emplace();
      for (const ModuleFrame& around : origin.modules) outer->insert(around.path);
    }
    if (within && outer->contains(path)) continue;
    if (outer) outer->insert(path);
    origin.modules.push_back({path, context().Intern(frame.class_name)});
  }
  origin.stack_trace = context().Intern(source.stack_trace);
  origin.node_name = context().Intern(source.name);
  origin.target = target;
  return context().Add(std::move(origin));
}

// The value of an output: a handle, a constant made into a value, or nothing.
ValueId ProgramBuilder::Impl::ValueOf(const Argument& argument) {
  if (const auto* handle = std::get_if<ValueHandle>(&argument.storage())) {
    if (handle->index < values.size()) return values[handle->index];
    sink.Error(DiagnosticKind::kBadProgram, "an output names a value that does not exist");
    return {};
  }
  if (std::holds_alternative<std::monostate>(argument.storage())) return {};
  const auto call = aten::Canonicalize(nullptr, "output", {&argument, 1}, {}, values, bodies, context(), sink);
  if (!call) return {};
  const Attribute& constant = call->attributes[0].value;
  Type type;
  if (const auto* i = std::get_if<int64_t>(&constant)) {
    type = Type::OfInt(context().exprs().Constant(*i));
  } else if (const auto* b = std::get_if<bool>(&constant)) {
    type = Type::OfBool();
    type.contents = {context().exprs().Constant(*b)};
  } else if (std::holds_alternative<double>(constant)) {
    type = Type::OfFloat();
  } else {
    return {};  // strings, dtypes, … are no tensors; PyTorch's exporter drops them too
  }
  const TypeId id = context().Intern(std::move(type));
  const NodeId node = graph().Append(block(), context().Intern("prim::Constant"), {},
                                     {{context().Intern("value"), constant}}, {&id, 1});
  return graph().result(node);
}

ProgramBuilder::ProgramBuilder() : impl_(std::make_unique<Impl>()) {}
ProgramBuilder::~ProgramBuilder() = default;
ProgramBuilder::ProgramBuilder(ProgramBuilder&&) noexcept = default;
ProgramBuilder& ProgramBuilder::operator=(ProgramBuilder&&) noexcept = default;

void BuilderAccess::UseFile(ProgramBuilder& builder, std::shared_ptr<const File> file) {
  builder.impl_->files[file->path()] = std::move(file);
}

Sink& BuilderAccess::SinkOf(ProgramBuilder& builder) { return builder.impl_->sink; }

void ProgramBuilder::SetTorchVersion(std::string_view version) { impl_->program->torch_version = version; }
void ProgramBuilder::SetDefaultDtype(ScalarTypeCode dtype) {
  impl_->program->default_dtype = DTypeFromTorchCode(dtype).value_or(DType::kFloat32);
}
void ProgramBuilder::SetName(std::string_view name) { impl_->program->name = name; }

void ProgramBuilder::SetRange(std::string_view symbol, std::optional<int64_t> min, std::optional<int64_t> max) {
  ExprPool& exprs = impl_->context().exprs();
  const Expr expr = impl_->ParseSize(symbol);
  if (exprs.kind(expr) == ExprKind::kSymbol)
    exprs.SetRange(expr, {min.value_or(INT64_MIN), max.value_or(INT64_MAX)});
}

void ProgramBuilder::AddGuard(std::string_view guard) {
  if (aten::PinsSizes(guard)) aten::WarnOfGuard(fmt::format("'{}'", guard), {}, impl_->sink);
}

void ProgramBuilder::NameDimension(size_t position, size_t dim, std::string_view name, std::string_view frozen_by) {
  impl_->program->dimension_names.push_back({position, dim, std::string(name), std::string(frozen_by)});
}

void ProgramBuilder::DeclareOperator(std::string_view schema) { (void)impl_->program->declared.Declare(schema); }
void ProgramBuilder::SetMetadata(std::string_view key, std::string_view value) {
  impl_->program->metadata.emplace_back(key, value);
}

ValueHandle ProgramBuilder::AddInput(InputKind kind, std::string_view name, const ValueInfo& info,
                                     std::string_view target, bool persistent) {
  Context& context = impl_->context();
  const ValueId value = impl_->graph().AddInput(impl_->graph().main(), impl_->TypeOf(info), context.Intern(name));
  impl_->program->inputs.push_back({kind, value, context.Intern(name), context.Intern(target), persistent});
  return impl_->Keep(value);
}

ValueHandle ProgramBuilder::AddTensor(InputKind kind, std::string_view name, const ValueInfo& info,
                                      TensorSource data, std::string_view target, bool persistent) {
  Context& context = impl_->context();
  TensorData tensor;
  tensor.dtype = DTypeFromTorchCode(data.dtype).value_or(DType::kNone);
  tensor.sizes = std::move(data.sizes);
  tensor.strides = std::move(data.strides);
  if (tensor.dtype == DType::kNone ||
      !FitsInSource(tensor.dtype, tensor.sizes, tensor.strides, data.storage_offset, data.storage_size))
    impl_->sink.Error(DiagnosticKind::kBadTensor,
                      fmt::format("the sizes and strides of '{}' do not fit its storage of {} bytes", target, data.storage_size));
  tensor.offset = data.storage_offset;
  if (data.memory != nullptr || data.storage_size == 0) {
    tensor.source = MakeMemorySource({static_cast<const std::byte*>(data.memory), data.storage_size}, std::move(data.owner));
  } else if (data.fetch) {
    tensor.source = MakeCallbackSource(data.storage_size, std::move(data.fetch));
  } else {
    std::string error;
    std::shared_ptr<const File>& file = impl_->files[data.file];
    if (!file) file = File::Open(data.file, &error);
    if (!file || data.file_offset > file->size() || data.storage_size > file->size() - data.file_offset) {
      impl_->sink.Error(DiagnosticKind::kBadTensor, fmt::format("the bytes of '{}' cannot be read{}{}", target,
                        error.empty() ? "" : ": ", error), {.file = data.file});
    } else {
      tensor.source = MakeFileSource(file, data.file_offset, data.storage_size);
    }
  }
  const ValueId value = impl_->graph().AddConstant(context.Add(std::move(tensor)), impl_->TypeOf(info), context.Intern(target));
  impl_->program->inputs.push_back({kind, value, context.Intern(name), context.Intern(target), persistent});
  return impl_->Keep(value);
}

// with_effects(token, op, …) is op(…), of which the token says when: programs run in the order in which they are written,
// so it is handed on as it came.
std::vector<ValueHandle> ProgramBuilder::Impl::AddEffect(ProgramBuilder& builder, std::span<const Argument> positional,
                                                         std::span<const std::pair<std::string_view, Argument>> named,
                                                         std::span<const std::pair<std::string_view, ValueInfo>> results,
                                                         const NodeSource& source) {
  const auto* token = positional.empty() ? nullptr : std::get_if<ValueHandle>(&positional[0].storage());
  const auto* op = positional.size() < 2 ? nullptr : std::get_if<std::string_view>(&positional[1].storage());
  if (token == nullptr || op == nullptr || results.empty() || FindTarget(*op).with_effects) {
    sink.Error(DiagnosticKind::kBadProgram, "with_effects takes a token and an operator, and returns the token",
               {.source = SourceLine(source.stack_trace)});
    return std::vector<ValueHandle>(results.size(), Keep({}));
  }
  std::vector<ValueHandle> handles = builder.AddCall(*op, positional.subspan(2), named, results.subspan(1), source);
  handles.insert(handles.begin(), *token);
  return handles;
}

NodeId ProgramBuilder::Impl::AddNode(Symbol op, aten::CanonicalCall call, std::span<const TypeId> types, OriginId origin) {
  const NodeId node = graph().Append(block(), op, call.operands, std::move(call.attributes), types, origin);
  context()[origin].node = node;
  return node;
}

// Of calls that the lists' elements have each, results are those of one call each. What writes to lists returns nothing,
// and what it writes to one tensor is that tensor.
Result<std::vector<ValueHandle>> ProgramBuilder::Impl::AddEquivalents(const Target& target, const aten::CanonicalCall& call,
                                                                      std::span<const std::pair<std::string_view, ValueInfo>> results,
                                                                      OriginId origin) {
  const std::string_view shown = context().Text(target.text);
  const auto bad = [&](std::string message) {
    return sink.Error(DiagnosticKind::kBadProgram, std::move(message), {.operation = std::string(shown)});
  };
  FLAMBEAU_TRY(std::vector<aten::CanonicalCall> calls, aten::Replace(*target.equivalent, call, shown, context(), sink));
  const bool each = target.equivalent->each, writes = results.empty();
  if (each && !writes && results.size() != calls.size()) return bad("has another number of results than of tensors");
  std::vector<ValueHandle> handles;
  for (aten::CanonicalCall& one : calls) {
    if (writes && (one.operands.empty() || !one.operands.front())) return bad("writes to what is no tensor");
    const auto own = each && !writes ? results.subspan(handles.size(), 1) : results;
    std::vector<TypeId> types;
    if (writes) types.push_back(graph()[one.operands.front()].type);
    for (const auto& [name, info] : own) types.push_back(TypeOf(info));
    const NodeId node = AddNode(target.op, std::move(one), types, origin);
    for (uint32_t i = 0; i < own.size(); ++i) handles.push_back(KeepResult(graph().result(node, i), own[i].first));
  }
  return handles;
}

std::vector<ValueHandle> ProgramBuilder::AddCall(std::string_view target, std::span<const Argument> positional,
                                                 std::span<const std::pair<std::string_view, Argument>> named,
                                                 std::span<const std::pair<std::string_view, ValueInfo>> results,
                                                 const NodeSource& source) {
  Context& context = impl_->context();
  const Impl::Target& found = impl_->FindTarget(target);
  if (found.with_effects) return impl_->AddEffect(*this, positional, named, results, source);
  const OriginId origin = impl_->AddOrigin(source, found.text);
  ContextScope scope(impl_->sink, [&](Diagnostic& diagnostic) {
    Location& at = diagnostic.location;
    if (at.module.empty() && !source.modules.empty()) at.module = PathInModel(source.modules.back().path);
    if (at.source.empty()) at.source = SourceLine(source.stack_trace);
    diagnostic.notes.push_back(fmt::format("in the captured node '{}'", source.name));
  });
  auto call = aten::Canonicalize(found.schema, target, positional, named, impl_->values, impl_->bodies, context, impl_->sink);
  if (call && found.equivalent) {
    if (auto handles = impl_->AddEquivalents(found, *call, results, origin)) return *std::move(handles);
    call = kFailure;  // was reported
  }
  std::vector<TypeId> types;
  types.reserve(results.size());
  for (const auto& [name, info] : results) types.push_back(impl_->TypeOf(info));
  const NodeId node = impl_->AddNode(found.op, call ? std::move(*call) : aten::CanonicalCall{}, types, origin);
  std::vector<ValueHandle> handles;
  handles.reserve(results.size());
  for (uint32_t i = 0; i < results.size(); ++i) handles.push_back(impl_->KeepResult(impl_->graph().result(node, i), results[i].first));
  return handles;
}

BodyHandle ProgramBuilder::BeginBody() {
  impl_->bodies.push_back(impl_->graph().AddBlock());
  const auto handle = static_cast<uint32_t>(impl_->bodies.size() - 1);
  impl_->open.push_back(handle);
  return {handle};
}

ValueHandle ProgramBuilder::AddBodyInput(std::string_view name, const ValueInfo& info) {
  return impl_->Keep(impl_->graph().AddInput(impl_->block(), impl_->TypeOf(info), impl_->context().Intern(name)));
}

void ProgramBuilder::EndBody(std::span<const Argument> outputs) {
  std::vector<ValueId> values;
  for (const Argument& output : outputs) values.push_back(impl_->ValueOf(output));
  if (impl_->open.empty()) {
    impl_->sink.Error(DiagnosticKind::kBadProgram, "a nested graph ends that did not begin");
    return;
  }
  impl_->graph().SetOutputs(impl_->block(), values);
  impl_->open.pop_back();
}

void ProgramBuilder::AddOutput(OutputKind kind, const Argument& value, std::string_view name, std::string_view target) {
  Context& context = impl_->context();
  impl_->outputs.push_back(impl_->ValueOf(value));
  impl_->program->outputs.push_back({kind, context.Intern(name), context.Intern(target)});
}

std::optional<Program> ProgramBuilder::Finish(std::vector<Diagnostic>& diagnostics) {
  if (!impl_->open.empty()) impl_->sink.Error(DiagnosticKind::kBadProgram, "a nested graph does not end");
  impl_->graph().SetOutputs(impl_->graph().main(), impl_->outputs);
  if (const auto recorded = aten::RecordedDefaultDtype(impl_->graph())) impl_->program->default_dtype = *recorded;
  const bool failed = impl_->sink.HasErrors();
  for (Diagnostic& diagnostic : impl_->sink.Take()) diagnostics.push_back(std::move(diagnostic));
  if (failed) return std::nullopt;
  return Program(std::move(impl_->program));
}

}  // namespace flambeau
