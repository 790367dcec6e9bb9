"""Source of the script for pages, as one expression whose value is its interface."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["parts", "script"]

_PARTS = (
    "dom",
    "text",
    "counters",
    "inserted",
    "roles",
    "names",
    "fields",
    "states",
    "usable",
    "markup",
    "marks",
    "walk",
)
"""Files in order of dependency. They share one scope of which nothing is visible outside."""


@cache
def script() -> str:
    """Return JavaScript that evaluates to ``{look, markup, boxes, find, …}``; see ``js/walk.js``, ``js/markup.js``."""
    return "(() => {\n'use strict';\n" + parts(*_PARTS) + "\n})()"


def parts(*names: str) -> str:
    """Return some of the files, for scripts that share their functions."""
    folder = files("pytest_webarena.browser.observation.fast") / "js"
    return "\n".join((folder / f"{name}.js").read_text("utf-8") for name in names)
