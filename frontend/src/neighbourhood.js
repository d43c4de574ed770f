// The drawn neighbourhood of a node: size and width are shares of the score of the node's label.
import Graph from "graphology";
import { percent } from "./dom.js";
import { faded, mix, variable } from "./colours.js";
import { onDisc, relax } from "./layout.js";
import { Picture } from "./picture.js";

/** One line for each thing worth knowing of a node. */
export function linesOf(model, node) {
  const label = `${model.classes[node.label]}, ${node.given ? "given" : `probability ${percent(1 - node.doubt)}`}`;
  const share = node.share ? [`${percent(node.share, 1)} of the score`] : [];
  return [node.id, label, ...share];
}

export class Neighbourhood {
  constructor(place, model, onSelect) {
    Object.assign(this, { place, model, onSelect, picture: null, nodes: new Map() });
  }

  show(data) {
    this.picture?.destroy();
    const places = new Map(data.nodes.map((node) => [node.at, this.nodes.get(node.at)]));
    const graph = new Graph({ type: "undirected" });
    const largest = Math.max(...data.nodes.slice(1).map((node) => Math.abs(node.share)), 1e-9);
    this.nodes = new Map();
    data.nodes.forEach((node, k) => {
      const { x, y } = places.get(node.at) ?? onDisc(k, 10);
      const size = k === 0 ? 13 : 3.5 + 8 * Math.sqrt(Math.abs(node.share) / largest);
      const labelled = k < 14 || node.given;
      const paint = () => faded(this.model.colours[node.label], node.given ? 0 : node.doubt);
      graph.addNode(node.at, { x, y, size, paint, node, label: node.id, forceLabel: labelled && data.nodes.length < 120, code: node.label });
    });
    const strongest = Math.max(...data.edges.map((edge) => edge[2] ?? 0), 1e-9);
    for (const [a, b, share] of data.edges) {
      const strength = share === null ? 0.1 : Math.sqrt(Math.max(share, 0) / strongest);
      graph.mergeEdge(data.nodes[a].at, data.nodes[b].at, { size: 0.5 + 4.5 * strength, strength, weight: 1 });
    }
    relax(graph, data.nodes.length > 150 ? 60 : 120);
    graph.forEachNode((at, { x, y }) => this.nodes.set(Number(at), { x, y }));
    this.picture = new Picture(this.place, graph, {
      describe: (at) => linesOf(this.model, graph.getNodeAttribute(at, "node")),
      onSelect: (at) => this.onSelect(Number(at)),
    });
    this.picture.reduceEdge = (edge, data) => ({ ...data, color: mix(variable("--ink"), variable("--edge"), 0.55 * data.strength) });
    this.picture.selected = String(data.node.at);
    this.picture.reduce = (at, data) => (at === this.picture.selected ? { ...data, zIndex: 2, highlighted: false, forceLabel: true } : data);
    this.picture.refresh();
    this.place.dataset.at = data.node.at;
  }

  /** Labels that changed, seen at once. */
  recolour(moved) {
    if (!this.picture) return;
    const { graph } = this.picture;
    for (const { at, now } of moved) {
      if (!graph.hasNode(at)) continue;
      graph.getNodeAttribute(at, "node").label = now;
    }
    this.picture.recolour();
  }
}
