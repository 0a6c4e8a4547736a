def forward(x: Tensor) -> Tensor:
  a = "ab"
  b = [1, 2]
  for i in range(60):
    a = torch.add(a, a)
    b = torch.add(b, b)
  return torch.mul(x, torch.add(torch.len(a), torch.len(b)))
