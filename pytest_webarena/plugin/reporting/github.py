"""Reports for GitHub Actions: tables on the job's page, and annotations at the lines of tasks that did not pass."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import pytest

from pytest_webarena.plugin.reporting.summary_lines import plural
from pytest_webarena.results.markdown import RATE_HEAD, gate_line, rate_rows, safe, table_row
from pytest_webarena.results.trial_outcome import Kind, reported_outcome
from pytest_webarena.text import clip
from pytest_webarena.workflow_commands import Level, annotation

if TYPE_CHECKING:
    from pytest_webarena.plugin.controller import Controller
    from pytest_webarena.results import Summary, TrialRecord
    from pytest_webarena.results.comparing.comparison import Comparison
    from pytest_webarena.results.gate import Ruling
    from pytest_webarena.results.plan import Coverage

__all__ = ["TaskPlace", "is_github", "notes", "place_of", "summary", "write_summary"]

_NOTES = 10
"""Maximum of annotations per step and level that GitHub shows."""
_ROWS = 100
"""Maximum of rows for trials that did not pass, because a step's summary is limited to 1 MiB."""


class TaskPlace(NamedTuple):
    """Place of a trial's task in its file, with the first line of its failure."""

    file: str
    """Path of the file, relative to pytest's root directory."""
    line: int
    """Line in the file, from 1."""
    failure: str


def is_github(environment: Mapping[str, str]) -> bool:
    """Return whether the run is a step of GitHub Actions."""
    return environment.get("GITHUB_ACTIONS") == "true"


def place_of(report: pytest.TestReport) -> TaskPlace:
    """Return the place in the report of a trial."""
    file, line, _ = report.location
    crash = getattr(report.longrepr, "reprcrash", None)
    return TaskPlace(file, (line or 0) + 1, str(crash.message) if crash is not None else "")


def notes(
    records: Iterable[TrialRecord],
    places: Mapping[str, TaskPlace],
    *,
    folder: str,
    gated: bool,
    ruling: Ruling | None = None,
) -> Iterator[str]:
    """Yield workflow commands: an annotation for each trial of this run that did not pass, and one for a failed gate.

    ``places`` are keyed by the trial's folder in the records, and ``folder`` is pytest's root in the repository. Where
    a threshold decides (``gated``), a failed trial is not an error of the step.
    """
    if ruling is not None and ruling.exit_code:
        yield annotation("error", ruling.message, title="pytest-webarena: gate")
    found = [record for record in records if record.outcome != "passed" and record.key.folder in places]
    for record in found[:_NOTES]:
        place = places[record.key.folder]
        title = f"{record.key.agent}: {record.key.task} {reported_outcome(record).words}"
        level: Level = "warning" if gated or record.outcome == "error" else "error"
        file = (Path(folder) / place.file).as_posix()
        yield annotation(
            level, clip(place.failure or record.message, 500), title=clip(title, 100), file=file, line=place.line
        )
    if len(found) > _NOTES:
        more = f"{len(found) - _NOTES} more trials did not pass; the summary of the job lists them"
        yield annotation("warning", more, title="pytest-webarena")


def summary(
    summaries: Mapping[str, Summary],
    records: Sequence[TrialRecord],
    places: Mapping[str, TaskPlace],
    *,
    coverages: Mapping[str, Coverage],
    ruling: Ruling | None,
    repository: str,
    folder: str,
    comparisons: Sequence[Comparison] = (),
) -> str:
    """Return Markdown: a row for each agent, the gate's result, and the trials that did not pass.

    ``repository`` is the address of its files at the commit; empty: tasks are not links.
    """
    lines = ["### Web tasks", "", *RATE_HEAD, *rate_rows(summaries, coverages)]
    if ruling is not None:
        lines += ["", gate_line(ruling)]
    found = [record for record in records if record.outcome != "passed"]
    if found:
        found.sort(key=lambda record: get_args(Kind).index(reported_outcome(record).kind))
        lines += ["", f"<details open><summary>{plural(len(found), 'trial')} did not pass</summary>", ""]
        lines += ["| task | agent | | why |", "|---|---|---|---|"]
        lines += [
            table_row(_failure(record, places.get(record.key.folder), repository, folder)) for record in found[:_ROWS]
        ]
        if len(found) > _ROWS:
            lines += ["", f"and {len(found) - _ROWS} more: the run directory has them all"]
        lines += ["", "</details>"]
    if comparisons:
        from pytest_webarena.results.comparing.wording import in_markdown

        lines += ["", *in_markdown(comparisons)]
    return "\n".join([*lines, ""])


def write_summary(reporter: pytest.TerminalReporter, controller: Controller, environment: Mapping[str, str]) -> None:
    """Write annotations and the job's summary; a summary that can't be written is reported in one line."""
    if not (controller.records or controller.coverages):
        return
    root = reporter.config.rootpath
    workspace = Path(environment.get("GITHUB_WORKSPACE") or root)
    folder = os.path.relpath(root, workspace) if root.is_relative_to(workspace) else ""
    for line in notes(
        controller.records,
        controller.places,
        folder=folder,
        gated=controller.ruling is not None,
        ruling=controller.ruling,
    ):
        reporter.ensure_newline()
        reporter.write_line(line)
    if not (path := environment.get("GITHUB_STEP_SUMMARY")):
        return
    text = summary(
        controller.summaries(),
        controller.records,
        controller.places,
        coverages=controller.coverages,
        ruling=controller.ruling,
        repository=_repository(environment),
        folder=folder,
        comparisons=(*controller.between_agents(), *controller.comparisons),
    )
    try:
        with Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        reporter.write_line(f"webarena: the job's summary could not be written to {path}: {error.strerror}", red=True)


def _failure(record: TrialRecord, place: TaskPlace | None, repository: str, folder: str) -> Iterator[str]:
    task = safe(record.key.task)
    if place is not None and repository:
        file = (Path(folder) / place.file).as_posix()
        task = f'<a href="{html.escape(repository)}/{html.escape(file)}#L{place.line}">{task}</a>'
    yield task
    tried = f" (trial {record.key.trial})" if record.key.trial > 1 else ""
    yield safe(record.key.agent) + tried
    yield reported_outcome(record).words
    yield safe((place.failure if place is not None else "") or record.message)


def _repository(environment: Mapping[str, str]) -> str:
    server, name, commit = (environment.get(f"GITHUB_{part}", "") for part in ("SERVER_URL", "REPOSITORY", "SHA"))
    return f"{server}/{name}/blob/{commit}" if server and name and commit else ""
