#include "script/specialize.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lower/custom.h"
#include "script/evaluator.h"
#include "script/inputs/given_values.h"
#include "script/inputs/inputs.h"
#include "script/outputs.h"

namespace flambeau::script {
namespace {

// What a walk can do otherwise when it is done again, as the evaluator has them.
struct Doubts {
  std::vector<const torchscript::Node*> lossy, guessed;
  Evaluator::Apart uncarried;
  bool asked_sizes = false;
};

// What a walk takes for granted.
struct Assumptions {
  bool rounds = false;   // that loops over the sizes of inputs have one
  bool sizes = false;    // that those which a squeeze may ask for when the model runs are not 1
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
  if (assumptions.sizes) evaluator.AskNoSizes();
  if (assumptions.nothing) evaluator.emit().TakeNothingForRows();
  const bool method = static_cast<bool>(graph.self);
  const std::vector<torchscript::Value*>& formal = graph.main->inputs;
  if (inputs.size() + method != formal.size())
    return sink.Error(DiagnosticKind::kMissingInformation,
                      fmt::format("the program has {} inputs; {} are described", formal.size() - method, inputs.size()));
  Vals values;
  if (method) values.push_back(evaluator.Self());
  GivenValues given(evaluator, *program, sink);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const torchscript::Value& parameter = *formal[i + method];
    if (inputs[i].kind == ScriptInput::Kind::kDefault) {
      const torchscript::Constant* constant = graph.DefaultOf(i + method);
      if (constant == nullptr)
        return sink.Error(DiagnosticKind::kMissingInformation, fmt::format("the program has no default for its input '{}'", parameter.name));
      values.push_back(evaluator.Import(*constant, parameter.name));
      continue;
    }
    FLAMBEAU_TRY(Val value, given.Make(inputs[i], parameter.name, parameter.type.get()));
    values.push_back(std::move(value));
  }
  auto results = evaluator.Run(values);
  doubts = {evaluator.lossy(), evaluator.guessed(), evaluator.uncarried(), evaluator.asked_sizes()};
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
  bool asked_sizes = false;
  Evaluator::Apart apart;
  std::optional<Program> vague;
  std::vector<Diagnostic> of_vague, of_last, of_kept_rounds;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Sink trial;
    Doubts doubts;
    auto program = Attempt(graph, inputs, options, trial, apart, library, assumptions, doubts);
    asked_sizes |= doubts.asked_sizes;
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
  if (asked_sizes && !assumptions.sizes) more = {.sizes = true, .nothing = assumptions.nothing};  // its paths may not go on alike
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
