"""A trial's attempts and outcomes, in an environment without browser or sites."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from pytest_webarena.actions import Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.observation import Observation
from pytest_webarena.browser.signal_log import SignalLog
from pytest_webarena.errors import BrowserError, BrowserLost, RecordingError, TaskError
from pytest_webarena.evidence import RequestRecord, TabState
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.testing import ScriptedAgent, make_task
from pytest_webarena.trials.cancellation import Cancellation, Cancelled
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from pytest_webarena.trials.trial_environment import TrialEnvironment
from tests.processes import wait_until

TASK = make_task("intent: How many?\nsites: []\nstart: about:blank\nchecks: [{answer: {number: 42}}]", id="t")


class FakeSession:
    browser_version = "fake 1"
    signals = SignalLog()
    environment: ClassVar[dict[str, Any]] = {"os": "fake"}
    records_screenshots = True

    def open_tabs(self, urls: Any) -> None: ...

    def observe(self) -> Any:
        return Observation(text="a page", url="about:blank", title="", tabs=())

    def note_error(self, text: str) -> None: ...

    def tabs(self) -> tuple[TabState, ...]:
        return (TabState(url="about:blank", title="", html="<p>", active=True),)

    def screenshot(self) -> bytes:
        return b"\xff\xd8"

    def storage_state(self) -> dict[str, Any]:
        return {}

    @contextmanager
    def own_pages(self) -> Iterator[None]:
        yield

    seconds_since_action = seconds_since_first_action = 0.0
    addresses: tuple[str, ...] = ()

    def wait_for_idle(self, seconds: float, *, quiet: float = 0.0) -> bool:
        return False

    def wait_for_writes(self, seconds: float) -> bool:
        return False

    def wait_for_reads(self, seconds: float) -> tuple[bool, tuple[str, ...]]:
        return False, ()


class FakeResources:
    """Resources whose browser raises the given errors first."""

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.sessions = 0

    def engine(self) -> Any:
        return SimpleNamespace(version="fake 1", session=self.session)

    @contextmanager
    def session(self, config: Any) -> Iterator[FakeSession]:
        self.sessions += 1
        if self.faults:
            raise self.faults.pop(0)
        yield FakeSession()

    def session_config(self, lease: Any, state: Any) -> Any:
        return None

    def lease(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the task needs no site")

    login_state = lease
    keeper = lease


def as_json(record: TrialRecord) -> Any:
    return json.loads(json.dumps(record.to_json()))


def run(
    tmp_path: Path,
    resources: FakeResources,
    make: Callable[[], Any] = lambda: ScriptedAgent(Stop("42")),
    retries: int = 1,
    raises: tuple[Any, ...] = (),
) -> TrialRecord:
    agent = AgentDefinition(id="a", make=lambda assignment: make(), digest="d", raises=raises)
    plan = TrialPlan(
        task=TASK, agent=agent, trial=1, limits=EpisodeLimits(seconds=5), options=TrialOptions(env_retries=retries)
    )
    run_dir = RunDir(tmp_path)
    record = run_trial(plan, resources, run_dir.folder(TrialKey("t", "a", 1)))
    (kept,) = run_dir.records()
    assert as_json(kept) == as_json(record)  # the returned record equals the stored one
    return record


def test_right_answer_passes(tmp_path: Path) -> None:
    record = run(tmp_path, FakeResources())
    assert (record.outcome, record.score, record.answer, record.steps) == ("passed", 1.0, "42", 1)
    assert record.browser == "fake 1"
    assert {"lease", "session", "episode", "collect", "judge", "total"} <= set(record.seconds)


@pytest.mark.parametrize("broken", [False, True])
def test_session_signals_are_kept_even_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    def tabs(session: FakeSession) -> tuple[TabState, ...]:
        log.of_tab().record_address("http://a.test/late")
        if broken:
            raise BrowserError("it crashed")
        return ()

    log = SignalLog()
    log.of_tab().record_address("http://a.test/")
    monkeypatch.setattr(FakeSession, "signals", log)
    monkeypatch.setattr(FakeSession, "tabs", tabs)
    record = run(tmp_path, FakeResources(), retries=0)
    attempt = RunDir(tmp_path).folder(record.key).path / "attempt-1"
    lines = (attempt / "browser_events.jsonl").read_text().splitlines()
    urls = [json.loads(line)["url"] for line in lines]
    assert urls == (["http://a.test/"] if broken else ["http://a.test/", "http://a.test/late"])
    assert broken or read_evidence(attempt).signals == log.since()


def test_evidence_joins_refused_connections_with_browser_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SignalLog()
    tunnel = RequestRecord(time=log.now(), method="CONNECT", url="evil.test:443", status=403, refused="no")
    post = RequestRecord(time=log.now(), method="POST", url="https://evil.test/a", status=None)
    log.add_refused(post)
    monkeypatch.setattr(FakeSession, "signals", log)
    monkeypatch.setattr(TrialEnvironment, "requests", lambda environment: (tunnel,))
    record = run(tmp_path, FakeResources())
    evidence = read_evidence(RunDir(tmp_path).folder(record.key).path / "attempt-1")
    assert [(each.method, each.refused) for each in evidence.requests] == [("POST", "no")]


def test_last_screenshot_is_taken_only_where_screenshots_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for recorded in (True, False):
        monkeypatch.setattr(FakeSession, "records_screenshots", recorded)
        run(tmp_path / str(recorded), FakeResources())
    assert [each.relative_to(tmp_path).parts[0] for each in tmp_path.rglob("final.*")] == ["True"]


def test_wrong_answer_fails_with_the_verdict(tmp_path: Path) -> None:
    record = run(tmp_path, FakeResources(), lambda: ScriptedAgent(Stop("43")))
    assert (record.outcome, record.score, record.cause) == ("failed", 0.0, None)
    assert "expected" in record.message


def test_environment_error_is_retried_and_both_attempts_recorded(tmp_path: Path) -> None:
    record = run(tmp_path, FakeResources(BrowserError("it crashed")))
    assert (record.outcome, record.attempt) == ("passed", 2)
    assert [(one.outcome, one.cause) for one in record.attempts] == [("error", "browser"), ("passed", None)]


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 2), (3, 4)])
def test_retries_are_limited(tmp_path: Path, retries: int, attempts: int) -> None:
    resources = FakeResources(*[BrowserError("it crashed")] * 10)
    record = run(tmp_path, resources, retries=retries)
    assert (record.outcome, record.cause, record.message) == ("error", "browser", "it crashed")
    assert resources.sessions == len(record.attempts) == attempts


class SharedBrowsers(FakeResources):
    """Also records which attempts had a browser of their own."""

    def __init__(self, *faults: Exception) -> None:
        super().__init__(*faults)
        self.alone: list[bool] = []

    @contextmanager
    def session(self, config: Any) -> Iterator[FakeSession]:
        self.alone.append(config.own_browser)
        with super().session(config) as session:
            yield session

    def session_config(self, lease: Any, state: Any) -> Any:
        return SessionConfig()


def test_lost_shared_browser_costs_no_retry_and_is_then_replaced(tmp_path: Path) -> None:
    resources = SharedBrowsers(BrowserLost("gone"), BrowserError("its own"))
    record = run(tmp_path, resources, retries=1)
    assert (record.outcome, record.attempt) == ("passed", 3)
    assert resources.alone == [False, True, True]


def test_losses_of_shared_browsers_are_limited(tmp_path: Path) -> None:
    resources = SharedBrowsers(*[BrowserLost("gone")] * 10)
    record = run(tmp_path, resources, retries=0)
    assert (record.outcome, record.cause, record.attempt) == ("error", "browser", 2)


@pytest.mark.parametrize("hangs", [False, True])
def test_cancelled_trial_has_no_record(tmp_path: Path, hangs: bool) -> None:
    off, never = Cancellation(), threading.Event()

    class Breaking:
        def act(self, observation: Any) -> Any:
            threading.Thread(target=off.now).start()
            never.wait() if hangs else wait_until(lambda: off.over)
            return Stop("42")

    agent = AgentDefinition(id="a", make=lambda assignment: Breaking(), digest="d")
    plan = TrialPlan(task=TASK, agent=agent, trial=1, limits=EpisodeLimits(seconds=1000), cancellation=off)
    folder = RunDir(tmp_path).folder(TrialKey("t", "a", 1))
    with pytest.raises(Cancelled):
        run_trial(plan, FakeResources(), folder)
    never.set()
    assert (folder.path / "started.json").exists()
    assert folder.record() is None
    assert not (folder.path / "attempt-1" / "evidence.json").exists()


def test_traceback_of_a_crashed_agent_is_stored(tmp_path: Path) -> None:
    def raises(observation: Any) -> Any:
        raise ValueError("no price")

    class Raising:
        def act(self, observation: Any) -> Any:
            return raises(observation)

    record = run(tmp_path, FakeResources(), Raising)
    assert record.message.startswith("the agent crashed: ValueError: no price (test_trial.py:")
    (kept,) = tmp_path.rglob("agent-traceback.txt")
    assert "in raises" in kept.read_text()

    def unmakeable() -> Any:
        raise KeyError("api_key")

    run(tmp_path / "other", FakeResources(), unmakeable)
    (kept,) = (tmp_path / "other").rglob("agent-traceback.txt")
    assert "in unmakeable" in kept.read_text()


def test_failure_message_starts_with_reason_of_the_stop_rule(tmp_path: Path) -> None:
    class Mumbling:
        def act(self, observation: Any) -> Any:
            return "click the button"

    record = run(tmp_path, FakeResources(), Mumbling)
    assert record.stop_reason == "invalid"
    assert record.message.startswith("the agent was stopped: three invalid actions in a row; the last: No action found")


def test_agent_crashes_and_task_errors_are_not_retried(tmp_path: Path) -> None:
    def crash() -> Any:
        raise ZeroDivisionError

    resources = FakeResources()
    record = run(tmp_path, resources, crash)
    assert (record.outcome, record.stop_reason, resources.sessions) == ("failed", "agent_crash", 1)

    def broken() -> Any:
        raise TaskError("no solution")

    record = run(tmp_path / "other", resources, broken, raises=(TaskError,))
    assert (record.outcome, record.cause, resources.sessions) == ("error", "task", 2)


def test_unexpected_exception_is_a_harness_error_with_traceback(tmp_path: Path) -> None:
    record = run(tmp_path, FakeResources(RuntimeError("boom")))
    assert (record.outcome, record.cause) == ("error", "harness")
    assert "unexpected RuntimeError: boom" in record.message
    (file,) = tmp_path.rglob("traceback.txt")
    assert "RuntimeError: boom" in file.read_text()


def test_seed_depends_on_task_agent_and_trial(tmp_path: Path) -> None:
    agent = AgentDefinition(id="a", make=lambda assignment: ScriptedAgent(), digest="d")
    plans = [TrialPlan(task=TASK, agent=agent, trial=trial, limits=EpisodeLimits()) for trial in (1, 1, 2)]
    assert plans[0].seed == plans[1].seed != plans[2].seed


def test_interrupted_trial_is_left_as_unfinished(tmp_path: Path) -> None:
    class Interrupting(FakeSession):
        def observe(self) -> Any:
            raise KeyboardInterrupt

    class Resources(FakeResources):
        @contextmanager
        def session(self, config: Any) -> Iterator[FakeSession]:
            yield Interrupting()

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Resources())
    (started,) = RunDir(tmp_path).unfinished()
    assert started["key"] == {"task": "t", "agent": "a", "trial": 1, "browser": "chromium"}
    assert json.loads(next(tmp_path.rglob("started.json")).read_text())["attempt"] == 1


def test_check_timeout_that_only_the_answer_causes_is_not_met_and_named(tmp_path: Path) -> None:
    task = make_task("intent: x\nsites: []\nchecks: [{answer: {regex: '(a+)+b'}}]", id="t")
    agent = AgentDefinition(id="a", make=lambda assignment: ScriptedAgent(Stop("a" * 60 + "!")), digest="d")
    plan = TrialPlan(
        task=task, agent=agent, trial=1, limits=EpisodeLimits(seconds=5), options=TrialOptions(check_timeout=1)
    )
    record = run_trial(plan, FakeResources(), RunDir(tmp_path).folder(TrialKey("t", "a", 1)))
    assert (record.outcome, record.undecided, len(record.attempts)) == ("failed", False, 1)
    assert "judging took longer than 1 s and was ended (--check-timeout); with another answer" in " ".join(
        record.message.split()
    )
    assert "match /(a+)+b/" in record.message


def full_disk(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make writing of files with these names fail."""
    for method in ("write_text", "write_bytes"):
        write = getattr(Path, method)

        def refuse(self: Path, *args: Any, write: Any = write, **kwargs: Any) -> Any:
            if any(name in str(self) for name in names):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
            return write(self, *args, **kwargs)

        monkeypatch.setattr(Path, method, refuse)


@pytest.mark.parametrize("file", ["000.txt", "final.jpg", "0.html", "evidence.json"])
def test_full_disk_is_a_harness_error_with_a_readable_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    full_disk(monkeypatch, file, "traceback")
    record = run(tmp_path, FakeResources())
    assert (record.outcome, record.cause, len(record.attempts)) == ("error", "harness", 1)
    assert re.fullmatch(
        r"expected to write .*, found: No space left on device\. Free disk space .* continue with --resume",
        record.message,
    )
    assert not list(tmp_path.rglob("*.tmp"))


def test_unwritable_record_raises_recording_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_disk(monkeypatch, "trial.json")
    with pytest.raises(RecordingError, match=r"trial\.json, found: No space left on device"):
        run(tmp_path, FakeResources())


def test_run_directory_removed_during_trial_raises_recording_error(tmp_path: Path) -> None:
    def make() -> Any:
        shutil.rmtree(tmp_path / "run")
        return ScriptedAgent(Stop("42"))

    with pytest.raises(RecordingError, match="found: No such file or directory"):
        run(tmp_path / "run", FakeResources(), make)
    assert not (tmp_path / "run").exists()


def test_file_size_limit_is_a_harness_error(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, hard))  # bytes per file
    try:
        record = run(tmp_path, FakeResources(), lambda: ScriptedAgent(Stop("x" * 20_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (record.outcome, record.cause) == ("error", "harness")
    assert "steps.jsonl, found: File too large. Free disk space" in record.message
