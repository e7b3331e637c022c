// Plots beside the plane: weights, series along the frames, the path of gradient descent, bias and variance.

import { gridSegments, segmentsPath } from "./contour.js";
import { s, set } from "./elements.js";
import { superscript, ticks, formatNumber } from "./numbers.js";
import { spacePlot } from "./space_plot.js";

const WIDE = 340, HIGH = 214;

function canvasOf(name = null, [wide, high] = [WIDE, HIGH]) {
  return s("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", ...(name ? { "aria-label": name } : {}) });
}

// A line chart whose labels stand at the ends of the lines and avoid each other.
function chart(palette, { xs, series, log = false, low, high, left = 40, x, mark = null, at = null, knots = [] }) {
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
  for (const knot of knots) {
    svg.append(s("path", { class: "knot", d: `M${X(knot)} ${T}V${B}`, stroke: palette.muted, "stroke-dasharray": "1 4" }));
  }
  const labels = [];
  for (const { name, values, colour, dash, width = 2 } of series) {
    const drawn = (v, i) => {
      if (!Number.isFinite(v)) return null;
      return `${X(xs[i]).toFixed(1)} ${Y(Math.max(low - span, Math.min(high + span, v))).toFixed(1)}`;
    };
    const path = values.map(drawn).filter(Boolean);
    if (!path.length) continue;
    svg.append(s("path", {
      d: "M" + path.join("L"), fill: "none", stroke: colour, "stroke-width": width,
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
    for (let i = 0; i < array.data.length; i += array.shape[2]) {
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

  lift(lab, animation, frame, { title }) { return [title, spacePlot(lab, animation, frame, canvasOf)]; },

  series(lab, animation, frame, picture) {
    const { palette: p } = lab, { series: given, xs: places, log, title, x, knots = [], from_zero: fromZero } = picture;
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
    } else if (fromZero) {
      // One bad degree must not flatten the others.
      const all = series.flatMap((one) => one.values).sort((a, b) => a - b);
      [low, high] = [0, Math.min(all.at(-1), 3 * all[Math.floor(all.length / 2)])];
    } else if (places) {
      // Coefficients that explode as the penalty vanishes must not flatten the rest.
      const sizes = series.flatMap((one) => one.values.map(Math.abs)).sort((a, b) => a - b);
      high = Math.max(sizes[Math.floor(sizes.length * 0.85)] * 1.3, 1e-9);
      low = -high;
    }
    const at = picture.at == null ? frame : xs.indexOf(picture.at), mark = xs[Math.min(at, xs.length - 1)];
    return [title, chart(p, { xs, series, log, low, high, x, mark, at, knots })];
  },

  surface(lab, animation, frame, { title, box, nx, ny, loss, paths, endless }) {
    const p = lab.palette, svg = canvasOf("contours of the loss with the paths of both optimizers"), id = unique();
    const [l, r, b, t] = box, X = (v) => ((v - l) / (r - l)) * WIDE, Y = (v) => HIGH - ((v - b) / (t - b)) * HIGH;
    const frameBox = { width: WIDE, height: HIGH, rx: 6 }, inside = s("g", { "clip-path": `url(#${id})` });
    svg.append(s("clipPath", { id }, s("rect", { x: 0, y: 0, ...frameBox })), s("rect", { ...frameBox, fill: p.soft }), inside);
    const least = Math.min(...loss), most = Math.max(...loss), [sx, sy] = [WIDE / (nx - 1), HIGH / (ny - 1)];
    for (let i = 1; i <= 12; i++) {
      const level = least + (most - least) * (i / 13) ** 3, above = loss.map((v) => v - level);
      const segments = gridSegments(above, nx - 1, ny - 1).map((one) => one.map(([u, v]) => [u * sx, HIGH - v * sy]));
      const look = { fill: "none", stroke: p.accent, "stroke-opacity": 0.2 + 0.5 * (1 - i / 13) };
      inside.append(s("path", { d: segmentsPath(segments), ...look }));
    }
    paths.forEach(({ name, places }, k) => {
      const colour = k ? p.right : p.wrong, shown = k ? places : places.slice(0, frame + 1);
      const at = shown.map(([u, v]) => [X(u), Y(v)]), [x, y] = at.at(-1);
      const d = "M" + at.map((one) => one.map((v) => v.toFixed(1)).join(" ")).join("L");
      inside.append(s("path", { d, fill: "none", stroke: colour, "stroke-width": 2 }));
      for (const [cx, cy] of at.slice(0, 40)) inside.append(s("circle", { cx, cy, r: 2.4, fill: colour }));
      const look = { "font-size": 11, "font-weight": 600, fill: colour, stroke: p.soft, "stroke-width": 3 };
      inside.append(s("circle", { cx: x, cy: y, r: k ? 3.5 : 5.5, fill: colour, stroke: p.plane, "stroke-width": 1.5 }));
      svg.append(s("text", { x: 8, y: 16 + 15 * k, ...look, "paint-order": "stroke" }, name));
    });
    const small = { "font-size": 11, fill: p.muted }, end = { x: WIDE - 8, "text-anchor": "end" };
    svg.append(s("text", { ...end, y: HIGH - 8, ...small }, `weight of ${lab.state.names[0]}`));
    if (endless) svg.append(s("text", { ...end, y: 16, ...small, fill: p.ink }, "the loss has no minimum"));
    return [title, svg];
  },

  influence(lab, animation, frame, { title }) {
    const p = lab.palette, svg = canvasOf(title), { leverage, studentized_residual: residual } = animation.scene.influence;
    const [L, R, T, B] = [40, WIDE - 12, 10, HIGH - 32], known = lab.influence.index();
    const right = Math.max(...leverage) * 1.08, reach = Math.max(3, ...residual.map(Math.abs)) * 1.08;
    const X = (v) => L + (v / right) * (R - L), Y = (v) => (T + B) / 2 - (v / reach) * ((B - T) / 2);
    const small = { "font-size": 11, fill: p.muted };
    for (const v of ticks(-reach, reach, 4)) {
      svg.append(s("path", { d: `M${L} ${Y(v)}H${R}`, stroke: p.rule }));
      svg.append(s("text", { x: L - 6, y: Y(v) + 4, "text-anchor": "end", ...small }, formatNumber(v)));
    }
    for (const v of ticks(0, right, 4)) {
      svg.append(s("text", { x: X(v), y: B + 15, "text-anchor": "middle", ...small }, formatNumber(v)));
    }
    svg.append(s("text", { x: R, y: HIGH - 3, "text-anchor": "end", ...small }, "leverage"));
    leverage.forEach((v, i) => {
      if (v == null) return;
      const chosen = i === known, look = { fill: chosen ? p.wrong : p.ink, "fill-opacity": chosen ? 1 : 0.6 };
      svg.append(s("circle", { cx: X(v), cy: Y(residual[i]), r: chosen ? 6 : 3.4, ...look }));
    });
    return [title, svg];
  },

  contour(lab, animation, frame) {
    const { centre, cosine, path, title, names } = animation.picture, p = lab.palette, [mx, my] = [WIDE / 2, HIGH / 2];
    const svg = canvasOf("contours of the loss with the path of the steps"), start = path[0], id = unique();
    const away = ([a, b]) => Math.hypot(a - centre[0], b - centre[1]);
    // A path that diverges is followed by a wider view.
    const reach = Math.max(away(start), 0.9 * away(path[frame]), 1e-12) * 1.25;
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
    const { degrees, degree, frames, title } = animation.picture, p = lab.palette, none = degrees.map(() => NaN);
    const blank = { epe: none, bias2: none, variance: none, train_error: none, noise: none };
    const now = frames[frame] || blank;
    const series = [
      { name: "expected", values: now.epe, colour: p.wrong, width: 3 },
      { name: "bias²", values: now.bias2, colour: p.accent },
      { name: "variance", values: now.variance, colour: p.right },
      { name: "training", values: now.train_error, colour: p.muted, dash: "5 3" },
      { name: "noise", values: now.noise, colour: p.ink, dash: "2 3", width: 1.4 },
    ];
    const last = [...frames.at(-1).epe].sort((a, b) => a - b);
    const high = Math.max(2.6 * last[Math.floor(last.length / 2)], frames.at(-1).noise[0] * 2);
    const at = degrees.indexOf(degree);
    return [title, chart(p, { xs: degrees, series, low: 0, high, x: "degree", mark: degree, at })];
  },
};
