// The plane: coordinates, axes, points, and the layers of an animation in their order.

import { h, s, set, shorten } from "./elements.js";
import { usedClasses } from "./animation.js";
import { drawModel, drawScene, drawShade } from "./layers.js";
import { labelledTicks } from "./numbers.js";
import { COLOURS, SHAPES } from "./palette.js";

// What changes from frame to frame lies under the points, which then need not be drawn again.
const UNDER = [
  "grid", "regions", "band", "faint", "squares", "walk", "boundary", "curve", "gaussians", "witness", "rings",
];
const ABOVE = ["points", "legend", "over"];

export class Plane {
  constructor(lab, main) {
    this.lab = lab;
    this.main = main;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.svg = s("svg", main
      ? { id: "plot", tabindex: "0", role: "application", "aria-roledescription": "plane of points" }
      : { role: "img", "aria-label": "second model on the same points" });
    this.under = s("svg", { class: "under", "aria-hidden": "true" });
    this.layer = {};
    for (const name of UNDER) this.under.append((this.layer[name] = s("g", { class: name })));
    for (const name of ABOVE) {
      this.layer[name] = s("g", { class: name, "pointer-events": name === "points" ? null : "none" });
      this.svg.append(this.layer[name]);
    }
    this.caption = h("div", { class: "caption" });
    this.trouble = h("div", { class: "trouble", hidden: true });
    this.element = h("div", { class: "plane" }, this.canvas, this.under, this.svg, this.caption, this.trouble);
    this.marks = [];
    this.width = 0;
    this.height = 0;
  }

  // --- from the data to the screen and back

  fit() {
    const box = this.element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) return false;
    this.width = box.width;
    this.height = box.height;
    const viewBox = `0 0 ${box.width.toFixed(1)} ${box.height.toFixed(1)}`;
    for (const svg of [this.under, this.svg]) set(svg, { viewBox });
    let [l, r, b, t] = this.lab.experimentView() || this.lab.base;
    const ratio = ((r - l) / this.width) / ((t - b) / this.height);
    if (ratio > 0.25 && ratio < 4 && !this.lab.experimentView()) {
      // Similar units: one scale for both axes, so that a right angle looks like one.
      if (ratio > 1) { const more = ((t - b) * (ratio - 1)) / 2; t += more; b -= more; }
      else { const more = ((r - l) * (1 / ratio - 1)) / 2; r += more; l -= more; }
    }
    this.view = [l, r, b, t];
    return true;
  }

  X(x) { return ((x - this.view[0]) / (this.view[1] - this.view[0])) * this.width; }
  Y(y) { return ((this.view[3] - y) / (this.view[3] - this.view[2])) * this.height; }
  x(px) { return this.view[0] + (px / this.width) * (this.view[1] - this.view[0]); }
  y(py) { return this.view[3] - (py / this.height) * (this.view[3] - this.view[2]); }

  path(points, close = true) {
    if (!points.length) return "";
    const places = points.map(([x, y]) => `${this.X(x).toFixed(2)} ${this.Y(y).toFixed(2)}`);
    return `M${places.join("L")}${close ? "Z" : ""}`;
  }

  frame(box = 0.02) {
    const [l, r, b, t] = this.view, u = (r - l) * box, v = (t - b) * box;
    return [[l - u, b - v], [r + u, b - v], [r + u, t + v], [l - u, t + v]];
  }

  // The visible part of the line c + a x + b y = 0.
  line(vector) {
    const [c, a, b] = vector;
    if (a === 0 && b === 0) return "";
    const frame = this.frame(), cut = [];
    for (let i = 0; i < 4; i++) {
      const [p, q] = [frame[i], frame[(i + 1) % 4]];
      const [u, v] = [c + a * p[0] + b * p[1], c + a * q[0] + b * q[1]];
      if (u >= 0 !== v >= 0) cut.push([p[0] + (u / (u - v)) * (q[0] - p[0]), p[1] + (u / (u - v)) * (q[1] - p[1])]);
    }
    return cut.length === 2 ? this.path(cut, false) : "";
  }

  // --- drawing

  paint(animation, frame, what) {
    this.animation = animation;
    if (what.view) this.grid();
    if (what.view || what.points) this.points();
    drawShade(this, animation, frame);
    drawModel(this, animation, frame);
    if (what.animation || what.view || what.points) drawScene(this, animation);
    this.judge(animation, frame);
    this.over(animation, frame);
  }

  clear(...names) {
    for (const name of names) this.layer[name].replaceChildren();
  }

  // Draw the paths of a layer, reusing the elements of the frame before.
  strokes(layer, lines) {
    while (layer.childElementCount > lines.length) layer.lastChild.remove();
    const round = { fill: "none", "stroke-linecap": "round", "stroke-linejoin": "round" };
    lines.forEach(([d, look], i) => {
      const path = layer.children[i] || layer.appendChild(s("path", round));
      const plain = { stroke: null, "stroke-width": null, "stroke-opacity": null, "stroke-dasharray": null };
      set(path, { d, ...plain, ...look });
    });
  }

  grid() {
    const p = this.lab.palette, g = this.layer.grid, [l, r, b, t] = this.view;
    g.replaceChildren();
    const rule = (d, v) => g.append(s("path", {
      d, stroke: p.rule, "stroke-opacity": v === 0 ? 1 : 0.55, "stroke-width": v === 0 ? 1.5 : 1,
    }));
    const number = (kind, x, y, text) => {
      if (text) g.append(s("text", { class: `tick ${kind}`, x, y, fill: p.muted, "font-size": 11 }, text));
    };
    const names = this.lab.experimentView() ? ["x", "y"] : this.lab.state.names;
    const across = labelledTicks(l, r, this.width / 110, (x) => this.X(x) > 30 && this.X(x) < this.width - 34);
    for (const [x, text] of across) {
      rule(`M${this.X(x)} 0V${this.height}`, x);
      number("x", this.X(x) + 4, this.height - 7, text);
    }
    const head = this.caption.textContent ? 74 : 36;
    const up = labelledTicks(b, t, this.height / 90, (y) => this.Y(y) > head && this.Y(y) < this.height - 20);
    for (const [y, text] of up) {
      rule(`M0 ${this.Y(y)}H${this.width}`, y);
      number("y", 7, this.Y(y) - 4, text);
    }
    // The name of the x axis stands above its numbers, so that they do not collide.
    const name = (text, room, look) => {
      const mark = s("text", { class: "axis", fill: p.ink, "font-size": 13, "font-weight": 600, ...look }, text);
      g.append(mark);
      shorten(mark, text, room);
    };
    name(names[0], this.width - 70, { x: this.width - 10, y: this.height - 24, "text-anchor": "end" });
    this.legend();
    name(names[1], this.legendLeft - 20, { x: 7, y: this.caption.textContent ? 58 : 20 });
  }

  legend() {
    // A legend, unless the classes are named after their colours.
    const { palette: p, state } = this.lab, layer = this.layer.legend, found = usedClasses(state);
    const key = [this.main && this.lab.task(), this.width, p.plane, found, ...state.classes].join("\n");
    if (this.legendKey === key) return;  // texts are measured, which is slow while the plane is moved
    this.legendKey = key;
    this.legendLeft = this.width;
    layer.replaceChildren();
    if (!this.main || this.lab.task() !== "classes" || found.every((k) => state.classes[k] === COLOURS[k])) return;
    const back = s("rect", { rx: 5, fill: p.plane, "fill-opacity": 0.8 }), rows = [];
    layer.append(back);
    for (const [i, k] of found.entries()) {
      const y = 22 + 18 * i, text = s("text", { y: y + 4, "font-size": 12, fill: p.ink }, state.classes[k]);
      const mark = s("path", { d: SHAPES[k % 6], fill: p.classes[k % 6] });
      layer.append(mark, text);
      shorten(text, state.classes[k], Math.min(190, 0.34 * this.width));
      rows.push({ mark, text, y, wide: text.getComputedTextLength() });
    }
    const widest = Math.max(...rows.map((row) => row.wide)), left = this.width - 14 - widest;
    for (const { mark, text, y } of rows) {
      set(mark, { transform: `translate(${(left - 13).toFixed(1)} ${y})` });
      set(text, { x: left.toFixed(1) });
    }
    this.legendLeft = left - 26;
    const height = 18 * found.length + 10;
    set(back, { x: this.legendLeft.toFixed(1), y: 8, width: (widest + 34).toFixed(1), height });
  }

  points() {
    const { palette: p, state, selected } = this.lab, layer = this.layer.points, n = state.points.length;
    const hidden = Boolean(this.lab.experimentView());
    const curve = this.lab.task() !== "classes";
    const size = this.size = (n > 800 ? 0.6 : n > 250 ? 0.8 : n > 100 ? 1 : 1.25) * (this.width < 480 ? 0.9 : 1);
    while (this.marks.length > n || (hidden && this.marks.length)) this.marks.pop().remove();
    if (hidden) return;
    while (this.marks.length < n) {
      const mark = s("path", { class: "point", "vector-effect": "non-scaling-stroke" });
      mark.dataset.index = this.marks.length;
      this.marks.push(mark);
      layer.append(mark);
    }
    const all = [...this.view, this.width, this.height, size, curve, p.plane].join();
    state.points.forEach(([x, y, label], i) => {
      const mark = this.marks[i], large = i === selected && this.main, was = mark.shown;
      // While one point is dragged, the others are left alone.
      if (was && was.x === x && was.y === y && was.label === label && was.large === large && was.all === all) return;
      mark.shown = { x, y, label, large, all };
      const scale = large ? size * 1.35 : size;
      set(mark, {
        d: SHAPES[curve ? 0 : label % 6], fill: curve ? p.ink : p.classes[label % 6], stroke: p.plane,
        "stroke-width": 1.1, transform: `translate(${this.X(x).toFixed(2)} ${this.Y(y).toFixed(2)}) scale(${scale})`,
      });
    });
  }

  judge(animation, frame) {
    // Misclassified points get a ring at a distance, which is visible on every colour.
    const p = this.lab.palette, scorer = animation && animation.labels.length ? animation.scorer(frame) : null;
    const scores = new Float64Array(animation ? animation.labels.length : 0);
    const votes = animation && animation.shade === "votes" ? this.lab.votes(this.main) : null;
    const wrongs = votes && new Set(votes.wrong), r = 7.3 * this.size, rings = [];
    this.lab.state.points.forEach(([x, y, label], i) => {
      if (!this.marks[i]) return;
      let wrong = false;
      if (wrongs) wrong = wrongs.has(i);
      else if (scorer) {
        scorer(x, y, scores);
        wrong = animation.labels[animation.winner(scores)] !== label;
      }
      const left = `${(this.X(x) - r).toFixed(1)} ${this.Y(y).toFixed(1)}`;
      if (wrong) rings.push(`M${left}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`);
    });
    const look = { stroke: p.wrong, "stroke-width": this.marks.length > 250 ? 1.5 : 2.2 };
    this.strokes(this.layer.rings, rings.length ? [[rings.join(""), look]] : []);
  }

  over(animation, frame) {
    // Highlights: the row of this update, the selected point, the keyboard's cursor.
    const { palette: p, state, selected, cursor } = this.lab, layer = this.layer.over;
    layer.replaceChildren();
    if (!this.main) return;
    const ring = (x, y, r, look) => layer.append(s("circle", { ...look, cx: x, cy: y, r, fill: "none" }));
    const row = animation && animation.rows.length ? animation.rows[frame] : -1;
    if (row >= 0 && state.points[row]) {
      const [x, y, label] = state.points[row], [px, py] = [this.X(x), this.Y(y)];
      ring(px, py, 15.5, { class: "current", stroke: p.ink, "stroke-width": 2.4 });
      const array = animation.walk || animation.weights;
      if (array && array.shape[1] === 1) this.push(animation, array, frame, px, py, p.classes[label % 6]);
    }
    if (selected != null && state.points[selected]) {
      const [x, y] = state.points[selected];
      ring(this.X(x), this.Y(y), 11, { stroke: p.accent, "stroke-width": 2, "stroke-dasharray": "3 3" });
    }
    if (cursor) {
      const [x, y] = [this.X(cursor[0]), this.Y(cursor[1])];
      const d = `M${x - 12} ${y}H${x + 12}M${x} ${y - 12}V${y + 12}`;
      layer.append(s("path", { class: "cursor", d, stroke: p.accent, "stroke-width": 2 }));
    }
  }

  push(animation, array, frame, px, py, colour) {
    // The direction of the update y·x as an arrow of fixed length at the point.
    const { palette: p } = this.lab, layer = this.layer.over, [l, r, b, t] = this.view;
    const [now, then] = [animation.vectors(array, frame)[0], animation.vectors(array, frame - 1)[0]];
    const dx = (now[1] - then[1]) * (r - l) / this.width, dy = -(now[2] - then[2]) * (t - b) / this.height;
    const norm = Math.hypot(dx, dy);
    if (!(norm > 0)) return;
    const [ux, uy] = [dx / norm, dy / norm];
    const [sx, sy, ex, ey] = [px + 17 * ux, py + 17 * uy, px + 62 * ux, py + 62 * uy];
    const head = `M${ex + 9 * ux} ${ey + 9 * uy}L${ex - 7 * uy} ${ey + 7 * ux}L${ex + 7 * uy} ${ey - 7 * ux}Z`;
    layer.append(s("path", { class: "update", d: `M${sx} ${sy}L${ex} ${ey}`, stroke: colour, "stroke-width": 3.4 }));
    layer.append(s("path", { d: head, fill: colour }));
    const right = ux > -0.2;
    layer.append(s("text", {
      x: ex + (right ? 16 : -16), y: ey + 5, "text-anchor": right ? "start" : "end", "font-size": 14,
      "font-weight": 600, fill: p.ink, stroke: p.plane, "stroke-width": 4, "paint-order": "stroke",
    }, now[0] > then[0] ? "+ x" : "− x"));
  }
}
