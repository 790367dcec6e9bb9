"""Published success rates, read from the package's table."""

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
    """A published figure."""

    suite: str
    name: str
    rate: float
    """Success rate in per cent."""
    source: str
    """Publication with the figure."""
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
    """Published consistency of one agent over the instances of templates."""

    suite: str
    name: str
    always: int
    """Number of templates without a failure."""
    source: str
    solved: int | None = None
    """Number of templates with at least one success, where the source has it."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPeople:
    """A published study with people."""

    suite: str
    name: str
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
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedGroup:
    """A published figure on the problems of one subject with one kind of answer."""

    suite: str
    name: str
    subject: str
    answer: str
    """The kind of check that judges such answers here."""
    cases: int
    rate: float
    """Success rate in per cent."""
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
    """Return all scores on a suite's tasks, in the order of the file."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))["key_nodes"]
    return tuple(PublishedKeyNodes(**row) for row in rows if row["suite"] == suite)


def published_templates(suite: str) -> tuple[PublishedTemplates, ...]:
    """Return all figures on templates of a suite, in the order of the file."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))["templates"]
    return tuple(PublishedTemplates(**row) for row in rows if row["suite"] == suite)


def published_people(suite: str) -> tuple[PublishedPeople, ...]:
    """Return all studies with people on tasks of a suite, in the order of the file."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))["people"]
    return tuple(PublishedPeople(**row) for row in rows if row["suite"] == suite)


def published_groups(suite: str) -> tuple[PublishedGroup, ...]:
    """Return all figures on parts of a suite, in the order of the file."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))["groups"]
    return tuple(PublishedGroup(**row) for row in rows if row["suite"] == suite)


def published(suite: str) -> tuple[Published, ...]:
    """Return all figures on a suite's tasks, the best first."""
    rows = (Published(**row) for row in yaml.safe_load(_FILE.read_text(encoding="utf-8"))["rows"])
    return tuple(sorted((row for row in rows if row.suite == suite), key=lambda row: -row.rate))
