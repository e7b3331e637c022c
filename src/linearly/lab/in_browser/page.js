// Answer the page from a recorded film until the library runs in a worker; then the worker answers.

export async function connect(root) {
  const film = await (await fetch("film.json")).json();
  const waiting = new Map(), worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  const status = document.createElement("p");
  status.className = "live-status";
  status.setAttribute("role", "status");
  const loading = `A recorded film. ${location.hash.length > 1 ? "Your link opens when Python has loaded" : "Python is loading"}`;
  status.textContent = `${loading}.`;
  root.after(status);
  root.dataset.source = "film";
  let number = 0;
  const ready = new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message || "the worker does not start"));
    worker.onmessage = ({ data }) => {
      if (data.ready) resolve();
      if (data.failure) reject(new Error(data.failure));
      if (data.kept !== undefined) root.dataset.kept = data.kept;
      if (data.loaded) status.textContent = `${loading}: ${megabytes(data)}`;
      waiting.get(data.number)?.(JSON.parse(data.reply));
      waiting.delete(data.number);
    };
  });
  ready.then(() => {
    performance.mark("linearly-live");
    root.dataset.source = "live";
    status.textContent = "Live: Python computes in this page.";
    setTimeout(() => status.remove(), 4000);
  }, (error) => {
    root.dataset.source = "failed";
    status.textContent = `Python could not be loaded (${error.message}). The film still plays; reload to try again.`;
  });
  root.addEventListener("linearly:drawn", () => {
    performance.mark("linearly-film");
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!still && location.hash.length < 2) document.getElementById("play")?.click();
  }, { once: true });
  return async (message) => {
    if (root.dataset.source !== "live") {
      if (message.do === "open") return film.open;
      if (message.do === "frame" && film.frames[message.at]) return { details: film.frames[message.at] };
    }
    await ready;
    return new Promise((resolve) => {
      number += 1;
      waiting.set(number, resolve);
      worker.postMessage({ number, message: JSON.stringify(message) });
    });
  };
}

function megabytes({ loaded, total }) {
  return `${(loaded / 1e6).toFixed(0)} of ${(total / 1e6).toFixed(0)} MB.`;
}
