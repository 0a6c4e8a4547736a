// Nodes in containers: modules and, where one holds more than can be read at
// once, groups of what follows each other in it. So no level is ever large.

const MOST_ITEMS = 200, GROUP = 50;

// Gives a graph its containers: a module's id is its own, groups come after. An
// item of a container is {node} or {container}, in the order of first nodes.
function nest(graph, modules) {
  const containers = modules.map(m => ({id: m.id, parent: m.parent, label: m.path || "(model)", isGroup: false, items: [], first: 0, count: 0, missing: false}));
  const root = {id: null, parent: null, items: []};
  const within = id => id === null ? root : containers[id];
  const placed = new Set();
  for (const node of graph.nodes) {
    within(node.module).items.push({node: node.index});
    for (let id = node.module; id !== null; id = containers[id].parent) {
      containers[id].count++;
      containers[id].missing = containers[id].missing || node.missing;
      if (placed.has(id)) continue;
      placed.add(id);
      containers[id].first = node.index;
      within(containers[id].parent).items.push({container: id});
    }
  }
  for (const container of [root, ...containers]) fold(container, containers, graph.nodes);
  graph.inside = graph.nodes.map(() => null);
  for (const {id, items} of containers) for (const item of items) if (item.node !== undefined) graph.inside[item.node] = id;
  // Outer containers before inner ones.
  graph.order = [];
  const waiting = [root];
  while (waiting.length) {
    const container = waiting.pop();
    if (container !== root) graph.order.push(container);
    for (const item of container.items) if (item.container !== undefined) waiting.push(containers[item.container]);
  }
  Object.assign(graph, {containers, root});
}

function fold(container, containers, nodes) {
  if (container.items.length <= MOST_ITEMS) return;
  let items = container.items, each = 1;
  const all = items.length, kind = items.some(item => item.container !== undefined) ? "parts" : "nodes";
  while (items.length > GROUP) {
    each *= GROUP;
    const groups = [];
    for (let first = 0; first < items.length; first += GROUP) {
      const inner = items.slice(first, first + GROUP), from = groups.length * each;
      const group = {id: containers.length, parent: container.id, label: `${kind} ${from + 1} … ${Math.min(all, from + each)} of ${all}`, isGroup: true, items: inner,
        first: inner[0].node ?? containers[inner[0].container].first, count: 0, missing: false};
      for (const item of inner) {
        const {count, missing} = item.node === undefined ? containers[item.container] : {count: 1, missing: nodes[item.node].missing};
        group.count += count;
        group.missing = group.missing || missing;
        if (item.container !== undefined) containers[item.container].parent = group.id;
      }
      containers.push(group);
      groups.push({container: group.id});
    }
    items = groups;
  }
  container.items = items;
}

// The containers around a node or a container, from the innermost.
function around(graph, id) {
  const ids = [];
  for (; id !== null; id = graph.containers[id].parent) ids.push(id);
  return ids;
}

// How many boxes there are, at most, while these are open.
function boxesWhile(graph, open) {
  let boxes = graph.root.items.length;
  for (const id of open) boxes += graph.containers[id].items.length - 1;
  return boxes;
}

// Containers to open: outer before inner, while there are at most `limit` boxes.
function openUpTo(graph, limit) {
  const open = new Set();
  let boxes = graph.root.items.length, level = [graph.root];
  while (level.length) {
    const inner = level.flatMap(container => container.items.filter(item => item.container !== undefined).map(item => graph.containers[item.container]));
    level = inner.filter(container => {
      if (boxes + container.items.length - 1 > limit) return false;
      boxes += container.items.length - 1;
      open.add(container.id);
      return true;
    });
  }
  return open;
}

// What is seen while these containers are open. `boxes` are nodes and closed
// containers in the order of (first) nodes, `frames` the open containers from outer to inner (first the page
// itself), each with the boxes and frames right in it; edges join boxes.
function visibleScene(graph, open) {
  const page = {container: null, frame: null, depth: 0, children: []};
  const frames = [page], boxes = [], boxOf = new Int32Array(graph.nodes.length);
  const frameOf = new Map([[null, page]]), shownAs = new Map();  // open container -> its frame, closed or hidden one -> its box
  const add = (frame, rest) => {
    const box = {frame, into: [], out: [], ...rest};
    boxes.push(box);
    frame.children.push(box);
    return box;
  };
  const fill = (container, frame) => {
    for (const item of container.items) {
      if (item.node !== undefined) {
        const node = graph.nodes[item.node];
        add(frame, {node, container: null, label: node.label, first: node.index, count: 1, missing: node.missing, inside: container.id});
        continue;
      }
      const inner = graph.containers[item.container];
      if (open.has(inner.id)) {
        const made = {key: `frame-${frames.length}`, container: inner.id, label: inner.label, frame, depth: frame.depth + 1, children: []};
        frames.push(made);
        frame.children.push(made);
        frameOf.set(inner.id, made);
      } else {
        shownAs.set(inner.id, add(frame, {node: null, container: inner.id, label: inner.label, first: inner.first, count: inner.count, missing: inner.missing, inside: container.id}));
      }
    }
  };
  fill(graph.root, page);
  for (const container of graph.order) {
    if (frameOf.has(container.id)) fill(container, frameOf.get(container.id));
    else if (!shownAs.has(container.id)) shownAs.set(container.id, shownAs.get(container.parent));
  }
  boxes.sort((a, b) => a.first - b.first);
  boxes.forEach((box, id) => {
    Object.assign(box, {id, key: `box-${id}`});
    if (box.node) boxOf[box.node.index] = id;
  });
  graph.inside.forEach((id, node) => { if (shownAs.has(id)) boxOf[node] = shownAs.get(id).id; });

  const seen = new Set(), edges = [];
  for (const [from, to] of graph.edges) {
    const a = boxOf[from], b = boxOf[to], key = a * boxes.length + b;
    if (a === b || seen.has(key)) continue;
    seen.add(key);
    edges.push([a, b]);
    boxes[a].out.push(b);
    boxes[b].into.push(a);
  }
  return {boxes, frames, edges, boxOf};
}
