"""The report of a conversion: JSON by its schema, Markdown, trace, and the page in a browser."""

import json
import re
from pathlib import Path

import pytest
import torch

import flambeau
from flambeau import _engine

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/report.schema.json").read_text())


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(torch.relu(self.fc(x)) + x)  # the line


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.Sequential(*[Block() for _ in range(12)])

    def forward(self, x):
        return self.blocks(x)


class Missing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x) * 2


class Inner(torch.nn.Module):
    def forward(self, x):
        return torch.ops.flambeau_report.nothing(x + 1)


torch.library.custom_op("flambeau_report::nothing", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor").register_fake(torch.empty_like)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """{ending: text} of an export that succeeded."""
    folder = tmp_path_factory.mktemp("report")
    flambeau.export(Model(), (torch.randn(3, 8),), dynamic_shapes=({0: "batch"},), report=True, verify=True, artifacts_dir=folder)
    return {path.suffix: path.read_text() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failed")
    with pytest.raises(flambeau.errors.UnsupportedOperatorError):
        flambeau.export(Missing(), (torch.randn(3, 8),), report=True, artifacts_dir=folder)
    assert all("_conversion." in path.name for path in folder.iterdir())
    return {path.suffix: path.read_text() for path in folder.iterdir()}


def conforms(value, schema, at="$"):
    """The few words of JSON Schema that ours uses; a failure says where."""
    if "anyOf" in schema:
        problems = [conforms(value, each, at) for each in schema["anyOf"]]
        return None if None in problems else problems[0]
    if "const" in schema:
        return None if value == schema["const"] else f"{at}: {value!r}"
    if "enum" in schema:
        return None if value in schema["enum"] else f"{at}: {value!r}"
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, kinds[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in types):
        return f"{at}: {value!r} is no {types}"
    if isinstance(value, dict):
        if value.keys() != set(schema["required"]):
            return f"{at}: {sorted(value.keys() ^ set(schema['required']))}"
        found = (conforms(item, schema["properties"][key], f"{at}.{key}") for key, item in value.items())
    elif isinstance(value, list):
        found = (conforms(item, schema["items"], f"{at}[{i}]") for i, item in enumerate(value))
    else:
        return f"{at}: {value}" if isinstance(value, int) and value < schema.get("minimum", value) else None
    return next(filter(None, found), None)


def test_json_follows_the_schema(written, failed):
    for text in (written[".json"], failed[".json"], _engine.ConversionReport().json()):
        assert conforms(json.loads(text), SCHEMA) is None
    assert conforms({**json.loads(written[".json"]), "status": "perhaps"}, SCHEMA) is not None


def test_nodes_are_traced_to_python(written):
    report = json.loads(written[".json"])
    assert (report["status"], report["model"]) == ("converted", "Model")
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# the line"))
    gemm = next(node for node in report["nodes"] if node["op"] == "Gemm")
    captured = report["captured"][gemm["captured"]]
    assert (captured["op"], captured["source"]) == ("aten::linear", f"test_report.py:{line}")
    assert captured["code"].startswith("return self.norm(")
    module = report["modules"][gemm["module"]]
    assert (module["path"], module["captured_nodes"], module["onnx_nodes"]) == ("blocks.0.fc", 1, 1)
    assert report["modules"][module["parent"]]["path"] == "blocks.0"
    assert report["stages"][gemm["stage"]]["name"] == "lowered"
    assert {output for node in report["nodes"] for output in node["outputs"]} <= set(range(len(report["values"])))
    assert report["dimensions"] == [{"name": "batch", "range": "1 … ∞"}] or report["dimensions"][0]["name"] == "batch"
    outputs = [c for c in report["comparisons"] if not c["module"]]
    assert [c["ok"] for c in outputs] == [True, True] and len(outputs) < len(report["comparisons"])
    assert sum(report["comparisons"][0]["histogram"]) == 24


def test_nodes_of_branches_belong_to_the_node_that_holds_them(browse, tmp_path):
    class Branch(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x.relu() * 2, lambda x: x.tanh(), (x,)) + 1

    flambeau.export(Branch(), (torch.randn(3, 8),), report=True, artifacts_dir=tmp_path)
    texts = {path.suffix: path.read_text() for path in tmp_path.iterdir()}
    report = json.loads(texts[".json"])
    assert conforms(report, SCHEMA) is None
    ops = [node["op"] for node in report["nodes"]]
    holder = ops.index("If")
    assert {node["op"] for node in report["nodes"] if node["within"] == holder} == {"Relu", "Mul", "Tanh"}
    results = {output for node in report["nodes"] if node["op"] in ("Mul", "Tanh") for output in node["outputs"]}
    assert set(report["nodes"][holder]["yields"]) == results and report["nodes"][holder]["within"] is None
    found = browse(texts[".html"], """
      document.getElementById("tab-graph").click();
      document.getElementById("expand").click();
      const search = document.getElementById("search");
      search.value = "/tanh";
      search.dispatchEvent(new Event("input"));
      await press(search, "Enter");
      out.details = document.getElementById("details").textContent;
      [...document.querySelectorAll("#details button")].find(b => b.textContent.startsWith("If")).click();
      out.holder = page.view.chosen.label;
    """)
    assert "in a body ofIf" in found["details"] and found["holder"] == "If"


def test_failure_marks_what_is_missing(failed):
    report = json.loads(failed[".json"])
    assert report["status"] == "failed"
    assert [node["op"] for node in report["captured"] if node["missing"]] == ["flambeau_report::nothing"]
    assert report["unsupported"][0]["places"][0]["module"] == "inner"
    assert "flambeau_report::nothing" in failed[".md"] and "custom_translation_table" in failed[".md"]


def test_report_of_a_capture_that_fails(tmp_path):
    class Branches(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    with pytest.raises(flambeau.errors.CaptureError):
        flambeau.export(Branches(), (torch.ones(2),), capture="export", report=True, artifacts_dir=tmp_path)
    (path,) = tmp_path.glob("*_pt_export.json")
    report = json.loads(path.read_text())
    assert report["status"] == "capture-failed" and "test_report.py" in report["failure"]
    assert [bool(attempt["error"]) for attempt in report["attempts"]] == [True] * len(report["attempts"])


def test_markdown(written):
    text = written[".md"]
    assert text.startswith("# PyTorch ONNX Conversion Report") and "No errors" in text
    assert "| `blocks.0.fc` |" in text and "✅ Validate model output accuracy" in text
    assert "✅ Obtain model graph with `torch.export.export(..., strict=False)` (" in text and "⚪ Obtain model graph with `torch.export.draft_export`" in text
    for title, line in (("Exported program", "class GraphModule"), ("ONNX model", "graph(%"), ("Analysis", "- `aten.linear.default`: ")):
        assert line in text.partition(f"## {title}")[2]


def test_page_needs_nothing_else(written):
    page = written[".html"].replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert not re.findall(r"(?:src|href)\s*=|https?://|@import|fetch\(|XMLHttpRequest", page)


def test_page_keeps_the_notice_of_what_draws_it(written):
    assert "Copyright (c) Lutz Roeder" in written[".html"] and "Permission is hereby granted" in written[".html"]


def test_page_renders_and_searches(browse, written):
    found = browse(written[".html"], """
      out.open = page.open.size;
      document.getElementById("tab-graph").click();
      const search = document.getElementById("search");
      await press(document.body, "/");
      out.focused = document.activeElement.id;
      search.value = "layer_norm";
      search.dispatchEvent(new Event("input"));
      await press(search, "Enter");
      out.details = document.getElementById("details").textContent;
      [...document.querySelectorAll("#details button")].find(b => b.textContent.startsWith("aten::layer_norm")).click();
      out.kind = page.kind;
      [...document.querySelectorAll("#details button")].find(b => b.textContent.startsWith("LayerNormalization")).click();
      out.back = page.kind + page.view.chosen.label;
    """)
    assert found["ready"] == "true" and 1 < int(found["boxes"]) <= 60
    assert found["focused"] == "search" and found["found"] == "12"
    assert "test_report.py" in found["details"] and "lowered" in found["details"]
    assert (found["kind"], found["back"]) == ("captured", "onnxLayerNormalization")


def test_page_by_keyboard(browse, written):
    found = browse(written[".html"], """
      await press(document.getElementById("tab-summary"), "ArrowRight");
      out.tab = document.querySelector("[aria-selected=true]").id;
      document.getElementById("collapse").click();
      const canvas = view.canvas;
      canvas.focus();
      await press(canvas, "Home");
      out.first = view.chosen.label;
      await press(canvas, "Enter");
      out.opened = page.shown.boxes.length;
      document.getElementById("expand").click();
      await press(canvas, "Home");
      await press(canvas, "ArrowDown");
      await press(canvas, "ArrowDown");
      out.third = view.chosen.label;
      await press(canvas, "ArrowUp");
      out.second = view.chosen.label;
      const scale = view.scale;
      await view.drawn;
      await press(canvas, "+");
      out.zoomed = view.scale > scale;
      await press(canvas, "Enter");
      out.closed = view.chosen.label;
      await view.drawn;
      const box = document.getElementById(view.chosen.key).getBoundingClientRect(), around = canvas.getBoundingClientRect();
      out.centered = Math.hypot((box.left + box.right - around.left - around.right) / 2, (box.top + box.bottom - around.top - around.bottom) / 2) < 20;
      out.marked = document.querySelector(".node.select").id === view.chosen.key;
      await press(canvas, "ArrowDown");
      out.below = view.chosen.label;
    """)
    assert found["tab"] == "tab-graph"
    assert found["first"] == "(model)" and int(found["opened"]) >= 1
    assert (found["second"], found["third"], found["zoomed"]) == ("Relu", "Add", "true")
    assert (found["closed"], found["centered"], found["marked"], found["below"]) == ("blocks.0", "true", "true", "Gemm")


def test_page_of_a_failure(browse, failed):
    found = browse(failed[".html"], """
      out.status = document.getElementById("status").textContent;
      out.problems = document.getElementById("panel-problems").textContent;
      out.summary = document.getElementById("panel-summary").textContent;
      document.getElementById("expand").click();
      out.missing = page.shown.boxes.filter(box => box.missing).map(box => box.label).join();
      document.querySelector("#panel-problems td button.link").click();
      out.linked = page.view.chosen ? page.view.chosen.label : "";
      document.getElementById("collapse").click();
      out.holds = page.shown.boxes.filter(box => box.missing).map(box => box.label).join();
    """)
    assert found["status"] == "not converted" and (found["missing"], found["holds"]) == ("flambeau_report::nothing", "(model)")
    assert "What could not be convertedoperatorcallswhyflambeau_report::nothing1" in found["summary"]
    assert "flambeau_report::nothing" in found["problems"] and found["linked"] == "flambeau_report::nothing"
    assert "custom_translation_table={torch.ops.flambeau_report.nothing.default: nothing}" in found["problems"]


def test_names_are_no_markup(browse):
    report = _engine.ConversionReport()
    report.model = report.failure = "</script><img src=x onerror=document.documentElement.dataset.hacked=1>"
    found = browse(report.html(), "out.title = document.getElementById('title').textContent;")
    assert "hacked" not in found and "onerror" in found["title"]


def many_nodes(count, of_a_module):
    """A report of that many nodes, each using the one before, one long before and the first; without modules if there are 0 of each."""
    modules = [{"path": "", "class": "Model", "parent": None, "captured_nodes": 0, "onnx_nodes": 0}] if of_a_module else []
    modules += [{"path": f"layers.{i}", "class": "Layer", "parent": 0, "captured_nodes": 0, "onnx_nodes": of_a_module}
                for i in range(count // of_a_module if of_a_module else 0)]
    nodes = [
        {"name": f"n{i}", "op": ["Add", "Mul", "Relu"][i % 3], "module": 1 + i // of_a_module if of_a_module else None, "captured": None, "merged": [],
         "stage": None, "inputs": [j for j in (i - 1, i - 37, 0) if 0 <= j < i], "outputs": [i], "yields": [], "within": None}
        for i in range(count)
    ]
    values = [{"name": f"v{i}", "type": "float32[2]"} for i in range(count)]
    return {**json.loads(_engine.ConversionReport().json()), "status": "converted", "model": "Many", "modules": modules, "nodes": nodes, "values": values}


@pytest.mark.parametrize("of_a_module", [20, 0])
def test_many_nodes_do_not_freeze(browse, of_a_module):
    page = _engine.ConversionReport().html()
    start = page.index('id="report">') + len('id="report">')
    page = page[:start] + json.dumps(many_nodes(20_000, of_a_module)) + page[page.index("</script>", start):]
    found = browse(page, """
      const count = dagre.layout, layouts = [];
      dagre.layout = (nodes, edges, ...rest) => { layouts.push([nodes.length, edges.length]); return count(nodes, edges, ...rest); };
      const most = i => Math.max(0, ...layouts.map(each => each[i]));
      const note = async name => {
        await view.drawn;
        out[name] = JSON.stringify([layouts.length, most(0), most(1), document.querySelectorAll(".node[id]").length]);
        layouts.length = 0;
      };
      document.getElementById("tab-graph").click();
      await note("opened");
      document.getElementById("expand").click();
      await note("expanded");
      const {x, y} = view.middle;
      view.canvas.scrollBy(50, 100);
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      view.resize();  // as a window does: one looks on at the same place
      await press(view.canvas, "+");
      await note("panned");
      out.middle = view.middle.y > y;
      const search = document.getElementById("search");
      search.value = "n19999";
      search.dispatchEvent(new Event("input"));
      await press(search, "Enter");
      await note("searched");
      out.chosen = view.chosen.node.name;
      for (const each of page.graph.root.items.slice(0, 8)) page.reveal(each.container);
      for (let i = 0; i < 20_000; i += 500) page.reveal(page.graph.inside[i]);
      page.relayout();
      await note("unfolded");
    """)
    # What freezes a page is a layout of many boxes or edges, many layouts, and many elements: bounds of each, whatever the machine.
    bounds = {"opened": (3, 60, 300, 60), "expanded": (30, 210, 900, 420), "panned": (0, 0, 0, 420), "searched": (12, 210, 900, 520), "unfolded": (40, 210, 900, 520)}
    for step, most in bounds.items():
        seen = json.loads(found[step])
        assert all(a <= b for a, b in zip(seen, most)), (step, seen)
    assert found["middle"] == "true" and found["chosen"] == "n19999"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browse, written, scheme):
    found = browse(written[".html"], "out.back = getComputedStyle(document.body).backgroundColor;", scheme)
    assert found["back"] == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]
