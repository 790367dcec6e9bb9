"""Public API for packages that extend this one: forms of observation, backends, and shapes of checks.

`docs/registries.md` shows each. Kinds of check are in `pytest_webarena.checks`, agents in `pytest_webarena.agents`.

>>> Text("a title").label
'a title'
"""

from __future__ import annotations

from pytest_webarena.browser.observation.forms import Form, Page
from pytest_webarena.sites.backends.base import (
    Backend,
    BackendContext,
    KeepingBackend,
    KeepsLogs,
    PausingBackend,
    Replica,
    Rows,
    WatchingBackend,
)
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.tasks.record_shapes import Convert, Either, ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Int, Json, Number, Text

__all__ = [
    "AppManifest",
    "Backend",
    "BackendContext",
    "Bool",
    "Choice",
    "Convert",
    "Either",
    "Fault",
    "Form",
    "Int",
    "Json",
    "KeepingBackend",
    "KeepsLogs",
    "ListOf",
    "MapOf",
    "Number",
    "Page",
    "PausingBackend",
    "Record",
    "Replica",
    "Rows",
    "Text",
    "WatchingBackend",
]
