// Lists of run-time length whose elements are the pieces of a tensor.
#include <memory>

#include "script/emitter.h"

namespace flambeau::script {

using aten::Schema;

// Where the pieces begin that tensor_split cuts a dimension of that size into, and where the last one ends.
Result<Val> Emitter::BoundsOfPieces(const Val& size, const Val& given) {
  const auto* tensor = given.As<TensorVal>();
  if (tensor != nullptr && graph_.type(tensor->id).rank() == 1) {
    FLAMBEAU_TRY(const Val first, NumbersTensor({int64_t{0}}));
    FLAMBEAU_TRY(const Val last, NumbersTensor({size}));
    return Call1("aten::cat", {ListVal{heap_.Add({.elements = {first, given, last}})}, int64_t{0}});
  }
  // As equal as can be, the larger ones first.
  Val count = given;
  if (tensor != nullptr) {
    FLAMBEAU_TRY(count, Call1("aten::item", {given}));
  }
  FLAMBEAU_TRY(const Val least, Call1("_operator::floordiv", {size, count}));
  FLAMBEAU_TRY(const Val larger, Call1("_operator::mod", {size, count}));
  FLAMBEAU_TRY(const Val ends, Call1("_operator::add", {count, int64_t{1}}));
  FLAMBEAU_TRY(const Val places, Call1("aten::arange", {ends}));
  FLAMBEAU_TRY(const Val multiples, Call1("aten::mul.Scalar", {places, least}));
  FLAMBEAU_TRY(const Val more, Call1("aten::clamp_max", {places, larger}));
  return Call1("aten::add.Tensor", {multiples, more});
}

// Where the elements of a list of run-time length come from, as they are views.
Status Emitter::RememberPieces(const Schema& schema, std::span<const Val> arguments, const Val& list) {
  const bool unbind = schema.name == "aten::unbind.int", chunk = schema.name == "aten::chunk" || schema.name == "aten::unsafe_chunk";
  const bool bounds = schema.base == "aten::tensor_split";
  if (!unbind && !chunk && !bounds && schema.name != "aten::split.Tensor" && schema.name != "aten::unsafe_split.Tensor") return {};
  const size_t dim_at = unbind ? 1 : 2;
  const auto dim = dim_at < arguments.size() ? arguments[dim_at].AsInt() : std::optional<int64_t>(0);
  if (!dim) return {};
  Pieces pieces{*heap_[list.As<ListVal>()->cell].sequence, {}, Nothing{}, Nothing{}, Nothing{}, *dim};
  // What becomes of the tensor's own shape in place is not the pieces' matter.
  FLAMBEAU_TRY(pieces.tensor, Call1("aten::detach", {arguments[0]}));
  if (!unbind && !bounds) pieces.size = arguments[1];
  if (chunk || bounds) {
    FLAMBEAU_TRY(const Val size, Call1("aten::sym_size.int", {pieces.tensor, *dim}));
    if (bounds) {
      FLAMBEAU_TRY(pieces.bounds, BoundsOfPieces(size, arguments[1]));
    } else {
      FLAMBEAU_TRY(const Val less, Call1("_operator::sub", {size, int64_t{1}}));
      FLAMBEAU_TRY(const Val quotient, Call1("_operator::floordiv", {less, arguments[1]}));
      FLAMBEAU_TRY(pieces.size, Call1("_operator::add", {quotient, int64_t{1}}));
    }
  }
  if (!unbind) {
    FLAMBEAU_TRY(pieces.count, Call1("aten::len.t", {list}));  // while nothing was written yet
  }
  heap_.Edit(list.As<ListVal>()->cell).pieces = std::make_shared<const Pieces>(std::move(pieces));
  return {};
}

}  // namespace flambeau::script
