// What the model of a frame draws under the points: regions, boundaries, lines of a walk, curves, squares.

import { clip } from "./clip.js";
import { scoreBoundaries, segmentsPath } from "./contour.js";
import { s, set } from "./elements.js";
import { placesAlong } from "./labels.js";
import { tenths } from "./numbers.js";
import { outline } from "./outline.js";

// Draw a frame, whose number may have a fraction while lines move; return the labels of its lines.
export function drawModel(plane, animation, frame) {
  if (!animation) { plane.clear("regions", "walk", "boundary", "curve", "faint", "squares", "aside"); return []; }
  const vectors = animation.vectors(animation.weights, frame), labels = [];
  drawRegions(plane, animation, vectors);
  drawBoundary(plane, animation, frame, vectors, labels);
  drawWalk(plane, animation, frame, labels);
  drawCurves(plane, animation, frame, labels);
  drawResiduals(plane, animation, frame);
  return labels;
}

function drawRegions(plane, animation, vectors) {
  const layer = plane.layer.regions, { palette: p, dark } = plane.lab;
  if (!vectors || animation.lift || (animation.shade !== "region" && vectors.length === 1)) {
    layer.replaceChildren();
    return;
  }
  const frame = plane.frame(), parts = [];
  if (vectors.length === 1) {
    const [b, u, v] = vectors[0];
    if (b || u || v) parts.push([clip(frame, -b, -u, -v), 0], [clip(frame, b, u, v), 1]);
  } else {
    vectors.forEach((mine, k) => {
      let part = frame;
      vectors.forEach((other, j) => {
        if (j !== k) part = clip(part, mine[0] - other[0], mine[1] - other[1], mine[2] - other[2]);
      });
      parts.push([part, k]);
    });
  }
  while (layer.childElementCount > parts.length) layer.lastChild.remove();
  parts.forEach(([polygon, k], i) => {
    const path = layer.children[i] || layer.appendChild(s("path"));
    set(path, {
      d: plane.path(polygon), fill: p.classes[animation.labels[k] % 6],
      "fill-opacity": animation.shade === "region" ? (dark ? 0.17 : 0.12) : 0,
      stroke: vectors.length > 1 ? p.ink : "none", "stroke-width": 2,
    });
  });
}

function drawBoundary(plane, animation, frame, vectors, labels) {
  const p = plane.lab.palette, lines = [], K = animation.labels.length;
  const name = animation.offset ? `probability ${animation.threshold}` : animation.line_names.weights;
  if (vectors && vectors.length === 1) {
    const [b, ...w] = vectors[0], level = (logit) => outline(plane, animation, [b - logit, ...w]);
    const main = level(animation.offset);
    lines.push([main.d, { stroke: p.ink, "stroke-width": 2.6 }]);
    if (name) labels.push({ text: name, colour: p.ink, places: placesAlong(plane, main.points), key: "boundary" });
    if (animation.shade === "probability" && plane.lab.layers.shows("probability")) {
      const dotted = { stroke: p.ink, "stroke-width": 1, "stroke-opacity": 0.5, "stroke-dasharray": "1 4" };
      for (const share of [0.1, 0.9]) {
        const { d, points } = level(Math.log(share / (1 - share)));
        lines.push([d, dotted]);
        labels.push({ text: String(share), colour: p.muted, places: placesAlong(plane, points), key: `p ${share}` });
      }
    }
  } else if (animation.fields || (vectors && animation.lift)) {
    const segments = scoreBoundaries(plane, animation.scorer(frame), K, animation.offset);
    lines.push([segmentsPath(segments), { stroke: p.ink, "stroke-width": 2.4 }]);
    const points = segments.map(([q]) => q);
    if (name) labels.push({ text: name, colour: p.ink, places: placesAlong(plane, points), key: "boundary" });
  }
  plane.strokes(plane.layer.boundary, lines);
}

// The current line if another one is drawn bold, the line before it, and the earlier voters.
function drawWalk(plane, animation, frame, labels) {
  const { palette: p } = plane.lab, votes = animation.shade === "votes", show = [], faint = [];
  const at = Math.round(frame), walk = animation.vectors(animation.walk, frame);
  const before = at > 0 ? animation.vectors(animation.walk || animation.weights, at - 1) : null;
  if (walk) {
    const look = votes ? { "stroke-width": 2.4 } : { "stroke-width": 1.4, "stroke-opacity": 0.55 };
    show.push([walk, { stroke: p.ink, ...look }, animation.line_names.walk, p.ink]);
  }
  if (before && animation.unit !== "step" && plane.main) {
    const look = { stroke: p.ink, "stroke-width": 1.2, "stroke-opacity": 0.45, "stroke-dasharray": "2 5" };
    show.push([before, look, "before", p.muted]);
  }
  plane.strokes(plane.layer.walk, show.filter(([v]) => v.length === 1).map(([v, look, text, colour]) => {
    const { d, points } = outline(plane, animation, v[0]);
    if (text) labels.push({ text, colour, places: placesAlong(plane, points), key: text });
    return [d, look];
  }));
  if (votes && animation.walk.shape[1] === 1) {
    const look = { stroke: p.ink, "stroke-width": 1, "stroke-opacity": 0.1 };
    for (let t = Math.max(0, at - (animation.lift ? 8 : 60)); t < at; t++) {
      faint.push([outline(plane, animation, animation.vectors(animation.walk, t)[0]).d, look]);
    }
  }
  plane.strokes(plane.layer.faint, faint);
}

function drawCurves(plane, animation, frame, labels) {
  const p = plane.lab.palette, [left, right, low, high] = plane.view, lines = [], layer = plane.layer.curve;
  const values = animation.curve(frame), { experiment } = animation.scene;
  const name = (text, colour, points) => {
    const places = placesAlong(plane, points.map(([x, y]) => [plane.X(x), plane.Y(y)]));
    if (text) labels.push({ text, colour, places });
  };
  const draw = (points, look, text) => {
    lines.push([plane.path(points, false), look]);
    name(text, look.stroke, points);
  };
  if (experiment) drawExperiment(plane, animation, experiment, Math.round(frame), draw);
  plane.clear("aside");
  if (values) {
    const at = animation.at.data, limit = 40 * (high - low), { exact } = animation.scene;
    const across = (heights) => [left, right].map((x) => [x, animation.height(heights, x)]);
    if (exact) {
      const look = { stroke: p.ink, "stroke-width": 1.4, "stroke-dasharray": "6 5", "stroke-opacity": 0.7 };
      draw(across(exact), look, animation.line_names.exact);
    }
    const without = plane.main && plane.lab.influence.curve();
    if (without) {
      const look = { stroke: p.right, "stroke-width": 2, "stroke-dasharray": "8 5" };
      draw(Array.from(at, (x, i) => [x, without[i]]), look, "without this point");
    }
    const ends = at.length === 2 ? across(values) : Array.from(at, (x, i) => [x, values[i]]);
    const bounded = ends.map(([x, y]) => [x, Math.max(low - limit, Math.min(high + limit, y))]);
    lines.push([plane.path(bounded, false), { stroke: p.accent, "stroke-width": 3 }]);
    const seen = ends.length === 2 ? sampled(ends) : ends;
    name(animation.line_names.curves, p.accent, seen);
    const above = seen.every(([, y]) => y > high), below = seen.every(([, y]) => y < low);
    if (above || below) offScreen(plane, above);
  }
  plane.strokes(layer, lines);
}

function sampled([[a, b], [c, d]]) {
  return Array.from({ length: 41 }, (_, i) => [a + (i / 40) * (c - a), b + (i / 40) * (d - b)]);
}

function offScreen(plane, above) {
  const { palette: p, unit: u } = plane.lab;
  plane.layer.aside.append(s("text", {
    class: "off-screen", x: plane.width / 2, y: above ? 2 * u : plane.height - 2.6 * u, "text-anchor": "middle",
    "font-size": 1.1 * u, "font-weight": 600, fill: p.accent, stroke: p.plane, "stroke-width": 4, "paint-order": "stroke",
  }, `fit is off-screen ${above ? "↑" : "↓"}`));
}

// The fits so far, the newest of them bold, their mean and the truth.
function drawExperiment(plane, animation, experiment, frame, draw) {
  const p = plane.lab.palette, at = animation.at.data, count = experiment.drawn[frame];
  const through = (ys) => Array.from(at, (x, i) => [x, ys[i]]);
  experiment.fits.slice(0, count).forEach((fit, k) => {
    const newest = k === count - 1 && count < experiment.fits.length;
    const look = { stroke: p.accent, "stroke-width": newest ? 1.8 : 1, "stroke-opacity": newest ? 0.9 : 0.3 };
    draw(through(fit), look, newest ? "this fit" : "");
  });
  const truth = { stroke: p.ink, "stroke-width": 2, "stroke-dasharray": "7 5" };
  if (experiment.truth) draw(through(experiment.truth), truth, "truth");
  if (count > 1) draw(through(experiment.means[count - 1]), { stroke: p.wrong, "stroke-width": 3.2 }, "mean of the fits");
}

// Residuals of training points as squares, whose sum is minimal; as lines if there are many or the fit is far away.
function drawResiduals(plane, animation, frame) {
  const { palette: p, state, layers } = plane.lab, layer = plane.layer.squares, values = animation.curve(frame);
  const test = new Set(plane.lab.reply.test), shown = values && layers.shows("squares");
  const points = shown ? state.points.filter((_, i) => !test.has(i)) : [], few = points.length <= 60;
  const squares = [], lines = [];
  for (const [x, y] of points) {
    const px = tenths(plane.X(x)), py = tenths(plane.Y(y)), fy = tenths(plane.Y(animation.height(values, x)));
    const seen = Math.max(-20, Math.min(plane.height + 20, fy));
    const side = tenths(Math.abs(fy - py) * (px + Math.abs(fy - py) > plane.width ? -1 : 1));
    if (few && seen === fy) squares.push(`M${px} ${py}H${tenths(px + side)}V${fy}H${px}Z`);
    else lines.push(`M${px} ${py}V${seen}`);
  }
  // Squares overlap and are paths of their own; lines are one path, which takes less time to draw.
  const paths = lines.length ? [...squares, lines.join("")] : squares;
  while (layer.childElementCount > paths.length) layer.lastChild.remove();
  paths.forEach((d, i) => {
    const mark = layer.children[i] || layer.appendChild(s("path", { "stroke-width": 1, "fill-opacity": 0.09, "stroke-opacity": 0.5 }));
    set(mark, { d, fill: i < squares.length ? p.wrong : "none", stroke: p.wrong });
  });
}
