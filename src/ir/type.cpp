#include "ir/type.h"

#include "ir/expr.h"

namespace flambeau {

std::vector<Expr> ContiguousStrides(const std::vector<Expr>& sizes, ExprPool& pool) {
  std::vector<Expr> strides(sizes.size());
  Expr stride = pool.Constant(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0) stride = pool.Mul(stride, pool.Max(pool.Constant(1), sizes[i]));
  }
  return strides;
}

}  // namespace flambeau
