// Shows a scene: grapher draws it as SVG, the browser's scrolling pans it. The
// page around the drawing is half a view wide, so that any point can be centered.

class Drawing extends grapher.Graph {
  constructor() {
    super(true);
    this.options = {direction: "vertical"};
  }
}

class GraphView {
  constructor(canvas, onChoose, onToggle) {
    this.canvas = canvas;
    this.onChoose = onChoose;
    this.onToggle = onToggle;
    this.scale = 1;
    this.chosen = null;
    this.found = new Set();
    this.layout = new SceneLayout();
    this.drawn = Promise.resolve();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  show(scene) {
    this.scene = this.layout.scene = scene;
    this.chosen = null;
    this.isDrawn = false;
    this.draw();
  }

  // Text has no size before it is seen: then this waits for resize().
  draw() {
    if (!this.canvas.clientWidth) return;
    this.drawn = this.drawn.then(() => this.isDrawn ? undefined : this.drawNow());
  }

  async drawNow() {
    const {scene, canvas} = this;
    this.isDrawn = true;
    const drawing = new Drawing();
    const nodes = new Map();
    for (const frame of scene.frames.slice(1)) nodes.set(frame.key, {name: frame.key});
    for (const box of scene.boxes) nodes.set(box.key, box.drawn = nodeOf(box));
    for (const node of nodes.values()) drawing.setNode(node);
    for (const frame of scene.frames) if (frame.frame) for (const child of frame.children) drawing.setParent(child.key, frame.key);
    scene.drawnEdges = scene.edges.map(([a, b]) => {
      const edge = Object.assign(new grapher.Edge(scene.boxes[a].drawn, scene.boxes[b].drawn), {v: scene.boxes[a].key, w: scene.boxes[b].key});
      drawing.setEdge(edge);
      return edge;
    });
    const svg = canvas.querySelector("svg"), origin = svg.querySelector("#origin");
    origin.replaceChildren();
    drawing.build(document, origin);
    const titles = scene.frames.slice(1).map(frame => [frame, titleOf(frame, nodes.get(frame.key))]);
    for (const [frame, title] of titles) frame.titleWidth = title.getBBox().width;
    await drawing.measure();
    await drawing.layout(this.layout);
    drawing.update();
    for (const [frame, title] of titles) {
      const {width, height} = nodes.get(frame.key);
      title.setAttribute("transform", `translate(${PAD - width / 2},${TITLE - 5 - height / 2})`);
    }
    this.bounds = {x: drawing.originX || 0, y: drawing.originY || 0, width: drawing.width || 1, height: drawing.height || 1};
    svg.setAttribute("viewBox", `${this.bounds.x} ${this.bounds.y} ${this.bounds.width} ${this.bounds.height}`);
    this.mark();
    this.place();
  }

  resize() {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    if (!this.width) return;
    Object.assign(this.canvas.firstElementChild.style, {padding: `${this.height / 2}px ${this.width / 2}px`});
    if (!this.isDrawn) this.draw();
    else this.place();
  }

  // Where to look once the drawing is there: everything, with `readable` as much
  // from the top as can be read, or a box in the middle.
  fit(readable = false) { this.look({fit: true, readable}); }
  center(box) { this.look({box}); }
  look(at) {
    this.lookAt = at;
    this.place();
  }

  place() {
    if (!this.isDrawn || !this.bounds || !this.width) return;
    const {x, y, width, height} = this.bounds, {fit, readable, box} = this.lookAt || {fit: true};
    if (fit) {
      const scale = Math.min(1.4, this.width / (width + 40), this.height / (height + 40));
      this.setScale(Math.max(scale, readable ? 0.7 : 0.02));
      this.scrollTo(x + width / 2, y + Math.min(height / 2, (this.height / 2 - 20) / this.scale));
    } else if (box) {
      this.setScale(Math.max(this.scale, 0.7));
      this.scrollTo(box.x, box.y);
    }
  }

  setScale(scale) {
    this.scale = Math.min(4, Math.max(0.01, scale));
    const svg = this.canvas.querySelector("svg");
    svg.setAttribute("width", this.bounds.width * this.scale);
    svg.setAttribute("height", this.bounds.height * this.scale);
  }

  scrollTo(x, y) {
    this.canvas.scrollTo((x - this.bounds.x) * this.scale, (y - this.bounds.y) * this.scale);
    this.scrolled = [this.canvas.scrollLeft, this.canvas.scrollTop];
  }

  // The point of the drawing in the middle of the view.
  get middle() {
    return {x: this.canvas.scrollLeft / this.scale + this.bounds.x, y: this.canvas.scrollTop / this.scale + this.bounds.y};
  }

  zoom(factor, at = {x: this.width / 2, y: this.height / 2}) {
    if (!this.bounds) return;
    const {x, y} = this.middle, before = this.scale, from = {x: at.x - this.width / 2, y: at.y - this.height / 2};
    this.lookAt = {};
    this.setScale(this.scale * factor);
    const moved = 1 / before - 1 / this.scale;
    this.scrollTo(x + from.x * moved, y + from.y * moved);
  }

  choose(box, move) {
    this.chosen = box;
    this.mark();
    if (move && box) this.center(box);
    this.onChoose(box);
  }

  // Shows what is chosen, with its edges, and what was found.
  mark() {
    if (!this.isDrawn || !this.bounds) return;
    const {scene, chosen} = this;
    for (const box of scene.boxes) {
      box.drawn.element.classList.toggle("found", this.found.has(box.id));
      if (box === chosen) box.drawn.select();
      else box.drawn.deselect();
    }
    scene.edges.forEach(([a, b], i) => {
      if (chosen && (a === chosen.id || b === chosen.id)) scene.drawnEdges[i].select();
      else scene.drawnEdges[i].deselect();
    });
  }

  listen() {
    const {canvas} = this;
    const boxAt = event => {
      const element = event.target.closest(".node[id]");
      return element ? this.scene.boxes[Number(element.id.slice("box-".length))] : null;
    };
    const frameAt = (event, selector) => {
      const element = event.target.closest(selector);
      return element ? this.scene.frames[Number(element.dataset.frame)] : null;
    };
    // Who scrolls looks where they want to.
    canvas.addEventListener("scroll", () => {
      const [left, top] = this.scrolled || [0, 0];
      if (Math.abs(canvas.scrollLeft - left) > 1 || Math.abs(canvas.scrollTop - top) > 1) this.lookAt = {};
    });
    let drag = null;
    canvas.addEventListener("pointerdown", event => {
      if (event.pointerType === "mouse" && event.button === 0) drag = {x: event.clientX, y: event.clientY, moved: false};
    });
    canvas.addEventListener("pointermove", event => {
      if (!drag || Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 3 && !drag.moved) return;
      if (!drag.moved) canvas.setPointerCapture(event.pointerId);
      this.lookAt = {};
      canvas.scrollBy(drag.x - event.clientX, drag.y - event.clientY);
      drag = {x: event.clientX, y: event.clientY, moved: true};
    });
    canvas.addEventListener("pointerup", () => { setTimeout(() => { drag = null; }); });
    canvas.addEventListener("click", event => {
      if (drag && drag.moved) return;
      const frame = frameAt(event, ".title");
      if (frame) this.onToggle({node: null, container: null, inside: frame.container});
      else this.choose(boxAt(event), false);
    });
    canvas.addEventListener("dblclick", event => {
      const box = boxAt(event), frame = frameAt(event, ".cluster");
      if (box) this.onToggle(box);
      else if (frame) this.onToggle({node: null, container: null, inside: frame.container});
    });
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0015), {x: event.clientX - box.left, y: event.clientY - box.top});
    }, {passive: false});
    canvas.addEventListener("keydown", event => this.key(event));
  }

  // The nearest box at about the same height, to the left (-1) or the right (1).
  beside(side) {
    const {x, y} = this.chosen, distance = box => (box.x - x) * side;
    const near = this.scene.boxes.filter(box => distance(box) > 0 && Math.abs(box.y - y) < 20);
    return near.length ? near.reduce((a, b) => distance(a) <= distance(b) ? a : b).id : undefined;
  }

  key(event) {
    const {boxes} = this.scene, now = this.chosen;
    const moves = {
      ArrowDown: () => now.out[0], ArrowUp: () => now.into[0], ArrowLeft: () => this.beside(-1), ArrowRight: () => this.beside(1),
      Home: () => 0, End: () => boxes.length - 1,
    };
    const actions = {
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), "0": () => this.fit(false),
      Enter: () => now && this.onToggle(now), Escape: () => this.choose(null, false),
    };
    if (moves[event.key] && boxes.length) {
      const next = now || event.key === "End" ? moves[event.key]() : 0;
      if (next !== undefined) this.choose(boxes[next], true);
    } else if (actions[event.key]) {
      actions[event.key]();
    } else {
      return;
    }
    event.preventDefault();
  }
}

const MOST_TEXT = 44;
const shortened = text => text.length <= MOST_TEXT ? text : "… " + text.slice(-MOST_TEXT);

function nodeOf(box) {
  const node = new grapher.Node(), isClosed = box.container !== null;
  node.name = node.id = box.key;
  node.class = [isClosed ? "closed" : "", box.missing ? "missing" : ""].join(" ").trim();
  const entry = node.header().add(null, []);
  entry.content = isClosed ? `▸ ${shortened(box.label)}  (${box.count})` : shortened(box.label);
  entry.tooltip = isClosed || !box.node.name ? box.label : `${box.label}  ${box.node.name}`;
  return node;
}

// An open container's name, above what is in it; a click on it closes it.
function titleOf(frame, cluster) {
  const title = document.createElementNS("http://www.w3.org/2000/svg", "text");
  title.textContent = `▾ ${shortened(frame.label)}`;
  title.setAttribute("class", "title");
  title.dataset.frame = cluster.element.dataset.frame = frame.key.slice("frame-".length);
  cluster.element.append(title);
  return title;
}
