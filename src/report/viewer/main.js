// Puts the page together.

const TABS = [["summary", "Summary"], ["graph", "Graph"], ["modules", "Modules"], ["problems", "Problems"], ["numbers", "Numbers"], ["stages", "Stages"]];
const STATUS = {converted: ["converted", "good"], failed: ["not converted", "bad"], "capture-failed": ["not captured", "bad"], "verification-failed": ["numbers differ", "bad"]};
const READABLE = 40, MOST_BOXES = 400, MOST_RESULTS = 200;

class Page {
  constructor(report) {
    this.model = makeModel(report);
    this.kind = report.nodes.length ? "onnx" : "captured";
    this.open = openUpTo(this.graph, READABLE);
    const [words, style] = STATUS[report.status] || [report.status, ""];
    document.getElementById("title").textContent = report.model || "Conversion report";
    Object.assign(document.getElementById("status"), {textContent: words, className: style});
    fillSummary(this.panel("summary"), this.model);
    fillModules(this.panel("modules"), this.model, id => this.showModule(id));
    fillProblems(this.panel("problems"), this.model, index => this.showNode("captured", index));
    fillNumbers(this.panel("numbers"), this.model);
    fillStages(this.panel("stages"), this.model);
    this.details = document.getElementById("details");
    this.go = {module: id => this.showModule(id), node: (kind, i) => this.showNode(kind, i), open: box => this.toggle(box), close: id => this.close(id)};
    this.view = new GraphView(document.getElementById("canvas"), box => fillDetails(this.details, this.model, box, this.go), box => this.toggle(box));
    fillDetails(this.details, this.model, null, this.go);
    this.makeTabs();
    this.makeBar();
    this.relayout();
    this.view.fit(true);
    const wanted = (location.hash || window.name).slice(1);  // a frame without an address has a name
    this.select(TABS.some(([id]) => id === wanted) ? wanted : "summary");
    document.documentElement.dataset.ready = "true";
  }

  get graph() { return this.model.graphs[this.kind]; }
  panel(id) { return document.getElementById("panel-" + id); }

  makeTabs() {
    const bar = document.getElementById("tabs");
    this.tabs = TABS.map(([id, words], i) => element("button", {role: "tab", id: "tab-" + id, "aria-controls": "panel-" + id, onclick: () => this.select(id),
      onkeydown: event => {
        const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
        if (step) this.select(TABS[(i + step + TABS.length) % TABS.length][0], true);
      }}, words));
    bar.append(...this.tabs);
  }

  select(id, focus) {
    TABS.forEach(([each], i) => {
      this.panel(each).hidden = each !== id;
      this.tabs[i].setAttribute("aria-selected", each === id);
      this.tabs[i].tabIndex = each === id ? 0 : -1;
      if (each === id && focus) this.tabs[i].focus();
    });
    this.view.resize();
  }

  makeBar() {
    const on = (id, event, act) => document.getElementById(id).addEventListener(event, act);
    on("fit", "click", () => this.view.fit(false));
    on("expand", "click", () => { this.open = openUpTo(this.graph, MOST_BOXES); this.relayout(); this.view.fit(true); });
    on("collapse", "click", () => { this.open = new Set(); this.relayout(); this.view.fit(true); });
    on("search", "input", event => this.search(event.target.value));
    on("search", "keydown", event => {
      if (event.key === "Escape") { event.target.value = ""; this.search(""); this.view.canvas.focus(); }
      if (event.key === "Enter" && this.first) this.showNode(this.kind, this.first.index);
    });
    for (const radio of document.querySelectorAll("input[name=graph]")) {
      radio.checked = radio.value === this.kind;
      radio.disabled = !this.model.graphs[radio.value].nodes.length;
      radio.addEventListener("change", () => this.switchTo(radio.value));
    }
    document.addEventListener("keydown", event => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      this.select("graph");
      document.getElementById("search").focus();
    });
  }

  switchTo(kind) {
    if (kind === this.kind) return;
    // A group is of one graph only.
    const isModule = id => id < this.model.modules.length;
    this.kind = kind;
    this.open = new Set([...this.open].filter(isModule));
    for (const id of [...this.open]) for (const outer of around(this.graph, id)) this.open.add(outer);
    this.makeRoom(null);
    this.view.layout = new SceneLayout();
    for (const radio of document.querySelectorAll("input[name=graph]")) radio.checked = radio.value === kind;
    this.relayout();
    this.view.fit(true);
    this.search(document.getElementById("search").value);
  }

  // While more is open than can be drawn at once, what was opened first is
  // closed, unless it holds what was opened last.
  makeRoom(id) {
    const kept = new Set(around(this.graph, id));
    for (const each of [...this.open]) {
      if (boxesWhile(this.graph, this.open) <= MOST_BOXES) return;
      if (kept.has(each)) continue;
      for (const inner of [...this.open]) if (around(this.graph, inner).includes(each)) this.open.delete(inner);
    }
  }

  relayout() {
    this.shown = visibleScene(this.graph, this.open);
    this.view.show(this.shown);
    const {boxes} = this.shown, hidden = boxes.some(box => box.container !== null);
    document.documentElement.dataset.boxes = boxes.length;
    document.getElementById("count").textContent = `${boxes.length} boxes of ${this.graph.nodes.length} nodes${hidden && boxes.length > MOST_BOXES / 2 ? ": the rest is folded" : ""}`;
  }

  toggle(box) {
    if (box.container === null) return this.close(box.inside);
    this.open.add(box.container);
    this.makeRoom(box.container);
    this.relayout();
    this.view.choose(this.shown.boxes.find(each => each.inside === box.container) || this.shown.boxes[0], true);
  }

  close(id) {
    if (id === null) return;
    for (const each of [...this.open]) if (around(this.graph, each).includes(id)) this.open.delete(each);
    this.relayout();
    this.chooseContainer(id);
  }

  reveal(id) {
    for (const each of around(this.graph, id).reverse()) this.open.add(each);
    this.makeRoom(id);
  }

  chooseContainer(id) {
    const box = this.shown.boxes.find(each => each.container === id);
    if (box) this.view.choose(box, true);
  }

  showModule(id) {
    this.select("graph");
    this.reveal(this.graph.containers[id].parent);
    for (const each of [...this.open]) if (around(this.graph, each).includes(id)) this.open.delete(each);
    this.relayout();
    this.chooseContainer(id);
  }

  showNode(kind, index) {
    this.select("graph");
    this.switchTo(kind);
    this.reveal(this.graph.inside[index]);
    this.relayout();
    this.view.choose(this.shown.boxes[this.shown.boxOf[index]], true);
  }

  search(text) {
    const list = document.getElementById("results"), wanted = text.trim().toLowerCase();
    const pathOf = node => node.module === null ? "" : this.model.modules[node.module].path;
    const found = wanted ? this.graph.nodes.filter(node => node.text.includes(wanted) || pathOf(node).toLowerCase().includes(wanted)) : [];
    this.first = found[0];
    list.hidden = !wanted;
    list.replaceChildren(...found.slice(0, MOST_RESULTS).map(node => element("li", {}, element("button", {onclick: () => this.showNode(this.kind, node.index)},
      node.label, " ", element("span", {class: "dim"}, node.name || pathOf(node))))));
    if (wanted) list.prepend(element("li", {class: "dim"}, `${found.length} found`));
    document.documentElement.dataset.found = found.length;
    this.view.found = new Set(found.map(node => this.shown.boxOf[node.index]));
    this.view.mark();
  }
}

window.flambeauReport = new Page(JSON.parse(document.getElementById("report").textContent));
