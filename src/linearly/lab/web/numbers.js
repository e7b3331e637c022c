// Format numbers with a few digits, and choose round places along an axis.

export function formatNumber(value) {
  if (value == null) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (value !== 0 && (size >= 1e6 || size < 1e-4)) {
    return value.toExponential(2).replace(/\.?0+e/, "e").replaceAll("-", "−").replace("e+", "e");
  }
  if (Number.isInteger(value)) return value.toString().replace("-", "−");
  return (size >= 1000 ? value.toFixed(0) : value.toPrecision(4).replace(/\.?0+$/, "")).replace("-", "−");
}

// A share with three decimals; R² can be far below zero.
export function formatShare(value) {
  return Math.abs(value) < 100 ? value.toFixed(3).replace("-", "−") : formatNumber(value);
}

// A number as an exponent.
export function superscript(v) {
  return [...formatNumber(v)].map((c) => ({ "−": "⁻", ".": "·" })[c] || "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)] || c).join("");
}

export function tenths(value) { return Math.round(10 * value) / 10; }

export function ticks(low, high, about) {
  const raw = (high - low) / about, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    found.push(Math.abs(k * step) < 1e-12 * step ? 0 : Number((k * step).toPrecision(12)));
  }
  return found;
}

// Ticks of an axis with their labels, blank where they do not fit; at least two labels are shown if possible.
export function labelledTicks(low, high, about, fits) {
  for (let n = about; ; n *= 1.4) {
    const found = ticks(low, high, n);
    if (found.filter(fits).length > 1 || n > 6 * about) return found.map((v) => [v, fits(v) ? formatNumber(v) : ""]);
  }
}

// Indices of a long series to draw: the first, the last, and the lowest and highest of each stretch.
export function extremes(values, stretches) {
  const n = values.length, size = Math.ceil(n / stretches), drawn = [];
  if (size < 3) return values.map((_, i) => i);
  for (let from = 0; from < n; from += size) {
    let low = from, high = from;
    for (let i = from; i < Math.min(from + size, n); i++) {
      if (values[i] < values[low]) low = i;
      if (values[i] > values[high]) high = i;
    }
    drawn.push(...new Set([from, Math.min(low, high), Math.max(low, high)]));
  }
  if (drawn.at(-1) !== n - 1) drawn.push(n - 1);
  return drawn;
}
