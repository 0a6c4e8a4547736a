// Symbolic sizes of archives, and our own text of them.
#include <cstdlib>

#include "ir/expr_text.h"
#include "ir/sympy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace flambeau;
  ExprPool pool;
  Sink sink;
  const auto result = ParseSympy({reinterpret_cast<const char*>(bytes), size}, pool, sink);
  if (!result) {
    if (!sink.HasErrors()) std::abort();  // a failure is always reported
    return 0;
  }
  if (result->is_float || pool.HasAnonymous(result->expr)) return 0;
  const auto again = ParseExpr(pool.Text(result->expr), pool, sink);
  if (again && pool.HasAnonymous(*again)) return 0;  // a product of sums that is too large to multiply out
  if (!again || *again != result->expr) std::abort();
  return 0;
}
