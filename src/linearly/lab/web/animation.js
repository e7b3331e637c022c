// An animation on the page: the numbers of all frames, and the scores and curves that follow from them.

function unpack(packed) {
  if (!packed) return null;
  const text = atob(packed.f64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return { shape: packed.shape, data: new Float64Array(bytes.buffer) };
}

export class LabAnimation {
  constructor(answer, classes) {
    const animation = answer.animation;
    Object.assign(this, animation);
    for (const name of ["weights", "fields", "walk", "at", "curves", "wave"]) this[name] = unpack(animation[name]);
    this.labels = animation.classes.map((name) => classes.indexOf(name));
  }

  // Scores of all classes at (x, y) in a frame; two classes have 0 and the score of the second.
  scorer(frame) {
    if (this.fields) {
      const { data, shape } = this.fields;
      return (x, y, out) => {
        for (let k = 0; k < shape[0]; k++) {
          const i = 6 * k;
          const straight = data[i] + data[i + 1] * x + data[i + 2] * y;
          out[k] = straight + data[i + 3] * x * x + data[i + 4] * x * y + data[i + 5] * y * y;
        }
      };
    }
    const vectors = this.vectors(this.weights, frame);
    if (!vectors) return null;
    if (vectors.length === 1) {
      const [b, u, v] = vectors[0];
      return (x, y, out) => { out[0] = 0; out[1] = b + u * x + v * y; };
    }
    return (x, y, out) => {
      for (let k = 0; k < vectors.length; k++) out[k] = vectors[k][0] + vectors[k][1] * x + vectors[k][2] * y;
    };
  }

  vectors(array, frame) {
    if (!array) return null;
    // While a point is dragged, only a few frames are sent.
    const [frames, v, w] = array.shape, t = Math.max(0, Math.min(frames - 1, frame - this.first));
    return Array.from({ length: v }, (_, k) => array.data.subarray((t * v + k) * w, (t * v + k + 1) * w));
  }

  winner(scores) {
    if (scores.length === 2) return scores[1] >= scores[0] ? 1 : 0;
    let best = 0;
    for (let k = 1; k < scores.length; k++) if (scores[k] > scores[best]) best = k;
    return best;
  }

  curve(frame) {
    if (!this.curves) return null;
    const m = this.curves.shape[1];
    return this.curves.data.subarray(frame * m, (frame + 1) * m);
  }

  height(values, x) {
    // The curve at x, interpolated between the computed places; straight lines are extended.
    const at = this.at.data, m = at.length;
    const t = ((x - at[0]) / (at[m - 1] - at[0])) * (m - 1), i = Math.max(0, Math.min(m - 2, Math.floor(t)));
    return values[i] + (t - i) * (values[i + 1] - values[i]);
  }
}

// The classes that have points.
export function usedClasses(state) {
  return [...new Set(state.points.map((point) => point[2]))].sort((a, b) => a - b);
}
