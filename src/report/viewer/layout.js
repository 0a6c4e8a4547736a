// Places a scene: dagre lays out each open container by itself, inner before
// outer, and an inner one is a box of its size in the outer. What was laid out
// is kept, so that opening a container costs its own layout and those around it.
//
// An edge into or out of a container passes through a point at its top or its
// bottom, which is laid out as a box without size: the places 0 and n + 1.

const PAD = 14, TITLE = 22, MOST_SPAN = 300;

class SceneLayout {
  constructor() {
    this.kept = new Map();  // container -> its last layout
    this.calls = this.largest = 0;
  }

  // As the worker of a drawing: gives `nodes` places and `edges` points.
  async request({nodes, edges}) {
    const {scene} = this, {frames} = scene, sizes = new Map(nodes.map(node => [node.v, node]));
    const routes = this.assign(scene);
    for (const frame of [...frames].reverse()) {
      frame.made = this.place(frame, frame.children.map(child => sizes.get(child.key)));
      if (frame.frame) Object.assign(sizes.get(frame.key), {width: Math.max(frame.made.width, frame.titleWidth) + 2 * PAD, height: frame.made.height + TITLE + frame.made.above + PAD});
    }
    Object.assign(frames[0], {left: 0, top: 0});
    for (const {children, made, left, top} of frames) {
      children.forEach((child, i) => {
        const size = sizes.get(child.key), x = left + made.places[i].x, y = top + made.places[i].y;
        for (const each of [size, child]) Object.assign(each, {x, y});
        if (child.children) Object.assign(child, {left: x - child.made.width / 2, top: y - size.height / 2 + TITLE + child.made.above});
      });
    }
    edges.forEach((edge, i) => { edge.points = pointsOf(...scene.edges[i].map(id => scene.boxes[id]), routes[i]); });
    return {nodes, edges, state: {}};
  }

  // Gives the way of each edge: out of the containers around its start, then in
  // the innermost one around both ends, then into those around its end.
  assign({boxes, edges, frames}) {
    for (const frame of frames) {
      frame.pairs = new Map();
      frame.children.forEach((child, i) => { child.place = i + 1; });
    }
    const step = (frame, from, to) => {
      const key = from * (frame.children.length + 2) + to;
      frame.pairs.set(key, [from, to]);
      return {frame, key};
    };
    return edges.map(([a, b]) => {
      let from = boxes[a], to = boxes[b];
      const out = [], into = [];
      while (from.frame !== to.frame) {
        if (from.frame.depth >= to.frame.depth) {
          out.push(step(from.frame, from.place, from.frame.children.length + 1));
          from = from.frame;
        } else {
          into.push(step(to.frame, 0, to.place));
          to = to.frame;
        }
      }
      return [...out, step(from.frame, from.place, to.place), ...into.reverse()];
    });
  }

  place(frame, sizes) {
    const count = sizes.length, pairs = shortest(count + 2, [...frame.pairs]);
    const signature = JSON.stringify([sizes.map(({width, height}) => [width, height]), pairs]);
    const kept = this.kept.get(frame.container);
    if (kept && kept.signature === signature) return kept;
    const nodes = sizes.map(({width, height}, i) => ({v: String(i + 1), width, height, parent: null}));
    const ports = [0, count + 1].filter(port => pairs.some(([, ends]) => ends.includes(port)));
    nodes.push(...ports.map(port => ({v: String(port), width: 1, height: 1, parent: null})));
    const edges = pairs.map(([, [from, to]]) => ({v: String(from), w: String(to), minlen: 1, weight: 1, width: 0, height: 0, labeloffset: 0, labelpos: "c"}));
    this.calls++;
    this.largest = Math.max(this.largest, nodes.length);
    dagre.layout(nodes, edges, {nodesep: 18, ranksep: 28}, {});
    const xs = [...nodes.flatMap(n => [n.x - n.width / 2, n.x + n.width / 2]), ...edges.flatMap(e => e.points.map(p => p.x))];
    const left = Math.min(...xs), top = Math.min(...nodes.map(n => n.y - n.height / 2)), bottom = Math.max(...nodes.map(n => n.y + n.height / 2));
    const moved = ({x, y}) => ({x: x - left, y: y - top});
    const made = {signature, places: nodes.slice(0, count).map(moved), width: Math.max(...xs) - left, height: bottom - top, above: ports.includes(0) ? 0 : PAD,
      points: new Map(pairs.map(([key], i) => [key, edges[i].points.map(moved)]))};
    this.kept.set(frame.container, made);
    return made;
  }
}

// The work of a layout grows with the ranks that its edges span: when they span
// too many together, the longest are left out of it, and drawn straight.
function shortest(count, pairs) {
  const rank = new Int32Array(count), into = Array.from({length: count}, () => []);
  for (const [, [from, to]] of pairs) if (from < to) into[to].push(from);
  for (let to = 0; to < count; to++) for (const from of into[to]) rank[to] = Math.max(rank[to], rank[from] + 1);
  const spanOf = ([, [from, to]]) => Math.abs(rank[to] - rank[from]);
  let span = 0;
  return pairs.sort((a, b) => spanOf(a) - spanOf(b) || a[0] - b[0]).filter(pair => (span += spanOf(pair)) <= MOST_SPAN + 2 * count);
}

// The first and the last point stand for the boxes themselves; there is one between, at least.
function pointsOf(start, end, steps) {
  const between = steps.flatMap(({frame, key}) => (frame.made.points.get(key) || []).map(({x, y}) => ({x: frame.left + x, y: frame.top + y})));
  if (!between.length) between.push({x: (start.x + end.x) / 2, y: (start.y + end.y) / 2});
  return [start, ...between, end];
}
