#include "script/lists/list_order.h"

#include "script/lists/sequences.h"

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
def beyond(a: Tensor, b: Tensor, least: bool) -> bool:
  m = torch.size(a, 0)
  n = torch.size(b, 0)
  k = ops.prim.min(m, n)
  x = torch.slice(a, 0, 0, k)
  y = torch.slice(b, 0, 0, k)
  if least:
    there = torch.lt(x, y)
    lead = torch.sub(n, m)
  else:
    there = torch.gt(x, y)
    lead = torch.sub(m, n)
  differs = torch.cat([torch.to(torch.ne(x, y), 4), torch.full([1], 1, dtype=4)])
  takes = torch.cat([there, torch.ge(torch.full([1], lead, dtype=4), 0)])
  at = torch.argmax(differs)
  return bool(torch.index_select(takes, 0, torch.reshape(at, [1])))
def chosen(a: List[int], b: List[int], first: bool) -> List[int]:
  if first:
    _0 = a
  else:
    _0 = b
  return _0
)py";

// What a function of two lists' numbers says.
Result<Val> Asked(Evaluator& evaluator, std::string_view question, const Val& a, const Val& b, Vals more = {}) {
  FLAMBEAU_TRY(const Val x, NumbersOfList(evaluator, a));
  FLAMBEAU_TRY(const Val y, NumbersOfList(evaluator, b));
  more.insert(more.begin(), {x, y});
  FLAMBEAU_TRY(const Vals answer, evaluator.CallLibrary(kCode, question, more));
  return answer[0];
}

Result<Vals> Chosen(Evaluator& evaluator, const Val& a, const Val& b, bool least) {
  FLAMBEAU_TRY(const Val first, Asked(evaluator, "beyond", a, b, Vals{least}));
  return evaluator.CallLibrary(kCode, "chosen", Vals{a, b, first});
}

}  // namespace

Result<Val> EqualLists(Evaluator& evaluator, const Val& a, const Val& b) { return Asked(evaluator, "equal", a, b); }

Result<Vals> FirstOfLists(Evaluator& evaluator, const Val& a, const Val& b) { return Chosen(evaluator, a, b, true); }

Result<Vals> LastOfLists(Evaluator& evaluator, const Val& a, const Val& b) { return Chosen(evaluator, a, b, false); }

}  // namespace flambeau::script
