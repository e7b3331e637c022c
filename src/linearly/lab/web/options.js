// Options of the data: a third feature, test points, and points drawn from a generator.

import { h } from "./elements.js";
import { formatNumber } from "./numbers.js";

export class Options {
  constructor(lab) {
    this.lab = lab;
    const set = (name, value) => lab.send({ do: "set_option", name, value }, `option ${name}`);
    this.features = h("select", { id: "features", onchange: () => set("features", this.features.value) });
    this.featuresLabel = h("label", {}, h("span", { class: "name" }, "Third feature"), this.features);
    this.shareValue = h("span", { class: "value" });
    this.share = h("input", {
      id: "test-share", type: "range", min: 0, max: 0.8, step: 0.05, "aria-label": "Test points",
      oninput: () => { this.showShare(Number(this.share.value)); set("test_share", Number(this.share.value)); },
    });
    this.again = h("button", {
      type: "button", id: "split-again", onclick: () => set("split_seed", (lab.state.split_seed + 1) % 10000),
    }, "Split again");
    const share = h("label", {}, h("span", { class: "name" }, "Test points (hollow)", this.shareValue), this.share);
    this.data = h("div", { class: "group" }, this.featuresLabel, share, this.again);
    this.generatorBox = h("div", { class: "group" });
    this.generator = h("details", { id: "generator" }, h("summary", {}, "Draw points"), this.generatorBox);
  }

  // Build the controls that depend on what the session offers.
  begin({ lifts, generator_parameters: parameters }, slider) {
    const named = lifts.map(([name, title]) => h("option", { value: name }, title.replaceAll(/[{}]/g, "")));
    this.features.replaceChildren(h("option", { value: "" }, "none"), ...named);
    const draw = (name, value) => {
      const settings = { ...this.lab.reply.generator, [name]: value };
      this.lab.send({ do: "generate", settings }, "generate");
    };
    const shown = parameters.filter((one) => one.name !== "seed");
    this.generatorBox.replaceChildren(...shown.map((one) => slider(one, (value) => draw(one.name, value))),
      h("button", {
        type: "button", id: "draw-again", class: "primary",
        onclick: () => draw("seed", (this.lab.reply.generator.seed + 1) % 10000),
      }, "Draw again"));
  }

  showShare(value) { this.shareValue.textContent = value ? `${formatNumber(Math.round(100 * value))}%` : "none"; }

  draw() {
    const { state, reply } = this.lab, task = this.lab.task();
    this.features.value = state.features;
    this.featuresLabel.hidden = task !== "classes" || state.algorithm === "qda";
    if (document.activeElement !== this.share) this.share.value = state.test_share;
    this.showShare(state.test_share);
    this.again.hidden = !state.test_share;
    this.data.hidden = task === "truth";
    for (const input of this.generatorBox.querySelectorAll("[data-name]")) {
      const value = reply.generator[input.dataset.name];
      if (document.activeElement !== input) input.value = value;
      const output = input.closest("label").querySelector(".value");
      if (output) output.textContent = formatNumber(value);
    }
  }
}
