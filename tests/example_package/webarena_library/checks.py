"""A kind of check: a book was borrowed, and by whom."""

from __future__ import annotations

from pytest_webarena.checks import Judgement, Kind, Live, View
from pytest_webarena.extending import Text

__all__ = ["BORROWED"]


def collect(title: str, live: Live) -> str:
    """What the library says of its loans, whatever its pages show."""
    _, body = live.fetch("library", "/loans")
    return body


def judge(title: str, view: View) -> Judgement:
    """Pure: only what was collected counts."""
    expected = f"{title!r} is borrowed"
    if view.probe is None or not isinstance(view.probe.value, str):
        return Judgement.unknown(expected=expected, why="the library's loans were not collected")
    loans = view.probe.value.splitlines()
    return Judgement.of(title in loans, expected=expected, actual=", ".join(loans) or "no loans")


BORROWED: Kind[str] = Kind(
    name="borrowed",
    doc="A book of the library, by its title, is borrowed.",
    form=Text("a title"),
    judge=judge,
    collect=collect,
    looks_at=lambda title: {"data"},
    examples=("- borrowed: Dune",),
)
