def forward(x: Tensor, n: int, p: bool) -> Tuple[Tensor, Dict[str, Tensor]]:
  y = torch.mul(x, n)
  d = {"x": x}
  if bool(torch.gt(torch.sum(x), 0)):
    _0 = torch.add_(y, 1)
    torch._set_item(d, "y", y)
    z = torch.view(y, [-1])
  else:
    _1 = torch.mul_(torch.select(y, 0, 0), 2)
    z = torch.reshape(x, [-1])
  if p:
    w = torch.relu(z)
  else:
    w = z
  return (torch.sum(w, [0]), d)
