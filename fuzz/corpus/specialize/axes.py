def forward(x: Tensor, n: int) -> Tensor:
  a = torch.transpose(x, n, 0)
  b = torch.split(torch.select(torch.select(x, 0, 0), 0, 0), 1, 0)
  c = torch.as_strided(x, [2, n], annotate(List[int], []), 1000000007)
  d = torch.max_pool2d(x, [2, 2], [2, 2], [0, 0], [1, 1], False)
  return torch.cat([a, x], torch.size(x, n))
