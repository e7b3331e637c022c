// What an animation draws under the points: shades, regions and boundaries, curves, certificates, Gaussians.

import { s, set } from "./elements.js";
import { rgb } from "./palette.js";

// --- the shade: probabilities or votes, as a picture of few pixels

export function drawShade(plane, animation, frame) {
  const { canvas, lab } = plane;
  const votes = animation && animation.shade === "votes" ? lab.votes(plane.main) : null;
  if (!animation || !(animation.shade === "probability" || votes)) {
    if (canvas.dataset.used) { canvas.width = 1; canvas.height = 1; delete canvas.dataset.used; }
    return;
  }
  canvas.dataset.used = "yes";
  const colours = animation.labels.map((label) => rgb(lab.palette.classes[label % 6])), most = lab.dark ? 0.44 : 0.32;
  if (votes) shadeVotes(plane, votes, colours, most);
  else shadeProbabilities(plane, animation.scorer(frame), colours, most);
}

function shadeVotes(plane, votes, colours, most) {
  const canvas = plane.canvas, context = canvas.getContext("2d"), image = new ImageData(votes.nx, votes.ny);
  for (let j = 0; j < votes.ny; j++) for (let i = 0; i < votes.nx; i++) {
    const from = j * votes.nx + i, to = 4 * ((votes.ny - 1 - j) * votes.nx + i);
    const colour = colours[votes.winner[from]];
    image.data.set([...colour, 255 * (0.05 + most * (votes.strength[from] / 100))], to);
  }
  const [l, r, b, t] = votes.view.map((v, i) => (i < 2 ? plane.X(v) : plane.Y(v)));
  const small = new OffscreenCanvas(votes.nx, votes.ny);
  small.getContext("2d").putImageData(image, 0, 0);
  canvas.width = Math.round(plane.width);
  canvas.height = Math.round(plane.height);
  context.imageSmoothingQuality = "high";
  context.drawImage(small, l, t, r - l, b - t);
}

function shadeProbabilities(plane, scorer, colours, most) {
  const canvas = plane.canvas, context = canvas.getContext("2d");
  const wide = Math.max(2, Math.round(plane.width / 4)), high = Math.max(2, Math.round(plane.height / 4));
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  const image = context.createImageData(wide, high), K = colours.length, scores = new Float64Array(K);
  for (let j = 0, at = 0; j < high; j++) {
    const y = plane.y((j + 0.5) * (plane.height / high));
    for (let i = 0; i < wide; i++, at += 4) {
      scorer(plane.x((i + 0.5) * (plane.width / wide)), y, scores);
      let top = -Infinity;
      for (let k = 0; k < K; k++) if (scores[k] > top) top = scores[k];
      let sum = 0, red = 0, green = 0, blue = 0;
      for (let k = 0; k < K; k++) {
        const e = Math.exp(scores[k] - top);
        sum += e; red += e * colours[k][0]; green += e * colours[k][1]; blue += e * colours[k][2];
      }
      image.data[at] = red / sum; image.data[at + 1] = green / sum; image.data[at + 2] = blue / sum;
      image.data[at + 3] = 255 * (0.04 + most * ((1 / sum - 1 / K) / (1 - 1 / K)));
    }
  }
  context.putImageData(image, 0, 0);
}

// --- the model of a frame

export function drawModel(plane, animation, frame) {
  if (!animation) { plane.clear("regions", "walk", "boundary", "curve", "faint", "squares"); return; }
  const vectors = animation.vectors(animation.weights, frame);
  drawRegions(plane, animation, vectors);
  drawBoundary(plane, animation, vectors);
  drawWalk(plane, animation, frame);
  drawCurves(plane, animation, frame);
  drawResiduals(plane, animation, frame);
}

function drawRegions(plane, animation, vectors) {
  const layer = plane.layer.regions, { palette: p, dark } = plane.lab;
  if (!vectors || (animation.shade !== "region" && vectors.length === 1)) { layer.replaceChildren(); return; }
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

// The part of a polygon where c + a x + b y ≥ 0.
function clip(polygon, c, a, b) {
  const inside = [];
  for (let i = 0; i < polygon.length; i++) {
    const [p, q] = [polygon[i], polygon[(i + 1) % polygon.length]];
    const [u, v] = [c + a * p[0] + b * p[1], c + a * q[0] + b * q[1]];
    if (u >= 0) inside.push(p);
    if (u >= 0 !== v >= 0) inside.push([p[0] + (u / (u - v)) * (q[0] - p[0]), p[1] + (u / (u - v)) * (q[1] - p[1])]);
  }
  return inside;
}

function drawBoundary(plane, animation, vectors) {
  const p = plane.lab.palette, lines = [];
  if (vectors && vectors.length === 1) {
    const [b, u, v] = vectors[0];
    lines.push([plane.line(vectors[0]), { stroke: p.ink, "stroke-width": 2.6 }]);
    // Dotted lines at probabilities of 0.1 and 0.9.
    const dotted = { stroke: p.ink, "stroke-width": 1, "stroke-opacity": 0.5, "stroke-dasharray": "1 4" };
    const logits = animation.shade === "probability" ? [-Math.log(9), Math.log(9)] : [];
    for (const logit of logits) lines.push([plane.line([b + logit, u, v]), dotted]);
  } else if (animation.fields) {
    lines.push([contour(plane, animation), { stroke: p.ink, "stroke-width": 2.4 }]);
  }
  plane.strokes(plane.layer.boundary, lines);
}

// Marching squares on the score of each class less the largest of the others.
function contour(plane, animation) {
  const scorer = animation.scorer(0), K = animation.labels.length, scores = new Float64Array(K);
  const nx = 150, ny = Math.max(40, Math.round((150 * plane.height) / plane.width));
  const field = Array.from({ length: K }, () => new Float64Array((nx + 1) * (ny + 1)));
  for (let j = 0; j <= ny; j++) for (let i = 0; i <= nx; i++) {
    scorer(plane.x((i / nx) * plane.width), plane.y((j / ny) * plane.height), scores);
    for (let k = 0; k < K; k++) {
      let best = -Infinity;
      for (let m = 0; m < K; m++) if (m !== k && scores[m] > best) best = scores[m];
      field[k][j * (nx + 1) + i] = scores[k] - best;
    }
  }
  const d = [], sx = plane.width / nx, sy = plane.height / ny;
  for (let k = K === 2 ? 1 : 0; k < K; k++) {
    const f = field[k];
    for (let j = 0; j < ny; j++) for (let i = 0; i < nx; i++) {
      const o = j * (nx + 1) + i, corner = [f[o], f[o + 1], f[o + nx + 2], f[o + nx + 1]], cut = [];
      const place = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      for (let e = 0; e < 4; e++) {
        const u = corner[e], v = corner[(e + 1) % 4];
        if (u >= 0 === v >= 0) continue;
        const w = u / (u - v), [a, b] = [place[e], place[(e + 1) % 4]];
        const [x, y] = [(a[0] + w * (b[0] - a[0])) * sx, (a[1] + w * (b[1] - a[1])) * sy];
        cut.push(`${x.toFixed(2)} ${y.toFixed(2)}`);
      }
      for (let e = 0; e + 1 < cut.length; e += 2) d.push(`M${cut[e]}L${cut[e + 1]}`);
    }
  }
  return d.join("");
}

// The current line if another one is drawn bold, the line before it, and the earlier voters.
function drawWalk(plane, animation, frame) {
  const { palette: p } = plane.lab, votes = animation.shade === "votes", show = [], faint = [];
  const walk = animation.vectors(animation.walk, frame);
  const before = frame > 0 ? animation.vectors(animation.walk || animation.weights, frame - 1) : null;
  if (walk && !votes) show.push([walk, { stroke: p.ink, "stroke-width": 1.4, "stroke-opacity": 0.55 }]);
  if (walk && votes) show.push([walk, { stroke: p.ink, "stroke-width": 2.4 }]);
  if (before && animation.unit !== "step" && plane.main) {
    show.push([before, { stroke: p.ink, "stroke-width": 1.2, "stroke-opacity": 0.45, "stroke-dasharray": "2 5" }]);
  }
  plane.strokes(plane.layer.walk, show.filter(([v]) => v.length === 1).map(([v, look]) => [plane.line(v[0]), look]));
  if (votes && animation.walk.shape[1] === 1) {
    const look = { stroke: p.ink, "stroke-width": 1, "stroke-opacity": 0.1 };
    for (let t = Math.max(0, frame - 60); t < frame; t++) {
      faint.push([plane.line(animation.vectors(animation.walk, t)[0]), look]);
    }
  }
  plane.strokes(plane.layer.faint, faint);
}

function drawCurves(plane, animation, frame) {
  const p = plane.lab.palette, [left, right, low, high] = plane.view, lines = [];
  const values = animation.curve(frame), experiment = animation.scene.experiment;
  if (experiment) {
    const at = animation.at.data, through = (ys) => plane.path(Array.from(at, (x, i) => [x, ys[i]]), false);
    const thin = { stroke: p.accent, "stroke-width": 1, "stroke-opacity": 0.28 };
    for (const fit of experiment.fits) lines.push([through(fit), thin]);
    const truth = { stroke: p.ink, "stroke-width": 2, "stroke-dasharray": "7 5" };
    if (experiment.truth) lines.push([through(experiment.truth), truth]);
    lines.push([through(experiment.mean), { stroke: p.accent, "stroke-width": 3.2 }]);
  }
  if (values) {
    const at = animation.at.data, limit = 40 * (high - low);
    const across = (heights) => [left, right].map((x) => [x, animation.height(heights, x)]);
    if (animation.scene.exact) {
      const look = { stroke: p.ink, "stroke-width": 1.4, "stroke-dasharray": "6 5", "stroke-opacity": 0.7 };
      lines.push([plane.path(across(animation.scene.exact), false), look]);
    }
    const ends = at.length === 2 ? across(values) : Array.from(at, (x, i) => [x, values[i]]);
    const bounded = ends.map(([x, y]) => [x, Math.max(low - limit, Math.min(high + limit, y))]);
    lines.push([plane.path(bounded, false), { stroke: p.accent, "stroke-width": 3 }]);
  }
  plane.strokes(plane.layer.curve, lines);
}

// Residuals as squares, whose sum is minimal; as lines if there are too many points.
function drawResiduals(plane, animation, frame) {
  const { palette: p, state } = plane.lab, layer = plane.layer.squares, values = animation.curve(frame);
  const points = values ? state.points : [], few = points.length <= 60;
  while (layer.childElementCount > points.length) layer.lastChild.remove();
  points.forEach(([x, y], i) => {
    const mark = layer.children[i] || layer.appendChild(s("path", { "stroke-width": 1 }));
    const [px, py] = [plane.X(x), plane.Y(y)];
    const fy = Math.max(-3000, Math.min(6000, plane.Y(animation.height(values, x))));
    const side = Math.abs(fy - py) * (px + Math.abs(fy - py) > plane.width ? -1 : 1);
    set(mark, {
      d: few ? `M${px} ${py}H${px + side}V${fy}H${px}Z` : `M${px} ${py}V${fy}`, fill: few ? p.wrong : "none",
      "fill-opacity": 0.09, stroke: p.wrong, "stroke-opacity": 0.5,
    });
  });
}

// --- what all frames share

export function drawScene(plane, animation) {
  plane.clear("band", "gaussians", "witness");
  const scene = animation ? animation.scene : {}, proof = scene.certificate;
  if (proof && proof.separator && animation.unit !== "step") drawMargin(plane, proof);
  if (proof && proof.witness && animation.unit !== "step") drawWitness(plane, proof);
  for (const [k, gaussian] of (scene.gaussians || []).entries()) drawGaussian(plane, animation.labels[k], gaussian);
  const p = plane.lab.palette, look = { r: 4, fill: p.ink, "fill-opacity": 0.75, stroke: p.plane };
  for (const [x, y] of scene.experiment ? scene.experiment.sample : []) {
    plane.layer.witness.append(s("circle", { cx: plane.X(x), cy: plane.Y(y), ...look }));
  }
}

function drawMargin(plane, proof) {
  const { right } = plane.lab.palette, [b, u, v] = proof.separator, reach = proof.margin;
  const band = clip(clip(plane.frame(), b + reach, u, v), reach - b, -u, -v);
  plane.layer.band.append(s("path", { d: plane.path(band), fill: right, "fill-opacity": 0.13 }));
  const look = { stroke: right, "stroke-width": 1.4, "stroke-dasharray": "7 5", fill: "none" };
  plane.layer.band.append(s("path", { d: plane.line(proof.separator), ...look }));
}

// The witness of overlap: points whose convex hulls meet, the hulls, and a common point.
function drawWitness(plane, proof) {
  const { palette: p, state } = plane.lab, layer = plane.layer.witness, byClass = new Map();
  for (const i of proof.witness) {
    const point = state.points[i];
    if (!point) return;
    byClass.set(point[2], [...(byClass.get(point[2]) || []), point]);
  }
  for (const [label, points] of byClass) {
    const colour = p.classes[label % 6];
    const middle = [0, 1].map((d) => points.reduce((sum, point) => sum + point[d], 0) / points.length);
    const angle = (point) => Math.atan2(point[1] - middle[1], point[0] - middle[0]);
    const around = [...points].sort((a, b) => angle(a) - angle(b));
    layer.append(s("path", {
      class: "hull", d: plane.path(around), fill: colour, "fill-opacity": 0.14, stroke: colour, "stroke-width": 2.4,
      "stroke-linejoin": "round",
    }));
    for (const [x, y] of points) {
      layer.append(s("circle", {
        cx: plane.X(x), cy: plane.Y(y), r: 12.5, fill: "none", stroke: colour, "stroke-width": 2,
      }));
    }
  }
  if (proof.meeting) {
    const [x, y] = [plane.X(proof.meeting[0]), plane.Y(proof.meeting[1])], a = 3.4;
    const ring = { cx: x, cy: y, r: 7.5, fill: p.plane, stroke: p.wrong, "stroke-width": 2.4 };
    const cross = `M${x - a} ${y - a}L${x + a} ${y + a}M${x + a} ${y - a}L${x - a} ${y + a}`;
    layer.append(s("circle", { class: "meeting", ...ring }));
    layer.append(s("path", { d: cross, stroke: p.wrong, "stroke-width": 2.2 }));
  }
}

// The mean as a cross, and the ellipses of one and two standard deviations.
function drawGaussian(plane, label, { mean, covariance }) {
  const p = plane.lab.palette, layer = plane.layer.gaussians, colour = p.classes[label % 6];
  for (const [radius, width, opacity] of [[1, 2.2, 0.95], [2, 1.4, 0.7]]) {
    const look = { fill: "none", stroke: colour, "stroke-width": width, "stroke-opacity": opacity };
    layer.append(s("path", { d: ellipse(plane, mean, covariance, radius), ...look }));
  }
  const [x, y] = [plane.X(mean[0]), plane.Y(mean[1])];
  for (const [arm, stroke, width] of [[9, p.plane, 6], [8, colour, 3]]) {
    const d = `M${x - arm} ${y}H${x + arm}M${x} ${y - arm}V${y + arm}`;
    layer.append(s("path", { d, stroke, "stroke-width": width }));
  }
}

function ellipse(plane, [mx, my], [[a, b], [, c]], radius) {
  const half = (a + c) / 2, root = Math.hypot((a - c) / 2, b), angle = Math.atan2(2 * b, a - c) / 2;
  const [long, short] = [Math.sqrt(half + root), Math.sqrt(Math.max(half - root, 0))];
  return plane.path(Array.from({ length: 72 }, (_, i) => {
    const t = (i / 72) * 2 * Math.PI, u = radius * long * Math.cos(t), v = radius * short * Math.sin(t);
    return [mx + u * Math.cos(angle) - v * Math.sin(angle), my + u * Math.sin(angle) + v * Math.cos(angle)];
  }));
}
