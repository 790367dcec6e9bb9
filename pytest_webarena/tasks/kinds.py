"""The kinds of check there are, by name: built-in ones, those of entry points, those registered here.

A kind lives in the checks room (or in somebody's own package); here it is only looked up, by name and
on first use, so that reading tasks needs nothing that judging needs.

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
    "cost": "pytest_webarena.checks.effort:COST",
    "tokens": "pytest_webarena.checks.effort:TOKENS",
    "steps": "pytest_webarena.checks.effort:STEPS",
    "seconds": "pytest_webarena.checks.effort:SECONDS",
    "untouched": "pytest_webarena.checks.untouched:UNTOUCHED",
    "changes": "pytest_webarena.checks.changes:CHANGES",
}
"""The kinds of this package; a further one is a module of the checks room and a line here."""


@runtime_checkable
class CheckKind(Protocol):
    """What reading a task file needs to know of a kind of check."""

    @property
    def name(self) -> str:
        """The key in task files."""

    @property
    def form(self) -> Shape[Any]:
        """How it is written."""

    @property
    def stateful(self) -> bool:
        """Whether it may hold in one state of a trial and not in another, so that ``when`` means something."""

    def sights(self, spec: Any) -> Collection[str] | None:
        """What decides such a check: ``answer``, ``place``, ``data``, ``requests``; None when there is no telling."""

    def categorise(self, spec: Any) -> str:
        """The category that such a check gives its task; empty when it says nothing."""


_registered: dict[str, CheckKind] = {}


def register(kind: CheckKind) -> None:
    """Make a kind known without an entry point, e.g. from a ``conftest.py``. Replaces one of the same name."""
    _registered[kind.name] = kind


def find_kind(name: str) -> CheckKind | None:
    """The kind called ``name``; None when there is none."""
    return _registered.get(name) or _find(name)


def kind_names() -> tuple[str, ...]:
    """Names of all kinds, the built-in ones first."""
    return tuple(dict.fromkeys((*BUILTIN, *sorted(_entry_points()), *sorted(_registered))))


@functools.cache
def _find(name: str) -> CheckKind | None:
    target = BUILTIN.get(name) or _entry_points().get(name)  # installed packages are asked only for other names
    if target is None:
        return None
    kind = load(target, f"the check kind {name!r}")
    if not isinstance(kind, CheckKind):
        raise UsageError(f"expected {target} to be a kind of check (pytest_webarena.checks.Kind), found {kind!r}")
    return kind


@functools.cache
def _entry_points() -> Mapping[str, str]:
    return offered(CHECKS)
