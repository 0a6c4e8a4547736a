"""Archives that are damaged, or mean harm: a located error, and nothing else."""

import json
import random
import struct
import subprocess
import zipfile

import pytest
from described import ROOT, Description, torch_saved
from large import write_weights
from running import MEGABYTE, Runner

PROGRAM = """
weight w: float32[2, 3]
buffer b: float32[2]
input x: float32[s0, 3]
range s0 1 64
h: float32[s0, 2] = aten.linear.default(x, w, b) @ fc.Linear model.py:7
y: float32[s0, 2] = aten.relu.default(h) @ act.ReLU model.py:8
return y
"""


class ProgramRunner(Runner):
    def __init__(self, flambeau, folder):
        super().__init__(flambeau, folder, "model.pt2")

    def write(self, **changed):
        """The program's archive with other entries (None: without them)."""
        entries = {**Description(PROGRAM).documents(), **{name.replace("__", "/"): content for name, content in changed.items()}}
        with zipfile.ZipFile(self.archive, "w") as archive:
            for name, content in entries.items():
                if content is not None:
                    archive.writestr(f"model/{name}", content)

    def write_call(self, call, **inputs):
        """The archive of one call of inputs of these types, whose result is recorded as being like the first one."""
        given = "".join(f"input {name}: {type}\n" for name, type in inputs.items())
        text = f"{given}y: {next(iter(inputs.values()))} = aten.{call}\nreturn y\n"
        self.write(**{"models/model.json": Description(text).documents()["models/model.json"]})


@pytest.fixture
def runner(flambeau, tmp_path):
    return ProgramRunner(flambeau, tmp_path)


# --- damage -----------------------------------------------------------------------


@pytest.fixture(params=["today", "inplace.torch-2.5.1.pt2"])
def sound(request, runner):
    """The bytes of an archive that converts, of either layout."""
    if request.param == "today":
        runner.write()
    else:
        runner.archive.write_bytes((ROOT / "tests/data/archives" / request.param).read_bytes())
    assert runner.convert().returncode == 0
    return runner.archive.read_bytes()


def test_truncated_anywhere(runner, sound):
    for length in [*range(0, 64, 7), *range(64, len(sound), len(sound) // 40), len(sound) - 1]:
        runner.archive.write_bytes(sound[:length])
        assert "model.pt2" in runner.convert().stderr, f"the first {length} bytes"


def test_flipped_bits(runner, sound):
    choose = random.Random(2026)
    for _ in range(80):
        damaged = bytearray(sound)
        for _ in range(choose.choice((1, 1, 1, 8))):
            damaged[choose.randrange(len(damaged))] ^= 1 << choose.randrange(8)
        runner.archive.write_bytes(damaged)
        runner.convert()


def test_bytes_of_the_directory_replaced(runner, sound):
    """Sizes, offsets and counts are in the last part of a zip archive."""
    directory = sound.index(b"PK\x01\x02")
    choose = random.Random(7)
    for _ in range(60):
        damaged = bytearray(sound)
        at = choose.randrange(directory, len(damaged))
        damaged[at : at + 4] = choose.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\1\0\0\0"))
        runner.archive.write_bytes(damaged[: len(sound)])
        runner.convert()


@pytest.mark.parametrize("content, kind", [
    (b"", "unknown-format"), (b"PK", "bad-archive"), (b"\x80\x02}q\x00.", "unknown-format"), (b"\x89HDF\r\n\x1a\n", "unknown-format"),
    (b"\x08\x0a\x12\x05torch", "unknown-format"), (b"\x7fELF" * 100, "unknown-format"), (b"\0" * 4096, "unknown-format"),
])  # fmt: skip
def test_other_files_under_the_name(runner, content, kind):
    runner.archive.write_bytes(content)
    runner.refuse(kind)


def test_a_folder_is_no_archive(runner):
    runner.archive.mkdir()
    runner.refuse("cannot-open")


def test_a_zip_of_something_else(runner):
    with zipfile.ZipFile(runner.archive, "w") as archive:
        archive.writestr("hello.txt", "hello")
    runner.refuse("unknown-format")
    runner.archive.write_bytes(torch_saved(b"\x80\x02}."))
    runner.refuse("unknown-format")


# --- zip archives that lie --------------------------------------------------------


def patch_directory(runner, offset, form, value, entry=0):
    """Overwrites a field of an entry of the central directory."""
    content = bytearray(runner.archive.read_bytes())
    at = -1
    for _ in range(entry + 1):
        at = content.index(b"PK\x01\x02", at + 1)
    struct.pack_into(form, content, at + offset, value)
    runner.archive.write_bytes(content)


def test_overlapping_entries(runner):
    runner.write()
    patch_directory(runner, 42, "<I", 0, entry=4)  # starts where the first does
    runner.refuse("bad-archive")


@pytest.mark.parametrize("offset, form, value", [(20, "<I", 0x7FFFFFFF), (24, "<I", 0x7FFFFFFF), (42, "<I", 0x7FFFFFFF), (28, "<H", 0xFFFF)])
def test_entries_that_reach_beyond_the_file(runner, offset, form, value):
    runner.write()
    patch_directory(runner, offset, form, value)
    runner.refuse("bad-archive")


def deflated(path, name, content):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)


def test_a_zip_bomb_where_the_graph_should_be(runner):
    runner.write(**{"models__model.json": None})
    deflated(runner.archive, "model/models/model.json", b" " * (100 * MEGABYTE))
    assert "model.json" in runner.refuse("bad-archive", memory=64 * MEGABYTE)


def test_a_zip_bomb_where_a_weight_should_be(runner):
    runner.write(data__weights__weight_0=None)
    deflated(runner.archive, "model/data/weights/weight_0", bytes(100 * MEGABYTE))
    assert "weight_0" in runner.refuse("bad-archive", memory=64 * MEGABYTE)


def test_a_size_that_the_deflated_bytes_do_not_have(runner):
    runner.write(**{"models__model.json": None})
    deflated(runner.archive, "model/models/model.json", b"{}" * 1000)
    count = runner.archive.read_bytes().count(b"PK\x01\x02")
    patch_directory(runner, 24, "<I", 1 << 30, entry=count - 1)
    runner.refuse("bad-archive")


# --- documents --------------------------------------------------------------------


def program():
    return json.loads(Description(PROGRAM).documents()["models/model.json"])


def places(document, pointer=()):
    """Every value in a document, without recursion."""
    pending = [(document, pointer)]
    while pending:
        value, at = pending.pop()
        yield at, value
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        pending.extend((child, (*at, key)) for key, child in children)


def replaced(document, pointer, value):
    changed = json.loads(json.dumps(document))
    place = changed
    for key in pointer[:-1]:
        place = place[key]
    place[pointer[-1]] = value
    return changed


def test_values_of_another_type_anywhere(runner):
    document = program()
    choose = random.Random(11)
    everywhere = [pointer for pointer, _ in places(document) if pointer]
    for pointer in choose.sample(everywhere, 80):
        value = choose.choice((None, True, -1, 1 << 62, 1.5, "text", [], {}, [[]], {"as_tensor": 5}))
        runner.write(**{"models__model.json": json.dumps(replaced(document, pointer, value))})
        runner.convert(inconsistent=True)


def test_members_that_are_missing(runner):
    document = program()
    for pointer, value in list(places(document)):
        if isinstance(value, dict) and value:
            key = sorted(value)[len(pointer) % len(value)]
            runner.write(**{"models__model.json": json.dumps(replaced(document, pointer, {k: v for k, v in value.items() if k != key}) if pointer else
                                                             {k: v for k, v in value.items() if k != key})})  # fmt: skip
            runner.convert()


@pytest.mark.parametrize("nested", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_nesting_100000_deep(runner, nested):
    runner.write(**{"models__model.json": nested})
    runner.refuse("bad-json")


def test_nested_graphs_100000_deep(runner):
    graph = '{"as_graph":{"name":"g","graph":{"inputs":[],"outputs":[],"tensor_values":{},"sym_int_values":{},"sym_bool_values":{},"nodes":[{"target":"torch.ops.higher_order.cond","outputs":[],"metadata":{},"inputs":[{"name":"g","kind":1,"arg":'
    text = json.dumps(program())
    start = text.index('{"as_tensor": {"name": "x"}}, "kind"')
    deep = text[:start] + graph * 100_000 + text[start:]
    runner.write(**{"models__model.json": deep})
    runner.refuse("bad-json")


def test_an_expression_nested_30000_deep(runner):
    document = program()
    document["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0]["as_expr"]["expr_str"] = "(" * 30_000 + "s0" + ")" * 30_000
    runner.write(**{"models__model.json": json.dumps(document)})
    runner.convert()


@pytest.mark.parametrize("member, value", [
    ("sizes", 1 << 62), ("sizes", -5), ("sizes", 1 << 40), ("strides", 1 << 62), ("strides", -(1 << 62)), ("storage_offset", 1 << 62), ("storage_offset", -8),
])  # fmt: skip
def test_absurd_sizes_and_strides_of_weights(runner, member, value):
    config = json.loads(Description(PROGRAM).documents()["data/weights/model_weights_config.json"])
    meta = config["config"]["w"]["tensor_meta"]
    meta[member] = {"as_int": value} if member == "storage_offset" else [{"as_int": value}, {"as_int": value}]
    runner.write(**{"data__weights__model_weights_config.json": json.dumps(config)})
    result = runner.convert()
    assert result.returncode == 1 and "model.pt2" in result.stderr, result.stderr


@pytest.mark.parametrize("call", [
    "transpose.int(x, 0, 100)", "select.int(x, 9000000000, 0)", "slice.Tensor(x, -100, 0, 1)", "permute.default(x, [0, 7])",
    "unbind.int(x, 2)", "sum.dim_IntList(x, [3])", "max_pool2d.default(x, [2, 2])", "as_strided.default(x, [2, 2], [1])",
])  # fmt: skip
def test_axes_that_a_tensor_lacks(runner, call):
    runner.write_call(call, x="float32[2, 3]")
    assert runner.convert(inconsistent=True).returncode != 0


@pytest.mark.parametrize("call", [
    "rnn_tanh_cell.default(x, x, w, w)", "binary_cross_entropy.default(x, w)", "_weight_norm.default(x, w)", "_cdist_forward.default(x, w, 2.0, 0)",
    "_prelu_kernel.default(x, w)", "linalg_vecdot.default(x, w)", "_euclidean_dist.default(w, x)", "unfold.default(x, 0, 4, 1)",
])  # fmt: skip
def test_operands_that_do_not_go_together(runner, call):
    runner.write_call(call, x="float32[3, 3]", w="float64[3, 3]")
    assert "[bad-program]" in runner.convert().stderr


@pytest.mark.parametrize("size", [1 << 62, -5, 1 << 40])
def test_absurd_sizes_of_values(runner, size):
    document = program()
    document["graph_module"]["graph"]["tensor_values"]["x"]["sizes"] = [{"as_int": size}] * 8
    runner.write(**{"models__model.json": json.dumps(document)})
    assert runner.convert(inconsistent=True).returncode != 0


@pytest.mark.parametrize("member, value", [("sizes", -5), ("sizes", -(1 << 63)), ("strides", -1)])
def test_what_is_recorded_of_a_value_is_no_size(runner, member, value):
    document = program()
    recorded = document["graph_module"]["graph"]["tensor_values"]["y"][member]
    recorded[-1] = {"as_int": value}
    runner.write(**{"models__model.json": json.dumps(document)})
    assert f"cannot be {value}" in runner.refuse("bad-json")


def test_thousands_of_names_for_a_value_of_thousands_of_dimensions(runner):
    program = json.loads(Description(PROGRAM).documents()["models/model.json"])
    graph = program["graph_module"]["graph"]
    graph["tensor_values"]["big"] = {**graph["tensor_values"]["y"], "sizes": [{"as_int": 1}] * 30_000, "strides": [{"as_int": 1}] * 30_000}
    graph["nodes"].append({**graph["nodes"][-1], "outputs": [{"as_tensors": [{"name": "big"}] * 30_000}]})
    runner.write(**{"models/model.json": json.dumps(program)})
    assert "64 dimensions" in runner.refuse("bad-json")


@pytest.mark.parametrize("version", [{"major": 99, "minor": 1}, {"major": 0, "minor": 0}, {"major": -1, "minor": 0}])
def test_unknown_schema_versions(runner, version):
    runner.write(**{"models__model.json": json.dumps({**program(), "schema_version": version})})
    runner.refuse("unsupported-version")


@pytest.mark.parametrize("entry", sorted(Description(PROGRAM).documents()))
def test_entries_that_are_missing(runner, entry):
    runner.write(**{entry.replace("/", "__"): None})
    result = runner.convert()
    if result.returncode:
        assert "model.pt2" in result.stderr


# --- pickles ----------------------------------------------------------------------

EVIL = (
    b"\x80\x02cposix\nsystem\nX\x0d\x00\x00\x00touch model.evil\x85R.".replace(b"\x0d\x00\x00\x00", b"\x10\x00\x00\x00"),
    b"cos\nsystem\n(S'touch model.evil'\ntR.",
    b"\x80\x04\x8c\x08builtins\x8c\x04exec\x93\x8c\x20open('model.evil','w').write('x') \x85R.",
    b"\x80\x02c__builtin__\neval\n(X\x01\x00\x00\x001tR.",
)


@pytest.mark.parametrize("pickle", EVIL, ids=range(len(EVIL)))
@pytest.mark.parametrize("entry", ["serialized_state_dict.pt", "serialized_constants.pt"])
def test_pickles_are_never_run(runner, entry, pickle):
    """In the old layout, where the weights are one pickle."""
    with zipfile.ZipFile(ROOT / "tests/data/archives/inplace.torch-2.5.1.pt2") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    assert entry in entries
    entries[entry] = torch_saved(pickle)
    with zipfile.ZipFile(runner.archive, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    runner.refuse("bad-pickle")


def test_a_pickle_that_grows_without_end(runner):
    """Each step doubles the tuple before."""
    doubling = b"\x80\x02)" + b"2\x86" * 200 + b"."
    with zipfile.ZipFile(ROOT / "tests/data/archives/inplace.torch-2.5.1.pt2") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["serialized_state_dict.pt"] = torch_saved(doubling)
    with zipfile.ZipFile(runner.archive, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    runner.refuse("bad-pickle")


# --- targets and memory -----------------------------------------------------------


def test_the_archive_itself_as_the_target(runner):
    runner.write()
    before = runner.archive.read_bytes()
    result = subprocess.run([runner.flambeau, "convert", runner.archive, "-o", runner.archive, "--external-data", "reference"], capture_output=True, text=True)
    assert result.returncode == 2 and "the archive itself" in result.stderr
    assert runner.archive.read_bytes() == before


def test_a_folder_as_the_target(runner, tmp_path):
    runner.write()
    (tmp_path / "folder").mkdir()
    result = subprocess.run([runner.flambeau, "convert", runner.archive, "-o", tmp_path / "folder"], capture_output=True, text=True)
    assert result.returncode == 1 and "[cannot-write]" in result.stderr and "folder" in result.stderr


def test_a_graph_that_is_larger_than_the_memory(runner):
    runner.write(**{"models__model.json": b" " * (64 * MEGABYTE)})
    runner.refuse("out-of-memory", memory=48 * MEGABYTE, exhausting=True)


def test_six_gigabytes_in_one_gigabyte_of_address_space(runner):
    """By reference at once; the graph alone is written."""
    size = write_weights(runner.archive, layers=24, width=8192)
    assert size >= 6 << 30
    result = runner.convert("--external-data", "reference", memory=1 << 30)
    assert result.returncode == 0, result.stderr
    assert runner.target.stat().st_size < MEGABYTE


def test_copying_more_than_the_address_space(runner):
    size = write_weights(runner.archive, layers=5, width=8192)
    assert size > 1 << 30
    result = runner.convert("--external-data", "always", memory=1 << 30)
    assert result.returncode == 0, result.stderr
    assert (runner.folder / "model.onnx.data").stat().st_size == size
