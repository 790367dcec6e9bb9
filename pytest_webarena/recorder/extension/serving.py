"""Recording with the browser extension: its server, and the steps that the harness's own browser can't do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.actions import Action, as_record
from pytest_webarena.errors import UsageError, WebArenaError
from pytest_webarena.evidence import StepRecord
from pytest_webarena.recorder.annotating import write_annotation
from pytest_webarena.recorder.extension.packing import read_secret, write_config, write_extension
from pytest_webarena.recorder.extension.receiving import ExtensionRecording, Picture
from pytest_webarena.recorder.key_nodes import VisitedStep
from pytest_webarena.recorder.page.server import PageServer
from pytest_webarena.recorder.selector_proving import Chosen, relative
from pytest_webarena.recorder.steps import RecordedStep, steps_of
from pytest_webarena.recorder.task_building import RecordedSession, ReplayedSteps, relative_url

if TYPE_CHECKING:
    from pytest_webarena.recorder.page.panel import Panel
    from pytest_webarena.tasks import Task

__all__ = ["UNTRIED", "ExtensionOptions", "ExtensionServer", "annotate_recording", "open_server", "with_untried_steps"]

_LAST_EVENTS = 20.0
"""Seconds within which the extension has to confirm that it has sent everything."""
UNTRIED = "not done again, so nothing shows that this selector finds one element"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionOptions:
    """What the extension is written for."""

    folder: Path
    sites: Mapping[str, str]
    """Address of each site in tasks, by name."""
    start: str
    """Own address of the first page."""
    origins: Sequence[str]
    """Addresses and domains that the extension may read."""
    named: Callable[[str], str]
    """Puts the addresses in tasks in place of the sites' own ones."""


class ExtensionServer(PageServer):
    """Server of the page that the extension also sends to."""

    extension: ExtensionRecording
    folder: Path
    """Folder of the extension."""

    def session(self, answer: str) -> RecordedSession:
        """Return the recording as it is. `UsageError` if events are missing."""
        recording = self.extension
        if recording.is_connected and not recording.wait_until_complete(_LAST_EVENTS):
            raise UsageError(
                f"expected the extension to send its last events within {_LAST_EVENTS:g} s, found no answer; "
                "open its popup in the browser, then finish again"
            )
        if recording.signals_lost:
            raise UsageError(
                f"expected a complete recording, found that {recording.signals_lost} events were lost; restart"
            )
        signals = recording.signals()
        url = recording.address_after(float("inf"))
        steps = steps_of(signals, before=recording.signals_before)
        return RecordedSession(steps=steps, answer=answer, url=url, sites=recording.sites, changes=())


def open_server(panel: Panel, options: ExtensionOptions, *, port: int, pictures: bool) -> ExtensionServer:
    """Write the extension and return its server. An extension that is installed from the folder finds the new server:
    the secret stays the same, and the port too if it is free."""
    token, old_port = read_secret(options.folder)
    digest = write_extension(options.folder, options.origins)
    try:
        server = ExtensionServer(panel, port=port or old_port, live=False)
    except UsageError:
        if port:
            raise
        server = ExtensionServer(panel, live=False)
    server.extension = ExtensionRecording(options.sites, options.start, pictures=pictures, named=options.named)
    server.extension_token, server.folder = token, options.folder
    write_config(options.folder, server.extension_address, digest)
    return server


def with_untried_steps(
    replay: Callable[[], ReplayedSteps],
    steps: Sequence[RecordedStep],
    recording: ExtensionRecording,
    report: Callable[[str], None],
) -> ReplayedSteps:
    """Return the result of ``replay``, with the steps added that the harness's own browser did not do: it is not signed
    in as the person's is, and sites treat it differently."""
    sites = recording.sites
    try:
        replayed = replay()
    except WebArenaError as error:
        report(f"the steps were not done again: {error}")
        replayed = ReplayedSteps(chosen=(), passed=(), url="", sites=sites, changes=())
    done = len(replayed.chosen)
    if done and replayed.chosen[-1].problem.startswith("it had no effect"):
        done -= 1  # it has done the steps before it
    left = steps[done:]
    if not left:
        return replayed
    report(f"{len(left)} of {len(steps)} steps were not done again; they are kept as recorded")
    chosen = [Chosen(action=each.action, problem=each.problem or UNTRIED) for each in left]
    return replace(
        replayed,
        chosen=(*replayed.chosen[:done], *chosen),
        passed=(*replayed.passed[:done], *_visited(left, recording)),
        records=replayed.records[:done],
        url=relative_url(recording.address_after(float("inf")), sites),
        untried=len(left),
    )


def annotate_recording(
    folder: Path, task: Task, replayed: ReplayedSteps, steps: Sequence[RecordedStep], recording: ExtensionRecording
) -> None:
    """Write the annotation of the recorded steps, with the extension's screenshots."""
    targets = recording.targets()
    visited = _visited(steps, recording)
    records = [
        StepRecord(
            index=number, action=as_record(step.action), raw="", target=targets.get(step.time),
            url_before=where.before, url_after=where.after,
        )
        for number, (step, where) in enumerate(zip(steps, visited, strict=True))
    ]  # fmt: skip
    actions: list[Action] = [relative(each.action, recording.sites) for each in replayed.chosen]
    records = [*replayed.records, *records[len(replayed.records) :]]
    write_annotation(folder, task, actions, records, pictures_before(steps, recording.pictures()))


def pictures_before(steps: Sequence[RecordedStep], pictures: Sequence[Picture]) -> list[bytes]:
    """Return the screenshot of the page before each step: the first one after the previous step; empty if there is none
    until the step."""
    found, previous = [], 0.0
    for step in steps:
        between = [each.data for each in pictures if previous <= each.time <= step.time]
        found.append(between[0] if between else b"")
        previous = step.time
    return found


def _visited(steps: Sequence[RecordedStep], recording: ExtensionRecording) -> list[VisitedStep]:
    ends = [each.time for each in steps[1:]] + [float("inf")]
    return [
        VisitedStep(action=step.action, before=step.url, after=recording.address_after(end) or step.url)
        for step, end in zip(steps, ends, strict=True)
    ]
