"""The controller, in the process that the user started: counts workers' reports and closes the run."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from pytest_webarena.errors import RecordingError
from pytest_webarena.plugin import auditing, planning, rescoring, resuming, xdist
from pytest_webarena.plugin.prefetch_choice import serial_lines
from pytest_webarena.plugin.reporting import allure
from pytest_webarena.plugin.reporting.github import TaskPlace, place_of
from pytest_webarena.plugin.reporting.outcomes import (
    is_trial,
    skip_reason,
    stopped_undecided,
    why_decided,
    why_skipped,
    why_stopped,
)
from pytest_webarena.plugin.reporting.progress import Progress, has_foot
from pytest_webarena.plugin.requested_nodes import unrequested_tasks
from pytest_webarena.plugin.selection import LeftOut
from pytest_webarena.plugin.stash import COLLECTED, DESELECTED, LEFT_OUT, PLAN
from pytest_webarena.plugin.task_files import names_task
from pytest_webarena.results import Attempt, RunDir, TrialKey, TrialRecord, summarise
from pytest_webarena.results.attempts import read_steps
from pytest_webarena.results.comparing.run_comparisons import between_agents, with_baseline
from pytest_webarena.results.conditions import summaries_of
from pytest_webarena.results.export import export
from pytest_webarena.results.gate import STOPPED_EARLY, TOO_MANY_ERRORS
from pytest_webarena.results.lost_trials import lost_record
from pytest_webarena.results.plan import Coverage, PlannedTrial, cover, extend_plan, read_plan
from pytest_webarena.results.records import browser_text
from pytest_webarena.results.run_identity import claim, point_latest
from pytest_webarena.results.unreadable import why_no_rate
from pytest_webarena.sites.protocol.waits import directory_of, read_waits
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from pytest_webarena.plugin.run_start import RunStart
    from pytest_webarena.plugin.settings import Settings
    from pytest_webarena.results import Summary
    from pytest_webarena.results.audit import Audit
    from pytest_webarena.results.comparing.comparison import Comparison
    from pytest_webarena.results.gate import Ruling
    from pytest_webarena.results.stored_records import Stored, Unreadable
    from pytest_webarena.sites.protocol.report import BrokerReport
    from pytest_webarena.sites.protocol.waits import Waiting

__all__ = ["Controller"]


class Controller:
    """Observes the whole run, and closes at its end what all workers share."""

    def __init__(self, config: pytest.Config, settings: Settings, start: RunStart, held: int | None = None) -> None:
        """Create the controller. ``held`` locks the run's folder until the run is closed (`results.rundir.claim`)."""
        self._held = held
        self.problem = ""
        """Why some of the run's records are missing, as a sentence; empty when all could be written."""
        self._config = config
        self._settings = settings
        self._start = start
        self.started = time.time()
        self.broker_report: BrokerReport | None = None
        self.ruling: Ruling | None = None
        self.exit_status = 0
        """The exit code of the session, once it has finished."""
        self.progress: Progress | None = None
        self.audit: Audit | None = None
        self.comparisons: list[Comparison] = []
        self._refused: list[str] = []
        """Why some of the run's agents can't be compared with those of ``--baseline``."""
        self.records: tuple[TrialRecord, ...] = ()
        """Records of all trials, read when the run is closed."""
        self.unreadable: tuple[Unreadable, ...] = ()
        """Trials of the run whose record can't be read."""
        self.skipped: Counter[str] = Counter()
        """Number of trials that were skipped, by the reason."""
        self.stopped: Counter[str] = Counter()
        """Number of trials that were not run because of repeated errors or a missing prerequisite, by the reason."""
        self.decided: Counter[str] = Counter()
        """Number of trials that were no longer needed (``--stop-when-settled``), by the reason."""
        self._decided: dict[str, str] = {}
        """Reasons of the trials in ``decided``, by node id."""
        self._stops: dict[str, tuple[str, bool]] = {}
        """By node id: why the trial was not run, and whether it is undecided."""
        """Reasons of the trials in ``stopped``, by node id."""
        self.refusal = ""
        """Why workers refuse to run anything."""
        self.coverages: dict[str, Coverage] = {}
        """Coverage of each agent's planned trials in each browser, once the run is closed."""
        self._planned: tuple[TrialKey, ...] = ()
        """All trials of the run's plan, once the run is closed."""
        self._plan: tuple[PlannedTrial, ...] = ()
        """The plan that workers sent."""
        self._skips: dict[str, str] = {}
        """Reasons of skipped items, by node id."""
        self._uncollected = 0
        self._other_failures = 0
        self._node_ids: set[str] = set()
        self._reported: set[str] = set()
        """Folders of the trials that this invocation has run."""
        self.places: dict[str, TaskPlace] = {}
        """Places of the tasks in their files, by trial folders."""
        self._closed = self._interrupted = False
        self._stopped = False
        """Whether an option ended the run early (``--maxfail``, ``--stepwise``), and not the user."""
        self._left_out: LeftOut | None = None
        self._serial_reported = False

    @property
    def run_dir(self) -> RunDir | None:
        """The run's records; None when no trial was started."""
        chosen = self._start.chosen
        return RunDir(chosen.run_dir) if chosen is not None and (chosen.run_dir / "run.json").exists() else None

    def expect(self, node_ids: Iterable[str]) -> None:
        """Set the number of expected trials; start the status line if there are more than a few."""
        node_ids = list(node_ids)
        if self._settings.resume is not None and any(map(names_task, node_ids)) and not self._node_ids:
            run = RunDir(self._settings.resume)
            failed = self._uncollected + self._other_failures
            self._config.stash.setdefault(COLLECTED, {"tasks": "", "errors": failed})  # only workers collect with -n
            with self._recording_errors(run):
                resuming.note(self._config, run, self._start.info().facts)
        self._node_ids.update(node_ids)
        trials = sum(names_task(node_id) for node_id in node_ids)
        if self.progress is None and trials and not self._config.getoption("collectonly"):
            reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None and reporter.verbosity >= 0:
                writer = reporter._tw
                stream = _uncaptured(writer._file)
                self.progress = Progress(
                    stream,
                    fancy=trials > 5 and has_foot(writer._file),
                    log=lambda text: _write_line(reporter, stream, text),
                    markup=lambda text: str(writer.markup(text, invert=True)),
                    waits=self._waits,
                )
        if self.progress is not None:
            self.progress.total = trials

    def _waits(self) -> Sequence[Waiting]:
        """What the run's processes are waiting for."""
        chosen = self._start.chosen
        return read_waits(directory_of(chosen.broker)) if chosen is not None and chosen.broker else ()

    @property
    def left_out(self) -> LeftOut:
        """Collected trials that are not run, with reasons; with xdist available once a worker has ended."""
        return self._left_out or self._config.stash.get(LEFT_OUT, LeftOut())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read the results of a worker that has ended."""
        self._left_out = xdist.read_left_out(node) or self._left_out
        self._plan = xdist.read_plan(node) or self._plan
        xdist.read_deselected(node)
        if not self._serial_reported and (reasons := xdist.read_serial(node)):
            self._serial_reported = True
            reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None:
                reporter.ensure_newline()
                for line in serial_lines(reasons):
                    reporter.write_line(printable(line))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Record that the user or an option interrupted the run, so that unfinished trials have not crashed."""
        self._interrupted = True
        kind = type(excinfo.value)  # pytest and xdist raise their own subclasses for `--maxfail`
        self._stopped = issubclass(kind, KeyboardInterrupt) and kind is not KeyboardInterrupt

    def record_cancellation(self) -> None:
        """Record that running trials are ended with the run, and have no record of their own."""
        self._interrupted = True

    def pytest_runtest_logstart(self) -> None:
        """Start the status line when a test starts."""
        if self.progress is not None:
            self.progress.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a finished test.

        Trials update the status line; failures of other tests prevent a gate from overruling pytest.
        """
        if is_trial(report):
            folders = [str(value) for name, value in report.user_properties if name == "record"]
            self._reported.update(folders)
            if report.when == "call":
                self.places.update(dict.fromkeys(folders, place_of(report)))
            if self._held is None and self._settings.run_dir is None and (run := self.run_dir) is not None:
                with suppress(BlockingIOError):  # its name was generated, so no other run can have meant it
                    self._held = claim(run.path)
            if self.progress is not None:
                self.progress.count(report)
        elif report.failed:
            self._other_failures += not names_task(report.nodeid)  # the gate reports trials without a record
        elif why := why_stopped(report):
            self._stops[report.nodeid] = why, stopped_undecided(report)
            self.stopped[why] += 1
            if self.progress is not None:
                self.progress.leave_out()
        elif why := why_decided(report):
            self._decided[report.nodeid] = why
            self.decided[why] += 1
            if self.progress is not None:
                self.progress.leave_out()
        elif report.skipped:
            self._skips[report.nodeid] = skip_reason(report)
            if why := why_skipped(report):
                self.skipped[why] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a collection error; how many trials a task file would have planned is unknown."""
        if report.failed:
            is_task_file = report.nodeid.endswith((".yaml", ".yml", ".json")) or names_task(f"{report.nodeid}::")
            self._uncollected += is_task_file
            self._other_failures += not is_task_file

    def exit_code(self, pytests_own: int) -> int:
        """Return the run's exit code. A gate overrules "some tests failed" if only trials failed."""
        if self.refusal:
            return int(pytest.ExitCode.USAGE_ERROR)
        run = self.run_dir
        if self._settings.audit:
            if run is not None:
                self.audit = auditing.conclude(self._config, run, self.records, self._node_ids)
                self.ruling = auditing.rule(self.audit)
        else:
            against = self._compare_with_baseline()
            deselected = self._config.stash.get(DESELECTED, set()) | unrequested_tasks(
                self._config, (task for each in self.comparisons for task in each.first.tasks.values())
            )
            self.ruling = self._settings.gate.rule(
                self.summaries(),
                self.coverages,
                uncollected=self._uncollected,
                against=against,
                refused=self._refused,
                deselected=deselected,
            )
        if run is not None and self._start.chosen is not None:
            with self._recording_errors(run):
                self._report_run_to_allure(run)
        if pytests_own == pytest.ExitCode.NO_TESTS_COLLECTED and self._settings.resume is not None and run is not None:
            pytests_own = pytest.ExitCode.OK  # everything had finished already, which is a success of --resume
        if pytests_own == pytest.ExitCode.OK and self.failed_before:
            pytests_own = pytest.ExitCode.TESTS_FAILED  # as in a single run
        if pytests_own == pytest.ExitCode.INTERRUPTED and self._stopped and self.ruling is not None:
            pytests_own = pytest.ExitCode.TESTS_FAILED  # as without xdist, where it is not an interruption
        if (self.problem or self.unreadable) and pytests_own in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return self._unreliable_exit_code()
        if self.stopped and pytests_own in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return STOPPED_EARLY  # whatever the gate says, --resume has trials to run
        if (
            self.ruling is None
            or self._other_failures
            or pytests_own not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        ):
            return int(pytests_own)
        return self.ruling.exit_code

    @property
    def until(self) -> float | None:
        """The difference at which ``--stop-when-settled`` decides; None without the option."""
        return self._settings.until

    def between_agents(self) -> list[Comparison]:
        """Return comparisons of the run's first agent with each other one, without agents that saw the solutions."""
        run = self.run_dir
        if run is None or self._settings.audit or len(self.summaries()) < 2:
            return []
        return between_agents(run, self.records)

    def _compare_with_baseline(self) -> list[Comparison] | str:
        """Comparisons of the run's agents with ``--baseline``, or why they can't be compared."""
        if self._settings.gate.baseline is None or self.run_dir is None or not self.records:
            return []
        found = with_baseline(self.run_dir, self.records, self._settings.gate, refused=self._refused)
        self.comparisons = [] if isinstance(found, str) else found
        return found

    @property
    def failed_before(self) -> int:
        """Number of unsuccessful trials of earlier invocations that this one, resuming the run, has not run again."""
        if self._settings.resume is None or self._settings.audit:
            return 0
        return sum(
            record.outcome != "passed"
            and not record.passed_later
            and record.key.folder not in self._reported
            and record.node_id not in self.left_out.may_fail
            for record in self.records
        )

    def _unreliable_exit_code(self) -> int:
        """The exit code when records are missing: thresholds fail, and without any the run has failed."""
        if self.ruling is None:
            return int(pytest.ExitCode.TESTS_FAILED)
        message = "records could not be written, so no rate can be trusted"
        if self.unreadable:
            message = why_no_rate(len(self.unreadable))
        self.ruling = replace(self.ruling, exit_code=TOO_MANY_ERRORS, message=message)
        return self.ruling.exit_code

    def close(self) -> None:
        """Stop the broker, and write records for the trials of workers that died. Does nothing when called again."""
        if self._closed:
            return
        self._closed = True
        if self.progress is not None:
            self.progress.close()
        try:
            self.broker_report = self._start.stop()
            self._close_run()
        finally:
            if self._held is not None:
                os.close(self._held)

    def _close_run(self) -> None:
        chosen = self._start.chosen
        if (run := self.run_dir) is None or chosen is None:
            folder = self._settings.run_dir  # it was created when the run started
            if folder is not None and not folder.exists() and not self._config.getoption("collectonly"):
                self.problem = f"expected the run's records in {folder}, found the directory gone"
            elif self._is_empty_part():
                planning.record_empty_part(self._config, self._start.info())
            self._cover(None, ())
            return
        lost: list[TrialRecord] = []
        stored: Stored | None = None
        with self._recording_errors(run):
            lost = _close_unfinished(run, since=chosen.facts["started"], interrupted=self._interrupted)
        with self._recording_errors(run):
            run.settle()
            stored = run.read()
            self.records, self.unreadable = stored.records, stored.unreadable
            self._cover(run, lost)
        with self._recording_errors(run):
            export(run, stored)
        with self._recording_errors(run):
            self._report(run, [*lost, *self._ended(lost, since=chosen.facts["started"])])
        if self._settings.run_dir is None:
            point_latest(run.path)

    def _is_empty_part(self) -> bool:
        """Whether the run is a part (``--shard``) that has no tasks, with all tasks collected."""
        others = self._settings.shard is not None and self.left_out.other_shards
        return bool(others) and not (self._node_ids or self._uncollected or self._other_failures)

    def _ended(self, lost: Sequence[TrialRecord], *, since: float) -> Iterator[TrialRecord]:
        """Records of trials whose process was ended by its watchdog.

        The watchdog wrote them, so no worker has reported them.
        """
        known = {record.key for record in lost}
        for record in self.records:
            if record.started >= since and record.key not in known and record.key.folder not in self._reported:
                yield record

    @contextmanager
    def _recording_errors(self, run: RunDir) -> Iterator[None]:
        """Record an error of writing at the end of the run as ``problem``, instead of raising it."""
        try:
            yield
        except RecordingError as error:
            self.problem = self.problem or str(error)
        except OSError as error:
            self.problem = self.problem or f"expected to close the run in {run.path}, found: {error}"

    def summaries(self) -> dict[str, Summary]:
        """Return the summaries of all agents with records, by the same names as `coverages`."""
        if self.run_dir is None:
            return summarise(self.records, named_with=self._planned)
        return summaries_of(self.run_dir, self.records, named_with=self._planned)

    def _cover(self, run: RunDir | None, lost: Sequence[TrialRecord]) -> None:
        """Compute the coverage of the plan by records, and store in the plan why trials were skipped."""
        plan = read_plan(run.path) if run is not None else {}
        if self._settings.rescore is None:
            own_plan = self._config.stash.get(PLAN, self._plan)
            plan |= {trial.key: trial for trial in own_plan if trial.key not in plan}
            taken = {trial.key for trial in own_plan}
            stops = {trial: self._stops.get(trial.node_id, (trial.stopped, trial.undecided)) for trial in plan.values()}
            updated = [
                replace(
                    trial,
                    skipped=self._skips.get(trial.node_id, trial.skipped),
                    stopped=stops[trial][0],
                    undecided=stops[trial][1],
                    decided=self._decided.get(trial.node_id, "" if trial.key in taken else trial.decided),
                )
                for trial in plan.values()
            ]
            plan = {trial.key: trial for trial in updated}
        self._planned = tuple(plan)
        self.coverages = cover(
            plan,
            self.records,
            begun=run.begun() if run is not None else (),
            lost=[record.key for record in lost if record.outcome == "error"],
            allowed=self._settings.gate.allow_skipped,
        )
        if run is not None and self._settings.rescore is None:
            extend_plan(run.path, plan.values())

    def _report(self, run: RunDir, lost: Sequence[TrialRecord]) -> None:
        """Write to Allure what no worker can: the trials that died with their worker."""
        allure.report_lost(self._config, run, [record for record in lost if record.worker != "main"])
        if self._settings.rescore is not None:
            rescoring.note(run, self._settings, self._config.invocation_params.args)

    def _report_run_to_allure(self, run: RunDir) -> None:
        """Write Allure's files about the whole run, which include the comparisons and so are written after them."""
        problems = self.broker_report.problems if self.broker_report is not None else ()
        allure.report_run(
            self._config,
            run,
            self.records,
            problems=(*problems, *map(str, self.unreadable)),
            comparisons=(*self.between_agents(), *self.comparisons),
        )


def _uncaptured(file: TextIO) -> TextIO:
    """The stream behind ``file`` between tests; during a test in this process, pytest captures what is written."""
    try:
        return open(os.dup(file.fileno()), "w", encoding=file.encoding, errors="replace")
    except (OSError, ValueError):  # not a file of the operating system
        return file


def _write_line(reporter: Any, stream: TextIO, text: str) -> None:
    """Write a separate line, whatever pytest has written on the current one."""
    writer, text = reporter._tw, printable(text)
    stream.write(f"\n{text}\n" if writer.width_of_current_line else f"{text}\n")
    stream.flush()
    writer._current_line, reporter.currentfspath = "", None


def _close_unfinished(run: RunDir, since: float, *, interrupted: bool) -> list[TrialRecord]:
    """Write a record for each trial of a worker that died; return the records.

    Without one the trial would be missing from the counts.
    """
    written = []
    for started in run.unfinished():
        if "key" not in started or started.get("time", 0.0) < since:
            continue
        key = TrialKey.from_json(started["key"], browser=browser_text(started))
        if not interrupted and (lost := lost_record(run.folder(key).path, started["attempt"])) is not None:
            written.append(run.folder(key).finish(lost, since=since))
            continue
        cause = "the run was interrupted" if interrupted else f"the worker {started.get('worker') or 'process'} died"
        message = f"{cause} during this trial (attempt {started['attempt']})"
        attempt = Attempt(number=started["attempt"], outcome="error", cause="harness", message=message)
        record = TrialRecord(
            key=key, outcome="error", cause="harness", message=message, attempt=attempt.number, attempts=(attempt,),
            node_id=started.get("node_id", ""), worker=started.get("worker", ""), started=started["time"],
            steps=len(read_steps(run.folder(key).path / f"attempt-{attempt.number}")),
        )  # fmt: skip
        record = replace(record, **_facts_of_task(started))
        written.append(run.folder(key).finish(record, since=since))
    return written


def _facts_of_task(started: dict[str, Any]) -> dict[str, Any]:
    """The worker's facts of the task at its start, so that groups remain right."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in started.get("task", {}).items()}
