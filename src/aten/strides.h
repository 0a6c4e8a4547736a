// What strides decide: whether a tensor is contiguous, and whether it can be
// viewed in other sizes without a copy. Symbolic strides are compared as
// expressions, so the answer can be "not known".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/attribute.h"
#include "ir/expr.h"
#include "ir/type.h"

namespace flambeau::aten {

enum class Decision : uint8_t { kNo, kYes, kUnknown };

// kPreserve counts as contiguous.
Decision IsContiguous(const Type& type, MemoryFormat format, ExprPool& exprs);
// The same where no size that is known at run time only is 1: then strides that are free otherwise count.
Decision IsContiguousUnlessOne(const Type& type, MemoryFormat format, ExprPool& exprs);

// Whether it is the one that PyTorch takes a tensor for, by its strides alone (suggest_memory_format).
Decision Suggests(const Type& type, MemoryFormat format, ExprPool& exprs);

// Whether `type` can be viewed as `sizes`.
Decision CanView(const Type& type, std::span<const Expr> sizes, ExprPool& exprs);
Decision CanViewUnlessOne(const Type& type, std::span<const Expr> sizes, ExprPool& exprs);

// The strides of `type` reshaped to `sizes`, whether that is a view or a copy; none where it is not known which.
std::optional<std::vector<Expr>> StridesAs(const Type& type, const std::vector<Expr>& sizes, ExprPool& exprs);

// The strides of a dense tensor in a memory format; none where it has no such format. kPreserve counts as contiguous.
std::optional<std::vector<Expr>> DenseStrides(const std::vector<Expr>& sizes, MemoryFormat format, ExprPool& exprs);

// The order of the dimensions in memory, outermost first, if the tensor fills
// its storage without gaps and overlaps.
std::optional<Ints> DenseOrder(const Type& type, ExprPool& exprs);

}  // namespace flambeau::aten
