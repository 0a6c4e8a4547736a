// Draws a layout on a canvas: pan, zoom, choose.

class GraphView {
  constructor(canvas, onChoose, onToggle) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.onChoose = onChoose;
    this.onToggle = onToggle;
    this.scale = 1;
    this.offset = {x: 0, y: 0};
    this.layout = {boxes: [], edges: [], rows: []};
    this.chosen = null;
    this.found = new Set();
    this.lastDraw = 0;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  show(layout) {
    this.layout = layout;
    this.chosen = null;
    this.redraw();
  }

  resize() {
    const ratio = devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    this.canvas.width = Math.max(1, Math.round(box.width * ratio));
    this.canvas.height = Math.max(1, Math.round(box.height * ratio));
    this.width = box.width;
    this.height = box.height;
    this.ratio = ratio;
    if (this.fitted) this.fit(this.readable);
    if (this.centered) this.center(this.centered);
    this.redraw();
  }

  // Shows everything, or with `readable` as much from the top as can be read.
  fit(readable = false) {
    const {boxes} = this.layout;
    this.fitted = true;
    this.centered = null;
    this.readable = readable;
    if (!boxes.length || !this.width) return;
    let left = Infinity, right = -Infinity, bottom = 0;
    for (const box of boxes) {
      left = Math.min(left, box.x - box.width / 2);
      right = Math.max(right, box.x + box.width / 2);
      bottom = Math.max(bottom, box.y + HEIGHT);
    }
    const scale = Math.min(1.4, this.width / (right - left + 40), this.height / (bottom + 40));
    this.scale = Math.max(scale, readable ? 0.7 : 0.02);
    this.offset = {x: this.width / 2 - (left + right) / 2 * this.scale, y: Math.max(20, (this.height - bottom * this.scale) / 2)};
    this.redraw();
  }

  // Before the canvas is seen, its size is not known: then this waits.
  center(box) {
    this.fitted = false;
    this.centered = this.width ? null : box;
    if (!this.width) return;
    this.scale = Math.max(this.scale, 0.7);
    this.offset = {x: this.width / 2 - box.x * this.scale, y: this.height / 2 - (box.y + HEIGHT / 2) * this.scale};
    this.redraw();
  }

  choose(box, move) {
    this.chosen = box;
    if (move && box) this.center(box);
    this.redraw();
    this.onChoose(box);
  }

  zoom(factor, at = {x: this.width / 2, y: this.height / 2}) {
    this.fitted = false;
    const scale = Math.min(4, Math.max(0.01, this.scale * factor));
    const change = scale / this.scale;
    this.offset = {x: at.x - (at.x - this.offset.x) * change, y: at.y - (at.y - this.offset.y) * change};
    this.scale = scale;
    this.redraw();
  }

  at(point) {
    const x = (point.x - this.offset.x) / this.scale, y = (point.y - this.offset.y) / this.scale;
    const row = this.layout.rows[Math.floor(y / ROW)] || [];
    for (const i of row) {
      const box = this.layout.boxes[i];
      if (y - box.y <= HEIGHT && Math.abs(x - box.x) <= box.width / 2) return box;
    }
    return null;
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const start = performance.now();
      this.draw();
      this.lastDraw = performance.now() - start;
    });
  }

  draw() {
    if (!this.width) return;
    const {context, scale, offset} = this, style = getComputedStyle(document.documentElement);
    const color = name => style.getPropertyValue("--" + name);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.setTransform(this.ratio * scale, 0, 0, this.ratio * scale, this.ratio * offset.x, this.ratio * offset.y);
    const left = -offset.x / scale, top = -offset.y / scale;
    const right = left + this.width / scale, bottom = top + this.height / scale;
    this.drawEdges(color, left, top, right, bottom);
    context.font = "13px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    const first = Math.max(0, Math.floor(top / ROW) - 1), last = Math.min(this.layout.rows.length - 1, Math.ceil(bottom / ROW));
    for (let r = first; r <= last; r++)
      for (const i of this.layout.rows[r]) {
        const box = this.layout.boxes[i];
        if (box.x + box.width / 2 >= left && box.x - box.width / 2 <= right) this.drawBox(box, color);
      }
  }

  drawEdges(color, left, top, right, bottom) {
    const {context, layout, scale} = this;
    const near = this.chosen ? this.chosen.id : -1;
    const path = new Path2D(), strong = new Path2D();
    for (const [a, b] of layout.edges) {
      const from = layout.boxes[a], to = layout.boxes[b];
      const y1 = from.y + HEIGHT, y2 = to.y;
      if (Math.max(y1, y2) < top || Math.min(y1, y2) > bottom) continue;
      if (Math.max(from.x, to.x) < left || Math.min(from.x, to.x) > right) continue;
      const line = a === near || b === near ? strong : path;
      line.moveTo(from.x, y1);
      if (scale < 0.15) line.lineTo(to.x, y2);
      else line.bezierCurveTo(from.x, y1 + 22, to.x, y2 - 22, to.x, y2);
    }
    context.lineWidth = 1 / Math.max(scale, 0.3);
    context.strokeStyle = color("edge");
    context.stroke(path);
    context.lineWidth = 2 / Math.max(scale, 0.3);
    context.strokeStyle = color("accent");
    context.stroke(strong);
  }

  drawBox(box, color) {
    const {context, scale} = this;
    const isModule = box.module !== null;
    context.fillStyle = box === this.chosen || this.found.has(box.id) ? color("chosen") : isModule ? color("module") : color("node");
    context.strokeStyle = box.missing ? color("bad") : box === this.chosen ? color("accent") : color("edge");
    context.lineWidth = (box === this.chosen || box.missing ? 2.5 : 1) / Math.min(1, Math.max(scale * 2, 0.1));
    context.beginPath();
    context.roundRect(box.x - box.width / 2, box.y, box.width, HEIGHT, isModule ? 10 : 4);
    context.fill();
    context.stroke();
    if (scale < 0.3) return;
    context.fillStyle = color("text");
    context.fillText(isModule ? `${box.label}  (${box.count})` : box.label, box.x, box.y + HEIGHT / 2, box.width - 12);
  }

  listen() {
    const {canvas} = this;
    const point = event => {
      const box = canvas.getBoundingClientRect();
      return {x: event.clientX - box.left, y: event.clientY - box.top};
    };
    let drag = null;
    canvas.addEventListener("pointerdown", event => {
      drag = {at: point(event), moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", event => {
      if (!drag) return;
      const now = point(event);
      if (Math.hypot(now.x - drag.at.x, now.y - drag.at.y) < 3 && !drag.moved) return;
      drag.moved = true;
      this.fitted = false;
      this.offset.x += now.x - drag.at.x;
      this.offset.y += now.y - drag.at.y;
      drag.at = now;
      this.redraw();
    });
    canvas.addEventListener("pointerup", event => {
      if (drag && !drag.moved) this.choose(this.at(point(event)), false);
      drag = null;
    });
    canvas.addEventListener("dblclick", event => {
      const box = this.at(point(event));
      if (box) this.onToggle(box);
    });
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.0015), point(event));
    }, {passive: false});
    canvas.addEventListener("keydown", event => this.key(event));
  }

  key(event) {
    const {boxes} = this.layout, now = this.chosen;
    const beside = step => now.row[now.row.indexOf(now.id) + step];
    const moves = {
      ArrowDown: () => now.out[0], ArrowUp: () => now.into[0], ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
      Home: () => 0, End: () => boxes.length - 1,
    };
    const actions = {
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), "0": () => this.fit(false),
      Enter: () => now && this.onToggle(now), Escape: () => this.choose(null, false),
    };
    if (moves[event.key] && boxes.length) {
      const next = now ? moves[event.key]() : 0;
      if (next !== undefined) this.choose(boxes[next], true);
    } else if (actions[event.key]) {
      actions[event.key]();
    } else {
      return;
    }
    event.preventDefault();
  }
}
