// The lab's page: draws what the session computes, and tells the session what the viewer does.
// One module for a page of its own (it starts itself in #linearly-lab) and for notebooks (anywidget's `render`).

const NS = "http://www.w3.org/2000/svg";
const LIGHT = {
  classes: ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#C9B800"],
  ink: "#1d2026", muted: "#666b73", rule: "#e2dfd8", wrong: "#D55E00", right: "#007a59", plane: "#fffefc", accent: "#0072B2", soft: "#efede8",
};
const DARK = {
  classes: ["#3f9fdc", "#E69F00", "#12b488", "#d98db8", "#8fd0f5", "#F0E442"],
  ink: "#e9e7e2", muted: "#a0a5ad", rule: "#2d3138", wrong: "#f0803c", right: "#35b38d", plane: "#15181b", accent: "#4fa8dc", soft: "#22262b",
};
const SHAPES = [
  "M-5.2 0A5.2 5.2 0 1 0 5.2 0A5.2 5.2 0 1 0 -5.2 0Z",
  "M0 -6.2L5.7 4.3H-5.7Z",
  "M-4.7 -4.7H4.7V4.7H-4.7Z",
  "M0 -6.4L6.1 0L0 6.4L-6.1 0Z",
  "M0 6.2L5.7 -4.3H-5.7Z",
  "M-2 -5.8H2V-2H5.8V2H2V5.8H-2V2H-5.8V-2H-2Z",
];
const COLOURS = ["blue", "orange", "green", "purple", "sky", "yellow"];  // what classes are called that nobody named
const SPEEDS = [["slow", 2], ["steady", 8], ["quick", 30], ["fast", 120]];
const AFRESH = ["open", "preset", "algorithm", "restore", "load"];  // messages after which a film is seen from its end
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const NIGHT = matchMedia("(prefers-color-scheme: dark)");

// --- small things

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NS, tag);
  set(element, attributes);
  element.append(...children);
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
  }
  return element;
}

function icon(path) {
  return s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: path }));
}

function unpack(packed) {
  if (!packed) return null;
  const text = atob(packed.f64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return { shape: packed.shape, data: new Float64Array(bytes.buffer) };
}

function tenths(value) { return Math.round(10 * value) / 10; }

// Which values to draw of a long row: the first, the last, and of each stretch the lowest and the highest.
function extremes(values, stretches) {
  const n = values.length, size = Math.ceil(n / stretches), drawn = [];
  if (size < 3) return values.map((_, i) => i);
  for (let from = 0; from < n; from += size) {
    let low = from, high = from;
    for (let i = from; i < Math.min(from + size, n); i++) {
      if (values[i] < values[low]) low = i;
      if (values[i] > values[high]) high = i;
    }
    drawn.push(...new Set([from, Math.min(low, high), Math.max(low, high)]));
  }
  if (drawn.at(-1) !== n - 1) drawn.push(n - 1);
  return drawn;
}

function told(value) {
  if (value == null) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (value !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(2).replace("-", "−").replace("e+", "e");
  const shown = Number.isInteger(value) ? value.toString() : size >= 1000 ? value.toFixed(0) : value.toPrecision(4).replace(/\.?0+$/, "");
  return shown.replace("-", "−");
}

// A share to three digits; R² can be far below zero.
function share(value) {
  return Math.abs(value) < 100 ? value.toFixed(3).replace("-", "−") : told(value);
}

function ticks(low, high, about) {
  const raw = (high - low) / about, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Math.abs(k * step) < 1e-12 * step ? 0 : Number((k * step).toPrecision(12)));
  return found;
}

// Places on an axis, each with its number where that fits; closer together until two numbers fit, for one gives no scale.
function labelled(low, high, about, fits) {
  for (let n = about; ; n *= 1.4) {
    const found = ticks(low, high, n);
    if (found.filter(fits).length > 1 || n > 6 * about) return found.map((v) => [v, fits(v) ? told(v) : ""]);
  }
}

// Leaves of a text what fits, and the whole as a tooltip.
function shorten(mark, text, room) {
  const whole = mark.getComputedTextLength();
  if (whole <= room) return;
  let n = Math.max(3, Math.ceil((text.length * room) / whole));
  do mark.textContent = `${text.slice(0, n).trimEnd()}…`; while (--n > 2 && mark.getComputedTextLength() > room);
  mark.append(s("title", {}, text));
}

function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function clip(polygon, c, a, b) {
  // The part of a polygon where c + a x + b y ≥ 0.
  const kept = [];
  for (let i = 0; i < polygon.length; i++) {
    const [p, q] = [polygon[i], polygon[(i + 1) % polygon.length]];
    const [u, v] = [c + a * p[0] + b * p[1], c + a * q[0] + b * q[1]];
    if (u >= 0) kept.push(p);
    if (u >= 0 !== v >= 0) kept.push([p[0] + (u / (u - v)) * (q[0] - p[0]), p[1] + (u / (u - v)) * (q[1] - p[1])]);
  }
  return kept;
}

function saved(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// --- a film as the page keeps it

class Film {
  constructor(answer, classes) {
    const film = answer.film;
    Object.assign(this, film);
    for (const name of ["weights", "fields", "walk", "at", "curves", "wave"]) this[name] = unpack(film[name]);
    this.labels = film.classes.map((name) => classes.indexOf(name));
  }

  // Scores of all classes at (x, y) in a frame; two classes have 0 and the score of the second.
  scorer(frame) {
    if (this.fields) {
      const { data, shape } = this.fields;
      return (x, y, out) => {
        for (let k = 0; k < shape[0]; k++) {
          const i = 6 * k;
          out[k] = data[i] + data[i + 1] * x + data[i + 2] * y + data[i + 3] * x * x + data[i + 4] * x * y + data[i + 5] * y * y;
        }
      };
    }
    const vectors = this.vectors(this.weights, frame);
    if (!vectors) return null;
    if (vectors.length === 1) {
      const [b, u, v] = vectors[0];
      return (x, y, out) => { out[0] = 0; out[1] = b + u * x + v * y; };
    }
    return (x, y, out) => { for (let k = 0; k < vectors.length; k++) out[k] = vectors[k][0] + vectors[k][1] * x + vectors[k][2] * y; };
  }

  vectors(array, frame) {
    if (!array) return null;
    const [frames, v, w] = array.shape, t = Math.max(0, Math.min(frames - 1, frame - this.first));  // of a drag there are a few frames
    return Array.from({ length: v }, (_, k) => array.data.subarray((t * v + k) * w, (t * v + k + 1) * w));
  }

  winner(scores) {
    if (scores.length === 2) return scores[1] >= scores[0] ? 1 : 0;
    let best = 0;
    for (let k = 1; k < scores.length; k++) if (scores[k] > scores[best]) best = k;
    return best;
  }

  curve(frame) {
    if (!this.curves) return null;
    const m = this.curves.shape[1];
    return this.curves.data.subarray(frame * m, (frame + 1) * m);
  }

  height(values, x) {
    // The curve at x, between the places where it was computed; straight lines go on.
    const at = this.at.data, m = at.length;
    const t = ((x - at[0]) / (at[m - 1] - at[0])) * (m - 1), i = Math.max(0, Math.min(m - 2, Math.floor(t)));
    return values[i] + (t - i) * (values[i + 1] - values[i]);
  }
}

// --- the plane

class Plane {
  constructor(lab, main) {
    this.lab = lab;
    this.main = main;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.svg = s("svg", main
      ? { id: "plot", tabindex: "0", role: "application", "aria-roledescription": "plane of points" }
      : { role: "img", "aria-label": "second model on the same points" });
    // What changes from frame to frame lies under the points, which stay: hundreds of them need not be drawn again.
    this.under = s("svg", { class: "under", "aria-hidden": "true" });
    this.layer = {};
    for (const name of ["grid", "regions", "band", "faint", "squares", "walk", "boundary", "curve", "gaussians", "witness", "rings"]) {
      this.under.append((this.layer[name] = s("g", { class: name })));
    }
    for (const name of ["points", "legend", "over"]) {
      this.svg.append((this.layer[name] = s("g", { class: name, "pointer-events": name === "points" ? null : "none" })));
    }
    this.caption = h("div", { class: "caption" });
    this.trouble = h("div", { class: "trouble", hidden: true });
    this.element = h("div", { class: "plane" }, this.canvas, this.under, this.svg, this.caption, this.trouble);
    this.marks = [];
    this.width = 0;
    this.height = 0;
  }

  fit() {
    const box = this.element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) return false;
    this.width = box.width;
    this.height = box.height;
    for (const svg of [this.under, this.svg]) set(svg, { viewBox: `0 0 ${box.width.toFixed(1)} ${box.height.toFixed(1)}` });
    let [l, r, b, t] = this.lab.experimentView() || this.lab.base;
    const ratio = ((r - l) / this.width) / ((t - b) / this.height);
    if (ratio > 0.25 && ratio < 4 && !this.lab.experimentView()) {
      // Alike units: one scale for both, so that a right angle looks like one.
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
    return "M" + points.map(([x, y]) => `${this.X(x).toFixed(2)} ${this.Y(y).toFixed(2)}`).join("L") + (close ? "Z" : "");
  }

  frame(box = 0.02) {
    const [l, r, b, t] = this.view, u = (r - l) * box, v = (t - b) * box;
    return [[l - u, b - v], [r + u, b - v], [r + u, t + v], [l - u, t + v]];
  }

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

  paint(film, frame, what) {
    this.film = film;
    if (what.view) this.grid();
    if (what.view || what.points) this.points();
    this.shade(film, frame);
    this.models(film, frame);
    if (what.film || what.view || what.points) this.scene(film);
    this.judge(film, frame);
    this.over(film, frame);
  }

  clear(...names) {
    for (const name of names) this.layer[name].replaceChildren();
  }

  grid() {
    const p = this.lab.palette, g = this.layer.grid, [l, r, b, t] = this.view;
    g.replaceChildren();
    const names = this.lab.experimentView() ? ["x", "y"] : this.lab.state.names;
    const across = labelled(l, r, this.width / 110, (x) => this.X(x) > 30 && this.X(x) < this.width - 34);
    for (const [x, told] of across) {
      g.append(s("path", { d: `M${this.X(x)} 0V${this.height}`, stroke: p.rule, "stroke-opacity": x === 0 ? 1 : 0.55, "stroke-width": x === 0 ? 1.5 : 1 }));
      if (told) g.append(s("text", { class: "tick x", x: this.X(x) + 4, y: this.height - 7, fill: p.muted, "font-size": 11 }, told));
    }
    const up = labelled(b, t, this.height / 90, (y) => this.Y(y) > (this.caption.textContent ? 74 : 36) && this.Y(y) < this.height - 20);
    for (const [y, told] of up) {
      g.append(s("path", { d: `M0 ${this.Y(y)}H${this.width}`, stroke: p.rule, "stroke-opacity": y === 0 ? 1 : 0.55, "stroke-width": y === 0 ? 1.5 : 1 }));
      if (told) g.append(s("text", { class: "tick y", x: 7, y: this.Y(y) - 4, fill: p.muted, "font-size": 11 }, told));
    }
    // The name across stands above its numbers, so that neither needs to make room for the other.
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
    // Which colour is which class, unless the classes are called after their colours.
    const { palette: p, state } = this.lab, layer = this.layer.legend;
    const found = used(state), key = [this.main && this.lab.task(), this.width, p.plane, found, ...state.classes].join("\n");
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
    set(back, { x: this.legendLeft.toFixed(1), y: 8, width: (widest + 34).toFixed(1), height: 18 * found.length + 10 });
  }

  points() {
    const { palette: p, state, selected } = this.lab, layer = this.layer.points;
    const hidden = Boolean(this.lab.experimentView());
    const curve = this.lab.task() !== "classes";
    const size = this.size = (state.points.length > 800 ? 0.6 : state.points.length > 250 ? 0.8 : state.points.length > 100 ? 1 : 1.25) * (this.width < 480 ? 0.9 : 1);
    while (this.marks.length > state.points.length || (hidden && this.marks.length)) this.marks.pop().remove();
    if (hidden) return;
    while (this.marks.length < state.points.length) {
      const mark = s("path", { class: "point", "vector-effect": "non-scaling-stroke" });
      mark.dataset.index = this.marks.length;
      this.marks.push(mark);
      layer.append(mark);
    }
    const all = [...this.view, this.width, this.height, size, curve, p.plane].join();
    state.points.forEach(([x, y, label], i) => {
      const mark = this.marks[i], large = i === selected && this.main, shown = mark.shown;
      // Most points stay where they are while one is dragged.
      if (shown && shown.x === x && shown.y === y && shown.label === label && shown.large === large && shown.all === all) return;
      mark.shown = { x, y, label, large, all };
      set(mark, {
        d: SHAPES[curve ? 0 : label % 6], fill: curve ? p.ink : p.classes[label % 6], stroke: p.plane, "stroke-width": 1.1,
        transform: `translate(${this.X(x).toFixed(2)} ${this.Y(y).toFixed(2)}) scale(${large ? size * 1.35 : size})`,
      });
    });
  }

  shade(film, frame) {
    const canvas = this.canvas, context = canvas.getContext("2d");
    const votes = film && film.shade === "votes" ? this.lab.votes(this.main) : null;
    if (!film || !(film.shade === "probability" || votes)) {
      if (canvas.dataset.used) { canvas.width = 1; canvas.height = 1; delete canvas.dataset.used; }
      return;
    }
    canvas.dataset.used = "yes";
    const colours = film.labels.map((label) => rgb(this.lab.palette.classes[label % 6]));
    const most = this.lab.dark ? 0.44 : 0.32;
    if (votes) {
      const image = new ImageData(votes.nx, votes.ny);
      for (let j = 0; j < votes.ny; j++) for (let i = 0; i < votes.nx; i++) {
        const from = j * votes.nx + i, to = 4 * ((votes.ny - 1 - j) * votes.nx + i);
        const colour = colours[votes.winner[from]];
        image.data.set([...colour, 255 * (0.05 + most * (votes.strength[from] / 100))], to);
      }
      const [l, r, b, t] = votes.view;
      const small = new OffscreenCanvas(votes.nx, votes.ny);
      small.getContext("2d").putImageData(image, 0, 0);
      canvas.width = Math.round(this.width);
      canvas.height = Math.round(this.height);
      context.imageSmoothingQuality = "high";
      context.drawImage(small, this.X(l), this.Y(t), this.X(r) - this.X(l), this.Y(b) - this.Y(t));
      return;
    }
    const w = Math.max(2, Math.round(this.width / 4)), hh = Math.max(2, Math.round(this.height / 4));
    if (canvas.width !== w) canvas.width = w;
    if (canvas.height !== hh) canvas.height = hh;
    const image = context.createImageData(w, hh), scorer = film.scorer(frame), K = film.labels.length;
    const scores = new Float64Array(K);
    for (let j = 0, at = 0; j < hh; j++) {
      const y = this.y((j + 0.5) * (this.height / hh));
      for (let i = 0; i < w; i++, at += 4) {
        scorer(this.x((i + 0.5) * (this.width / w)), y, scores);
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

  models(film, frame) {
    const p = this.lab.palette, L = this.layer;
    if (!film) { this.clear("regions", "walk", "boundary", "curve", "faint", "squares"); return; }
    const vectors = film.vectors(film.weights, frame);
    this.regions(film, vectors);
    this.boundary(film, vectors);
    const walk = film.vectors(film.walk, frame);
    const before = frame > 0 ? film.vectors(film.walk || film.weights, frame - 1) : null;
    const show = [];
    if (walk && film.shade !== "votes") show.push([walk, { stroke: p.ink, "stroke-width": 1.4, "stroke-opacity": 0.55 }]);
    if (walk && film.shade === "votes") show.push([walk, { stroke: p.ink, "stroke-width": 2.4 }]);
    if (before && film.unit !== "step" && this.main) show.push([before, { stroke: p.ink, "stroke-width": 1.2, "stroke-opacity": 0.45, "stroke-dasharray": "2 5" }]);
    this.strokes(L.walk, show.filter(([v]) => v.length === 1).map(([v, look]) => [this.line(v[0]), look]));
    const faint = [];
    if (film.shade === "votes" && film.walk.shape[1] === 1) {
      for (let t = Math.max(0, frame - 60); t < frame; t++) faint.push([this.line(film.vectors(film.walk, t)[0]), { stroke: p.ink, "stroke-width": 1, "stroke-opacity": 0.1 }]);
    }
    this.strokes(L.faint, faint);
    this.curves(film, frame);
  }

  strokes(layer, lines) {
    while (layer.childElementCount > lines.length) layer.lastChild.remove();
    lines.forEach(([d, look], i) => {
      const path = layer.children[i] || layer.appendChild(s("path", { fill: "none", "stroke-linecap": "round", "stroke-linejoin": "round" }));
      set(path, { d, stroke: null, "stroke-width": null, "stroke-opacity": null, "stroke-dasharray": null, ...look });
    });
  }

  regions(film, vectors) {
    const layer = this.layer.regions, p = this.lab.palette;
    if (!vectors || (film.shade !== "region" && vectors.length === 1)) { layer.replaceChildren(); return; }
    const frame = this.frame(), parts = [];
    if (vectors.length === 1) {
      const [b, u, v] = vectors[0];
      if (b || u || v) parts.push([clip(frame, -b, -u, -v), 0], [clip(frame, b, u, v), 1]);
    } else {
      vectors.forEach((mine, k) => {
        let part = frame;
        vectors.forEach((other, j) => { if (j !== k) part = clip(part, mine[0] - other[0], mine[1] - other[1], mine[2] - other[2]); });
        parts.push([part, k]);
      });
    }
    while (layer.childElementCount > parts.length) layer.lastChild.remove();
    parts.forEach(([polygon, k], i) => {
      const path = layer.children[i] || layer.appendChild(s("path"));
      set(path, { d: this.path(polygon), fill: p.classes[film.labels[k] % 6], "fill-opacity": film.shade === "region" ? (this.lab.dark ? 0.17 : 0.12) : 0,
        stroke: vectors.length > 1 ? p.ink : "none", "stroke-width": 2 });
    });
  }

  boundary(film, vectors) {
    const p = this.lab.palette, lines = [];
    if (vectors && vectors.length === 1) {
      lines.push([this.line(vectors[0]), { stroke: p.ink, "stroke-width": 2.6 }]);
      if (film.shade === "probability") for (const logit of [-Math.log(9), Math.log(9)])
        lines.push([this.line([vectors[0][0] + logit, vectors[0][1], vectors[0][2]]), { stroke: p.ink, "stroke-width": 1, "stroke-opacity": 0.5, "stroke-dasharray": "1 4" }]);
    } else if (film.fields) {
      lines.push([this.contour(film), { stroke: p.ink, "stroke-width": 2.4 }]);
    }
    this.strokes(this.layer.boundary, lines);
  }

  contour(film) {
    // Marching squares on the score of the winner less that of the others, class by class.
    const scorer = film.scorer(0);
    const K = film.labels.length, nx = 150, ny = Math.max(40, Math.round((150 * this.height) / this.width));
    const field = Array.from({ length: K }, () => new Float64Array((nx + 1) * (ny + 1))), scores = new Float64Array(K);
    for (let j = 0; j <= ny; j++) for (let i = 0; i <= nx; i++) {
      scorer(this.x((i / nx) * this.width), this.y((j / ny) * this.height), scores);
      for (let k = 0; k < K; k++) {
        let rival = -Infinity;
        for (let m = 0; m < K; m++) if (m !== k && scores[m] > rival) rival = scores[m];
        field[k][j * (nx + 1) + i] = scores[k] - rival;
      }
    }
    const d = [], sx = this.width / nx, sy = this.height / ny;
    for (let k = K === 2 ? 1 : 0; k < K; k++) {
      const f = field[k];
      for (let j = 0; j < ny; j++) for (let i = 0; i < nx; i++) {
        const o = j * (nx + 1) + i, corner = [f[o], f[o + 1], f[o + nx + 2], f[o + nx + 1]], cut = [];
        const place = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
        for (let e = 0; e < 4; e++) {
          const u = corner[e], v = corner[(e + 1) % 4];
          if (u >= 0 === v >= 0) continue;
          const w = u / (u - v), [a, b] = [place[e], place[(e + 1) % 4]];
          cut.push(`${((a[0] + w * (b[0] - a[0])) * sx).toFixed(2)} ${((a[1] + w * (b[1] - a[1])) * sy).toFixed(2)}`);
        }
        for (let e = 0; e + 1 < cut.length; e += 2) d.push(`M${cut[e]}L${cut[e + 1]}`);
      }
    }
    return d.join("");
  }

  curves(film, frame) {
    const p = this.lab.palette, values = film.curve(frame), experiment = film.scene.experiment, lines = [];
    if (experiment) {
      const at = film.at.data, through = (ys) => this.path(Array.from(at, (x, i) => [x, ys[i]]), false);
      for (const fit of experiment.fits) lines.push([through(fit), { stroke: p.accent, "stroke-width": 1, "stroke-opacity": 0.28 }]);
      if (experiment.truth) lines.push([through(experiment.truth), { stroke: p.ink, "stroke-width": 2, "stroke-dasharray": "7 5" }]);
      lines.push([through(experiment.mean), { stroke: p.accent, "stroke-width": 3.2 }]);
    }
    if (values) {
      const at = film.at.data, straight = at.length === 2;
      const ends = straight ? [this.view[0], this.view[1]].map((x) => [x, film.height(values, x)]) : Array.from(at, (x, i) => [x, values[i]]);
      const limit = 40 * (this.view[3] - this.view[2]);
      lines.push([this.path(ends.map(([x, y]) => [x, Math.max(this.view[2] - limit, Math.min(this.view[3] + limit, y))]), false), { stroke: p.accent, "stroke-width": 3 }]);
      if (film.scene.exact) lines.unshift([this.path([this.view[0], this.view[1]].map((x) => [x, film.height(film.scene.exact, x)]), false), { stroke: p.ink, "stroke-width": 1.4, "stroke-dasharray": "6 5", "stroke-opacity": 0.7 }]);
    }
    this.strokes(this.layer.curve, lines);
    const squares = this.layer.squares;
    const points = values ? this.lab.state.points : [];
    const few = points.length <= 60;
    while (squares.childElementCount > points.length) squares.lastChild.remove();
    points.forEach(([x, y], i) => {
      const top = film.height(values, x), mark = squares.children[i] || squares.appendChild(s("path", { "stroke-width": 1 }));
      const [px, py, fy] = [this.X(x), this.Y(y), Math.max(-3000, Math.min(6000, this.Y(top)))];
      const side = Math.abs(fy - py) * (px + Math.abs(fy - py) > this.width ? -1 : 1);
      set(mark, { d: few ? `M${px} ${py}H${px + side}V${fy}H${px}Z` : `M${px} ${py}V${fy}`, fill: few ? p.wrong : "none", "fill-opacity": 0.09, stroke: p.wrong, "stroke-opacity": 0.5 });
    });
  }

  scene(film) {
    const p = this.lab.palette, L = this.layer;
    this.clear("band", "gaussians", "witness");
    const scene = film ? film.scene : {};
    const proof = scene.certificate;
    if (proof && proof.separator && film.unit !== "step") {
      const [b, u, v] = proof.separator, reach = proof.margin;
      L.band.append(s("path", { d: this.path(clip(clip(this.frame(), b + reach, u, v), reach - b, -u, -v)), fill: p.right, "fill-opacity": 0.13 }));
      L.band.append(s("path", { d: this.line(proof.separator), stroke: p.right, "stroke-width": 1.4, "stroke-dasharray": "7 5", fill: "none" }));
    }
    if (proof && proof.witness && film.unit !== "step") this.witness(proof);
    for (const [k, { mean, covariance }] of (scene.gaussians || []).entries()) {
      const colour = p.classes[film.labels[k] % 6];
      for (const radius of [1, 2]) L.gaussians.append(s("path", { d: this.ellipse(mean, covariance, radius), fill: "none", stroke: colour, "stroke-width": radius === 1 ? 2.2 : 1.4, "stroke-opacity": radius === 1 ? 0.95 : 0.7 }));
      const [x, y] = [this.X(mean[0]), this.Y(mean[1])];
      L.gaussians.append(s("path", { d: `M${x - 9} ${y}H${x + 9}M${x} ${y - 9}V${y + 9}`, stroke: p.plane, "stroke-width": 6 }));
      L.gaussians.append(s("path", { d: `M${x - 8} ${y}H${x + 8}M${x} ${y - 8}V${y + 8}`, stroke: colour, "stroke-width": 3 }));
    }
    const experiment = scene.experiment;
    if (experiment) for (const [x, y] of experiment.sample) L.witness.append(s("circle", { cx: this.X(x), cy: this.Y(y), r: 4, fill: p.ink, "fill-opacity": 0.75, stroke: p.plane }));
  }

  ellipse([mx, my], [[a, b], [, c]], radius) {
    const half = (a + c) / 2, root = Math.hypot((a - c) / 2, b), angle = Math.atan2(2 * b, a - c) / 2;
    const [long, short] = [Math.sqrt(half + root), Math.sqrt(Math.max(half - root, 0))];
    return this.path(Array.from({ length: 72 }, (_, i) => {
      const t = (i / 72) * 2 * Math.PI, u = radius * long * Math.cos(t), v = radius * short * Math.sin(t);
      return [mx + u * Math.cos(angle) - v * Math.sin(angle), my + u * Math.sin(angle) + v * Math.cos(angle)];
    }));
  }

  witness(proof) {
    const { palette: p, state } = this.lab, layer = this.layer.witness, byClass = new Map();
    for (const i of proof.witness) {
      const point = state.points[i];
      if (!point) return;
      byClass.set(point[2], [...(byClass.get(point[2]) || []), point]);
    }
    for (const [label, points] of byClass) {
      const middle = [0, 1].map((d) => points.reduce((sum, point) => sum + point[d], 0) / points.length);
      const ring = [...points].sort((a, b) => Math.atan2(a[1] - middle[1], a[0] - middle[0]) - Math.atan2(b[1] - middle[1], b[0] - middle[0]));
      layer.append(s("path", { class: "hull", d: this.path(ring), fill: p.classes[label % 6], "fill-opacity": 0.14, stroke: p.classes[label % 6], "stroke-width": 2.4, "stroke-linejoin": "round" }));
      for (const [x, y] of points) layer.append(s("circle", { cx: this.X(x), cy: this.Y(y), r: 12.5, fill: "none", stroke: p.classes[label % 6], "stroke-width": 2 }));
    }
    if (proof.meeting) {
      const [x, y] = [this.X(proof.meeting[0]), this.Y(proof.meeting[1])];
      layer.append(s("circle", { class: "meeting", cx: x, cy: y, r: 7.5, fill: p.plane, stroke: p.wrong, "stroke-width": 2.4 }));
      layer.append(s("path", { d: `M${x - 3.4} ${y - 3.4}L${x + 3.4} ${y + 3.4}M${x + 3.4} ${y - 3.4}L${x - 3.4} ${y + 3.4}`, stroke: p.wrong, "stroke-width": 2.2 }));
    }
  }

  judge(film, frame) {
    // Points that this frame gets wrong have a ring around them: one apart from the point is seen on every colour.
    const p = this.lab.palette, scorer = film && film.labels.length ? film.scorer(frame) : null;
    const scores = new Float64Array(film ? film.labels.length : 0);
    const votes = film && film.shade === "votes" ? this.lab.votes(this.main) : null, wrongs = votes && new Set(votes.wrong);
    const r = 7.3 * this.size, rings = [];
    this.lab.state.points.forEach(([x, y, label], i) => {
      if (!this.marks[i]) return;
      let wrong = false;
      if (wrongs) wrong = wrongs.has(i);
      else if (scorer) {
        scorer(x, y, scores);
        wrong = film.labels[film.winner(scores)] !== label;
      }
      if (wrong) rings.push(`M${(this.X(x) - r).toFixed(1)} ${this.Y(y).toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`);
    });
    this.strokes(this.layer.rings, rings.length ? [[rings.join(""), { stroke: p.wrong, "stroke-width": this.marks.length > 250 ? 1.5 : 2.2 }]] : []);
  }

  over(film, frame) {
    const { palette: p, state, selected, cursor } = this.lab, layer = this.layer.over;
    layer.replaceChildren();
    if (!this.main) return;
    const row = film && film.rows.length ? film.rows[frame] : -1;
    if (row >= 0 && state.points[row]) {
      const [x, y, label] = state.points[row], [px, py] = [this.X(x), this.Y(y)];
      layer.append(s("circle", { class: "current", cx: px, cy: py, r: 15.5, fill: "none", stroke: p.ink, "stroke-width": 2.4 }));
      const array = film.walk || film.weights;
      if (array && array.shape[1] === 1) this.push(layer, film, array, frame, px, py, p.classes[label % 6]);
    }
    if (selected != null && state.points[selected]) {
      const [x, y] = state.points[selected];
      layer.append(s("circle", { cx: this.X(x), cy: this.Y(y), r: 11, fill: "none", stroke: p.accent, "stroke-width": 2, "stroke-dasharray": "3 3" }));
    }
    if (cursor) {
      const [x, y] = [this.X(cursor[0]), this.Y(cursor[1])];
      layer.append(s("path", { class: "cursor", d: `M${x - 12} ${y}H${x + 12}M${x} ${y - 12}V${y + 12}`, stroke: p.accent, "stroke-width": 2 }));
    }
  }

  push(layer, film, array, frame, px, py, colour) {
    // The update y·x as the normal of the line feels it: an arrow at the point, of fixed length.
    const [now, then] = [film.vectors(array, frame)[0], film.vectors(array, frame - 1)[0]];
    const dx = (now[1] - then[1]) * (this.view[1] - this.view[0]) / this.width, dy = -(now[2] - then[2]) * (this.view[3] - this.view[2]) / this.height;
    const norm = Math.hypot(dx, dy);
    if (!(norm > 0)) return;
    const [ux, uy] = [dx / norm, dy / norm], [sx, sy] = [px + 17 * ux, py + 17 * uy], [ex, ey] = [px + 62 * ux, py + 62 * uy];
    layer.append(s("path", { class: "update", d: `M${sx} ${sy}L${ex} ${ey}`, stroke: colour, "stroke-width": 3.4 }));
    layer.append(s("path", { d: `M${ex + 9 * ux} ${ey + 9 * uy}L${ex - 7 * uy} ${ey + 7 * ux}L${ex + 7 * uy} ${ey - 7 * ux}Z`, fill: colour }));
    const right = ux > -0.2;
    layer.append(s("text", { x: ex + (right ? 16 : -16), y: ey + 5, "text-anchor": right ? "start" : "end", "font-size": 14, "font-weight": 600, fill: this.lab.palette.ink, stroke: this.lab.palette.plane, "stroke-width": 4, "paint-order": "stroke" }, now[0] > then[0] ? "+ x" : "− x"));
  }
}

// --- small pictures beside the plane

const WIDE = 340, HIGH = 214;

function chart(palette, { xs, series, log = false, low, high, left = 40, x, mark = null, at = null }) {
  const svg = s("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
  const widest = Math.max(0, ...series.map((one) => (one.name || "").length));
  const [L, R, T, B] = [left, WIDE - 12 - 6.2 * widest, 10, HIGH - 32];
  const flat = series.flatMap((one) => one.values).filter(Number.isFinite);
  low ??= Math.min(...flat);
  high ??= Math.max(...flat);
  if (!(high > low)) { high = low + Math.abs(low || 1); }
  const [first, last] = [xs[0], xs.at(-1)];
  const X = (v) => L + ((v - first) / (last - first || 1)) * (R - L), Y = (v) => B - ((v - low) / (high - low)) * (B - T);
  for (const v of ticks(low, high, 4)) {
    svg.append(s("path", { d: `M${L} ${Y(v)}H${R}`, stroke: palette.rule }));
    svg.append(s("text", { x: L - 6, y: Y(v) + 4, "text-anchor": "end", "font-size": 11, fill: palette.muted }, log ? `10${power(v)}` : told(v)));
  }
  for (const v of ticks(Math.min(first, last), Math.max(first, last), 5)) svg.append(s("text", { x: X(v), y: B + 15, "text-anchor": "middle", "font-size": 11, fill: palette.muted }, told(v)));
  svg.append(s("text", { x: R, y: HIGH - 3, "text-anchor": "end", "font-size": 11, fill: palette.muted }, x));
  if (mark != null) svg.append(s("path", { d: `M${X(mark)} ${T}V${B}`, stroke: palette.ink, "stroke-opacity": 0.45, "stroke-dasharray": "2 3" }));
  const labels = [];
  for (const { name, values, colour, dash, width = 2 } of series) {
    const d = values.map((v, i) => (Number.isFinite(v) ? `${X(xs[i]).toFixed(1)} ${Y(Math.max(low - (high - low), Math.min(high + (high - low), v))).toFixed(1)}` : null)).filter(Boolean);
    const cut = s("path", { d: "M" + d.join("L"), fill: "none", stroke: colour, "stroke-width": width, "stroke-dasharray": dash, "stroke-linejoin": "round" });
    svg.append(cut);
    const end = [...values].reverse().find(Number.isFinite);
    if (name) labels.push({ y: Math.max(T, Math.min(B, Y(end ?? low))), name, colour });
    if (at != null && Number.isFinite(values[at])) svg.append(s("circle", { cx: X(xs[at]), cy: Math.max(T - 4, Math.min(B + 4, Y(values[at]))), r: 4, fill: colour, stroke: palette.plane, "stroke-width": 1.5 }));
  }
  labels.sort((a, b) => a.y - b.y);
  const gap = Math.min(13, (B - T) / Math.max(labels.length, 1));
  labels.forEach((label, i) => { if (i) label.y = Math.max(label.y, labels[i - 1].y + gap); });
  labels.forEach((label, i) => { label.y = Math.min(label.y, B - gap * (labels.length - 1 - i)); });
  for (const { y, name, colour } of labels) svg.append(s("text", { x: R + 6, y: y + 4, "font-size": 11, "font-weight": 600, fill: colour }, name));
  // What leaves the frame is not drawn over the numbers around it.
  const id = `cut${Math.random().toString(36).slice(2)}`;
  svg.prepend(s("clipPath", { id }, s("rect", { x: L - 5, y: T - 6, width: R - L + 10, height: B - T + 12 })));
  for (const child of svg.querySelectorAll(":scope > path, :scope > circle")) set(child, { "clip-path": `url(#${id})` });
  return svg;
}

function rank({ name }) {
  return name === "best" || name === "chosen" ? 0 : 1;
}

function power(v) {
  return [...told(v)].map((c) => ({ "−": "⁻", ".": "·" })[c] || "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)] || c).join("");
}

function arrow(x, y, u, v, colour, width) {
  const size = Math.hypot(u - x, v - y);
  if (size < 2) return s("g");
  const [a, b] = [(u - x) / size, (v - y) / size], head = Math.min(9, size * 0.5);
  return s("g", {},
    s("path", { d: `M${x} ${y}L${u - head * 0.8 * a} ${v - head * 0.8 * b}`, stroke: colour, "stroke-width": width, fill: "none" }),
    s("path", { d: `M${u} ${v}L${u - head * a - head * 0.5 * b} ${v - head * b + head * 0.5 * a}L${u - head * a + head * 0.5 * b} ${v - head * b - head * 0.5 * a}Z`, fill: colour }));
}

const PICTURES = {
  weights(lab, film, frame) {
    const array = film.walk || film.weights, p = lab.palette, svg = s("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": "weights before and after the update" });
    const V = array.shape[1], box = [0, 0, 0, 0];
    for (let i = 0; i < array.data.length; i += 3) {
      const [u, v] = [array.data[i + 1], array.data[i + 2]];
      if (u < box[0]) box[0] = u; else if (u > box[1]) box[1] = u;
      if (v < box[2]) box[2] = v; else if (v > box[3]) box[3] = v;
    }
    // One scale for the whole film, so that nothing jumps from frame to frame.
    const reach = Math.max((box[1] - box[0]) / (WIDE - 84), (box[3] - box[2]) / (HIGH - 44), 1e-12);
    const [cx, cy] = [WIDE / 2 - (box[0] + box[1]) / 2 / reach, HIGH / 2 + (box[2] + box[3]) / 2 / reach];
    const place = (w) => [cx + w[1] / reach, cy - w[2] / reach];
    svg.append(s("rect", { width: WIDE, height: HIGH, rx: 6, fill: p.soft }), s("path", { d: `M8 ${cy}H${WIDE - 8}M${cx} 8V${HIGH - 8}`, stroke: p.rule, "stroke-width": 1.5 }));
    const now = film.vectors(array, frame), then = frame ? film.vectors(array, frame - 1) : null;
    if (V > 1) {
      now.forEach((w, k) => svg.append(arrow(cx, cy, ...place(w), p.classes[film.labels[k] % 6], 3)));
      return ["Weights of the classes", svg];
    }
    const name = (text, [x, y], colour) => svg.append(s("text", { x: x + (x >= cx ? 8 : -8), y: y + (y > cy ? 12 : -4), "text-anchor": x >= cx ? "start" : "end", "font-size": 12, "font-weight": 600, fill: colour, stroke: p.plane, "stroke-width": 3, "paint-order": "stroke" }, text));
    if (then) {
      const row = film.rows[frame], colour = row >= 0 && lab.state.points[row] ? p.classes[lab.state.points[row][2] % 6] : p.muted;
      svg.append(arrow(cx, cy, ...place(then[0]), p.muted, 2));
      svg.append(arrow(...place(then[0]), ...place(now[0]), colour, 2.6));
    }
    svg.append(arrow(cx, cy, ...place(now[0]), p.ink, 3.2));
    name("w", place(now[0]), p.ink);
    return [then ? "w: before, the update, after" : "w begins at zero", svg];
  },

  series(lab, film, frame) {
    const picture = film.picture, p = lab.palette, colours = [p.accent, p.wrong, ...p.classes.slice(2), p.muted, p.ink, p.classes[1], p.right, p.muted, p.ink, p.accent];
    const longest = Math.max(...picture.series.map((one) => one.values.length));
    const xs = picture.xs || Array.from({ length: longest }, (_, i) => i);
    let series = picture.series.map((one, i) => ({ name: one.name, values: one.values, colour: colours[i % colours.length], dash: i % 2 && picture.series.length > 4 ? "5 3" : null }));
    let low, high;
    if (picture.log) {
      const least = Math.min(...series.flatMap((one) => one.values)), most = Math.max(...series.flatMap((one) => one.values));
      const floor = Math.log10(Math.max(most - least, 1e-300)) - 9;
      series = series.map((one) => ({ ...one, values: one.values.map((v) => Math.max(floor, Math.log10(Math.max(v - least, 1e-300)))) }));
      low = floor;
    } else if (picture.xs) {
      // Coefficients that explode as the penalty vanishes must not flatten the rest.
      const sizes = series.flatMap((one) => one.values.map(Math.abs)).sort((a, b) => a - b);
      high = Math.max(sizes[Math.floor(sizes.length * 0.85)] * 1.3, 1e-9);
      low = -high;
    }
    return [picture.title, chart(p, { xs, series, log: picture.log, low, high, x: picture.x, mark: xs[Math.min(frame, xs.length - 1)], at: frame })];
  },

  contour(lab, film, frame) {
    const { centre, cosine, path, title, names } = film.picture, p = lab.palette;
    const svg = s("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": "contours of the loss with the path of the steps" });
    const start = path[0], reach = Math.max(Math.hypot(start[0] - centre[0], start[1] - centre[1]), 1e-12) * 1.25;
    const k = (HIGH / 2 - 12) / reach, X = (v) => WIDE / 2 + (v - centre[0]) * k, Y = (v) => HIGH / 2 - (v - centre[1]) * k;
    const id = `cut${Math.random().toString(36).slice(2)}`;
    svg.append(s("clipPath", { id }, s("rect", { x: 0, y: 0, width: WIDE, height: HIGH, rx: 6 })), s("rect", { width: WIDE, height: HIGH, rx: 6, fill: p.soft }));
    const inside = s("g", { "clip-path": `url(#${id})` });
    svg.append(inside);
    // The curvature is [[1, c], [c, 1]]: axes along (1, ±1), of eigenvalues 1 ± c.
    const wide = 1 / Math.sqrt(Math.max(1 - Math.abs(cosine), 1e-6)), thin = 1 / Math.sqrt(1 + Math.abs(cosine)), tilt = cosine > 0 ? 45 : -45;
    for (let i = 1; i <= 9; i++) {
      const r = (reach * k * i * i) / 36;
      inside.append(s("ellipse", { cx: WIDE / 2, cy: HIGH / 2, rx: r * wide, ry: r * thin, transform: `rotate(${tilt} ${WIDE / 2} ${HIGH / 2})`, fill: p.accent, "fill-opacity": 0.05, stroke: p.accent, "stroke-opacity": 0.35 }));
    }
    const some = path.slice(0, frame + 1).map(([a, b]) => [Math.max(-9999, Math.min(9999, X(a))), Math.max(-9999, Math.min(9999, Y(b)))]);
    inside.append(s("path", { d: "M" + some.map((q) => q.join(" ")).join("L"), fill: "none", stroke: p.wrong, "stroke-width": 2 }));
    for (const [x, y] of some.slice(-80)) inside.append(s("circle", { cx: x, cy: y, r: 2.6, fill: p.wrong }));
    inside.append(s("circle", { cx: some.at(-1)[0], cy: some.at(-1)[1], r: 5.5, fill: p.wrong, stroke: p.plane, "stroke-width": 2 }));
    inside.append(s("path", { d: `M${WIDE / 2 - 5} ${HIGH / 2}H${WIDE / 2 + 5}M${WIDE / 2} ${HIGH / 2 - 5}V${HIGH / 2 + 5}`, stroke: p.ink, "stroke-width": 2 }));
    svg.append(s("text", { x: WIDE - 8, y: HIGH - 8, "text-anchor": "end", "font-size": 11, fill: p.muted }, names[0]));
    svg.append(s("text", { x: 8, y: 16, "font-size": 11, fill: p.muted }, names[1]));
    return [title, svg];
  },

  complexity(lab, film, frame) {
    const { degrees, degree, frames, title } = film.picture, p = lab.palette, now = frames[frame];
    const series = [
      { name: "expected", values: now.epe, colour: p.wrong, width: 3 },
      { name: "bias²", values: now.bias2, colour: p.accent },
      { name: "variance", values: now.variance, colour: p.right },
      { name: "training", values: now.train_error, colour: p.muted, dash: "5 3" },
      { name: "noise", values: now.noise, colour: p.ink, dash: "2 3", width: 1.4 },
    ];
    const last = [...frames.at(-1).epe].sort((a, b) => a - b);
    const high = Math.max(2.6 * last[Math.floor(last.length / 2)], now.noise[0] * 2);
    return [title, chart(p, { xs: degrees, series, low: 0, high, x: "degree", mark: degree, at: degrees.indexOf(degree) })];
  },
};

// The classes that there are points of.
function used(state) {
  return [...new Set(state.points.map((point) => point[2]))].sort((a, b) => a - b);
}

// --- the lab

class Lab {
  constructor(root, ask, home) {
    this.root = root;
    this.ask = ask;
    this.home = home; // whether it has the page to itself
    this.frame = 0;
    this.atEnd = true;
    this.label = 0;
    this.selected = null;
    this.cursor = null;
    this.waiting = new Map();
    this.busy = false;
    this.dirty = {};
    this.base = [-5, 5, -4, 4];
    this.build();
    this.recolour();
    const stop = new AbortController();
    this.stop = stop;
    NIGHT.addEventListener("change", () => this.recolour(), { signal: stop.signal });
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(root);
    this.observer.observe(this.main.element);
  }

  close() {
    this.stop.abort();
    this.observer.disconnect();
    clearTimeout(this.timer);
    this.root.replaceChildren();
  }

  // --- messages: one at a time; of those that replace each other the newest

  send(message, kind = null) {
    return new Promise((resolve) => {
      const key = kind || Symbol("message");
      this.waiting.get(key)?.resolve(null);
      this.waiting.delete(key);
      this.waiting.set(key, { message, resolve });
      this.pump();
    });
  }

  async pump() {
    if (this.busy || !this.waiting.size) return;
    this.busy = true;
    const [key, { message, resolve }] = this.waiting.entries().next().value;
    this.waiting.delete(key);
    const full = { ...message };
    if (message.do !== "frame" && message.do !== "columns" && !AFRESH.includes(message.do) && !this.atEnd) full.at = this.frame;
    if (["open", "preset", "load", "view"].includes(message.do) && !message.view && this.main.height > 2) full.aspect = Math.max(0.3, Math.min(4, this.main.width / this.main.height));
    const begun = performance.now();
    let reply;
    try {
      reply = await this.ask(full);
    } catch (error) {
      reply = { error: `The lab does not answer: ${error.message}` };
    }
    this.busy = false;
    if (reply.error) this.notice(reply.error);
    else if (reply.state) this.take(reply, message);
    resolve(reply.error ? null : reply);
    this.root.dispatchEvent(new CustomEvent("linearly:reply", { detail: { do: message.do, ms: performance.now() - begun } }));
    this.pump();
  }

  take(reply, message) {
    const before = this.state;
    if (reply.algorithms) this.begin(reply);
    this.reply = reply;
    this.state = reply.state;
    if (!(message.do === "view" && message.view)) {
      const moved = !before || reply.state.view.some((edge, i) => edge !== before.view[i]);
      if (moved && JSON.stringify(reply.state.view) !== this.sent) { this.base = reply.state.view; this.dirty.view = true; }
    }
    const old = this.film;
    this.film = reply.answer.film ? new Film(reply.answer, this.state.classes) : null;
    if (this.film && old && this.film.unit === "step" && !this.film.picture && message.drag === "on") this.film.picture = old.picture;
    this.still = reply.answer.still;
    this.rivalFilm = reply.rival && reply.rival.film ? new Film(reply.rival, this.state.classes) : null;
    const last = this.film ? this.film.count - 1 : 0;
    if (AFRESH.includes(message.do)) { this.atEnd = true; this.pause(); }
    this.frame = this.atEnd ? last : Math.min(this.frame, last);
    if (this.selected != null && this.selected >= this.state.points.length) this.selected = null;
    this.label = Math.min(this.label, this.state.classes.length - 1);
    if (!before || before.algorithm !== this.state.algorithm || before.rival !== this.state.rival || before.names.join() !== this.state.names.join() || before.classes.join() !== this.state.classes.join() || used(before).join() !== used(this.state).join()) this.dirty.view = true;
    this.dirty.points = this.dirty.film = this.dirty.evidence = this.dirty.controls = true;
    this.dirty.drag = message.drag === "on";
    if (reply.note && reply.note !== this.noted) this.notice(reply.note);
    this.noted = reply.note;
    this.plan();
    this.remember();
  }

  plan() {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => { this.planned = false; this.draw(); });
  }

  draw() {
    if (!this.state) return;
    const what = this.dirty;
    this.dirty = {};
    if (what.controls) this.controls();
    this.compare();
    const planes = this.rivalShown ? [this.main, this.other] : [this.main];
    if (what.view || !this.main.width) { for (const plane of planes) if (!plane.fit()) return; what.view = true; }
    const film = this.film;
    this.main.trouble.hidden = !this.reply.answer.trouble;
    this.main.trouble.textContent = this.reply.answer.trouble;
    this.main.paint(film, film ? Math.min(this.frame, film.count - 1) : 0, what);
    if (this.rivalShown) {
      this.other.trouble.hidden = !this.reply.rival.trouble;
      this.other.trouble.textContent = this.reply.rival.trouble;
      this.other.paint(this.rivalFilm, this.rivalFilm ? this.rivalFilm.count - 1 : 0, what);
    }
    // While a point is dragged the plane follows the hand; what is beside it follows ten times a second.
    if (what.drag) {
      this.beside = { evidence: true, film: true, view: what.view || this.beside?.view };
      this.besideTimer ??= setTimeout(() => this.drawBeside(this.beside), Math.max(0, 100 - (performance.now() - (this.besideDrawn ?? 0))));
    } else this.drawBeside({ ...this.beside, ...what });
    set(this.main.svg, { "aria-label": `${this.state.points.length} points, ${this.algorithm().title}. Arrows move, Enter adds, Delete removes, F flips.` });
    this.shareView(what);
    this.drawn = performance.now();
    this.root.dispatchEvent(new CustomEvent("linearly:drawn"));
  }

  drawBeside(what) {
    clearTimeout(this.besideTimer);
    this.besideTimer = this.beside = null;
    this.besideDrawn = performance.now();
    this.timeline(what.film || what.view);
    this.picture();
    if (what.evidence) this.evidence();
  }

  shareView(what) {
    // Curves and votes are computed where the plane is: tell the session when it shows more than it was told.
    if (!what.view || !(this.task() === "curve" || (this.film && this.film.shade === "votes") || (this.rivalFilm && this.rivalFilm.shade === "votes"))) return;
    const view = this.main.view.map((v) => Number(v.toPrecision(8)));
    const [l, r] = [this.state.view[0], this.state.view[1]], width = r - l;
    if (view.every((v, i) => Math.abs(v - this.state.view[i]) < 0.01 * (i < 2 ? width : this.state.view[3] - this.state.view[2]))) return;
    this.sent = JSON.stringify(view);
    this.send({ do: "view", view }, "view");
  }

  algorithm(name = this.state.algorithm) { return this.catalogue.find((one) => one.name === name); }
  task() { return this.state ? this.algorithm().task : "classes"; }
  experimentView() { return this.film && this.film.scene.experiment && this.film.scene.experiment.view; }
  votes(main) { return (main ? this.still : this.reply.rival && this.reply.rival.still)?.votes; }

  // --- frames

  seek(frame, ask = true) {
    if (!this.film) return;
    const last = this.film.count - 1;
    this.frame = Math.max(0, Math.min(last, Math.round(frame)));
    this.atEnd = this.frame === last;
    this.plan();
    if (ask) this.send({ do: "frame", at: this.frame }, "frame").then((reply) => {
      // A frame asked for before another film came is not the one that is drawn; while it plays, the panel may lag.
      if (!reply || !reply.still || (reply.still.at !== this.frame && !this.playing)) return;
      this.still = reply.still;
      this.dirty.evidence = true;
      this.plan();
    });
  }

  play() {
    if (this.playing) return this.pause();
    if (!this.film || this.film.count < 2) return;
    if (this.frame >= this.film.count - 1) this.seek(0);
    this.playing = true;
    this.transport();
    const begun = performance.now(), from = this.frame;
    const tick = () => {
      if (!this.playing || !this.film) return;
      const rate = SPEEDS[this.speed.selectedIndex][1];
      const frame = Math.floor(from + ((performance.now() - begun) / 1000) * rate);
      if (frame !== this.frame) this.seek(frame);
      if (this.frame >= this.film.count - 1) return this.pause();
      this.timer = setTimeout(() => requestAnimationFrame(tick), 0);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.transport();
  }

  // --- what the viewer sees around the plane

  build() {
    const button = (attributes, ...children) => h("button", { type: "button", ...attributes }, ...children);
    this.main = new Plane(this, true);
    this.other = new Plane(this, false);
    this.planes = h("div", { class: "planes" }, this.main.element);
    this.noticeBox = h("div", { class: "notice", role: "status" });
    this.planes.append(this.noticeBox);

    this.presetBox = h("select", { id: "preset", "aria-label": "Points", onchange: () => this.presetBox.value && this.send({ do: "preset", name: this.presetBox.value }) });
    const file = h("input", { id: "file", type: "file", accept: ".csv,.tsv,.txt,text/csv", "aria-label": "Load a CSV file", onchange: () => this.choose(file) });
    this.undoButton = button({ id: "undo", onclick: () => this.send({ do: "undo" }), title: "Undo (Ctrl+Z)" }, "Undo");
    this.redoButton = button({ id: "redo", onclick: () => this.send({ do: "redo" }), title: "Redo (Ctrl+Shift+Z)" }, "Redo");
    this.swatches = h("div", { class: "swatches", role: "radiogroup", "aria-label": "Class of new points" });
    this.flipButton = button({ id: "flip", onclick: () => this.flip() }, "Flip");
    this.removeButton = button({ id: "remove", onclick: () => this.remove() }, "Delete");
    this.pointHint = h("p", { class: "hint" });

    this.algorithmBox = h("select", { id: "algorithm", "aria-label": "Algorithm", onchange: () => this.send({ do: "algorithm", name: this.algorithmBox.value }) });
    this.idea = h("p", { class: "idea" });
    this.parameters = h("div", { class: "group" });
    this.rivalBox = h("select", { id: "rival", "aria-label": "Compare with", onchange: () => this.send({ do: "rival", name: this.rivalBox.value }) });
    this.rivalParameters = h("div", { class: "group" });
    this.themeButton = button({ id: "theme", class: "icon", title: "Light or dark", "aria-label": "Light or dark", onclick: () => { this.chosen = this.dark ? "light" : "dark"; this.recolour(); } }, icon("M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 1.6v10.8a5.4 5.4 0 0 1 0-10.8Z"));

    const controls = h("section", { class: "controls", "aria-label": "Controls" },
      h("div", { class: "brand" }, "linearly", h("span", {}, "lab"), this.themeButton),
      h("div", { class: "group" }, h("h2", {}, "Points"), this.presetBox,
        h("div", { class: "row" }, h("span", { class: "file" }, "Load CSV…", file), button({ id: "clear", onclick: () => this.send({ do: "clear" }) }, "Clear")),
        this.swatches,
        h("div", { class: "pairs" }, this.undoButton, this.redoButton, this.flipButton, this.removeButton),
        this.pointHint),
      h("div", { class: "group" }, h("h2", {}, "Model"), this.algorithmBox, this.idea, this.parameters),
      h("div", { class: "group" }, h("h2", {}, "Compare with"), this.rivalBox, this.rivalParameters),
      h("div", { class: "foot" },
        h("div", { class: "row" },
          this.home ? button({ id: "share", onclick: () => this.share() }, "Share link") : null,
          button({ id: "svg", onclick: () => this.export("svg") }, "SVG"), button({ id: "png", onclick: () => this.export("png") }, "PNG")),
        h("p", { class: "hint" }, h("kbd", {}, "Space"), " plays, ", h("kbd", {}, ","), " and ", h("kbd", {}, "."), " step, ", h("kbd", {}, "1"), "–", h("kbd", {}, "6"), " choose the class, ", h("kbd", {}, "0"), " shows all.")));

    const transport = (id, name, path, action) => button({ id, class: "icon", title: name, "aria-label": name, onclick: action }, icon(path));
    this.resetButton = transport("reset", "To the start", "M2 2h2.4v12H2zM14 2v12L5 8z", () => { this.pause(); this.seek(0); });
    this.backButton = transport("back", "One step back", "M11 2v12L2.5 8zM12 2h2v12h-2z", () => { this.pause(); this.seek(this.frame - 1); });
    this.playButton = transport("play", "Play", "M4 2l10 6-10 6z", () => this.play());
    this.stepButton = transport("step", "One step", "M5 2v12l8.5-6zM2 2h2v12H2z", () => { this.pause(); this.seek(this.frame + 1); });
    this.endButton = transport("end", "To the end", "M11.6 2H14v12h-2.4zM2 2v12l9-6z", () => { this.pause(); this.seek(Infinity); });
    this.speed = h("select", { id: "speed", "aria-label": "Speed" }, ...SPEEDS.map(([name, rate]) => h("option", { value: rate, selected: rate === 8 }, name)));
    this.where = h("span", { class: "where", id: "where" });
    this.waveName = h("span", { class: "wave-name" });
    this.trackSvg = s("svg", { "aria-hidden": "true" });
    this.track = h("div", { class: "track", id: "track", role: "slider", tabindex: "0", "aria-label": "Frame", "aria-valuemin": 0 }, this.trackSvg);
    const timeline = h("section", { class: "timeline", "aria-label": "Timeline" },
      h("div", { class: "transport" }, this.resetButton, this.backButton, this.playButton, this.stepButton, this.endButton, this.where, this.waveName, this.speed), this.track);

    this.verdict = h("div", { id: "verdict", "aria-live": "polite" });
    this.facts = h("dl", { class: "facts" });
    this.pictureBox = h("figure", { class: "picture" });
    this.metrics = h("div", { id: "metrics" });
    this.terms = h("div", { id: "terms" });
    this.code = h("pre", { id: "code", tabindex: "0", "aria-label": "Python code of this frame" });
    const copy = button({ id: "copy", onclick: () => this.copy(this.code.textContent, "The code is copied.") }, "Copy");
    this.warnings = h("ul", { class: "warnings" });
    const evidence = h("section", { class: "evidence", "aria-label": "Evidence" }, this.verdict, this.facts, this.pictureBox, this.metrics, this.terms, this.warnings,
      h("details", { id: "show-code" }, h("summary", {}, "Show the code"), this.code, copy));

    this.dialog = h("dialog", { "aria-label": "Columns of the file" });
    this.said = h("div", { class: "said", "aria-live": "polite" });
    this.root.classList.add("linearly-lab");
    this.root.replaceChildren(controls, h("div", { class: "stage" }, this.planes, timeline), evidence, this.dialog, this.said);
    this.listen();
  }

  begin(reply) {
    this.catalogue = reply.algorithms;
    const groups = new Map();
    for (const one of reply.algorithms) groups.set(one.group, [...(groups.get(one.group) || []), one]);
    this.algorithmBox.replaceChildren(...[...groups].map(([group, list]) => h("optgroup", { label: group }, ...list.map((one) => h("option", { value: one.name }, one.title)))));
    this.presetBox.replaceChildren(h("option", { value: "" }, "Choose points…"), ...reply.presets.map((one) => h("option", { value: one.name }, one.title)));
  }

  controls() {
    const { state, reply } = this, algorithm = this.algorithm();
    this.algorithmBox.value = state.algorithm;
    this.idea.textContent = algorithm.idea;
    this.sliders(this.parameters, algorithm, reply.settings, false);
    const rivals = this.catalogue.filter((one) => one.task === algorithm.task && one.name !== state.algorithm && one.task !== "truth");
    const key = algorithm.name;
    if (this.rivalBox.dataset.key !== key) {
      this.rivalBox.dataset.key = key;
      this.rivalBox.replaceChildren(h("option", { value: "" }, "nothing"), ...rivals.map((one) => h("option", { value: one.name }, one.title)));
    }
    this.rivalBox.value = state.rival;
    this.rivalBox.disabled = !rivals.length;
    this.sliders(this.rivalParameters, state.rival ? this.algorithm(state.rival) : null, reply.rival_settings, true);
    this.presetBox.value = reply.preset;
    this.undoButton.disabled = !reply.undo;
    this.redoButton.disabled = !reply.redo;
    this.choices();
    const curve = algorithm.task === "curve";
    this.pointHint.textContent = algorithm.task === "truth" ? "The points are drawn from the truth, or are your own." : curve
      ? "Click adds a point, drag moves it, Delete removes it." : "Click adds, drag moves, Shift-click flips, Delete removes.";
  }

  choices() {
    const { state, palette: p } = this, curve = this.task() !== "classes";
    const key = [state.classes.join("\n"), this.label, this.dark, curve].join("\n");
    this.flipButton.disabled = this.removeButton.disabled = this.selected == null;
    if (this.flipButton.disabled === false && curve) this.flipButton.disabled = true;
    if (this.swatches.dataset.key === key) return;
    this.swatches.dataset.key = key;
    this.swatches.replaceChildren(...state.classes.map((name, k) => h("button", {
      type: "button", role: "radio", "aria-checked": String(k === this.label), "aria-label": name, title: name, disabled: curve, tabindex: k === this.label ? 0 : -1,
      onclick: () => { this.label = k; this.choices(); },
      onkeydown: (event) => {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        this.label = (k + by + state.classes.length) % state.classes.length;
        this.choices();
        this.swatches.children[this.label].focus();
      },
    }, s("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, s("path", { d: SHAPES[k], fill: curve ? p.muted : p.classes[k] })))));
  }

  sliders(box, algorithm, settings, rival) {
    const list = algorithm ? algorithm.parameters.filter((one) => !(one.name === "alpha" && algorithm.name === "logistic" && settings.remedy !== "ridge")) : [];
    const key = algorithm ? algorithm.name + list.length : "";
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      box.replaceChildren(...list.map((one) => this.slider(one, rival)));
    }
    for (const one of list) {
      const input = box.querySelector(`[data-name="${one.name}"]`), value = settings[one.name];
      if (one.kind === "flag") input.checked = value;
      else if (document.activeElement !== input || one.kind === "choice") input.value = value;
      const output = input.closest("label").querySelector(".value");
      if (output) output.textContent = told(value);
    }
  }

  slider(one, rival) {
    const change = (value) => this.send({ do: "parameter", name: one.name, value, ...(rival ? { rival: true } : {}) }, `parameter ${one.name} ${rival}`);
    if (one.kind === "flag") return h("label", { class: "flag" }, h("input", { type: "checkbox", "data-name": one.name, onchange: (event) => change(event.target.checked) }), one.title);
    if (one.kind === "choice") return h("label", {}, h("span", { class: "name" }, one.title),
      h("select", { "data-name": one.name, onchange: (event) => change(event.target.value) }, ...one.options.map(([value, title]) => h("option", { value }, title))));
    // An <output> could be labelled itself, and the label belongs to what comes first.
    const output = h("span", { class: "value" });
    return h("label", {}, h("span", { class: "name" }, one.title, output), h("input", {
      type: "range", "aria-label": one.title, min: one.low, max: one.high, step: one.step, value: one.default, "data-name": one.name,
      oninput: (event) => { output.textContent = told(Number(event.target.value)); change(Number(event.target.value)); },
    }));
  }

  compare() {
    const shown = Boolean(this.state.rival && this.reply.rival);
    this.main.caption.textContent = shown ? this.algorithm().title : "";
    if (shown === Boolean(this.rivalShown)) { if (shown) this.other.caption.textContent = this.algorithm(this.state.rival).title; return; }
    this.rivalShown = shown;
    if (shown) { this.main.element.after(this.other.element); this.other.caption.textContent = this.algorithm(this.state.rival).title; }
    else this.other.element.remove();
    this.dirty = {};
    this.main.width = 0;
    this.trackBox = null;
  }

  timeline(anew) {
    const film = this.film, p = this.palette, svg = this.trackSvg, count = film ? film.count : 1;
    // To ask for a size after something was drawn costs a layout of all that was drawn.
    const box = (this.trackBox ??= this.track.getBoundingClientRect()), [W, H] = [Math.max(box.width, 10), Math.max(box.height, 10)];
    const X = (frame) => 14 + (count > 1 ? frame / (count - 1) : 0.5) * (W - 28);
    this.place = { W, count };
    if (anew) {
      set(svg, { viewBox: `0 0 ${W} ${H}` });
      svg.replaceChildren();
      if (count > 1) {
        const top = 18, foot = H - 22;
        let frames = "";
        for (let t = 0; t < count; t += Math.max(1, Math.ceil(count / 60))) frames += `M${tenths(X(t))} ${H - 8}v8`;
        svg.append(s("path", { d: frames, stroke: p.muted, "stroke-opacity": 0.35 }));
        if (film.rows.length) {
          // A tick for each frame, but no two of a colour within a pixel.
          const byLabel = new Map(), last = new Map();
          film.rows.forEach((row, t) => {
            const point = this.state.points[row], x = tenths(X(t));
            if (!point || x - (last.get(point[2]) ?? -1) < 1) return;
            last.set(point[2], x);
            byLabel.set(point[2], (byLabel.get(point[2]) || "") + `M${x} ${foot + 3}v8`);
          });
          const width = Math.max(0.7, Math.min(6, ((W - 28) / count) * 0.6));
          for (const [label, d] of byLabel) svg.append(s("path", { d, stroke: p.classes[label % 6], "stroke-width": width }));
        }
        if (film.wave) {
          const values = Array.from(film.wave.data), low = Math.min(...values), high = Math.max(...values);
          const least = film.wave_name.startsWith("errors") ? 0 : low;
          const Y = (v) => foot - ((v - least) / (high - least || 1)) * (foot - top);
          const line = extremes(values, 400).map((t) => `${tenths(X(t))} ${tenths(Y(values[t]))}`).join("L");
          svg.append(s("path", { d: `M${X(0)} ${foot}L${line}L${X(count - 1)} ${foot}Z`, fill: p.accent, "fill-opacity": 0.16 }));
          svg.append(s("path", { d: "M" + line, fill: "none", stroke: p.accent, "stroke-width": 1.6, "stroke-linejoin": "round" }));
        }
        // Marks of passes give way to each other, and to those that name the best.
        const taken = [];
        for (const { at, name } of [...film.marks].sort((a, b) => rank(a) - rank(b))) {
          const wide = name.length * 6.4 + 8, left = X(at) + 4 + wide > W, span = left ? [X(at) - wide, X(at)] : [X(at), X(at) + wide];
          if (taken.some(([a, b]) => span[0] < b && span[1] > a)) continue;
          taken.push(span);
          svg.append(s("path", { d: `M${X(at)} 4V${H - 8}`, stroke: p.muted, "stroke-opacity": 0.5, "stroke-dasharray": "2 3" }));
          svg.append(s("text", { x: X(at) + (left ? -4 : 4), y: 12, "font-size": 11, fill: rank({ name }) ? p.muted : p.ink, "font-weight": rank({ name }) ? 400 : 600, "text-anchor": left ? "end" : "start" }, name));
        }
      } else {
        svg.append(s("text", { x: W / 2, y: H / 2 + 4, "text-anchor": "middle", "font-size": 12, fill: p.muted }, film ? "Solved at once: there are no steps to show." : ""));
      }
      this.head = s("g", { class: "head" }, s("path", { d: `M0 0V${H}`, stroke: p.ink, "stroke-width": 2 }), s("path", { d: "M-6 0H6V5L0 11L-6 5Z", fill: p.ink }));
      if (count > 1) svg.append(this.head);
      this.waveName.textContent = film ? film.wave_name : "";
    }
    if (this.head) set(this.head, { transform: `translate(${X(this.frame).toFixed(1)} 0)` });
    this.transport();
  }

  transport() {
    const film = this.film, count = film ? film.count : 1, last = count - 1;
    const unit = film && film.unit ? film.unit : "frame";
    this.where.textContent = count > 1 ? `${unit} ${this.frame} of ${last}` : "";
    for (const [button, off] of [[this.resetButton, this.frame === 0], [this.backButton, this.frame === 0], [this.stepButton, this.frame >= last], [this.endButton, this.frame >= last], [this.playButton, count < 2]]) button.disabled = off || count < 2;
    const path = this.playing ? "M3 2h3.6v12H3zM9.4 2H13v12H9.4z" : "M4 2l10 6-10 6z";
    set(this.playButton.querySelector("path"), { d: path });
    set(this.playButton, { "aria-label": this.playing ? "Pause" : "Play", title: this.playing ? "Pause" : "Play" });
    set(this.track, { "aria-valuemax": last, "aria-valuenow": this.frame, "aria-valuetext": this.where.textContent || "one frame", "aria-disabled": count < 2 ? "true" : "false" });
  }

  picture() {
    const kind = this.film && this.film.picture && this.film.picture.kind;
    if (!kind || (kind === "weights" && !(this.film.walk || this.film.weights))) { this.pictureBox.hidden = true; return; }
    this.pictureBox.hidden = false;
    if (kind === "weights" && this.film.partial) return;  // it shows all frames, which come at the end of the drag
    const [title, svg] = PICTURES[kind](this, this.film, Math.min(this.frame, this.film.count - 1));
    if (!svg.hasAttribute("aria-label")) set(svg, { "aria-label": title });
    this.pictureBox.replaceChildren(h("figcaption", {}, title), svg);
  }

  evidence() {
    const { reply, still, film } = this, answer = reply.answer;
    const proof = film && film.scene.certificate, said = [];
    if (proof) said.push(h("div", { class: "badge", "data-kind": proof.verdict }, proof.badge));
    else said.push(h("div", { class: "badge" }, answer.trouble ? "Not yet" : this.algorithm().title));
    said.push(h("p", { class: "words" }, still ? still.words : answer.trouble));
    if (proof) said.push(h("p", { class: "proof" }, proof.sentence));
    const signature = said.map((one) => one.textContent).join("|");
    if (this.verdict.dataset.signature !== signature) { this.verdict.dataset.signature = signature; this.verdict.replaceChildren(...said); }
    this.facts.replaceChildren(...(still ? still.facts : []).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, told(value)))));
    const bound = still && still.facts.find(([name]) => name.includes("(R/γ)²"));
    if (bound && bound[1]) {
      const bar = h("i");
      bar.style.width = `${Math.min(100, (100 * still.facts[0][1]) / bound[1])}%`;
      this.facts.append(h("div", { class: "gauge", role: "img", "aria-label": `${still.facts[0][1]} of at most ${told(bound[1])} updates` }, bar));
    }
    this.figures();
    this.table();
    if (!still || still.code != null) this.code.textContent = still ? still.code : "";
    this.warnings.replaceChildren(...answer.warnings.map((text) => h("li", {}, text)));
    this.warnings.hidden = !answer.warnings.length;
  }

  figures() {
    const { still, palette: p, reply } = this, parts = [];
    const rival = this.rivalShown && reply.rival.still;
    if (still && still.confusion) {
      const { labels, counts } = still.confusion, most = Math.max(1, ...counts.flat());
      const cell = (value, right) => {
        const td = h("td", {}, String(value));
        const [r, g, b] = rgb(right ? p.right : p.wrong);
        td.style.background = value ? `rgb(${r} ${g} ${b} / ${(0.1 + 0.5 * (value / most)).toFixed(2)})` : "";
        return td;
      };
      parts.push(h("div", {}, h("h3", {}, "Rows actual, columns predicted"), h("table", { class: "confusion" },
        h("thead", {}, h("tr", {}, h("td"), ...labels.map((name) => h("th", { scope: "col", title: name }, name)))),
        h("tbody", {}, ...counts.map((row, i) => h("tr", {}, h("th", { scope: "row", title: labels[i] }, labels[i]), ...row.map((value, j) => cell(value, i === j))))))));
      parts[0].querySelector("thead td").style.background = "none";
    }
    if (still && still.metrics.length) {
      const rows = still.metrics.map(([name, value, low, high]) => {
        const other = rival ? rival.metrics.find((one) => one[0] === name) : null;
        const unit = ["accuracy", "precision", "recall", "F1", "R²"].includes(name) && low != null && high != null;
        const bar = s("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" });
        if (unit) bar.append(s("path", { d: "M0 6H100", stroke: p.rule, "stroke-width": 3 }), s("path", { d: `M${100 * Math.max(0, low)} 6H${100 * Math.max(0, high)}`, stroke: p.accent, "stroke-opacity": 0.4, "stroke-width": 5 }), s("path", { d: `M${Math.max(0.6, Math.min(99.4, 100 * value))} 1V11`, stroke: p.accent, "stroke-width": 2, "vector-effect": "non-scaling-stroke" }));
        return h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "n" }, value == null ? "–" : unit ? share(value) : told(value)),
          rival ? h("td", { class: "n" }, other && other[1] != null ? (unit ? share(other[1]) : told(other[1])) : "–")
            : h("td", { class: "bar", title: unit ? `95 %: ${share(low)} to ${share(high)}` : null }, unit ? bar : ""));
      });
      parts.push(h("table", { class: "figures" }, rival ? h("thead", {}, h("tr", {}, h("th"), h("th", {}, this.algorithm().title), h("th", {}, this.algorithm(this.state.rival).title))) : null, h("tbody", {}, ...rows)));
    }
    this.metrics.replaceChildren(...parts);
    this.metrics.hidden = !parts.length;
  }

  table() {
    const terms = this.still ? this.still.terms : [];
    this.terms.hidden = !terms.length;
    const errors = terms.some((term) => term[2] != null);
    this.terms.replaceChildren(h("table", { class: "figures" },
      h("thead", {}, h("tr", {}, h("th", {}, "Coefficients"), h("th", {}, "estimate"), errors ? h("th", {}, "std. error") : null)),
      h("tbody", {}, ...terms.map(([name, value, error]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "n" }, told(value)), errors ? h("td", { class: "se" }, told(error)) : null)))));
  }

  // --- the viewer's hand

  listen() {
    const svg = this.main.svg;
    const at = (event) => {
      const box = svg.getBoundingClientRect(), plane = this.main;
      return [plane.x(((event.clientX - box.left) / box.width) * plane.width), plane.y(((event.clientY - box.top) / box.height) * plane.height)];
    };
    const near = (event) => {
      const hit = event.target.closest(".point");
      if (hit) return Number(hit.dataset.index);
      if (event.pointerType !== "touch") return null;
      const box = svg.getBoundingClientRect();
      let best = null, least = 22;
      this.state.points.forEach(([x, y], i) => {
        const far = Math.hypot(this.main.X(x) - (event.clientX - box.left), this.main.Y(y) - (event.clientY - box.top));
        if (far < least) { least = far; best = i; }
      });
      return best;
    };
    let hand = null;
    svg.addEventListener("pointerdown", (event) => {
      if (!this.state || event.button !== 0) return;
      svg.setPointerCapture(event.pointerId);
      const index = this.experimentView() ? null : near(event);
      hand = { index, from: [event.clientX, event.clientY], view: this.main.view && [...this.main.view], moved: false };
      if (index != null) {
        if (event.shiftKey) { this.selected = index; this.flip(); hand = null; return; }
        this.select(index);
      }
    });
    svg.addEventListener("pointermove", (event) => {
      if (!hand) return;
      if (!hand.moved && Math.hypot(event.clientX - hand.from[0], event.clientY - hand.from[1]) < 4) return;
      hand.moved = true;
      if (hand.index != null) {
        const [x, y] = at(event).map((v) => Number(v.toPrecision(5)));
        hand.to = [x, y];
        this.state.points[hand.index] = [x, y, this.state.points[hand.index][2]];
        this.dirty.points = true;
        this.plan();
        this.send({ do: "move", index: hand.index, x, y, drag: "on" }, "move");
      } else {
        const [l, r, b, t] = hand.view, dx = ((event.clientX - hand.from[0]) / this.main.width) * (r - l), dy = ((event.clientY - hand.from[1]) / this.main.height) * (t - b);
        this.look([l - dx, r - dx, b + dy, t + dy]);
      }
    });
    svg.addEventListener("pointerup", (event) => {
      if (!hand) return;
      const { index, moved, to } = hand;
      hand = null;
      if (index != null && moved) this.send({ do: "move", index, x: to[0], y: to[1], drag: "end" }, "move");
      if (index == null && !moved && !this.experimentView()) {
        const [x, y] = at(event);
        this.add(x, y);
      }
    });
    svg.addEventListener("pointercancel", () => {
      if (hand && hand.index != null && hand.moved) this.send({ do: "move", index: hand.index, x: hand.to[0], y: hand.to[1], drag: "end" }, "move");
      hand = null;
    });
    svg.addEventListener("wheel", (event) => {
      if (!this.main.view || (!this.home && !event.ctrlKey)) return;
      event.preventDefault();
      const [x, y] = at(event), k = Math.exp(Math.max(-0.3, Math.min(0.3, event.deltaY * 0.0015))), [l, r, b, t] = this.main.view;
      this.look([x + (l - x) * k, x + (r - x) * k, y + (b - y) * k, y + (t - y) * k]);
    }, { passive: false });
    svg.addEventListener("keydown", (event) => this.pressed(event));
    svg.addEventListener("blur", () => { this.cursor = null; this.plan(); });
    this.root.addEventListener("keydown", (event) => this.anywhere(event));
    const scrub = (event) => {
      if (!this.place || this.place.count < 2) return;
      const box = this.track.getBoundingClientRect();
      this.pause();
      this.seek(((event.clientX - box.left - 14) / (box.width - 28)) * (this.place.count - 1));
    };
    this.track.addEventListener("pointerdown", (event) => { this.track.setPointerCapture(event.pointerId); scrub(event); });
    this.track.addEventListener("pointermove", (event) => { if (event.buttons & 1) scrub(event); });
    this.track.addEventListener("keydown", (event) => {
      const last = this.film ? this.film.count - 1 : 0, leap = Math.max(1, Math.round(last / 20));
      const to = { ArrowRight: this.frame + 1, ArrowUp: this.frame + 1, ArrowLeft: this.frame - 1, ArrowDown: this.frame - 1, PageUp: this.frame + leap, PageDown: this.frame - leap, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.pause();
      this.seek(to);
    });
  }

  look(view) {
    if (!view.every(Number.isFinite) || view[1] - view[0] < 1e-6 || view[1] - view[0] > 1e8) return;
    this.base = view;
    this.dirty.view = this.dirty.points = this.dirty.film = true;
    this.plan();
  }

  add(x, y) {
    this.selected = null;
    const round = (v, span) => Number(v.toFixed(Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(span))))));
    const [l, r, b, t] = this.main.view;
    this.send({ do: "add", x: round(x, r - l), y: round(y, t - b), label: this.label });
    this.say(`Added a ${this.state.classes[this.label]} point.`);
  }

  select(index) {
    this.selected = index;
    this.dirty.points = this.dirty.controls = true;
    this.plan();
  }

  flip() { if (this.selected != null) this.send({ do: "flip", index: this.selected }); }

  remove() {
    if (this.selected == null) return;
    this.send({ do: "remove", index: this.selected });
    this.selected = null;
    this.say("Removed the point.");
  }

  pressed(event) {
    if (!this.state || event.ctrlKey || event.metaKey || event.altKey) return;
    const [l, r, b, t] = this.main.view, by = (event.shiftKey ? 10 : 1) * 0.006;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const n = this.state.points.length;
    if (way) {
      const [dx, dy] = [way[0] * by * (r - l), way[1] * by * (r - l) * ((t - b) / (r - l))];
      if (this.selected != null) {
        const [x, y] = this.state.points[this.selected];
        this.send({ do: "move", index: this.selected, x: Number((x + dx).toPrecision(6)), y: Number((y + dy).toPrecision(6)) });
      } else {
        const [x, y] = this.cursor || [(l + r) / 2, (b + t) / 2];
        this.cursor = [x + 3 * dx, y + 3 * dy];
        this.plan();
      }
    } else if (event.key === "Enter") this.add(...(this.cursor || [(l + r) / 2, (b + t) / 2]));
    else if (event.key === "]" || event.key === "[") {
      if (n) this.select(((this.selected ?? (event.key === "]" ? -1 : 0)) + (event.key === "]" ? 1 : -1) + n) % n);
      if (n) this.say(`Point ${this.selected + 1} of ${n}: ${this.state.points[this.selected].slice(0, 2).map(told).join(", ")}, ${this.state.classes[this.state.points[this.selected][2]]}.`);
    } else if (event.key === "Escape") { this.selected = null; this.cursor = null; this.dirty.points = this.dirty.controls = true; this.plan(); }
    else return;
    event.preventDefault();
  }

  anywhere(event) {
    const typing = event.target.closest("input, select, textarea, dialog, pre"), pushed = event.target.closest("button, summary");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
      event.preventDefault();
      this.send({ do: event.shiftKey ? "redo" : "undo" });
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && !pushed) this.play();
    else if (event.key === ".") { this.pause(); this.seek(this.frame + 1); }
    else if (event.key === ",") { this.pause(); this.seek(this.frame - 1); }
    else if (event.key === "0") this.send({ do: "view" });
    else if ((event.key === "Delete" || event.key === "Backspace") && this.selected != null) this.remove();
    else if (event.key.toLowerCase() === "f" && this.selected != null) this.flip();
    else if (/^[1-6]$/.test(event.key) && Number(event.key) <= this.state.classes.length) { this.label = Number(event.key) - 1; this.choices(); }
    else return;
    event.preventDefault();
  }

  // --- files, links, pictures

  async choose(input) {
    const file = input.files[0];
    input.value = "";
    if (!file) return;
    if (file.size > 3.5e6) return this.notice("The file is larger than 3.5 MB: give it to the command line, linearly lab FILE.");
    const text = await file.text();
    const reply = await this.send({ do: "columns", text });
    if (!reply) return;
    const numeric = reply.columns.filter((one) => one.numeric), labelled = reply.columns.filter((one) => one.labels > 1);
    const rest = (name) => numeric.filter((one) => one.name !== name);
    const last = labelled.at(-1)?.name ?? "", target = rest(last).length > 1 ? last : "", free = rest(target);
    const many = reply.columns.filter((one) => !one.numeric && one.labels == null).map((one) => one.name);
    const why = `Columns of 2 to ${SHAPES.length} labels can be the colour.` + (many.length ? ` ${many.slice(0, 4).join(", ")}${many.length > 4 ? ", …" : ""} ${many.length > 1 ? "have" : "has"} more.` : "");
    const pick = (id, title, list, value) => h("label", {}, h("span", { class: "name" }, title), h("select", { id, name: id }, ...list.map((one) => h("option", { value: one, selected: one === value }, one || "none: fit a curve"))));
    const form = h("form", { method: "dialog" }, h("h2", {}, file.name),
      pick("column-x", "Across", numeric.map((one) => one.name), free[0]?.name), pick("column-y", "Up", numeric.map((one) => one.name), free[1]?.name),
      pick("column-target", "Colour", ["", ...labelled.map((one) => one.name)], target), h("p", { class: "hint" }, why),
      h("div", { class: "row" }, h("button", { type: "submit", value: "", formnovalidate: true }, "Cancel"), h("button", { id: "load", type: "submit", value: "load", class: "primary" }, "Load")));
    this.dialog.replaceChildren(form);
    this.dialog.onclose = () => {
      if (this.dialog.returnValue !== "load") return;
      const value = (id) => form.querySelector(`#${id}`).value;
      this.presetBox.value = "";
      this.send({ do: "load", text, x: value("column-x"), y: value("column-y"), target: value("column-target") });
    };
    this.dialog.returnValue = "";
    this.dialog.showModal();
  }

  remember() {
    if (!this.home) return;
    clearTimeout(this.later);
    this.later = setTimeout(async () => history.replaceState(null, "", `#${await wrap(this.state)}`), 250);
  }

  async share() {
    const link = `${location.href.split("#")[0]}#${await wrap(this.state)}`;
    history.replaceState(null, "", link);
    this.copy(link, "The link is copied: it holds the points, the model and its parameters.");
  }

  async copy(text, done) {
    try {
      await navigator.clipboard.writeText(text);
      this.notice(done);
    } catch {
      this.notice("The browser does not let the page copy: select the text by hand.");
    }
  }

  async export(kind) {
    const planes = this.rivalShown ? [this.main, this.other] : [this.main], [W, H] = [planes.reduce((sum, one) => sum + one.width, 0), this.main.height];
    const whole = s("svg", { xmlns: NS, viewBox: `0 0 ${W} ${H}`, width: W, height: H, "font-family": "system-ui, sans-serif" }, s("rect", { width: W, height: H, fill: this.palette.plane }));
    let left = 0;
    for (const plane of planes) {
      const inner = s("svg", { x: left, width: plane.width, height: plane.height, viewBox: plane.svg.getAttribute("viewBox") });
      if (plane.canvas.dataset.used) inner.append(s("image", { href: plane.canvas.toDataURL(), width: plane.width, height: plane.height, preserveAspectRatio: "none" }));
      for (const child of [...plane.under.children, ...plane.svg.children]) inner.append(child.cloneNode(true));
      if (plane.caption.textContent) inner.append(s("text", { x: 15, y: 28, "font-size": 16, "font-weight": 600, fill: this.palette.ink }, plane.caption.textContent));
      whole.append(inner);
      left += plane.width;
    }
    const text = new XMLSerializer().serializeToString(whole), blob = new Blob([text], { type: "image/svg+xml" });
    if (kind === "svg") return saved("linearly.svg", blob);
    const image = new Image(), url = URL.createObjectURL(blob);
    image.onload = () => {
      const canvas = h("canvas");
      canvas.width = 2 * W;
      canvas.height = 2 * H;
      canvas.getContext("2d").drawImage(image, 0, 0, 2 * W, 2 * H);
      URL.revokeObjectURL(url);
      canvas.toBlob((png) => png && saved("linearly.png", png), "image/png");
    };
    image.src = url;
  }

  // --- the look

  recolour() {
    this.dark = this.chosen ? this.chosen === "dark" : NIGHT.matches;
    this.palette = this.dark ? DARK : LIGHT;
    this.root.dataset.theme = this.dark ? "dark" : "light";
    this.dirty = { view: true, points: true, film: true, evidence: true, controls: true };
    this.plan();
  }

  resized() {
    const width = this.root.getBoundingClientRect().width;
    const kind = width < 700 ? "narrow" : width < 1080 ? "medium" : "wide";
    if (this.root.dataset.width !== kind) this.root.dataset.width = kind;
    this.trackBox = null;
    this.dirty.view = this.dirty.points = this.dirty.film = true;
    this.plan();
  }

  notice(text) {
    this.noticeBox.textContent = text;
    this.noticeBox.dataset.shown = "true";
    clearTimeout(this.noticeTimer);
    this.noticeTimer = setTimeout(() => { this.noticeBox.dataset.shown = "false"; }, 2500 + 45 * text.length);
  }

  say(text) { this.said.textContent = text; }
}

// --- share links: the state, squeezed, in the part of the address that no server sees

async function squeeze(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function wrap(state) {
  const bytes = await squeeze(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unwrap(fragment) {
  const bytes = Uint8Array.from(atob(fragment.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(await squeeze(bytes, new DecompressionStream("deflate-raw"))));
}

// --- two homes

async function start(root) {
  const page = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const ask = async (message) => {
    const response = await fetch("api", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ page, ...message }) });
    return response.json();
  };
  const lab = new Lab(root, ask, true);
  lab.resized();
  lab.main.fit();
  const restore = async (fragment) => {
    try {
      return await lab.send({ do: "restore", state: await unwrap(fragment) });
    } catch {
      lab.notice("This link does not hold a state of the lab.");
      return null;
    }
  };
  const fragment = location.hash.slice(1);
  await lab.send({ do: "open" });
  if (fragment) await restore(fragment);
  addEventListener("hashchange", () => location.hash.length > 1 && restore(location.hash.slice(1)));
  root.dataset.ready = "true";
  root.lab = lab;
}

const own = typeof document !== "undefined" && document.getElementById("linearly-lab");
if (own && !own.dataset.ready) start(own);

export default {
  render({ model, el }) {
    const root = h("div");
    el.append(root);
    const waiting = new Map();
    let number = 0;
    const heard = (content) => {
      if (!waiting.has(content.number)) return;
      waiting.get(content.number)(JSON.parse(content.reply));
      waiting.delete(content.number);
    };
    model.on("msg:custom", heard);
    const ask = (message) => new Promise((resolve) => {
      number += 1;
      waiting.set(number, resolve);
      model.send({ ...message, number });
    });
    const lab = new Lab(root, ask, false);
    lab.resized();
    lab.send({ do: "open" }).then(() => { root.dataset.ready = "true"; });
    root.lab = lab;
    return () => {
      model.off("msg:custom", heard);
      lab.close();
    };
  },
};
