// Load the columns of a CSV file, and save the plane as a picture.

import { h, s, downloadFile, standalone } from "./elements.js";
import { SHAPES } from "./palette.js";

// Ask which columns of a file to use, then load them.
export async function chooseColumns(lab, input) {
  const file = input.files[0];
  input.value = "";
  if (!file) return;
  if (file.size > 3.5e6) {
    lab.notice("The file is larger than 3.5 MB. Open it from the command line: linearly lab FILE.");
    return;
  }
  const text = await file.text(), reply = await lab.send({ do: "columns", text });
  if (!reply) return;
  const names = reply.columns.filter((one) => one.numeric).map((one) => one.name);
  const labels = reply.columns.filter((one) => one.labels > 1).map((one) => one.name);
  // The last column with few labels is the colour, if two numeric columns remain.
  const rest = (name) => names.filter((one) => one !== name), last = labels.at(-1) ?? "";
  const target = rest(last).length > 1 ? last : "", free = rest(target);
  const pick = (id, title, list, value) => {
    const option = (one) => h("option", { value: one, selected: one === value }, one || "none: fit a curve");
    return h("label", {}, h("span", { class: "name" }, title), h("select", { id, name: id }, ...list.map(option)));
  };
  const form = h("form", { method: "dialog" }, h("h2", {}, file.name),
    pick("column-x", "Across", names, free[0]), pick("column-y", "Up", names, free[1]),
    pick("column-target", "Colour", ["", ...labels], target), h("p", { class: "hint" }, colourHint(reply.columns)),
    h("div", { class: "row" },
      h("button", { type: "submit", value: "", formnovalidate: true }, "Cancel"),
      h("button", { id: "load", type: "submit", value: "load", class: "primary" }, "Load")));
  lab.dialog.replaceChildren(form);
  lab.dialog.onclose = () => {
    if (lab.dialog.returnValue !== "load") return;
    const value = (id) => form.querySelector(`#${id}`).value;
    lab.controls.presets.value = "";
    lab.send({ do: "load", text, x: value("column-x"), y: value("column-y"), target: value("column-target") });
  };
  lab.dialog.returnValue = "";
  lab.dialog.showModal();
}

// Explain which columns can be the colour, and which have too many labels.
function colourHint(columns) {
  const rule = `Columns with 2 to ${SHAPES.length} labels can set the colour.`;
  const many = columns.filter((one) => !one.numeric && one.labels == null).map((one) => one.name);
  if (!many.length) return rule;
  const some = many.slice(0, 4).join(", ") + (many.length > 4 ? ", …" : "");
  return `${rule} ${some} ${many.length > 1 ? "have" : "has"} more.`;
}

// Save the visible planes side by side, as SVG or at twice the size as PNG.
export function savePicture(lab, kind) {
  const { palette: p } = lab, planes = lab.comparisonShown ? [lab.main, lab.other] : [lab.main];
  const width = planes.reduce((sum, one) => sum + one.width, 0), height = lab.main.height;
  const picture = standalone(width, height, s("rect", { width, height, fill: p.plane }));
  // A selection is a tool of the viewer and not part of the picture.
  const { selected, cursor } = lab, redraw = () => { lab.main.points(); lab.main.over(lab.animation, lab.frame); };
  lab.selected = lab.cursor = null;
  redraw();
  let left = 0;
  for (const plane of planes) {
    const size = { width: plane.width, height: plane.height };
    const inner = s("svg", { x: left, ...size, viewBox: plane.svg.getAttribute("viewBox") });
    if (plane.canvas.dataset.used) {
      inner.append(s("image", { href: plane.canvas.toDataURL(), ...size, preserveAspectRatio: "none" }));
    }
    for (const child of [...plane.under.children, ...plane.svg.children]) inner.append(child.cloneNode(true));
    const look = { x: 15, y: 28, "font-size": 16, "font-weight": 600, fill: p.ink };
    if (plane.caption.textContent) inner.append(s("text", look, plane.caption.textContent));
    picture.append(inner);
    left += plane.width;
  }
  [lab.selected, lab.cursor] = [selected, cursor];
  redraw();
  const blob = new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });
  if (kind === "svg") return downloadFile("linearly.svg", blob);
  const image = new Image(), url = URL.createObjectURL(blob);
  image.onload = () => {
    const canvas = h("canvas");
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((png) => png && downloadFile("linearly.png", png), "image/png");
  };
  image.src = url;
}
