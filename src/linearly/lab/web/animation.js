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
    // The score at which the second of two classes begins; other than 0 for a threshold other than one half.
    this.threshold = answer.threshold;
    this.offset = this.labels.length === 2 && answer.threshold ? Math.log(answer.threshold / (1 - answer.threshold)) : 0;
  }

  // The third feature of transformed points.
  lifted(x, y) {
    switch (this.lift) {
      case "xy": return x * y;
      case "radius": return x * x + y * y;
      default: return x * x;
    }
  }

  // A linear score of the features at (x, y).
  score(vector, x, y) {
    const flat = vector[0] + vector[1] * x + vector[2] * y;
    return this.lift ? flat + vector[3] * this.lifted(x, y) : flat;
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
      return (x, y, out) => { out[0] = 0; out[1] = this.score(vectors[0], x, y); };
    }
    return (x, y, out) => {
      for (let k = 0; k < vectors.length; k++) out[k] = this.score(vectors[k], x, y);
    };
  }

  vectors(array, frame) {
    if (!array) return null;
    const [frames, v, w] = array.shape, t = this.sent(frame, frames);
    return Array.from({ length: v }, (_, k) => between(array.data, t, v * w, k * w, w));
  }

  winner(scores) {
    if (scores.length === 2) return scores[1] - scores[0] >= this.offset ? 1 : 0;
    let best = 0;
    for (let k = 1; k < scores.length; k++) if (scores[k] > scores[best]) best = k;
    return best;
  }

  curve(frame) {
    if (!this.curves) return null;
    const [frames, m] = this.curves.shape;
    return between(this.curves.data, this.sent(frame, frames), m, 0, m);
  }

  // The place of a frame among those that were sent: while a point is dragged, these are few.
  sent(frame, count) { return Math.max(0, Math.min(count - 1, frame - this.first)); }

  height(values, x) {
    // The curve at x, interpolated between the computed places; straight lines are extended.
    const at = this.at.data, m = at.length;
    const t = ((x - at[0]) / (at[m - 1] - at[0])) * (m - 1), i = Math.max(0, Math.min(m - 2, Math.floor(t)));
    return values[i] + (t - i) * (values[i + 1] - values[i]);
  }
}

// Numbers of a frame, which are interpolated if its number has a fraction.
function between(data, t, stride, offset, length) {
  const from = Math.floor(t), share = t - from, start = from * stride + offset;
  const low = data.subarray(start, start + length);
  if (!share) return low;
  const high = data.subarray(start + stride, start + stride + length);
  return low.map((v, i) => v + share * (high[i] - v));
}

// The classes that have points.
export function usedClasses(state) {
  return [...new Set(state.points.map((point) => point[2]))].sort((a, b) => a - b);
}
