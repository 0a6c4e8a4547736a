#include "script/specialize.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "lower/custom.h"
#include "script/evaluator.h"
#include "script/inputs/inputs.h"
#include "script/lists/rows.h"
#include "script/lists/sequences.h"
#include "script/quantized.h"

namespace flambeau::script {
namespace {

// Values of the user's inputs.
class Inputs {
 public:
  Inputs(Evaluator& evaluator, Program::Impl& program, Sink& sink) : evaluator_(evaluator), program_(program), sink_(sink) {}

  // What a parameter of this type gets, or an element of one: of a number, the one in a tensor.
  Result<Val> Make(const ScriptInput& input, const std::string& name, const torchscript::Type* type) {
    const std::string own = input.name.empty() ? name : input.name;
    if (type != nullptr && type->kind == torchscript::TypeKind::kOptional && !type->elements.empty()) type = type->elements[0].get();
    switch (input.kind) {
      case ScriptInput::Kind::kConstant: {
        FLAMBEAU_TRY(torchscript::Constant constant, ImportConstant(input.constant, sink_));
        auto* member = std::get_if<torchscript::EnumConstant>(&constant.value);  // of what is declared, wherever its class is now
        if (member != nullptr && type != nullptr && type->kind == torchscript::TypeKind::kEnum) member->class_name = type->name;
        return evaluator_.Import(constant, own);
      }
      case ScriptInput::Kind::kTensor: {
        FLAMBEAU_TRY(Val value, MakeTensor(input, own));
        if (type == nullptr || !(IsNumber(*type) || (input.number && MayBeNumber(*type)))) {
          if (input.number) evaluator_.number_stand_ins().Note(value);
          return value;
        }
        return evaluator_.emit().Call1("aten::item", {std::move(value)});
      }
      default: break;
    }
    Vals elements;
    for (size_t i = 0; i < input.elements.size(); ++i) {
      FLAMBEAU_TRY(Val element, Make(input.elements[i], fmt::format("{}.{}", own, i), TypeOfElement(type, i)));
      elements.push_back(std::move(element));
    }
    if (input.kind == ScriptInput::Kind::kTuple) return Evaluator::Tuple(std::move(elements));
    if (input.kind == ScriptInput::Kind::kList) return evaluator_.List(std::move(elements));
    Cell cell;
    for (size_t i = 0; i < elements.size() && i < input.keys.size(); ++i) {
      FLAMBEAU_TRY(const torchscript::Constant key, ImportConstant(input.keys[i], sink_));
      cell.entries.emplace_back(evaluator_.Import(key, own), std::move(elements[i]));
    }
    return Val(DictVal{evaluator_.heap().Add(std::move(cell))});
  }

 private:
  // Null where the type does not say.
  static const torchscript::Type* TypeOfElement(const torchscript::Type* type, size_t i) {
    using enum torchscript::TypeKind;
    if (type == nullptr || (type->kind != kTuple && type->kind != kList)) return nullptr;
    const size_t place = type->kind == kTuple ? i : 0;
    return place < type->elements.size() ? type->elements[place].get() : nullptr;
  }

  static bool IsOneNumber(torchscript::TypeKind kind) {
    using enum torchscript::TypeKind;
    return kind == kInt || kind == kFloat || kind == kBool || kind == kNumber;
  }
  static bool IsNumber(const torchscript::Type& type) {
    using enum torchscript::TypeKind;
    if (type.kind != kUnion) return IsOneNumber(type.kind);
    return MayBeNumber(type) && std::ranges::none_of(type.elements, [](const auto& each) { return each->kind == kTensor || each->kind == kOptional; });
  }
  static bool MayBeNumber(const torchscript::Type& type) {
    using enum torchscript::TypeKind;
    return type.kind == kAny || (type.kind == kUnion && std::ranges::any_of(type.elements, [](const auto& each) { return IsOneNumber(each->kind); }));
  }

  Result<Val> MakeTensor(const ScriptInput& input, const std::string& name) {
    const auto dtype = DTypeFromTorchCode(input.dtype);
    if (!dtype) return sink_.Error(DiagnosticKind::kBadOption, fmt::format("input '{}' has an unknown dtype", name));
    ExprPool& exprs = evaluator_.context().exprs();
    Type type = Type::OfTensor(*dtype, {});
    for (const auto& size : input.sizes) {
      if (const auto* constant = std::get_if<int64_t>(&size)) {
        if (*constant < 0) return sink_.Error(DiagnosticKind::kBadOption, fmt::format("input '{}' has the size {}", name, *constant));
        type.sizes.push_back(exprs.Constant(*constant));
      } else {
        const std::string& symbol_name = std::get<std::string>(size);
        const Expr symbol = exprs.Symbolic(symbol_name);
        exprs.SetRange(symbol, {0, INT64_MAX});
        if (type.sizes.size() < input.captured.size()) evaluator_.SetCaptured(symbol, input.captured[type.sizes.size()]);
        // Where the input of that name is, it keeps it.
        program_.dimension_names.push_back({tensors_, type.sizes.size(), symbol_name, {}});
        type.sizes.push_back(symbol);
      }
    }
    ++tensors_;
    return Val(TensorVal{evaluator_.emit().AddInput(InputKind::kUser, name, std::move(type))});
  }

  Evaluator& evaluator_;
  Program::Impl& program_;
  Sink& sink_;
  size_t tensors_ = 0;
};

constexpr int kOptionalOutputs = 16;  // the opset from which an If may give out an optional

// The values of the program's outputs, in PyTorch's order: None is none.
class Outputs {
 public:
  Outputs(Evaluator& evaluator, Program::Impl& program) : evaluator_(evaluator), program_(program) {}

  Status Add(const Val& value, std::string_view name) {
    if (IsBounded(value, evaluator_.heap())) return AddBounded(value, name);
    return evaluator_.sink().Error(DiagnosticKind::kLimitExceeded, "an output of the program nests too deep, or holds itself");
  }

  // "output", "output_1" and so on.
  void NameTheNameless() {
    int nameless = 0;
    for (OutputSpec& output : program_.outputs) {
      if (!evaluator_.context().Text(output.name).empty()) continue;
      output.name = evaluator_.context().Intern(nameless == 0 ? "output" : fmt::format("output_{}", nameless));
      ++nameless;
    }
  }

  // What the program leaves in the attributes of its modules.
  Status AddAttributes(const torchscript::Graph& graph, Sink& sink) {
    std::string lost;
    for (uint32_t i = 0; i < graph.objects.size(); ++i) {
      const auto attributes = evaluator_.heap()[i].attributes;
      for (const auto& [name, value] : attributes) {
        const torchscript::ObjectAttribute* before = graph.objects[i].Find(name);
        const auto* tensor = value.As<TensorVal>();
        const std::string& owner = graph.objects[i].path;
        if (before != nullptr && evaluator_.attribute_uses().ReadsFirst(i, name) && IsChanged(value, before->value))
          lost += fmt::format("{}'{}{}{}'", lost.empty() ? "" : ", ", owner, owner.empty() ? "" : ".", name);
        if (before == nullptr || tensor == nullptr || !std::holds_alternative<TensorData>(before->value.value)) continue;
        const Symbol target = evaluator_.context().Intern(owner.empty() ? name : owner + "." + name);
        values_.push_back(evaluator_.emit().Read(tensor->id));
        program_.outputs.push_back({OutputKind::kBufferMutation, target, target});
      }
    }
    if (!lost.empty())
      sink.Warning(DiagnosticKind::kIgnoredMutation, fmt::format("the model writes {}, and each run begins with what was there before", lost), {},
                   "keep it in a buffer, and ask for state outputs to get it");
    return {};
  }

  const std::vector<ValueId>& values() const { return values_; }

 private:
  // Of a number or list that an object had; a flag is mostly one that a warning has been given.
  bool IsChanged(const Val& value, const torchscript::Constant& before) const {
    if (const auto* number = value.As<NumberVal>()) return evaluator_.emit().TypeOf(number->id).kind != TypeKind::kBool;
    if (const auto* list = value.As<ListVal>()) {
      const auto* elements = std::get_if<torchscript::ListConstant>(&before.value);
      const Cell& cell = evaluator_.heap()[list->cell];
      return elements != nullptr && (cell.sequence || cell.elements.size() != elements->elements.size());
    }
    return std::visit([&]<class T>(const T& was) {
      if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
        const T* now = value.As<T>();
        return now != nullptr && *now != was && was == was;
      } else {
        return false;
      }
    }, before.value);
  }

  Failure Lost() {
    return evaluator_.UnsupportedWherePathsMet("an output of the program is a list or dict of which paths through it made different things");
  }
  Status AddBounded(const Val& value, std::string_view name) {
    Emitter& emit = evaluator_.emit();
    const Vals* elements = nullptr;
    if (const auto* tensor = value.As<TensorVal>()) {
      return AddLeaf(emit.Read(tensor->id), name);
    } else if (value.Is<QuantizedVal>()) {  // ONNX has no such tensors: the numbers that they stand for
      FLAMBEAU_TRY(const Val floats, Dequantize(evaluator_, value));
      return AddLeaf(floats.As<TensorVal>()->id, name);
    } else if (const auto* number = value.As<NumberVal>()) {
      return AddLeaf(number->id, name);
    } else if (value.Is<std::complex<double>>()) {  // as a tensor: ONNX has no such numbers
      FLAMBEAU_TRY(const Val tensor, emit.NumberTensor(value));
      return AddLeaf(emit.Read(tensor.As<TensorVal>()->id), name);
    } else if (value.IsConstantNumber()) {
      return AddLeaf(emit.Materialise(value), name);
    } else if (const auto* tuple = value.As<TupleVal>()) {
      elements = tuple->elements.get();
    } else if (const auto* list = value.As<ListVal>()) {
      const Cell& cell = evaluator_.heap()[list->cell];
      if (cell.lost) return Lost();
      if (cell.has_rows) return AddRows(cell, name);
      if (!cell.columns.empty()) return AddColumns(cell, name);
      if (cell.sequence) return AddLeaf(emit.Read(*cell.sequence), name);
      elements = &cell.elements;
    } else if (const auto* dict = value.As<DictVal>()) {
      return AddDict(evaluator_.heap()[dict->cell]);
    } else if (const auto* optional = value.As<OptionalVal>()) {
      return AddOptional(*optional, name);
    } else if (const auto* undefined = value.As<Undefined>()) {
      if (!undefined->because)
        return evaluator_.UnsupportedWherePathsMet("an output of the program is defined on some paths through it only");
      if (undefined->unknown) return evaluator_.Unsupported(fmt::format("an output of the program is {}", *undefined->because));
      return evaluator_.UnsupportedWherePathsMet(
          fmt::format("an output of the program is not the same kind of thing on all paths through it: {}", *undefined->because),
          "an ONNX output has one dtype: convert to it in the model, where the paths meet");
    }
    if (elements == nullptr) return {};
    const Vals copy = *elements;
    for (const Val& element : copy) FLAMBEAU_CHECK_OK(AddBounded(element, keys_));
    return {};
  }
  // ONNX's sequences do not nest.
  Status AddRows(const Cell& list, std::string_view name) {
    evaluator_.sink().Warning(DiagnosticKind::kUnsupportedForm,
                              "an output of the program is a list of lists whose length is known at run time only: the model "
                              "gives the elements of all as one sequence", {}, "return the lengths of the lists as well");
    const Cell copy = list;
    return AddSequence(copy, name);
  }
  Status AddColumns(const Cell& list, std::string_view name) {
    const Cell copy = list;
    evaluator_.sink().Warning(DiagnosticKind::kUnsupportedForm,
                              fmt::format("an output of the program is a list of {} whose length is known at run time only: the "
                                          "model gives each field of them as a sequence of its own", copy.keys.empty() ? "tuples" : "dicts"),
                              {}, "return a list for each field");
    return AddFields(copy, name);
  }
  Status AddFields(const Cell& list, std::string_view name) {
    for (size_t k = 0; k < list.columns.size(); ++k) {
      const auto* key = k < list.keys.size() ? list.keys[k].As<std::string>() : nullptr;
      FLAMBEAU_CHECK_OK(AddSequence(list.columns[k], key != nullptr ? Within(keys_, *key) : std::string(name)));
    }
    return {};
  }
  Status AddSequence(const Cell& list, std::string_view name) {
    if (list.has_rows) return AddSequence(list.columns[kRowElements], name);
    if (!list.columns.empty()) return AddFields(list, name);
    const Val elements = ListVal{evaluator_.heap().Add(list)};
    FLAMBEAU_TRY(const Val sequence, AsSequence(evaluator_, elements));
    return AddLeaf(evaluator_.emit().Read(*evaluator_.heap()[sequence.As<ListVal>()->cell].sequence), name);
  }
  static std::string Within(const std::string& keys, const std::string& key) { return keys.empty() ? key : fmt::format("{}.{}", keys, key); }
  // What is in dicts is called after its keys: `boxes`, `losses.boxes`.
  Status AddDict(const Cell& cell) {
    if (cell.lost) return Lost();
    const std::string outer = keys_;
    const auto entries = cell.entries;
    for (const auto& [key, entry] : entries) {
      const auto* text = key.As<std::string>();
      keys_ = text == nullptr ? outer : Within(outer, *text);
      FLAMBEAU_CHECK_OK(AddBounded(entry, keys_));
    }
    keys_ = outer;
    return {};
  }
  // Each tensor of it is an output that is None where the whole is.
  Status AddOptional(const OptionalVal& optional, std::string_view name) {
    if (evaluator_.opset() < kOptionalOutputs)
      return evaluator_.UnsupportedWherePathsMet("an output of the program is None on some paths through it only",
                                                 fmt::format("ONNX has such outputs from opset {} on", kOptionalOutputs));
    const std::optional<Val> outer = std::exchange(present_, NumberVal{optional.present});
    if (outer) {
      FLAMBEAU_TRY(present_, evaluator_.emit().Call1("_operator::and_", {*outer, *present_}));
    }
    const Status added = AddBounded(*optional.value, name);
    present_ = outer;
    return added;
  }
  Status AddLeaf(ValueId value, std::string_view name) {
    const auto* present = present_ ? present_->As<NumberVal>() : nullptr;
    values_.push_back(present != nullptr ? evaluator_.emit().Optional(present->id, value) : value);
    program_.outputs.push_back({OutputKind::kUser, evaluator_.context().Intern(name), {}});
    return {};
  }

  Evaluator& evaluator_;
  Program::Impl& program_;
  std::vector<ValueId> values_;
  std::string keys_;            // of the dicts around what is being added
  std::optional<Val> present_;  // whether what is being added is not None
};

// What a walk can do otherwise when it is done again, as the evaluator has them.
struct Doubts {
  std::vector<const torchscript::Node*> lossy, guessed;
  Evaluator::Apart uncarried;
  bool asked_data = false;
};

// What a walk takes for granted.
struct Assumptions {
  bool rounds = false;   // that loops over the sizes of inputs have one
  bool data = false;     // that sizes which data decides are not 1 where they are squeezed
  bool nothing = false;  // that torch.zeros(0) stands for no rows
};

// One walk over the program. Ifs in `apart` keep their paths apart.
Result<Program> Attempt(const torchscript::Graph& graph, std::span<const ScriptInput> inputs, const Options& options,
                        Sink& sink, const Evaluator::Apart& apart, Library& library, Assumptions assumptions, Doubts& doubts) {
  auto program = std::make_unique<Program::Impl>();
  program->name = graph.name;
  program->torch_version = graph.torch_version;
  program->default_dtype = graph.default_dtype;
  for (const std::string& schema : graph.operator_schemas) (void)program->declared.Declare(schema);
  const aten::DeclarationScope scope(program->declared);
  const lower::CustomOperators custom(options.translations, options.custom_opsets);
  Evaluator evaluator(graph, *program, sink, custom, options.opset, apart, library);
  if (assumptions.rounds) evaluator.AssumeRounds();
  if (assumptions.data) evaluator.AskNoData();
  if (assumptions.nothing) evaluator.emit().TakeNothingForRows();
  const bool method = static_cast<bool>(graph.self);
  const std::vector<torchscript::Value*>& formal = graph.main->inputs;
  if (inputs.size() + method != formal.size())
    return sink.Error(DiagnosticKind::kMissingInformation,
                      fmt::format("the program has {} inputs; {} are described", formal.size() - method, inputs.size()));
  Vals values;
  if (method) values.push_back(evaluator.Self());
  Inputs make(evaluator, *program, sink);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const torchscript::Value& parameter = *formal[i + method];
    if (inputs[i].kind == ScriptInput::Kind::kDefault) {
      const torchscript::Constant* constant = graph.DefaultOf(i + method);
      if (constant == nullptr)
        return sink.Error(DiagnosticKind::kMissingInformation, fmt::format("the program has no default for its input '{}'", parameter.name));
      values.push_back(evaluator.Import(*constant, parameter.name));
      continue;
    }
    FLAMBEAU_TRY(Val value, make.Make(inputs[i], parameter.name, parameter.type.get()));
    values.push_back(std::move(value));
  }
  auto results = evaluator.Run(values);
  doubts = {evaluator.lossy(), evaluator.guessed(), evaluator.uncarried(), evaluator.asked_data()};
  if (!results || sink.HasErrors()) return kFailure;

  Outputs outputs(evaluator, *program);
  for (size_t i = 0; i < results->size(); ++i)
    FLAMBEAU_CHECK_OK(outputs.Add((*results)[i], SourceName(graph.main->outputs[i]->name)));
  outputs.NameTheNameless();
  FLAMBEAU_CHECK_OK(outputs.AddAttributes(graph, sink));
  program->graph.SetOutputs(program->graph.main(), outputs.values());
  AddStateOutputs(*program, evaluator.emit().storages(), sink);
  evaluator.kept_inputs().Mark(*program);
  evaluator.attribute_uses().OrderWeights(program->inputs);
  evaluator.emit().Finish();
  const Graph& finished = program->graph;
  std::erase_if(program->inputs, [&](const InputSpec& input) {
    return finished[input.value].kind == ValueKind::kConstant && !finished.HasUses(input.value);
  });
  if (sink.HasErrors()) return kFailure;
  return Program(std::move(program));
}

constexpr int kMaxAttempts = 12;
constexpr int kMaxPeeledRounds = 3;  // of a loop

void AddAll(std::vector<Diagnostic> diagnostics, Sink& sink) {
  for (Diagnostic& diagnostic : diagnostics) sink.Add(std::move(diagnostic));
}

// The last of them that a walk has not yet done otherwise; null if there is none.
const torchscript::Node* LastIn(const std::vector<const torchscript::Node*>& doubts, const Evaluator::Apart& apart) {
  const auto last = std::find_if(doubts.rbegin(), doubts.rend(), [&](const torchscript::Node* node) {
    const auto found = apart.find(node);
    return found == apart.end() || (node->kind == "prim::Loop" && found->second < kMaxPeeledRounds);
  });
  return last == doubts.rend() ? nullptr : *last;
}

// Whether there is a loop whose rounds are then walked each by itself, and so what follows on each way out of it.
bool TakeApart(const Evaluator::Apart& loops, Evaluator::Apart& apart) {
  constexpr int64_t kMaxWays = 1000;  // in all
  int64_t ways = 1;
  for (const auto& [node, rounds] : apart) ways *= node->kind == "prim::Loop" ? rounds + 1 : 1;
  for (const auto& [loop, rounds] : loops) {
    const auto found = apart.find(loop);
    const int known = found != apart.end() ? found->second : 0;
    if (known >= rounds || ways / (known + 1) * (rounds + 1) > kMaxWays) continue;
    apart[loop] = rounds;
    return true;
  }
  return false;
}

bool OutputsHaveRanks(const Program::Impl& program) {
  const Graph& graph = program.graph;
  return std::ranges::all_of(graph.outputs(graph.main()), [&](ValueId output) {
    return !graph.type(output).is_tensor() || graph.type(output).ranked;
  });
}

bool HasKind(const std::vector<Diagnostic>& diagnostics, DiagnosticKind kind) {
  return std::ranges::any_of(diagnostics, [&](const Diagnostic& diagnostic) { return diagnostic.kind == kind; });
}

// What a loop over the rows of an input makes of a number that is there before it has no one dtype, if there may be no row.
// So the loops among those that are walked apart are assumed to have a round.
Result<Program> AssumingRounds(const torchscript::Graph& graph, std::span<const ScriptInput> inputs, const Options& options, Sink& sink,
                               Evaluator::Apart apart, Library& library, Assumptions assumptions) {
  std::erase_if(apart, [](const auto& each) { return each.first->kind != "prim::Loop"; });
  if (apart.empty()) return kFailure;
  for (auto& [node, rounds] : apart) rounds = 1;
  assumptions.rounds = true;
  Sink trial;
  Doubts doubts;
  auto program = Attempt(graph, inputs, options, trial, apart, library, assumptions, doubts);
  if (program) AddAll(trial.Take(), sink);
  return program;
}

// Where the walk fails after paths met and something was lost there (a dtype, a
// rank, whose memory it is), what follows is walked on each path by itself. So
// it is where an output has no rank; that may turn out to be all that can be said.
// Where nothing was lost, it may be that a squeeze does change the rank, or that
// a loop asks its rounds what only one of them knows, as which text of a list it has.
Result<Program> Specialize(const torchscript::Graph& graph, std::span<const ScriptInput> inputs, const Options& options,
                           Sink& sink, Assumptions assumptions) {
  Library library;  // of all attempts: what one tells of nodes, the next is told
  bool asked_data = false;
  Evaluator::Apart apart;
  std::optional<Program> vague;
  std::vector<Diagnostic> of_vague, of_last, of_kept_rounds;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Sink trial;
    Doubts doubts;
    auto program = Attempt(graph, inputs, options, trial, apart, library, assumptions, doubts);
    asked_data |= doubts.asked_data;
    of_last = trial.Take();
    if (!of_kept_rounds.empty() && HasKind(of_last, DiagnosticKind::kLimitExceeded)) of_last = of_kept_rounds;
    const torchscript::Node* next = LastIn(doubts.lossy, apart);
    const bool is_vague = program && next != nullptr && !OutputsHaveRanks(program->impl());
    if (program && !is_vague) {
      AddAll(std::move(of_last), sink);
      return program;
    }
    if (next == nullptr) next = LastIn(doubts.guessed, apart);
    if (is_vague && !vague) {
      vague = *std::move(program);
      of_vague = of_last;
    }
    if (HasKind(of_last, DiagnosticKind::kUnsupportedOperator)) break;
    if (next != nullptr) {
      ++apart[next];
    } else {
      if (!TakeApart(doubts.uncarried, apart)) break;
      of_kept_rounds = of_last;  // says more than that the rounds are too many
    }
  }
  if (vague) {
    AddAll(std::move(of_vague), sink);
    return *std::move(vague);
  }
  if (auto program = AssumingRounds(graph, inputs, options, sink, apart, library, assumptions)) return program;
  std::optional<Assumptions> more;
  if (asked_data && !assumptions.data) more = {.data = true, .nothing = assumptions.nothing};  // its paths may not go on alike
  else if (HasKind(of_last, DiagnosticKind::kMissingInformation) && !assumptions.nothing) more = {.nothing = true};
  if (more) {
    Sink trial;
    auto program = Specialize(graph, inputs, options, trial, *more);
    if (program) AddAll(trial.Take(), sink);
    if (program) return program;
  }
  AddAll(std::move(of_last), sink);
  return kFailure;
}

}  // namespace

Result<Program> Specialize(const torchscript::Graph& graph, std::span<const ScriptInput> inputs, const Options& options,
                           Sink& sink) {
  return Specialize(graph, inputs, options, sink, Assumptions());
}

}  // namespace flambeau::script
