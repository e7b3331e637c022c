// What all frames share: the certificate of separability or overlap, Gaussians, samples of an experiment.

import { clip } from "./clip.js";
import { outline } from "./outline.js";
import { s } from "./elements.js";
import { placesAlong } from "./labels.js";

// Draw the scene and return the labels of its parts.
export function drawScene(plane, animation, frame, proofShown) {
  plane.clear("band", "gaussians", "witness");
  const scene = animation ? animation.scene : {}, proof = scene.certificate, { lab } = plane, labels = [];
  const steps = animation?.unit === "step";
  if (proof?.separator && proofShown && !steps && lab.layers.shows("margin")) {
    labels.push(drawMargin(plane, animation, proof));
  }
  if (proof?.witness && proofShown && !steps) labels.push(...drawWitness(plane, animation, proof));
  if (scene.gaussians && lab.layers.shows("ellipses")) {
    for (const [k, gaussian] of scene.gaussians.entries()) {
      labels.push(drawGaussian(plane, animation.labels[k], gaussian, k === 0));
    }
  }
  const p = lab.palette, look = { r: 0.3 * lab.unit, fill: p.ink, "fill-opacity": 0.75, stroke: p.plane };
  const sample = scene.experiment ? scene.experiment.samples[scene.experiment.drawn[frame] - 1] : [];
  for (const [x, y] of sample) {
    plane.layer.witness.append(s("circle", { class: "sample", cx: plane.X(x), cy: plane.Y(y), ...look }));
  }
  return labels.filter(Boolean);
}

function drawMargin(plane, animation, proof) {
  const { right } = plane.lab.palette, [b, ...w] = proof.separator, reach = proof.margin, layer = plane.layer.band;
  const look = { stroke: right, "stroke-width": 1.4, "stroke-dasharray": "7 5", fill: "none" };
  const middle = outline(plane, animation, proof.separator);
  if (animation.lift) {
    for (const by of [-reach, reach]) {
      layer.append(s("path", { d: outline(plane, animation, [b + by, ...w]).d, ...look, "stroke-opacity": 0.5 }));
    }
  } else {
    const band = clip(clip(plane.frame(), b + reach, ...w), reach - b, ...w.map((v) => -v));
    layer.append(s("path", { class: "margin", d: plane.path(band), fill: right, "fill-opacity": 0.13 }));
  }
  layer.append(s("path", { d: middle.d, ...look }));
  return { text: "widest margin", colour: right, places: placesAlong(plane, middle.points) };
}

// The witness of overlap: points whose convex hulls meet, the hulls, and a common point.
function drawWitness(plane, animation, proof) {
  const { palette: p, state } = plane.lab, layer = plane.layer.witness, byClass = new Map();
  const labels = [], u = plane.lab.unit;
  for (const i of proof.witness) {
    const point = state.points[i];
    if (!point) return [];
    byClass.set(point[2], [...(byClass.get(point[2]) || []), point]);
  }
  for (const [label, points] of byClass) {
    const colour = p.classes[label % 6];
    const middle = [0, 1].map((d) => points.reduce((sum, point) => sum + point[d], 0) / points.length);
    const angle = (point) => Math.atan2(point[1] - middle[1], point[0] - middle[0]);
    const around = [...points].sort((a, b) => angle(a) - angle(b));
    if (!animation.lift) layer.append(s("path", {
      class: "hull", d: plane.path(around), fill: colour, "fill-opacity": 0.14, stroke: colour, "stroke-width": 2.4,
      "stroke-linejoin": "round",
    }));
    labels.push({
      text: "witness", colour, places: points.map(([x, y]) => [plane.X(x), plane.Y(y)]), key: `witness ${label}`,
    });
    for (const [x, y] of points) {
      layer.append(s("circle", {
        cx: plane.X(x), cy: plane.Y(y), r: 0.96 * u, fill: "none", stroke: colour, "stroke-width": 2,
      }));
    }
  }
  if (proof.meeting && !animation.lift) {
    const [x, y] = [plane.X(proof.meeting[0]), plane.Y(proof.meeting[1])], a = 3.4;
    const ring = { cx: x, cy: y, r: 7.5, fill: p.plane, stroke: p.wrong, "stroke-width": 2.4 };
    const cross = `M${x - a} ${y - a}L${x + a} ${y + a}M${x + a} ${y - a}L${x - a} ${y + a}`;
    layer.append(s("circle", { class: "meeting", ...ring }));
    layer.append(s("path", { d: cross, stroke: p.wrong, "stroke-width": 2.2 }));
    labels.push({ text: "in both hulls", colour: p.wrong, places: [[x, y]] });
  }
  return labels;
}

// The mean as a cross, and the ellipses of one and two standard deviations.
function drawGaussian(plane, label, { mean, covariance }, named) {
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
  if (!named) return null;
  const top = ellipsePoints(mean, covariance, 2).map(([a, b]) => [plane.X(a), plane.Y(b)]);
  return { text: "2 standard deviations", colour, places: placesAlong(plane, top) };
}

function ellipse(plane, mean, covariance, radius) {
  return plane.path(ellipsePoints(mean, covariance, radius));
}

function ellipsePoints([mx, my], [[a, b], [, c]], radius) {
  const half = (a + c) / 2, root = Math.hypot((a - c) / 2, b), angle = Math.atan2(2 * b, a - c) / 2;
  const [long, short] = [Math.sqrt(half + root), Math.sqrt(Math.max(half - root, 0))];
  return Array.from({ length: 72 }, (_, i) => {
    const t = (i / 72) * 2 * Math.PI, u = radius * long * Math.cos(t), v = radius * short * Math.sin(t);
    return [mx + u * Math.cos(angle) - v * Math.sin(angle), my + u * Math.sin(angle) + v * Math.cos(angle)];
  });
}
