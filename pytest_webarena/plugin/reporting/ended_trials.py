"""Trials without a plain result: unreadable, ended with their process, or ended by an error of an undecided owner."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_webarena.owners import UNATTRIBUTED
from pytest_webarena.plugin.reporting.summary_lines import Line, plural, row, shorter
from pytest_webarena.results import TrialRecord
from pytest_webarena.results.stored_records import Unreadable
from pytest_webarena.text import clip

__all__ = ["cut_off_lines", "unattributed_lines", "unreadable_lines"]

_NAMED = 8
"""Maximum number of trials that are named."""


def unattributed_lines(records: Sequence[TrialRecord], run: Path) -> Iterator[Line]:
    """Yield the trials that ``--resume`` keeps although an error ended them, and the commands that repeat them."""
    found = [record for record in records if record.stop_reason == UNATTRIBUTED]
    if not found:
        return
    yield Line(
        f"undecided owner: {plural(len(found), 'trial')} ended by an error, which --resume does not repeat:", "yellow"
    )
    for record in found[:_NAMED]:
        yield Line(f"  {record.key.folder}  {clip(record.message.partition(chr(10))[0], 160)}", "yellow")
    if len(found) > _NAMED:
        yield Line(f"  and {len(found) - _NAMED} more: webarena runs explain {shlex.quote(shorter(run))}", "yellow")
        return
    place = shlex.quote(shorter(run))
    names = [record.key.folder for record in found]
    removed = " ".join(f"{place}/trials/{name}" for name in names)
    accepted = " ".join(f"--accept {name}" for name in names)
    yield Line(f"  to repeat them: mkdir -p set-aside && mv {removed} set-aside/", "yellow")
    yield Line(f'    webarena runs verify {place} {accepted} --because "WHY" && pytest --resume={place}', "yellow")


def unreadable_lines(unreadable: Sequence[Unreadable]) -> Iterator[Line]:
    """Yield the trials without a readable record, which no figure includes, each with its file on one unbroken line."""
    if unreadable:
        yield Line(f"unreadable     {plural(len(unreadable), 'trial')}, in none of the figures:", "red")
        yield from (Line(f"  {each}", "red") for each in unreadable)


def cut_off_lines(attempts: int) -> Iterator[Line]:
    """Yield the number of crashes that the figures don't show, because the trials were retried."""
    if attempts:
        ended = f"{plural(attempts, 'attempt')} ended with {'its' if attempts == 1 else 'their'} process"
        yield from row("cut off", [ended, "tried again"], indent=0, mark="yellow")
