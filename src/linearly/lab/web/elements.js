// Create elements of the page, and offer files for download.

const NS = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NS, tag);
  set(element, attributes);
  element.append(...children);
  return element;
}

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
  }
  return element;
}

export function icon(path) {
  return s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: path }));
}

// Shorten a text to the room it has, with the full text as a tooltip.
export function shorten(mark, text, room) {
  const fullWidth = mark.getComputedTextLength();
  if (fullWidth <= room) return;
  let n = Math.max(3, Math.ceil((text.length * room) / fullWidth));
  do mark.textContent = `${text.slice(0, n).trimEnd()}…`; while (--n > 2 && mark.getComputedTextLength() > room);
  mark.append(s("title", {}, text));
}

// An SVG that can be saved to a file.
export function standalone(width, height, ...children) {
  return s("svg", {
    xmlns: NS, viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, sans-serif",
  }, ...children);
}

export function downloadFile(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
