// Rules for the JavaScript of the lab and of reports; `pre-commit run eslint --all-files` applies them.
const js = require("@eslint/js");
const globals = require("globals");

module.exports = [
  js.configs.recommended,
  { languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser } },
  // Scripts inside a page; the tests load them with Node.
  { files: ["src/linearly/report/**"], languageOptions: { sourceType: "script", globals: { module: "writable" } } },
];
