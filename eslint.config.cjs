// Rules for the JavaScript of the lab's page; `pre-commit run eslint --all-files` applies them.
const js = require("@eslint/js");
const globals = require("globals");

module.exports = [
  js.configs.recommended,
  { languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser } },
];
