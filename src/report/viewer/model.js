// The report as a graph of nodes in modules. A graph is {nodes, edges}; a node
// {label, name, module, index}; an edge [from, to].

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
  return {report, modules, roots, fromCaptured, graphs: {onnx: onnxGraph(report), captured: capturedGraph(report)}};
}

function onnxGraph(report) {
  const producer = new Array(report.values.length).fill(-1);
  report.nodes.forEach((n, i) => n.outputs.forEach(v => { if (v !== null) producer[v] = i; }));
  const edges = [];
  report.nodes.forEach((n, i) => n.inputs.forEach(v => { if (v !== null && producer[v] >= 0) edges.push([producer[v], i]); }));
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

// What is seen of a graph while only the modules in `open` are: boxes, each a
// node or a closed module, in the order of their first nodes, and the edges
// between boxes.
function visibleGraph(model, graph, open) {
  const boxOfModule = new Map();
  const boxes = [], boxOf = new Int32Array(graph.nodes.length);
  const outermostClosed = new Array(model.modules.length).fill(undefined);
  function closed(id) {  // the outermost closed module around, or null
    if (id === null) return null;
    if (outermostClosed[id] !== undefined) return outermostClosed[id];
    const above = closed(model.modules[id].parent);
    return outermostClosed[id] = above !== null ? above : open.has(id) ? null : id;
  }
  graph.nodes.forEach((node, i) => {
    const module = closed(node.module);
    if (module === null) {
      boxOf[i] = boxes.length;
      boxes.push({node, module: null, label: node.label, count: 1, missing: node.missing, inside: node.module});
      return;
    }
    let box = boxOfModule.get(module);
    if (box === undefined) {
      const m = model.modules[module];
      box = boxes.length;
      boxOfModule.set(module, box);
      boxes.push({node: null, module, label: m.path || "(model)", count: 0, missing: false, inside: m.parent});
    }
    boxes[box].count++;
    boxes[box].missing = boxes[box].missing || node.missing;
    boxOf[i] = box;
  });
  const seen = new Set(), edges = [];
  for (const [from, to] of graph.edges) {
    const a = boxOf[from], b = boxOf[to];
    if (a === b) continue;
    const key = a * boxes.length + b;
    if (seen.has(key)) continue;
    seen.add(key);
    edges.push([a, b]);
  }
  return {boxes, edges, boxOf};
}

// Modules to open at first: outer before inner, while the view stays readable.
function openAtFirst(model, graph, limit) {
  const own = new Array(model.modules.length).fill(0);
  for (const node of graph.nodes) if (node.module !== null) own[node.module]++;
  const open = new Set();
  let queue = [...model.roots], shown = model.roots.length;
  while (queue.length) {
    const module = queue.shift();
    const more = own[module.id] + module.children.length - 1;
    if (shown + more > limit) continue;
    open.add(module.id);
    shown += more;
    queue.push(...module.children);
  }
  return open;
}
