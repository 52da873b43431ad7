"""Sphinx's settings: one strict site from Markdown pages, docstrings and the command line's own help."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from operator import itemgetter
from pathlib import Path
from typing import Any

from tarry import __version__

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # modules beside this file, and the studies beside the package
# Tutorials start processes of their own, which import the same package.
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])

from generated import write_pages  # noqa: E402
from pages import place_page  # noqa: E402
from typeset import plain_properties, plain_signature, typeset_docstring, typeset_page  # noqa: E402

logging.basicConfig()  # before the style of the code below, which would show every request of a tutorial
project, author, copyright = "Tarry", "The Tarry developers", "The Tarry developers"
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples/tutorials",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # every one is executed
    "image_scrapers": ("pictured.scrape",),
    "reset_modules": (),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"tarry|altair",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "notebook_extensions": set(),
    "min_reported_time": 1e9,  # how long a tutorial took says something about this machine only
    "within_subsection_order": "FileNameSortKey",
}
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
exclude_patterns = ["_site", "_templates"]
html_theme = "furo"
html_title = "Tarry"
html_static_path = ["_static"]
html_css_files, html_js_files = ["tarry.css"], ["tarry.js"]
html_show_sphinx = False
html_search_scorer = str(HERE / "_static" / "search.js")
smartquotes_action = "qe"  # two hyphens begin an option, and are no dash
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
# Types are in the signatures; a second list of them says nothing more.
autodoc_typehints = "signature"
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}  # which is a page of NumPy's own types
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
suppress_warnings = ["myst.header"]  # some pages begin below the first level


def skip_others(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what has no docstring of its own, such as fields of named tuples, and other packages' methods."""
    is_field = isinstance(thing, property) and isinstance(thing.fget, itemgetter)
    is_field |= "Alias for field number" in (getattr(thing, "__doc__", None) or "")
    is_field |= inspect.isclass(thing) and what == "class"  # a learner's state
    is_field |= (isinstance(thing, property) and not thing.__doc__) or isinstance(thing, bool)
    is_theirs = inspect.isroutine(thing) and not (getattr(thing, "__module__", None) or "tarry").startswith("tarry")
    return True if is_field or is_theirs else None


def setup(app: Any) -> None:
    """Connect what is written before the pages are read."""
    app.connect("builder-inited", write_pages, priority=100)  # before the gallery, whose pages link to these
    app.connect("source-read", typeset_page)
    app.connect("source-read", place_page)
    app.connect("autodoc-skip-member", skip_others)
    app.connect("autodoc-process-docstring", typeset_docstring)
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("doctree-resolved", plain_properties)
