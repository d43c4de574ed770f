// The labelling page: search, a neighbourhood, answers by keys, and what each of them changes.
import { download, get, named, post, who } from "./api.js";
import { curve } from "./curve.js";
import { h, number, percent, refresh, swatch } from "./dom.js";
import { Browse, LISTS, suggested, suspicious } from "./lists.js";
import { Neighbourhood } from "./neighbourhood.js";
import { columns, order, panel } from "./panel.js";
import { zoomButtons } from "./report.js";

const EVERY = 2500; // milliseconds between questions about what others did
const KEYS = "altopt-keys"; // in the browser's memory: off where single keys do nothing
const REFITTING = 700; // and about a refit that this tab began

export function explore() {
  named().then(() => get("model")).then((model) => new Explore(model).start()).catch((error) => {
    document.getElementById("app").replaceChildren(h("p", { role: "alert" }, error.message));
  });
}

class Explore {
  constructor(model) {
    Object.assign(this, { model, number: model.number, queue: [], skipped: new Set(), list: "suggested", current: null, busy: false, turn: 0, told: 0 });
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
    this.notTaken = h("p", { class: "not-taken", role: "status" });
    this.announced = h("p", { class: "hidden", "aria-live": "polite" });
    this.curve = h("div", {});
    this.taught = h("p", { class: "soft taught" });
    this.refitButton = h("button", { type: "button", onclick: () => this.refit() }, h("kbd", {}, "r"), "Refit with all labels");
    this.said = h("div", { class: "said", role: "status", "aria-live": "polite" });
    this.log ??= h("ol", { class: "log", reversed: true, tabindex: "0", "aria-label": "What answers changed, the last first" });
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
        h("div", {}, h("h1", {}, model.name), this.facts, this.notTaken),
        h("nav", { "aria-label": "Export" }, h("a", { href: download("labels"), download: "labels.csv" }, "Labels"), h("a", { href: download("predictions"), download: "predictions.csv" }, "Predictions"))),
      h("aside", { "aria-label": "Nodes to look at" }, this.search(), h("div", { class: "tabs", role: "group", "aria-label": "Lists" }, this.tabs), this.listed),
      h("section", { class: "middle", "aria-label": "Neighbourhood" },
        h("div", { class: "controls" }, this.size, zoomButtons({ zoom: (factor) => this.picture.picture?.zoom(factor) })),
        this.place, this.legend(), this.said,
        h("div", { class: "pair" }, h("div", {}, h("h3", {}, "Expected accuracy, as the model believes"), this.curve, this.taught, this.refitButton), h("div", {}, h("h3", {}, "What answers changed"), this.log))),
      this.panel,
      h("footer", { class: "soft" }, this.keysSwitch(), "Keys: 1 to 9 answer, s skips, u takes back, x removes a label, r refits, / searches."),
      this.announced);
  }

  /** Single keys act unless they are switched off: speech input and a slipping hand press them too. */
  keysSwitch() {
    this.keys = h("input", { type: "checkbox", checked: localStorage.getItem(KEYS) !== "off", onchange: () => localStorage.setItem(KEYS, this.keys.checked ? "on" : "off") });
    return h("label", { class: "keys" }, this.keys, " Single keys act. ");
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
    const turn = ++this.turn;
    try {
      const data = await get(`node/${at}`, { size: this.size.value });
      if (turn !== this.turn) return; // another node was asked for since
      const isOther = at !== this.current;
      this.current = at;
      this.data = data;
      refresh(this.panel, panel(this.model, data, {
        label: (code) => this.label(code), skip: () => this.skip(), undo: () => this.undo(), open: (other) => this.open(other),
      }), "#node-title");
      this.picture.show(data);
      this.showList(this.list);
      const { node } = data;
      if (isOther) this.announced.textContent = `Now ${node.id}: ${this.model.classes[node.label]}, ${node.given ? "given" : percent(node.probabilities[node.label])}.`;
      this.columnsOf(at, turn);
    } catch (error) {
      this.say(error.message);
    }
  }

  async columnsOf(at, turn) {
    const found = await get(`node/${at}/columns`).catch(() => null);
    if (found && turn === this.turn) this.panel.querySelector(".columns-place")?.replaceChildren(columns(found));
  }

  async refill() {
    this.queue = (await get("queue", { skipped: Math.min(this.skipped.size, 10000) })).filter((node) => !this.skipped.has(node.at));
  }

  /** The next suggested node. */
  async next() {
    this.queue = this.queue.filter((node) => node.at !== this.current && !this.skipped.has(node.at));
    if (this.queue.length < 4) await this.refill();
    const [first] = this.queue.filter((node) => node.at !== this.current);
    if (first) await this.open(this.asked = first.at); // also where a refit makes the queue anew meanwhile
    else if (this.current === null) await this.open(0);
    else await this.showList(this.list);
  }

  async showList(name) {
    this.list = name;
    Object.keys(LISTS).forEach((each, k) => this.tabs[k].setAttribute("aria-pressed", String(each === name)));
    if (name === "suggested") {
      const left = { nLeft: this.model.n_nodes - this.facts.dataset.labels, nSkipped: this.skipped.size, unskip: () => this.unskip() };
      refresh(this.listed, suggested(this.model, this.queue, this.current, (at) => this.open(at), left));
    }
    if (name === "browse") {
      if (!this.listed.contains(this.browse.element)) this.listed.replaceChildren(this.browse.element);
      await this.browse.fill();
    }
    if (name === "suspicious") await this.showSuspicious();
  }

  async showSuspicious() {
    const [found, right] = await Promise.all([get("suspicious"), get("suspicious", { confirmed: true })]);
    if (this.list !== "suspicious") return;
    const confirm = (node, isRight) => this.alone(async () => {
      await post("confirm", { ...this.about(node), right: isRight });
      this.say(isRight ? `${node.id} stays ${this.model.classes[node.label]}.` : `${node.id} is listed again.`);
      await this.showSuspicious();
    });
    const mend = (node) => this.alone(async () => {
      await this.answer("label", this.labelled(node, node.instead));
      await this.showSuspicious();
    });
    refresh(this.listed, suspicious(this.model, found, right, this.current, (at) => this.open(at), confirm, mend));
  }

  // answers

  /** One act at a time, until what follows from it is shown: a key meanwhile would be about a node that has just gone. */
  async alone(act) {
    if (this.busy) return;
    this.busy = true;
    try {
      await act();
    } catch (error) {
      if (error.otherModel) await this.otherModel(error.message);
      else this.say(error.message);
    } finally {
      this.busy = false;
    }
  }

  /** Which node an act is about: by number and name, in the numbering that this page knows. */
  about({ at, id }) {
    return { at, node: id, numbering: this.model.numbering };
  }

  labelled(node, code) {
    return { ...this.about(node), label: code, name: code === null ? null : this.model.classes[code] };
  }

  label(code) {
    return this.alone(async () => {
      const { node } = this.data;
      await this.answer("label", this.labelled(node, code));
      const asked = node.at === this.asked || this.queue.some((each) => each.at === node.at);
      if (asked && this.list === "suggested" && code !== null) await this.next();
      else await this.open(node.at);
    });
  }

  undo() {
    return this.alone(async () => {
      const effect = await this.answer("undo", {});
      await this.open(effect.node.at);
    });
  }

  skip() {
    return this.alone(async () => {
      this.skipped.add(this.current);
      await this.next();
    });
  }

  unskip() {
    return this.alone(async () => {
      this.skipped.clear();
      await this.refill();
      await this.next();
    });
  }

  async answer(what, body) {
    const effect = await post(what, body);
    this.tell(effect, what);
    this.showState(await get("state", { after: this.number }));
    return effect;
  }

  /** Another model is in the folder: all that this page knows by number is asked for again. */
  async otherModel(said) {
    this.model = await get("model");
    Object.assign(this, { number: this.model.number, current: null, data: null });
    this.skipped.clear();
    this.picture.picture?.destroy();
    this.build();
    this.showState(this.model);
    await this.refill();
    await this.next();
    this.say(said);
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
    this.showNotices(state);
    this.showRefit(state.refit);
  }

  /** Answers that the model could not take, and what went wrong on the server. */
  showNotices({ not_taken: { n, nodes }, notices }) {
    const words = n ? `${number(n)} ${n === 1 ? "answer names a node or class" : "answers name nodes or classes"} that this model no longer has: ${nodes.join(", ")}${n > nodes.length ? ", …" : ""}. The journal keeps ${n === 1 ? "it" : "them"}.` : "";
    if (this.notTaken.textContent !== words) this.notTaken.textContent = words;
    if (notices.n > this.told) this.say(notices.last);
    this.told = notices.n;
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
    if (!this.busy) await this.open(this.current);
  }

  /** What others did meanwhile, and how a refit goes. */
  async look() {
    if (this.busy || document.hidden) return;
    const [version, waited] = [this.version, this.refitButton.disabled];
    const state = await get("state", { after: this.number }).catch(() => null);
    if (!state || this.busy) return;
    if (state.numbering !== this.model.numbering) {
      await this.alone(() => this.otherModel("Another process put a model with other nodes or classes into the folder; this page shows it."));
      return;
    }
    const { refit } = state;
    this.showNotices(state);
    this.showRefit(refit);
    if (refit.version !== version || (waited && !refit.running)) await this.refitted(refit.said);
    if (state.number <= this.number) return;
    const others = state.answers.filter((answer) => answer.who !== who);
    this.showState(state);
    if (!others.length) return;
    this.say(`${number(others.length)} ${others.length === 1 ? "answer" : "answers"} from another tab.`);
    const answered = new Set(others.map((answer) => answer.at));
    this.queue = this.queue.filter((node) => !answered.has(node.at));
    if (!this.busy) await this.open(this.current);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && event.target !== this.keys) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.repeat || !this.keys.checked) return; // a key held down is one answer
    const digit = "123456789".indexOf(event.key);
    const acts = { s: () => this.skip(), u: () => this.undo(), r: () => this.refit(), x: () => this.data.node.given && this.label(null), "/": () => this.field.focus() };
    if (!this.data) return;
    if (digit >= 0 && event.key.length === 1) {
      const code = order(this.model, this.data.node.probabilities)[digit];
      if (code !== undefined) this.label(code);
    } else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  }
}
