// Motion from one frame to the next: lines move for 200 ms, unless the viewer prefers reduced motion.

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const DURATION = 200;

export class Motion {
  constructor() { this.from = this.to = 0; this.began = null; }

  // Begin to move between neighbouring frames; anything farther is a jump.
  start(from, to) {
    const here = this.position(from);
    this.began = Math.abs(to - from) === 1 && !STILL.matches ? performance.now() : null;
    [this.from, this.to] = [here, to];
  }

  stop() { this.began = null; }

  // The frame to draw now, with a fraction while it moves.
  position(frame) {
    if (this.began == null) return frame;
    const share = (performance.now() - this.began) / DURATION;
    if (share >= 1 || frame !== this.to) { this.began = null; return frame; }
    const eased = share * share * (3 - 2 * share);
    return this.from + (this.to - this.from) * eased;
  }
}
