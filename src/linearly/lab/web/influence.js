// The influence of the selected point on a least-squares fit: the fit without it, its leverage and Cook's distance.

export class Influence {
  constructor(lab) { this.lab = lab; this.found = null; }

  // Whether the model has an influence to show, and of which point.
  index() {
    const { lab } = this, scene = lab.animation?.scene.influence;
    if (!scene || lab.details?.at == null) return null;
    const training = (i) => i != null && scene.leverage[i] != null;
    return training(lab.selected) ? lab.selected : lab.selected == null ? scene.strongest : null;
  }

  // Ask the session for the fit without the point, unless it is known.
  async ask() {
    const { lab } = this, index = this.index();
    if (index == null) { this.found = null; return; }
    if (this.found?.animation === lab.animation && this.found.index === index) return;
    const { animation } = lab, wanted = () => animation === lab.animation;
    const reply = await lab.send({ do: "without_point", index }, "without", wanted);
    if (!reply || animation !== lab.animation) return;
    this.found = { animation, index, ...reply.without };
    lab.dirty.evidence = true;
    lab.plan();
  }

  shown() { return this.found && this.found.animation === this.lab.animation ? this.found : null; }
  curve() { return this.shown()?.curve; }
}
