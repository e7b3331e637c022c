"""How the documentation is built: `make docs`."""

import re

import linearly

project = "linearly"
author = "The linearly developers"
project_copyright = "The linearly developers"
release = linearly.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "linearly"
html_static_path = ["_static"]
html_css_files = ["linearly.css"]
html_show_sphinx = False
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"]}

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": False}
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "min_reported_time": 60,
    "within_subsection_order": "FileNameSortKey",
}
# scikit-learn's own docstrings, inherited by the estimators, refer to pages of its own.
suppress_warnings = ["config.cache", "ref.ref", "ref.term", "toc.not_included"]


def as_written(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
    """Docstrings are plain text with a card of the algorithm: a first line, and the rest as it is written."""
    if not lines:
        return
    first = re.sub(r"([*|_\\])", r"\\\1", lines[0].replace("`", ""))
    rest = [f"    {line}" for line in lines[1:]]
    while rest and not rest[0].strip():
        rest.pop(0)
    lines[:] = [first, "", *(["::", "", *rest, ""] if rest else [])]


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("autodoc-process-docstring", as_written)
