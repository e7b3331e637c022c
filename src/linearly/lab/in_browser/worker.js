// Run Python beside the page: load Pyodide, NumPy and the library, then answer messages.
// Every file is checked against the hash in runtime.js before it is used. The first visit keeps the memory of the
// started session in the browser's cache, with the files that Python may still read. Later visits continue from there.

import runtime from "./runtime.js";

const PACKAGES = "/lib/python3.14/site-packages", LIBRARY = "/lib/linearly", RUNTIME = "pyodide.asm.wasm";
const here = new URL("./", import.meta.url).href, home = new URL(runtime.address, here).href;
const download = self.fetch.bind(self), files = new Map();

function loadFiles(wanted) {
  const total = wanted.reduce((sum, name) => sum + runtime.files[name].bytes, 0);
  let loaded = 0;
  for (const name of wanted) {
    const { integrity, bytes, type } = runtime.files[name];
    const url = new URL(name, name === runtime.library ? here : home).href;
    files.set(name, download(url, { integrity }).then(async (response) => {
      if (!response.ok) throw new Error(`${name}: status ${response.status}`);
      const content = await response.blob();
      loaded += bytes;
      postMessage({ loaded, total });
      return new Blob([content], { type }); // some hosts name the wrong type
    }));
  }
  // Pyodide's own downloads are answered with these files, and its compilation with the one that begins here.
  self.fetch = async (url) => {
    const name = new URL(url, home).href.slice(home.length);
    if (!files.has(name)) throw new Error(`${name} is not among the files of this page`);
    return new Response(await files.get(name));
  };
  const compiled = files.get(RUNTIME).then((blob) => WebAssembly.compileStreaming(new Response(blob)));
  WebAssembly.instantiateStreaming = async (_, imports) =>
    ({ module: await compiled, instance: await WebAssembly.instantiate(await compiled, imports) });
}

async function importFile(name) {
  const url = URL.createObjectURL(await files.get(name));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

// The files of a zip file, by name: [name, bytes]. The browser inflates them, side by side.
async function unzip(blob, wanted) {
  const bytes = new Uint8Array(await blob.arrayBuffer()), view = new DataView(bytes.buffer), found = [];
  let end = bytes.length - 22;
  while (view.getUint32(end, true) !== 0x06054b50) end -= 1;
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    const [length, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + length));
    const header = view.getUint32(at + 42, true);
    const begin = header + 30 + view.getUint16(header + 26, true) + view.getUint16(header + 28, true);
    const content = bytes.subarray(begin, begin + view.getUint32(at + 20, true));
    if (wanted(name)) found.push([name, view.getUint16(at + 10, true) === 0 ? content : inflate(content)]);
    at += 46 + length + extra + comment;
  }
  return Promise.all(found.map(async ([name, content]) => [name, await content]));
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function loadPackages() {
  const code = (name) => /\.(py|so)$/.test(name) && !/\/(tests|f2py)\//.test(name);
  const [numpy, library] = await Promise.all([
    files.get(runtime.numpy).then((blob) => unzip(blob, code)),
    files.get(runtime.library).then((blob) => unzip(blob, () => true)),
  ]);
  return [...numpy.map(([name, content]) => [`${PACKAGES}/${name}`, content]),
    ...library.map(([name, content]) => [`${LIBRARY}/${name}`, content])];
}

function compileLibraries(packages) {
  return Promise.all(packages.filter(([name]) => name.endsWith(".so")).map(async ([name, content]) =>
    [name, await WebAssembly.compile(content)]));
}

// Start Python with NumPy's compiled parts in place before it runs. They are then at the same addresses on every
// visit, so that memory kept from an earlier visit fits: it holds the addresses of their functions and data.
async function startPython(kept) {
  const packages = kept?.packages ?? await loadPackages();
  const [{ loadPyodide }, { default: createPyodideModule }, libraries] = await Promise.all(
    [importFile("pyodide.mjs"), importFile("pyodide.asm.mjs"), compileLibraries(packages)]);
  let layout;
  const create = (settings) => createPyodideModule(Object.assign(settings, {
    onRuntimeInitialized() {
      for (const [name, library] of libraries) {
        settings.preloadedWasm[name] = settings.loadWebAssemblyModule(library, { nodelete: true }, name, {});
      }
      layout = `${settings._sbrk(0)} ${settings.wasmTable.length}`;
      if (!kept) return;
      if (kept.layout !== layout) throw new Error("the kept memory has another layout");
      if (kept.heap > settings.HEAP8.length) settings.growMemory(kept.heap);
    },
  }));
  const options = { indexURL: home, packageBaseUrl: home, lockFileContents: runtime.lock, createPyodideModule: create };
  const python = await loadPyodide(
    { ...options, ...(kept ? { _loadSnapshot: kept.memory } : { _makeSnapshot: true }) });
  for (const folder of new Set(packages.map(([name]) => name.slice(0, name.lastIndexOf("/"))))) {
    python.FS.mkdirTree(folder);
  }
  for (const [name, content] of packages) python.FS.writeFile(name, content, { canOwn: true });
  const { LDSO, loadDynamicLibrary } = python._module;
  if (kept) for (const [handle, name] of kept.opened) loadDynamicLibrary(name, { nodelete: true }, {}, handle);
  else python.runPython(`import sys; sys.path.insert(0, "${LIBRARY}")`);
  const boot = python.pyimport("linearly.lab.in_browser.boot");
  if (!kept) {
    const memory = python.makeMemorySnapshot(); // now: an answer would change the session
    const opened = Object.entries(LDSO.loadedLibsByHandle).map(([handle, { name }]) => [Number(handle), name]);
    const parts = { layout, heap: python._module.HEAP8.length, opened: opened.filter(([handle]) => handle > 0) };
    setTimeout(() => keep(memory, packages, parts));
  }
  return boot.answer;
}

// The browser's cache, where there is one: not on plain http, apart from this machine.
const cache = self.caches?.open("linearly-lab").catch(() => null);
const address = (name) => `${here}${name}?${runtime.release}`;

async function readKept() {
  const [memory, contents] = await Promise.all(
    ["memory", "files"].map(async (name) => (await cache)?.match(address(name))));
  if (!memory || !contents) return null;
  const { sizes, ...parts } = JSON.parse(memory.headers.get("Linearly-Parts"));
  return { sizes, parts, memory, contents };
}

async function unpackKept({ sizes, parts, memory, contents }) {
  const bytes = new Uint8Array(await contents.arrayBuffer());
  let begin = 0;
  const packages = sizes.map(([name, size]) => [name, bytes.subarray(begin, begin += size)]);
  return { ...parts, packages, memory: new Uint8Array(await memory.arrayBuffer()) };
}

async function keep(memory, packages, parts) {
  const store = await cache;
  if (!store) return;
  let end = memory.length;
  while (memory[end - 1] === 0) end -= 1;
  const sizes = packages.map(([name, content]) => [name, content.length]);
  const headers = { "Linearly-Parts": JSON.stringify({ ...parts, sizes }) };
  try {
    for (const old of await store.keys()) if (old.url.startsWith(here)) await store.delete(old);
    await store.put(address("files"), new Response(new Blob(packages.map(([, content]) => content))));
    await store.put(address("memory"), new Response(memory.subarray(0, Math.ceil(end / 16) * 16), { headers }));
    postMessage({ kept: true });
  } catch {
    postMessage({ kept: false }); // no room: later visits take as long as this one
  }
}

async function start() {
  const all = Object.keys(runtime.files), found = await readKept().catch(() => null);
  if (found) {
    loadFiles(all.filter((name) => name !== runtime.numpy && name !== runtime.library));
    try {
      return await startPython(await unpackKept(found));
    } catch {
      await (await cache).delete(address("memory"));
    }
  }
  loadFiles(all);
  return startPython(null);
}

const answer = start();
answer.then(() => postMessage({ ready: true }), (error) => postMessage({ failure: String(error.message ?? error) }));
self.onmessage = async ({ data: { number, message } }) => {
  const reply = await answer.then((call) => call(message)).catch((error) => {
    const line = String(error.message ?? error).trim().split("\n").at(-1);
    return JSON.stringify({ error: `Python raised an error: ${line}` });
  });
  postMessage({ number, reply });
};
