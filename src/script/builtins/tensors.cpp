// What Python asks of tensors: sizes, dtypes, numbers in tensors and tensors of
// numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>

#include "aten/strides.h"
#include "reader/torchscript/types.h"
#include "script/builtins/builtins.h"
#include "script/lists/rows.h"
#include "script/lists/sequences.h"

namespace flambeau::script {

using torchscript::IsKind;
using torchscript::Node;
using torchscript::TypeKind;
using torchscript::TypePtr;

namespace {

const Type* TensorType(Evaluator& evaluator, const Val& value) {
  const auto* tensor = value.As<TensorVal>();
  if (tensor == nullptr) {
    (void)evaluator.sink().Error(DiagnosticKind::kBadProgram, "asks something of a value that is no tensor");
    return nullptr;
  }
  return &evaluator.TypeOf(*tensor);
}

}  // namespace

const Type* RankedType(Evaluator& evaluator, const Val& value) {
  const Type* type = TensorType(evaluator, value);
  if (type != nullptr && !type->ranked) {
    (void)evaluator.sink().Error(DiagnosticKind::kMissingInformation,
                                 "needs the rank of a tensor that paths through the program give different ranks");
    return nullptr;
  }
  return type;
}

namespace {

Result<Vals> Size(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Type* type = RankedType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  evaluator.kept_inputs().NoteSizeRead(node, *arguments[0].As<TensorVal>());
  if (arguments.size() > 1) {
    FLAMBEAU_TRY(Val size, evaluator.emit().Call1("aten::sym_size.int", {arguments[0], arguments[1]}));
    return Vals{std::move(size)};
  }
  const auto rank = static_cast<int64_t>(type->rank());
  Vals sizes;
  for (int64_t dim = 0; dim < rank; ++dim) {
    FLAMBEAU_TRY(Val size, evaluator.emit().Call1("aten::sym_size.int", {arguments[0], dim}));
    sizes.push_back(std::move(size));
  }
  return Vals{evaluator.List(std::move(sizes))};
}

Result<Vals> Rank(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type* type = RankedType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  return Vals{static_cast<int64_t>(type->rank())};
}

// The sizes of what two tensors of such sizes broadcast to.
Result<Vals> BroadcastShapes(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto *a = arguments[0].As<ListVal>(), *b = arguments[1].As<ListVal>();
  const Heap& heap = evaluator.heap();
  if (a == nullptr || b == nullptr || heap[a->cell].sequence || heap[b->cell].sequence)
    return evaluator.Unsupported("broadcasts sizes of which the number is known at run time only");
  Vals sizes = heap[a->cell].elements, others = heap[b->cell].elements;
  if (sizes.size() < others.size()) std::swap(sizes, others);
  for (size_t i = 0; i < others.size(); ++i) {
    Val& size = sizes[sizes.size() - 1 - i];
    const Val& other = others[others.size() - 1 - i];
    const std::optional<int64_t> known = size.AsInt(), known_other = other.AsInt();
    if (known == 1 || (!known && known_other && known_other != 1)) {
      size = other;
    } else if (!known && !known_other) {  // 1 or the same, on either side
      FLAMBEAU_TRY(size, evaluator.emit().Call1("torch::sym_max", {size, other}));
    }
  }
  return Vals{evaluator.List(std::move(sizes))};
}

Result<Vals> Stride(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Type* type = RankedType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  const torchscript::Constant* example = node.Find("example");  // of a trace
  const auto* number = example != nullptr ? std::get_if<int64_t>(&example->value) : nullptr;
  if (number != nullptr && type->strides.size() != type->rank()) {
    WarnOfExample(evaluator, fmt::format("holds the stride {}, of a tensor whose strides are not known", *number), "that stride is the same");
    return Vals{*number};
  }
  if (arguments.size() < 2 && type->strides.size() != type->rank()) {  // some only ask in case
    const auto unknown = std::make_shared<const std::string>("a stride of a tensor of which no strides were recorded, because ONNX's tensors have no strides");
    return Vals{evaluator.List(Vals(type->rank(), Undefined{unknown, true}))};
  }
  Vals strides;
  for (int64_t dim = 0, rank = static_cast<int64_t>(type->rank()); dim < rank && arguments.size() < 2; ++dim) {
    FLAMBEAU_TRY(Val stride, evaluator.emit().Call1("aten::sym_stride.int", {arguments[0], dim}));
    strides.push_back(std::move(stride));
  }
  if (arguments.size() < 2) return Vals{evaluator.List(std::move(strides))};
  FLAMBEAU_TRY(Val stride, evaluator.emit().Call1("aten::sym_stride.int", {arguments[0], arguments[1]}));
  return Vals{std::move(stride)};
}

// Of a tensor that is no view of another: where it begins, the memory does, too.
Result<Vals> StorageOffset(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* tensor = arguments[0].As<TensorVal>();
  if (tensor == nullptr) return kFailure;
  Storages& storages = evaluator.emit().storages();
  const auto offset = storages.MayShare(tensor->id).size() == 1 ? storages.Offset(storages.ViewOf(tensor->id)) : std::nullopt;
  const auto known = offset ? evaluator.context().exprs().AsConstant(*offset) : std::nullopt;
  if (!known) return evaluator.Unsupported("asks for the place of a tensor in memory, which sizes or paths of the program decide");
  return Vals{*known};
}

Result<Vals> ByteCount(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type* type = RankedType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  const auto size = static_cast<int64_t>(ByteSize(type->dtype));
  FLAMBEAU_TRY(const Val count, evaluator.emit().Call1("aten::sym_numel", {arguments[0]}));
  FLAMBEAU_TRY(Val bytes, evaluator.emit().Call1("_operator::mul", {count, size}));
  return Vals{std::move(bytes)};
}

// Ranks that differ decide it; else all sizes have to agree, which a run may have to tell.
Result<Vals> IsSameSize(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type *type = RankedType(evaluator, arguments[0]), *other = RankedType(evaluator, arguments[1]);
  if (type == nullptr || other == nullptr) return kFailure;
  if (type->rank() != other->rank()) return Vals{false};
  Val same = true;
  Emitter& emit = evaluator.emit();
  for (int64_t dim = 0, rank = static_cast<int64_t>(type->rank()); dim < rank; ++dim) {
    FLAMBEAU_TRY(const Val size, emit.Call1("aten::sym_size.int", {arguments[0], dim}));
    FLAMBEAU_TRY(const Val of_other, emit.Call1("aten::sym_size.int", {arguments[1], dim}));
    FLAMBEAU_TRY(const Val equal, emit.Call1("_operator::eq", {size, of_other}));
    FLAMBEAU_TRY(same, emit.Call1("_operator::and_", {same, equal}));
  }
  return Vals{std::move(same)};
}

// -1: it has none.
Result<Vals> DeviceNumber(Evaluator& evaluator, const Node&, Arguments) {
  const std::string& device = evaluator.device();
  const size_t colon = device.find(':');
  int64_t number = device == "cpu" ? -1 : 0;
  if (colon != device.npos) std::from_chars(device.data() + colon + 1, device.data() + device.size(), number);
  return Vals{number};
}

// prim::is_cuda, …
Result<Vals> IsOnDevice(Evaluator& evaluator, const Node& node, Arguments) {
  const std::string_view asked = std::string_view(node.kind).substr(std::string_view("prim::is_").size());
  return Vals{std::string_view(evaluator.device()).substr(0, evaluator.device().find(':')) == asked};
}

Result<Vals> ElementCount(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (TensorType(evaluator, arguments[0]) == nullptr) return kFailure;
  FLAMBEAU_TRY(Val count, evaluator.emit().Call1("aten::sym_numel", {arguments[0]}));
  return Vals{std::move(count)};
}

Result<Vals> DtypeOf(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type* type = TensorType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  return Vals{int64_t{Info(type->dtype).torch_code}};
}

template <bool (*kTest)(DType)>
Result<Vals> DtypeIs(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type* type = TensorType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  return Vals{kTest(type->dtype)};
}

// Of complex numbers, PyTorch may put the sign of their imaginary parts off.
Result<Vals> IsConjugated(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type* type = TensorType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  return IsComplex(type->dtype) ? Result<Vals>(evaluator.Unsupported("asks whether a tensor of complex numbers is conjugated")) : Vals{false};
}

// Of what a model does not do: it computes no gradients, and has one process.
Result<Vals> Never(Evaluator&, const Node&, Arguments) { return Vals{false}; }

Result<Vals> DeviceOf(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (const auto* text = arguments[0].As<std::string>()) {
    if (arguments.size() < 2 || arguments[1].Is<Nothing>()) return Vals{DeviceVal{*text}};
    const auto number = arguments[1].AsInt();
    if (!number) return evaluator.Unsupported("names a device by a number that only a run knows");
    return Vals{DeviceVal{fmt::format("{}:{}", *text, *number)}};
  }
  return Vals{DeviceVal{evaluator.device()}};
}

// What a program makes sparse is dense in ONNX, and is told from nothing else.
bool MakesSparse(Evaluator& evaluator) {
  const Graph& graph = evaluator.emit().graph();
  for (uint32_t i = 0; i < evaluator.emit().node_count(); ++i)
    if (graph.op(NodeId{i}).find("sparse") != std::string_view::npos) return true;
  return false;
}
template <class Answer, Answer kOfDense>
Result<Vals> OfDense(Evaluator& evaluator, const Node&, Arguments) {
  if (MakesSparse(evaluator))
    return evaluator.sink().Error(DiagnosticKind::kUnsupportedForm, "asks whether a tensor is sparse, where the program makes some that are");
  return Vals{kOfDense};
}

// Where it cannot be known, most programs only ask in order to make it so. Of channels last they ask for what is quicker,
// and few tensors are that.
Result<Vals> IsContiguous(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type* type = TensorType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  const auto code = arguments.size() > 1 ? arguments[1].AsInt() : std::nullopt;
  const auto format = code && *code > 0 && *code <= static_cast<int64_t>(MemoryFormat::kChannelsLast3d) ? static_cast<MemoryFormat>(*code) : MemoryFormat::kContiguous;
  ExprPool& exprs = evaluator.context().exprs();
  aten::Decision decision = aten::IsContiguousUnlessOne(*type, format, exprs);
  if (decision == aten::Decision::kUnknown && format >= MemoryFormat::kChannelsLast) decision = aten::Decision::kNo;
  if (decision == aten::Decision::kUnknown || aten::IsContiguous(*type, format, exprs) == aten::Decision::kUnknown)
    evaluator.sink().Warning(DiagnosticKind::kFrozenDimension,
                             fmt::format("takes for granted that the tensor {} contiguous{}, which depends on sizes that are known at run time only",
                                         decision == aten::Decision::kNo ? "is not" : "is",
                                         format >= MemoryFormat::kChannelsLast ? " with the channels last" : ""));
  return Vals{decision != aten::Decision::kNo};
}

Result<Vals> ElementSize(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type* type = TensorType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  return Vals{int64_t{ByteSize(type->dtype)}};
}

Result<Vals> Data(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(Val detached, evaluator.emit().Call1("aten::detach", {arguments[0]}));
  return Vals{std::move(detached)};
}

// A number as a 0-d tensor of its own dtype. A trace makes one of each size; scripts only of numbers where an operator
// takes tensors alone.
Result<Vals> NumberToTensor(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (arguments[0].Is<TensorVal>()) return Vals{arguments[0]};
  FLAMBEAU_TRY(Val tensor, evaluator.emit().NumberTensor(arguments[0]));
  const Node* made_by = node.inputs[0]->node;
  if (made_by != nullptr && (made_by->kind == "aten::size" || made_by->kind == "aten::numel")) evaluator.number_stand_ins().Note(tensor);
  return Vals{std::move(tensor)};
}

Result<Vals> Item(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (!arguments[0].Is<TensorVal>()) return evaluator.CallOperator(node, arguments);
  FLAMBEAU_TRY(Val number, evaluator.emit().Call1("aten::item", {evaluator.number_stand_ins().Whole(arguments[0])}));
  return Vals{std::move(number)};
}

// All pairs of elements are close to each other.
Result<Vals> AllClose(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(const Val close, evaluator.emit().Call1("aten::isclose", arguments));
  FLAMBEAU_TRY(const Val all, evaluator.emit().Call1("aten::all", {close}));
  FLAMBEAU_TRY(Val answer, evaluator.emit().Call1("aten::Bool.Tensor", {all}));
  return Vals{std::move(answer)};
}

// Python's abs.
Result<Vals> Absolute(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (!arguments[0].Is<TensorVal>()) return evaluator.CallOperator(node, arguments);
  FLAMBEAU_TRY(Val absolute, evaluator.emit().Call1("aten::abs", {arguments[0]}));
  return Vals{std::move(absolute)};
}

// torch.tensor(data, dtype, device, requires_grad): data is a number, or lists
// of numbers in lists.
struct Flat {
  Vals numbers;
  std::vector<int64_t> sizes;
};

bool Flatten(Evaluator& evaluator, const Val& value, size_t depth, Flat& flat) {
  if (value.IsNumber() || value.Is<TensorVal>()) {
    flat.numbers.push_back(value);
    return depth == flat.sizes.size();
  }
  constexpr size_t kMaxDepth = 32;
  const auto* list = value.As<ListVal>();
  if (list == nullptr || depth > kMaxDepth) return false;
  const Cell& cell = evaluator.heap()[list->cell];
  if (cell.sequence || !cell.columns.empty()) return false;
  const Vals& elements = cell.elements;
  const auto size = static_cast<int64_t>(elements.size());
  if (depth == flat.sizes.size() && flat.numbers.empty())
    flat.sizes.push_back(size);
  else if (depth >= flat.sizes.size() || flat.sizes[depth] != size)
    return false;
  return std::ranges::all_of(elements, [&](const Val& element) { return Flatten(evaluator, element, depth + 1, flat); });
}

// Whether these are lists of numbers of which some have a run-time length.
bool RowsAtRunTime(Evaluator& evaluator, const Val& value) {
  const Heap& heap = evaluator.heap();
  const auto* list = value.As<ListVal>();
  if (list == nullptr) return false;
  const Vals& rows = heap[list->cell].elements;
  auto numbers = [&](const Val& row) {
    const auto* each = row.As<ListVal>();
    return each != nullptr && (heap[each->cell].of_numbers || (!heap[each->cell].elements.empty() &&
                                                               std::ranges::all_of(heap[each->cell].elements, &Val::IsNumber)));
  };
  return std::ranges::all_of(rows, numbers) &&
         std::ranges::any_of(rows, [&](const Val& row) { return heap[row.As<ListVal>()->cell].of_numbers; });
}

// Of no numbers, TorchScript makes what the type of the list says; only Python makes floats of them.
Result<Val> EmptyTensor(Emitter& emit, const Node& node, DType floats) {
  TypePtr type = node.inputs[0]->type;
  while (IsKind(type, TypeKind::kList) && !type->elements.empty()) type = type->elements[0];
  return emit.NumbersTensor({}, IsKind(type, TypeKind::kInt) ? DType::kInt64 : IsKind(type, TypeKind::kBool) ? DType::kBool : floats);
}

Result<Vals> MakeTensor(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (MakesTensorOfTensors(node)) return evaluator.Raise(node, "makes a tensor of a list of tensors, where PyTorch wants numbers");
  Emitter& emit = evaluator.emit();
  const Val dtype = arguments.size() > 1 ? arguments[1] : Val(Nothing{});
  if (const auto* tensor = arguments[0].As<TensorVal>()) {
    FLAMBEAU_TRY(Val copy, emit.Call1("aten::clone", {*tensor}));
    if (dtype.Is<Nothing>()) return Vals{std::move(copy)};
    FLAMBEAU_TRY(Val cast, emit.Call1("aten::to.dtype", {copy, dtype}));
    return Vals{std::move(cast)};
  }
  const DType floats = dtype.AsInt() == Info(DType::kFloat64).torch_code ? DType::kFloat64 : emit.default_dtype();
  const auto as_asked = [&](Val tensor) -> Result<Vals> {
    const bool precise = evaluator.TypeOf(*tensor.As<TensorVal>()).dtype == DType::kFloat64;
    if (dtype.Is<Nothing>() && !precise) return Vals{std::move(tensor)};
    const Val asked = dtype.Is<Nothing>() ? Val(int64_t{Info(floats).torch_code}) : dtype;
    FLAMBEAU_TRY(Val cast, emit.Call1("aten::to.dtype", {tensor, asked}));
    return Vals{std::move(cast)};
  };
  if (const auto* list = arguments[0].As<ListVal>(); list != nullptr && evaluator.heap()[list->cell].of_numbers) {
    FLAMBEAU_TRY(Val numbers, NumbersOf(evaluator, arguments[0]));
    return as_asked(std::move(numbers));
  }
  if (RowsAtRunTime(evaluator, arguments[0])) {
    const Vals lists = evaluator.heap()[arguments[0].As<ListVal>()->cell].elements;
    Vals rows;
    for (const Val& list : lists) {
      FLAMBEAU_TRY(Val row, NumbersOf(evaluator, list));
      rows.push_back(std::move(row));
    }
    FLAMBEAU_TRY(Val tensor, emit.Call1("aten::stack", {evaluator.List(std::move(rows)), int64_t{0}}));
    return as_asked(std::move(tensor));
  }
  Flat flat;
  if (!Flatten(evaluator, arguments[0], 0, flat)) return evaluator.Unsupported("makes a tensor of lists of different lengths");
  Val tensor;
  if (flat.sizes.empty()) {
    FLAMBEAU_TRY(tensor, emit.NumberTensor(flat.numbers[0], floats));
  } else {
    FLAMBEAU_TRY(tensor, flat.numbers.empty() ? EmptyTensor(emit, node, floats) : emit.NumbersTensor(flat.numbers, floats));
    if (flat.sizes.size() > 1) {
      Vals sizes;
      for (const int64_t size : flat.sizes) sizes.emplace_back(size);
      FLAMBEAU_TRY(tensor, emit.Call1("aten::reshape", {tensor, evaluator.List(std::move(sizes))}));
    }
  }
  if (!dtype.Is<Nothing>()) {
    FLAMBEAU_TRY(tensor, emit.Call1("aten::to.dtype", {tensor, dtype}));
  }
  return Vals{std::move(tensor)};
}

Result<Vals> ToList(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type* type = RankedType(evaluator, arguments[0]);
  if (type == nullptr) return kFailure;
  if (type->rank() == 0) return Item(evaluator, {}, arguments.first(1));
  if (type->rank() == 1) {
    FLAMBEAU_TRY(Val list, ListOfNumbers(evaluator, arguments[0]));
    return Vals{std::move(list)};
  }
  // From the innermost lists outwards.
  std::vector<size_t> sizes;
  for (const Expr each : type->sizes) {
    const auto size = evaluator.context().exprs().AsConstant(each);
    if (!size && type->rank() == 2) return RowsOfNumbers(evaluator, arguments[0]);
    if (!size) return evaluator.Unsupported("makes a list of lists of lists of a tensor that has a run-time size");
    sizes.push_back(static_cast<size_t>(*size));
  }
  FLAMBEAU_TRY(const Val flat, evaluator.emit().Call1("aten::reshape", {arguments[0], evaluator.List({int64_t{-1}})}));
  FLAMBEAU_TRY(const Val numbers, ListOfNumbers(evaluator, flat));
  Vals elements = evaluator.heap()[numbers.As<ListVal>()->cell].elements;
  for (; sizes.size() > 1; sizes.pop_back()) {
    const size_t width = sizes.back();
    Vals rows(std::accumulate(sizes.begin(), sizes.end() - 1, size_t{1}, std::multiplies<>()));
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto first = elements.begin() + static_cast<ptrdiff_t>(i * width);
      rows[i] = evaluator.List(Vals(first, first + static_cast<ptrdiff_t>(width)));
    }
    elements = std::move(rows);
  }
  return Vals{evaluator.List(std::move(elements))};
}

constexpr BuiltinRow kRows[] = {
    {"aten::ScalarImplicit", &Item},
    {"aten::_infer_size", &BroadcastShapes},
    {"aten::allclose", &AllClose},
    {"aten::as_tensor", &MakeTensor},
    {"aten::broadcast_shapes", &BroadcastShapes},
    {"aten::device", &DeviceOf},
    {"aten::dim", &Rank},
    {"aten::element_size", &ElementSize},
    {"aten::get_device", &DeviceNumber},
    {"aten::is_complex", &DtypeIs<IsComplex>},
    {"aten::is_conj", &IsConjugated},
    {"aten::is_contiguous", &IsContiguous},
    {"aten::is_distributed", &Never},
    {"aten::is_floating_point", &DtypeIs<IsFloating>},
    {"aten::is_inference", &Never},
    {"aten::is_same_size", &IsSameSize},
    {"aten::is_signed", &DtypeIs<IsSigned>},
    {"aten::numel", &ElementCount},
    {"aten::retains_grad", &Never},
    {"aten::size", &Size},
    {"aten::storage_offset", &StorageOffset},
    {"aten::stride", &Stride},
    {"aten::tensor", &MakeTensor},
    {"prim::NumToTensor", &NumberToTensor},
    {"prim::abs", &Absolute},
    {"prim::data", &Data},
    {"prim::device", &DeviceOf},
    {"prim::dtype", &DtypeOf},
    {"prim::is_cpu", &IsOnDevice},
    {"prim::is_cuda", &IsOnDevice},
    {"prim::is_ipu", &IsOnDevice},
    {"prim::is_maia", &IsOnDevice},
    {"prim::is_meta", &IsOnDevice},
    {"prim::is_mps", &IsOnDevice},
    {"prim::is_mtia", &IsOnDevice},
    {"prim::is_vulkan", &IsOnDevice},
    {"prim::is_xla", &IsOnDevice},
    {"prim::is_xpu", &IsOnDevice},
    {"prim::itemsize", &ElementSize},
    {"prim::is_sparse", &OfDense<bool, false>},
    {"prim::is_sparse_csr", &OfDense<bool, false>},
    {"prim::layout", &OfDense<int64_t, 0>},
    {"prim::nbytes", &ByteCount},
    {"prim::shape", &Size},
    {"prim::tolist", &ToList},
};

}  // namespace

std::span<const BuiltinRow> TensorBuiltins() { return kRows; }

}  // namespace flambeau::script
