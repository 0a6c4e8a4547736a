// The parts of the page that are text and tables. All text goes in as text
// nodes: names in a model are not trusted.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}
const code = text => element("code", {}, text);

// Columns in which no row has anything are left out; what is too wide scrolls by itself.
function table(head, rows) {
  const used = head.map((_, i) => rows.some(cells => cells[i] instanceof Node || (cells[i] ?? "") !== ""));
  const kept = cells => cells.filter((_, i) => used[i]);
  return element("div", {class: "scroll"}, element("table", {},
    element("thead", {}, element("tr", {}, ...kept(head).map(text => element("th", {scope: "col"}, text)))),
    element("tbody", {}, ...rows.map(cells => element("tr", {}, ...kept(cells).map(cell => cell instanceof HTMLTableCellElement ? cell : element("td", {}, cell ?? "")))))));
}
const number = text => element("td", {class: "number"}, String(text));
const bytes = n => n < 1e6 ? `${(n / 1e3).toFixed(1)} KB` : n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(2)} GB`;
const short = n => typeof n === "string" ? n : n === 0 ? "0" : n.toExponential(2);
const typeOf = t => `${t.dtype}[${t.sizes.join(", ")}]`;

function terms(pairs) {
  return element("dl", {}, ...pairs.flatMap(([term, text]) => text === "" || text === null || text === undefined ? [] : [element("dt", {}, term), element("dd", {}, text)]));
}

function problemsOf(report) {
  const errors = report.diagnostics.filter(d => d.severity === "error").length, warnings = report.diagnostics.length - errors;
  if (report.unsupported.length) return element("span", {class: "bad"}, `${report.unsupported.length === 1 ? "one operator" : `${report.unsupported.length} operators`} could not be converted`);
  if (errors) return element("span", {class: "bad"}, `errors: ${errors}`);
  return warnings ? `warnings: ${warnings}` : "";
}

// The message, but for the operator that it begins with.
const reasonOf = u => u.message.startsWith(u.operator + " ") ? u.message.slice(u.operator.length + 1) : u.message;

function numbersOf(report) {
  const outputs = report.comparisons.filter(c => !c.module), wrong = outputs.filter(c => !c.ok).length;
  if (!outputs.length) return "";
  return wrong ? element("span", {class: "bad"}, `${wrong} of ${outputs.length} comparisons with PyTorch differ`)
    : element("span", {class: "good"}, "as PyTorch's");
}

function fillSummary(panel, model) {
  const r = model.report;
  const seconds = (r.stages.length ? r.stages : r.attempts).reduce((sum, part) => sum + part.seconds, 0);
  panel.append(element("h2", {}, "Model"), terms([
    ["model", r.model], ["written to", r.target], ["opset", r.opset ? String(r.opset) : ""], ["IR version", r.ir_version ? String(r.ir_version) : ""],
    ["ONNX nodes", r.nodes.length ? String(r.nodes.length) : ""], ["captured nodes", r.captured.length ? String(r.captured.length) : ""],
    ["weights", r.weights.count ? `${r.weights.count}, ${bytes(r.weights.bytes)}` : ""], ["time", `${seconds.toFixed(2)} s`],
    ["torch", r.torch_version], ["Flambeau", r.flambeau_version], ["problems", problemsOf(r)], ["numbers", numbersOf(r)]]));
  if (r.failure) panel.append(element("h2", {class: "bad"}, "What failed"), element("pre", {}, r.failure));
  if (r.unsupported.length) panel.append(element("h2", {class: "bad"}, "What could not be converted"),
    table(["operator", "calls", "why"], r.unsupported.map(u => [code(u.operator), number(u.count), reasonOf(u)])),
    element("p", {}, "The tab Problems says where these are, and how to translate one yourself."));
  if (r.inputs.length + r.outputs.length) panel.append(element("h2", {}, "Inputs and outputs"), table(["", "name", "type"],
    [...r.inputs.map(t => ["input", code(t.name), code(typeOf(t))]), ...r.outputs.map(t => ["output", code(t.name), code(typeOf(t))])]));
  if (r.dimensions.length) panel.append(element("h2", {}, "Dynamic dimensions"), table(["name", "range"], r.dimensions.map(d => [code(d.name), d.range])));
  if (r.attempts.length) panel.append(element("h2", {}, "Capture"), table(["strategy", "seconds", "outcome"],
    r.attempts.map(a => [a.strategy, number(a.seconds.toFixed(2)), a.error ? element("details", {}, element("summary", {class: "bad"}, "failed"), element("pre", {}, a.error)) : element("span", {class: "good"}, "used")])));
}

function fillModules(panel, model, show) {
  const total = (m, key) => m[key] + m.children.reduce((sum, child) => sum + total(child, key), 0);
  const sourcesOf = m => [...new Set(m.captured.map(i => model.report.captured[i].source).filter(Boolean))].slice(0, 4).join(", ");
  function item(m, depth) {
    const line = [element("button", {class: "link", onclick: () => show(m.id)}, m.path || "(model)"), " ", element("span", {class: "dim"},
      `${m.class}  ·  ${total(m, "captured_nodes")} captured, ${total(m, "onnx_nodes")} ONNX nodes${sourcesOf(m) ? "  ·  " + sourcesOf(m) : ""}`)];
    if (!m.children.length) return element("li", {}, ...line);
    return element("li", {}, element("details", {open: depth < 2 ? "" : undefined}, element("summary", {}, ...line), element("ul", {}, ...m.children.map(child => item(child, depth + 1)))));
  }
  panel.append(element("h2", {}, "Modules"), model.roots.length ? element("div", {class: "tree"}, element("ul", {}, ...model.roots.map(root => item(root, 0)))) : element("p", {class: "dim"}, "The capture recorded no modules."));
}

function fillProblems(panel, model, show) {
  const r = model.report, shown = 5;
  const path = node => node.module === null ? "" : model.modules[node.module].path;
  function places(operator, known) {
    const calls = r.captured.flatMap((node, i) => node.missing && node.op === operator ? [i] : []).slice(0, shown);
    if (!calls.length) return known.slice(0, shown).map(p => `${p.module} ${p.source}`).join("; ");
    return element("td", {}, ...calls.flatMap(i => [element("button", {class: "link", onclick: () => show(i)}, `${path(r.captured[i])} ${r.captured[i].source}`.trim() || r.captured[i].name), " "]));
  }
  if (r.unsupported.length) {
    panel.append(element("h2", {class: "bad"}, "Operators that could not be converted"), table(["operator", "calls", "why", "where", "what there is"],
      r.unsupported.map(u => [code(u.operator), number(u.count), reasonOf(u), places(u.operator, u.places), u.nearest])),
      element("p", {}, "To translate one yourself, or to keep it as a custom ONNX operator:"), ...[...new Set(r.unsupported.map(u => u.recipe))].filter(Boolean).map(text => element("pre", {}, text)));
  }
  const others = r.diagnostics.filter(d => !["unsupported-operator", "unsupported-form"].includes(d.kind));
  panel.append(element("h2", {}, "Diagnostics"));
  if (!others.length) return panel.append(element("p", {class: "dim"}, "None."));
  panel.append(table(["", "kind", "message", "where", "hint"], others.map(d => [
    element("span", {class: d.severity === "error" ? "bad" : ""}, d.severity), code(d.kind), [d.message, ...d.notes].join("\n"),
    [d.location.file, d.location.operation, d.location.module, d.location.source].filter(Boolean).join(", "), d.hint])));
}

function fillNumbers(panel, model) {
  const all = model.report.comparisons;
  panel.append(element("h2", {}, "Compared with PyTorch"));
  if (!all.length) return panel.append(element("p", {class: "dim"}, "The numbers were not compared: export with verify=True."));
  panel.append(comparisonTable("output", all.filter(c => !c.module)));
  const modules = all.filter(c => c.module);
  if (!modules.length) return;
  panel.append(element("h2", {}, "Within, by module"), element("p", {class: "dim"}, "Of each module, in order of execution, the value that is the furthest from PyTorch's; without optimisation."));
  panel.append(comparisonTable("value", modules));
}

// A row a comparison; the meters are on a logarithmic scale from 1e-12 to 1.
function comparisonTable(heading, comparisons) {
  const width = c => typeof c.max_absolute === "number" && c.max_absolute > 0 ? Math.max(2, Math.min(120, (Math.log10(c.max_absolute) + 12) * 10)) : c.ok ? 0 : 120;
  const meter = c => element("span", {class: c.ok ? "meter" : "meter failed", style: `width:${width(c)}px`});
  const bars = c => {
    const most = Math.max(1, ...c.histogram);
    return element("span", {class: "histogram", title: "how many elements differ by 0, <1e-7, <1e-6, … <1, more"}, ...c.histogram.map(n => element("i", {style: `height:${n ? 2 + 24 * Math.log1p(n) / Math.log1p(most) : 0}px`})));
  };
  return table([heading, "", "inputs", "type", "largest difference", "", "relative", "tolerance (abs, rel)", "differences: 0 … 1"], comparisons.map(c => [
    element("span", {}, c.module ? element("div", {}, c.module) : null, code(c.name)), element("span", {class: c.ok ? "good" : "bad"}, c.ok ? "agrees" : c.cause), c.inputs, c.dtype, number(short(c.max_absolute)), meter(c), number(short(c.max_relative)),
    `${short(c.absolute_tolerance)}, ${short(c.relative_tolerance)}`, bars(c)]));
}

function fillStages(panel, model) {
  const {stages, nodes} = model.report;
  const made = new Map();
  for (const n of nodes) if (n.stage !== null) made.set(n.stage, (made.get(n.stage) || 0) + 1);
  const longest = Math.max(1e-9, ...stages.map(s => s.seconds));
  panel.append(element("h2", {}, "Stages and passes"), table(["stage", "nodes before", "after", "left of what it made", "ms", "", "what it is for"], stages.map((s, i) => [
    s.name, number(s.nodes_before), number(s.nodes_after), number(made.get(i) || 0), number((s.seconds * 1e3).toFixed(1)),
    element("span", {class: "meter", style: `width:${(160 * s.seconds / longest).toFixed(0)}px`}), s.description])));
}

// Everything about one box of the graph, with links both ways.
function fillDetails(panel, model, box, go) {
  panel.replaceChildren();
  if (!box) return panel.append(element("p", {class: "dim"}, "Choose a node. Double-click or Enter opens a module; the wheel zooms."));
  const r = model.report;
  const module = id => id === null ? null : element("button", {class: "link", onclick: () => go.module(id)}, `${r.modules[id].path || "(model)"} : ${r.modules[id].class}`);
  const onnx = i => element("div", {}, element("button", {class: "link", onclick: () => go.node("onnx", i)}, `${r.nodes[i].op}  ${r.nodes[i].name}`));
  const captured = i => element("div", {}, element("button", {class: "link", onclick: () => go.node("captured", i)}, `${r.captured[i].op}  ${r.captured[i].name}`));
  const places = from => [...new Map(from.map(i => [`${r.captured[i].source} ${r.captured[i].code}`, r.captured[i]])).values()];
  const place = n => n ? element("div", {}, n.source, n.code ? element("pre", {}, n.code) : null) : null;
  const block = (...made) => element("div", {}, ...made);
  const closing = () => element("p", {}, element("button", {onclick: () => go.close(box.inside)}, model.modules[box.inside] || box.inside === null ? "Close its module" : "Close its group"));
  if (box.container !== null) {
    const m = model.modules[box.container];  // none of a group
    panel.append(element("h2", {}, box.label), terms([["class", m ? m.class : ""], ["nodes", String(box.count)], ["within", m ? module(m.parent) : null],
      ["", box.missing ? "holds what could not be converted" : ""]]), element("p", {}, element("button", {onclick: () => go.open(box)}, "Open")));
  } else if (box.node.kind === "onnx") {
    const n = r.nodes[box.node.index];
    const from = sourcesOf(n);
    const value = v => v === null ? "(absent)" : `${r.values[v].name}: ${r.values[v].type}`;
    panel.append(element("h2", {}, n.op), terms([["name", n.name], ["module", module(n.module)], ["captured as", from.length ? block(...from.map(captured)) : null],
      ["Python", from.length ? block(...places(from).map(place)) : null],
      ["made by", n.stage === null ? "" : r.stages[n.stage].name],
      ["in a body of", n.within === null ? null : onnx(n.within)], ["bodies give", n.yields.length ? block(...n.yields.map(v => element("div", {}, value(v)))) : null],
      ["inputs", block(...n.inputs.map(v => element("div", {}, value(v))))], ["outputs", block(...n.outputs.map(v => element("div", {}, value(v))))]]),
      closing());
  } else {
    const n = r.captured[box.node.index], became = model.fromCaptured.get(box.node.index) || [];
    panel.append(element("h2", {class: n.missing ? "bad" : ""}, n.op), terms([["name", n.name], ["module", module(n.module)], ["Python", place(n)],
      ["", n.missing ? "could not be converted" : ""], ["became", became.length ? block(...became.map(onnx)) : null]]),
      closing());
  }
}
