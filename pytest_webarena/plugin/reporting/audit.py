"""Terminal summary of ``--audit``: numbers of tasks by finding, then the reasons and places of invalid tasks."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_webarena.results.audit import Audit, Finding, TaskAudit
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from pytest_webarena.plugin.controller import Controller

__all__ = ["audit_lines", "write_summary"]

_WIDTH = 80
_MOST_LINES = 3
"""Maximum of lines per reason; ``audit.json`` has the full text."""

_MEANING: dict[Finding, str] = {
    "valid": "solved by its solution, by nothing wrong; all checks proven",
    "unsolvable": "its solution fails, or it has none",
    "flaky": "its solution fails now and then",
    "too easy": "solved by an agent that does nothing",
    "weak check": "solved by a wrong solution, or judged by checks that always pass",
    "too strict": "not solved by another right way",
    "unproven": "a check never failed or never held, or a value is not read",
    "undecided": "may be possible: something in reach was not read",
    "error": "not judged: a trial ended in an error or was not run",
    "skipped": "not run, as the task says",
}


def write_summary(reporter: TerminalReporter, controller: Controller) -> None:
    """Write the findings, if anything was run."""
    audit, run = controller.audit, controller.run_dir
    if audit is None or run is None:
        return
    reporter.section("webarena audit")
    for line in audit_lines(audit, notes=reporter.verbosity > 0):
        reporter.write_line(printable(line))
    if controller.ruling is not None:
        reporter.write_line(printable(f"audit: {controller.ruling.message}"), red=controller.ruling.exit_code != 0)
    reporter.write_line(f"records: {os.path.relpath(run.path)} (all of it in audit.json)")


def audit_lines(audit: Audit, *, notes: bool = False) -> Iterator[str]:
    """Yield lines of at most 80 columns, except for long paths. ``notes`` adds remarks that are not faults."""
    for finding, count in audit.counts.items():
        if count:
            yield f"{finding:<10} {count:>5}  {_MEANING[finding]}"
    if audit.wrong:
        share = audit.caught / audit.wrong
        broken = sum(trial.broke_off for task in audit.tasks for trial in task.trials)
        stopped_early = f", {broken} stopped early" if broken else ""
        yield f"wrong agents were caught in {audit.caught} of {audit.wrong} trials ({share:.1%}){stopped_early}"
        yield from audit.values.lines()
    if unfinished := [task for task in audit.tasks if task.unfinished]:
        which = "1 task lacks" if len(unfinished) == 1 else f"{len(unfinished)} tasks lack"
        yield f"{which} trials that were not run, e.g. {unfinished[0].task}; see --resume"
    for task in audit.tasks:
        if task.unfinished:
            continue
        if task.finding not in ("valid", "skipped"):
            yield ""
            yield from _task(task)
        elif notes and task.notes:
            yield f"{task.finding}: {_where(task)}"
        if notes:
            for note in task.notes:
                yield from _indented(note)


def _task(task: TaskAudit) -> Iterator[str]:
    yield f"{task.finding}: {_where(task)}"
    described = set()
    for reason in task.reasons:
        if reason.finding in described:
            continue
        described.add(reason.finding)
        text = reason.text if reason.finding == task.finding else f"{reason.finding}: {reason.text}"
        more = sum(other.finding == reason.finding for other in task.reasons) - 1
        yield from _indented(text + (f" (and {more} more)" if more else ""))
        if reason.mend:
            yield from _indented(f"to do: {reason.mend}")
    if task.excused:
        yield from _indented(f"doesn't count, the task is marked xfail: {task.xfail}")


def _where(task: TaskAudit) -> str:
    place = f"{task.path}:{task.line}"
    return f"{task.task} ({place})" if len(task.task) + len(place) + 14 <= _WIDTH else f"{task.task}\n  {place}"


def _indented(text: str) -> list[str]:
    flat = " ".join(text.split())
    return textwrap.wrap(
        flat, _WIDTH, initial_indent="  ", subsequent_indent="  ", max_lines=_MOST_LINES, placeholder=" …"
    )
