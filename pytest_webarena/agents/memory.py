"""What a definition says about memory across trials, and what an agent hands over to those that come after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_webarena.evidence import Usage

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Task

__all__ = ["MemoryKeys", "MemoryScope", "Remembered"]

MemoryScope = Literal["all", "site", "template", "task"]
"""Which trials share a memory: all, those of tasks on the same sites, of the same template, of the same task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryKeys:
    """The key ``memory`` of a definition; a bare word is the scope."""

    scope: MemoryScope
    max_chars: int = 20_000
    """Of the text; what is longer is cut at the end, and the record says so."""
    seconds: float = 120.0
    """That an agent may take after a trial to say what is to be remembered."""

    def __post_init__(self) -> None:
        if self.max_chars < 1:
            raise ValueError(f"max_chars: expected a number above 0, found {self.max_chars}")
        if not 0 < self.seconds < float("inf"):
            raise ValueError(f"seconds: expected a number above 0, found {self.seconds!r}")

    def of(self, task: Task) -> str:
        """Names the memory that trials of ``task`` share."""
        return {
            "all": "all",
            "site": " ".join(sorted(task.sites)) or "no site",
            "template": task.template or task.id,
            "task": task.id,
        }[self.scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What an agent's ``remember`` may return when the text alone does not tell enough."""

    text: str
    """In place of what it was told when it was made."""
    usage: Usage | None = None
    """What finding it out used; it counts for the trial."""

    def __post_init__(self) -> None:
        text: object = self.text
        if not isinstance(text, str) or not isinstance(self.usage, Usage | None):
            raise TypeError(f"Remembered: expected a text and a Usage or None, found {text!r} and {self.usage!r}"[:500])
