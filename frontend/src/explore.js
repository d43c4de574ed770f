// The labelling page: search, a neighbourhood, answers by keys, and what each of them changes.
import { download, get, post, who } from "./api.js";
import { curve } from "./curve.js";
import { h, number, percent, swatch } from "./dom.js";
import { Browse, LISTS, suggested, suspicious } from "./lists.js";
import { Neighbourhood } from "./neighbourhood.js";
import { columns, order, panel } from "./panel.js";
import { zoomButtons } from "./report.js";

const EVERY = 2500; // milliseconds between questions about what others did
const REFITTING = 700; // and about a refit that this tab began

export function explore() {
  get("model").then((model) => new Explore(model).start()).catch((error) => {
    document.getElementById("app").replaceChildren(h("p", { role: "alert" }, error.message));
  });
}

class Explore {
  constructor(model) {
    Object.assign(this, { model, number: model.number, queue: [], skipped: new Set(), list: "suggested", current: null, busy: false });
  }

  async start() {
    this.build();
    this.showState(this.model);
    window.addEventListener("keydown", (event) => this.key(event));
    await this.refill();
    await this.next();
    document.getElementById("app").dataset.ready = "true";
    setInterval(() => this.look(), EVERY);
  }

  build() {
    const { model } = this;
    this.facts = h("p", { class: "facts-line", "aria-live": "polite" });
    this.curve = h("div", {});
    this.taught = h("p", { class: "soft taught" });
    this.refitButton = h("button", { type: "button", onclick: () => this.refit() }, h("kbd", {}, "r"), "Refit with all labels");
    this.said = h("div", { class: "said", role: "status", "aria-live": "polite" });
    this.log = h("ol", { class: "log", reversed: true, tabindex: "0", "aria-label": "What answers changed, the last first" });
    this.place = h("div", { class: "picture", role: "img", "aria-label": "The neighbourhood of the node; the panel says the same in words" });
    this.panel = h("div", { class: "panel-place" });
    this.listed = h("div", { class: "listed" });
    this.picture = new Neighbourhood(this.place, model, (at) => this.open(at));
    this.size = h("select", { "aria-label": "Nodes drawn", onchange: () => this.open(this.current) },
      [30, 60, 120, 300].map((n) => h("option", { value: n, selected: n === 60 }, `${n} nodes`)));
    this.browse = new Browse(model, (at) => this.open(at));
    this.tabs = Object.entries(LISTS).map(([name, title]) => h("button", {
      type: "button", "aria-pressed": String(name === this.list), onclick: () => this.showList(name),
    }, title));
    document.getElementById("app").replaceChildren(
      h("header", {},
        h("div", {}, h("h1", {}, model.name), this.facts),
        h("nav", { "aria-label": "Export" }, h("a", { href: download("labels"), download: "labels.csv" }, "Labels"), h("a", { href: download("predictions"), download: "predictions.csv" }, "Predictions"))),
      h("aside", { "aria-label": "Nodes to look at" }, this.search(), h("div", { class: "tabs", role: "group", "aria-label": "Lists" }, this.tabs), this.listed),
      h("section", { class: "middle", "aria-label": "Neighbourhood" },
        h("div", { class: "controls" }, this.size, zoomButtons({ zoom: (factor) => this.picture.picture?.zoom(factor) })),
        this.place, this.legend(), this.said,
        h("div", { class: "pair" }, h("div", {}, h("h3", {}, "Expected accuracy"), this.curve, this.taught, this.refitButton), h("div", {}, h("h3", {}, "What answers changed"), this.log))),
      this.panel,
      h("footer", { class: "soft" }, "Keys: 1 to 9 answer, s skips, u takes back, x removes a label, r refits, / searches."));
  }

  legend() {
    const { model } = this;
    const own = model.classes.map((_, code) => code).filter((code) => model.colours.filter((colour) => colour === model.colours[code]).length === 1);
    const rest = model.classes.length - own.length;
    return h("p", { class: "legend-line soft" }, own.map((code) => h("span", {}, swatch(model.colours[code]), model.classes[code], " ")),
      rest ? `grey: ${number(rest)} other classes` : "", " · paler: in doubt; larger: more of the score");
  }

  search() {
    const found = h("ul", { class: "list hits" });
    const field = h("input", { type: "search", id: "search", placeholder: "Find by id", "aria-label": "Find a node by its id", autocomplete: "off", maxlength: "200" });
    this.field = field;
    let asked = 0;
    const look = async () => {
      const turn = ++asked;
      const wanted = field.value.trim();
      const nodes = wanted ? await get("search", { q: wanted }) : [];
      if (turn !== asked) return nodes;
      found.replaceChildren(...nodes.slice(0, 8).map((node) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => (found.replaceChildren(), this.open(node.at)) },
        swatch(this.model.colours[node.label]), node.id))));
      if (wanted && !nodes.length) found.replaceChildren(h("li", { class: "soft" }, "No node has this in its id."));
      return nodes;
    };
    field.addEventListener("input", () => look().catch(() => {}));
    const go = async (event) => {
      event.preventDefault();
      const [first] = await look();
      if (!first) return;
      found.replaceChildren();
      await this.open(first.at);
      document.getElementById("node-title").focus();
    };
    return h("form", { class: "search-form", onsubmit: go }, h("div", { class: "search" }, field, h("button", { type: "submit" }, "Find")), found);
  }

  // nodes

  async open(at) {
    if (at === null) return;
    try {
      const data = await get(`node/${at}`, { size: this.size.value });
      this.current = at;
      this.data = data;
      this.panel.replaceChildren(panel(this.model, data, {
        label: (code) => this.label(code), skip: () => this.skip(), undo: () => this.undo(), open: (other) => this.open(other),
      }));
      this.picture.show(data);
      this.showList(this.list);
      const found = await get(`node/${at}/columns`).catch(() => null);
      if (found && this.current === at) this.panel.querySelector(".columns-place")?.replaceChildren(columns(found));
    } catch (error) {
      this.say(error.message);
    }
  }

  async refill() {
    this.queue = (await get("queue")).filter((node) => !this.skipped.has(node.at));
  }

  /** The next suggested node. */
  async next() {
    this.queue = this.queue.filter((node) => node.at !== this.current && !this.skipped.has(node.at));
    if (this.queue.length < 4) await this.refill();
    const [first] = this.queue.filter((node) => node.at !== this.current);
    if (first) await this.open(first.at);
    else if (this.current === null) await this.open(0);
  }

  async showList(name) {
    this.list = name;
    Object.keys(LISTS).forEach((each, k) => this.tabs[k].setAttribute("aria-pressed", String(each === name)));
    if (name === "suggested") this.listed.replaceChildren(suggested(this.model, this.queue, this.current, (at) => this.open(at)));
    if (name === "browse") {
      if (!this.listed.contains(this.browse.element)) this.listed.replaceChildren(this.browse.element);
      await this.browse.fill();
    }
    if (name === "suspicious") await this.showSuspicious();
  }

  async showSuspicious() {
    const found = await get("suspicious");
    if (this.list !== "suspicious") return;
    const confirm = async (node) => {
      await post("confirm", { at: node.at });
      this.say(`${node.id} stays ${this.model.classes[node.label]}.`);
      await this.showSuspicious();
    };
    const mend = (node) => this.answer("label", { at: node.at, label: node.instead }).then(() => this.showSuspicious());
    this.listed.replaceChildren(suspicious(this.model, found, this.current, (at) => this.open(at), confirm, mend));
  }

  // answers

  async label(code) {
    const before = this.current;
    const effect = await this.answer("label", { at: before, label: code });
    if (!effect) return;
    const asked = this.queue.some((node) => node.at === before);
    if (asked && this.list === "suggested" && code !== null) await this.next();
    else await this.open(before);
  }

  async undo() {
    const effect = await this.answer("undo", {});
    if (effect) await this.open(effect.node.at);
  }

  async skip() {
    this.skipped.add(this.current);
    await this.next();
  }

  async answer(what, body) {
    if (this.busy) return null;
    this.busy = true;
    try {
      const effect = await post(what, body);
      this.tell(effect, what);
      this.showState(await get("state", { after: this.number }));
      return effect;
    } catch (error) {
      this.say(error.message);
      return null;
    } finally {
      this.busy = false;
    }
  }

  tell(effect, what) {
    const { classes } = this.model;
    const others = effect.moved.filter((move) => move.at !== effect.node.at);
    const n = effect.n_moved - (effect.moved.length - others.length);
    const label = effect.node.given ? classes[effect.node.label] : "no label";
    const did = what === "undo" ? `Undone: ${effect.node.id} has ${label} again.` : `${effect.node.id}: ${label}.`;
    const changed = n === 0 ? "No other node changed its label." : `${number(n)} other ${n === 1 ? "node" : "nodes"} changed ${n === 1 ? "its" : "their"} label.`;
    this.say(`${did} ${changed}`);
    this.log.prepend(h("li", {}, h("strong", {}, did), " ", changed, others.length ? h("ul", {}, others.slice(0, 5).map((move) =>
      h("li", {}, `${move.id}: ${classes[move.before]} → ${classes[move.now]}`))) : null));
    while (this.log.children.length > 30) this.log.lastChild.remove();
    this.picture.recolour(effect.moved);
  }

  say(words) {
    this.said.textContent = words;
  }

  showState(state) {
    this.number = Math.max(this.number, state.number);
    this.facts.textContent = `${number(this.model.n_nodes)} nodes, ${number(state.n_labels)} with a given label; about ${percent(state.expected, 1)} of the others are expected to be right.`;
    this.facts.dataset.labels = state.n_labels;
    if (state.curve.length) this.curve.replaceChildren(curve(state.curve));
    this.showRefit(state.refit);
  }

  // the refit

  showRefit({ running, untaught, said, version }) {
    this.version = version;
    const waiting = untaught === 1 ? "1 label has" : `${number(untaught)} labels have`;
    this.taught.textContent = running ? said : untaught
      ? `${waiting} not taught the encoder yet. A refit does, while you go on.`
      : "The encoder has learnt from all labels.";
    this.refitButton.disabled = running;
    this.refitButton.dataset.untaught = untaught;
  }

  async refit() {
    if (this.refitButton.disabled) return;
    try {
      this.showRefit(await post("refit", {}));
      this.say("The refit has begun; you can go on meanwhile.");
      while (this.refitButton.disabled) {
        await new Promise((resolve) => setTimeout(resolve, REFITTING));
        await this.look();
      }
    } catch (error) {
      this.say(error.message);
    }
  }

  /** Another model has taken the place of the one that this tab knows, or none could. */
  async refitted(said) {
    this.say(said);
    this.log.prepend(h("li", {}, h("strong", {}, said)));
    this.showState(await get("state"));
    await this.refill();
    await this.open(this.current);
  }

  /** What others did meanwhile, and how a refit goes. */
  async look() {
    if (this.busy || document.hidden) return;
    const [version, waited] = [this.version, this.refitButton.disabled];
    const state = await get("state", { after: this.number }).catch(() => null);
    if (!state) return;
    const { refit } = state;
    this.showRefit(refit);
    if (refit.version !== version || (waited && !refit.running)) await this.refitted(refit.said);
    if (state.number <= this.number) return;
    const others = state.answers.filter((answer) => answer.who !== who);
    this.showState(state);
    if (!others.length) return;
    this.say(`${number(others.length)} ${others.length === 1 ? "answer" : "answers"} from another tab.`);
    const answered = new Set(others.map((answer) => answer.at));
    this.queue = this.queue.filter((node) => !answered.has(node.at));
    await this.open(this.current);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const digit = "123456789".indexOf(event.key);
    const acts = { s: () => this.skip(), u: () => this.undo(), r: () => this.refit(), x: () => this.data?.node.given && this.label(null), "/": () => this.field.focus() };
    if (digit >= 0 && event.key.length === 1 && this.data) {
      const code = order(this.model, this.data.node.probabilities)[digit];
      if (code !== undefined) this.label(code);
    } else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  }
}
