// Points lifted into space by a third feature, with the plane that separates them. Dragging turns the space.

import { s } from "./elements.js";
import { SHAPES } from "./palette.js";

const SIZE = [340, 250];
const turned = { around: -0.6, up: 0.45 };  // angles of the view, which stay when the plot is drawn again

export function spacePlot(lab, animation, frame, canvas) {
  const { palette: p, state, main } = lab, svg = canvas("points in space with the separating plane", SIZE);
  const [l, r, b, t] = main.view, points = state.points.map(([x, y, k]) => [x, y, animation.lifted(x, y), k]);
  const heights = points.map((one) => one[2]), low = Math.min(...heights, 0), high = Math.max(...heights, 1e-9);
  const scale = [[(l + r) / 2, (r - l) / 2], [(b + t) / 2, (t - b) / 2], [(low + high) / 2, (high - low) / 2 || 1]];
  const unit = (place) => place.slice(0, 3).map((v, i) => (v - scale[i][0]) / scale[i][1]);
  const project = (place) => {
    const [x, y, z] = unit(place), { around, up } = turned;
    const [u, v] = [x * Math.cos(around) - y * Math.sin(around), x * Math.sin(around) + y * Math.cos(around)];
    return [170 + 95 * u, 128 - 95 * (0.75 * z * Math.cos(up) + v * Math.sin(up)), v * Math.cos(up) - z * Math.sin(up)];
  };
  const path = (places) => "M" + places.map((one) => project(one).slice(0, 2).map((v) => v.toFixed(1)).join(" ")).join("L");
  svg.append(s("path", { d: path([[l, b, low], [r, b, low], [r, t, low], [l, t, low]]) + "Z", fill: p.soft, stroke: p.rule }));
  const vector = animation.vectors(animation.weights, frame)?.[0];
  if (vector && animation.labels.length === 2) {
    const cut = planeSection(vector, [[l, r], [b, t], [low, high]]);
    if (cut.length > 2) {
      const look = { class: "separating", fill: p.ink, "fill-opacity": 0.14, stroke: p.ink, "stroke-width": 1.4 };
      svg.append(s("path", { d: path(cut) + "Z", ...look }));
    }
  }
  const far = points.map((one) => [project(one), one[3]]).sort((one, other) => other[0][2] - one[0][2]);
  for (const [[x, y], k] of far) {
    svg.append(s("path", {
      d: SHAPES[k % 6], fill: p.classes[k % 6], stroke: p.plane, "stroke-width": 1,
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(0.75)`,
    }));
  }
  svg.style.cursor = "grab";
  svg.style.touchAction = "pan-y";
  svg.addEventListener("pointerdown", (event) => {
    const from = [event.clientX, event.clientY], { around, up } = turned;
    const move = (other) => {
      turned.around = around + (other.clientX - from[0]) * 0.01;
      turned.up = Math.max(-0.2, Math.min(1.4, up + (other.clientY - from[1]) * 0.01));
      lab.evidence.picture();
    };
    const end = () => { removeEventListener("pointermove", move); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end, { once: true });
  });
  return svg;
}

// The polygon in which the plane b + w·(x, y, z) = 0 cuts a box.
function planeSection([c, ...w], box) {
  const found = [];
  for (let axis = 0; axis < 3; axis++) for (const i of [0, 1]) for (const j of [0, 1]) {
    const [m, n] = [0, 1, 2].filter((one) => one !== axis), place = [];
    [place[m], place[n]] = [box[m][i], box[n][j]];
    if (!w[axis]) continue;
    const v = -(c + w[m] * place[m] + w[n] * place[n]) / w[axis];
    if (v >= box[axis][0] && v <= box[axis][1]) { place[axis] = v; found.push(place); }
  }
  if (found.length < 3) return found;
  // In order around their middle, seen along the normal.
  const middle = [0, 1, 2].map((d) => found.reduce((sum, one) => sum + one[d], 0) / found.length);
  const size = box.map(([from, to]) => to - from || 1), unit = (one) => one.map((v, d) => (v - middle[d]) / size[d]);
  const first = unit(found[0]), normal = w.map((v, d) => v * size[d]);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2], second = cross(normal, first);
  const angle = (one) => Math.atan2(dot(unit(one), second) / Math.hypot(...second), dot(unit(one), first) / Math.hypot(...first));
  return found.sort((one, other) => angle(one) - angle(other));
}
