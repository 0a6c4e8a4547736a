/// \file
/// TorchScript programs: how a live torch._C.Graph comes in, and what has to be
/// said about the inputs of one, for TorchScript records neither dtypes nor
/// sizes.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "flambeau/diagnostic.h"
#include "flambeau/options.h"
#include "flambeau/program.h"

namespace flambeau {

/// Handles of one builder: a module or another object with attributes, a value, a type.
struct ScriptObject {
  uint32_t index = UINT32_MAX;
};
struct ScriptValue {
  uint32_t index = UINT32_MAX;
};
struct ScriptType {
  uint32_t index = UINT32_MAX;
};

/// A constant of a program, or an attribute of a module.
struct ScriptConstant {
  using List = std::vector<ScriptConstant>;
  struct Device { std::string text; };
  struct Tuple { List elements; };
  struct Dict { std::vector<std::pair<ScriptConstant, ScriptConstant>> entries; };
  struct Enum { std::string class_name, member; std::shared_ptr<const ScriptConstant> value; };

  std::variant<std::monostate, bool, int64_t, double, std::complex<double>, std::string, Device, TensorSource, List,
               Tuple, Dict, Enum, ScriptObject>
      value;
};

/// What the program gets for one of its inputs: a tensor, a constant, which the
/// model then does not have as an input, several of these in a container, or
/// what the program's own signature has for it (`n: int=3`): a constant, too.
struct ScriptInput {
  enum class Kind : uint8_t { kTensor, kConstant, kList, kTuple, kDict, kDefault };
  Kind kind = Kind::kTensor;
  std::string name;                                      ///< of the model's input; empty: the program's own
  ScalarTypeCode dtype = 6;                              ///< of a tensor
  std::vector<std::variant<int64_t, std::string>> sizes;  ///< "batch": a dynamic dimension
  std::vector<int64_t> captured;                         ///< the sizes that it was captured with; empty: not known
  bool number = false;                                   ///< of no dimension: whether the program is given a number, where it may be either; of a trace: stands for one
  ScriptConstant constant;                               ///< None, a number, text
  std::vector<ScriptInput> elements;                     ///< of a container
  std::vector<ScriptConstant> keys;                      ///< of a dict, one an element
};

/// Builds a program node by node, in execution order, as torch._C.Graph has it
/// after inlining. Nothing throws; the first inconsistency is remembered as a
/// diagnostic, and Finish then fails.
class ScriptBuilder {
 public:
  ScriptBuilder();
  ~ScriptBuilder();
  ScriptBuilder(ScriptBuilder&&) noexcept;
  ScriptBuilder& operator=(ScriptBuilder&&) noexcept;

  void SetTorchVersion(std::string_view version);
  /// As ProgramBuilder::SetDefaultDtype.
  void SetDefaultDtype(ScalarTypeCode dtype);
  /// What the program is told that asks for the device of a tensor: "cpu", if not set, or "cuda:0".
  void SetDevice(std::string_view device);
  /// `kind`: "Tensor", "int", "List", "Optional", "Tuple", "Class", … in torch's words.
  ScriptType AddType(std::string_view kind, std::span<const ScriptType> elements, std::string_view name = {});

  ScriptObject AddObject(std::string_view class_name, std::string_view path);
  /// `role`: kParameter, kBuffer, or another for what is neither.
  void AddAttribute(ScriptObject object, std::string_view name, ScriptConstant value, InputKind role, bool persistent);
  /// What the first input of the program is.
  void SetSelf(ScriptObject object);

  /// Inputs of the innermost open block; at first, of the program.
  ScriptValue AddInput(std::string_view name, ScriptType type);
  /// A node of the innermost open block; its blocks follow, each between
  /// BeginBlock and EndBlock. `kind`: "aten::add", with `overload` "Tensor".
  struct NodeInfo {
    std::string_view kind, overload;
    std::vector<ScriptValue> inputs;
    std::vector<std::pair<std::string_view, ScriptType>> outputs;
    /// "recorded": what a trace had as outputs, a list [dtype, size, …] each. It
    /// tells the types of the results of users' operators.
    std::vector<std::pair<std::string_view, ScriptConstant>> attributes;
    std::vector<ScriptType> types;  ///< that prim::isinstance asks for
    std::vector<NodeSource::Module> modules;  ///< outermost first
    std::string_view stack_trace;
  };
  std::vector<ScriptValue> AddNode(NodeInfo node);
  void BeginBlock();  ///< of the node that was added last in the block around
  void EndBlock(std::span<const ScriptValue> outputs);
  void SetOutputs(std::span<const ScriptValue> outputs);

  /// As ProgramBuilder::DeclareOperator.
  void DeclareOperator(std::string_view schema);

  /// The program for these inputs, one each without `self`. The options should be
  /// those of the conversion: translations and custom opsets decide what it calls.
  std::optional<Program> Finish(std::span<const ScriptInput> inputs, std::vector<Diagnostic>& diagnostics,
                                const Options& options = {});
  /// The program as torch prints it.
  std::string Text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flambeau
