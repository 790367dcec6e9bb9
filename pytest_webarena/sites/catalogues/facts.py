"""What a catalogue knows about the content of a site, which the doctor tests."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_webarena.actions import Action

__all__ = ["MARK", "SiteFact", "TrialWrite"]

MARK = "{mark}"
"""Placeholder for the text of a trial entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFact:
    """One page of a site in its initial state."""

    path: str
    """Path of the page on the host."""
    includes: str = ""
    """Visible text that the page must contain."""
    locate: str = ""
    """Playwright selector of an element that the page must have; with ``includes``, it must contain the text."""
    absent: bool = False
    """Whether the page must not exist."""

    def __str__(self) -> str:
        if self.absent:
            return f"{self.path} does not exist yet"
        shown = " with ".join(part for part in (self.locate, repr(self.includes) if self.includes else "") if part)
        return f"{self.path} shows {shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialWrite:
    """A form by which the doctor adds an entry to a site, to see it there and to see it removed by a reset."""

    path: str
    """Path of the page with the form."""
    steps: tuple[Action, ...]
    """Actions in the form; the last one leads to a page that shows the entry. Texts may use ``{mark}``."""
