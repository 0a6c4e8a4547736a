import __torch__.g
op_version_set = 1
def f(x: Tensor) -> float:
  a = 1 + 2 * 3 - 4 / 5 // 6 % 7 ** -8
  b = not (a < 1 or a >= 2 and a != 3) if True else False
  c = [1, 2][0:1:1], x[0], {"a": inf}["a"], (x, 2j)[-1:]
  a += 1
  assert b, "no"
  with torch.no_grad():
    del c
  return 1e400
