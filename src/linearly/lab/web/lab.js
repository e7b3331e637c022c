// The lab's page: draws what the session computes, and sends the session what the viewer does.
// It runs as a page of its own (it starts itself in #linearly-lab) and in notebooks (anywidget's `render`).
// Each other module is one part of the page and finds the rest through the Lab. For notebooks all modules are combined
// into one file (linearly/lab/bundle_js.py), so top-level names must differ and imports must have no cycles.

import { Controls } from "./controls.js";
import { h, set } from "./elements.js";
import { Evidence } from "./evidence.js";
import { LabAnimation, usedClasses } from "./animation.js";
import { Influence } from "./influence.js";
import { LayerMenu } from "./layer_menu.js";
import { Lessons } from "./lessons.js";
import { Motion } from "./motion.js";
import { PointerInput } from "./pointer_input.js";
import { decodeState, encodeState } from "./share_link.js";
import { DARK, LIGHT } from "./palette.js";
import { Plane } from "./plane.js";
import { RESTARTS, Session } from "./session.js";
import { Timeline } from "./timeline.js";

// Messages after which the view shows all points.
const FITTED = ["open", "choose_preset", "load", "set_view", "generate", "choose_lesson"];
// Messages that bring other points, after which nothing is selected.
const NEW_POINTS = ["open", "choose_preset", "restore", "load", "clear", "undo", "redo", "generate", "choose_lesson"];
const NIGHT = matchMedia("(prefers-color-scheme: dark)");

class Lab {
  constructor(root, ask, home) {
    this.root = root;
    this.home = home; // whether it has the page to itself
    // The address of a server on this machine holds its port and token, so it is of no use to others.
    this.local = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
    this.linked = false; // whether a link is being opened, whose state the address keeps until it is shown
    this.fitted = true; // whether the view shows all points, and follows the size of the window
    this.unit = 13; // size of the text in pixels
    this.session = new Session(this, ask);
    this.frame = 0;
    this.atEnd = true;
    this.label = 0;
    this.selected = null;
    this.cursor = null;
    this.dirty = {};
    this.base = [-5, 5, -4, 4];
    this.stop = new AbortController();
    this.build();
    this.recolour();
    NIGHT.addEventListener("change", () => this.recolour(), { signal: this.stop.signal });
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(root);
    this.observer.observe(this.main.element);
  }

  build() {
    this.layers = new LayerMenu(this);
    this.motion = new Motion();
    this.influence = new Influence(this);
    this.lessons = new Lessons(this);
    this.main = new Plane(this, true);
    this.other = new Plane(this, false);
    this.controls = new Controls(this);
    this.timeline = new Timeline(this);
    this.evidence = new Evidence(this);
    this.pointerInput = new PointerInput(this);
    this.noticeBox = h("div", { class: "notice", role: "status", onclick: () => this.unnotice() });
    this.dialog = h("dialog", { "aria-label": "Columns of the file" });
    this.said = h("div", { class: "said", "aria-live": "polite" });
    const planes = h("div", { class: "planes" }, this.main.element, this.noticeBox);
    this.words = h("p", { class: "lecture-words" });
    const stage = h("div", { class: "stage" }, this.lessons.element, planes, this.words, this.timeline.element);
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

  send(message, kind = null, wanted = undefined) { return this.session.send(message, kind, wanted); }
  algorithm(name = this.state.algorithm) { return this.catalogue.find((one) => one.name === name); }
  task() { return this.state ? this.algorithm().task : "classes"; }
  experimentView() { return this.animation && this.animation.scene.experiment && this.animation.scene.experiment.view; }
  votes(main) { return (main ? this.details : this.reply.comparison && this.reply.comparison.details)?.votes; }

  // Whether a verdict on separability is shown: it would spoil the start of a training.
  proofShown(animation, frame) { return this.layers.shows("proof") && !(frame === 0 && animation?.count > 1); }

  take(reply, message) {
    const before = this.state, old = this.animation, { dirty } = this;
    if (this.noticeBox.dataset.kind === "error") this.unnotice();
    if (NEW_POINTS.includes(message.do)) this.selected = this.cursor = null;
    if (reply.algorithms) {
      this.catalogue = reply.algorithms;
      this.controls.begin(reply);
      this.lessons.begin(reply);
    }
    this.reply = reply;
    this.state = reply.state;
    if (!(message.do === "set_view" && message.view)) {
      const moved = !before || message.do === "set_view" || reply.state.view.some((edge, i) => edge !== before.view[i]);
      if (moved && JSON.stringify(reply.state.view) !== this.sent) { this.base = reply.state.view; dirty.view = true; }
      if (FITTED.includes(message.do)) this.fitted = true;
      else if (message.do === "restore") this.fitted = false;
    }
    this.motion.stop();
    this.animation = reply.answer.animation ? new LabAnimation(reply.answer, this.state.classes) : null;
    // While a point is dragged, some animations are sent without their side plot.
    if (this.animation && old && message.drag === "on") this.animation.picture ??= old.picture;
    if (old && message.drag === "on" && !this.animation?.more.length) {
      if (this.animation) this.animation.more = old.more.filter((one) => one.kind !== "influence");
    }
    this.details = reply.answer.details;
    const compared = reply.comparison?.animation;
    this.comparisonAnimation = compared ? new LabAnimation(reply.comparison, this.state.classes) : null;
    const last = this.animation ? this.animation.count - 1 : 0, opening = this.animation ? this.animation.opening : 0;
    if (RESTARTS.includes(message.do)) { this.atEnd = true; this.timeline.pause(); }
    this.frame = this.atEnd ? opening : Math.min(this.frame, last);
    if (this.selected != null && this.selected >= this.state.points.length) this.selected = null;
    this.label = Math.min(this.label, this.state.classes.length - 1);
    // What the axes, the legend and the captions show.
    const shown = (one) => [one.algorithm, one.comparison, one.names, one.classes, usedClasses(one)].join("\n");
    if (!before || shown(before) !== shown(this.state)) dirty.view = true;
    dirty.points = dirty.animation = dirty.evidence = dirty.controls = true;
    dirty.drag = message.drag === "on";
    if (reply.note && reply.note !== this.noted) this.notice(reply.note);
    this.noted = reply.note;
    this.influence.ask();
    this.plan();
    this.remember();
  }

  seek(frame, ask = true) {
    if (!this.animation) return;
    const last = this.animation.count - 1, before = this.frame;
    this.frame = Math.max(0, Math.min(last, Math.round(frame)));
    this.atEnd = this.frame === this.animation.opening;
    if (this.frame !== before) this.motion.start(before, this.frame);
    if (before === 0 || this.frame === 0) this.dirty.evidence = true;  // the verdict is not shown at the start
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
    if (what.controls) { this.controls.draw(); this.layers.draw(); }
    this.compare();
    const moving = this.motion.position(this.frame), shown = [[this.main, this.animation, this.frame, this.reply.answer]];
    if (this.comparisonShown) shown.push([this.other, this.comparisonAnimation, Infinity, this.reply.comparison]);
    if (what.view || !this.main.width) {
      for (const [plane] of shown) if (!plane.fit()) return;
      what.view = true;
    }
    for (const [plane, animation, frame, { trouble }] of shown) {
      plane.trouble.hidden = !trouble;
      plane.trouble.textContent = trouble;
      const at = animation ? Math.min(frame, animation.count - 1) : 0;
      plane.paint(animation, at, what, plane.main ? moving : at);
    }
    this.main.showAll.hidden = this.fitted || Boolean(this.experimentView());
    if (moving !== this.frame) this.plan();
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
    if (what.evidence) {
      this.evidence.draw();
      this.words.textContent = this.details?.words ?? "";
    }
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
    const { base } = this; // a link or other points that came in between have a view of their own
    this.send({ do: "set_view", view }, "view", () => this.base === base);
  }

  // --- theme and size

  // Larger type, and no columns beside the plane.
  lecture(on = !this.root.dataset.lecture) {
    if (on) this.root.dataset.lecture = "true";
    else delete this.root.dataset.lecture;
    this.resized();
    this.redraw();
  }

  turn() {
    this.chosen = this.dark ? "light" : "dark";
    this.recolour();
  }

  recolour() {
    this.dark = this.chosen ? this.chosen === "dark" : NIGHT.matches;
    this.palette = this.dark ? DARK : LIGHT;
    this.root.dataset.theme = this.dark ? "dark" : "light";
    this.redraw();
  }

  resized() {
    const width = this.root.getBoundingClientRect().width;
    const kind = width < 700 ? "narrow" : width < 1080 ? "medium" : "wide";
    if (this.root.dataset.width !== kind) this.root.dataset.width = kind;
    this.unit = parseFloat(getComputedStyle(this.root).fontSize) || 13;
    this.refit();
    this.timeline.resized();
    this.dirty.view = this.dirty.points = this.dirty.animation = true;
    this.plan();
  }

  // Fit the view to the points again if the plane has another shape than before.
  refit() {
    const box = this.main.element.getBoundingClientRect(), shape = box.width / box.height;
    if (!this.state || !this.fitted || !(box.height > 2) || Math.abs(shape / this.shape - 1) < 0.02) return;
    this.shape = shape;
    [this.main.width, this.main.height] = [box.width, box.height];
    this.send({ do: "set_view" }, "fit", () => this.fitted);
  }

  showAll() { return this.send({ do: "set_view" }); }

  redraw() {
    this.dirty = { view: true, points: true, animation: true, evidence: true, controls: true };
    this.plan();
  }

  // --- messages and links

  notice(text, kind = "note") {
    this.noticeBox.textContent = text;
    this.noticeBox.dataset.kind = kind;
    this.noticeBox.dataset.shown = "true";
    clearTimeout(this.noticeTimer);
    this.noticeTimer = setTimeout(() => { this.noticeBox.dataset.shown = "false"; }, 2500 + 45 * text.length);
  }

  unnotice() {
    clearTimeout(this.noticeTimer);
    this.noticeBox.dataset.shown = "false";
    this.noticeBox.dataset.kind = "";
  }

  say(text) { this.said.textContent = text; }

  // Write the state to the address.
  remember() {
    if (!this.home || this.linked) return;
    clearTimeout(this.later);
    this.later = setTimeout(async () => {
      const { state } = this, fragment = `#${await encodeState(state)}`;
      if (state === this.state && !this.linked) history.replaceState(null, "", fragment);
    }, 250);
  }

  // Show the state of a link; of links that are opened one after another, the newest.
  async restore(fragment) {
    const link = this.linked = {}, newest = () => this.linked === link;
    let state = null;
    try {
      state = await decodeState(fragment);
    } catch {
      if (newest()) this.notice("This link does not contain a state of the lab.");
    }
    const reply = state && newest() ? await this.send({ do: "restore", state }, "restore", newest) : null;
    if (!newest()) return;
    this.linked = false;
    if (reply) this.remember();
  }

  async share() {
    let state, fragment;
    do { // the state may change while it is encoded
      ({ state } = this);
      fragment = `#${await encodeState(state)}`;
    } while (state !== this.state);
    history.replaceState(null, "", fragment);
    const whole = "points, model and parameters";
    if (this.local) this.copy(fragment, `The state is copied (${whole}). Paste it into any lab, or append it to its address.`);
    else this.copy(location.href, `The link is copied: it contains ${whole}.`);
  }

  async copy(text, done) {
    try {
      await navigator.clipboard.writeText(text);
      this.notice(done);
    } catch {
      this.notice("The browser does not allow copying. Select the text by hand.");
    }
  }
}

// --- entry points: page and notebook

// Send messages to the server that the page comes from.
function askServer() {
  const random = crypto.getRandomValues(new Uint8Array(8)), headers = { "Content-Type": "application/json" };
  const page = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return async (message) => {
    const response = await fetch("api", { method: "POST", headers, body: JSON.stringify({ page, ...message }) });
    return response.json();
  };
}

async function start(root) {
  // An exported page names the module that answers instead of a server (linearly/lab/in_browser/page.js).
  const { session } = root.dataset, ask = session ? await (await import(session)).connect(root) : askServer();
  const lab = new Lab(root, ask, true);
  lab.resized();
  lab.main.fit();
  // A copied state or link, pasted anywhere but in a text field.
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text").trim() ?? "", pasted = /#([\w-]{20,})$/.exec(text);
    if (pasted && !event.target.closest?.("input, textarea")) lab.restore(pasted[1]);
  });
  const restore = () => location.hash.length > 1 && lab.restore(location.hash.slice(1));
  addEventListener("hashchange", restore);
  await Promise.all([lab.send({ do: "open" }), restore()]);
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
