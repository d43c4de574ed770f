// What is known of one node, and the answers one can give.
import { h, percent, swatch } from "./dom.js";

const KEYS = 9;

/** Classes in the order of their keys: as they are where each can have one, else the likeliest first. */
export function order(model, probabilities) {
  const codes = model.classes.map((_, code) => code);
  return codes.length <= KEYS ? codes : codes.sort((a, b) => probabilities[b] - probabilities[a]);
}

export function panel(model, data, actions) {
  const { node } = data;
  const codes = order(model, node.probabilities);
  const state = node.given ? "Given label" : node.reached ? "Predicted" : "Nothing is known of this node; a guess";
  return h("section", { class: "panel", "aria-label": "The node" },
    h("h2", { tabindex: "-1", id: "node-title" }, node.id),
    h("p", { class: "label" }, swatch(model.colours[node.label]), h("strong", {}, model.classes[node.label]), " ",
      h("span", { class: "soft" }, node.given ? state : `${state}, ${percent(node.probabilities[node.label])}`)),
    answers(model, node, codes, actions),
    data.note ? h("p", { class: "soft" }, data.note) : null,
    ledger(model, data.ledger, actions),
    h("div", { class: "columns-place" }));
}

function answers(model, node, codes, actions) {
  const most = Math.max(...node.probabilities, 1e-9);
  const button = (code, k) => h("button", {
    type: "button", class: node.given && node.label === code ? "answer chosen" : "answer", onclick: () => actions.label(code),
    "data-code": code, "data-focus": `answer ${k}`,
  },
  h("kbd", {}, k < KEYS ? String(k + 1) : ""), swatch(model.colours[code]), h("span", { class: "name" }, model.classes[code]),
  h("span", { class: "share" }, percent(node.probabilities[code])),
  h("span", { class: "bar", style: { width: `${(100 * node.probabilities[code]) / most}%` } }));
  const shown = codes.slice(0, KEYS).map(button);
  const rest = codes.slice(KEYS);
  return h("div", { class: "answers" },
    h("h3", {}, "Which is it?"),
    h("div", { class: "choices", role: "group", "aria-label": "Classes" }, shown),
    rest.length ? h("label", { class: "others" }, "Another class ",
      h("select", { "data-focus": "other", onchange: (event) => event.target.value !== "" && actions.label(Number(event.target.value)) },
        h("option", { value: "" }, "choose"), rest.map((code) => h("option", { value: code }, model.classes[code])))) : null,
    h("div", { class: "steps" },
      h("button", { type: "button", "data-focus": "skip", onclick: actions.skip }, h("kbd", {}, "s"), "Skip"),
      h("button", { type: "button", "data-focus": "undo", onclick: actions.undo }, h("kbd", {}, "u"), "Undo"),
      node.given ? h("button", { type: "button", onclick: () => actions.label(null) }, h("kbd", {}, "x"), "Take the label back") : null));
}

function ledger(model, found, actions) {
  if (!found) return null;
  const row = (entry) => h("li", {},
    h("button", { type: "button", class: "link", onclick: () => actions.open(entry.at) }, swatch(model.colours[entry.label]), entry.id),
    h("span", { class: "share" }, percent(entry.share, 1)));
  const list = (title, entries) => entries.length ? [h("h4", {}, title), h("ul", { class: "ledger" }, entries.map(row))] : [];
  return h("div", {},
    h("h3", {}, "Why"),
    h("p", { class: "soft" }, `${percent(found.labels)} of its score comes from labels, ${percent(found.features)} from features, ${percent(found.further)} from further away.`),
    list("Labels of", found.from_labels), list("Features of", found.from_features));
}

export function columns(found) {
  if (!found.columns.length) return h("div", {});
  const most = Math.max(...found.columns.map((column) => Math.abs(column[1])), 1e-9);
  return h("div", {}, h("h3", {}, "Columns that spoke"), h("ul", { class: "ledger" }, found.columns.map(([name, share]) =>
    h("li", {}, h("span", {}, /^\d+$/.test(name) ? `column ${name}` : name), h("span", { class: "share" }, percent(share, 1)),
      h("span", { class: "bar", style: { width: `${(100 * Math.abs(share)) / most}%` } })))));
}
