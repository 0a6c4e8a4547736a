// The report as two graphs, of the ONNX nodes and of the captured ones. A graph
// is {nodes, edges, containers, root}; a node {label, name, module, index}; an
// edge [from, to].

function makeModel(report) {
  const modules = report.modules.map((m, id) => ({...m, id, children: [], onnx: [], captured: []}));
  const roots = [];
  for (const m of modules) (m.parent === null ? roots : modules[m.parent].children).push(m);
  report.nodes.forEach((n, i) => { if (n.module !== null) modules[n.module].onnx.push(i); });
  report.captured.forEach((n, i) => { if (n.module !== null) modules[n.module].captured.push(i); });

  const fromCaptured = new Map();  // captured node -> ONNX nodes
  report.nodes.forEach((n, i) => {
    for (const from of sourcesOf(n)) {
      if (!fromCaptured.has(from)) fromCaptured.set(from, []);
      fromCaptured.get(from).push(i);
    }
  });
  const graphs = {onnx: onnxGraph(report), captured: capturedGraph(report)};
  for (const graph of Object.values(graphs)) nest(graph, modules);
  return {report, modules, roots, fromCaptured, graphs};
}

function onnxGraph(report) {
  const producer = new Array(report.values.length).fill(-1);
  report.nodes.forEach((n, i) => n.outputs.forEach(v => { if (v !== null) producer[v] = i; }));
  const edges = [];
  report.nodes.forEach((n, i) => [...n.inputs, ...n.yields].forEach(v => { if (v !== null && producer[v] >= 0) edges.push([producer[v], i]); }));
  const nodes = report.nodes.map((n, index) => ({kind: "onnx", index, label: n.op, name: n.name, module: n.module,
    missing: false, text: [n.op, n.name, ...sourcesOf(n).flatMap(from => captionOf(report, from))].join(" ").toLowerCase()}));
  return {nodes, edges};
}

// The captured nodes that an ONNX node stands for.
function sourcesOf(node) {
  return node.captured === null ? node.merged : [node.captured, ...node.merged];
}

function captionOf(report, captured) {
  const from = report.captured[captured];
  return [from.op, from.name, from.source, from.code];
}

function capturedGraph(report) {
  const edges = [];
  report.captured.forEach((n, i) => n.inputs.forEach(from => edges.push([from, i])));
  const nodes = report.captured.map((n, index) => ({kind: "captured", index, label: n.op.replace(/^aten::/, ""), name: n.name, module: n.module,
    missing: n.missing, text: [n.op, n.name, n.source, n.code].join(" ").toLowerCase()}));
  return {nodes, edges};
}

