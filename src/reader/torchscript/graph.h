// A TorchScript program: one function in static single assignment, as
// torch._C.Graph has it after inlining, and the module state that it reads.
//
// Both ways in end here: the archive reader, which parses the serialized code,
// and the walk over a live torch._C.Graph. Calls of operators give every schema
// argument, in schema order, as a value; constants are prim::Constant nodes.
// src/script/ makes a canonical ATen program of it.
#pragma once

#include <complex>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/tensor_data.h"
#include "support/dtype.h"
#include "support/ids.h"
#include "support/named_list.h"

namespace flambeau::torchscript {

// --- types -------------------------------------------------------------------

enum class TypeKind : uint8_t {
  kAny,
  kTensor,
  kInt,
  kFloat,
  kBool,
  kComplex,
  kNumber,  // "Scalar": an int, float, bool or complex
  kString,
  kDevice,
  kNone,
  kGenerator,
  kOptional,  // elements[0] or None
  kList,      // elements[0]
  kDict,      // elements: key, value
  kTuple,     // elements; with `fields` a NamedTuple, called `name`
  kUnion,     // elements
  kFuture,    // elements[0]
  kClass,     // `name`: a module or a scripted class, "__torch__.model.Net"
  kInterface,
  kEnum,      // `name`; elements[0] is the type of its values
  kFunction,
  kVariable,  // of a schema, by its `name`: "t"
};

struct Type;
using TypePtr = std::shared_ptr<const Type>;

struct Type {
  TypeKind kind = TypeKind::kAny;
  std::vector<TypePtr> elements;
  std::string name;                 // of a class, interface, enum or NamedTuple
  std::vector<std::string> fields;  // of a NamedTuple
  // kTensor: what is recorded, if anything. A size is -1 where it is not known.
  std::optional<DType> dtype;
  std::optional<std::vector<int64_t>> sizes;

  static TypePtr Of(TypeKind kind, std::vector<TypePtr> elements = {});
};

// "Optional[List[Tensor]]", as Python's annotations have it.
std::string Text(const Type& type);

// --- constants and module state ----------------------------------------------

using ObjectId = Id<struct ScriptObjectTag>;

struct Constant;
struct ListConstant {
  std::vector<Constant> elements;
};
struct TupleConstant {
  std::vector<Constant> elements;
};
struct DictEntry;
struct DictConstant {
  std::vector<DictEntry> entries;  // in insertion order
};
struct DeviceConstant {
  std::string text;  // "cpu", "cuda:0"
};
struct EnumConstant {
  std::string class_name, member;
  std::shared_ptr<const Constant> value;
};

struct Constant {
  // None, a number (dtypes, layouts and memory formats are ints, as in
  // TorchScript), text, a tensor, a container, an object of the table.
  std::variant<std::monostate, bool, int64_t, double, std::complex<double>, std::string, TensorData, DeviceConstant,
               ListConstant, TupleConstant, DictConstant, EnumConstant, ObjectId>
      value;
};
struct DictEntry {
  Constant key, value;
};

enum class AttributeRole : uint8_t { kAttribute, kParameter, kBuffer };

struct ObjectAttribute {
  std::string name;
  TypePtr type;
  Constant value;
  AttributeRole role = AttributeRole::kAttribute;
  bool persistent = true;  // of a buffer
};

// A module or an instance of a scripted class. Objects that are one in the
// module are one here; so are tensors, by their TensorData (SameBytes).
struct Object {
  std::string class_name;  // "__torch__.torch.nn.modules.conv.Conv2d"
  std::string path;        // of a module: "layers.0.conv"; empty for the root and for other objects
  NamedList<ObjectAttribute, &ObjectAttribute::name> attributes;

  const ObjectAttribute* Find(std::string_view attribute) const { return attributes.Find(attribute); }
};

// Quantized tensors are objects of this class: "data", their integers; and
// "quantizer", as PyTorch pickles it: a tuple of the scheme's name ("torch.per_tensor_affine"), scale,
// zero point, and, by channel, axis.
inline constexpr std::string_view kQuantizedTensor = "torch._utils._rebuild_qtensor";
// The one attribute of objects whose state only their own class understands.
inline constexpr std::string_view kOpaqueState = "__state__";

// --- the graph ---------------------------------------------------------------

struct Node;
struct Block;

struct Value {
  TypePtr type;
  std::string name;  // debug name, without '%'
  Node* node = nullptr;    // that makes it; null for inputs of blocks
  Block* block = nullptr;  // of which it is an input
};

// Where in the module hierarchy a node was, outermost first, and in the source.
struct Scope {
  std::string path;        // "layers.0.conv"
  std::string class_name;  // "torch.nn.modules.conv.Conv2d"
};
using Scopes = std::shared_ptr<const std::vector<Scope>>;
using Source = std::shared_ptr<const std::string>;  // as a Python traceback; the innermost frame last

struct Attribute {
  std::string name;  // "name" of prim::GetAttr
  Constant value;
};

struct Node {
  std::string kind;      // "aten::add", "prim::If"
  std::string overload;  // "Tensor"; empty for the default one and for prim:: nodes
  std::vector<Value*> inputs;
  std::vector<Value*> outputs;
  std::vector<Block*> blocks;
  std::vector<Attribute> attributes;  // prim::Constant: "value"; prim::GetAttr, SetAttr: "name"; PythonOp: "name", …
  std::vector<TypePtr> types;         // prim::isinstance: those that it asks for; a list or tuple without elements is any
  Scopes scopes;  // may be null
  Source source;  // may be null
  Block* owner = nullptr;

  const Constant* Find(std::string_view attribute) const;
};

struct Block {
  std::vector<Value*> inputs;
  std::vector<Node*> nodes;     // in order
  std::vector<Value*> outputs;  // what it returns
};

// The kinds of prim:: that src/script/ evaluates are PyTorch's: Constant, If,
// Loop, ListConstruct, ListUnpack, TupleConstruct, TupleUnpack, TupleIndex,
// TupleSlice, DictConstruct, GetAttr, SetAttr, CreateObject, RaiseException,
// Uninitialized, unchecked_cast, isinstance, NumToTensor, device, dtype, …
// A loop is prim::Loop(max_trip_count, condition, carried…) with one block
// (iteration, carried…) -> (condition, carried…).
struct Graph {
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  std::string name = "main_graph";
  std::string torch_version;
  DType default_dtype = DType::kFloat32;  // torch's at the capture
  std::string device = "cpu";             // that of the tensors, which the program may ask for
  std::vector<std::string> methods;  // of the module; this is the graph of one of them
  Block* main = nullptr;
  std::vector<std::optional<Constant>> defaults;  // of the inputs of `main`, where its signature has them
  std::vector<std::string> operator_schemas;  // of users' operators
  // What the first input, `self`, is; invalid for a free function, which has none.
  ObjectId self;
  std::vector<Object> objects;

  Block* AddBlock();
  Value* AddInput(Block* block, TypePtr type, std::string name);
  // A node at the end of `block`. Add its blocks and attributes to it.
  Node* Append(Block* block, std::string kind, std::string overload, std::vector<Value*> inputs);
  Value* AddOutput(Node* node, TypePtr type, std::string name);
  // A prim::Constant and its value.
  Value* AppendConstant(Block* block, Constant value, TypePtr type, std::string name);

  // Of input `i` of `main`; null where the caller has to give it.
  const Constant* DefaultOf(size_t i) const { return i < defaults.size() && defaults[i] ? &*defaults[i] : nullptr; }

  const Object& operator[](ObjectId id) const { return objects[id.index]; }
  Object& operator[](ObjectId id) { return objects[id.index]; }

 private:
  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::deque<Block> blocks_;
};

// As torch._C.Graph prints: a node a line, blocks indented.
std::string Print(const Graph& graph);

}  // namespace flambeau::torchscript
