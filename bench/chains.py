"""Generates `.pt2` archives that torch cannot make: long chains of nodes, large sparse weights."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator

META = {
    "dtype": 7, "requires_grad": False, "device": {"type": "cpu", "index": None}, "layout": 7,
    "storage_offset": {"as_int": 0},
}  # fmt: skip


def tensor_meta(sizes: list[int]) -> dict[str, object]:
    strides = [1] * len(sizes)
    for axis in range(len(sizes) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * sizes[axis + 1]
    return {**META, "sizes": [{"as_int": s} for s in sizes], "strides": [{"as_int": s} for s in strides]}


def node(index: int) -> dict[str, object]:
    """`vN = v(N-1) + x`, now and then another operator, so that nothing folds away."""
    target = ("aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor")[index % 3]
    return {
        "target": f"torch.ops.{target}",
        "inputs": [
            {"name": "self", "arg": {"as_tensor": {"name": f"v{index - 1}"}}, "kind": 1},
            {"name": "other", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
        ],
        "outputs": [{"as_tensor": {"name": f"v{index}"}}],
        "metadata": {"nn_module_stack": f"L__self__,,bench.Chain;L__self___layer{index // 100},layer{index // 100},bench.Layer"},
    }


def chain_json(count: int) -> Iterator[str]:
    """The program, piece by piece."""
    meta = json.dumps(tensor_meta([2, 4]))
    yield '{"graph_module": {"graph": {"inputs": [{"as_tensor": {"name": "x"}}, {"as_tensor": {"name": "v0"}}], "outputs": '
    yield f'[{{"as_tensor": {{"name": "v{count}"}}}}], "nodes": ['
    for index in range(1, count + 1):
        yield ("," if index > 1 else "") + json.dumps(node(index))
    yield '], "tensor_values": {"x": ' + meta
    for index in range(count + 1):
        yield f', "v{index}": {meta}'
    yield '}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {}}, '
    signature = {
        "input_specs": [{"user_input": {"arg": {"as_tensor": {"name": n}}}} for n in ("x", "v0")],
        "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": f"v{count}"}}}}],
    }
    yield '"signature": ' + json.dumps(signature) + ', "module_call_graph": [], "metadata": {}}, '
    yield '"opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20}, "torch_version": "2.13.0"}'


class StoredZip:
    """A zip writer of stored entries; large ones may be holes."""

    def __init__(self, path: str) -> None:
        self.file = open(path, "wb")
        self.entries: list[tuple[bytes, int, int]] = []

    def add(self, name: str, pieces: Iterator[str] | bytes | int) -> None:
        """Bytes, text in pieces, or a number of zero bytes."""
        encoded = name.encode()
        start = self.file.tell()
        padding = -(start + 30 + len(encoded) + 4) % 64
        self.file.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0x0808, 0, 0, 0, 0, 0, 0, len(encoded), padding + 4))
        self.file.write(encoded + struct.pack("<HH", 0x4246, padding) + b"\0" * padding)
        begin = self.file.tell()
        if isinstance(pieces, int):
            self.file.truncate(begin + pieces)
            self.file.seek(begin + pieces)
        elif isinstance(pieces, bytes):
            self.file.write(pieces)
        else:
            for piece in pieces:
                self.file.write(piece.encode())
        self.entries.append((encoded, start, self.file.tell() - begin))

    def close(self) -> None:
        directory = self.file.tell()
        for name, start, size in self.entries:
            extra = struct.pack("<HHQQQ", 1, 24, size, size, start)
            head = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0x0808, 0, 0, 0, 0, 0xFFFFFFFF, 0xFFFFFFFF, len(name), len(extra), 0, 0, 0, 0, 0xFFFFFFFF)
            self.file.write(head + name + extra)
        end = self.file.tell()
        count = len(self.entries)
        self.file.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, end - directory, directory))
        self.file.write(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        self.file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), 0xFFFFFFFF, 0xFFFFFFFF, 0))
        self.file.close()


def write_chain(path: str, count: int) -> None:
    """A chain of `count` nodes as an archive."""
    archive = StoredZip(path)
    archive.add("chain/archive_format", b"pt2")
    archive.add("chain/archive_version", b"0")
    archive.add("chain/byteorder", b"little")
    archive.add("chain/models/model.json", chain_json(count))
    archive.add("chain/data/weights/model_weights_config.json", b'{"config": {}}')
    archive.add("chain/data/constants/model_constants_config.json", b'{"config": {}}')
    archive.close()


def write_large(path: str, layers: int, width: int) -> int:
    """`layers` square float32 matrices multiplied in a row, as holes; returns the bytes of weights."""
    names = [f"w{i}" for i in range(layers)]
    tensor_values = {"x": tensor_meta([1, width]), **{n: tensor_meta([width, width]) for n in names}}
    nodes = []
    for index, name in enumerate(names):
        before = "x" if index == 0 else f"y{index - 1}"
        tensor_values[f"y{index}"] = tensor_meta([1, width])
        inputs = [{"name": a, "arg": {"as_tensor": {"name": b}}, "kind": 1} for a, b in (("self", before), ("mat2", name))]
        nodes.append({"target": "torch.ops.aten.mm.default", "inputs": inputs, "outputs": [{"as_tensor": {"name": f"y{index}"}}], "metadata": {}})
    graph = {
        "inputs": [{"as_tensor": {"name": n}} for n in [*names, "x"]], "outputs": [{"as_tensor": {"name": f"y{layers - 1}"}}], "nodes": nodes,
        "tensor_values": tensor_values, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False,
    }  # fmt: skip
    inputs = [{"parameter": {"arg": {"name": n}, "parameter_name": n}} for n in names] + [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}]
    signature = {"input_specs": inputs, "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": f"y{layers - 1}"}}}}]}
    program = {
        "graph_module": {"graph": graph, "signature": signature, "module_call_graph": [], "metadata": {}}, "opset_version": {"aten": 10},
        "range_constraints": {}, "schema_version": {"major": 8, "minor": 20}, "torch_version": "2.13.0",
    }  # fmt: skip
    size = width * width * 4
    config = {n: {"path_name": f"weight_{i}", "is_param": True, "use_pickle": False, "tensor_meta": tensor_meta([width, width])} for i, n in enumerate(names)}
    archive = StoredZip(path)
    archive.add("large/archive_format", b"pt2")
    archive.add("large/archive_version", b"0")
    archive.add("large/byteorder", b"little")
    for index in range(layers):
        archive.add(f"large/data/weights/weight_{index}", size)
    archive.add("large/data/weights/model_weights_config.json", json.dumps({"config": config}).encode())
    archive.add("large/data/constants/model_constants_config.json", b'{"config": {}}')
    archive.add("large/models/model.json", json.dumps(program).encode())
    archive.close()
    return layers * size


if __name__ == "__main__":
    import sys

    write_chain(sys.argv[1], int(sys.argv[2]))
    print(os.path.getsize(sys.argv[1]), "bytes")
