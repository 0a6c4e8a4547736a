"""The calls that torchvision, timm and transformers make: one case a row of tests/data/census.tsv, which
tools/operator_census.py writes. See census_calls.py for its words."""

import csv
import importlib
import json
import pathlib
import sys

import torch
from census_calls import Call
from harness import case

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import torchvision_cpu  # noqa: E402

torchvision_cpu.imported()
import flambeau.capture.operators.vision  # noqa: E402

flambeau.capture.operators.vision.library()
if importlib.util.find_spec("transformers"):
    importlib.import_module("transformers.integrations.moe")  # which registers an operator

# What PyTorch leaves open: the order of equal elements, or of all that topk finds.
OPEN = {"aten.sort.default": lambda args: True, "aten.topk.default": lambda args: args[4:] == [False]}
ROWS = list(csv.DictReader((pathlib.Path(__file__).parents[1] / "data" / "census.tsv").open(), delimiter="\t", quoting=csv.QUOTE_NONE))


def of_row(row):
    call = [row["operator"], json.loads(row["arguments"]), json.loads(row["keywords"])]
    module = Call(call)
    first, second = ([pair[run] for pair in module.inputs] for run in (0, 1))
    is_open = OPEN.get(row["operator"], lambda args: False)(call[1])
    drawn = torch.Tag.nondeterministic_seeded in getattr(module.operator, "tags", ()) or "empty" in row["operator"]
    return case(
        module,
        *first,
        name=f"{call[0].removesuffix('.default')} {row['arguments']} {row['keywords']}".replace('"', "").removesuffix(" {}"),
        dynamic=module.dynamic or False,
        second=tuple(second),
        again=False,
        check="shapes" if drawn or is_open else "values",
    )


CASES = [of_row(row) for row in ROWS]
