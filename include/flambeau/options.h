/// \file
/// What a caller can ask of a conversion.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flambeau/translation.h"

namespace flambeau {

enum class ExternalData : uint8_t {
  kAuto,       ///< one file while it stays below 2 GB, else weights in NAME.onnx.data
  kAlways,     ///< weights of 256 bytes and more in NAME.onnx.data
  kNever,      ///< all in one file; an error above 2 GB
  kReference,  ///< unchanged weights stay in the archive; the model points into it
};

enum class Metadata : uint8_t {
  kRelease,    ///< none at all
  kNamespace,  ///< `namespace` of each node
  kDefault,    ///< every documented key but stack traces
  kDebug,      ///< every documented key
};

/// What is to run the model.
enum class Target : uint8_t {
  kOnnxRuntime,  ///< its CPU kernels: where it has none for a dtype, the operator computes in a wider one
  kStrict,       ///< anything that follows ONNX: no casts but those that the model has, or ONNX's types ask for
};

/// How far a conversion has come.
struct Progress {
  std::string_view stage;  ///< "passes", "lowering", "passes" again, "writing"
  uint64_t done = 0;       ///< bytes while writing; else 0
  uint64_t total = 0;      ///< 0 where not known
};

struct Options {
  static constexpr int kDefaultOpset = 20;

  int opset = kDefaultOpset;
  ExternalData external_data = ExternalData::kAuto;
  /// Nothing asked for: kDefault, and kRelease below opset 18, as metadata needs IR version 10, which the runtimes that such
  /// models are for may not read.
  std::optional<Metadata> metadata;
  Target target = Target::kOnnxRuntime;
  /// In graph order; fewer than there are is fine. Inputs, then parameters.
  std::vector<std::string> input_names;
  /// Of a module's parameters and buffers, those that the model has none of included, in the order in which
  /// input_names goes on after the inputs; empty: those that the program reads, in its order.
  std::vector<std::string> weight_names;
  std::vector<std::string> output_names;
  /// ("x.0", "batch"): dimension 0 (-1: the last) of input x, or else of output x; ("s77", "batch"): that symbol.
  std::vector<std::pair<std::string, std::string>> dim_names;
  /// ("x", "float32[batch,3,224,224]"): what a TorchScript archive gets as input x.
  std::vector<std::pair<std::string, std::string>> inputs;
  /// Which of several models of a `.pt2` archive; empty: the only one, or the one named "model".
  std::string model;
  /// Which method of a TorchScript archive's module; empty: forward.
  std::string method;
  /// ONNX passes that make the graph smaller; what correctness needs always runs.
  bool optimize = true;
  /// New values of mutated buffers and inputs become further outputs, named after these: "encoder.cache_out".
  bool state_outputs = false;
  bool keep_initializers_as_inputs = false;
  /// Each node of the model that draws random numbers gets a seed of its own that follows from this one: whoever loads the
  /// model gets the same numbers. Not given: the runtime chooses.
  std::optional<uint64_t> seed;
  /// False: inputs that nothing depends on are left out. Those that remain keep their names.
  bool keep_unused_inputs = true;
  /// False: parameters and persistent buffers become inputs of the model, without bytes.
  bool export_params = true;
  /// Key-value pairs for the model's metadata.
  std::vector<std::pair<std::string, std::string>> user_metadata;
  /// ("mylib::foo", its translator): asked before Flambeau's own table.
  std::vector<std::pair<std::string, Translator>> translations;
  /// ("mylib", 1): operators of that namespace that have no translation become
  /// nodes of the ONNX domain of that name and version.
  std::vector<std::pair<std::string, int>> custom_opsets;
  /// "mylib::foo(Tensor(a!) x, float by) -> ()": what archives do not say of users' operators. Known for the whole process.
  std::vector<std::string> operator_schemas;
  /// Keep a report of the conversion (Outcome::report).
  bool report = false;
  /// Called now and then; false interrupts the conversion.
  std::function<bool(const Progress&)> progress;
};

}  // namespace flambeau
