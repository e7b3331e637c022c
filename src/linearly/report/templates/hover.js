"use strict";
// Show the name of the row under the pointer. Dots are one path, "Mx yh.01Mx yh.01…"; data-rows has their places among
// the rows of the page, and is empty if they are the first ones in order.
if (typeof document !== "undefined") {
  const rows = JSON.parse(document.getElementById("row-names").textContent);
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  for (const svg of document.querySelectorAll("svg.figure")) {
    const dots = [];
    for (const group of svg.querySelectorAll("[data-rows]")) {
      const path = group.matches("path") ? group : group.querySelector("path");
      const at = [...path.getAttribute("d").matchAll(/M(-?[\d.]+) (-?[\d.]+)h/g)];
      const own = group.getAttribute("data-rows").split(" ");
      at.forEach(([, x, y], i) => dots.push([Number(x), Number(y), rows[own[0] === "" ? i : Number(own[i])]]));
    }
    if (!dots.length) continue;
    svg.addEventListener("pointermove", (event) => {
      const scale = svg.getScreenCTM();
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(scale.inverse());
      let nearest = null, least = (9 / scale.a) ** 2;
      for (const [x, y, name] of dots) {
        const distance = (x - point.x) ** 2 + (y - point.y) ** 2;
        if (distance < least) [nearest, least] = [name, distance];
      }
      tip.hidden = nearest === null;
      if (nearest === null) return;
      tip.textContent = nearest;
      tip.style.left = `${event.pageX + 12}px`;
      tip.style.top = `${event.pageY + 12}px`;
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
}
