"""Memory across trials: its key in definitions, and what an agent leaves for later trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_webarena.evidence import Usage

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Task

__all__ = ["MemoryKeys", "MemoryScope", "Remembered"]

MemoryScope = Literal["all", "site", "template", "task"]
"""Which trials share a memory: all, those of tasks on the same sites, of the same template, or of the same task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryKeys:
    """The key ``memory`` of a definition; a single word is its scope."""

    scope: MemoryScope
    max_chars: int = 20_000
    """Maximum length of the text in characters; longer texts are cut at the end, which the record notes."""
    seconds: float = 120.0
    """Maximum time after a trial that the agent may take to say what to remember, in seconds."""

    def __post_init__(self) -> None:
        if self.max_chars < 1:
            raise ValueError(f"max_chars: expected a number above 0, found {self.max_chars}")
        if not 0 < self.seconds < float("inf"):
            raise ValueError(f"seconds: expected a number above 0, found {self.seconds!r}")

    def name_for(self, task: Task) -> str:
        """Name of the memory that trials of ``task`` share."""
        return {
            "all": "all",
            "site": " ".join(sorted(task.sites)) or "no site",
            "template": task.template or task.id,
            "task": task.id,
        }[self.scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Return value of an agent's ``remember`` when the text alone is not enough."""

    text: str
    """Replaces the memory that the agent received."""
    usage: Usage | None = None
    """Usage of producing the text; counts for the trial."""

    def __post_init__(self) -> None:
        text: object = self.text
        if not isinstance(text, str) or not isinstance(self.usage, Usage | None):
            raise TypeError(f"Remembered: expected a text and a Usage or None, found {text!r} and {self.usage!r}"[:500])
