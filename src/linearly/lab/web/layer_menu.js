// The menu of layers: what is drawn on the plane, so that an answer can be hidden.

import { h } from "./elements.js";

// name, title, and whether an animation has it
const LAYERS = [
  ["labels", "Names of lines", () => true],
  ["model", "Lines and regions", () => true],
  ["proof", "Proof", (one) => Boolean(one.scene.certificate)],
  ["margin", "Margin", (one) => Boolean(one.scene.certificate?.separator)],
  ["squares", "Squares", (one) => Boolean(one.curves)],
  ["probability", "Probability", (one) => one.shade === "probability" || one.shade === "votes"],
  ["errors", "Errors", (one) => one.labels.length > 0],
  ["ellipses", "Ellipses", (one) => Boolean(one.scene.gaussians)],
];

export class LayerMenu {
  constructor(lab) {
    this.lab = lab;
    this.hidden = new Set();
    this.list = h("div", { class: "layer-list" });
    this.element = h("details", { class: "layers", id: "layers" }, h("summary", {}, "Layers"), this.list);
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { this.element.open = false; this.element.firstChild.focus(); }
    });
  }

  shows(name) { return !this.hidden.has(name); }

  // Show or hide a layer, or several at once.
  set(names, shown) {
    for (const name of [names].flat()) this.hidden[shown ? "delete" : "add"](name);
    this.lab.redraw();
  }

  draw() {
    const { animation } = this.lab, found = animation ? LAYERS.filter(([,, has]) => has(animation)) : [];
    const key = found.map(([name]) => name).join();
    if (this.list.dataset.key !== key) {
      this.list.dataset.key = key;
      this.list.replaceChildren(...found.map(([name, title]) => h("label", { class: "flag" },
        h("input", { type: "checkbox", "data-layer": name, onchange: (event) => this.set(name, event.target.checked) }),
        title)));
    }
    for (const box of this.list.querySelectorAll("input")) box.checked = this.shows(box.dataset.layer);
    this.element.hidden = !found.length;
  }
}
