"""Writes tests/data/census.tsv: the calls of operators that torchvision, timm and transformers make.

    python tools/operator_census.py [--only REGEX] [--keep FOLDER] [--add]

Each model of `census_models.py` is captured undecomposed and run at two sizes. Calls that differ in sizes and numbers
only are one row: the smallest of them, shrunk further where PyTorch still takes it. `tests/ops/census.py` says how a
row is read. `--keep` holds what each model gave, so that a run can be continued. `--add` leaves the rows that are there, and adds
those of combinations that none of them has.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import operator
import pathlib
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "ops")]

import census_calls  # noqa: E402

TARGET = ROOT / "tests" / "data" / "census.tsv"
SECONDS = 150  # that one model may take
TRANSPARENT = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4}  # where their graph stands


def is_call(n: torch.fx.Node) -> bool:
    """Whether a node calls an operator of PyTorch or of a library; Flambeau's own stand for calls that it rewrote."""
    if n.op != "call_function" or n.target is operator.getitem or isinstance(n.target, torch._ops.HigherOrderOperator):
        return False
    return getattr(n.target, "namespace", "") != "flambeau" and n.target is not torch._C._set_grad_enabled


# --- what a model calls -----------------------------------------------------------------


class Recorder(torch.fx.Interpreter):
    """Runs a captured module and notes each call: its target, and a word for each argument."""

    def __init__(self, module: torch.fx.GraphModule, notes: list[tuple[str, list[Any], dict[str, Any]]]) -> None:
        super().__init__(module)
        self.notes = notes

    def run_node(self, n: torch.fx.Node) -> Any:
        if is_call(n):
            self.note(n)
        return super().run_node(n)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        at = TRANSPARENT.get(getattr(target, "__name__", ""))
        if at is None or not isinstance(args[at], torch.fx.GraphModule):
            return super().call_function(target, args, kwargs)
        if target.__name__ == "wrap_with_autocast":
            device, dtype, enabled, cached = args[:4]
            with torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=cached):
                return Recorder(args[at], self.notes).run(*args[at + 1 :])
        return Recorder(args[at], self.notes).run(*args[at + 1 :])

    def note(self, n: torch.fx.Node) -> None:
        def word(value: Any) -> Any:
            if isinstance(value, torch.fx.Node):
                known = self.env[value]
                if isinstance(known, (list, tuple)):
                    return [census_calls.word(one) for one in known]
                return census_calls.word(known, constant=value.op == "get_attr", varies=not isinstance(known, torch.Tensor))
            if isinstance(value, (list, tuple)):
                return [word(one) for one in value]
            return census_calls.word(value)

        name = str(n.target) if isinstance(n.target, torch._ops.OpOverload) else f"{n.target.__module__}.{n.target.__name__}"
        self.notes.append((name, [word(a) for a in n.args], {k: word(v) for k, v in n.kwargs.items()}))


def capture(model: Any) -> torch.nn.Module:
    """The module as torch.export captures it: with dynamic sizes if it can, or as Flambeau does; or else one run of it."""
    import flambeau

    for shapes in [model.shapes, None] if model.shapes else [None]:
        with contextlib.suppress(Exception):  # the next way may do
            return torch.export.export(model.module, (), model.arguments, dynamic_shapes=shapes, strict=False).module()
    with contextlib.suppress(flambeau.errors.OnnxExporterError):
        return flambeau.export(model.module, kwargs=model.arguments, verbose=False).exported_program.module()
    return traced(model)


def traced(model: Any) -> torch.nn.Module:
    """One run of the module on its arguments, with the branches that it took."""
    leaves, structure = torch.utils._pytree.tree_flatten(([], model.arguments))

    def run(*leaves: Any) -> Any:
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, structure)
        return torch.utils._pytree.tree_leaves(model.module(*args, **kwargs))

    return make_fx(run, pre_dispatch=True, _error_on_data_dependent_ops=False)(*leaves)


def calls_of(make: Callable[[], Any]) -> list[Any]:
    """The calls of a model, each with the words of both runs merged."""
    torch.manual_seed(0)
    model = make()
    model.module.eval()
    model.module.requires_grad_(False)
    with torch.no_grad():
        graph = capture(model)
        runs: list[list[Any]] = []
        for arguments in (model.arguments, model.others):
            if arguments is None:
                continue
            notes: list[Any] = []
            flat = torch.utils._pytree.tree_leaves(([], arguments))
            try:
                Recorder(graph, notes).run(*flat)
            except Exception:
                if not runs:
                    raise
                continue  # the capture made a size static
            runs.append(notes)
    second = runs[-1] if len(runs[-1]) == len(runs[0]) else runs[0]
    return [[name, census_calls.merged(args, args2), census_calls.merged(kwargs, kwargs2)]
            for (name, args, kwargs), (_, args2, kwargs2) in zip(runs[0], second)]  # fmt: skip


def unique(calls: list[Any]) -> list[Any]:
    """One call for each combination: the smallest."""
    best: dict[str, Any] = {}
    for call in calls:
        key = combination(call)
        if key not in best or census_calls.size(call) < census_calls.size(best[key]):
            best[key] = call
    return list(best.values())


# --- combinations ----------------------------------------------------------------------


def combination(call: Any) -> str:
    """What two calls have in common that differ in sizes and numbers only."""
    name, args, kwargs = call
    if name.startswith("aten._assert"):  # none of them computes anything
        return name
    return json.dumps([name, [kind(a) for a in args], {k: kind(v) for k, v in kwargs.items()}])


def kind(value: Any) -> Any:
    if isinstance(value, list):
        return [kind(one) for one in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -1 <= value <= 1 else ("-n" if value < 0 else "n")
    if isinstance(value, float):
        return "float" if math.isfinite(value) and value not in (0.0, 1.0) else str(value)
    if tensor := census_calls.TENSOR.fullmatch(value):
        sizes = [("s" if "|" in size else "1" if size == "1" else "0" if size == "0" else "n") for size in tensor["sizes"].split(",") if size]
        return f"{tensor['constant'] or ''}{tensor['dtype']}{sizes}{'?' if tensor['values'] and tensor['dtype'] == 'bool' else ''}"
    return re.sub(r"^@int .*", "@int", value)


# --- what a test can capture ------------------------------------------------------------


def capturable(call: Any) -> Any:
    """The call at sizes of which torch.export takes none for a constant: 0 and 1, and time of recurrent layers."""
    if re.fullmatch(r"aten\.(lstm|gru|rnn_\w+)\.input", call[0]):
        first, *rest = call[1]
        time = r"^(.*\[\d+(?:\|\d+)?,\d+)" if rest[-1] else r"^(.*\[\d+)"  # batch first, or time
        return [call[0], [re.sub(time + r"\|\d+", r"\1", first), *rest], call[2]]
    if not re.search(r"[\[,][01]\|", str(call[1:])):
        return call

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(one) for one in value]
        if isinstance(value, str) and census_calls.TENSOR.fullmatch(value):
            return re.sub(r"(?<=[\[,])[01]\|[01](?=[\],])", "2|0", value)
        return value

    candidate = [call[0], changed(call[1]), {k: changed(v) for k, v in call[2].items()}]
    return candidate if census_calls.runs(candidate) else call


# --- making them small --------------------------------------------------------------------


def shrunk(call: Any) -> Any:
    """The call with its larger constant sizes made smaller, where it still is the same combination and PyTorch takes it."""
    if re.search(r"lstm|gru|rnn", call[0]):  # eager PyTorch takes weights of sizes that make no sense
        return call
    for size in sorted({size for size in census_calls.constant_sizes(call) if size > 4}, reverse=True):
        for smaller in (2, 3, 4, 6, 8, 16):
            if smaller >= size:
                break
            candidate = census_calls.resized(call, size, smaller)
            if combination(candidate) == combination(call) and census_calls.runs(candidate):
                call = candidate
                break
    return call


# --- the file -------------------------------------------------------------------------


def measured(only: str, keep: pathlib.Path) -> Iterator[tuple[str, list[Any]]]:
    from census_models import all_models

    def late(*_: Any) -> None:
        raise TimeoutError(f"took over {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    keep.mkdir(parents=True, exist_ok=True)
    for name, make in all_models():
        if not re.search(only, name):
            continue
        file = keep / (name.replace("/", "--") + ".json")
        if not file.exists():
            begin, said = time.perf_counter(), ""
            signal.alarm(SECONDS)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    calls = unique(calls_of(make))
            except Exception as error:  # a model that cannot be captured is left out
                calls, said = [], f"{type(error).__name__}: {error}"
            signal.alarm(0)
            file.write_text(json.dumps(calls))
            print(f"{name}: {len(calls)} combinations, {time.perf_counter() - begin:.0f} s {said.splitlines()[0][:150] if said else ''}", flush=True)
        yield name, json.loads(file.read_text())


def there() -> tuple[list[str], set[str]]:
    """The rows of the file, and their combinations."""
    rows = TARGET.read_text().splitlines()[1:]
    calls = [row.split("\t") for row in rows]
    return rows, {combination([name, json.loads(args), json.loads(kwargs)]) for name, args, kwargs, *_ in calls}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models whose name has that regular expression")
    parser.add_argument("--add", action="store_true", help="to the rows that are there")
    parser.add_argument("--keep", type=pathlib.Path, default=ROOT / ".cache" / "census")
    options = parser.parse_args()
    best: dict[str, Any] = {}
    used: dict[str, set[str]] = {}
    for model, calls in measured(options.only, options.keep):
        for call in calls:
            key = combination(call)
            used.setdefault(key, set()).add(model)
            if key not in best or census_calls.size(call) < census_calls.size(best[key]):
                best[key] = call
    rows, known = there() if options.add else ([], set())
    for key, call in best.items():
        if key in known:
            continue
        name, args, kwargs = shrunk(capturable(call))
        rows.append("\t".join([name, json.dumps(args), json.dumps(kwargs), str(len(used[key])), sorted(used[key])[0]]))
    TARGET.write_text("operator\targuments\tkeywords\tmodels\tone of them\n" + "\n".join(sorted(rows)) + "\n")
    print(f"{len(rows)} combinations of {len({row.split(chr(9))[0] for row in rows})} operators")


if __name__ == "__main__":
    main()
