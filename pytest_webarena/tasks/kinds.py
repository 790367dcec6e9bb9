"""Registry of check kinds by name: built-in ones, those of entry points, and those registered at run time.

A kind is defined in the package `checks` or in a third-party package. It is looked up here on first use, so that
reading tasks needs nothing that judging needs.

A package adds kinds with the entry point group ``webarena.checks``::

    [project.entry-points."webarena.checks"]
    rubric = "my_package.rubric:RUBRIC"
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Any, Protocol, runtime_checkable

from pytest_webarena.entry_points import CHECKS, load, offered
from pytest_webarena.errors import UsageError
from pytest_webarena.tasks.shapes import Shape

__all__ = ["BUILTIN", "CheckKind", "find_kind", "kind_names", "register"]

BUILTIN = {
    "answer": "pytest_webarena.checks.answer:ANSWER",
    "url": "pytest_webarena.checks.url:URL",
    "page": "pytest_webarena.checks.page:PAGE",
    "state": "pytest_webarena.checks.state:STATE",
    "network": "pytest_webarena.checks.network:NETWORK",
    "python": "pytest_webarena.checks.python:PYTHON",
    "choice": "pytest_webarena.checks.computed.choice:CHOICE",
    "number": "pytest_webarena.checks.computed.number:NUMBER",
    "string_match": "pytest_webarena.checks.upstream.strings:STRING_MATCH",
    "url_match": "pytest_webarena.checks.upstream.addresses:URL_MATCH",
    "program_html": "pytest_webarena.checks.upstream.programs:PROGRAM_HTML",
    "page_image_query": "pytest_webarena.checks.page_images:PAGE_IMAGE_QUERY",
    "verified": "pytest_webarena.checks.verified:VERIFIED",
    "symbolic": "pytest_webarena.checks.computed.symbolic:SYMBOLIC",
    "rubric": "pytest_webarena.checks.computed.rubric:RUBRIC",
    "key_nodes": "pytest_webarena.checks.key_nodes:KEY_NODES",
    "human": "pytest_webarena.checks.human:HUMAN",
    "cost": "pytest_webarena.checks.effort:COST",
    "tokens": "pytest_webarena.checks.effort:TOKENS",
    "steps": "pytest_webarena.checks.effort:STEPS",
    "seconds": "pytest_webarena.checks.effort:SECONDS",
    "untouched": "pytest_webarena.checks.untouched:UNTOUCHED",
    "changes": "pytest_webarena.checks.changes:CHANGES",
}
"""Built-in kinds. To add one, write a module in the package `checks` and a line here."""


@runtime_checkable
class CheckKind(Protocol):
    """The interface of a check kind for reading task files."""

    @property
    def name(self) -> str:
        """Key in task files."""

    @property
    def form(self) -> Shape[Any]:
        """Form in task files."""

    @property
    def stateful(self) -> bool:
        """Whether a check of this kind may pass in one state of a trial and fail in another; only then ``when`` has an
        effect."""

    def sights(self, spec: Any) -> Collection[str] | None:
        """Returns what decides such a check: ``answer``, ``place``, ``data``, ``requests``; None when it is unknown."""

    def categorise(self, spec: Any) -> str:
        """Returns the category that such a check gives its task; empty when it gives none."""


_registered: dict[str, CheckKind] = {}


def register(kind: CheckKind) -> None:
    """Register a kind without an entry point, e.g. from a ``conftest.py``. It replaces a kind of the same name."""
    _registered[kind.name] = kind


def find_kind(name: str) -> CheckKind | None:
    """Returns the kind called ``name``; None when there is none."""
    return _registered.get(name) or _find(name)


def kind_names() -> tuple[str, ...]:
    """Returns the names of all kinds, built-in ones first."""
    return tuple(dict.fromkeys((*BUILTIN, *sorted(_entry_points()), *sorted(_registered))))


@functools.cache
def _find(name: str) -> CheckKind | None:
    target = BUILTIN.get(name) or _entry_points().get(name)  # entry points are read for other names only
    if target is None:
        return None
    kind = load(target, f"the check kind {name!r}")
    if not isinstance(kind, CheckKind):
        raise UsageError(f"expected {target} to be a kind of check (pytest_webarena.checks.Kind), found {kind!r}")
    return kind


@functools.cache
def _entry_points() -> Mapping[str, str]:
    return offered(CHECKS)
