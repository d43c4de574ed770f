// The graph of a report: drawn whole or by regions, with a legend that lights up classes, and a search by id.
import Graph from "graphology";
import { h, number, percent, swatch } from "./dom.js";
import { faded } from "./colours.js";
import { onDisc, regionCentres } from "./layout.js";
import { Picture } from "./picture.js";

export function showGraphs() {
  for (const figure of document.querySelectorAll("[data-graph]")) {
    showGraph(figure, JSON.parse(document.getElementById(figure.dataset.graph).textContent));
  }
}

function showGraph(figure, data) {
  const graph = data.regions ? byRegions(data) : whole(data);
  const found = h("p", { class: "found", "aria-live": "polite" });
  const describe = (node) => linesOf(data, graph.getNodeAttributes(node));
  const select = (node) => {
    picture.select(node);
    found.textContent = describe(node).join(" · ");
  };
  const place = h("div", { class: "picture" });
  const controls = h("div", { class: "controls" });
  figure.querySelector(".canvas").replaceChildren(controls, place, legend(data, (shown) => {
    picture.shown = shown;
    picture.refresh();
  }), found);
  const picture = new Picture(place, graph, { describe, onSelect: select });
  controls.append(search(data, select, found, figure.dataset.graph), zoomButtons(picture));
  place.dataset.ready = String(Math.round(performance.now()));
}

function addNode(graph, data, k, { x, y }, size) {
  const given = data.given.has(k);
  const paint = () => faded(data.colours[data.label[k]], given ? 0 : data.doubt[k] / 100);
  graph.addNode(k, { x, y, size: given ? size * 1.9 : size, label: data.ids[k], paint, of: k, code: data.label[k] });
}

function whole(data) {
  data.given = new Set(data.given);
  const graph = new Graph({ type: "undirected", allowSelfLoops: false });
  const size = data.ids.length > 1000 ? 2.2 : data.ids.length > 200 ? 3.5 : 5;
  data.ids.forEach((_, k) => addNode(graph, data, k, { x: data.x[k], y: -data.y[k] }, size));
  addEdges(graph, data);
  return graph;
}

function addEdges(graph, data) {
  for (let at = 0; at < data.edges.length; at += 2) graph.mergeEdge(data.edges[at], data.edges[at + 1], { size: 0.6 });
}

function byRegions(data) {
  data.given = new Set(data.given);
  const graph = new Graph({ type: "undirected", allowSelfLoops: false });
  const centres = regionCentres(data.regions, data.ties);
  const largest = Math.max(...data.ties.map((tie) => tie[2]), 1);
  data.regions.forEach((region, k) => {
    const { x, y } = centres[k];
    graph.addNode(`region ${k}`, { x, y, size: 0.1, label: null, paint: () => "#888888", region, code: -1 });
  });
  for (const [a, b, weight] of data.ties) {
    if (weight > 0.04 * largest) graph.addEdge(`region ${a}`, `region ${b}`, { size: 0.5 + (5 * weight) / largest });
  }
  const seen = data.regions.map(() => 0);
  const counts = data.regions.map(() => 0);
  for (const region of data.region) counts[region]++;
  data.ids.forEach((_, k) => {
    const region = data.region[k];
    const { x, y, radius } = centres[region];
    const offset = onDisc(seen[region]++, (0.94 * radius) / Math.sqrt(counts[region]));
    addNode(graph, data, k, { x: x + offset.x, y: y + offset.y }, 2.6);
  });
  return graph;
}

function linesOf(data, { of, region }) {
  if (region) return [`${number(region.size)} nodes that hang together`, `mostly ${data.classes[region.label]}`];
  const label = data.classes[data.label[of]];
  if (data.given.has(of)) return [data.ids[of], `${label}, given`];
  return [data.ids[of], `${label}, predicted`, `probability ${percent(1 - data.doubt[of] / 100)}`];
}

function legend(data, onShown) {
  const sizes = data.sizes;
  const named = data.classes.map((name, k) => k).filter((k) => sizes[k] > 0).sort((a, b) => sizes[b] - sizes[a]).slice(0, 40);
  const buttons = named.map((k) => h("button", { type: "button", "aria-pressed": "false", onclick: () => press(k) },
    swatch(data.colours[k]), data.classes[k], h("span", { class: "soft" }, ` ${number(sizes[k])}`)));
  let lit = null;
  const press = (k) => {
    lit = lit === k ? null : k;
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(named[at] === lit)));
    onShown(lit === null ? () => true : (node) => node.code === lit);
  };
  return h("div", { class: "legend", role: "group", "aria-label": "Classes; press one to see it alone" }, buttons);
}

function search(data, select, found, name) {
  const list = h("datalist", { id: `${name}-ids` });
  const field = h("input", { type: "search", list: `${name}-ids`, placeholder: "Find a node by its id", "aria-label": "Find a node by its id", autocomplete: "off" });
  const matches = () => {
    const wanted = field.value.trim().toLowerCase();
    return wanted ? data.ids.map((id, k) => k).filter((k) => data.ids[k].toLowerCase().includes(wanted)) : [];
  };
  field.addEventListener("input", () => {
    list.replaceChildren(...matches().slice(0, 20).map((k) => h("option", { value: data.ids[k] })));
  });
  const go = (event) => {
    event.preventDefault();
    const wanted = field.value.trim();
    const exact = data.ids.indexOf(wanted);
    const node = exact >= 0 ? exact : matches()[0];
    if (node !== undefined) select(String(node));
    else found.textContent = data.ids.length < data.n_nodes
      ? `${wanted} is not among the ${number(data.ids.length)} nodes of this picture.${data.regions ? " altopt explore finds every node." : ""}`
      : `No node has ${wanted} in its id.`;
  };
  return h("form", { class: "search", onsubmit: go }, field, list, h("button", { type: "submit" }, "Find"));
}

/** On paper nothing can be opened: everything is. */
export function openForPrint() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((each) => (each.open = true));
  });
  window.addEventListener("afterprint", () => opened.forEach((each) => (each.open = false)));
}

export function zoomButtons(picture) {
  const button = (name, sign, factor) => h("button", { type: "button", "aria-label": name, title: name, onclick: () => picture.zoom(factor) }, sign);
  return h("div", { class: "zoom" }, button("Zoom in", "+", 0.6), button("Zoom out", "−", 1.6), button("Fit the whole graph", "Fit", null));
}
