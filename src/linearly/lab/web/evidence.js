// The column of evidence: the verdict on the frame, its side plot, metrics, coefficients and code.

import { h, s, set } from "./elements.js";
import { formatShare, formatNumber } from "./numbers.js";
import { rgb } from "./palette.js";
import { SIDE_PLOTS } from "./side_plots.js";
import { Threshold } from "./threshold.js";

const SHARES = ["accuracy", "precision", "recall", "F1", "R²"];

export class Evidence {
  constructor(lab) {
    this.lab = lab;
    this.verdict = h("div", { id: "verdict", "aria-live": "polite" });
    this.facts = h("dl", { class: "facts" });
    this.gauge = h("div", {});
    this.figure = h("figure", { class: "picture" });
    this.more = h("div", { class: "more" });
    this.threshold = new Threshold(lab);
    this.metrics = h("div", { id: "metrics" });
    this.terms = h("div", { id: "terms" });
    this.warnings = h("ul", { class: "warnings" });
    this.code = h("pre", { id: "code", tabindex: "0", "aria-label": "Python code of this frame" });
    const copied = () => lab.copy(this.code.textContent, "The code is copied.");
    const copy = h("button", { type: "button", id: "copy", onclick: copied }, "Copy");
    this.element = h("section", { class: "evidence", "aria-label": "Evidence" },
      h("p", { class: "waiting" }, "Predict first. The numbers appear after your answer."), this.verdict, this.facts, this.gauge, this.figure, this.threshold.element, this.metrics, this.more, this.terms, this.warnings,
      h("details", { id: "show-code" }, h("summary", {}, "Show the code"), this.code, copy));
  }

  draw() {
    const { details, reply: { answer } } = this.lab;
    this.judge();
    this.count();
    this.threshold.draw();
    const figures = [this.confusion(), this.table()].filter(Boolean);
    this.metrics.replaceChildren(...figures);
    this.metrics.hidden = !figures.length;
    this.coefficients();
    if (!details || details.code != null) this.code.textContent = details ? details.code : "";
    this.warnings.replaceChildren(...answer.warnings.map((text) => h("li", {}, text)));
    this.warnings.hidden = !answer.warnings.length;
  }

  // The side plot changes with every frame, the rest when the session replies.
  picture() {
    const { lab } = this, { animation, frame } = lab, kind = animation && animation.picture && animation.picture.kind;
    this.figure.hidden = !kind || (kind === "weights" && !(animation.walk || animation.weights));
    this.more.hidden = !animation?.more.length;
    if (animation?.partial) return;  // plots show all frames, which come at the end of the drag
    const at = animation ? Math.min(frame, animation.count - 1) : 0;
    const filled = (figure, picture) => {
      const [title, svg] = SIDE_PLOTS[picture.kind](lab, animation, at, picture);
      if (!svg.hasAttribute("aria-label")) set(svg, { "aria-label": title });
      figure.replaceChildren(h("figcaption", {}, title), svg);
      return figure;
    };
    if (!this.figure.hidden) filled(this.figure, animation.picture);
    const more = animation?.more ?? [];
    while (this.more.childElementCount > more.length) this.more.lastChild.remove();
    more.forEach((picture, i) => {
      filled(this.more.children[i] || this.more.appendChild(h("figure", { class: "picture" })), picture);
    });
  }

  judge() {
    const { animation, details, reply: { answer } } = this.lab, proof = animation?.scene.certificate, said = [];
    // The model's own sentence leads. The verdict waits until a step is made, and can be hidden.
    said.push(h("p", { class: "words" }, details ? details.words : answer.trouble));
    const without = this.lab.influence.shown();
    if (without) said.push(h("p", { class: "influence" }, without.words));
    if (proof && this.lab.proofShown(animation, this.lab.frame)) {
      said.push(h("div", { class: "badge", "data-kind": proof.verdict }, proof.badge));
      said.push(h("p", { class: "proof" }, proof.sentence));
    }
    // Unchanged text is left alone; otherwise a screen reader would read it out with every frame.
    const signature = said.map((one) => one.textContent).join("|");
    if (this.verdict.dataset.signature === signature) return;
    this.verdict.dataset.signature = signature;
    this.verdict.replaceChildren(...said);
  }

  count() {
    const facts = this.lab.details ? this.lab.details.facts : [];
    const fact = ([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, formatNumber(value)));
    this.facts.replaceChildren(...facts.map(fact));
    const bound = facts.find(([name]) => name.includes("(R/γ)²"));
    this.gauge.replaceChildren();
    this.gauge.hidden = !bound || !bound[1];
    if (this.gauge.hidden) return;
    const bar = h("i"), updates = facts[0][1];
    bar.style.width = `${Math.min(100, (100 * updates) / bound[1])}%`;
    const said = `${updates} of at most ${formatNumber(bound[1])} updates`;
    this.gauge.replaceChildren(h("div", { class: "gauge", role: "img", "aria-label": said }, bar));
  }

  confusion() {
    const { details, palette: p } = this.lab;
    if (!details || !details.confusion) return null;
    const { labels, counts } = details.confusion, most = Math.max(1, ...counts.flat());
    const cell = (value, right) => {
      const td = h("td", {}, String(value)), [r, g, b] = rgb(right ? p.right : p.wrong);
      td.style.background = value ? `rgb(${r} ${g} ${b} / ${(0.1 + 0.4 * (value / most)).toFixed(2)})` : "";
      return td;
    };
    const name = (scope, i) => h("th", { scope, title: labels[i] }, labels[i]), corner = h("td");
    corner.style.background = "none";
    const row = (values, i) => h("tr", {}, name("row", i), ...values.map((value, j) => cell(value, i === j)));
    const head = h("tr", {}, corner, ...labels.map((_, i) => name("col", i)));
    return h("table", { class: "confusion" }, h("caption", {}, "Confusion matrix: rows actual, columns predicted"),
      h("thead", {}, head), h("tbody", {}, ...counts.map(row)));
  }

  table() {
    const { lab } = this, { details, state } = lab, comparison = lab.comparisonShown && lab.reply.comparison.details;
    if (!details || !details.metrics.length) return null;
    const rows = details.metrics.map(([name, value, low, high]) => {
      const unit = SHARES.includes(name) && low != null && high != null, shown = unit ? formatShare : formatNumber;
      const number = (v) => h("td", { class: "n" }, v == null ? "–" : shown(v));
      const title = unit ? `95%: ${formatShare(low)} to ${formatShare(high)}` : null;
      const other = comparison || details.test;
      const beside = other
        ? number(other.metrics.find((one) => one[0] === name)?.[1])
        : h("td", { class: "bar", title }, unit ? this.interval(value, low, high) : "");
      return h("tr", {}, h("th", { scope: "row" }, name), number(value), beside);
    });
    const names = comparison
      ? [lab.algorithm().title, lab.algorithm(state.comparison).title] : details.test ? ["training", "test"] : [];
    const heading = (name) => h("th", { scope: "col" }, name);
    const head = names.length ? h("thead", {}, h("tr", {}, heading("metric"), ...names.map(heading))) : null;
    const positive = details.positive ? `, positive class “${details.positive}”` : "";
    const tested = details.test && !comparison ? ` and ${details.test.n} test points` : "";
    const about = `On the ${details.n} training points${tested}${positive}`;
    return h("table", { class: "figures" }, h("caption", {}, about), head, h("tbody", {}, ...rows));
  }

  interval(value, low, high) {
    const p = this.lab.palette, at = Math.max(0.6, Math.min(99.4, 100 * value));
    const reach = `M${100 * Math.max(0, low)} 6H${100 * Math.max(0, high)}`;
    return s("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("path", { d: "M0 6H100", stroke: p.rule, "stroke-width": 3 }),
      s("path", { d: reach, stroke: p.accent, "stroke-opacity": 0.4, "stroke-width": 5 }),
      s("path", { d: `M${at} 1V11`, stroke: p.accent, "stroke-width": 2, "vector-effect": "non-scaling-stroke" }));
  }

  coefficients() {
    const terms = this.lab.details ? this.lab.details.terms : [], errors = terms.some((term) => term[2] != null);
    this.terms.hidden = !terms.length;
    const row = ([name, value, error]) => h("tr", {}, h("th", { scope: "row" }, name),
      h("td", { class: "n" }, formatNumber(value)), errors ? h("td", { class: "se" }, formatNumber(error)) : null);
    const titles = ["term", "estimate", ...(errors ? ["std. error"] : [])];
    const head = titles.map((name) => h("th", { scope: "col" }, name));
    const about = this.lab.details ? this.lab.details.terms_title : "";
    this.terms.replaceChildren(h("table", { class: "figures" }, h("caption", {}, about),
      h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...terms.map(row))));
  }
}
