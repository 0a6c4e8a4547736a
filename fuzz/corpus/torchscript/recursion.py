def f(x: Tensor) -> Tensor:
  return __torch__.f(x, )
