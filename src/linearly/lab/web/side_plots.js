// Plots beside the plane: weights, series along the frames, the path of gradient descent, bias and variance.

import { s, set } from "./elements.js";
import { superscript, ticks, formatNumber } from "./numbers.js";

const WIDE = 340, HIGH = 214;

function canvasOf(name = null) {
  return s("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", ...(name ? { "aria-label": name } : {}) });
}

// A line chart whose labels stand at the ends of the lines and avoid each other.
function chart(palette, { xs, series, log = false, low, high, left = 40, x, mark = null, at = null }) {
  const svg = canvasOf(), small = { "font-size": 11, fill: palette.muted };
  const widest = Math.max(0, ...series.map((one) => (one.name || "").length));
  const [L, R, T, B] = [left, WIDE - 12 - 6.2 * widest, 10, HIGH - 32];
  const flat = series.flatMap((one) => one.values).filter(Number.isFinite);
  low ??= Math.min(...flat);
  high ??= Math.max(...flat);
  if (!(high > low)) { high = low + Math.abs(low || 1); }
  const [first, last] = [xs[0], xs.at(-1)], span = high - low;
  const X = (v) => L + ((v - first) / (last - first || 1)) * (R - L), Y = (v) => B - ((v - low) / span) * (B - T);
  for (const v of ticks(low, high, 4)) {
    svg.append(s("path", { d: `M${L} ${Y(v)}H${R}`, stroke: palette.rule }));
    const number = log ? `10${superscript(v)}` : formatNumber(v);
    svg.append(s("text", { x: L - 6, y: Y(v) + 4, "text-anchor": "end", ...small }, number));
  }
  for (const v of ticks(Math.min(first, last), Math.max(first, last), 5)) {
    svg.append(s("text", { x: X(v), y: B + 15, "text-anchor": "middle", ...small }, formatNumber(v)));
  }
  svg.append(s("text", { x: R, y: HIGH - 3, "text-anchor": "end", ...small }, x));
  if (mark != null) {
    const look = { stroke: palette.ink, "stroke-opacity": 0.45, "stroke-dasharray": "2 3" };
    svg.append(s("path", { d: `M${X(mark)} ${T}V${B}`, ...look }));
  }
  const labels = [];
  for (const { name, values, colour, dash, width = 2 } of series) {
    const drawn = (v, i) => {
      if (!Number.isFinite(v)) return null;
      return `${X(xs[i]).toFixed(1)} ${Y(Math.max(low - span, Math.min(high + span, v))).toFixed(1)}`;
    };
    svg.append(s("path", {
      d: "M" + values.map(drawn).filter(Boolean).join("L"), fill: "none", stroke: colour, "stroke-width": width,
      "stroke-dasharray": dash, "stroke-linejoin": "round",
    }));
    const end = [...values].reverse().find(Number.isFinite);
    if (name) labels.push({ y: Math.max(T, Math.min(B, Y(end ?? low))), name, colour });
    if (at == null || !Number.isFinite(values[at])) continue;
    const cy = Math.max(T - 4, Math.min(B + 4, Y(values[at])));
    svg.append(s("circle", { cx: X(xs[at]), cy, r: 4, fill: colour, stroke: palette.plane, "stroke-width": 1.5 }));
  }
  labels.sort((a, b) => a.y - b.y);
  const gap = Math.min(13, (B - T) / Math.max(labels.length, 1));
  labels.forEach((label, i) => { if (i) label.y = Math.max(label.y, labels[i - 1].y + gap); });
  labels.forEach((label, i) => { label.y = Math.min(label.y, B - gap * (labels.length - 1 - i)); });
  for (const { y, name, colour } of labels) {
    svg.append(s("text", { x: R + 6, y: y + 4, "font-size": 11, "font-weight": 600, fill: colour }, name));
  }
  // Clip the lines to the frame, so that they do not cross the labels.
  const id = unique(), frame = { x: L - 5, y: T - 6, width: R - L + 10, height: B - T + 12 };
  svg.prepend(s("clipPath", { id }, s("rect", frame)));
  const drawn = svg.querySelectorAll(":scope > path, :scope > circle");
  for (const child of drawn) set(child, { "clip-path": `url(#${id})` });
  return svg;
}

function unique() {
  return `cut${Math.random().toString(36).slice(2)}`;
}

function arrow(x, y, u, v, colour, width) {
  const size = Math.hypot(u - x, v - y);
  if (size < 2) return s("g");
  const [a, b] = [(u - x) / size, (v - y) / size], head = Math.min(9, size * 0.5), half = head * 0.5;
  const [p, q] = [u - head * a, v - head * b];
  const shaft = `M${x} ${y}L${u - head * 0.8 * a} ${v - head * 0.8 * b}`;
  return s("g", {},
    s("path", { d: shaft, stroke: colour, "stroke-width": width, fill: "none" }),
    s("path", { d: `M${u} ${v}L${p - half * b} ${q + half * a}L${p + half * b} ${q - half * a}Z`, fill: colour }));
}

// Each function draws one frame and returns a title and an SVG.
export const SIDE_PLOTS = {
  weights(lab, animation, frame) {
    const array = animation.walk || animation.weights, p = lab.palette;
    const svg = canvasOf("weights before and after the update");
    const V = array.shape[1], box = [0, 0, 0, 0];
    for (let i = 0; i < array.data.length; i += 3) {
      const [u, v] = [array.data[i + 1], array.data[i + 2]];
      if (u < box[0]) box[0] = u; else if (u > box[1]) box[1] = u;
      if (v < box[2]) box[2] = v; else if (v > box[3]) box[3] = v;
    }
    // One scale for the whole animation, so that nothing jumps from frame to frame.
    const reach = Math.max((box[1] - box[0]) / (WIDE - 84), (box[3] - box[2]) / (HIGH - 44), 1e-12);
    const [cx, cy] = [WIDE / 2 - (box[0] + box[1]) / 2 / reach, HIGH / 2 + (box[2] + box[3]) / 2 / reach];
    const place = (w) => [cx + w[1] / reach, cy - w[2] / reach];
    const axes = `M8 ${cy}H${WIDE - 8}M${cx} 8V${HIGH - 8}`;
    svg.append(s("rect", { width: WIDE, height: HIGH, rx: 6, fill: p.soft }));
    svg.append(s("path", { d: axes, stroke: p.rule, "stroke-width": 1.5 }));
    const now = animation.vectors(array, frame), then = frame ? animation.vectors(array, frame - 1) : null;
    if (V > 1) {
      now.forEach((w, k) => svg.append(arrow(cx, cy, ...place(w), p.classes[animation.labels[k] % 6], 3)));
      return ["Weights of the classes", svg];
    }
    if (then) {
      const point = lab.state.points[animation.rows[frame]], colour = point ? p.classes[point[2] % 6] : p.muted;
      svg.append(arrow(cx, cy, ...place(then[0]), p.muted, 2));
      svg.append(arrow(...place(then[0]), ...place(now[0]), colour, 2.6));
    }
    svg.append(arrow(cx, cy, ...place(now[0]), p.ink, 3.2));
    const [x, y] = place(now[0]);
    svg.append(s("text", {
      x: x + (x >= cx ? 8 : -8), y: y + (y > cy ? 12 : -4), "text-anchor": x >= cx ? "start" : "end", "font-size": 12,
      "font-weight": 600, fill: p.ink, stroke: p.plane, "stroke-width": 3, "paint-order": "stroke",
    }, "w"));
    return [then ? "w: before, the update, after" : "w begins at zero", svg];
  },

  series(lab, animation, frame) {
    const { palette: p } = lab, { series: given, xs: places, log, title, x } = animation.picture;
    const more = [p.muted, p.ink, p.classes[1], p.right, p.muted, p.ink, p.accent];
    const colours = [p.accent, p.wrong, ...p.classes.slice(2), ...more];
    const xs = places || Array.from({ length: Math.max(...given.map((one) => one.values.length)) }, (_, i) => i);
    let low, high, series = given.map(({ name, values }, i) => ({
      name, values, colour: colours[i % colours.length], dash: i % 2 && given.length > 4 ? "5 3" : null,
    }));
    if (log) {
      const all = series.flatMap((one) => one.values), least = Math.min(...all), most = Math.max(...all);
      low = Math.log10(Math.max(most - least, 1e-300)) - 9;
      const above = (v) => Math.max(low, Math.log10(Math.max(v - least, 1e-300)));
      series = series.map((one) => ({ ...one, values: one.values.map(above) }));
    } else if (places) {
      // Coefficients that explode as the penalty vanishes must not flatten the rest.
      const sizes = series.flatMap((one) => one.values.map(Math.abs)).sort((a, b) => a - b);
      high = Math.max(sizes[Math.floor(sizes.length * 0.85)] * 1.3, 1e-9);
      low = -high;
    }
    const mark = xs[Math.min(frame, xs.length - 1)];
    return [title, chart(p, { xs, series, log, low, high, x, mark, at: frame })];
  },

  contour(lab, animation, frame) {
    const { centre, cosine, path, title, names } = animation.picture, p = lab.palette, [mx, my] = [WIDE / 2, HIGH / 2];
    const svg = canvasOf("contours of the loss with the path of the steps"), start = path[0], id = unique();
    const reach = Math.max(Math.hypot(start[0] - centre[0], start[1] - centre[1]), 1e-12) * 1.25;
    const k = (my - 12) / reach, X = (v) => mx + (v - centre[0]) * k, Y = (v) => my - (v - centre[1]) * k;
    const frameBox = { width: WIDE, height: HIGH, rx: 6 }, inside = s("g", { "clip-path": `url(#${id})` });
    svg.append(s("clipPath", { id }, s("rect", { x: 0, y: 0, ...frameBox })));
    svg.append(s("rect", { ...frameBox, fill: p.soft }), inside);
    // The curvature is [[1, c], [c, 1]]: axes along (1, ±1), of eigenvalues 1 ± c.
    const wide = 1 / Math.sqrt(Math.max(1 - Math.abs(cosine), 1e-6)), thin = 1 / Math.sqrt(1 + Math.abs(cosine));
    for (let i = 1; i <= 9; i++) {
      const r = (reach * k * i * i) / 36;
      inside.append(s("ellipse", {
        cx: mx, cy: my, rx: r * wide, ry: r * thin, transform: `rotate(${cosine > 0 ? 45 : -45} ${mx} ${my})`,
        fill: p.accent, "fill-opacity": 0.05, stroke: p.accent, "stroke-opacity": 0.35,
      }));
    }
    const bounded = (v) => Math.max(-9999, Math.min(9999, v));
    const some = path.slice(0, frame + 1).map(([a, b]) => [bounded(X(a)), bounded(Y(b))]), [x, y] = some.at(-1);
    const steps = "M" + some.map((q) => q.join(" ")).join("L");
    inside.append(s("path", { d: steps, fill: "none", stroke: p.wrong, "stroke-width": 2 }));
    for (const [cx, cy] of some.slice(-80)) inside.append(s("circle", { cx, cy, r: 2.6, fill: p.wrong }));
    inside.append(s("circle", { cx: x, cy: y, r: 5.5, fill: p.wrong, stroke: p.plane, "stroke-width": 2 }));
    const cross = `M${mx - 5} ${my}H${mx + 5}M${mx} ${my - 5}V${my + 5}`;
    inside.append(s("path", { d: cross, stroke: p.ink, "stroke-width": 2 }));
    const small = { "font-size": 11, fill: p.muted };
    svg.append(s("text", { x: WIDE - 8, y: HIGH - 8, "text-anchor": "end", ...small }, names[0]));
    svg.append(s("text", { x: 8, y: 16, ...small }, names[1]));
    return [title, svg];
  },

  complexity(lab, animation, frame) {
    const { degrees, degree, frames, title } = animation.picture, p = lab.palette, now = frames[frame];
    const series = [
      { name: "expected", values: now.epe, colour: p.wrong, width: 3 },
      { name: "bias²", values: now.bias2, colour: p.accent },
      { name: "variance", values: now.variance, colour: p.right },
      { name: "training", values: now.train_error, colour: p.muted, dash: "5 3" },
      { name: "noise", values: now.noise, colour: p.ink, dash: "2 3", width: 1.4 },
    ];
    const last = [...frames.at(-1).epe].sort((a, b) => a - b);
    const high = Math.max(2.6 * last[Math.floor(last.length / 2)], now.noise[0] * 2);
    const at = degrees.indexOf(degree);
    return [title, chart(p, { xs: degrees, series, low: 0, high, x: "degree", mark: degree, at })];
  },
};
