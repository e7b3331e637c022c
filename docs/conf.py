"""How the documentation is built: `make docs`."""

import re
from pathlib import Path

import numpydoc.xref

import linearly
from linearly.lab.export_site import export_site

project = "linearly"
author = "The linearly developers"
project_copyright = "The linearly developers"
release = linearly.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"  # neither prompts nor output

html_theme = "pydata_sphinx_theme"
html_title = "linearly"
html_static_path = ["_static"]
html_extra_path = ["data"]
html_css_files = ["linearly.css"]
html_show_sphinx = False
html_show_sourcelink = False
html_sidebars = {"index": []}
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "show_toc_level": 2,
}

default_role = "autolink"
nitpick_ignore_regex = [("py:obj", ".*")]  # single backticks in docstrings also mark parameters
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_aliases = {"Table": "linearly.Table", "Model": "linearly.Model"}
numpydoc_xref_ignore = "all"  # only the aliases are links ...
numpydoc.xref.DEFAULT_LINKS.clear()  # ... not the terms of other projects, whose pages need a network

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "show_signature": False,
    "thumbnail_size": (600, 420),
    "abort_on_example_error": True,
    "min_reported_time": 60,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
}
suppress_warnings = ["config.cache"]


# Methods of estimators that other packages of linearly call.
INTERNAL = {
    "average_errors", "block_scores", "centre_", "check_parameters", "correct_digits", "from_columns", "has_digits",
    "identified_terms", "inner_covariance", "known_variances", "novikoff_bound_applies", "reference_code",
    "residual_squares", "selects", "set_fitted_attributes", "set_from_solution", "set_from_summary",
}  # fmt: skip


def skip_member(app, what, name, obj, skip, options):  # type: ignore[no-untyped-def]
    """Leave out internal methods, and what scikit-learn's base classes contribute; its documentation describes it."""
    inherited = str(getattr(obj, "__module__", "")).startswith("sklearn.") or name.endswith("_request")
    return skip or inherited or name in INTERNAL


# What axe-core finds in the pages of the theme, of docutils and of the gallery: names that screen readers lack.
ACCESSIBLE = [
    (r'(<button [^>]*class="btn search-button-field[^>]*) aria-label="Search"', r"\1"),  # it says "Search" itself
    (r'<summary>(?=<span class="toctree-toggle")', '<summary aria-label="Pages of this section">'),
    (r'<div role="list" class="citation-list">', '<div class="citation-list">'),  # its children are not list items
    (
        r'<a class="reference internal"( href="[^"]*"><span class="doc">)([^<]*)(?=</span></a></p>\s*<div class="sph)',
        r'<a class="reference internal" aria-label="\2"\1\2',
    ),
]  # fmt: skip


def name_for_screen_readers(app, exception):  # type: ignore[no-untyped-def]
    """Mend the names of elements in the built pages."""
    if exception is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            text = mended = page.read_text(encoding="utf-8")
            for pattern, replacement in ACCESSIBLE:
                mended = re.sub(pattern, replacement, mended)
            if mended != text:
                page.write_text(mended, encoding="utf-8")


def export_lab(app, exception):  # type: ignore[no-untyped-def]
    """Write the lab that runs in a browser to the built site, where docs/how-to/lab.md links to it."""
    if exception is None and app.builder.format == "html":
        export_site(Path(app.outdir) / "lab")


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("build-finished", name_for_screen_readers)
    app.connect("build-finished", export_lab)
    app.connect("autodoc-skip-member", skip_member)
