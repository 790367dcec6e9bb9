"""Gradings: by whose rules a trial of WebArena's benchmark is judged, and which repairs are in force."""

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
"""``original``: as the published harness judges, its defects included. ``repaired``: the same tasks with the
documented defects repaired. ``verified``: WebArena-Verified's typed answers and network events. The last two are for
key nodes: as WebCanvas' paper says, or as its code does."""

WEBCANVAS: tuple[GradingName, ...] = ("webcanvas-paper", "webcanvas-code")
"""Gradings of key nodes. A trial is judged by them when they are asked for, and then by ours too."""

UPSTREAM_KINDS = frozenset({"string_match", "url_match", "program_html", "page_image_query"})
"""Check kinds that judge differently under different gradings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """By whose rules to judge. Only checks of the upstream kinds look at it."""

    name: GradingName
    rules: frozenset[str] = field(default_factory=frozenset)
    """Repair rules in force; empty for all but ``repaired``."""

    def repairs(self, rule: str) -> bool:
        """Whether a repair is in force. `KeyError` for a rule that does not exist: a slip of ours."""
        return RULES[rule].name in self.rules

    @property
    def decides(self) -> bool:
        """Whether a part that failed decides, although another one is undecided."""
        return self.name != "original" and (self.name != "repaired" or "failures-decide" in self.rules)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Repairs that were switched off, in the order of the table."""
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
    """The grading called ``name``, without some of its repairs. `UsageError` for names that don't exist."""
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
    """Which gradings a task can be judged by; empty for tasks that know none, whose verdict is one and the same.

    Key nodes know those of WebCanvas where one of them is ``asked`` for, with ours (``repaired``) beside them.
    """
    kinds = {check.kind for check in _leaves(task.checks)}
    upstream: tuple[str, ...] = ("original", "repaired") if kinds & UPSTREAM_KINDS else ()
    own: tuple[str, ...] = ("verified",) if "verified" in kinds and not upstream else ()
    nodes = (*WEBCANVAS, "repaired") if "key_nodes" in kinds and asked in WEBCANVAS else ()
    return tuple(dict.fromkeys((*nodes, *upstream, *own, *task.gradings)))


def needs_pages(task: Task, grading: Grading) -> bool:
    """Whether judging looks at pages as they were before each step, which are not recorded otherwise."""
    return grading.name == "webcanvas-code" and any(check.kind == "key_nodes" for check in _leaves(task.checks))


def headline_of(task: Task, asked: str) -> str | None:
    """The grading whose verdict counts, when ``asked`` was asked for; None when the task can't be judged by it.

    A task that knows one grading only is judged by that one, and one that knows none by its checks, whatever is asked.
    """
    known = gradings_of(task, asked)
    if not known or asked in known:
        return asked
    return known[0] if len(known) == 1 else None


def answer_format(task: Task, grading: Grading, asked: AskedFormat = "auto") -> AnswerFormat:
    """The form of answer to ask agents for: by itself the one that the grading that counts can read."""
    if asked != "auto":
        return asked
    return "verified" if headline_of(task, grading.name) == "verified" else "text"


def _leaves(checks: Collection[Check]) -> Iterator[Check]:
    for check in checks:
        if check.children:
            yield from _leaves(check.children)
        else:
            yield check
