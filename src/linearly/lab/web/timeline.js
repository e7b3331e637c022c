// The timeline: a track with the frames of the animation, and the controls that play it.

import { h, icon, s, set } from "./elements.js";
import { extremes, tenths } from "./numbers.js";

const SPEEDS = [["½×", 2], ["1×", 4], ["4×", 16], ["16×", 64]];  // frames per second
const PLAY = "M4 2l10 6-10 6z", PAUSE = "M3 2h3.6v12H3zM9.4 2H13v12H9.4z";
const EDGE = 14;  // pixels left free at either end of the track

export class Timeline {
  constructor(lab) {
    this.lab = lab;
    const button = (id, name, path, onclick) =>
      h("button", { type: "button", id, class: "icon", title: name, "aria-label": name, onclick }, icon(path));
    this.start = button("reset", "To the start", "M2 2h2.4v12H2zM14 2v12L5 8z", () => this.go(0));
    this.back = button("back", "One step back", "M11 2v12L2.5 8zM12 2h2v12h-2z", () => this.go(lab.frame - 1));
    this.playing = false;
    this.toggle = button("play", "Play", PLAY, () => this.play());
    this.step = button("step", "One step", "M5 2v12l8.5-6zM2 2h2v12H2z", () => this.go(lab.frame + 1));
    this.end = button("end", "To the end", "M11.6 2H14v12h-2.4zM2 2v12l9-6z", () => this.go(Infinity));
    const speeds = SPEEDS.map(([name, rate]) => h("option", { value: rate, selected: rate === 4 }, name));
    this.speed = h("select", { id: "speed", "aria-label": "Speed" }, ...speeds);
    this.panels = h("button", { type: "button", id: "panels", onclick: () => lab.lecture(false) }, "Show panels");
    this.where = h("span", { class: "where", id: "where" });
    this.waveName = h("span", { class: "wave-name" });
    this.svg = s("svg", { "aria-hidden": "true" });
    this.track = h("div", {
      class: "track", id: "track", role: "slider", tabindex: "0", "aria-label": "Frame", "aria-valuemin": 0,
      onpointerdown: (event) => { this.track.setPointerCapture(event.pointerId); this.scrub(event); },
      onpointermove: (event) => { if (event.buttons & 1) this.scrub(event); },
      onkeydown: (event) => this.pressed(event),
    }, this.svg);
    const buttons = [this.start, this.back, this.toggle, this.step, this.end];
    this.element = h("section", { class: "timeline", "aria-label": "Timeline" },
      h("div", { class: "transport" }, ...buttons, this.where, this.waveName, this.speed, lab.layers.element,
        this.panels),
      this.track);
  }

  // --- going through the frames

  go(frame) {
    this.pause();
    this.lab.seek(frame);
  }

  // Play at a speed that takes no longer than some seconds.
  playWithin(seconds) {
    const frames = this.lab.animation.count, fits = SPEEDS.findIndex(([, rate]) => frames / rate <= seconds);
    this.speed.selectedIndex = fits < 0 ? SPEEDS.length - 1 : fits;
    if (!this.playing) this.play();
  }

  play() {
    const { lab } = this;
    if (this.playing) return this.pause();
    if (!lab.animation || lab.animation.count < 2) return;
    if (lab.frame >= lab.animation.count - 1) lab.seek(0);
    this.playing = true;
    this.transport();
    const started = performance.now(), from = lab.frame;
    const tick = () => {
      if (!this.playing || !lab.animation) return;
      const rate = SPEEDS[this.speed.selectedIndex][1];
      const frame = Math.floor(from + ((performance.now() - started) / 1000) * rate);
      if (frame !== lab.frame) lab.seek(frame);
      if (lab.frame >= lab.animation.count - 1) return this.pause();
      setTimeout(() => requestAnimationFrame(tick), 0);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.transport();
  }

  scrub(event) {
    if (!this.count || this.count < 2) return;
    const box = this.track.getBoundingClientRect();
    this.go(((event.clientX - box.left - EDGE) / (box.width - 2 * EDGE)) * (this.count - 1));
  }

  pressed(event) {
    const { animation, frame } = this.lab, last = animation ? animation.count - 1 : 0;
    const leap = Math.max(1, Math.round(last / 20));
    const to = {
      ArrowRight: frame + 1, ArrowUp: frame + 1, ArrowLeft: frame - 1, ArrowDown: frame - 1,
      PageUp: frame + leap, PageDown: frame - leap, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.go(to);
  }

  // --- drawing

  resized() { this.box = null; }

  draw(anew) {
    const { animation, frame } = this.lab, count = this.count = animation ? animation.count : 1;
    // The size is cached, because measuring it after drawing forces a new layout.
    this.box ??= this.track.getBoundingClientRect();
    this.width = Math.max(this.box.width, 10);
    this.height = Math.max(this.box.height, 10);
    if (anew) {
      set(this.svg, { viewBox: `0 0 ${this.width} ${this.height}` });
      this.svg.replaceChildren();
      if (count > 1) this.frames(animation);
      else this.placeholder(animation ? "This model is solved in one step, without an animation." : "");
      this.waveName.textContent = animation ? animation.wave_name : "";
    }
    if (this.head) set(this.head, { transform: `translate(${this.X(frame).toFixed(1)} 0)` });
    this.transport();
  }

  X(frame) { return EDGE + (this.count > 1 ? frame / (this.count - 1) : 0.5) * (this.width - 2 * EDGE); }

  placeholder(words) {
    const look = { "text-anchor": "middle", "font-size": 0.92 * this.lab.unit, fill: this.lab.palette.muted };
    this.svg.append(s("text", { x: this.width / 2, y: this.height / 2 + 4, ...look }, words));
    this.head = null;
  }

  frames(animation) {
    const { palette: p } = this.lab, H = this.height, top = 18, foot = H - 22;
    const stride = Math.max(1, Math.ceil(animation.count / 60));
    let d = "";
    for (let t = 0; t < animation.count; t += stride) d += `M${tenths(this.X(t))} ${H - 8}v8`;
    this.svg.append(s("path", { d, stroke: p.muted, "stroke-opacity": 0.35 }));
    if (animation.rows.length) this.rows(animation.rows, foot);
    if (animation.wave) this.wave(animation, top, foot);
    this.marks(animation.marks);
    this.head = s("g", { class: "head" },
      s("path", { d: `M0 0V${H}`, stroke: p.ink, "stroke-width": 2 }),
      s("path", { d: "M-6 0H6V5L0 11L-6 5Z", fill: p.ink }));
    this.svg.append(this.head);
  }

  // A tick for each frame in the colour of its row, but no two of a colour within a pixel.
  rows(rows, foot) {
    const { palette: p, state } = this.lab, byLabel = new Map(), last = new Map();
    rows.forEach((row, t) => {
      const point = state.points[row], x = tenths(this.X(t));
      if (!point || x - (last.get(point[2]) ?? -1) < 1) return;
      last.set(point[2], x);
      byLabel.set(point[2], (byLabel.get(point[2]) || "") + `M${x} ${foot + 3}v8`);
    });
    const width = Math.max(0.7, Math.min(6, ((this.width - 2 * EDGE) / this.count) * 0.6));
    for (const [label, d] of byLabel) {
      this.svg.append(s("path", { d, stroke: p.classes[label % 6], "stroke-width": width }));
    }
  }

  // One number per frame, from the first to the last.
  wave(animation, top, foot) {
    const p = this.lab.palette, values = Array.from(animation.wave.data), high = Math.max(...values);
    const least = animation.wave_name.startsWith("errors") ? 0 : Math.min(...values);
    const Y = (v) => foot - ((v - least) / (high - least || 1)) * (foot - top);
    const line = extremes(values, 400).map((t) => `${tenths(this.X(t))} ${tenths(Y(values[t]))}`).join("L");
    const area = `M${this.X(0)} ${foot}L${line}L${this.X(animation.count - 1)} ${foot}Z`;
    const stroke = { fill: "none", stroke: p.accent, "stroke-width": 1.6, "stroke-linejoin": "round" };
    this.svg.append(s("path", { d: area, fill: p.accent, "fill-opacity": 0.16 }));
    this.svg.append(s("path", { d: "M" + line, ...stroke }));
  }

  // Marks of passes that would overlap are left out; those of the best frame come first.
  marks(marks) {
    const p = this.lab.palette, taken = [], leads = ({ name }) => name === "best" || name === "chosen";
    const line = { stroke: p.muted, "stroke-opacity": 0.5, "stroke-dasharray": "2 3" };
    for (const mark of [...marks].sort((a, b) => leads(b) - leads(a))) {
      const x = this.X(mark.at), wide = mark.name.length * 0.5 * this.lab.unit + 8, left = x + 4 + wide > this.width;
      const span = left ? [x - wide, x] : [x, x + wide];
      if (taken.some(([a, b]) => span[0] < b && span[1] > a)) continue;
      taken.push(span);
      this.svg.append(s("path", { d: `M${x} 4V${this.height - 8}`, ...line }));
      this.svg.append(s("text", {
        x: x + (left ? -4 : 4), y: 0.92 * this.lab.unit, "font-size": 0.85 * this.lab.unit, fill: leads(mark) ? p.ink : p.muted,
        "font-weight": leads(mark) ? 600 : 400, "text-anchor": left ? "end" : "start",
      }, mark.name));
    }
  }

  transport() {
    const { animation, frame } = this.lab, count = animation ? animation.count : 1, last = count - 1;
    const unit = animation && animation.unit ? animation.unit : "frame", name = this.playing ? "Pause" : "Play";
    this.where.textContent = count > 1 ? `${unit} ${frame} of ${last}` : "";
    this.toggle.disabled = count < 2;
    for (const button of [this.start, this.back]) button.disabled = frame === 0 || count < 2;
    for (const button of [this.step, this.end]) button.disabled = frame >= last || count < 2;
    set(this.toggle.querySelector("path"), { d: this.playing ? PAUSE : PLAY });
    set(this.toggle, { "aria-label": name, title: name });
    set(this.track, {
      "aria-valuemax": last, "aria-valuenow": frame, "aria-valuetext": this.where.textContent || "one frame",
      "aria-disabled": count < 2 ? "true" : "false",
    });
  }
}
