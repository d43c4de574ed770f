// Where nodes stand: forces for graphs that are drawn whole, discs of sampled nodes for regions of larger ones.
import Graph from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";

const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/** Point k of a disc that fills up from its centre. */
export function onDisc(k, spacing) {
  const radius = spacing * Math.sqrt(k + 0.5);
  return { x: radius * Math.cos(k * GOLDEN), y: radius * Math.sin(k * GOLDEN) };
}

/** Let forces act for some rounds; the same graph always ends alike. */
export function relax(graph, rounds) {
  if (graph.order < 2) return;
  const settings = { ...forceAtlas2.inferSettings(graph), barnesHutOptimize: graph.order > 400, adjustSizes: false };
  forceAtlas2.assign(graph, { iterations: rounds, settings, getEdgeWeight: "weight" });
}

/** Centres of regions, tied by how many edges lead from one to the other; no two overlap. */
export function regionCentres(regions, ties) {
  const graph = new Graph({ type: "undirected" });
  const largest = Math.max(...ties.map((tie) => tie[2]), 1);
  regions.forEach((_, k) => graph.addNode(k, onDisc(k, 10)));
  for (const [a, b, weight] of ties) graph.addEdge(a, b, { weight: 0.05 + weight / largest });
  relax(graph, 400);
  const total = regions.reduce((sum, region) => sum + region.size, 0);
  const places = regions.map((region, k) => {
    const { x, y } = graph.getNodeAttributes(k);
    return { x, y, radius: Math.sqrt(region.size / total) };
  });
  bringIn(places);
  for (let round = 0; round < 300; round++) if (!pushApart(places)) break;
  return places;
}

/** A region that hardly anything ties to the others would make them small: it comes to stand at their rim. */
function bringIn(places) {
  const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const [x, y] = [middle(places.map((place) => place.x)), middle(places.map((place) => place.y))];
  const away = (place) => Math.hypot(place.x - x, place.y - y);
  const rim = 1.6 * middle(places.map(away));
  for (const place of places) {
    const share = Math.min(1, rim / (away(place) || 1));
    (place.x = x + share * (place.x - x)), (place.y = y + share * (place.y - y));
  }
  const spread = Math.sqrt(places.reduce((sum, place) => sum + away(place) ** 2, 0) / places.length) || 1;
  for (const place of places) (place.x *= 1.1 / spread), (place.y *= 1.1 / spread);
}

function pushApart(places) {
  let moved = false;
  for (let i = 0; i < places.length; i++) {
    for (let j = 0; j < i; j++) {
      const [a, b] = [places[i], places[j]];
      const [dx, dy] = [a.x - b.x || 1e-3, a.y - b.y || 1e-3];
      const distance = Math.hypot(dx, dy);
      const missing = 1.12 * (a.radius + b.radius) - distance;
      if (missing <= 1e-3) continue;
      const step = missing / 2 / distance;
      (a.x += dx * step), (a.y += dy * step), (b.x -= dx * step), (b.y -= dy * step);
      moved = true;
    }
  }
  return moved;
}
