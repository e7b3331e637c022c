// Names of lines, curves and rings on the plane, each at a place of its own that covers few points.

import { s } from "./elements.js";

const ALONG = [0.1, 0.9, 0.22, 0.78, 0.35, 0.65, 0.5];
const SIDES = [[1, -1], [1, 1], [-1, -1], [-1, 1]];

// Places along the visible part of a line or curve, given as pixels.
export function placesAlong(plane, points) {
  if (points.length === 2) {
    const [[a, b], [c, d]] = points;
    return ALONG.map((share) => [a + share * (c - a), b + share * (d - b)]);
  }
  const seen = points.filter(([x, y]) => x >= 0 && x <= plane.width && y >= 0 && y <= plane.height);
  return seen.length ? ALONG.map((share) => seen[Math.round(share * (seen.length - 1))]) : [];
}

// Draw texts [{ text, colour, places, key }]; a text keeps its place while that is good enough.
export function drawLabels(plane, wanted) {
  const { lab } = plane, u = lab.unit, size = 0.92 * u, layer = plane.layer.labels, taken = [];
  const dots = lab.state.points.map(([x, y]) => [plane.X(x), plane.Y(y)]);
  const legend = plane.layer.legend.querySelector("rect");
  if (legend) {
    const [x, y, wide, high] = ["x", "y", "width", "height"].map((name) => Number(legend.getAttribute(name)));
    taken.push([x, y, x + wide, y + high]);
  }
  plane.labelPlaces ??= new Map();
  layer.replaceChildren();
  for (const { text, colour, places, key = text } of wanted) {
    const wide = 0.56 * size * text.length + 4, high = 1.25 * size, gap = 0.5 * u;
    let best = null;
    const last = plane.labelPlaces.get(key);
    places.forEach(([px, py], i) => SIDES.forEach(([right, down], j) => {
      const left = right > 0 ? px + gap : px - gap - wide, top = down > 0 ? py + 0.4 * gap : py - 0.4 * gap - high;
      const box = [left, top, left + wide, top + high];
      if (box[0] < 4 || box[1] < 4 || box[2] > plane.width - 4 || box[3] > plane.height - 2.2 * u) return;
      const [l, t, r, b] = box;
      if (taken.some((other) => l < other[2] && r > other[0] && t < other[3] && b > other[1])) return;
      let cost = 0.1 * i + 0.02 * j - (last === `${i} ${j}` ? 1.5 : 0);
      for (const [x, y] of dots) if (x > l - 5 && x < r + 5 && y > t - 5 && y < b + 5) cost += 1;
      if (!best || cost < best.cost) best = { cost, box, id: `${i} ${j}` };
    }));
    if (!best) continue;
    plane.labelPlaces.set(key, best.id);
    taken.push(best.box);
    layer.append(s("text", {
      class: "label", x: (best.box[0] + 2).toFixed(1), y: (best.box[3] - 0.32 * size).toFixed(1), fill: colour,
      "font-size": size.toFixed(1), "font-weight": 600, stroke: lab.palette.plane, "stroke-width": 4,
      "stroke-linejoin": "round", "paint-order": "stroke",
    }, text));
  }
}
