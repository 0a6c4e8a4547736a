def f(x: Tensor,
    n: int,
    bias: Optional[Tensor]=None) -> Tuple[Tensor, List[Tensor], __torch__.Pair]:
  rows = annotate(List[Tensor], [])
  table = {"x": x}
  x0 = x
  for i in range(n):
    if torch.eq(torch.remainder(i, 2), 0):
      x1 = torch.add(x0, i)
    else:
      x1 = torch.sub(x0, i)
    _1 = torch.append(rows, torch.sum(x1, [1]))
    x0 = x1
  step = 0
  _3 = bool(torch.lt(torch.sum(x0), 10.))
  while _3:
    step0 = torch.add(step, 1)
    _3, step = torch.lt(step0, 9), step0
  if torch.__isnot__(bias, None):
    bias0 = unchecked_cast(Tensor, bias)
    acc = torch.add(x0, bias0)
  else:
    acc = x0
  a, b, = torch.max(acc, 0)
  return (acc, rows, __torch__.Pair(a, (table["x"], b)[0]))
class Pair(NamedTuple):
  total : Tensor
  count : Tensor
