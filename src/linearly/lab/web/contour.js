// Curves in the plane on which a function is zero, by marching squares.

const ACROSS = 150;  // cells from left to right

// Segments [[i, j], [i, j]] in cells of a grid of (nx + 1)(ny + 1) values where they cross 0.
export function gridSegments(values, nx, ny) {
  const found = [];
  for (let j = 0; j < ny; j++) for (let i = 0; i < nx; i++) {
    const o = j * (nx + 1) + i, corner = [values[o], values[o + 1], values[o + nx + 2], values[o + nx + 1]];
    const positive = corner[0] >= 0;
    if (corner.every((v) => v >= 0 === positive)) continue;
    const place = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], cut = [];
    for (let e = 0; e < 4; e++) {
      const u = corner[e], v = corner[(e + 1) % 4];
      if (u >= 0 === v >= 0) continue;
      const w = u / (u - v), [p, q] = [place[e], place[(e + 1) % 4]];
      cut.push([p[0] + w * (q[0] - p[0]), p[1] + w * (q[1] - p[1])]);
    }
    for (let e = 0; e + 1 < cut.length; e += 2) found.push([cut[e], cut[e + 1]]);
  }
  return found;
}

// Segments [[x, y], [x, y]] in pixels where f = 0. Ends where `keep` is negative are cut off.
export function zeroSegments(plane, f, keep = null) {
  const nx = ACROSS, ny = Math.max(40, Math.round((nx * plane.height) / plane.width));
  const sx = plane.width / nx, sy = plane.height / ny, values = new Float64Array((nx + 1) * (ny + 1));
  for (let j = 0; j <= ny; j++) for (let i = 0; i <= nx; i++) {
    values[j * (nx + 1) + i] = f(plane.x(i * sx), plane.y(j * sy));
  }
  const segments = gridSegments(values, nx, ny).map((one) => one.map(([i, j]) => [i * sx, j * sy]));
  return keep ? segments.map((one) => keptPart(plane, one, keep)).filter(Boolean) : segments;
}

// The part of a short segment on which `keep` is not negative.
function keptPart(plane, [p, q], keep) {
  const u = keep(plane.x(p[0]), plane.y(p[1])), v = keep(plane.x(q[0]), plane.y(q[1]));
  if (u < 0 && v < 0) return null;
  if (u >= 0 && v >= 0) return [p, q];
  const w = u / (u - v), middle = [p[0] + w * (q[0] - p[0]), p[1] + w * (q[1] - p[1])];
  return u >= 0 ? [p, middle] : [middle, q];
}

// Boundaries between the winners of several scores: pair by pair, where both exceed all others.
export function scoreBoundaries(plane, scorer, K, offset = 0) {
  const scores = new Float64Array(K), found = [];
  for (let j = 0; j < K; j++) for (let k = j + 1; k < K; k++) {
    const difference = (x, y) => { scorer(x, y, scores); return scores[k] - scores[j] - (K === 2 ? offset : 0); };
    const leads = K === 2 ? null : (x, y) => {
      scorer(x, y, scores);
      let least = Infinity;
      for (let m = 0; m < K; m++) if (m !== j && m !== k) least = Math.min(least, scores[j] - scores[m]);
      return least;
    };
    found.push(...zeroSegments(plane, difference, leads));
  }
  return found;
}

export function segmentsPath(segments) {
  return segments.map((one) => "M" + one.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L")).join("");
}
