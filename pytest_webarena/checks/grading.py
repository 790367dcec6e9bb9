"""Gradings: the rules by which a trial of a published benchmark is judged, and the repairs that are in force."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_webarena.answers import AnswerFormat, AskedFormat
from pytest_webarena.checks.upstream.rules import RULES
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.tasks.model import Check, Task

__all__ = [
    "GRADINGS",
    "ORIGINAL",
    "REPAIRED",
    "UPSTREAM_KINDS",
    "VERIFIED",
    "WEBCANVAS",
    "Grading",
    "GradingName",
    "answer_format",
    "find_grading",
    "gradings_of",
    "headline_of",
    "needs_pages",
]

GradingName = Literal["original", "repaired", "verified", "webcanvas-paper", "webcanvas-code"]

GRADINGS: tuple[GradingName, ...] = ("original", "repaired", "verified", "webcanvas-paper", "webcanvas-code")
"""Names of all gradings.

- ``original``: as the published harness judges, with its defects.
- ``repaired``: the same tasks with the documented defects repaired.
- ``verified``: WebArena-Verified's typed answers and network events.
- ``webcanvas-paper`` and ``webcanvas-code``: key nodes as in WebCanvas' paper, or as in its code.
"""

WEBCANVAS: tuple[GradingName, ...] = ("webcanvas-paper", "webcanvas-code")
"""Gradings of key nodes. They are used only if requested, and our own grading is then computed, too."""

UPSTREAM_KINDS = frozenset({"string_match", "url_match", "program_html", "page_image_query"})
"""Check kinds whose judgement depends on the grading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """The rules of judging. Only checks of the upstream kinds use them."""

    name: GradingName
    rules: frozenset[str] = field(default_factory=frozenset)
    """Repair rules in force; empty for all gradings but ``repaired``."""

    def repairs(self, rule: str) -> bool:
        """Returns whether a repair is in force. Raises `KeyError` for an unknown rule, which is a bug of this
        package."""
        return RULES[rule].name in self.rules

    @property
    def decides(self) -> bool:
        """Whether a failed part decides the verdict although another part is undecided."""
        return self.name != "original" and (self.name != "repaired" or "failures-decide" in self.rules)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Repairs that are switched off, in the order of the table."""
        return tuple(rule for rule in RULES if rule not in self.rules) if self.name == "repaired" else ()

    def __str__(self) -> str:
        return self.name + (f" without {', '.join(self.left_out)}" if self.left_out else "")


ORIGINAL = Grading(name="original")
REPAIRED = Grading(name="repaired", rules=frozenset(RULES))
VERIFIED = Grading(name="verified")
_OTHERS: Mapping[str, Grading] = {
    "original": ORIGINAL,
    "verified": VERIFIED,
    "webcanvas-paper": Grading(name="webcanvas-paper"),
    "webcanvas-code": Grading(name="webcanvas-code"),
}


def find_grading(name: str, without: Collection[str] = ()) -> Grading:
    """Returns the grading called ``name`` without the repairs ``without``. Raises `UsageError` for unknown names."""
    unknown = next((rule for rule in without if rule not in RULES), None)
    if unknown is not None:
        raise UsageError(f"--without-repair: expected a repair rule, found {unknown!r}; {closest(unknown, RULES)}")
    if name == "repaired":
        return Grading(name="repaired", rules=frozenset(RULES) - frozenset(without))
    if name in _OTHERS:
        if without:
            raise UsageError(f"--without-repair: expected it with --grading=repaired, found it with {name}")
        return _OTHERS[name]
    raise UsageError(f"--grading: expected one of {', '.join(GRADINGS)}, found {name!r}")


def gradings_of(task: Task, asked: str = "") -> tuple[str, ...]:
    """Returns the gradings by which a task can be judged; empty for tasks with a single verdict of no grading.

    Key nodes have WebCanvas' gradings if one of them is ``asked`` for, and then ours (``repaired``), too.
    """
    kinds = {check.kind for check in _leaves(task.checks)}
    upstream: tuple[str, ...] = ("original", "repaired") if kinds & UPSTREAM_KINDS else ()
    own: tuple[str, ...] = ("verified",) if "verified" in kinds and not upstream else ()
    nodes = (*WEBCANVAS, "repaired") if "key_nodes" in kinds and asked in WEBCANVAS else ()
    return tuple(dict.fromkeys((*nodes, *upstream, *own, *task.gradings)))


def needs_pages(task: Task, grading: Grading) -> bool:
    """Whether judging needs pages as they were before each step, which are not recorded otherwise."""
    return grading.name == "webcanvas-code" and any(check.kind == "key_nodes" for check in _leaves(task.checks))


def headline_of(task: Task, asked: str) -> str | None:
    """Returns the grading whose verdict counts when ``asked`` is requested; None when the task can't be judged by it.

    A task with one grading is judged by that one, and a task without gradings by its checks, whatever is requested.
    """
    known = gradings_of(task, asked)
    if not known or asked in known:
        return asked
    return known[0] if len(known) == 1 else None


def answer_format(task: Task, grading: Grading, asked: AskedFormat = "auto") -> AnswerFormat:
    """Returns the form of answer to request from agents; for ``auto``, the form that the counting grading can read."""
    if asked != "auto":
        return asked
    return "verified" if headline_of(task, grading.name) == "verified" else "text"


def _leaves(checks: Collection[Check]) -> Iterator[Check]:
    for check in checks:
        if check.children:
            yield from _leaves(check.children)
        else:
            yield check
