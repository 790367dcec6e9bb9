"""Reviews of a task: one annotator, two reviewers, and an adjudicator where they disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["REVIEWERS", "Adjudication", "Opinion", "Review", "ReviewState"]

REVIEWERS = 2
"""Number of reviewers who have to agree."""
ReviewState = Literal["annotated", "in review", "agreed", "disputed", "adjudicated", "rejected", "changed since"]
"""State of a review. ``in review``: fewer reviewers than needed, and none disagrees. ``changed since``: the task was
changed after the review."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A reviewer's opinion."""

    who: str
    verdict: Literal["agrees", "disagrees"]
    about: str = ""
    """What the reviewer disagrees with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjudication:
    """How a disagreement was settled."""

    by: str
    decision: Literal["accepted", "rejected"]
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The review of one task, or of all instances of a template."""

    annotator: str
    reviewers: tuple[Opinion, ...] = ()
    adjudicated: Adjudication | None = None
    of: tuple[str, ...] = ()
    """Prefixes of the digests of the reviewed tasks; empty: not recorded."""

    @property
    def disagreements(self) -> tuple[str, ...]:
        """The disagreements, each with the reviewer's name."""
        return tuple(f"{each.who}: {each.about}" for each in self.reviewers if each.verdict == "disagrees")

    def state(self, digest: str) -> ReviewState:
        """Returns the state of the review for the task with this digest."""
        if self.of and not digest.startswith(self.of):
            return "changed since"
        if self.adjudicated is not None:
            return "adjudicated" if self.adjudicated.decision == "accepted" else "rejected"
        if self.disagreements:
            return "disputed"
        if not self.reviewers:
            return "annotated"
        return "agreed" if len(self.reviewers) >= REVIEWERS else "in review"
