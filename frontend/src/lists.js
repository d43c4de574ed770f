// Lists of nodes to look at: suggested, suspicious, and by class and doubt.
import { get } from "./api.js";
import { h, number, percent, refresh, swatch } from "./dom.js";

export const LISTS = { suggested: "Suggested", suspicious: "Suspicious", browse: "Browse" };

function row(model, node, current, open, ...more) {
  return h("li", {}, h("button", { type: "button", class: "link", "data-focus": `node ${node.at}`, "aria-current": node.at === current ? "true" : null, onclick: () => open(node.at) },
    swatch(model.colours[node.label]), h("span", { class: "name" }, node.id)), ...more);
}

export function suggested(model, queue, current, open, { nLeft, nSkipped, unskip }) {
  if (!queue.length) {
    if (!nLeft) return h("p", { class: "soft" }, "Every node has a label.");
    if (!nSkipped) return h("p", { class: "soft" }, "No further node is suggested. Browse lists those without a label.");
    return h("div", {}, h("p", { class: "soft" }, "Every node that was left was skipped."),
      h("button", { type: "button", onclick: unskip }, "Show skipped nodes again"));
  }
  return h("div", {},
    h("p", { class: "soft" }, "Labels that would correct most others, best first."),
    h("ol", { class: "list" }, queue.map((node) => row(model, node, current, open, h("span", { class: "soft" }, model.classes[node.label], ", ", percent(1 - node.doubt))))));
}

/** Labels to confirm or mend, and those that were confirmed, which can be listed again. */
export function suspicious(model, found, right, current, open, confirm, mend) {
  return h("div", {}, doubted(model, found, current, open, confirm, mend), right.length ? h("section", { "aria-label": "Confirmed labels" },
    h("p", { class: "soft" }, "Confirmed:"),
    h("ul", { class: "list confirmed" }, right.map((node) => row(model, node, current, open,
      h("button", { type: "button", class: "link", "data-focus": `again ${node.at}`, "aria-label": `List it again: ${node.id}`, onclick: () => confirm(node, false) }, "List it again"))))) : null);
}

function doubted(model, found, current, open, confirm, mend) {
  if (!found.length) return h("p", { class: "soft" }, "No given label is outvoted by the rest of the evidence, or the fit could not tell.");
  return h("div", {},
    h("p", { class: "soft" }, "Given labels that all other evidence outvotes, worst first."),
    h("ul", { class: "list doubted" }, found.map((node) => row(model, node, current, open,
      h("div", { class: "doubtful" }, `${model.classes[node.label]}, rather ${model.classes[node.instead]}`),
      h("div", { class: "steps" },
        h("button", { type: "button", "aria-label": `It is right: ${node.id} is ${model.classes[node.label]}`, onclick: () => confirm(node, true) }, "It is right"),
        h("button", { type: "button", "aria-label": `Make it ${model.classes[node.instead]}: ${node.id}`, onclick: () => mend(node) }, `Make it ${model.classes[node.instead]}`))))));
}

/** Filters and the page of nodes that pass them. */
export class Browse {
  constructor(model, open) {
    Object.assign(this, { model, open, first: 0 });
    const option = (value, name) => h("option", { value }, name);
    this.label = h("select", { "aria-label": "Class" }, option("", "any class"), model.classes.map((name, code) => option(code, name)));
    this.given = h("select", { "aria-label": "Given or predicted" }, option("", "given or predicted"), option("true", "given"), option("suspicious", "given and suspicious"), option("false", "predicted"));
    this.doubt = h("select", { "aria-label": "Doubt" }, option("0-1", "any doubt"), option("0.5-1", "doubt above 50 %"), option("0.2-0.5", "20 to 50 %"), option("0-0.2", "below 20 %"));
    this.order = h("select", { "aria-label": "Order" }, option("", "most doubtful first"), option("true", "surest first"));
    this.found = h("div", { "aria-live": "polite" });
    for (const field of [this.label, this.given, this.doubt, this.order]) field.addEventListener("change", () => ((this.first = 0), this.fill()));
    this.element = h("div", {}, h("div", { class: "filters" }, this.label, this.given, this.doubt, this.order), this.found);
  }

  async fill() {
    const [from, to] = this.doubt.value.split("-");
    const suspicious = this.given.value === "suspicious";
    const { n, nodes } = await get("nodes", {
      label: this.label.value, given: suspicious ? "true" : this.given.value, suspicious: suspicious || null, doubt_from: from, doubt_to: to, sure_first: this.order.value, first: this.first,
    });
    const step = (by) => ((this.first += by), this.fill());
    refresh(this.found, h("div", {},
      h("p", { class: "soft" }, `${number(n)} nodes`),
      h("ul", { class: "list" }, nodes.map((node) => row(this.model, node, null, this.open, h("span", { class: "soft" }, node.given ? "given" : percent(1 - node.doubt))))),
      h("div", { class: "steps" },
        h("button", { type: "button", "data-focus": "before", disabled: this.first === 0, onclick: () => step(-50) }, "Before"),
        h("button", { type: "button", "data-focus": "after", disabled: this.first + 50 >= n, onclick: () => step(50) }, "After"))));
  }
}
