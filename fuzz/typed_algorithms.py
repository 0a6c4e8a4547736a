"""What scripts of users compute with loops: decoders, suppressions, windows, queues; with places of typed_grammar.py in them.

Each is the kind of what {new} is afterwards, and a text; {body} is a place for any statements.
"""

from __future__ import annotations

ALGORITHMS: tuple[tuple[str, str], ...] = (
    ("tensor", """
tokens = torch.zeros({m}.size(0), 1, dtype=torch.long)
for {j} in range({int} % 5):
    step = self.linear({m}) + self.embedding(tokens[:, -1] % 8)
    tokens = torch.cat([tokens, step.argmax(-1, keepdim=True)], 1)
{body}
    if {flag}:
        break
{new} = tokens"""),
    ("tensor", """
order = {m}.sum(1).argsort(descending=True, stable=True)
keep: List[int] = []
while order.numel() > 0:
    at = int(order[0])
    keep.append(at)
    if order.numel() == 1:
        break
    rest = order[1:]
    order = rest[({m}[rest] - {m}[at]).abs().sum(1) > {float}]
{new} = {m}[torch.tensor(keep)]"""),
    ("ints", """
lengths: List[int] = []
previous = -1
for value in {i}.flatten():
    if int(value) == previous:
        lengths[-1] += 1
    else:
        lengths.append(1)
    previous = int(value)
{new}: List[int] = lengths"""),
    ("tensors", """
pieces: List[Tensor] = []
start = 0
while start < {f}.size(0):
    end = min(start + 2, {f}.size(0))
    pieces.append({f}[start:end].mean(0))
    start += {c}
{body}
{new}: List[Tensor] = pieces"""),
    ("tensor", """
{new} = torch.zeros({i}.size(0), 5, dtype=torch.bool)
for {j} in range({i}.size(0)):
    {new}[{j}, : int({i}[{j}])] = {flag}"""),
    ("tensor", """
{new} = torch.zeros(3, 4)
for {j}, row in enumerate({m}):
    {new}[{j} % 3] += row * {float}
{body}
    if {flag}:
        continue
    {new}[{j} % 2, {j} % 4:] = {s}"""),
    ("tensor", """
features: List[Tensor] = []
level = {p}
for {j} in range(3):
    if min(level.size(2), level.size(3)) < 2:
        break
    features.append(level)
    level = F.max_pool2d(level, 2, ceil_mode={flag})
for {j} in range(len(features) - 1, 0, -1):
    features[{j} - 1] = features[{j} - 1] + F.interpolate(features[{j}], size=features[{j} - 1].shape[2:])
{new} = features[0]"""),
    ("tensor", """
hidden: Optional[Tuple[Tensor, Tensor]] = None
outs: List[Tensor] = []
for piece in {q}.split({c}, 1):
    out, hidden = self.lstm(piece, hidden)
    outs.append(out)
{body}
{new} = torch.cat(outs, 1)"""),
    ("tensor", """
history = {m}.new_zeros(0, {m}.size(1))
for row in {m}:
    history = torch.cat([history, row[None]])
    if history.size(0) > {c}:
        history = history[1:]
{body}
{new} = history"""),
    ("floats", """
scores: Dict[str, List[float]] = {{"a": [0.5], "b": [{float}]}}
for row in {f}:
    if bool(row.sum() > {float}):
        scores["a"].append(float(row.sum()))
    else:
        scores["b"].append(scores["b"][-1] * 0.5)
{new}: List[float] = scores["a"] + scores["b"]"""),
    ("ints", """
groups: List[List[int]] = []
for value in {i}.flatten():
    groups.append(list(range(int(value))))
{new}: List[int] = []
for group in groups:
    {new}.append(len(group))
    for number in group:
        if number % 2 == 1:
            {new}[-1] += number"""),
    ("int", """
low, high = 0, {f}.numel()
while low < high:
    middle = (low + high) // 2
    if float({f}.flatten().sort()[0][middle]) < {float}:
        low = middle + 1
    else:
        high = middle
{new}: int = low"""),
    ("int", """
one, other = abs({int}) + 1, abs({int2})
while other > 0:
    one, other = other, one % other
{new}: int = one"""),
    ("tensor", """
{new} = torch.ones(4)
for {j} in range(20):
    last = {new}
    {new} = ({m}.t() @ ({m} @ {new})).sigmoid()
    if bool((last - {new}).abs().max() < 0.001):
        break"""),
    ("tensor", """
{new} = {m} * 1
for {j} in range({new}.size(0)):
    for other in range({j} + 1, {new}.size(0)):
        if bool({new}[{j}].sum() > {new}[other].sum()):
            held = {new}[{j}].clone()
            {new}[{j}] = {new}[other]
            {new}[other] = held"""),
    ("pair", """
state: Tuple[Tensor, int] = ({f}, 0)
for {j} in range({int} % 5):
    state = (state[0] * {float}, state[1] + {j})
{body}
    if state[1] > 3:
        break
{new}: Tuple[Tensor, int] = state"""),
    ("tensor", """
found: List[Tuple[int, Tensor]] = []
for {j}, row in enumerate({m}):
    if bool(row.sum() > {float}) or {j} == 0:
        found.append(({j}, row + 1))
{new} = torch.stack([row * number for number, row in found])"""),
    ("ints", """
{new}: List[int] = []
for value in torch.jit.annotate(List[int], {i}.flatten().tolist()):
    if value not in {new}:
        {new}.append(value)
{new}.sort()"""),
    ("tensor", """
best, place = float("-inf"), -1
for {j} in range({f}.size(0)):
    score = float({f}[{j}].sum())
    if score > best:
        best, place = score, {j}
{new} = {f}[place] * best"""),
    ("maybe", """
{new}: Optional[Tensor] = None
for {j} in range({f}.size(0)):
    row = {f}[{j}]
    if bool(row.sum() > {float}):
        if {new} is None:
            {new} = row
        else:
            {new} = {new} + row"""),
    ("tensor", """
queue = [{f}, {f} * 2]
for {j} in range({int} % 4):
    first = queue.pop(0)
    queue.append(first + queue[-1] * {float})
{body}
{new} = torch.stack(queue)"""),
    ("tensors", """
{new}: List[Tensor] = []
offset = 0
for length in {ints}:
    part = {f}[offset : offset + length]
    if part.size(0) == 0:
        continue
    {new}.append(part.sum(0))
    offset += length"""),
    ("tensor", """
{new} = torch.zeros_like({m})
positive = {m} > {float}
if bool(positive.any()):
    {new}[positive] = {m}[positive] * {float2}
elif {flag}:
    {new}[~positive] = {s}
{body}"""),
    ("counts", """
{new}: Dict[str, int] = {{"a": 0, "b": 0}}
for value in {i}.flatten():
    {new}["a" if int(value) % 2 == 0 else "b"] += int(value)"""),
    ("tensor", """
grid = torch.zeros({int} % 4 + 1, {f}.size(0))
for {j} in range(grid.size(0)):
    for other in range(grid.size(1)):
        if ({j} + other) % 2 == 0:
            grid[{j}, other] = {f}[other].sum()
        else:
            grid[{j}, other] -= {j} * {float}
{new} = grid"""),
    ("tensor", """
stack: List[int] = [{int} % 5 + 1]
seen: List[int] = []
while len(stack) > 0:
    node = stack.pop()
    seen.append(node)
    if node > 1 and len(seen) < 12:
        stack.append(node - 1)
        if node % 2 == 0:
            stack.append(node // 2)
{new} = torch.tensor(seen)"""),
    ("tensor", """
rows_of: List[List[Tensor]] = [[], []]
for {j}, row in enumerate({m}):
    rows_of[{j} % 2].append(row * {float})
{new} = torch.stack(rows_of[0]).sum(0)"""),
    ("text", """
{new}: str = ""
for name in {table}.keys():
    {new} = {new} + name + "-" """),
    ("tensor", """
ends = {i}.flatten().cumsum(0)
parts_of: List[Tensor] = []
begin = 0
for {j} in range(ends.size(0)):
    end = int(ends[{j}])
    parts_of.append({f}.flatten()[begin % 3 : end].sum() * {float})
    begin = end
{new} = torch.stack(parts_of)"""),
    ("tensor", """
places = {f}.flatten().argsort(stable=True)[: abs({int})]
{new} = torch.zeros({f}.numel())
{new}[places] = {f}.flatten()[places]
{new} = {new}.view({f}.shape)"""),
)
