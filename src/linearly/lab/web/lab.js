// The lab's page: draws what the session computes, and sends the session what the viewer does.
// It runs as a page of its own (it starts itself in #linearly-lab) and in notebooks (anywidget's `render`).
// Each other module is one part of the page and finds the rest through the Lab. For notebooks all modules are combined
// into one file (linearly/lab/bundle_js.py), so top-level names must differ and imports must have no cycles.

import { Controls } from "./controls.js";
import { h, set } from "./elements.js";
import { Evidence } from "./evidence.js";
import { LabAnimation, usedClasses } from "./animation.js";
import { PointerInput } from "./pointer_input.js";
import { decodeState, encodeState } from "./share_link.js";
import { DARK, LIGHT } from "./palette.js";
import { Plane } from "./plane.js";
import { RESTARTS, Session } from "./session.js";
import { Timeline } from "./timeline.js";

const NIGHT = matchMedia("(prefers-color-scheme: dark)");

class Lab {
  constructor(root, ask, home) {
    this.root = root;
    this.home = home; // whether it has the page to itself
    this.session = new Session(this, ask);
    this.frame = 0;
    this.atEnd = true;
    this.label = 0;
    this.selected = null;
    this.cursor = null;
    this.dirty = {};
    this.base = [-5, 5, -4, 4];
    this.build();
    this.recolour();
    this.stop = new AbortController();
    NIGHT.addEventListener("change", () => this.recolour(), { signal: this.stop.signal });
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(root);
    this.observer.observe(this.main.element);
  }

  build() {
    this.main = new Plane(this, true);
    this.other = new Plane(this, false);
    this.controls = new Controls(this);
    this.timeline = new Timeline(this);
    this.evidence = new Evidence(this);
    this.pointerInput = new PointerInput(this);
    this.noticeBox = h("div", { class: "notice", role: "status" });
    this.dialog = h("dialog", { "aria-label": "Columns of the file" });
    this.said = h("div", { class: "said", "aria-live": "polite" });
    const planes = h("div", { class: "planes" }, this.main.element, this.noticeBox);
    const stage = h("div", { class: "stage" }, planes, this.timeline.element);
    this.root.classList.add("linearly-lab");
    this.root.replaceChildren(this.controls.element, stage, this.evidence.element, this.dialog, this.said);
  }

  close() {
    this.stop.abort();
    this.observer.disconnect();
    this.timeline.pause();
    this.root.replaceChildren();
  }

  // --- the state and its animation

  send(message, kind = null) { return this.session.send(message, kind); }
  algorithm(name = this.state.algorithm) { return this.catalogue.find((one) => one.name === name); }
  task() { return this.state ? this.algorithm().task : "classes"; }
  experimentView() { return this.animation && this.animation.scene.experiment && this.animation.scene.experiment.view; }
  votes(main) { return (main ? this.details : this.reply.comparison && this.reply.comparison.details)?.votes; }

  take(reply, message) {
    const before = this.state, old = this.animation, { dirty } = this;
    if (reply.algorithms) {
      this.catalogue = reply.algorithms;
      this.controls.begin(reply);
    }
    this.reply = reply;
    this.state = reply.state;
    if (!(message.do === "set_view" && message.view)) {
      const moved = !before || reply.state.view.some((edge, i) => edge !== before.view[i]);
      if (moved && JSON.stringify(reply.state.view) !== this.sent) { this.base = reply.state.view; dirty.view = true; }
    }
    this.animation = reply.answer.animation ? new LabAnimation(reply.answer, this.state.classes) : null;
    // While a point is dragged, animations of steps are sent without their side plot.
    const lacks = this.animation && this.animation.unit === "step" && !this.animation.picture;
    if (lacks && old && message.drag === "on") this.animation.picture = old.picture;
    this.details = reply.answer.details;
    const compared = reply.comparison?.animation;
    this.comparisonAnimation = compared ? new LabAnimation(reply.comparison, this.state.classes) : null;
    const last = this.animation ? this.animation.count - 1 : 0;
    if (RESTARTS.includes(message.do)) { this.atEnd = true; this.timeline.pause(); }
    this.frame = this.atEnd ? last : Math.min(this.frame, last);
    if (this.selected != null && this.selected >= this.state.points.length) this.selected = null;
    this.label = Math.min(this.label, this.state.classes.length - 1);
    // What the axes, the legend and the captions show.
    const shown = (one) => [one.algorithm, one.comparison, one.names, one.classes, usedClasses(one)].join("\n");
    if (!before || shown(before) !== shown(this.state)) dirty.view = true;
    dirty.points = dirty.animation = dirty.evidence = dirty.controls = true;
    dirty.drag = message.drag === "on";
    if (reply.note && reply.note !== this.noted) this.notice(reply.note);
    this.noted = reply.note;
    this.plan();
    this.remember();
  }

  seek(frame, ask = true) {
    if (!this.animation) return;
    const last = this.animation.count - 1;
    this.frame = Math.max(0, Math.min(last, Math.round(frame)));
    this.atEnd = this.frame === last;
    this.plan();
    if (ask) this.send({ do: "frame", at: this.frame }, "frame").then((reply) => {
      // Details of a frame of an earlier animation are ignored; while it plays, the panel may lag behind.
      if (!reply || !reply.details || (reply.details.at !== this.frame && !this.timeline.playing)) return;
      this.details = reply.details;
      this.dirty.evidence = true;
      this.plan();
    });
  }

  // --- drawing: once per frame of the screen, only what has changed

  plan() {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => { this.planned = false; this.draw(); });
  }

  draw() {
    if (!this.state) return;
    const what = this.dirty;
    this.dirty = {};
    if (what.controls) this.controls.draw();
    this.compare();
    const shown = [[this.main, this.animation, this.frame, this.reply.answer]];
    if (this.comparisonShown) shown.push([this.other, this.comparisonAnimation, Infinity, this.reply.comparison]);
    if (what.view || !this.main.width) {
      for (const [plane] of shown) if (!plane.fit()) return;
      what.view = true;
    }
    for (const [plane, animation, frame, { trouble }] of shown) {
      plane.trouble.hidden = !trouble;
      plane.trouble.textContent = trouble;
      plane.paint(animation, animation ? Math.min(frame, animation.count - 1) : 0, what);
    }
    // While a point is dragged the plane follows the pointer; the rest is drawn ten times per second.
    if (what.drag) {
      this.beside = { evidence: true, animation: true, view: what.view || this.beside?.view };
      const wait = Math.max(0, 100 - (performance.now() - (this.besideDrawn ?? 0)));
      this.besideTimer ??= setTimeout(() => this.drawBeside(this.beside), wait);
    } else this.drawBeside({ ...this.beside, ...what });
    const keys = "Arrows move, Enter adds, Delete removes, F flips.";
    set(this.main.svg, { "aria-label": `${this.state.points.length} points, ${this.algorithm().title}. ${keys}` });
    if (what.view) this.shareView();
    this.root.dispatchEvent(new CustomEvent("linearly:drawn"));
  }

  drawBeside(what) {
    clearTimeout(this.besideTimer);
    this.besideTimer = this.beside = null;
    this.besideDrawn = performance.now();
    this.timeline.draw(what.animation || what.view);
    this.evidence.picture();
    if (what.evidence) this.evidence.draw();
  }

  // A second plane beside the first, if there is a second model.
  compare() {
    const shown = Boolean(this.state.comparison && this.reply.comparison);
    this.main.caption.textContent = shown ? this.algorithm().title : "";
    if (shown) this.other.caption.textContent = this.algorithm(this.state.comparison).title;
    if (shown === Boolean(this.comparisonShown)) return;
    this.comparisonShown = shown;
    if (shown) this.main.element.after(this.other.element);
    else this.other.element.remove();
    this.dirty = {};
    this.main.width = 0;
    this.timeline.resized();
  }

  shareView() {
    // Curves and votes are computed for a view: send the session a new one when the plane shows more.
    const votes = [this.animation, this.comparisonAnimation].some((one) => one?.shade === "votes");
    if (this.task() !== "curve" && !votes) return;
    const view = this.main.view.map((v) => Number(v.toPrecision(8))), [l, r, b, t] = this.state.view;
    if (view.every((v, i) => Math.abs(v - this.state.view[i]) < 0.01 * (i < 2 ? r - l : t - b))) return;
    this.sent = JSON.stringify(view);
    this.send({ do: "set_view", view }, "view");
  }

  // --- theme and size

  turn() {
    this.chosen = this.dark ? "light" : "dark";
    this.recolour();
  }

  recolour() {
    this.dark = this.chosen ? this.chosen === "dark" : NIGHT.matches;
    this.palette = this.dark ? DARK : LIGHT;
    this.root.dataset.theme = this.dark ? "dark" : "light";
    this.dirty = { view: true, points: true, animation: true, evidence: true, controls: true };
    this.plan();
  }

  resized() {
    const width = this.root.getBoundingClientRect().width;
    const kind = width < 700 ? "narrow" : width < 1080 ? "medium" : "wide";
    if (this.root.dataset.width !== kind) this.root.dataset.width = kind;
    this.timeline.resized();
    this.dirty.view = this.dirty.points = this.dirty.animation = true;
    this.plan();
  }

  // --- messages and links

  notice(text) {
    this.noticeBox.textContent = text;
    this.noticeBox.dataset.shown = "true";
    clearTimeout(this.noticeTimer);
    this.noticeTimer = setTimeout(() => { this.noticeBox.dataset.shown = "false"; }, 2500 + 45 * text.length);
  }

  say(text) { this.said.textContent = text; }

  remember() {
    if (!this.home) return;
    clearTimeout(this.later);
    this.later = setTimeout(async () => history.replaceState(null, "", `#${await encodeState(this.state)}`), 250);
  }

  async share() {
    const link = `${location.href.split("#")[0]}#${await encodeState(this.state)}`;
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
}

// --- entry points: page and notebook

async function start(root) {
  const random = crypto.getRandomValues(new Uint8Array(8)), headers = { "Content-Type": "application/json" };
  const page = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const ask = async (message) => {
    const response = await fetch("api", { method: "POST", headers, body: JSON.stringify({ page, ...message }) });
    return response.json();
  };
  const lab = new Lab(root, ask, true);
  lab.resized();
  lab.main.fit();
  const restore = async (fragment) => {
    try {
      return await lab.send({ do: "restore", state: await decodeState(fragment) });
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
    const receive = (content) => {
      if (!waiting.has(content.number)) return;
      waiting.get(content.number)(JSON.parse(content.reply));
      waiting.delete(content.number);
    };
    model.on("msg:custom", receive);
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
      model.off("msg:custom", receive);
      lab.close();
    };
  },
};
