"use strict";
// Least squares and ridge from sums alone: weight, means and centred products of [X | y], measured in units.
// refit(summary, kept, alpha) solves for the columns in `kept`; a column left out has the coefficient null.

function cholesky(A) {
  const n = A.length, L = A.map((row) => row.slice());
  for (let j = 0; j < n; j++) {
    for (let i = j; i < n; i++) {
      let sum = L[i][j];
      for (let k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
      if (i === j) {
        if (!(sum > 1e-12)) return null;
        L[j][j] = Math.sqrt(sum);
      } else {
        L[i][j] = sum / L[j][j];
      }
    }
  }
  return L;
}

function solve(L, c) {
  const n = L.length, x = c.slice();
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] -= L[i][k] * x[k];
    x[i] /= L[i][i];
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] -= L[k][i] * x[k];
    x[i] /= L[i][i];
  }
  return x;
}

function refit(summary, kept, alpha) {
  const { n, weight, unit, mean, cross, intercept } = summary;
  const p = unit.length - 1, yUnit = unit[p];
  const about = (i, j) => cross[i][j] + (intercept ? 0 : weight * mean[i] * mean[j]);
  const penalty = kept.map((j) => alpha / unit[j] / unit[j]);
  // Columns, and y, are scaled to length 1: rank and rounding mean something only then.
  const size = kept.map((j, a) => Math.sqrt(about(j, j) + penalty[a]) || 1);
  const total = about(p, p), ySize = Math.sqrt(total) || 1;
  const A = kept.map((i, a) => kept.map((j, b) => about(i, j) / size[a] / size[b]));
  const c = kept.map((i, a) => about(i, p) / size[a] / ySize);
  const P = penalty.map((t, a) => t / size[a] / size[a]);
  const L = cholesky(A.map((row, a) => row.map((v, b) => (a === b ? v + P[a] : v))));
  if (L === null) return null;
  const b = solve(L, c);
  const identity = kept.map((_, a) => kept.map((_, k) => (a === k ? 1 : 0)));
  const M = identity.map((row) => solve(L, row));
  const Ab = A.map((row) => row.reduce((sum, v, k) => sum + v * b[k], 0));
  const left = 1 - b.reduce((sum, v, a) => sum + v * (2 * c[a] - Ab[a]), 0);
  // Of a target that the columns give away, rounding is left: its root, 1e-8, would look like an error.
  const rounding = 8 * Number.EPSILON * b.reduce((sum, v, a) => sum + Math.abs(v) * (2 * Math.abs(c[a]) + Math.abs(Ab[a])), 1);
  const rss = left > rounding ? left * total * yUnit * yUnit : 0;
  let used = 0;
  for (let a = 0; a < kept.length; a++) for (let k = 0; k < kept.length; k++) used += M[a][k] * A[k][a];
  const dof = n - used - (intercept ? 1 : 0);
  const sigma = dof > 0 ? Math.sqrt(rss / dof) : null;
  const coef = Array(p).fill(null), error = Array(p).fill(null);
  let constant = intercept ? mean[p] * yUnit : 0;
  kept.forEach((j, a) => {
    coef[j] = (b[a] * ySize) / size[a] * (yUnit / unit[j]);
    if (intercept) constant -= coef[j] * mean[j] * unit[j];
    let variance = 0;
    for (let k = 0; k < kept.length; k++) for (let m = 0; m < kept.length; m++) variance += M[a][k] * A[k][m] * M[m][a];
    if (sigma !== null) error[j] = (sigma * Math.sqrt(Math.max(variance, 0))) / size[a] / unit[j];
  });
  const tss = total * yUnit * yUnit;
  return { coef, error, intercept: constant, rss, dof, sigma, rSquared: tss > 0 ? 1 - rss / tss : null };
}

// The slider: 0 is no penalty; from 1 to 100 it goes from a ten-thousandth to a hundred times the middle Σ(x − mean)².
function alphaAt(summary, step) {
  const squares = summary.unit.slice(0, -1).map((u, j) => summary.cross[j][j] * u * u).sort((a, b) => a - b);
  const middle = squares[Math.floor(squares.length / 2)] || 1;
  return step === 0 ? 0 : middle * 10 ** (-4 + (6 * (step - 1)) / 99);
}

function formatNumber(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = size && (size < 1e-4 || size >= 1e7) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
  return text.replace("-", "−");
}

if (typeof module !== "undefined") module.exports = { refit, alphaAt, formatNumber };

if (typeof document !== "undefined") {
  const summary = JSON.parse(document.getElementById("summary").textContent);
  const body = document.getElementById("refit-terms"), slider = document.getElementById("refit-alpha");
  const form = document.getElementById("refit-form");
  const cell = (row, tag, text) => {
    const made = document.createElement(tag);
    made.textContent = text;
    row.append(made);
    return made;
  };
  const line = (name, box) => {
    const row = document.createElement("tr"), head = cell(row, "th", "");
    head.scope = "row";
    if (box) {
      const label = document.createElement("label");
      label.append(box, name);
      head.append(label);
    } else {
      head.textContent = name;
    }
    body.append(row);
    return row;
  };
  const cells = (row, name, box) => {
    cell(row, "td", formatNumber(summary.estimate[name]));
    return { box, now: cell(row, "td", ""), error: cell(row, "td", "") };
  };
  const lines = summary.intercept ? [cells(line("Intercept", null), "Intercept", null)] : [];
  let at = 0, n_boxes = 0;
  // One tick for each term: the levels of a category come and go together.
  for (const [label, width] of summary.groups) {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.defaultChecked = box.checked = true;
    n_boxes++;
    const names = summary.names.slice(at, at + width);
    at += width;
    if (width > 1) {
      const row = line(label, box);
      for (let k = 0; k < 3; k++) cell(row, "td", "");
    }
    for (const name of names) {
      const row = line(name, width > 1 ? null : box);
      if (width > 1) row.className = "level";
      lines.push(cells(row, name, box));
    }
  }
  let moved = false;
  const show = () => {
    const boxes = lines.filter((line) => line.box);
    const kept = boxes.flatMap((line, j) => (line.box.checked ? [j] : []));
    const alpha = moved ? alphaAt(summary, Number(slider.value)) : summary.alpha;
    const found = refit(summary, kept, alpha), first = refit(summary, boxes.map((_, j) => j), summary.alpha);
    document.getElementById("refit-told").textContent = formatNumber(alpha);
    boxes.forEach((line, j) => {
      line.now.textContent = found ? formatNumber(found.coef[j]) : "–";
      line.error.textContent = found ? formatNumber(found.error[j]) : "–";
    });
    if (summary.intercept) lines[0].now.textContent = found ? formatNumber(found.intercept) : "–";
    document.getElementById("refit-fit").textContent = found
      ? `R² ${formatNumber(found.rSquared)} (as fitted ${formatNumber(first.rSquared)}), σ ${formatNumber(found.sigma)} (as fitted ` +
        `${formatNumber(first.sigma)}), with ${new Set(kept.map((j) => boxes[j].box)).size} of ${n_boxes} columns. R² falls with every column left out; ` +
        "σ may fall too, if the column is noise."
      : "These columns are collinear. Raise alpha or leave one out.";
  };
  slider.addEventListener("input", () => { moved = true; show(); });
  body.addEventListener("change", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => { moved = false; setTimeout(show); });
  for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;
  show();
}
