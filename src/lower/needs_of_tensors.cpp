#include <fmt/format.h>

#include <algorithm>

#include "lower/needs.h"
#include "onnx/infer/fit.h"

namespace flambeau::lower {
namespace {

using Check = Lack (*)(const Asked& asked, const Type& type);

// Of no elements, none is looked at.
bool IsEmpty(const Asked& asked, const Type& type) {
  return std::ranges::any_of(type.sizes, [&](Expr size) { return asked.arguments.exprs().IsConstant(size, 0); });
}

// The tensor that is compared with; nullptr where one of the two has no known rank.
const Type* Other(const Asked& asked, const Type& type) {
  const Type* other = asked.arguments.TensorType(asked.need.other);
  return other && other->ranked && type.ranked ? other : nullptr;
}

// Whether the sizes that are known, from `first` on, are those.
bool Fit(const Asked& asked, const Type& type, size_t first, const std::vector<std::optional<int64_t>>& sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto own = asked.arguments.exprs().AsConstant(type.sizes[first + i]);
    if (own && sizes[i] && *own != *sizes[i]) return false;
  }
  return true;
}

// --- dtypes -------------------------------------------------------------------------

Lack Unless(bool holds, const Asked& asked, const Type& type) {
  if (holds) return std::nullopt;
  return fmt::format("takes no '{}' of {}", asked.name, Info(type.dtype).torch_name);
}

template <DType kDtype>
Lack OfDtype(const Asked& asked, const Type& type) {
  return Unless(type.dtype == kDtype, asked, type);
}
Lack NoBool(const Asked& asked, const Type& type) { return Unless(type.dtype != DType::kBool, asked, type); }
Lack Integer(const Asked& asked, const Type& type) {
  const Type* other = asked.arguments.TensorType(asked.need.other);  // none for a number
  const bool promoted = !asked.need.other.empty() && type.dtype == DType::kBool && (other == nullptr || IsInteger(other->dtype));
  return Unless(IsInteger(type.dtype) || promoted, asked, type);
}
Lack Bits(const Asked& asked, const Type& type) { return Unless(!IsFloating(type.dtype) && !IsComplex(type.dtype), asked, type); }
Lack Floating(const Asked& asked, const Type& type) {
  return Unless(IsFloating(type.dtype) || IsComplex(type.dtype), asked, type);
}
Lack Index(const Asked& asked, const Type& type) {
  return Unless(type.dtype == DType::kInt64 || type.dtype == DType::kInt32 || IsEmpty(asked, type), asked, type);
}

Lack LikeDtype(const Asked& asked, const Type& type) {
  const Type* other = asked.arguments.TensorType(asked.need.other);
  if (other == nullptr || other->dtype == type.dtype) return std::nullopt;
  if ((type.ranked && type.rank() == 0) || (other->ranked && other->rank() == 0)) return std::nullopt;  // a number, to some
  return fmt::format("takes '{}' and '{}' of one dtype, and is given {} and {}", asked.need.other, asked.name,
                     Info(other->dtype).torch_name, Info(type.dtype).torch_name);
}

// --- ranks --------------------------------------------------------------------------

Lack Rank(const Asked& asked, const Type& type) {
  const auto rank = static_cast<int64_t>(type.rank());
  if (!type.ranked || (rank >= asked.need.least && rank <= asked.need.most)) return std::nullopt;
  return fmt::format("takes no '{}' of {} dimensions", asked.name, rank);
}

Lack LikeRank(const Asked& asked, const Type& type) {
  const Type* other = Other(asked, type);
  if (other == nullptr || other->rank() == type.rank() || IsEmpty(asked, type)) return std::nullopt;
  if (other->rank() <= 1 && type.rank() <= 1) return std::nullopt;  // a number is a vector of one
  return fmt::format("takes '{}' and '{}' of as many dimensions, and is given {} and {}", asked.need.other, asked.name,
                     other->rank(), type.rank());
}

Lack Covers(const Asked& asked, const Type& type) {
  const Type* other = Other(asked, type);
  if (other == nullptr || other->rank() <= type.rank()) return std::nullopt;
  return fmt::format("takes no '{}' of fewer dimensions than '{}'", asked.name, asked.need.other);
}

// --- sizes --------------------------------------------------------------------------

Lack Square(const Asked& asked, const Type& type) {
  const size_t rank = type.rank();
  if (!type.ranked || rank < 2 || !onnx::Differ(asked.arguments.exprs(), type.sizes[rank - 1], type.sizes[rank - 2])) return std::nullopt;
  return fmt::format("takes no '{}' that is not square", asked.name);
}

Lack Pairs(const Asked& asked, const Type& type) {
  if (!type.ranked) return std::nullopt;
  const auto last = type.rank() > 0 ? asked.arguments.exprs().AsConstant(type.sizes.back()) : 0;
  if (!last || *last == 2) return std::nullopt;
  return fmt::format("takes no '{}' whose last dimension is not of two elements", asked.name);
}

Lack Elements(const Asked& asked, const Type& type) {
  if (!type.ranked) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.rank());
  const auto dims = asked.need.other.empty() ? std::vector<std::optional<int64_t>>() : asked.arguments.Numbers(asked.need.other);
  for (int64_t axis = 0; axis < rank; ++axis) {
    const bool counts = dims.empty() || std::ranges::any_of(dims, [&](const auto& dim) { return dim && (*dim == axis || *dim == axis - rank); });
    if (counts && asked.arguments.exprs().IsConstant(type.sizes[static_cast<size_t>(axis)], 0))
      return fmt::format("takes no '{}' without elements in dimension {}", asked.name, axis);
  }
  return std::nullopt;
}

Lack EndsIn(const Asked& asked, const Type& type) {
  if (!asked.arguments.HasList(asked.need.other)) return std::nullopt;
  const auto sizes = asked.arguments.Numbers(asked.need.other);
  if (sizes.empty()) return fmt::format("takes a '{}' of one size at least", asked.need.other);
  if (!type.ranked) return std::nullopt;
  if (sizes.size() <= type.rank() && Fit(asked, type, type.rank() - sizes.size(), sizes)) return std::nullopt;
  return fmt::format("takes no '{}' whose last sizes are not '{}'", asked.name, asked.need.other);
}

Lack OfSizes(const Asked& asked, const Type& type) {
  const auto sizes = asked.arguments.Numbers(asked.need.other);
  if (!type.ranked || sizes.empty()) return std::nullopt;
  if (sizes.size() == type.rank() && Fit(asked, type, 0, sizes)) return std::nullopt;
  return fmt::format("takes no '{}' of other sizes than '{}'", asked.name, asked.need.other);
}

Lack LikeSizes(const Asked& asked, const Type& type) {
  const Type* other = Other(asked, type);
  if (other == nullptr) return std::nullopt;
  bool fits = other->rank() == type.rank();
  for (size_t i = 0; i < type.rank() && fits; ++i) fits = !onnx::Differ(asked.arguments.exprs(), other->sizes[i], type.sizes[i]);
  if (fits) return std::nullopt;
  return fmt::format("takes '{}' and '{}' of the same sizes", asked.need.other, asked.name);
}

Lack Within(const Asked& asked, const Type& type) {
  const Type* other = Other(asked, type);
  if (other == nullptr || other->rank() != type.rank()) return std::nullopt;
  for (size_t i = 0; i < type.rank(); ++i) {
    const auto own = asked.arguments.exprs().AsConstant(type.sizes[i]), most = asked.arguments.exprs().AsConstant(other->sizes[i]);
    if (own && most && *own > *most) return fmt::format("takes no '{}' that is larger than '{}'", asked.name, asked.need.other);
  }
  return std::nullopt;
}

// Needs that are none of a tensor have no row.
struct Row {
  Need need;
  Check check;
};
constexpr Row kRows[] = {
    {Need::kBits, &Bits},
    {Need::kBools, &OfDtype<DType::kBool>},
    {Need::kCovers, &Covers},
    {Need::kElements, &Elements},
    {Need::kEndsIn, &EndsIn},
    {Need::kFloating, &Floating},
    {Need::kIndex, &Index},
    {Need::kInt, &OfDtype<DType::kInt32>},
    {Need::kInteger, &Integer},
    {Need::kLikeDtype, &LikeDtype},
    {Need::kLikeRank, &LikeRank},
    {Need::kLikeSizes, &LikeSizes},
    {Need::kLong, &OfDtype<DType::kInt64>},
    {Need::kNoBool, &NoBool},
    {Need::kOfSizes, &OfSizes},
    {Need::kPairs, &Pairs},
    {Need::kRank, &Rank},
    {Need::kSquare, &Square},
    {Need::kWithin, &Within},
};

}  // namespace

Lack LackOfTensor(const Asked& asked, const Type& type) {
  const auto row = std::ranges::find(kRows, asked.need.need, &Row::need);
  return row == std::end(kRows) ? std::nullopt : row->check(asked, type);
}

}  // namespace flambeau::lower
