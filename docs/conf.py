"""How the documentation is built: `make docs`."""

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
# The class docstrings are plain text with a card of the algorithm: shown as they are written.
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
suppress_warnings = ["config.cache"]
