// The threshold of two classes with probabilities: a slider, and the ROC curve with the point it stands for.

import { h, s } from "./elements.js";
import { formatShare } from "./numbers.js";

export class Threshold {
  constructor(lab) {
    this.lab = lab;
    this.value = h("span", { class: "value" });
    this.slider = h("input", {
      id: "threshold", type: "range", min: 0.01, max: 0.99, step: 0.01, "aria-label": "Threshold",
      oninput: () => {
        const value = Number(this.slider.value);
        this.value.textContent = formatShare(value);
        lab.send({ do: "set_option", name: "threshold", value }, "threshold");
      },
    });
    this.figure = h("figure", { class: "picture", id: "roc" });
    this.element = h("div", { class: "group" },
      h("label", {}, h("span", { class: "name" }, "Probability threshold", this.value), this.slider), this.figure);
  }

  draw() {
    const roc = this.lab.details?.roc;
    this.element.hidden = !roc;
    if (!roc) return;
    if (document.activeElement !== this.slider) this.slider.value = roc.threshold;
    this.value.textContent = formatShare(roc.threshold);
    this.figure.replaceChildren(h("figcaption", {}, "ROC curve: true against false positives"), this.curve(roc));
  }

  curve({ false_positive: across, true_positive: up, at }) {
    const p = this.lab.palette, [L, T, side] = [40, 8, 180], X = (v) => L + side * v, Y = (v) => T + side * (1 - v);
    const small = { "font-size": 11, fill: p.muted };
    const name = `ROC curve; at this threshold ${formatShare(at[1])} of positives at ${formatShare(at[0])} false positives`;
    const svg = s("svg", { viewBox: "0 0 340 214", role: "img", "aria-label": name });
    svg.append(s("path", { d: `M${X(0)} ${Y(1)}V${Y(0)}H${X(1)}`, fill: "none", stroke: p.rule, "stroke-width": 1.5 }));
    svg.append(s("path", { d: `M${X(0)} ${Y(0)}L${X(1)} ${Y(1)}`, stroke: p.rule, "stroke-dasharray": "3 4" }));
    const d = "M" + across.map((v, i) => `${X(v).toFixed(1)} ${Y(up[i]).toFixed(1)}`).join("L");
    svg.append(s("path", { d, fill: "none", stroke: p.accent, "stroke-width": 2.2, "stroke-linejoin": "round" }));
    const look = { r: 5.5, fill: p.wrong, stroke: p.plane, "stroke-width": 2 };
    svg.append(s("circle", { class: "at", cx: X(at[0]), cy: Y(at[1]), ...look }));
    svg.append(s("text", { x: X(1), y: Y(0) + 18, "text-anchor": "end", ...small }, "false positives"));
    svg.append(s("text", { x: L - 6, y: Y(1) + 8, "text-anchor": "end", ...small }, "1"));
    svg.append(s("text", { x: L - 6, y: Y(0) + 4, "text-anchor": "end", ...small }, "0"));
    const lines = [`true positive rate ${formatShare(at[1])}`, `false positive rate ${formatShare(at[0])}`];
    lines.forEach((text, i) => svg.append(s("text", { x: X(1) + 10, y: Y(0.55) + 17 * i, ...small, fill: p.ink }, text)));
    return svg;
  }
}
