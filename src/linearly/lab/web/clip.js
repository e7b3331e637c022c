// Cut polygons along lines.

// The part of a polygon where c + a x + b y ≥ 0.
export function clip(polygon, c, a, b) {
  const inside = [];
  for (let i = 0; i < polygon.length; i++) {
    const [p, q] = [polygon[i], polygon[(i + 1) % polygon.length]];
    const [u, v] = [c + a * p[0] + b * p[1], c + a * q[0] + b * q[1]];
    if (u >= 0) inside.push(p);
    if (u >= 0 !== v >= 0) inside.push([p[0] + (u / (u - v)) * (q[0] - p[0]), p[1] + (u / (u - v)) * (q[1] - p[1])]);
  }
  return inside;
}
