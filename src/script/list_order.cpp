#include "script/list_order.h"

#include "script/sequences.h"

namespace flambeau::script {
namespace {

// The first elements that differ decide, and the lengths where there are none.
constexpr std::string_view kCode = R"py(def equal(a: Tensor, b: Tensor) -> bool:
  m = torch.size(a, 0)
  n = torch.size(b, 0)
  k = ops.prim.min(m, n)
  same = torch.all(torch.eq(torch.slice(a, 0, 0, k), torch.slice(b, 0, 0, k)))
  return bool(torch.__and__(same, torch.eq(m, n)))
def before(a: Tensor, b: Tensor) -> bool:
  m = torch.size(a, 0)
  n = torch.size(b, 0)
  k = ops.prim.min(m, n)
  x = torch.slice(a, 0, 0, k)
  y = torch.slice(b, 0, 0, k)
  signs = torch.sub(torch.to(torch.gt(x, y), 4), torch.to(torch.lt(x, y), 4))
  order = torch.cat([signs, torch.full([1], torch.sub(m, n), dtype=4)])
  at = torch.argmax(torch.to(torch.ne(order, 0), 4))
  return bool(torch.lt(torch.index_select(order, 0, torch.reshape(at, [1])), 0))
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
  FLAMBEAU_TRY(const Val other, Asked(evaluator, "before", b, a));
  return evaluator.CallLibrary(kCode, "chosen", Vals{b, a, other});
}

Result<Vals> LastOfLists(Evaluator& evaluator, const Val& a, const Val& b) {
  FLAMBEAU_TRY(const Val other, Asked(evaluator, "before", b, a));
  return evaluator.CallLibrary(kCode, "chosen", Vals{a, b, other});
}

}  // namespace flambeau::script
