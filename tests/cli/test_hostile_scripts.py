"""TorchScript archives that mean harm: an error, within little memory and time."""

import struct
import zipfile

import pytest
from running import Runner

CODE = """class Net(Module):
  __parameters__ = []
  __buffers__ = []
{fields}  def forward(self: __torch__.Net,
    x: Tensor{more}) -> Tensor:
{body}"""
INPUT = ("--input", "x=float32[2,3]")
NOTHING = b"\x80\x02)."


def text(words):
    return b"X" + struct.pack("<I", len(words.encode())) + words.encode()


def named(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def net(state=b"}"):
    return b"\x80\x02" + named("__torch__", "Net") + b")\x81" + state + b"b."


class ScriptRunner(Runner):
    def __init__(self, flambeau, folder):
        super().__init__(flambeau, folder, "model.pt")

    def write(self, *lines, result="torch.relu(x)", fields="", before="", more="", **entries):
        """An archive whose `forward` has these lines. `more`: other arguments of it."""
        body = "".join(f"    {line}\n" for line in (*lines, f"return {result}"))
        code = before + CODE.format(fields=fields, body=body, more=more)
        files = {"data.pkl": net(), "constants.pkl": NOTHING, "version": "3\n", "code/__torch__.py": code, **entries}
        with zipfile.ZipFile(self.archive, "w") as archive:
            for name, content in files.items():
                archive.writestr(f"m/{name}", content, zipfile.ZIP_STORED if name.startswith("data/") else zipfile.ZIP_DEFLATED)


@pytest.fixture
def runner(flambeau, tmp_path):
    return ScriptRunner(flambeau, tmp_path)


def test_an_archive_like_these_that_is_sound(runner):
    runner.write()
    assert runner.convert(*INPUT).returncode == 0


# --- values ------------------------------------------------------------------------

DOUBLED = b"2\x86" * 40
"""A tuple of a value twice, of that twice, and so on."""


@pytest.mark.parametrize("entry", ["constants.pkl", "data.pkl"])
def test_values_that_are_named_again_and_again(runner, entry):
    runner.write(**{entry: b"\x80\x02)" + DOUBLED + b"." if entry == "constants.pkl" else net(b"}" + text("p") + b")" + DOUBLED + b"s")})
    runner.refuse("limit-exceeded", *INPUT)


def test_traced_inputs_that_are_named_again_and_again(runner):
    runner.write(**{"traced_inputs.pkl": b"\x80\x02}" + text("forward") + b")" + DOUBLED + b"s."})
    assert runner.convert(*INPUT).returncode == 0


def tensor():
    storage = b"(" + text("storage") + named("torch", "FloatStorage") + text("0") + text("cpu") + b"K\x06tQ"
    hooks = named("collections", "OrderedDict") + b")R"
    return named("torch._utils", "_rebuild_tensor_v2") + b"(" + storage + b"K\x00(K\x02K\x03t(K\x03K\x01t\x89" + hooks + b"tR"


@pytest.mark.parametrize("name", ["quantized.LinearPackedParamsBase", "quantized.Conv2dPackedParamsBase", "xnnpack.LinearOpContext"])
def test_packed_weights_whose_state_is_a_tensor(runner, name):
    space, _, last = name.partition(".")
    packed = named(f"__torch__.torch.classes.{space}", last) + b")\x81" + tensor() + b"b"
    data = net(b"}(" + text("p") + packed + b"u")
    runner.write("y = self.p", fields=f"  p : __torch__.torch.classes.{name}\n", **{"data.pkl": data, "data/0": b"\0" * 24})
    assert "[bad-program]" in runner.convert(*INPUT).stderr


# --- code --------------------------------------------------------------------------


def test_enums_of_enums(runner):
    enums = "".join(f"class E{i}(Enum):\n  X = [__torch__.E{i + 1}.X, __torch__.E{i + 1}.X]\n" for i in range(28))
    runner.write(before=enums + "class E28(Enum):\n  X = 1\n", more=", e: __torch__.E0=__torch__.E0.X")
    runner.refuse("bad-program", *INPUT)


DOUBLED_CLASSES = "class C0(NamedTuple):\n  a : Tensor\n" + "".join(
    f"class C{i}(NamedTuple):\n  a : __torch__.C{i - 1}\n  b : __torch__.C{i - 1}\n" for i in range(1, 31)
)


def test_classes_of_classes(runner):
    function = "def g(c: __torch__.C30, x: Tensor) -> Tensor:\n  return torch.relu(x)\n"
    runner.write("c = uninitialized(__torch__.C30)", result="__torch__.g(c, x)", before=DOUBLED_CLASSES + function)
    assert runner.convert(*INPUT).returncode == 0


def test_an_input_of_a_class_of_classes(runner):
    runner.write(before=DOUBLED_CLASSES, more=", c: __torch__.C30")
    assert "[limit-exceeded]" in runner.convert(*INPUT).stderr


def test_a_constant_that_is_named_again_and_again(runner):
    numbers = b"".join(b"M" + struct.pack("<H", i % 60000) for i in range(100_000))
    runner.write(*(f"a{i} = CONSTANTS.c0" for i in range(400)), **{"constants.pkl": b"\x80\x02](" + numbers + b"e\x85."})
    assert "the constants that code names take more than" in runner.convert(*INPUT).stderr


def test_a_list_that_grows_by_itself(runner):
    runner.write("s = [1, 2]", *["_0 = torch.extend(s, s)"] * 40, result="torch.add(x, torch.len(s))")
    assert "[limit-exceeded]" in runner.convert(*INPUT).stderr


LEFT_PATHS = {
    "a list that holds itself": ("v = annotate(List[Any], [x])", "_0 = torch.append(v, v)"),
    "a list of a list twice, of that twice, and so on": ("v = annotate(List[Any], [x])", *["v = annotate(List[Any], [v, v])"] * 40),
}


@pytest.mark.parametrize("lines", LEFT_PATHS.values(), ids=LEFT_PATHS)
def test_a_path_that_is_left_out_and_reads(runner, lines):
    runner.write(*lines, "if torch.__isnot__(y, None):", "  n = torch.len(v)", "else:", "  n = 1", result="torch.mul(x, n)",
                 more=", y: Optional[Tensor]=None")  # fmt: skip
    assert runner.convert(*INPUT, "--input", "y=None").returncode == 0


def test_a_dict_of_many_keys(runner):
    runner.write("d = {" + ", ".join(f'"k{i}": {i}' for i in range(40_000)) + "}", result='torch.add(x, d["k39999"])')
    assert runner.convert(*INPUT).returncode == 0


CALLS = {
    "a convolution of weights that were packed without steps": (
        "q = torch.quantize_per_tensor(x, 0.1, 0, 12)",
        "z = annotate(List[int], [])",
        "p = ops.quantized.conv2d_prepack(q, None, z, z, z, 1)",
        "y = torch.dequantize(ops.quantized.conv1d(torch.quantize_per_tensor(torch.select(x, 0, 0), 0.1, 0, 13), p, 0.1, 0))",
    ),
    "a tensor that is quantized already": (
        "q = torch.quantize_per_tensor(x, 0.1, 0, 13)",
        "s = torch.rand([2])",
        "y = torch.dequantize(torch.quantize_per_channel(q, s, s, 0, 13))",
    ),
    "an infinite number of steps": (
        "q = torch.quantize_per_tensor(x, 0., 0, 13)",
        "y = torch.dequantize(ops.quantized.add_scalar(q, 1.))",
    ),
    "a window of complex numbers": ("y = torch.hann_window(7, dtype=9)",),
    "a window of integers": ("y = torch.bartlett_window(7, dtype=4)",),
    "windows that are wider than the tensor": ("y = torch.unfold(x, 0, 9223372036854775807, 1)",),
    "a convolution of weights that were packed for mobiles without steps": (
        "z = annotate(List[int], [])",
        "y = ops.prepacked.conv2d_clamp_run(x, ops.prepacked.conv2d_clamp_prepack(x, None, z, z, z, 1))",
    ),
    "a convolution of weights of a linear layer": (
        "p = ops.prepacked.linear_clamp_prepack(x)",
        "y = ops.prepacked.conv2d_clamp_run(x, unchecked_cast(__torch__.torch.classes.xnnpack.Conv2dOpContext, p))",
    ),
    "text that is no number to its end": ('y = torch.add(x, int("12abc"))',),
}


@pytest.mark.parametrize("lines", CALLS.values(), ids=CALLS)
def test_calls(runner, lines):
    runner.write(*lines, result="y")
    shape = "x=float32[2,3,1,2]" if "conv1d" in lines[-1] else INPUT[1]
    result = runner.convert("--input", shape)
    assert result.returncode in (1, 3), result.stderr


# --- where nodes come from -----------------------------------------------------------


def test_lines_of_nothing(runner):
    lines = b"](" + text("") + b"q\x00" + b"h\x00" * 200_000 + b"eq\x01"
    records = b"(K\x00((h\x01" + text("") + b"K\x01tK\x00K\x01tK\x00t"
    runner.write(**{"code/__torch__.py.debug_pkl": b"\x80\x02" + lines + b"0(" + records * 50_000 + b"t."})
    assert runner.convert(*INPUT).returncode == 0


def test_a_long_stack(runner):
    source = b"(" + text("a(1):\n" * 1_000_000) + text("") + b"K\x01t"
    runner.write(**{"code/__torch__.py.debug_pkl": b"\x80\x02((K\x00(" + source + b"K\x00K\x01tK\x00tt."})
    assert runner.convert(*INPUT).returncode == 0
