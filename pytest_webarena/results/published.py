"""Published success rates, read from the package's table of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

__all__ = [
    "Published",
    "PublishedGroup",
    "PublishedKeyNodes",
    "PublishedPeople",
    "PublishedTemplates",
    "published",
    "published_groups",
    "published_key_nodes",
    "published_people",
    "published_templates",
]

_FILE = Path(__file__).with_name("published.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One published figure."""

    suite: str
    name: str
    rate: float
    """Success rate in per cent."""
    source: str
    """Where it can be looked up."""
    plus_minus: float | None = None
    achievable: float | None = None
    """SR_AC in per cent, where the source has it."""
    unachievable: float | None = None
    """SR_UA in per cent, where the source has it."""
    gave_up: float | None = None
    """Per cent of the achievable tasks that the agent called impossible, where the source has it."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTemplates:
    """How consistent one agent was over the instances of templates, as published."""

    suite: str
    name: str
    always: int
    """Templates without a failure."""
    source: str
    solved: int | None = None
    """Templates with at least one success, where the source has it."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPeople:
    """One published study with people."""

    suite: str
    name: str
    tasks: int
    seconds: float
    """Mean of a task."""
    information: float
    """Per cent of the tasks that ask for information."""
    others: float
    """Per cent of all others."""
    rate: float
    achievable: float
    unachievable: float
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedGroup:
    """One published figure on the problems of one subject with one kind of answer."""

    suite: str
    name: str
    subject: str
    answer: str
    """The kind of check that judges such answers here."""
    cases: int
    rate: float
    """In per cent."""
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedKeyNodes:
    """One agent's published scores of key nodes."""

    suite: str
    name: str
    completion: float
    """Completion rate in per cent, micro."""
    success: float
    """SR(0) in per cent."""
    source: str
    note: str = ""


def published_key_nodes(suite: str) -> tuple[PublishedKeyNodes, ...]:
    """All scores on a suite's tasks, in the order of the file."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))["key_nodes"]
    return tuple(PublishedKeyNodes(**row) for row in rows if row["suite"] == suite)


def published_templates(suite: str) -> tuple[PublishedTemplates, ...]:
    """All figures on templates of a suite, in the order of the file."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))["templates"]
    return tuple(PublishedTemplates(**row) for row in rows if row["suite"] == suite)


def published_people(suite: str) -> tuple[PublishedPeople, ...]:
    """All studies with people on tasks of a suite, in the order of the file."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))["people"]
    return tuple(PublishedPeople(**row) for row in rows if row["suite"] == suite)


def published_groups(suite: str) -> tuple[PublishedGroup, ...]:
    """All figures on parts of a suite, in the order of the file."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))["groups"]
    return tuple(PublishedGroup(**row) for row in rows if row["suite"] == suite)


def published(suite: str) -> tuple[Published, ...]:
    """All figures on a suite's tasks, best first."""
    rows = (Published(**row) for row in yaml.safe_load(_FILE.read_text(encoding="utf-8"))["rows"])
    return tuple(sorted((row for row in rows if row.suite == suite), key=lambda row: -row.rate))
