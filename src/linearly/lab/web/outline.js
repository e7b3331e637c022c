// The visible part of a boundary: a straight line, or a curve if the features are transformed.

import { segmentsPath, zeroSegments } from "./contour.js";

// Path and points in pixels of the boundary b + w·(x, y, …) = 0.
export function outline(plane, animation, vector) {
  if (!animation.lift) {
    const points = plane.ends(vector);
    return { d: points.length ? `M${points.map((one) => one.map((v) => v.toFixed(2)).join(" ")).join("L")}` : "", points };
  }
  const segments = zeroSegments(plane, (x, y) => animation.score(vector, x, y));
  return { d: segmentsPath(segments), points: segments.map(([p]) => p) };
}
