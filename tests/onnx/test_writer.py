"""Models that the C++ tests write, read with onnx and onnxruntime.

The program is onnx_tests of the build folder FLAMBEAU_BUILD_DIR (default: build/dev).
"""

import os
import pathlib
import resource
import signal
import subprocess

import numpy as np
import onnx
import onnx.parser
import onnx.printer
import onnxruntime
import pytest
from onnx import helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("FLAMBEAU_BUILD_DIR", ROOT / "build" / "dev")) / "src/onnx/onnx_tests"
if not PROGRAM.exists() and "FLAMBEAU_BUILD_DIR" not in os.environ:  # a build that is named has it
    pytest.skip(f"{PROGRAM} is not built", allow_module_level=True)


def write(case, folder, limits=(), **environment):
    """Runs one C++ test, which leaves its models in `folder`."""

    def limit():
        for what, value in limits:
            resource.setrlimit(what, (value, value))

    return subprocess.run(
        [PROGRAM, f"--gtest_filter={case}"],
        env=os.environ | environment | {"FLAMBEAU_TEST_OUTPUT": str(folder)},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=120,
    )


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = tmp_path_factory.mktemp("everything")
    done = write("SaveTest.Everything", folder)
    assert done.returncode == 0, done.stdout
    return folder / "everything.onnx"


def test_everything_is_valid(everything):
    onnx.checker.check_model(str(everything), full_check=True)
    session = onnxruntime.InferenceSession(everything)
    x = np.ones((3, 3), np.float32)
    names = [o.name for o in session.get_outputs()]
    picked = [names[0], names[2], names[8]]
    outputs = session.run(picked, {"x": x, "c": np.array(False)})
    w = np.arange(9, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(outputs[0], 2 * x @ w.T @ w.T)
    np.testing.assert_array_equal(outputs[1], x)
    np.testing.assert_array_equal(outputs[2], w)


def test_everything_reads_back(everything):
    model = onnx.load(everything)
    graph = model.graph
    assert model.ir_version == 10
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 20)]
    assert [(e.key, e.value) for e in model.metadata_props] == [("author", "none")]
    assert [(e.key) for e in graph.node[0].metadata_props] == ["id"]
    assert [d.dim_param or d.dim_value for d in graph.input[0].type.tensor_type.shape.dim] == ["2*batch + 1", 3]
    assert list(graph.node[0].input) == ["x", "fc.weight", ""]

    weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    assert list(weights) == ["fc.weight", "fc.weight_1", "words"]
    np.testing.assert_array_equal(weights["fc.weight"], weights["fc.weight_1"].T)
    assert weights["words"].tolist() == ["a", 'b"c', ""]

    attributes = {
        (node.op_type, a.name): helper.get_attribute_value(a) for node in graph.node for a in node.attribute
    }
    assert attributes["Gemm", "alpha"] == 2.0 and attributes["Gemm", "transB"] == 1
    assert attributes["Constant", "value_floats"] == [1.5, -2.0, np.float32(1e30)]
    assert attributes["Constant", "value_ints"] == [-(2**63), -1]
    assert attributes["Constant", "value_strings"] == ["é".encode(), b"b"]
    assert attributes["Cast", "to"] == onnx.TensorProto.BFLOAT16
    assert numpy_helper.to_array(attributes["Constant", "value"]).tolist() == [0, 1]

    # Outputs are made in their graph, once each.
    names = [o.name for o in graph.output]
    assert len(set(names)) == len(names)
    assert not set(names) & {i.name for i in graph.input} and not set(names) & set(weights)
    other = attributes["If", "else_branch"]
    assert [node.op_type for node in other.node] == ["Identity"]
    # Every value of known type has it written down.
    typed = {v.name for v in [*graph.value_info, *graph.output]}
    assert all(name in typed for node in graph.node for name in node.output)


def test_reads_what_others_write(tmp_path):
    """Values of tensors in all the fields that protobuf has for them."""
    # From 25 on they are types that the IR has not: 2-bit integers and the like.
    dtypes = [d for d in range(1, 25) if d != onnx.TensorProto.STRING]
    tensors = [helper.make_tensor(f"t{d}", d, [2, 2], [1, 0, 1, 1]) for d in dtypes]
    tensors.append(helper.make_tensor("strings", onnx.TensorProto.STRING, [2], ["a", "b"]))
    nodes = [helper.make_node("Identity", [t.name], [f"{t.name}_out"], name=t.name) for t in tensors]
    outputs = [helper.make_tensor_value_info(n.output[0], t.data_type, list(t.dims)) for n, t in zip(nodes, tensors)]
    graph = helper.make_graph(nodes, "g", [], outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    onnx.save(model, tmp_path / "first.onnx")
    done = write("SaveTest.ReadsAndWritesAnother", tmp_path, FLAMBEAU_TEST_INPUT=str(tmp_path / "first.onnx"))
    assert done.returncode == 0, done.stdout
    again = {t.name: numpy_helper.to_array(t) for t in onnx.load(tmp_path / "again.onnx").graph.initializer}
    for tensor in tensors:
        np.testing.assert_array_equal(again[tensor.name], numpy_helper.to_array(tensor), tensor.name)


def test_ir_version_of_each_opset(tmp_path):
    assert write("SaveTest.IrVersions", tmp_path).returncode == 0
    rows = (line.split() for line in (tmp_path / "ir_versions.txt").read_text().splitlines())
    ours = {int(opset): int(version) for opset, version in rows}
    theirs = {opset: v for (domain, opset), v in helper.OP_SET_ID_VERSION_MAP.items() if domain == "ai.onnx"}
    assert {opset: ours[opset] for opset in theirs} == theirs


def test_text_parses(everything):
    """Our text is the model, but for names of nodes and contents of large tensors."""
    text = everything.with_suffix(".txt").read_text()
    parsed, written = onnx.parser.parse_model(text), onnx.load(everything)
    assert [v.SerializeToString() for v in parsed.graph.input] == [v.SerializeToString() for v in written.graph.input]
    assert [v.SerializeToString() for v in parsed.graph.output] == [v.SerializeToString() for v in written.graph.output]
    for ours, other in zip(parsed.graph.node, written.graph.node, strict=True):
        del other.metadata_props[:]
        assert onnx.printer.to_text(ours) == onnx.printer.to_text(other)
    assert [t.name for t in parsed.graph.initializer] == [t.name for t in written.graph.initializer]


@pytest.fixture(scope="module")
def external(tmp_path_factory):
    folder = tmp_path_factory.mktemp("external")
    done = write("SaveTest.External", folder)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.mark.parametrize("mode", ["never", "auto", "always", "reference"])
def test_weights(external, mode):
    path = external / f"{mode}.onnx"
    onnx.checker.check_model(str(path), full_check=True)
    weights = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    ramp = (np.arange(300 * 700) % 1000).astype(np.float32)
    rows = ramp.reshape(300, 700)
    columns = ramp.reshape(700, 300).T
    for name in ("memory", "tied", "file", "callback"):
        np.testing.assert_array_equal(weights[name], rows, name)
    for name in ("memory_t", "file_t", "callback_t"):
        np.testing.assert_array_equal(weights[name], columns, name)
    np.testing.assert_array_equal(weights["expanded"], np.broadcast_to(ramp[10:710], (300, 700)))
    np.testing.assert_array_equal(weights["small"], ramp[100:800])
    result = onnxruntime.InferenceSession(path).run(None, {"x": np.zeros((300, 700), np.float32)})[0]
    np.testing.assert_allclose(result, sum(weights.values()))


def test_external_places(external):
    model = onnx.load(external / "always.onnx", load_external_data=False)
    places = {t.name: {e.key: e.value for e in t.external_data} for t in model.graph.initializer}
    assert places["tied"] == places["memory"]
    assert places["small"]["length"] == "2800"
    assert all(p["location"] == "always.onnx.data" and int(p["offset"]) % (64 if name == "small" else 4096) == 0 for name, p in places.items())
    model = onnx.load(external / "reference.onnx", load_external_data=False)
    places = {t.name: {e.key: e.value for e in t.external_data} for t in model.graph.initializer}
    assert places["file"] == {"location": "archive.bin", "offset": "100", "length": "840000"}
    assert places["file_t"]["location"] == "reference.onnx.data"


def test_large_weights_need_little_memory(tmp_path):
    done = write("BigSaveTest.AboveTwoGigabytes", tmp_path, [(resource.RLIMIT_AS, 256 << 20)])
    assert done.returncode == 0, done.stdout
    onnx.checker.check_model(str(tmp_path / "big.onnx"), full_check=True)


def test_strided_weights_need_little_memory(tmp_path):
    done = write("BigSaveTest.TransposedInAFile", tmp_path, [(resource.RLIMIT_AS, 128 << 20)])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("megabytes", [1, 33])
def test_full_disk_leaves_the_target(tmp_path, megabytes):
    (tmp_path / "limited.onnx.data").write_text("older")
    done = write("BigSaveTest.RunsIntoTheLimit", tmp_path, [(resource.RLIMIT_FSIZE, megabytes << 20)])
    assert done.returncode == 0, done.stdout
    assert "cannot-write: cannot write: File too large (the model takes 67" in done.stdout
    assert files(tmp_path) == ["limited.onnx", "limited.onnx.data"]
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ["old", "older"]


def test_killed_half_way_leaves_the_target(tmp_path):
    done = write("BigSaveTest.IsKilled", tmp_path, FLAMBEAU_TEST_KILL="1")
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "killed.onnx").read_text() == "old"
    (left,) = [name for name in files(tmp_path) if ".tmp-" in name]
    assert left.startswith(".killed.onnx.tmp-")


def test_two_runs_give_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        assert write("SaveTest.Everything", tmp_path / folder).returncode == 0
    one, two = ((tmp_path / folder / "everything.onnx").read_bytes() for folder in ("a", "b"))
    assert one == two
