"""The process the user started: owns the broker's launcher and closes the run."""

from __future__ import annotations

import datetime
import os
import platform
import re
import secrets
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena import auditing, rescoring, xdist
from pytest_webarena.checks.grading import find_grading
from pytest_webarena.errors import UsageError
from pytest_webarena.judging import judge_facts
from pytest_webarena.reporting import allure
from pytest_webarena.reporting.outcomes import is_trial, why_skipped
from pytest_webarena.reporting.progress import Progress, has_foot
from pytest_webarena.results import Attempt, RunDir, TrialKey, TrialRecord, summarise
from pytest_webarena.results.export import export
from pytest_webarena.results.rundir import read_steps
from pytest_webarena.selection import LeftOut, finished_trials
from pytest_webarena.stash import LEFT_OUT, SUITES
from pytest_webarena.suites.published import SUITES as PUBLISHED
from pytest_webarena.suites.published import data_facts, find_suite
from pytest_webarena.trials.run_info import RunInfo

if TYPE_CHECKING:
    from pytest_webarena.gate import Ruling
    from pytest_webarena.results.audit import Audit
    from pytest_webarena.settings import Settings
    from pytest_webarena.sites.launcher import BrokerLauncher
    from pytest_webarena.sites.report import BrokerReport

__all__ = ["Controller"]

_TASK_FILE = re.compile(rf"\.(?:ya?ml|json)::|^(?:{'|'.join(PUBLISHED)})::")
_RECORDED_PACKAGES = (
    "pytest-webarena",
    "pytest",
    "pytest-xdist",
    "playwright",
    "pytest-playwright",
    "allure-pytest",
    "docker",
    "openai",
)


class Controller:
    """Makes what all workers share, once and as late as possible, and takes it down at the end."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._launcher: BrokerLauncher | None = None
        self._info: RunInfo | None = None
        self.started = time.time()
        self.broker_report: BrokerReport | None = None
        self.ruling: Ruling | None = None
        self.progress: Progress | None = None
        self.audit: Audit | None = None
        self.skipped: Counter[str] = Counter()
        """Trials that were not run, by the reason."""
        self._other_failures = 0
        self._node_ids: set[str] = set()
        self._reported = self._interrupted = False
        self._left_out: LeftOut | None = None

    def run_info(self) -> RunInfo:
        """Where the broker listens and where records go. The broker itself starts when somebody connects."""
        if self._info is None and self._settings.rescore is not None:
            facts = {"started": time.time()}  # the run has a run.json, and keeps it
            self._info = RunInfo(run_dir=self._settings.rescore, broker="", temp_dir=Path(), facts=facts)
        if self._info is None:
            from pytest_webarena.sites.launcher import BrokerConfig, BrokerLauncher
            from pytest_webarena.sites.sizing import available_memory

            if self._settings.resume is not None:
                _check_resumable(RunDir(self._settings.resume), self._settings)
            run_dir = self._settings.run_dir or _default_run_dir(self._config.rootpath)
            self._launcher = BrokerLauncher(
                BrokerConfig(
                    catalogue=self._settings.catalogue,
                    site_urls=self._settings.site_urls,
                    run_dir=run_dir,
                    max_replicas=self._settings.replicas or 3 * _workers(self._config) + 2,
                    memory=None if self._settings.replicas else (available_memory() or 0) // 2 or None,
                )
            )
            self._info = RunInfo(
                run_dir=run_dir,
                broker=self._launcher.address,
                temp_dir=Path(self._launcher.address).parent / "temp",
                facts=self._facts(),
                finished=finished_trials(RunDir(run_dir)) if self._settings.resume is not None else (),
            )
        return self._info

    @property
    def run_dir(self) -> RunDir | None:
        """The run's records; None when no trial was begun."""
        if self._info is None or not (self._info.run_dir / "run.json").exists():
            return None
        return RunDir(self._info.run_dir)

    def expect(self, node_ids: Iterable[str]) -> None:
        """How many trials there will be; the status line is set up for more than a handful."""
        node_ids = list(node_ids)
        self._node_ids.update(node_ids)
        trials = sum(_TASK_FILE.search(node_id) is not None for node_id in node_ids)
        if self.progress is None and trials and not self._config.getoption("collectonly"):
            reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None and reporter.verbosity >= 0:
                writer = reporter._tw
                self.progress = Progress(
                    writer._file,
                    fancy=trials > 5 and has_foot(writer._file),
                    log=lambda text: _write_line(reporter, text),
                    markup=lambda text: str(writer.markup(text, invert=True)),
                )
        if self.progress is not None:
            self.progress.total = trials

    @property
    def left_out(self) -> LeftOut:
        """Which collected trials are not run, and why; with xdist known once a worker has ended."""
        return self._left_out or self._config.stash.get(LEFT_OUT, LeftOut())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended."""
        self._left_out = xdist.read_left_out(node) or self._left_out

    def pytest_keyboard_interrupt(self) -> None:
        """The user broke the run off: what was going on did not die by itself."""
        self._interrupted = True

    def pytest_runtest_logstart(self) -> None:
        """A test begins: from now on the status line tells how it goes."""
        if self.progress is not None:
            self.progress.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test is over: trials feed the status line, others decide whether a gate may overrule pytest."""
        if is_trial(report):
            if self.progress is not None:
                self.progress.count(report)
        elif report.failed:
            self._other_failures += 1
        elif why := why_skipped(report):
            self.skipped[why] += 1

    def exit_code(self, pytests_own: int) -> int:
        """The run's exit code: a gate, where one was asked for, overrules "some tests failed" if only trials failed."""
        run = self.run_dir
        if self._settings.audit:
            if run is not None:
                self.audit = auditing.conclude(self._config, run, self._node_ids)
                self.ruling = auditing.rule(self.audit)
        else:
            self.ruling = self._settings.gate.rule(summarise(run.records()) if run is not None else {})
        if pytests_own == pytest.ExitCode.NO_TESTS_COLLECTED and self._settings.resume is not None and run is not None:
            pytests_own = pytest.ExitCode.OK  # everything was finished already: that is what resuming is for
        if (
            self.ruling is None
            or self._other_failures
            or pytests_own not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        ):
            return int(pytests_own)
        return self.ruling.exit_code

    def close(self) -> None:
        """Stop the broker and give every trial that a dead worker left open a record of its own."""
        if self.progress is not None:
            self.progress.close()
        if self._launcher is not None:
            self.broker_report = self._launcher.stop()
            self._launcher = None
        if (run := self.run_dir) is not None and self._info is not None:
            lost = _close_unfinished(run, since=self._info.facts["started"], interrupted=self._interrupted)
            export(run)
            self._report(run, lost)
            if self._settings.run_dir is None:
                _point_latest(run.path)

    def _report(self, run: RunDir, lost: Sequence[TrialRecord]) -> None:
        """Tell Allure what no worker can: of the run as a whole, and of the trials that died with their worker."""
        allure.report_lost(self._config, run, [record for record in lost if record.worker != "main"])
        if not self._reported:
            self._reported = True
            if self._settings.rescore is not None:
                rescoring.note(run, self._settings, self._config.invocation_params.args)
            problems = self.broker_report.problems if self.broker_report is not None else ()
            allure.report_run(self._config, run, problems)

    def _facts(self) -> dict[str, Any]:
        """What ``run.json`` tells of this run. Secrets never come on the command line, so ``argv`` may be kept."""
        settings = self._settings
        return {
            "started": time.time(),
            "argv": list(self._config.invocation_params.args),
            "agents": list(settings.agents),
            "trials": settings.trials,
            "audit": settings.audit,
            "catalogue": settings.catalogue,
            "site_urls": dict(settings.site_urls),
            "allow_unreset": settings.allow_unreset,
            "suites": [data_facts(find_suite(name)) for name in self._config.stash[SUITES]],
            "limits": {"steps": settings.max_steps, "seconds": settings.time_limit, "stop_rule": settings.stop_rule},
            "overrides": _given(asdict(settings.overrides)),
            "models": _given(asdict(settings.models)),
            "grading": {"name": settings.grading.name, "without": list(settings.grading.left_out)},
            "answer_format": settings.answers,
            "judge": judge_facts(settings.judge),
            "env_retries": settings.env_retries,
            "workers": _workers(self._config),
            "versions": _versions(),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "git": _git_revision(self._config.rootpath),
        }


def _write_line(reporter: Any, text: str) -> None:
    """A line of its own; with xdist the reporter itself would put it behind the dots."""
    reporter.ensure_newline()
    if reporter._tw.width_of_current_line:
        reporter._tw.line()
    reporter.write_line(text)


def _check_resumable(run: RunDir, settings: Settings) -> None:
    """A mistyped path must not start a new run, nor may one run mix verdicts of several gradings."""
    grading = run.facts().get("grading")
    if grading is None:
        return
    before = find_grading(grading["name"], grading["without"])
    if before != settings.grading:
        raise UsageError(f"--resume: expected the run's own --grading, {before}, found {settings.grading}")
    if (asked := run.facts().get("answer_format", "auto")) != settings.answers:
        raise UsageError(f"--resume: expected the run's own --answer-format, {asked}, found {settings.answers}")


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """What of it was asked for, as plain data."""
    plain = {
        name: _given(value) if isinstance(value, dict) else str(value) if isinstance(value, Path) else value
        for name, value in settings.items()
    }
    return {name: value for name, value in plain.items() if value not in (None, (), {})}


def _default_run_dir(root: Path) -> Path:
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    return root / "webarena-runs" / f"{stamp}-{secrets.token_hex(3)}"


def _workers(config: pytest.Config) -> int:
    return len(config.getoption("tx", None) or ()) or 1


def _versions() -> dict[str, str]:
    found = {}
    for name in _RECORDED_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _git_revision(root: Path) -> str:
    """Commit of the tests' repository, ``+`` appended when it has uncommitted changes; empty outside git."""
    try:
        run = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"]
        return subprocess.run(run, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _close_unfinished(run: RunDir, since: float, *, interrupted: bool) -> list[TrialRecord]:
    """A worker that died left ``started.json`` only: say so in a record, or the trial would vanish from the counts.

    Returns the records it wrote.
    """
    written = []
    for started in run.unfinished():
        if "key" not in started or started.get("time", 0.0) < since:
            continue
        key = TrialKey(**started["key"])
        who = "the run was interrupted" if interrupted else f"the worker {started.get('worker') or 'process'} died"
        message = f"{who} during this trial (attempt {started['attempt']})"
        attempt = Attempt(number=started["attempt"], outcome="error", cause="harness", message=message)
        record = TrialRecord(
            key=key, outcome="error", cause="harness", message=message, attempt=attempt.number, attempts=(attempt,),
            node_id=started.get("node_id", ""), worker=started.get("worker", ""), started=started["time"],
            steps=len(read_steps(run.folder(key).path / f"attempt-{attempt.number}")),
        )  # fmt: skip
        record = replace(record, **_facts_of_task(started))
        run.folder(key).finish(record)
        written.append(record)
    return written


def _facts_of_task(started: dict[str, Any]) -> dict[str, Any]:
    """What the worker knew of the task when it began, so that groupings stay right."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in started.get("task", {}).items()}


def _point_latest(run: Path) -> None:
    """``webarena-runs/latest`` leads to the newest run; a convenience, so failing is fine."""
    link = run.parent / "latest"
    temporary = run.parent / f".latest.{os.getpid()}"
    try:
        temporary.symlink_to(run.name)
        temporary.replace(link)
    except OSError:
        temporary.unlink(missing_ok=True)
