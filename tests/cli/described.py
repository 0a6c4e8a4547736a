"""Archives described as text, for the golden cases in cases/.

    weight w: float32[3, 2]                     a parameter (`buffer`: a buffer)
    input x: float32[s0, 3]
    range s0 1 64
    y: float32[s0, 2] = aten.mm.default(x, w) @ layers.0.Linear model.py:7
    mutate w y                                  w's new value is y
    return y
    edit models/model.json /schema_version/major 99    a JSON pointer, and JSON (or `remove`, or "…" * 1000)
    put data/weights/weight_0 00ff              an entry's bytes, in hexadecimal
    pickle data/weights/weight_0 8002…          an entry as torch.save writes it, of this pickle
    copy models/model.json models/second.json
    remove archive_version
    truncate 500                                the archive's length
    at 0 00ff                                   bytes at an offset of the archive

Arguments of calls are values, Python literals, or dtypes (`torch.int32`); `name=` may stand before them.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from chains import StoredZip  # noqa: E402

DTYPES = {"uint8": 1, "int8": 2, "int32": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "complex64": 10, "bool": 12, "bfloat16": 13, "float8_e4m3fn": 29}
WIDTHS = {1: 1, 2: 1, 4: 4, 5: 8, 6: 2, 7: 4, 8: 8, 10: 8, 12: 1, 13: 2, 29: 1}


def size_of(text: str) -> dict[str, object]:
    text = text.strip()
    if re.fullmatch(r"-?\d+", text):
        return {"as_int": int(text)}
    return {"as_expr": {"expr_str": text, "hint": {"as_int": 2}}}


def tensor_meta(text: str) -> dict[str, object]:
    """`float32[s0, 3]`."""
    dtype, _, rest = text.strip().partition("[")
    sizes = [size_of(part) for part in rest.removesuffix("]").split(",") if part.strip()]
    strides: list[dict[str, object]] = []
    stride = 1
    for size in reversed(sizes):
        strides.insert(0, {"as_int": stride})
        stride *= int(size.get("as_int", 1))  # type: ignore[call-overload]
    return {"dtype": DTYPES[dtype], "sizes": sizes, "requires_grad": False, "device": {"type": "cpu", "index": None},
            "strides": strides, "storage_offset": {"as_int": 0}, "layout": 7}  # fmt: skip


def byte_count(meta: dict) -> int:
    count = WIDTHS[meta["dtype"]]
    for size in meta["sizes"]:
        count *= size["as_int"]
    return count


def torch_saved(pickle: bytes) -> bytes:
    """A zip archive in the form of torch.save's."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in (("data.pkl", pickle), ("byteorder", b"little"), ("version", b"3\n")):
            archive.writestr(f"archive/{name}", content)
    return file.getvalue()


class Description:
    """What the lines said, as the documents of an archive."""

    def __init__(self, text: str) -> None:
        self.values: dict[str, dict] = {}
        self.inputs: list[dict] = []
        self.specs: list[dict] = []
        self.outputs: list[dict] = []
        self.output_specs: list[dict] = []
        self.nodes: list[dict] = []
        self.ranges: dict[str, dict] = {}
        self.weights: dict[str, dict] = {}
        self.entries: dict[str, bytes] = {}
        self.changes: list[list[str]] = []
        for line in filter(None, (line.strip() for line in text.splitlines())):
            self.read(line)

    def read(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word in ("weight", "buffer", "input"):
            name, _, meta = rest.partition(":")
            self.add_input(word, name, tensor_meta(meta))
        elif word == "range":
            symbol, low, high = rest.split()
            self.ranges[symbol] = {"min_val": json.loads(low), "max_val": json.loads(high)}
        elif word == "return":
            for name in re.split(r",\s*", rest):
                self.add_output(name, {"user_output": {"arg": {"as_tensor": {"name": name}}}})
        elif word == "mutate":
            target, name = rest.split()
            self.outputs.insert(0, {"as_tensor": {"name": name}})
            self.output_specs.insert(0, {"buffer_mutation": {"arg": {"name": name}, "buffer_name": target}})
        elif word in ("edit", "put", "pickle", "copy", "remove", "truncate", "at"):
            self.changes.append([word, *rest.split(" ", 2 if word == "edit" else 1)])
        else:
            self.add_node(line)

    def add_input(self, kind: str, name: str, meta: dict) -> None:
        self.values[name] = meta
        self.inputs.append({"as_tensor": {"name": name}})
        if kind == "input":
            self.specs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})
        else:
            spec = {"arg": {"name": name}, f"{'parameter' if kind == 'weight' else 'buffer'}_name": name}
            self.specs.append({"parameter": spec} if kind == "weight" else {"buffer": {**spec, "persistent": True}})
            self.weights[name] = {"path_name": f"weight_{len(self.weights)}", "is_param": kind == "weight", "use_pickle": False, "tensor_meta": meta}

    def add_output(self, name: str, spec: dict) -> None:
        self.outputs.append({"as_tensor": {"name": name}})
        self.output_specs.append(spec)

    def add_node(self, line: str) -> None:
        call = re.fullmatch(r"(\w+): ([\w\[\], *+/()'-]+\]) = ([\w.]+)\((.*?)\)(?: @ (\S+)(?: (\S+))?)?", line)
        assert call, f"cannot read '{line}'"
        result, meta, target, arguments, module, source = call.groups()
        self.values[result] = tensor_meta(meta)
        metadata = {}
        if module:
            path, _, kind = module.rpartition(".")
            metadata["nn_module_stack"] = f"L__self__,,example.Model;L__self___{path},{path},torch.nn.{kind}"
        if source:
            file, _, number = source.partition(":")
            metadata["stack_trace"] = f'  File "{file}", line {number}, in forward\n    return self.layer(x)\n'
        inputs = []
        for argument in re.findall(r"(?:\w+=)?(?:\[.*?\]|'[^']*'|[^,\s]+)", arguments):
            name, equals, value = argument.partition("=")
            arg = self.argument(value if equals else argument)
            inputs.append({"name": name if equals else "", "arg": arg, "kind": 2 if equals else 1})
        self.nodes.append({"target": f"torch.ops.{target}", "inputs": inputs, "outputs": [{"as_tensor": {"name": result}}], "metadata": metadata})

    def argument(self, text: str) -> dict[str, object]:
        if text in self.values:
            return {"as_tensor": {"name": text}}
        if text.startswith("torch."):
            return {"as_scalar_type": DTYPES[text.removeprefix("torch.")]}
        value = ast.literal_eval(text)
        kinds = {bool: "as_bool", int: "as_int", float: "as_float", str: "as_string"}
        if isinstance(value, list):
            return {f"{kinds[type(value[0])] if value else 'as_int'}s": value}
        return {"as_none": True} if value is None else {kinds[type(value)]: value}

    def documents(self) -> dict[str, bytes]:
        graph = {"inputs": self.inputs, "outputs": self.outputs, "nodes": self.nodes, "tensor_values": self.values, "sym_int_values": {},
                 "sym_bool_values": {}, "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}  # fmt: skip
        signature = {"input_specs": self.specs, "output_specs": self.output_specs}
        program = {"graph_module": {"graph": graph, "signature": signature, "module_call_graph": [], "metadata": {}}, "opset_version": {"aten": 10},
                   "range_constraints": self.ranges, "schema_version": {"major": 8, "minor": 20}, "torch_version": "2.13.0"}  # fmt: skip
        files: dict[str, object] = {"archive_format": b"pt2", "archive_version": b"0", "byteorder": b"little"}
        for weight in self.weights.values():
            count = byte_count(weight["tensor_meta"])
            files[f"data/weights/{weight['path_name']}"] = bytes(i % 64 for i in range(count))
        files["data/weights/model_weights_config.json"] = {"config": self.weights}
        files["data/constants/model_constants_config.json"] = {"config": {}}
        files["models/model.json"] = program
        for word, *rest in self.changes:
            if word == "edit":
                edit(files[rest[0]], rest[1], rest[2])
            elif word == "put":
                files[rest[0]] = bytes.fromhex(rest[1])
            elif word == "pickle":
                files[rest[0]] = torch_saved(bytes.fromhex(rest[1]))
            elif word == "copy":
                files[rest[1]] = files[rest[0]]
            elif word == "remove":
                del files[rest[0]]
        return {name: content if isinstance(content, bytes) else json.dumps(content).encode() for name, content in files.items()}

    def write(self, path: Path) -> None:
        archive = StoredZip(str(path))
        for name, content in self.documents().items():
            archive.add(f"model/{name}", content)
        archive.close()
        for word, *rest in self.changes:
            content = bytearray(path.read_bytes())
            if word == "truncate":
                path.write_bytes(content[: int(rest[0])])
            elif word == "at":
                new = bytes.fromhex(rest[1])
                content[int(rest[0]) : int(rest[0]) + len(new)] = new
                path.write_bytes(content)


def edit(document: object, pointer: str, text: str) -> None:
    """Replaces (or removes, or appends to a list at `-`) what a JSON pointer names."""
    *parents, last = pointer.removeprefix("/").split("/")
    for part in parents:
        document = document[int(part)] if isinstance(document, list) else document[part]  # type: ignore[index]
    if isinstance(document, list) and last == "-":
        document.append(json.loads(text))
        return
    repeated = re.fullmatch(r'(".*") \* (\d+)', text)
    key = int(last) if isinstance(document, list) else last
    if text == "remove":
        del document[key]  # type: ignore[attr-defined]
    else:
        document[key] = json.loads(repeated[1]) * int(repeated[2]) if repeated else json.loads(text)  # type: ignore[index]


def write_input(path: Path, kind: str, text: str) -> None:
    """One file of a case: a `program`, a `copy` of a file in tests/data, or plain `text`."""
    if kind == "program":
        Description(text).write(path)
    elif kind == "copy":
        path.write_bytes((ROOT / "tests/data" / text.strip()).read_bytes())
    elif kind == "text":
        path.write_text(text)
    else:
        raise ValueError(f"unknown kind of input: {kind}")
