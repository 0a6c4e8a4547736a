"""Programs that list many cases, of which a run knows which it is: more than an ONNX file can nest."""

import importlib.util

import pytest
import torch
from checking import check, compare

import flambeau

COUNT = 70


def cases(line, *, first="if k == {i}:", other="elif k == {i}:", last="else:"):
    lines = []
    for i in range(COUNT):
        lines += [(other if i else first).format(i=i), "    " + line.format(i=i)]
    return [*lines, last, "    " + line.format(i=-1)]


RETURNS = [line for i in range(COUNT) for line in (f"if k == {i}:", f"    return x * {i}")]
NESTED = [" " * i + line for i in range(COUNT) for line in (f"m = m + int(x[0] * {i % 3})", f"if k != {i}:")]

CHAINS = {
    "tensors": [*cases("y = x * {i}"), "return y"],
    "numbers": ["n = 0", "f = 0.5", *cases("n = k + {i}"), "return x * n, n, f"],
    "in rounds": ["for i in range(3):", *("    " + line for line in cases("x = x + {i}")), "    k = k + 30", "return x, k"],
    "returns": [*RETURNS, "return x - 1"],
    "asked of data": [*cases("y = x * {i}", first="if int(x[0]) == {i}:", other="elif int(x[0] - {i}) == 0:"), "return y"],
    "written": ["y = x.clone()", "rows = [x]", *cases("y[0] = {i}"), "rows.append(y)", "return y, len(rows)"],
    "in each other": ["m = 0", *NESTED, " " * COUNT + "m = m * 2", "return m, x * m"],
    "raises": [*cases("y = x * {i}")[:-1], "    raise ValueError('none')", "return y"],
    "other ranks": [*cases("y = x.repeat({i} % 3 + 1)"), "return y.sum(), y"],
}


@pytest.mark.parametrize("name", CHAINS)
def test_more_cases_than_can_be_nested(name, tmp_path):
    body = "\n        ".join(CHAINS[name])
    (tmp_path / "chain.py").write_text(f"import torch\n\nclass Chain(torch.nn.Module):\n    def forward(self, x, k: int):\n        {body}\n")
    spec = importlib.util.spec_from_file_location("chain", tmp_path / "chain.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    examples = [(torch.tensor([k + 0.5, 2.0]), torch.tensor(k)) for k in (0, 1, 15, 16, 17, 40, COUNT - 1, *([] if name == "raises" else [COUNT + 5]))]
    model = torch.jit.script(module.Chain())
    check(module.Chain(), examples[3], others=examples)
    model.save(tmp_path / "net.pt")
    program = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[2]", "k": "int64[]"})
    for args in examples:
        compare(model, program, args)
