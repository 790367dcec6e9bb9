"""Who has looked at a task: one annotator, two reviewers, and somebody who decides where they do not agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["REVIEWERS", "Adjudication", "Opinion", "Review", "ReviewState"]

REVIEWERS = 2
"""How many have to agree."""
ReviewState = Literal["annotated", "in review", "agreed", "disputed", "adjudicated", "rejected", "changed since"]
"""``in review``: fewer reviewers than are needed, and none disagrees. ``changed since``: what was looked at was another
task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What a reviewer thinks."""

    who: str
    verdict: Literal["agrees", "disagrees"]
    about: str = ""
    """With what they disagree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjudication:
    """How a disagreement was settled."""

    by: str
    decision: Literal["accepted", "rejected"]
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Of one task, or of all instances of a template."""

    annotator: str
    reviewers: tuple[Opinion, ...] = ()
    adjudicated: Adjudication | None = None
    of: tuple[str, ...] = ()
    """Beginnings of the digests of the tasks that were looked at; empty: nobody wrote that down."""

    @property
    def disagreements(self) -> tuple[str, ...]:
        """Who disagrees, and with what."""
        return tuple(f"{each.who}: {each.about}" for each in self.reviewers if each.verdict == "disagrees")

    def state(self, digest: str) -> ReviewState:
        """What the review is at, for the task with this digest."""
        if self.of and not digest.startswith(self.of):
            return "changed since"
        if self.adjudicated is not None:
            return "adjudicated" if self.adjudicated.decision == "accepted" else "rejected"
        if self.disagreements:
            return "disputed"
        if not self.reviewers:
            return "annotated"
        return "agreed" if len(self.reviewers) >= REVIEWERS else "in review"
