"""Shapes that parts of the catalogue format share: keys, names, paths, programs."""

from __future__ import annotations

import re
from typing import Any

from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.record_shapes import Field, ListOf, MapOf
from pytest_webarena.tasks.shapes import Fault, Int, Text

__all__ = [
    "HEADER",
    "HOST",
    "MODULE",
    "NAME",
    "OTHER_HOST",
    "PATH",
    "SCRIPT",
    "SIZE",
    "STATUS",
    "TARGET",
    "URL",
    "VARIABLES",
    "WORDS",
    "key",
    "text",
]


def text(label: str, pattern: str) -> Text:
    """Returns the shape of a text with a pattern, called ``label`` in messages."""
    compiled = re.compile(pattern)

    def fault(text: str, _: Reading) -> Fault | None:
        return None if compiled.fullmatch(text) else Fault(label, f"{text[:60]!r}")

    return Text(label, check=fault, pattern=f"^{pattern}$")


NAME = text("a name of letters, digits, '_' and '-'", r"[A-Za-z0-9][A-Za-z0-9_-]*")
HOST = text("a host name in lower case, such as app.test", r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_OTHER_NAME = r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?"
OTHER_HOST = text(
    "a host name in lower case, such as fonts.example.com, or an origin such as https://cdn.example.com:8443",
    rf"{_OTHER_NAME}|https?://{_OTHER_NAME}(?::[0-9]{{1,5}})?",
)
PATH = text("a path that starts with '/'", r"/\S*")
MODULE = text("a Python module", r"[A-Za-z_][\w.]*")
TARGET = text("module:attribute", r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
SCRIPT = text("module:function or file.py:function", r"[\w./-]+:[A-Za-z_]\w*")
HEADER = text("a header name", r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
URL = text("an address that starts with http:// or https://", r"https?://[^\s@?#]+")
SIZE = text("a size such as 256m or 2g", r"[0-9]+[bkmgBKMG]?")
VARIABLES = MapOf(Text("text", blank=True), "a mapping from variables to texts")
WORDS = ListOf(Text("text", blank=True), label="a program and its arguments, as a list", low=1)
STATUS = ListOf(Int("a status code", low=100, high=599), or_one=True, label="a status code or a list of them")


def key(name: str, shape: Any, doc: str, example: str, **more: Any) -> Field:
    """Returns one key of a record; ``more`` are further arguments of `Field`, mostly its default."""
    return Field(key=name, shape=shape, doc=doc, example=example, **more)
