// The column of controls: points, model, comparison, files.

import { h, icon, s } from "./elements.js";
import { chooseColumns, savePicture } from "./files.js";
import { formatNumber } from "./numbers.js";
import { Options } from "./options.js";
import { SHAPES } from "./palette.js";

const HALF_MOON = "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 1.6v10.8a5.4 5.4 0 0 1 0-10.8Z";

function button(attributes, ...children) {
  return h("button", { type: "button", ...attributes }, ...children);
}

export class Controls {
  constructor(lab) {
    this.lab = lab;
    const chosen = (id, name, message) => {
      const box = h("select", { id, "aria-label": name, onchange: () => message(box.value) });
      return box;
    };
    this.presets = chosen("preset", "Points", (name) => name && lab.send({ do: "choose_preset", name }));
    this.algorithms = chosen("algorithm", "Algorithm", (name) => lab.send({ do: "choose_algorithm", name }));
    this.comparisons = chosen("comparison", "Compare with", (name) => lab.send({ do: "choose_comparison", name }));
    this.undo = button({ id: "undo", onclick: () => lab.send({ do: "undo" }), title: "Undo (Ctrl+Z)" }, "Undo");
    this.redo = button({ id: "redo", onclick: () => lab.send({ do: "redo" }), title: "Redo (Ctrl+Shift+Z)" }, "Redo");
    this.flip = button({ id: "flip", onclick: () => lab.pointerInput.flip() }, "Flip");
    this.remove = button({ id: "remove", onclick: () => lab.pointerInput.remove() }, "Delete");
    this.swatches = h("div", { class: "swatches", role: "radiogroup", "aria-label": "Class of new points" });
    this.hint = h("p", { class: "hint" });
    this.idea = h("p", { class: "idea" });
    this.parameters = h("div", { class: "group" });
    this.comparisonParameters = h("div", { class: "group" });
    this.options = new Options(lab);
    this.element = this.column();
  }

  column() {
    const { lab } = this, key = (name) => h("kbd", {}, name);
    const group = (title, ...parts) => h("div", { class: "group" }, h("h2", {}, title), ...parts);
    const theme = button({
      id: "theme", class: "icon", title: "Light or dark", "aria-label": "Light or dark", onclick: () => lab.turn(),
    }, icon(HALF_MOON));
    const file = h("input", {
      id: "file", type: "file", accept: ".csv,.tsv,.txt,text/csv", "aria-label": "Load a CSV file",
      onchange: () => chooseColumns(lab, file),
    });
    const load = h("span", { class: "file" }, "Load CSV…", file);
    const clear = button({ id: "clear", onclick: () => lab.send({ do: "clear" }) }, "Clear");
    return h("section", { class: "controls", "aria-label": "Controls" },
      h("div", { class: "brand" }, h("h1", {}, "linearly ", h("span", {}, "lab")), theme),
      h("div", { class: "pairs" }, lab.lessons.open, lab.home
        ? button({ id: "lecture", title: "Larger type, the plane alone (L)", onclick: () => lab.lecture() }, "Lecture view")
        : null),
      group("Points", this.presets, h("div", { class: "row" }, load, clear), this.swatches,
        h("div", { class: "pairs" }, this.undo, this.redo, this.flip, this.remove), this.hint, this.options.generator),
      group("Model", this.algorithms, this.idea, this.parameters, this.options.data),
      group("Compare with", this.comparisons, this.comparisonParameters),
      h("div", { class: "foot" },
        h("div", { class: "row" },
          lab.home ? button({ id: "share", onclick: () => lab.share() }, lab.local ? "Copy state" : "Share link") : null,
          button({ id: "svg", onclick: () => savePicture(lab, "svg") }, "SVG"),
          button({ id: "png", onclick: () => savePicture(lab, "png") }, "PNG")),
        h("p", { class: "hint" }, key("Space"), " plays, ", key(","), " and ", key("."), " step, ",
          key("1"), "–", key("6"), " choose the class, ", key("0"), " shows all, ", key("L"), " for lectures.")));
  }

  // Fill the menus with the choices that the session sent.
  begin(reply) {
    const { algorithms, presets } = reply;
    this.options.begin(reply, (one, change) => this.slider(one, false, change));
    const groups = new Map(), option = (one) => h("option", { value: one.name }, one.title);
    for (const one of algorithms) groups.set(one.group, [...(groups.get(one.group) || []), one]);
    this.algorithms.replaceChildren(
      ...[...groups].map(([group, list]) => h("optgroup", { label: group }, ...list.map(option))));
    this.presets.replaceChildren(h("option", { value: "" }, "Choose points…"), ...presets.map(option));
  }

  draw() {
    const { state, reply, catalogue } = this.lab, algorithm = this.lab.algorithm(), { task } = algorithm;
    this.algorithms.value = state.algorithm;
    this.idea.textContent = algorithm.idea;
    this.sliders(this.parameters, algorithm, reply.settings, false);
    const comparable = (one) => one.task === task && one.name !== state.algorithm && task !== "truth";
    const comparisons = catalogue.filter(comparable);
    if (this.comparisons.dataset.key !== algorithm.name) {
      this.comparisons.dataset.key = algorithm.name;
      const options = comparisons.map((one) => h("option", { value: one.name }, one.title));
      this.comparisons.replaceChildren(h("option", { value: "" }, "nothing"), ...options);
    }
    this.comparisons.value = state.comparison;
    this.comparisons.disabled = !comparisons.length;
    const comparison = state.comparison ? this.lab.algorithm(state.comparison) : null;
    this.sliders(this.comparisonParameters, comparison, reply.comparison_settings, true);
    this.presets.value = reply.preset;
    this.undo.disabled = !reply.undo;
    this.redo.disabled = !reply.redo;
    this.choices();
    this.options.draw();
    this.hint.textContent = {
      truth: "The points are drawn from the truth, or are your own.",
      curve: "Click adds a point, drag moves it, Delete removes it.",
      classes: "Click adds, drag moves, Shift-click flips, Delete removes.",
    }[task];
  }

  // The class of new points, and the buttons for the selected one.
  choices() {
    const { lab } = this, { state, palette: p } = lab, curve = lab.task() !== "classes";
    const key = [state.classes.join("\n"), lab.label, lab.dark, curve].join("\n");
    this.remove.disabled = lab.selected == null;
    this.flip.disabled = lab.selected == null || curve;
    if (this.swatches.dataset.key === key) return;
    this.swatches.dataset.key = key;
    const choose = (k) => { lab.label = k; this.choices(); };
    const arrows = (event, k) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      choose((k + by + state.classes.length) % state.classes.length);
      this.swatches.children[lab.label].focus();
    };
    this.swatches.replaceChildren(...state.classes.map((name, k) => button({
      role: "radio", "aria-checked": String(k === lab.label), "aria-label": name, title: name, disabled: curve,
      tabindex: k === lab.label ? 0 : -1, onclick: () => choose(k), onkeydown: (event) => arrows(event, k),
    }, s("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" },
      s("path", { d: SHAPES[k], fill: curve ? p.muted : p.classes[k] })))));
  }

  sliders(box, algorithm, settings, comparison) {
    const idle = (one) => one.name === "alpha" && algorithm.name === "logistic" && settings.remedy !== "ridge";
    const list = algorithm ? algorithm.parameters.filter((one) => !idle(one)) : [];
    const key = algorithm ? algorithm.name + list.length : "";
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      box.replaceChildren(...list.map((one) => this.slider(one, comparison)));
    }
    for (const one of list) {
      const input = box.querySelector(`[data-name="${one.name}"]`), value = settings[one.name];
      if (one.kind === "flag") input.checked = value;
      else if (document.activeElement !== input || one.kind === "choice") input.value = value;
      const output = input.closest("label").querySelector(".value");
      if (output) output.textContent = formatNumber(value);
    }
  }

  slider({ name, title, kind, options, low, high, step, default: start }, comparison, changed = null) {
    const message = { do: "set_parameter", name, ...(comparison ? { comparison: true } : {}) };
    const change = changed || ((value) => this.lab.send({ ...message, value }, `parameter ${name} ${comparison}`));
    if (kind === "flag") {
      const onchange = (event) => change(event.target.checked);
      return h("label", { class: "flag" }, h("input", { type: "checkbox", "data-name": name, onchange }), title);
    }
    if (kind === "choice") {
      const list = options.map(([value, text]) => h("option", { value }, text));
      const onchange = (event) => change(event.target.value);
      return h("label", {}, h("span", { class: "name" }, title), h("select", { "data-name": name, onchange }, ...list));
    }
    // Not an <output>: the label would then belong to it instead of the slider.
    const output = h("span", { class: "value" });
    const oninput = (event) => {
      const value = Number(event.target.value);
      output.textContent = formatNumber(value);
      change(value);
    };
    return h("label", {}, h("span", { class: "name" }, title, output), h("input", {
      type: "range", "aria-label": title, min: low, max: high, step, value: start, "data-name": name, oninput,
    }));
  }
}
