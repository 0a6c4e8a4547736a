def forward(x: Tensor) -> List[Any]:
  a = annotate(List[Any], [])
  _0 = torch.append(a, a)
  b = torch.str(a)
  if bool(torch.gt(torch.sum(x), 0)):
    _1 = torch.append(a, x)
  else:
    pass
  return a
