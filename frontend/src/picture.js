// A graph on the page: drawn by sigma, or plainly where there is no WebGL and on paper; hover, click and selection.
import Sigma from "sigma";
import { h } from "./dom.js";
import { onPaper, onScheme, variable } from "./colours.js";

const ON_PAPER = { width: 1000, height: 640, ratio: 2 }; // pixels of the page's width, and how many of the canvas each has

export class Picture {
  /**
   * graph: graphology graph whose nodes have x, y, size and paint() -> colour.
   * describe: node -> lines of its tooltip. onSelect: called with a node that is clicked.
   */
  constructor(place, graph, { describe, onSelect = () => {} }) {
    Object.assign(this, { place, graph, describe, onSelect, selected: null, shown: () => true });
    this.tip = h("div", { class: "tip", hidden: true, role: "status" });
    this.canvas = h("canvas", { class: "plain", "aria-hidden": "true" });
    this.sheet = h("div", { class: "sheet" });
    place.replaceChildren(this.sheet, this.canvas, this.tip);
    this.colour();
    try {
      this.sigma = new Sigma(graph, this.sheet, this.settings());
      this.listen();
    } catch {
      this.sigma = null; // no WebGL
      this.sheet.remove();
      place.classList.add("flat");
      this.listenPlainly();
    }
    this.gone = new AbortController();
    const { signal } = this.gone;
    onScheme(() => this.recolour(), signal);
    window.addEventListener("beforeprint", () => this.print(), { signal });
    if (!this.sigma) {
      window.addEventListener("afterprint", () => this.paintPlainly(), { signal });
      const watch = new ResizeObserver(() => this.paintPlainly());
      watch.observe(place);
      signal.addEventListener("abort", () => watch.disconnect());
    }
  }

  /** Nothing is heard or drawn any more: another picture takes the place. */
  destroy() {
    this.gone.abort();
    this.sigma?.kill();
  }

  settings() {
    return {
      allowInvalidContainer: true,
      labelRenderedSizeThreshold: 1e9,
      defaultDrawNodeHover: () => {},
      defaultDrawNodeLabel: (context, data, settings) => this.drawLabel(context, data, settings),
      nodeReducer: (node, data) => this.reduce(node, data),
      edgeReducer: (edge, data) => this.reduceEdge(edge, data),
      minCameraRatio: 0.02,
      maxCameraRatio: 3,
      zIndex: true,
      stagePadding: 24,
    };
  }

  drawLabel(context, data, settings) {
    if (!data.label) return;
    context.font = `600 12px ${settings.labelFont}`;
    context.fillStyle = variable("--ink");
    context.strokeStyle = variable("--paper");
    context.lineWidth = 3;
    context.strokeText(data.label, data.x + data.size + 3, data.y + 4);
    context.fillText(data.label, data.x + data.size + 3, data.y + 4);
  }

  reduce(node, data) {
    if (node === this.selected) {
      return { ...data, color: variable("--ink"), size: data.size + 4, zIndex: 2, forceLabel: true };
    }
    return this.shown(data) ? data : { ...data, color: variable("--line"), label: null, zIndex: -1 };
  }

  reduceEdge(edge, data) {
    return { ...data, color: data.color ?? variable("--edge") };
  }

  listen() {
    this.sigma.on("enterNode", ({ node }) => this.hover(node));
    this.sigma.on("leaveNode", () => (this.tip.hidden = true));
    this.sigma.on("clickNode", ({ node }) => this.onSelect(node));
  }

  hover(node) {
    const { x, y } = this.at(node);
    this.tip.replaceChildren(...this.describe(node).map((line) => h("div", {}, line)));
    this.tip.hidden = false;
    const right = x > this.place.clientWidth / 2;
    this.tip.style.left = right ? "auto" : `${x + 14}px`;
    this.tip.style.right = right ? `${this.place.clientWidth - x + 14}px` : "auto";
    this.tip.style.top = `${Math.max(4, Math.min(y - 10, this.place.clientHeight - 90))}px`;
  }

  /** Where a node stands in the picture, in pixels. */
  at(node) {
    const { x, y } = this.graph.getNodeAttributes(node);
    return this.sigma ? this.sigma.graphToViewport({ x, y }) : this.project({ x, y });
  }

  colour() {
    this.graph.updateEachNodeAttributes((node, data) => ({ ...data, color: data.paint() }));
  }

  recolour() {
    this.colour();
    this.refresh();
  }

  refresh() {
    if (this.sigma) this.sigma.refresh();
    else this.paintPlainly();
  }

  select(node, { move = true } = {}) {
    this.selected = node;
    if (this.sigma && move) {
      const { x, y } = this.sigma.getNodeDisplayData(node);
      this.sigma.getCamera().animate({ x, y, ratio: Math.min(0.35, this.sigma.getCamera().ratio) }, { duration: 300 });
    }
    this.refresh();
    if (!this.sigma) this.hover(node);
  }

  zoom(factor) {
    if (factor === null) this.sigma?.getCamera().animatedReset({ duration: 200 });
    else this.sigma?.getCamera().animate({ ratio: this.sigma.getCamera().ratio * factor }, { duration: 200 });
  }

  // without WebGL, and on paper

  print() {
    onPaper(() => {
      this.colour();
      this.paintPlainly(ON_PAPER);
    });
    this.colour();
  }

  size() {
    return { width: this.place.clientWidth || 700, height: this.place.clientHeight || 400, ratio: window.devicePixelRatio || 1 };
  }

  project({ x, y }) {
    const box = this.box;
    return { x: 20 + (x - box.x) * box.scale, y: this.canvas.clientHeight - 20 - (y - box.y) * box.scale };
  }

  paintPlainly({ width, height, ratio } = this.size()) {
    (this.canvas.width = width * ratio), (this.canvas.height = height * ratio);
    const [xs, ys] = ["x", "y"].map((axis) => this.graph.mapNodes((node, data) => data[axis]));
    if (!xs.length) return;
    const [low, high] = [xs, ys].reduce(
      ([least, most], values) => [[...least, values.reduce((a, b) => Math.min(a, b))], [...most, values.reduce((a, b) => Math.max(a, b))]],
      [[], []],
    );
    const scale = Math.min((width - 40) / (high[0] - low[0] || 1), (height - 40) / (high[1] - low[1] || 1));
    this.box = { x: low[0], y: low[1], scale };
    const place = ({ x, y }) => [20 + (x - low[0]) * scale, height - 20 - (y - low[1]) * scale];
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    this.graph.forEachEdge((edge, data, a, b, from, to) => {
      context.strokeStyle = data.color ?? variable("--edge");
      context.lineWidth = data.size ?? 1;
      context.beginPath();
      context.moveTo(...place(from));
      context.lineTo(...place(to));
      context.stroke();
    });
    this.graph.forEachNode((node, attributes) => {
      const data = this.reduce(node, attributes);
      context.fillStyle = data.color;
      context.beginPath();
      context.arc(...place(attributes), data.size, 0, 2 * Math.PI);
      context.fill();
    });
  }

  listenPlainly() {
    const nearest = (event) => {
      let [best, least] = [null, 12];
      this.graph.forEachNode((node) => {
        const { x, y } = this.at(node);
        const distance = Math.hypot(x - event.offsetX, y - event.offsetY);
        if (distance < least) [best, least] = [node, distance];
      });
      return best;
    };
    this.canvas.addEventListener("mousemove", (event) => {
      const node = nearest(event);
      if (node === null) this.tip.hidden = true;
      else this.hover(node);
    });
    this.canvas.addEventListener("click", (event) => {
      const node = nearest(event);
      if (node !== null) this.onSelect(node);
    });
  }
}
