"""How Sphinx makes the site of these pages: `make site`."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

project = "pytest-webarena"
author = "The pytest-webarena contributors"
copyright = author

extensions = ["myst_parser"]
exclude_patterns = ["images"]

# Anchors as code hosts make them, so that links are good in the repository and on the site.
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # some pages go from # to ###
nitpicky = True

html_theme = "furo"
html_title = "pytest-webarena"
html_static_path = ["images"]  # at an address of their own: the README shows one
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def name_pages(app: Any, tree: nodes.document, page: str) -> None:
    """Links that are called by a file's name, as is good in the repository, are called by the page's title here."""
    for link in tree.findall(nodes.reference):
        name = re.fullmatch(r"(?:docs/)?([\w-]+)\.md", link.astext())
        if name and name[1] in app.env.titles:
            link.clear()
            link += nodes.Text(app.env.titles[name[1]].astext())


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("doctree-resolved", name_pages)
