#include "driver/dimension_names.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace flambeau {
namespace {

// "x.0" as ("x", 0), "x.-1" as ("x", -1); nullopt if there is no number at the end.
std::optional<std::pair<std::string_view, int64_t>> SplitDimension(std::string_view which) {
  const size_t dot = which.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  int64_t dim = 0;
  const char* end = which.data() + which.size();
  const auto [stop, error] = std::from_chars(which.data() + dot + 1, end, dim);
  if (error != std::errc() || stop != end) return std::nullopt;
  return std::pair(which.substr(0, dot), dim);
}

// Negative ones count from the end. What is none of the dimensions stays none.
size_t FromFront(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

class Namer {
 public:
  Namer(Program::Impl& program, const std::vector<std::string>& input_names, const std::vector<std::string>& output_names,
        Sink& sink)
      : program_(program), exprs_(program.context->exprs()), sink_(sink), outputs_(output_names.begin(), output_names.end()) {
    for (const OutputSpec& output : program.outputs) outputs_.emplace(program.context->Text(output.name));
    size_t position = 0;
    for (const InputSpec& input : program.inputs) {
      if (input.kind != InputKind::kUser) continue;
      const std::string captured(program.context->Text(input.name));
      const std::string name =
          position < input_names.size() && !input_names[position].empty() ? input_names[position] : captured;
      ++position;
      if (program.graph.type(input.value).kind != TypeKind::kTensor) continue;
      by_name_.emplace(name, inputs_.size());
      by_name_.emplace(captured, inputs_.size());
      inputs_.push_back({input.value, name});
    }
  }

  // What the program says of all symbols. Those that it holds at one value are
  // that value: the capture was specialised to it.
  void ReadSymbols() {
    Graph& graph = program_.graph;
    std::unordered_map<Expr, Expr> fixed;
    std::unordered_set<TypeId> seen;
    for (ValueId id{0}; id.index < graph.value_capacity(); ++id.index) {
      if (!seen.insert(graph[id].type).second) continue;
      ForEachExpr(graph.type(id), [&](Expr expr) {
        exprs_.ForEachSymbol(expr, [&](Expr symbol) {
          if (!symbols_.insert(symbol).second) return;
          if (const auto [min, max] = exprs_.RangeOf(symbol); min == max) fixed.emplace(symbol, exprs_.Constant(min));
        });
      });
    }
    for (const auto& [symbol, value] : fixed) fixed_.insert(symbol);
    Substitute(fixed);
  }

  // Symbols that were given one name are one size.
  void MergeEqualNames() { Substitute(equal_); }

  // "x.0" or "s77".
  Status Give(const std::string& which, const std::string& name) {
    if (const auto split = SplitDimension(which)) {
      const auto [value, dim] = *split;
      if (const auto input = by_name_.find(std::string(value)); input != by_name_.end())
        return Assign(inputs_[input->second], dim, name);
      if (outputs_.contains(std::string(value))) return {};
      return sink_.Error(DiagnosticKind::kBadOption,
                         fmt::format("dimension name '{}={}': there is no input or output '{}'", which, name, value), {},
                         "inputs: " + InputList());
    }
    const Expr symbol = exprs_.Find(which);
    if (symbol && fixed_.contains(symbol)) {
      sink_.Warning(DiagnosticKind::kFrozenDimension,
                    fmt::format("dimension '{}' was named '{}', but the captured program fixes it at {}", which, name,
                                exprs_.RangeOf(symbol).min));
      return {};
    }
    if (!symbol || !symbols_.contains(symbol))
      return sink_.Error(DiagnosticKind::kBadOption,
                         fmt::format("dimension name '{}={}': there is no dimension '{}'", which, name, which), {},
                         "write INPUT.DIMENSION=NAME, for example x.0=batch");
    GiveName(symbol, name);
    return {};
  }

  void Give(const DimensionName& given) {
    if (given.input < inputs_.size()) (void)Assign(inputs_[given.input], static_cast<int64_t>(given.dim), given.name, given.frozen_by);
  }

  // By the inputs, else by the values that first have them as a size, as their
  // number, or within an expression.
  void NameTheRest() {
    for (const Input& input : inputs_) NameSizes(program_.graph.type(input.value), input.name);
    const Graph& graph = program_.graph;
    ForEachNewType([&](ValueId id, const std::string& name) { NameSizes(graph.type(id), name); });
    ForEachNewType([&](ValueId id, const std::string& name) {
      if (const Type& type = graph.type(id);
          type.kind == TypeKind::kInt && type.contents && NeedsName(type.contents->front()))
        Rename(type.contents->front(), name);
    });
    ForEachNewType([&](ValueId id, const std::string& name) {
      ForEachExpr(graph.type(id), [&](Expr expr) {
        exprs_.ForEachSymbol(expr, [&](Expr symbol) {
          if (NeedsName(symbol)) Rename(symbol, name + "_size");
        });
      });
    });
  }

 private:
  struct Input {
    ValueId value;
    std::string name;
  };

  Status Assign(const Input& input, int64_t asked, const std::string& name, const std::string& frozen_by = {}) {
    const Type& type = program_.graph.type(input.value);
    const size_t dim = FromFront(asked, type.rank());
    if (dim >= type.rank())
      return sink_.Error(DiagnosticKind::kBadOption, fmt::format("dimension name '{}.{}={}': '{}' has {} dimensions",
                                                                 input.name, asked, name, input.name, type.rank()));
    const Expr size = type.sizes[dim];
    if (const auto constant = exprs_.AsConstant(size)) {
      sink_.Warning(
          DiagnosticKind::kFrozenDimension,
          fmt::format("dimension {} of input '{}' was declared dynamic ('{}'), but the captured program fixes it at {}",
                      dim, input.name, name, *constant),
          {.source = frozen_by},
          "the model was specialised while it was captured: look for a shape that becomes a Python number");
    } else if (exprs_.kind(size) == ExprKind::kSymbol && !named_.contains(size)) {
      GiveName(size, name);
    }
    return {};
  }

  void Substitute(const std::unordered_map<Expr, Expr>& replacements) {
    if (replacements.empty()) return;
    Graph& graph = program_.graph;
    std::unordered_map<TypeId, TypeId> replaced;
    for (ValueId id{0}; id.index < graph.value_capacity(); ++id.index) {
      const auto [it, added] = replaced.try_emplace(graph[id].type);
      if (added) {
        Type type = graph.type(id);
        ForEachExpr(type, [&](Expr& expr) { expr = exprs_.Substitute(expr, replacements); });
        it->second = program_.context->Intern(std::move(type));
      }
      graph.SetType(id, it->second);
    }
  }

  // A name that the user gave: where it was given before, both are one size.
  void GiveName(Expr symbol, const std::string& name) {
    const auto [first, is_new] = given_.try_emplace(name, symbol);
    if (is_new) return Rename(symbol, name);
    if (first->second == symbol) return;
    equal_.emplace(symbol, first->second);
    named_.insert(symbol);
  }

  void Rename(Expr symbol, const std::string& name) {
    // Two symbols of one name would be taken for one size.
    std::string unique = name;
    while (!used_.insert(unique).second) unique = fmt::format("{}_{}", name, ++copies_[name]);
    exprs_.Rename(symbol, unique);
    named_.insert(symbol);
  }

  template <class AnyType, class F>
  static void ForEachExpr(AnyType& type, F f) {
    for (auto& size : type.sizes) f(size);
    for (auto& stride : type.strides) f(stride);
    if (type.contents)
      for (auto& element : *type.contents) f(element);
  }

  // Calls f(value, name) for a value of each type, in the program's order.
  template <class F>
  void ForEachNewType(F f) const {
    const Graph& graph = program_.graph;
    std::unordered_set<TypeId> seen;
    for (ValueId id{0}; id.index < graph.value_capacity(); ++id.index) {
      if (!seen.insert(graph[id].type).second) continue;
      const std::string_view name = program_.context->Text(graph[id].name);
      f(id, std::string(name.empty() ? "value" : name));
    }
  }

  bool NeedsName(Expr size) const {
    return exprs_.kind(size) == ExprKind::kSymbol && exprs_.symbol_kind(size) != SymbolKind::kAnonymous &&
           !named_.contains(size);
  }

  void NameSizes(const Type& type, const std::string& name) {
    for (size_t i = 0; i < type.rank(); ++i)
      if (NeedsName(type.sizes[i])) Rename(type.sizes[i], fmt::format("{}_dim_{}", name, i));
  }

  std::string InputList() const {
    std::string list;
    for (const Input& input : inputs_) list += (list.empty() ? "" : ", ") + input.name;
    return list;
  }

  Program::Impl& program_;
  ExprPool& exprs_;
  Sink& sink_;
  std::vector<Input> inputs_;
  std::unordered_map<std::string, size_t> by_name_;  // of `inputs_`: the model's names and the capture's
  std::unordered_set<std::string> outputs_;
  std::unordered_set<Expr> symbols_, fixed_, named_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, int> copies_;  // "x_1", "x_2" that were tried for "x"
  std::unordered_map<std::string, Expr> given_;
  std::unordered_map<Expr, Expr> equal_;
};

}  // namespace

Status NameDimensions(Program::Impl& program, const std::vector<std::pair<std::string, std::string>>& given,
                      const std::vector<std::string>& input_names, const std::vector<std::string>& output_names,
                      Sink& sink) {
  Namer namer(program, input_names, output_names, sink);
  namer.ReadSymbols();
  for (const auto& [which, name] : given) FLAMBEAU_CHECK_OK(namer.Give(which, name));
  for (const DimensionName& name : program.dimension_names) namer.Give(name);
  namer.MergeEqualNames();
  namer.NameTheRest();
  return {};
}

void NameOutputDimensions(Graph& graph, const std::vector<std::pair<std::string, std::string>>& given, Sink& sink) {
  Context& context = graph.context();
  std::unordered_map<std::string_view, ValueId> outputs;
  if (!given.empty())
    for (const ValueId output : graph.outputs(graph.main())) outputs.emplace(context.Text(graph[output].name), output);
  for (const auto& [which, name] : given) {
    const auto split = SplitDimension(which);
    const auto output = split ? outputs.find(split->first) : outputs.end();
    if (output == outputs.end()) continue;
    Type type = graph.type(output->second);
    if (!type.is_tensor() || !type.ranked) continue;
    const size_t dim = FromFront(split->second, type.rank());
    if (dim >= type.rank()) {
      sink.Warning(DiagnosticKind::kFrozenDimension, fmt::format("dimension {} of output '{}' was named '{}', but it has {} dimensions; that is ignored",
                                                                 split->second, split->first, name, type.rank()));
      continue;
    }
    if (const auto constant = context.exprs().AsConstant(type.sizes[dim])) {
      if (name.starts_with(fmt::format("{}_dynamic_axes_", split->first))) continue;  // nobody gave it: dynamic_axes lists axes
      sink.Warning(DiagnosticKind::kFrozenDimension,
                   fmt::format("dimension {} of output '{}' was declared dynamic ('{}'), but the model fixes it at {}", dim, split->first, name, *constant), {},
                   "an output's size follows from those of inputs: declare these dynamic, or look for a shape that becomes a Python number");
      continue;
    }
    type.sizes[dim] = context.exprs().Symbolic(name);
    graph.SetType(output->second, context.Intern(std::move(type)));
  }
}

}  // namespace flambeau
