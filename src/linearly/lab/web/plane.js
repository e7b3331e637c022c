// The plane: coordinates, axes, points, and the layers of an animation in their order.

import { h, s, set, shorten } from "./elements.js";
import { usedClasses } from "./animation.js";
import { drawLabels } from "./labels.js";
import { drawModel } from "./layers.js";
import { labelledTicks } from "./numbers.js";
import { COLOURS, SHAPES } from "./palette.js";
import { drawScene } from "./scene.js";
import { drawShade } from "./shade.js";

// What changes from frame to frame lies under the points, which then need not be drawn again.
const UNDER = [
  "grid", "regions", "band", "faint", "squares", "walk", "boundary", "curve", "gaussians", "aside", "witness", "rings",
];
const ABOVE = ["points", "legend", "over", "labels"];

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
    this.showAll = h("button", {
      type: "button", class: "show-all", hidden: true, onclick: () => lab.showAll(),
    }, "Show all");
    this.element = h("div", { class: "plane" },
      this.canvas, this.under, this.svg, this.caption, this.trouble, main ? this.showAll : null);
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

  // Both ends in pixels of the visible part of the line c + a x + b y = 0.
  ends(vector) {
    const [c, a, b] = vector;
    if (a === 0 && b === 0) return [];
    const frame = this.frame(), cut = [];
    for (let i = 0; i < 4; i++) {
      const [p, q] = [frame[i], frame[(i + 1) % 4]];
      const [u, v] = [c + a * p[0] + b * p[1], c + a * q[0] + b * q[1]];
      if (u >= 0 !== v >= 0) cut.push([p[0] + (u / (u - v)) * (q[0] - p[0]), p[1] + (u / (u - v)) * (q[1] - p[1])]);
    }
    return cut.length === 2 ? cut.map(([x, y]) => [this.X(x), this.Y(y)]) : [];
  }

  // --- drawing

  // Draw a frame; `moving` is its number with a fraction while lines move to it.
  paint(animation, frame, what, moving = frame) {
    const { lab } = this, proof = lab.proofShown(animation, frame);
    this.animation = animation;
    if (what.view) this.grid();
    if (what.view || what.points) this.points();
    const model = lab.layers.shows("model") ? animation : null;
    drawShade(this, model, moving);
    const labels = drawModel(this, model, moving), scene = [proof, animation?.scene.experiment && frame].join();
    if (what.animation || what.view || what.points || scene !== this.scene) {
      this.sceneLabels = drawScene(this, animation, frame, proof);
      this.scene = scene;
    }
    this.judge(model, frame);
    this.over(animation, frame);
    drawLabels(this, lab.layers.shows("labels") && animation ? [...labels, ...this.sceneLabels] : []);
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
    const { palette: p, unit: u } = this.lab, g = this.layer.grid, [l, r, b, t] = this.view;
    g.replaceChildren();
    const rule = (d, v) => g.append(s("path", {
      d, stroke: p.rule, "stroke-opacity": v === 0 ? 1 : 0.55, "stroke-width": v === 0 ? 1.5 : 1,
    }));
    const number = (kind, x, y, text) => {
      if (text) g.append(s("text", { class: `tick ${kind}`, x, y, fill: p.muted, "font-size": 0.85 * u }, text));
    };
    const names = this.lab.experimentView() ? ["x", "y"] : this.lab.state.names;
    const across = labelledTicks(l, r, this.width / (8.5 * u), (x) => this.X(x) > 2.3 * u && this.X(x) < this.width - 2.6 * u);
    for (const [x, text] of across) {
      rule(`M${this.X(x)} 0V${this.height}`, x);
      number("x", this.X(x) + 4, this.height - 0.54 * u, text);
    }
    const head = (this.caption.textContent ? 5.7 : 2.8) * u;
    const up = labelledTicks(b, t, this.height / (7 * u), (y) => this.Y(y) > head && this.Y(y) < this.height - 1.6 * u);
    for (const [y, text] of up) {
      rule(`M0 ${this.Y(y)}H${this.width}`, y);
      number("y", 7, this.Y(y) - 4, text);
    }
    // The name of the x axis stands above its numbers, so that they do not collide.
    const name = (text, room, look) => {
      const mark = s("text", { class: "axis", fill: p.ink, "font-size": u, "font-weight": 600, ...look }, text);
      g.append(mark);
      shorten(mark, text, room);
    };
    name(names[0], this.width - 70, { x: this.width - 10, y: this.height - 1.85 * u, "text-anchor": "end" });
    this.legend();
    name(names[1], this.legendLeft - 20, { x: 7, y: (this.caption.textContent ? 4.5 : 1.55) * u });
  }

  legend() {
    // A legend, unless the classes are named after their colours.
    const { palette: p, state } = this.lab, layer = this.layer.legend, found = usedClasses(state);
    const key = [this.main && this.lab.task(), this.width, this.lab.unit, p.plane, found, ...state.classes].join("\n");
    if (this.legendKey === key) return;  // texts are measured, which is slow while the plane is moved
    this.legendKey = key;
    this.legendLeft = this.width;
    layer.replaceChildren();
    if (!this.main || this.lab.task() !== "classes" || found.every((k) => state.classes[k] === COLOURS[k])) return;
    const u = this.lab.unit, back = s("rect", { rx: 5, fill: p.plane, "fill-opacity": 0.8 }), rows = [];
    layer.append(back);
    for (const [i, k] of found.entries()) {
      const y = (1.7 + 1.4 * i) * u, text = s("text", { y: y + 0.3 * u, "font-size": 0.92 * u, fill: p.ink }, state.classes[k]);
      const mark = s("path", { d: SHAPES[k % 6], fill: p.classes[k % 6] });
      layer.append(mark, text);
      shorten(text, state.classes[k], Math.min(15 * u, 0.34 * this.width));
      rows.push({ mark, text, y, wide: text.getComputedTextLength() });
    }
    const widest = Math.max(...rows.map((row) => row.wide)), left = this.width - 14 - widest;
    for (const { mark, text, y } of rows) {
      set(mark, { transform: `translate(${(left - 13).toFixed(1)} ${y})` });
      set(text, { x: left.toFixed(1) });
    }
    this.legendLeft = left - 26;
    const height = 1.4 * u * found.length + 0.8 * u;
    set(back, { x: this.legendLeft.toFixed(1), y: 8, width: (widest + 34).toFixed(1), height });
  }

  points() {
    const { palette: p, state, selected } = this.lab, layer = this.layer.points, n = state.points.length;
    const hidden = Boolean(this.lab.experimentView());
    const curve = this.lab.task() !== "classes", test = new Set(this.lab.reply.test);
    const dense = n > 800 ? 0.6 : n > 250 ? 0.8 : n > 100 ? 1 : 1.25;
    const size = this.size = dense * (this.width < 480 ? 0.9 : this.lab.unit / 13);
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
      const mark = this.marks[i], large = i === selected && this.main, held = test.has(i), was = mark.shown;
      const same = was && was.x === x && was.y === y && was.label === label && was.large === large;
      // While one point is dragged, the others are left alone.
      if (same && was.held === held && was.all === all) return;
      mark.shown = { x, y, label, large, held, all };
      const scale = large ? size * 1.35 : size, colour = curve ? p.ink : p.classes[label % 6];
      // Test points are hollow.
      set(mark, {
        d: SHAPES[curve ? 0 : label % 6], fill: held ? p.plane : colour, stroke: held ? colour : p.plane,
        "data-test": held ? "true" : null, "stroke-width": held ? 2 : 1.1, transform: `translate(${this.X(x).toFixed(2)} ${this.Y(y).toFixed(2)}) scale(${scale})`,
      });
    });
  }

  judge(animation, frame) {
    // Misclassified points get a ring at a distance, which is visible on every colour.
    const p = this.lab.palette, shown = animation && animation.labels.length && this.lab.layers.shows("errors");
    const scorer = shown ? animation.scorer(frame) : null;
    const scores = new Float64Array(animation ? animation.labels.length : 0);
    const votes = shown && animation.shade === "votes" ? this.lab.votes(this.main) : null;
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
      ring(px, py, 1.2 * this.lab.unit, { class: "current", stroke: p.ink, "stroke-width": 2.4 });
      const array = animation.walk || animation.weights;
      if (array && array.shape[1] === 1) this.push(animation, array, frame, px, py, p.classes[label % 6]);
    }
    if (selected != null && state.points[selected]) {
      const [x, y] = state.points[selected];
      ring(this.X(x), this.Y(y), 0.85 * this.lab.unit, { class: "selection", stroke: p.accent, "stroke-width": 2, "stroke-dasharray": "3 3" });
    }
    if (cursor) {
      const [x, y] = [this.X(cursor[0]), this.Y(cursor[1])];
      const d = `M${x - 12} ${y}H${x + 12}M${x} ${y - 12}V${y + 12}`;
      layer.append(s("path", { class: "cursor", d, stroke: p.accent, "stroke-width": 2 }));
    }
  }

  push(animation, array, frame, px, py, colour) {
    // The direction of the update y·x as an arrow of fixed length at the point; sizes in units of the text.
    const { palette: p, unit } = this.lab, u = unit / 13, layer = this.layer.over, [l, r, b, t] = this.view;
    const [now, then] = [animation.vectors(array, frame)[0], animation.vectors(array, frame - 1)[0]];
    const dx = (now[1] - then[1]) * (r - l) / this.width, dy = -(now[2] - then[2]) * (t - b) / this.height;
    const norm = Math.hypot(dx, dy);
    if (!(norm > 0)) return;
    const [ux, uy] = [dx / norm, dy / norm];
    const along = (far, aside = 0) => [px + u * (far * ux - aside * uy), py + u * (far * uy + aside * ux)];
    const [from, to] = [along(17), along(62)], head = [along(71), along(62, 7), along(62, -7)];
    layer.append(s("path", { class: "update", d: `M${from}L${to}`, stroke: colour, "stroke-width": 3.4 * u }));
    layer.append(s("path", { d: `M${head.join("L")}Z`, fill: colour }));
    // The name stands at the head, or on the other side of it where the plane ends.
    const wide = 40 * u, right = to[0] < wide || (ux > -0.2 && to[0] + wide < this.width);
    const x = Math.max(-16 * u, Math.min(this.width + 16 * u, to[0])) + (right ? 16 : -16) * u;
    const y = Math.max(16 * u, Math.min(this.height - 6 * u, to[1] + (right === ux > -0.2 ? 5 : -10) * u));
    layer.append(s("text", {
      class: "update-name", x, y, "text-anchor": right ? "start" : "end", "font-size": 14 * u,
      "font-weight": 600, fill: p.ink, stroke: p.plane, "stroke-width": 4, "paint-order": "stroke",
    }, now[0] > then[0] ? "+ x" : "− x"));
  }
}
