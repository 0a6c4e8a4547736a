// Sizes: symbols and their sources, expressions computed where a kernel needs
// the number, and the shape operators that work on them.
#include <algorithm>

#include "onnx/builder.h"
#include "onnx/builder_reshapes.h"
#include "onnx/complex.h"
#include "support/numeric.h"

namespace flambeau::onnx {

std::optional<flambeau::Ints> Builder::AsConstants(std::span<const Dim> dims) const {
  flambeau::Ints values;
  for (Dim dim : dims) {
    const auto value = AsConstant(dim);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

void Builder::BindSize(Expr symbol, const Tensor& tensor, int64_t axis) {
  if (sources_.emplace(symbol, Source{tensor, axis}).second && blocks_.size() > 1) blocks_.back().bound.push_back(symbol);
}

void Builder::BindNumber(Expr symbol, const Tensor& number) { BindSize(symbol, number, -1); }

Dim Builder::DimOf(const Tensor& number) {
  if (number.type().contents && number.type().contents->size() == 1) {
    const Dim element{number.type().contents->front()};
    if (IsComputable(*this, element)) return element;
  }
  const Expr symbol = exprs().Anonymous();
  exprs().SetRange(symbol, {INT64_MIN, INT64_MAX});
  BindNumber(symbol, number);
  return {symbol};
}

void Builder::BindSizes(const Tensor& tensor) {
  if (!tensor.type().is_tensor() || !tensor.ranked()) return;
  for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
    const Expr size = tensor.size(axis).expr;
    if (exprs().kind(size) == ExprKind::kSymbol) BindSize(size, tensor, axis);
    else if (blocks_.size() == 1) BindRoot(size, tensor, axis);
  }
}

// 8*h and h + 1 say what h is, which may be no size itself: a user's dimension derived from another one.
void Builder::BindRoot(Expr size, const Tensor& tensor, int64_t axis) {
  Source source{tensor, axis};
  // The other operand, where one of two is a constant.
  const auto without_constant = [&](ExprKind kind, int64_t& constant) {
    const auto operands = exprs().operands(size);
    if (exprs().kind(size) != kind || operands.size() != 2) return;
    for (const size_t i : {0, 1}) {
      const auto value = AsConstant({operands[i]});
      if (!value) continue;
      constant = *value;
      size = operands[1 - i];
      return;
    }
  };
  without_constant(ExprKind::kAdd, source.offset);
  without_constant(ExprKind::kMul, source.factor);
  if (exprs().kind(size) == ExprKind::kSymbol && source.factor > 0 && !HasSource(size)) roots_.emplace(size, source);
}

void Builder::BindAnonymousSizes(const Tensor& tensor) {
  if (!tensor || tensor.is_number() || !tensor.type().is_tensor() || !tensor.ranked()) return;
  for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
    const Expr size = tensor.type().sizes[static_cast<size_t>(axis)];
    if (exprs().kind(size) == ExprKind::kSymbol && exprs().symbol_kind(size) == SymbolKind::kAnonymous)
      BindSize(size, tensor, axis);
  }
}

Tensor* Builder::FindMemo(std::unordered_map<Expr, Tensor> OpenBlock::*memo, Expr expr) {
  for (auto open = blocks_.rbegin(); open != blocks_.rend(); ++open)
    if (auto it = ((*open).*memo).find(expr); it != ((*open).*memo).end()) return &it->second;
  return nullptr;
}

Tensor Builder::Number(Dim dim) {
  if (const auto value = AsConstant(dim)) return ConstantInt(*value);
  if (const Tensor* known = FindMemo(&OpenBlock::numbers, dim.expr)) return *known;
  const auto source = sources_.find(dim.expr);
  const Tensor number = source != sources_.end() && source->second.axis < 0 ? CastTo(source->second.tensor, DType::kInt64)
                                                                            : SqueezeAt(Number1(dim), {0});
  return blocks_.back().numbers[dim.expr] = number;
}

Tensor Builder::Number1(Dim dim) {
  if (const auto value = AsConstant(dim)) return ConstantInts({*value});
  if (const Tensor* known = FindMemo(&OpenBlock::vectors, dim.expr)) return *known;
  const Tensor vector = ComputeNumber(dim.expr);
  return blocks_.back().vectors[dim.expr] = vector;
}

// A tensor of one element. Depth of expressions is bounded, see expr.h.
Tensor Builder::ComputeNumber(Expr expr) {
  const auto operands = exprs().operands(expr);
  auto at = [&](size_t i) { return Number1({operands[i]}); };
  auto fold = [&](auto combine) {
    Tensor result = at(0);
    for (size_t i = 1; i < operands.size(); ++i) result = combine(result, at(i));
    return result;
  };
  switch (exprs().kind(expr)) {
    case ExprKind::kConstant: return ConstantInts({*exprs().AsConstant(expr)});
    case ExprKind::kSymbol: {
      const auto found = sources_.find(expr), root = roots_.find(expr);
      if (found == sources_.end() && root == roots_.end()) {
        // After an error, sizes of what was not made are missing; that error is the one to read.
        if (!sink().HasErrors())
          Report(DiagnosticKind::kInternalError,
                 "a size is needed as a number, but nothing that was converted so far has it: " + exprs().Text(expr));
        return Poison(Type::OfTensor(DType::kInt64, {exprs().Constant(1)}));
      }
      const Source source = found != sources_.end() ? found->second : root->second;
      if (source.axis < 0) return UnsqueezeAt(CastTo(source.tensor, DType::kInt64), {0});
      Tensor size = Shape(source.tensor, {.end = source.axis + 1, .start = source.axis});
      if (source.offset != 0) size = Sub(size, ConstantInts({source.offset}));
      return source.factor == 1 ? size : Div(size, ConstantInts({source.factor}));
    }
    case ExprKind::kAdd: return fold([&](Tensor a, Tensor b) { return Add(a, b); });
    case ExprKind::kMul: return fold([&](Tensor a, Tensor b) { return Mul(a, b); });
    case ExprKind::kMax: return fold([&](Tensor a, Tensor b) { return Max(Tensors{a, b}); });
    case ExprKind::kMin: return fold([&](Tensor a, Tensor b) { return Min(Tensors{a, b}); });
    case ExprKind::kFloorDiv: {
      // ONNX's integer division truncates, which is the floor where nothing is negative.
      const Tensor a = at(0), b = at(1);
      if (exprs().RangeOf(operands[0]).min >= 0 && exprs().RangeOf(operands[1]).min >= 0) return Div(a, b);
      return Div(Sub(a, Mod(a, b)), b);
    }
    case ExprKind::kMod: return Mod(at(0), at(1));
    case ExprKind::kPow: return Pow(at(0), at(1));
    case ExprKind::kEqual: return CastTo(Equal(at(0), at(1)), DType::kInt64);
    case ExprKind::kLess: return CastTo(Less(at(0), at(1)), DType::kInt64);
    case ExprKind::kSelect: return Where(CastTo(at(0), DType::kBool), at(1), at(2));
  }
  return {};
}

Tensor Builder::Shape1(std::span<const Dim> dims) {
  if (const auto constants = AsConstants(dims)) return ConstantInts(*constants);
  std::vector<Tensor> parts;
  flambeau::Ints pending;
  auto flush = [&] {
    if (!pending.empty()) parts.push_back(ConstantInts(pending));
    pending.clear();
  };
  for (Dim dim : dims) {
    if (const auto value = AsConstant(dim)) {
      pending.push_back(*value);
      continue;
    }
    flush();
    parts.push_back(Number1(dim));
  }
  flush();
  return parts.size() == 1 ? parts[0] : Concat(parts, {.axis = 0});
}

Tensor Builder::CastTo(Tensor tensor, DType dtype) {
  if (tensor.is_number()) return ConstantOf(tensor.number(), dtype);
  if (tensor.dtype() == dtype) return tensor;
  if (tensor.is_complex() || IsComplex(dtype)) return CastComplex(*this, tensor, dtype);
  // Small constants are cast here, without a node.
  const DType from = tensor.dtype();
  if (ByteSize(from) > 0 && ByteSize(dtype) > 0) {
    if (const auto bytes = ConstantBytes(tensor)) {
      const auto source_width = static_cast<size_t>(ByteSize(from)), width = static_cast<size_t>(ByteSize(dtype));
      std::vector<std::byte> cast(bytes->size() / source_width * width);
      for (size_t i = 0; i * source_width < bytes->size(); ++i) {
        const std::byte* at = bytes->data() + i * source_width;
        if (IsFloating(from)) {
          StoreDouble(dtype, LoadDouble(from, at), cast.data() + i * width);
        } else {
          StoreInt(dtype, LoadInt(from, at), cast.data() + i * width);
        }
      }
      return Constant(dtype, context()[(*graph_)[tensor.id()].data].sizes, cast);
    }
  }
  return Cast(tensor, {.to = Info(dtype).onnx_code});
}

Tensor Builder::ExpandTo(Tensor tensor, std::span<const Dim> sizes) {
  if (tensor.ranked() && tensor.sizes() == Dims(sizes.begin(), sizes.end())) return tensor;
  // onnxruntime drops an Expand that it can tell to enlarge nothing.
  const auto added = static_cast<int64_t>(sizes.size()) - (tensor.ranked() ? tensor.rank() : 0);
  for (int64_t axis = 0; tensor.ranked() && added >= 0 && axis < tensor.rank(); ++axis)
    if (AsConstant(sizes[static_cast<size_t>(axis + added)]) == 0 && AsConstant(tensor.size(axis)) == 1)
      tensor = SliceAxis(tensor, axis, Of(0), Of(0));
  if (tensor.ranked() && tensor.sizes() == Dims(sizes.begin(), sizes.end())) return tensor;
  return Expand(tensor, Shape1(sizes));
}

Tensor Builder::Permute(Tensor tensor, const flambeau::Ints& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return tensor;
  return Transpose(tensor, {.perm = permutation});
}

Tensor Builder::UnsqueezeAt(Tensor tensor, const flambeau::Ints& axes) {
  return axes.empty() ? tensor : Unsqueeze(tensor, ConstantInts(axes));
}

Tensor Builder::SqueezeAt(Tensor tensor, const flambeau::Ints& axes) {
  return axes.empty() ? tensor : Squeeze(tensor, ConstantInts(axes));
}

Tensor Builder::SliceAxis(Tensor tensor, int64_t axis, Dim start, Dim end, int64_t step) {
  return Slice(tensor, Number1(start), Number1(end), ConstantInts({axis}), step == 1 ? Tensor() : ConstantInts({step}));
}

Tensor Builder::GatherIndex(Tensor tensor, int64_t axis, Dim index) {
  return Gather(tensor, Number(index), {.axis = axis});
}

std::vector<Tensor> Builder::SplitSizes(Tensor tensor, int64_t axis, std::span<const Dim> sizes) {
  if (sizes.size() == 1) return {tensor};
  std::vector<Tensor> pieces = Split(tensor, Shape1(sizes), {.axis = axis}, sizes.size());
  // Of many sizes the operator infers none.
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].ranked()) continue;
    Type type = pieces[i].type();
    type.sizes[static_cast<size_t>(axis)] = sizes[i].expr;
    if (!(type == pieces[i].type())) pieces[i] = Refined(pieces[i], std::move(type));
  }
  return pieces;
}

Tensor Builder::Full(std::span<const Dim> sizes, const Scalar& value, DType dtype) {
  if (sizes.empty()) return ConstantOf(value, dtype);
  return ExpandTo(ConstantOf(value, dtype), sizes);
}

// --- bodies -----------------------------------------------------------------------

std::vector<Tensor> Builder::FillBlock(BlockId block, const std::function<std::vector<Tensor>()>& fill) {
  blocks_.push_back({block, {}, {}, {}, {}});
  std::vector<Tensor> outputs;
  std::vector<Expr> bound;
  auto close = [&] {
    bound = std::move(blocks_.back().bound);
    for (Expr symbol : bound) sources_.erase(symbol);
    blocks_.pop_back();
  };
  try {
    outputs = fill();
    for (Tensor& output : outputs) output = Value(output);
  } catch (...) {
    close();
    throw;
  }
  close();
  // Outside, such a symbol may come to stand for another number.
  std::unordered_map<Expr, Expr> ended;
  for (Expr symbol : bound)
    if (exprs().symbol_kind(symbol) != SymbolKind::kAnonymous) ended.emplace(symbol, exprs().Anonymous());
  if (ended.empty()) return outputs;
  for (Tensor& output : outputs) {
    if (!output) continue;
    Type type = output.type();
    for (Expr& size : type.sizes) size = exprs().Substitute(size, ended);
    if (type.contents)
      for (Expr& element : *type.contents) element = exprs().Substitute(element, ended);
    if (type == output.type()) continue;
    output = Refined(output, std::move(type));
  }
  return outputs;
}

std::vector<Tensor> Builder::Scope(const std::function<std::vector<Tensor>()>& fill) { return FillBlock(block(), fill); }

BlockId Builder::Body(const std::function<std::vector<Tensor>()>& fill) {
  const BlockId body = graph_->AddBlock();
  SetOutputs(body, FillBlock(body, fill));
  return body;
}

void Builder::SetOutputs(BlockId body, std::span<const Tensor> outputs) {
  std::vector<ValueId> ids;
  for (const Tensor& output : outputs) ids.push_back(output.id());
  graph_->SetOutputs(body, ids);
}

Tensor Builder::AddBlockInput(const Type& type, Symbol name) {
  return As(graph_->AddInput(block(), context().Intern(PairType(type, exprs())), name), type);
}

std::vector<Tensor> Builder::Choose(Tensor condition, const std::function<std::vector<Tensor>()>& then_branch,
                                    const std::function<std::vector<Tensor>()>& else_branch) {
  std::vector<Tensor> then_outputs, else_outputs;
  auto body = [&](const std::function<std::vector<Tensor>()>& fill, std::vector<Tensor>* outputs) {
    const BlockId block = graph_->AddBlock();
    *outputs = FillBlock(block, fill);
    SetOutputs(block, *outputs);
    return block;
  };
  const BlockId then_body = body(then_branch, &then_outputs), else_body = body(else_branch, &else_outputs);
  AttributeList attributes;
  attributes.Add("then_branch", then_body);
  attributes.Add("else_branch", else_body);
  std::vector<Type> types;
  for (size_t i = 0; i < then_outputs.size(); ++i) {
    Type type = then_outputs[i].type();
    const Type& other = else_outputs[i].type();
    type.contents.reset();
    type.strides.clear();
    if (!type.ranked || !other.ranked || type.rank() != other.rank()) {
      type.ranked = false;  // of a list, its elements
      type.sizes.clear();
    } else {
      for (size_t d = 0; d < type.rank(); ++d)
        if (type.sizes[d] != other.sizes[d]) type.sizes[d] = exprs().Anonymous();
    }
    types.push_back(std::move(type));
  }
  return EmitCustom("If", {&condition, 1}, attributes, types);
}

}  // namespace flambeau::onnx
