// Feeds a ProgramBuilder with the graph of a torch.export JSON document: its
// signature, nodes and nested graphs.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "diag/sink.h"
#include "flambeau/program.h"
#include "reader/pt2/tagged.h"
#include "reader/pt2/tensor_table.h"
#include "support/hash_table.h"

namespace flambeau::pt2 {

class GraphReader {
 public:
  // `says_version`: the archive says which PyTorch wrote it, as 2.5 and newer do.
  GraphReader(ProgramBuilder& builder, const TensorTable& tensors, bool says_version, Sink& sink);
  GraphReader(const GraphReader&) = delete;
  GraphReader& operator=(const GraphReader&) = delete;

  // `graph_module`: a GraphModule of torch/_export/serde/schema.py.
  Status Read(const JsonReader& graph_module);

 private:
  // The names of one graph; a nested graph sees none of those around it.
  struct Scope {
    NameTable<JsonReader> tensors, ints, floats, bools;  // what the graph says of its values
    NameTable<ValueHandle> values;                       // those that are defined
  };
  // A value that is about to be defined. Constants have no name.
  struct Declared {
    std::string_view name;
    ValueInfo info;
  };
  using ArgumentHandler = Result<Argument> (GraphReader::*)(const JsonReader&);

  // Signature and tables (signature_reader.cpp).
  Status ReadInputs(const JsonReader& specs);
  Status ReadInput(const Tagged& spec);
  // `tag`: a known one, as are those of outputs. `arg`: what the graph calls it, with a tag of its own only for the user's.
  Status AddInput(std::string_view tag, const JsonReader& arg, std::string_view target, bool persistent, const JsonReader& spec);
  Status ReadConstantInput(const JsonReader& spec);
  Status ReadStoredInput(InputKind kind, const JsonReader& arg, std::string_view target, bool persistent, const JsonReader& spec);
  Status CheckStored(const ValueInfo& info, const TensorSource& tensor, std::string_view target, const JsonReader& where);
  // Whether the node asks a stored tensor for one that it wraps, which it then defines (wrapped_tensors.cpp).
  Result<bool> ReadWrapped(const JsonReader& node);
  Status ReadOutputs(const JsonReader& specs);
  Status ReadOutput(const Tagged& spec);
  Status AddOutput(std::string_view tag, const JsonReader& arg, std::string_view target);
  // PyTorch 2.1 says by name which inputs are parameters and buffers, and which outputs are written to buffers.
  Status ReadInputsByName(const JsonReader& inputs, const JsonReader& signature);
  Status ReadOutputsByName(const JsonReader& outputs, const JsonReader& signature);

  Status ReadTables(const JsonReader& graph);
  Status ReadNodes(const JsonReader& graph);
  Status ReadNode(const JsonReader& node);
  Status ReadSource(const JsonReader& node, NodeSource* source);
  Status ReadDictionary(const std::string& prefix, const JsonReader& members, int depth,
                        std::vector<std::pair<std::string_view, Argument>>* named);
  Result<BodyHandle> ReadBody(const JsonReader& graph);

  // A stored tensor that wraps others.
  struct Wrapper {
    TensorTable::Wrapped tensors;
    InputKind kind;
    std::string_view target;
    bool persistent;
  };

  // Values that are defined: inputs and results.
  Status Declare(const Tagged& argument, std::vector<Declared>* declared);
  Result<ValueInfo> DescribeTensor(std::string_view name, const JsonReader& where);
  Result<ValueInfo> DescribeSymbol(ValueInfo::Kind kind, std::string_view name, const JsonReader& where);
  Status Define(std::string_view name, ValueHandle value, const JsonReader& where);

  // Values that are used.
  Result<Argument> ReadArgument(const JsonReader& json);
  Result<Argument> ReadArgument(const Tagged& argument);
  Result<Argument> ReadOutputValue(const JsonReader& json);
  Result<Argument> UseName(const JsonReader& name);
  Result<Argument> UseNamed(const JsonReader& json);
  Result<Argument> UseSymbol(const JsonReader& json);
  Result<Argument> UseOptional(const JsonReader& json);
  Result<Argument> UseNone(const JsonReader& json);
  Result<Argument> UseInt(const JsonReader& json);
  Result<Argument> UseFloat(const JsonReader& json);
  Result<Argument> UseBool(const JsonReader& json);
  Result<Argument> UseString(const JsonReader& json);
  Result<Argument> UseComplex(const JsonReader& json);
  Result<Argument> UseScalarType(const JsonReader& json);
  Result<Argument> UseMemoryFormat(const JsonReader& json);
  Result<Argument> UseLayout(const JsonReader& json);
  Result<Argument> UseDevice(const JsonReader& json);
  Result<Argument> UseGraph(const JsonReader& json);
  template <ArgumentHandler Element>
  Result<Argument> UseList(const JsonReader& json);
  static const std::unordered_map<std::string_view, ArgumentHandler>& ArgumentHandlers();

  ProgramBuilder& builder_;
  const TensorTable& tensors_;
  const bool says_version_;
  Sink& sink_;
  std::vector<Scope> scopes_;          // innermost last
  std::unordered_map<std::string_view, Wrapper> wrappers_;  // by the name of the value
  std::optional<JsonReader> current_;  // what the builder is being told of
  std::deque<std::string> texts_;      // that arguments of the current node point to
  std::string signature_;              // as torch prints it
  ContextScope where_;
};

// "layers.3.attn" and its class, from PyTorch's "key,path,class;…".
std::vector<NodeSource::Module> ParseModuleStack(std::string_view text);

}  // namespace flambeau::pt2
