"""Published figures and settings, read from the package's table (``published.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

__all__ = [
    "Published",
    "PublishedGroup",
    "PublishedJudge",
    "PublishedKeyNodes",
    "PublishedPeople",
    "PublishedTemplates",
    "contradictions",
    "published",
    "published_groups",
    "published_judges",
    "published_key_nodes",
    "published_people",
    "published_settings",
    "published_templates",
]

_FILE = Path(__file__).with_name("published.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A figure and where it was published."""

    suite: str
    name: str
    """The model, with the setting where a paper has several."""
    source: str
    """Publication with the figure."""
    split: str
    """The part of the suite that was run."""
    version: str = ""
    """Version of the paper; ``unknown`` where the copy does not tell it, empty for other sources."""
    table: str = ""
    """Table or section of the publication."""
    note: str = ""

    @property
    def cited(self) -> str:
        """The publication with its version, if it is known, and its table."""
        version = self.version if self.version != "unknown" else ""
        return ", ".join(filter(None, (self.source, version, self.table)))

    @property
    def key(self) -> tuple[object, ...]:
        """What identifies the figure."""
        return self.suite, self.source, self.version, self.table, self.name, self.split, getattr(self, "tasks", None)


_R = TypeVar("_R", bound=_Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(_Row):
    """A published success rate."""

    tasks: int
    """Number of tasks."""
    rate: float
    """Success rate in per cent."""
    plus_minus: float | None = None
    achievable: float | None = None
    """SR_AC in per cent, where the source has it."""
    unachievable: float | None = None
    """SR_UA in per cent, where the source has it."""
    gave_up: float | None = None
    """Per cent of the achievable tasks that the agent called impossible, where the source has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTemplates(_Row):
    """Published consistency of one agent over the instances of templates."""

    always: int
    """Number of templates without a failure."""
    solved: int | None = None
    """Number of templates with at least one success, where the source has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPeople(_Row):
    """A published study with people."""

    tasks: int
    seconds: float
    """Mean time per task in seconds."""
    information: float
    """Success rate in per cent on tasks that ask for information."""
    others: float
    """Success rate in per cent on all other tasks."""
    rate: float
    achievable: float
    unachievable: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedGroup(_Row):
    """A published figure on the problems of one subject with one kind of answer."""

    subject: str
    answer: str
    """The kind of check that judges such answers here."""
    cases: int
    rate: float
    """Success rate in per cent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedJudge(_Row):
    """A judge model, measured on answers that people graded."""

    cases: int
    counts: Mapping[str, int]
    """Numbers of answers as in `llm_judge.agreement.Passing`."""
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedKeyNodes(_Row):
    """One agent's published scores of key nodes."""

    tasks: int
    """Number of tasks."""
    success: float
    """SR(0) in per cent."""
    completion: float | None = None
    """Completion rate in per cent, micro, where the copy has it."""


@cache
def _document() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return found


def _rows(section: str, row: type[_R], suite: str) -> tuple[_R, ...]:
    """Return the rows of ``suite`` in a section, in the order of the file."""
    return tuple(row(**each) for each in _document()[section] if each["suite"] == suite)


def published(suite: str) -> tuple[Published, ...]:
    """Return all success rates on a suite's tasks, the best first."""
    return tuple(sorted(_rows("rows", Published, suite), key=lambda row: -row.rate))


def published_templates(suite: str) -> tuple[PublishedTemplates, ...]:
    """Return all figures on templates of a suite."""
    return _rows("templates", PublishedTemplates, suite)


def published_people(suite: str) -> tuple[PublishedPeople, ...]:
    """Return all studies with people on tasks of a suite."""
    return _rows("people", PublishedPeople, suite)


def published_groups(suite: str) -> tuple[PublishedGroup, ...]:
    """Return all figures on parts of a suite."""
    return _rows("groups", PublishedGroup, suite)


def published_judges(suite: str) -> tuple[PublishedJudge, ...]:
    """Return all judge models that were measured on a suite's answers."""
    return _rows("judges", PublishedJudge, suite)


def published_key_nodes(suite: str) -> tuple[PublishedKeyNodes, ...]:
    """Return all scores of key nodes on a suite's tasks."""
    return _rows("key_nodes", PublishedKeyNodes, suite)


def contradictions(suite: str) -> tuple[Mapping[str, Any], ...]:
    """Return the figures of a suite's papers that exclude each other, by their tables and names."""
    return tuple(each for each in _document()["contradictions"] if each["suite"] == suite)


def published_settings(paper: str) -> tuple[Mapping[str, Any], ...]:
    """Return the settings of a paper's experiments, with the names of our agents that follow them (``agents``)."""
    return tuple(each for each in _document()["settings"] if each["paper"] == paper)
