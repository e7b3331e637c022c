// Pointer and keyboard: add, move, flip and remove points, and change the view.

import { formatNumber } from "./numbers.js";

const REST = 400;  // milliseconds after which a dragged point is at rest
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export class PointerInput {
  constructor(lab) {
    this.lab = lab;
    this.held = null;  // the point or the place that the pointer went down on
    const svg = lab.main.svg;
    svg.addEventListener("pointerdown", (event) => this.down(event));
    svg.addEventListener("pointermove", (event) => this.drag(event));
    svg.addEventListener("pointerup", (event) => this.up(event));
    svg.addEventListener("pointercancel", () => this.release());
    svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    svg.addEventListener("keydown", (event) => this.pressed(event));
    svg.addEventListener("blur", () => { lab.cursor = null; lab.plan(); });
    // Touching a point drags it; anywhere else a finger scrolls the page.
    const dragged = (event) => event.touches.length === 1 && this.nearest(event.touches[0]) != null;
    svg.addEventListener("touchstart", (event) => { if (dragged(event)) event.preventDefault(); }, { passive: false });
    // A page of its own listens everywhere, so that keys work before anything has been clicked.
    const listener = lab.home ? document : lab.root;
    listener.addEventListener("keydown", (event) => this.anywhere(event), { signal: lab.stop.signal });
  }

  // --- actions

  look(view) {
    const { lab } = this, width = view[1] - view[0];
    if (!view.every(Number.isFinite) || width < 1e-6 || width > 1e8) return;
    lab.base = view;
    lab.fitted = false;
    lab.dirty.view = lab.dirty.points = lab.dirty.animation = true;
    lab.plan();
  }

  add(x, y) {
    const { lab } = this, [l, r, b, t] = lab.main.view;
    const round = (v, span) => Number(v.toFixed(Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(span))))));
    lab.selected = null;
    lab.send({ do: "add", x: round(x, r - l), y: round(y, t - b), label: lab.label });
    lab.say(`Added a ${lab.state.classes[lab.label]} point.`);
  }

  select(index) {
    const { lab } = this;
    lab.selected = index;
    lab.dirty.points = lab.dirty.controls = true;
    lab.influence.ask();
    lab.plan();
  }

  async flip() {
    const { lab } = this, index = lab.selected;
    if (index == null) return;
    await lab.send({ do: "flip", index });
    const point = lab.state.points[index];
    if (point) lab.say(`The point is now ${lab.state.classes[point[2]]}.`);
  }

  remove() {
    const { lab } = this;
    if (lab.selected == null) return;
    lab.send({ do: "remove", index: lab.selected });
    lab.selected = null;
    lab.say("Removed the point.");
  }

  // --- the pointer

  // Coordinates of an event in the data.
  at(event) {
    const { main } = this.lab, box = main.svg.getBoundingClientRect();
    const [u, v] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    return [main.x(u * main.width), main.y(v * main.height)];
  }

  // The point under the pointer; a finger may miss it slightly.
  near(event) {
    const hit = event.target.closest(".point");
    if (hit) return Number(hit.dataset.index);
    return event.pointerType === "touch" ? this.nearest(event) : null;
  }

  nearest(event) {
    const { main, state } = this.lab;
    if (this.lab.experimentView()) return null;
    const box = main.svg.getBoundingClientRect();
    let best = null, least = 22;
    state.points.forEach(([x, y], i) => {
      const far = Math.hypot(main.X(x) - (event.clientX - box.left), main.Y(y) - (event.clientY - box.top));
      if (far < least) { least = far; best = i; }
    });
    return best;
  }

  down(event) {
    const { lab } = this;
    if (!lab.state || event.button !== 0) return;
    lab.main.svg.setPointerCapture(event.pointerId);
    const index = lab.experimentView() ? null : this.near(event), view = lab.main.view && [...lab.main.view];
    this.held = { index, from: [event.clientX, event.clientY], view, moved: false };
    if (index == null) return;
    if (event.shiftKey) { lab.selected = index; this.flip(); this.held = null; return; }
    this.select(index);
  }

  drag(event) {
    const { lab, held } = this;
    if (!held) return;
    const [dx, dy] = [event.clientX - held.from[0], event.clientY - held.from[1]];
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    held.moved = true;
    if (held.index != null) {
      const [x, y] = held.to = this.at(event).map((v) => Number(v.toPrecision(5)));
      lab.state.points[held.index] = [x, y, lab.state.points[held.index][2]];
      lab.dirty.points = true;
      lab.plan();
      lab.send({ do: "move", index: held.index, x, y, drag: "on" }, "move");
      clearTimeout(held.rest);
      held.rest = setTimeout(() => lab.send({ do: "move", index: held.index, x, y, drag: "rest" }, "move"), REST);
    } else if (event.pointerType !== "touch") {
      const [l, r, b, t] = held.view, u = (dx / lab.main.width) * (r - l), v = (dy / lab.main.height) * (t - b);
      this.look([l - u, r - u, b + v, t + v]);
    }
  }

  up(event) {
    const { lab, held } = this;
    this.release();
    if (held && held.index == null && !held.moved && !lab.experimentView()) this.add(...this.at(event));
  }

  release() {
    const { lab, held } = this;
    this.held = null;
    clearTimeout(held?.rest);
    if (!held || held.index == null || !held.moved) return;
    lab.send({ do: "move", index: held.index, x: held.to[0], y: held.to[1], drag: "end" }, "move");
  }

  wheel(event) {
    const { main, home } = this.lab;
    if (!main.view || (!home && !event.ctrlKey)) return;
    event.preventDefault();
    const [x, y] = this.at(event), k = Math.exp(Math.max(-0.3, Math.min(0.3, event.deltaY * 0.0015)));
    const [l, r, b, t] = main.view;
    this.look([x + (l - x) * k, x + (r - x) * k, y + (b - y) * k, y + (t - y) * k]);
  }

  // --- the keyboard: on the plane, then anywhere in the lab

  pressed(event) {
    const { lab } = this;
    if (!lab.state || event.ctrlKey || event.metaKey || event.altKey) return;
    const [l, r, b, t] = lab.main.view, middle = [(l + r) / 2, (b + t) / 2];
    if (ARROWS[event.key]) this.nudge(ARROWS[event.key], event.shiftKey ? 10 : 1, middle);
    else if (event.key === "Enter") this.add(...(lab.cursor || middle));
    else if (event.key === "]") this.next(1);
    else if (event.key === "[") this.next(-1);
    else if (event.key === "Escape") { lab.cursor = null; this.select(null); }
    else return;
    event.preventDefault();
  }

  nudge(way, times, middle) {
    const { lab } = this, [l, r, b, t] = lab.main.view, by = times * 0.006;
    const [dx, dy] = [way[0] * by * (r - l), way[1] * by * (t - b)];
    if (lab.selected != null) {
      const [x, y] = lab.state.points[lab.selected], short = (v) => Number(v.toPrecision(6));
      lab.send({ do: "move", index: lab.selected, x: short(x + dx), y: short(y + dy) });
      lab.say(`Point ${lab.selected + 1} at ${formatNumber(x + dx)}, ${formatNumber(y + dy)}.`);
    } else {
      const [x, y] = lab.cursor || middle;
      lab.cursor = [x + 3 * dx, y + 3 * dy];
      lab.say(`Cursor at ${formatNumber(lab.cursor[0])}, ${formatNumber(lab.cursor[1])}.`);
      lab.plan();
    }
  }

  next(by) {
    const { lab } = this, n = lab.state.points.length;
    if (!n) return;
    this.select(((lab.selected ?? (by > 0 ? -1 : 0)) + by + n) % n);
    const [x, y, label] = lab.state.points[lab.selected];
    lab.say(`Point ${lab.selected + 1} of ${n}: ${formatNumber(x)}, ${formatNumber(y)}, ${lab.state.classes[label]}.`);
  }

  anywhere(event) {
    const { lab } = this, { key } = event, control = event.ctrlKey || event.metaKey;
    const typing = event.target.closest?.("input, select, textarea, dialog, pre");
    if (!lab.state) return;
    if (control && key.toLowerCase() === "z") {
      event.preventDefault();
      lab.send({ do: event.shiftKey ? "redo" : "undo" });
      return;
    }
    if (typing || control || event.altKey) return;
    if (key === " " && !event.target.closest?.("button, summary")) lab.timeline.play();
    else if (key === ".") lab.timeline.go(lab.frame + 1);
    else if (key === ",") lab.timeline.go(lab.frame - 1);
    else if (key === "0") lab.showAll();
    else if (key.toLowerCase() === "l" && lab.home) lab.lecture();
    else if ((key === "Delete" || key === "Backspace") && lab.selected != null) this.remove();
    else if (key.toLowerCase() === "f" && lab.selected != null) this.flip();
    else if (/^[1-6]$/.test(key) && Number(key) <= lab.state.classes.length) {
      lab.label = Number(key) - 1;
      lab.controls.choices();
    } else return;
    event.preventDefault();
  }
}
