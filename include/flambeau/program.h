/// \file
/// A captured PyTorch program, and how one is built.
///
/// Every way in, an archive reader or a walk over a live graph, ends here: the
/// builder puts calls into canonical form (full overload name, every schema
/// argument in schema order, defaults filled in), so nothing after it can tell
/// where a program came from.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "flambeau/diagnostic.h"

namespace flambeau {

/// PyTorch's element types by their numbers in c10::ScalarType (float32 is 6).
using ScalarTypeCode = int8_t;

/// A handle of a value of one builder.
struct ValueHandle {
  uint32_t index = UINT32_MAX;
};
/// A handle of a nested graph (a branch, a loop's body) of one builder.
struct BodyHandle {
  uint32_t index = UINT32_MAX;
};

/// A size, stride or symbolic number: an integer, or an expression as SymPy
/// prints it, `str` or `srepr` ("2*s77 + 1"; "Add(Symbol('s0'), Integer(1))").
using SymbolicInt = std::variant<int64_t, std::string_view>;

/// What the capture recorded of a value.
struct ValueInfo {
  enum class Kind : uint8_t { kTensor, kInt, kFloat, kBool, kNone, kToken, kObject };
  Kind kind = Kind::kTensor;
  ScalarTypeCode dtype = 6;
  std::vector<SymbolicInt> sizes;
  std::vector<SymbolicInt> strides;         ///< in elements; may be empty: unknown
  std::optional<SymbolicInt> expression;    ///< kInt, kBool: its value
};

/// An argument of a call.
class Argument;
struct DtypeArgument { ScalarTypeCode code; };
struct LayoutArgument { std::string_view name; };        ///< "strided"
struct DeviceArgument { std::string_view name; };        ///< "cpu", "cuda:1"
struct MemoryFormatArgument { std::string_view name; };  ///< "channels_last"
class Argument {
 public:
  using List = std::vector<Argument>;
  using Storage = std::variant<std::monostate, bool, int64_t, double, std::complex<double>, std::string_view,
                               DtypeArgument, LayoutArgument, DeviceArgument, MemoryFormatArgument, ValueHandle, BodyHandle, List>;

  Argument() = default;  ///< None
  template <class T>
    requires std::is_constructible_v<Storage, T&&> && (!std::is_same_v<std::remove_cvref_t<T>, Argument>)
  Argument(T&& value) : storage_(std::forward<T>(value)) {}

  const Storage& storage() const { return storage_; }

 private:
  Storage storage_;
};

/// Where a node of the captured graph comes from. Views need to live only
/// during the call.
struct NodeSource {
  struct Module {
    std::string_view path;        ///< "layers.3.attn"
    std::string_view class_name;  ///< "torch.nn.modules.linear.Linear"
  };
  std::vector<Module> modules;  ///< outermost first
  std::string_view stack_trace;
  std::string_view name;  ///< of the node in the captured graph
};

/// Bytes of a tensor: in memory, in a file, or fetched piece by piece. Offsets
/// and sizes in bytes, sizes of dimensions and strides in elements.
struct TensorSource {
  ScalarTypeCode dtype = 6;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  ///< empty: contiguous
  uint64_t storage_offset = 0;   ///< bytes from the start of what follows
  uint64_t storage_size = 0;     ///< bytes that may be read from there

  /// Exactly one of these.
  const void* memory = nullptr;  ///< kept alive by `owner`
  std::string file;              ///< with `file_offset`
  uint64_t file_offset = 0;
  std::function<bool(uint64_t offset, std::span<std::byte> out)> fetch;

  std::shared_ptr<const void> owner;
};

enum class InputKind : uint8_t { kUser, kParameter, kBuffer, kConstantTensor, kConstant, kToken, kObject };
enum class OutputKind : uint8_t {
  kUser, kLoss, kBufferMutation, kParameterMutation, kUserInputMutation, kGradient, kToken,
};

/// A captured program. Movable; converted by flambeau::Convert.
class Program {
 public:
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  struct Impl;  ///< the engine's own
  explicit Program(std::unique_ptr<Impl> impl);
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Builds a program call by call, in execution order. Nothing throws; the first
/// inconsistency is remembered as a diagnostic, and Finish then fails.
class ProgramBuilder {
 public:
  ProgramBuilder();
  ~ProgramBuilder();
  ProgramBuilder(ProgramBuilder&&) noexcept;
  ProgramBuilder& operator=(ProgramBuilder&&) noexcept;

  // --- the whole ------------------------------------------------------------
  /// "2.13.0"; for messages and metadata.
  void SetTorchVersion(std::string_view version);
  /// torch.get_default_dtype() at the capture; float32 where nothing is said. What
  /// the calls show of it, by floats that they make of none, counts more.
  void SetDefaultDtype(ScalarTypeCode dtype);
  void SetName(std::string_view name);  ///< of the graph
  /// What the capture knows of a symbol; nullopt means unbounded.
  void SetRange(std::string_view symbol, std::optional<int64_t> min, std::optional<int64_t> max);
  /// A condition on sizes under which the program was captured, as torch writes it in
  /// `ExportedProgram._guards_code`. Finish warns of those that only some sizes meet.
  void AddGuard(std::string_view guard);
  /// The user's name for dimension `dim` of the input at `position` among the
  /// user's tensor inputs. `frozen_by`: the source line at which the capture made
  /// it a constant, where it did.
  void NameDimension(size_t position, size_t dim, std::string_view name, std::string_view frozen_by = {});
  /// The documented texts for the model's metadata.
  void SetMetadata(std::string_view key, std::string_view value);

  /// The schema of an operator that is not PyTorch's own, as torch prints it:
  /// "mylib::foo(Tensor x, float scale=1.) -> Tensor". Without it, the arguments
  /// of its calls keep the form in which they are given.
  void DeclareOperator(std::string_view schema);

  // --- inputs, in the graph's order -----------------------------------------
  /// `target` is the name in the state_dict; for user inputs it is empty.
  ValueHandle AddInput(InputKind kind, std::string_view name, const ValueInfo& info, std::string_view target = {},
                       bool persistent = true);
  /// A parameter, buffer or constant with its bytes.
  ValueHandle AddTensor(InputKind kind, std::string_view name, const ValueInfo& info, TensorSource data,
                        std::string_view target, bool persistent = true);

  // --- calls ----------------------------------------------------------------
  /// `target`: "aten.add.Tensor", "torch.ops.higher_order.cond", "_operator.add".
  /// `positional` and `named` together are the arguments, `results` one entry a
  /// value (a list result counts its elements; a None result has kind kNone).
  /// The handles of the results come back in order.
  std::vector<ValueHandle> AddCall(std::string_view target, std::span<const Argument> positional,
                                   std::span<const std::pair<std::string_view, Argument>> named,
                                   std::span<const std::pair<std::string_view, ValueInfo>> results,
                                   const NodeSource& source);

  // --- nested graphs --------------------------------------------------------
  /// What is added between the two belongs to the body. Bodies see only their
  /// own inputs: pass what they use as operands of the call.
  BodyHandle BeginBody();
  ValueHandle AddBodyInput(std::string_view name, const ValueInfo& info);
  void EndBody(std::span<const Argument> outputs);

  // --- outputs --------------------------------------------------------------
  /// `value` is a value, a constant, or None. `target`: the buffer or input that
  /// a mutation writes.
  void AddOutput(OutputKind kind, const Argument& value, std::string_view name = {}, std::string_view target = {});

  // --- the end --------------------------------------------------------------
  /// nullopt after an inconsistency. Diagnostics are appended to `diagnostics`.
  std::optional<Program> Finish(std::vector<Diagnostic>& diagnostics);

 private:
  friend struct BuilderAccess;  ///< the engine's own
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flambeau
