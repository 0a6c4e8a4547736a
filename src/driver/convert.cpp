// The conversion, from a program to a model: one function a stage, in order.
#include "flambeau/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <unordered_map>

#include "diag/sink.h"
#include "driver/dimension_names.h"
#include "driver/guard.h"
#include "driver/kept_inputs.h"
#include "driver/metadata.h"
#include "driver/model_impl.h"
#include "driver/output_ranks.h"
#include "driver/pipeline.h"
#include "driver/read.h"
#include "driver/recorder.h"
#include "flambeau/version.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/custom.h"
#include "lower/lower.h"
#include "onnx/check.h"
#include "onnx/constant_nodes.h"
#include "onnx/ir_version.h"
#include "onnx/names.h"
#include "onnx/operator_table.h"
#include "onnx/text.h"
#include "pass/manager.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

constexpr int kOpsetOfLoneInitializers = 9;
constexpr int kOldestOpset = 7;

class Conversion {
 public:
  Conversion(Program::Impl& program, const Options& options, Sink& sink) : program_(program), options_(options), sink_(sink) {}

  // Called with each graph as it stands after a stage or pass; may be empty.
  std::function<void(std::string_view stage, const Graph& graph)> watch;
  // May be null.
  Recorder* recorder = nullptr;
  // Which of the program's inputs the model has.
  std::vector<size_t> input_positions;

  Result<std::unique_ptr<onnx::ModelData>> Run() {
    if (options_.opset < kOldestOpset || options_.opset > onnx::NewestOpset())
      return sink_.Error(DiagnosticKind::kBadOption, fmt::format("opset {} is not supported", options_.opset), {},
                         fmt::format("choose an opset from {} to {}", kOldestOpset, onnx::NewestOpset()));
    Watch("aten", program_.graph);
    // Texts of the captured nodes are made from the graph as it was.
    auto captured = MetadataLevel(options_) >= Metadata::kDefault ? std::make_shared<const Graph>(program_.graph) : nullptr;
    FLAMBEAU_CHECK_OK(NameDimensions(program_, options_.dim_names, options_.input_names, options_.output_names, sink_));
    if (recorder) recorder->Begin(program_);
    FLAMBEAU_CHECK_OK(Step("passes"));
    FLAMBEAU_CHECK_OK(RunAtenPasses());
    Watch("functional", program_.graph);
    FLAMBEAU_CHECK_OK(Step("lowering"));
    FLAMBEAU_TRY(lower::LoweredProgram lowered, Lower());
    Graph& graph = lowered.graph;
    if (graph.outputs(graph.main()).empty())
      return sink_.Error(DiagnosticKind::kBadProgram, "the program gives out no tensor and no number: there is nothing that a model could compute");
    Watch("lowered", graph);
    Record("lowered", "each ATen call becomes ONNX nodes", graph);
    FLAMBEAU_CHECK_OK(Step("passes"));
    FLAMBEAU_CHECK_OK(RunOnnxPasses(graph));
    if (options_.keep_initializers_as_inputs) onnx::MakeConstantNodes(graph, HasNameOfWeight(graph), options_.opset);
    const onnx::InterfaceNames names{options_.input_names, options_.output_names, Weights(graph, lowered.inputs), OutputNames(lowered.additions)};
    FLAMBEAU_CHECK_OK(onnx::AssignNames(graph, names, sink_, options_.opset));
    DeclareOutputRanks(graph, sink_);
    NameOutputDimensions(graph, options_.dim_names, sink_);
    input_positions = KeepInputs(program_, options_.keep_unused_inputs, lowered.inputs, graph);
    Watch("onnx", graph);
    Record("names", "every node and value gets a name", graph);
    return Finish(std::move(lowered), std::move(captured));
  }

 private:
  void Watch(std::string_view stage, const Graph& graph) {
    if (watch) watch(stage, graph);
  }

  void Record(std::string_view stage, std::string_view description, const Graph& graph) {
    if (recorder) recorder->After(stage, description, graph);
  }

  Status Step(std::string_view stage) {
    if (options_.progress && !options_.progress({stage, 0, 0}))
      return sink_.Error(DiagnosticKind::kInterrupted, "the conversion was interrupted");
    return {};
  }

  // `passes` are described in the report.
  template <class Passes>
  PassHooks Hooks(Passes passes) {
    PassHooks hooks;
    hooks.after = [this, passes](std::string_view pass, const Graph& graph) {
      Watch(pass, graph);
      const auto row = std::ranges::find(passes, pass, [](const auto& each) { return each.name; });
      Record(pass, row->description, graph);
    };
#ifndef NDEBUG
    hooks.verify = [](const Graph& graph, Sink& sink) { return VerifyGraph(graph, sink); };
#endif
    return hooks;
  }

  Result<lower::LoweredProgram> LowerAt(int opset, Sink& sink) const {
    const lower::CustomOperators custom(options_.translations, options_.custom_opsets);
    auto lowered = lower::LowerProgram(program_, {opset, options_.state_outputs, options_.export_params, options_.target == Target::kOnnxRuntime, &custom,
                                               !KeepsWeights()}, sink);
    PassContext context{sink};
    context.opset = opset;
    if (lowered && !StackSequences(lowered->graph, context)) return kFailure;
    return lowered;
  }

  Result<lower::LoweredProgram> Lower() {
    Sink found;
    Result<lower::LoweredProgram> lowered = LowerAt(options_.opset, found);
    std::vector<Diagnostic> diagnostics = found.Take();
    NameLowestOpsets(diagnostics);
    for (Diagnostic& diagnostic : diagnostics) sink_.Add(std::move(diagnostic));
    return lowered;
  }

  // The lowest opset that has what a node needs depends on all that its
  // translation is made of; so it is found by trying.
  void NameLowestOpsets(std::vector<Diagnostic>& diagnostics) const {
    std::vector<Diagnostic*> open;
    for (Diagnostic& diagnostic : diagnostics)
      if (diagnostic.kind == DiagnosticKind::kUnsupportedOpset) open.push_back(&diagnostic);
    for (int opset = options_.opset + 1; !open.empty() && opset <= onnx::NewestOpset(); ++opset) {
      Sink tried;
      (void)LowerAt(opset, tried);
      std::set<std::tuple<std::string, std::string, std::vector<std::string>>> failing;
      for (const Diagnostic& diagnostic : tried.diagnostics())
        if (diagnostic.severity == Severity::kError) failing.insert(PlaceOf(diagnostic));
      std::erase_if(open, [&](Diagnostic* diagnostic) {
        if (failing.contains(PlaceOf(*diagnostic))) return false;
        diagnostic->hint = fmt::format("use opset {} or newer", opset);
        return true;
      });
    }
  }

  // The captured node that a diagnostic speaks of.
  static std::tuple<std::string, std::string, std::vector<std::string>> PlaceOf(const Diagnostic& diagnostic) {
    return {diagnostic.location.operation, diagnostic.location.module, diagnostic.notes};
  }

  Status RunAtenPasses() {
    PassContext context{sink_, options_.state_outputs};
    if (!RunPasses(AtenPipeline(), program_, context, Hooks(AtenPipeline()))) return kFailure;
    return {};
  }

  // Where the model points into the archive, they stay as they lie there.
  bool KeepsWeights() const { return options_.external_data == ExternalData::kReference; }

  Status RunOnnxPasses(Graph& graph) {
    PassContext context{sink_};
    context.opset = options_.opset;
    context.keep_weights = KeepsWeights();
    context.seed = options_.seed;
    std::vector<std::span<const OnnxPass>> pipelines = {OnnxPipeline(options_.optimize)};
    if (options_.target == Target::kOnnxRuntime) pipelines.push_back(OnnxRuntimePipeline());
    if (options_.seed) pipelines.push_back(SeedPipeline());
    for (const auto pipeline : pipelines)
      if (!RunPasses(pipeline, graph, context, Hooks(pipeline))) return kFailure;
    return {};
  }

  // What the program calls the outputs of the model.
  std::vector<std::string> OutputNames(const lower::Additions& additions) const {
    std::vector<std::string> names;
    for (const size_t index : additions.outputs) {
      const OutputSpec& spec = program_.outputs[index];
      const bool of_buffer = spec.IsState() && !program_.context->Text(spec.target).empty();
      names.push_back(of_buffer ? fmt::format("{}_out", program_.context->Text(spec.target)) : std::string(program_.context->Text(spec.name)));
    }
    return names;
  }

  // The weights in the order in which they can be named, inputs or not; invalid where none is left. `of_program`: the
  // values that are the graph's inputs.
  std::vector<ValueId> Weights(const Graph& graph, std::span<const ValueId> of_program) const {
    std::unordered_map<std::string_view, ValueId> by_name;
    for (ValueId id : onnx::Initializers(graph)) by_name.emplace(graph.context().Text(graph[id].name), id);
    std::unordered_map<uint32_t, ValueId> inputs;
    for (size_t i = 0; i < of_program.size(); ++i) inputs.emplace(of_program[i].index, graph[graph.main()].inputs[i]);
    for (const InputSpec& input : program_.inputs)
      if (const auto found = inputs.find(input.value.index); found != inputs.end() && IsWeight(input))
        by_name.emplace(program_.context->Text(input.target), found->second);
    std::vector<ValueId> weights;
    const auto add = [&](std::string_view name) {
      const auto found = by_name.find(name);
      weights.push_back(found == by_name.end() ? ValueId{} : found->second);
    };
    for (const std::string& name : options_.weight_names) add(name);
    if (!options_.weight_names.empty()) return weights;
    for (const InputSpec& input : program_.inputs)
      if (IsWeight(input)) add(program_.context->Text(input.target));
    return weights;
  }

  static bool IsWeight(const InputSpec& input) {
    return input.kind == InputKind::kParameter || input.kind == InputKind::kBuffer;
  }

  // Whether a constant is a weight, or what passes made of one: they add to its name what they did.
  std::function<bool(ValueId)> HasNameOfWeight(const Graph& graph) const {
    std::set<std::string_view> weights;
    for (const InputSpec& input : program_.inputs)
      if (IsWeight(input)) weights.insert(program_.context->Text(input.target));
    return [&graph, weights = std::move(weights)](ValueId constant) {
      const Symbol symbol = graph[constant].name;
      std::string_view name = symbol ? graph.context().Text(symbol) : std::string_view();
      for (; !name.empty(); name = name.substr(0, name.rfind('_'))) {
        if (weights.contains(name)) return true;
        if (!name.ends_with("_view") && !name.ends_with("_part")) break;
      }
      return false;
    };
  }

  Result<std::unique_ptr<onnx::ModelData>> Finish(lower::LoweredProgram lowered, std::shared_ptr<const Graph> captured) {
    Graph& graph = lowered.graph;
    std::set<std::string_view> domains;
    for (BlockId block : graph.AllBlocks())
      graph.ForEachNode(block, [&](NodeId node) { domains.insert(onnx::SplitOperator(graph.op(node)).first); });
    // On the heap: the metadata's callbacks keep its address.
    auto made = std::make_unique<onnx::ModelData>(std::move(graph));
    onnx::ModelData& model = *made;
    model.opset_imports.push_back({"", options_.opset});
    for (std::string_view domain : domains)
      if (!domain.empty()) {
        const auto version = lowered.additions.domains.find(domain);
        model.opset_imports.push_back({std::string(domain), version == lowered.additions.domains.end() ? 1 : version->second});
      }
    model.producer_name = "flambeau";
    model.producer_version = Version();
    model.graph_name = program_.name;
    // Without their bytes weights are inputs alone: what is left are large constants, which only IR versions before 4 list.
    model.initializers_are_inputs = options_.keep_initializers_as_inputs && (options_.export_params || options_.opset < kOpsetOfLoneInitializers);
    AttachMetadata(program_, std::move(captured), std::move(lowered.additions), options_, model);
    model.ir_version = onnx::LeastIrVersion(model);
    FLAMBEAU_CHECK_OK(onnx::CheckModel(model, sink_));
    if (recorder) recorder->Finish(model);
    return made;
  }

  Program::Impl& program_;
  const Options& options_;
  Sink& sink_;
};

}  // namespace

const char* Version() { return FLAMBEAU_VERSION; }
int NewestOpset() { return onnx::NewestOpset(); }

Outcome Convert(Program program, const Options& options) {
  Outcome outcome;
  Guard(outcome.diagnostics, {}, [&] {
    auto impl = std::make_unique<Program::Impl>(std::move(program.impl()));
    const aten::DeclarationScope scope(impl->declared);
    Sink sink;
    Conversion conversion(*impl, options, sink);
    Recorder recorder;
    if (options.report) conversion.recorder = &recorder;
    auto model = conversion.Run();
    outcome.diagnostics = sink.Take();
    if (options.report) outcome.report = recorder.Take(outcome.diagnostics);
    if (model) outcome.model.emplace(std::make_unique<Model::Impl>(std::move(impl), *std::move(model), std::move(conversion.input_positions)));
  });
  return outcome;
}

Outcome ConvertFile(const std::string& source, const std::string& target, const Options& options) {
  Outcome outcome;
  std::error_code error;
  if (std::filesystem::equivalent(source, target, error)) {
    outcome.diagnostics.push_back({DiagnosticKind::kBadOption, Severity::kError, {.file = target}, "the target is the archive itself", {},
                                   "give the model another name"});
    return outcome;
  }
  auto program = ReadProgram(source, outcome.diagnostics, options);
  if (program) {
    Outcome converted = Convert(*std::move(program), options);
    for (Diagnostic& diagnostic : converted.diagnostics) outcome.diagnostics.push_back(std::move(diagnostic));
    outcome.report = std::move(converted.report);
    Guard(outcome.diagnostics, {.file = target}, [&] {
      if (converted.model && converted.model->Save(target, options.external_data, outcome.diagnostics, options.progress))
        outcome.model = std::move(converted.model);
    });
  }
  if (options.report) {
    ConversionReport& report = outcome.report ? *outcome.report : outcome.report.emplace();
    report.model = source;
    report.target = target;
    if (!outcome.model) report.status = "failed";
    report.diagnostics = outcome.diagnostics;
  }
  return outcome;
}

std::string Dump(Program program, std::string_view stage, const Options& options, std::vector<Diagnostic>& diagnostics) {
  std::string text;
  Guard(diagnostics, {}, [&] {
    const auto stages = DumpStages();
    const aten::DeclarationScope scope(program.impl().declared);
    Sink sink;
    if (std::find(stages.begin(), stages.end(), stage) == stages.end()) {
      (void)sink.Error(DiagnosticKind::kBadOption, fmt::format("there is no stage '{}'", stage), {}, fmt::format("stages: {}", fmt::join(stages, ", ")));
    } else {
      Conversion conversion(program.impl(), options, sink);
      bool seen = false;
      conversion.watch = [&](std::string_view reached, const Graph& graph) {
        if (reached != stage || (seen && stage != "onnx")) return;
        seen = true;
        text = PrintGraph(graph);
      };
      const auto model = conversion.Run();
      if (model && stage == "onnx") text = onnx::ModelText(**model);
      if (seen) {
        (void)sink.Take();  // what failed after the stage doesn't matter here
      } else if (model) {
        sink.Error(DiagnosticKind::kBadOption, fmt::format("the conversion of this program has no stage '{}'", stage));
      }
    }
    for (Diagnostic& diagnostic : sink.Take()) diagnostics.push_back(std::move(diagnostic));
  });
  return text;
}

std::string DumpFile(const std::string& path, std::string_view stage, const Options& options, std::vector<Diagnostic>& diagnostics) {
  if (stage == "torchscript") return DumpTorchScript(path, options, diagnostics);
  std::optional<Program> program = ReadProgram(path, diagnostics, options);
  return program ? Dump(*std::move(program), stage, options, diagnostics) : std::string();
}

std::vector<std::string> DumpStages() {
  std::vector<std::string> stages = {"torchscript", "aten"};
  for (const AtenPass& pass : AtenPipeline()) stages.emplace_back(pass.name);
  stages.insert(stages.end(), {"functional", "lowered"});
  for (const auto pipeline : {OnnxPipeline(true), OnnxRuntimePipeline(), SeedPipeline()})
    for (const OnnxPass& pass : pipeline) stages.emplace_back(pass.name);
  stages.emplace_back("onnx");
  return stages;
}

}  // namespace flambeau
