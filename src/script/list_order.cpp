#include "script/list_order.h"

#include "script/sequences.h"

namespace flambeau::script {
namespace {

// The first elements that differ decide, and the lengths where there are none. The second list is taken unless the first is
// beyond it there: a NaN differs from all, and is beyond nothing.
constexpr std::string_view kCode = R"py(def equal(a: Tensor, b: Tensor) -> bool:
  m = torch.size(a, 0)
  n = torch.size(b, 0)
  k = ops.prim.min(m, n)
  same = torch.all(torch.eq(torch.slice(a, 0, 0, k), torch.slice(b, 0, 0, k)))
  return bool(torch.__and__(same, torch.eq(m, n)))
def decided(differ: Tensor, beyond: Tensor, lead: int) -> bool:
  differs = torch.cat([torch.to(differ, 4), torch.full([1], 1, dtype=4)])
  takes = torch.cat([beyond, torch.ge(torch.full([1], lead, dtype=4), 0)])
  at = torch.argmax(differs)
  return bool(torch.index_select(takes, 0, torch.reshape(at, [1])))
def least(a: Tensor, b: Tensor) -> bool:
  m = torch.size(a, 0)
  n = torch.size(b, 0)
  k = ops.prim.min(m, n)
  x = torch.slice(a, 0, 0, k)
  y = torch.slice(b, 0, 0, k)
  return __torch__.decided(torch.ne(x, y), torch.lt(x, y), torch.sub(n, m))
def greatest(a: Tensor, b: Tensor) -> bool:
  m = torch.size(a, 0)
  n = torch.size(b, 0)
  k = ops.prim.min(m, n)
  x = torch.slice(a, 0, 0, k)
  y = torch.slice(b, 0, 0, k)
  return __torch__.decided(torch.ne(x, y), torch.gt(x, y), torch.sub(m, n))
def chosen(a: List[int], b: List[int], first: bool) -> List[int]:
  if first:
    _0 = a
  else:
    _0 = b
  return _0
)py";

Result<Val> Asked(Evaluator& evaluator, std::string_view question, const Val& a, const Val& b) {
  FLAMBEAU_TRY(const Val x, NumbersOfList(evaluator, a));
  FLAMBEAU_TRY(const Val y, NumbersOfList(evaluator, b));
  FLAMBEAU_TRY(const Vals answer, evaluator.CallLibrary(kCode, question, Vals{x, y}));
  return answer[0];
}

}  // namespace

Result<Val> EqualLists(Evaluator& evaluator, const Val& a, const Val& b) { return Asked(evaluator, "equal", a, b); }

Result<Vals> FirstOfLists(Evaluator& evaluator, const Val& a, const Val& b) {
  FLAMBEAU_TRY(const Val first, Asked(evaluator, "least", a, b));
  return evaluator.CallLibrary(kCode, "chosen", Vals{a, b, first});
}

Result<Vals> LastOfLists(Evaluator& evaluator, const Val& a, const Val& b) {
  FLAMBEAU_TRY(const Val first, Asked(evaluator, "greatest", a, b));
  return evaluator.CallLibrary(kCode, "chosen", Vals{a, b, first});
}

}  // namespace flambeau::script
