def forward(x: Tensor) -> Tensor:
  for i in range(200000000000):
    pass
  y = x
  n = 0
  for i in range(torch.size(x, 0)):
    y = torch.add(y, torch.select(x, 0, i))
    n = torch.add(n, i)
  z = annotate(List[Tensor], [])
  for i in range(3):
    _0 = torch.append(z, torch.mul(y, i))
  while bool(torch.lt(torch.sum(y), 10)):
    y = torch.mul(y, 2)
  return torch.add(torch.stack(z, 0), torch.mul(y, n))
