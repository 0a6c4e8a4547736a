class A(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  w : Tensor
  c : __torch__.Color
  __annotations__["0"] = __torch__.B
  k : Final[int] = 3
  def f(self: __torch__.A,
    x: Union[int, str]=1,
    *args,
    name: str="a\"b\n\101") -> NoneType:
    _0 = getattr(self, "0")
    _1 = (_0).get(-1, )
    if isinstance(x, int):
      x0 = unchecked_cast(int, x)
      self.w = torch.add(self.w, x0, alpha=2.5e-05)
    else:
      ops.prim.RaiseException(torch.format("{}", x), "builtins.ValueError")
    if torch.eq(self.c, __torch__.Color.RED):
      pass
    else:
      print(self.k, name, CONSTANTS.c0)
    def __forked_function():
      return __torch__.g([1, 2], )
    _2 = torch.wait(fork(__forked_function))
    _3 = uninitialized(Dict[str, Tuple[int, bool]])
    return None
class B:
  def get(self: __torch__.B,
    n: int) -> int:
    return n
class Color(Enum):
  RED = 1
  GREEN = 2
def g(x: List[int]) -> Tuple[()]:
  x[0] = 2
  return ()
