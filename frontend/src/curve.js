// The expected accuracy against the labels given, as a small line.
import { h, percent, svg } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [360, 130, 46, 22];

export function curve(points) {
  const [counts, values] = [points.map((point) => point[0]), points.map((point) => point[1])];
  const [lowX, highX] = [Math.min(...counts), Math.max(...counts, Math.min(...counts) + 1)];
  const margin = Math.max(0.002, 0.15 * (Math.max(...values) - Math.min(...values)));
  const [lowY, highY] = [Math.min(...values) - margin, Math.max(...values) + margin];
  const at = ([n, value]) => [
    LEFT + ((n - lowX) / (highX - lowX)) * (WIDTH - LEFT - 10),
    HEIGHT - BOTTOM - ((value - lowY) / (highY - lowY)) * (HEIGHT - BOTTOM - 8),
  ];
  const text = (x, y, words, anchor) => svg("text", { x, y, "text-anchor": anchor, fill: "currentColor", "font-size": 11 }, words);
  const last = points[points.length - 1];
  const [x, y] = at(last);
  const said = `From ${percent(values[0], 1)} with ${counts[0]} labels to ${percent(last[1], 1)} with ${last[0]}.`;
  return h("figure", { class: "curve" },
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Expected accuracy against labels given. ${said}` },
      svg("line", { x1: LEFT, x2: WIDTH - 10, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, stroke: "currentColor", opacity: 0.3 }),
      text(LEFT - 4, at([lowX, highY - margin])[1] + 4, percent(highY - margin, 1), "end"),
      text(LEFT - 4, at([lowX, lowY + margin])[1] + 4, highY - lowY > 2.5 * margin ? percent(lowY + margin, 1) : "", "end"),
      text(LEFT, HEIGHT - 6, `${lowX} labels`, "start"),
      text(WIDTH - 10, HEIGHT - 6, `${Math.max(...counts)}`, "end"),
      svg("polyline", { points: points.map((point) => at(point).map((value) => value.toFixed(1)).join(",")).join(" "), fill: "none", stroke: "var(--strong)", "stroke-width": 2 }),
      svg("circle", { cx: x, cy: y, r: 4, fill: "var(--strong)" })),
    h("figcaption", {}, said));
}
