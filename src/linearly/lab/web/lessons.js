// Lessons: scenes in order, each with a sentence, a question to answer first, and an answer that is then played.

import { h } from "./elements.js";

export class Lessons {
  constructor(lab) {
    this.lab = lab;
    this.index = null;
    const button = (attributes, ...children) => h("button", { type: "button", ...attributes }, ...children);
    this.open = button({ id: "lessons", onclick: () => (this.index == null ? this.go(0) : this.close()) }, "Lessons");
    this.title = h("h2", {});
    this.sentence = h("p", { class: "sentence" });
    this.question = h("p", { class: "question", id: "lesson-question" });
    this.choices = h("div", { class: "row", role: "group", "aria-labelledby": "lesson-question" });
    this.answer = h("p", { class: "answer", role: "status" });
    this.back = button({ id: "lesson-back", onclick: () => this.go(this.index - 1) }, "Back");
    this.next = button({ id: "lesson-next", class: "primary", onclick: () => this.go(this.index + 1) }, "Next");
    const close = button({ id: "lesson-close", class: "icon", "aria-label": "End the lessons", onclick: () => this.close() }, "✕");
    this.element = h("section", { class: "lesson", "aria-label": "Lesson", hidden: true },
      h("div", { class: "head" }, this.title, this.back, this.next, close),
      this.sentence, this.question, this.choices, this.answer);
  }

  begin({ lessons }) { this.list = lessons; }

  // Set the scene of a lesson at its start, with the layers hidden that would give the answer away.
  async go(index) {
    const { lab, list } = this;
    if (index < 0 || index >= list.length) return this.close();
    const lesson = list[index];
    lab.timeline.pause();
    this.index = index;
    lab.layers.hidden.clear();
    for (const name of lesson.hide ?? []) lab.layers.hidden.add(name);
    lab.root.dataset.predicting = "true"; // the numbers wait for the answer (lab.css)
    await lab.send({ do: "choose_lesson", name: lesson.name });
    if (this.index !== index) return null;
    if (lesson.play === "start") lab.seek(0);
    this.answered = null;
    this.draw();
    lab.redraw();
    lab.resized();
    return null;
  }

  close() {
    this.index = null;
    this.lab.layers.hidden.clear();
    this.draw();
    this.lab.redraw();
    this.lab.resized();
  }

  // Show which choice is right, reveal what was hidden, and play.
  choose(k) {
    const { lab } = this, lesson = this.list[this.index];
    if (this.answered != null) return;
    this.answered = k;
    lab.layers.hidden.clear();
    this.draw();
    lab.redraw();
    lab.resized();
    if (lesson.play === "start" && lab.animation) lab.timeline.playWithin(8);
    this.next.focus();
  }

  draw() {
    const { lab } = this, on = this.index != null, lesson = on ? this.list[this.index] : null, done = this.answered != null;
    this.element.hidden = !on;
    if (!on || done) delete lab.root.dataset.predicting;
    this.open.textContent = on ? "End the lessons" : "Lessons";
    if (!on) return;
    this.title.textContent = `${this.index + 1} of ${this.list.length} · ${lesson.title}`;
    this.sentence.textContent = lesson.sentence;
    this.question.textContent = `Predict first: ${lesson.question}`;
    this.choices.replaceChildren(...lesson.choices.map((text, k) => h("button", {
      type: "button", class: "choice", onclick: () => this.choose(k), disabled: done,
      "data-right": done ? String(k === lesson.right) : null, "aria-pressed": String(k === this.answered),
    }, text)));
    this.answer.textContent = !done ? "" : `${this.answered === lesson.right ? "Right. " : "Not quite. "}${lesson.answer}`;
    this.back.disabled = this.index === 0;
    this.next.textContent = this.index === this.list.length - 1 ? "Finish" : "Next";
  }
}
