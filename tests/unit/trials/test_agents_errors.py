"""Exceptions of an agent fail its trial and count in the rate, whatever their class."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena import errors
from pytest_webarena.actions import Click, Element, Goto, Stop
from pytest_webarena.agents import resolve_agent
from pytest_webarena.agents.memory import MemoryKeys, Remembered
from pytest_webarena.agents.protocol import AgentDefinition, Reply
from pytest_webarena.agents.worker import AgentCrashed, AgentTimeout
from pytest_webarena.errors import ModelError, TaskError
from pytest_webarena.evidence import Usage
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.memory import Memory
from pytest_webarena.results.plan import cover
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from tests.processes import wait_until

from .test_trial import TASK, FakeResources, FakeSession


class Own(BaseException):
    """A `BaseException` that no code expects."""


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise errors.SiteError("not even its text can be had")


class Masked(BaseException):
    """An exception whose inspection raises an interrupt."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise KeyboardInterrupt("mine")

    @property
    def __notes__(self) -> Any:  # type: ignore[override]
        raise KeyboardInterrupt("mine")


OURS: list[Callable[[], BaseException]] = [
    partial(kind, "mine")
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.WebArenaError) and kind is not errors.TaskFileError
]
RAISED: list[Callable[[], BaseException]] = [
    *OURS,
    lambda: errors.TaskFileError(()),
    lambda: errors.TaskFailed("mine"),
    lambda: pytest.skip.Exception("mine"),
    lambda: pytest.fail.Exception("mine"),
    lambda: pytest.xfail.Exception("mine"),
    lambda: pytest.exit.Exception("mine"),
    lambda: KeyboardInterrupt("mine"),
    lambda: SystemExit(0),
    lambda: GeneratorExit("mine"),
    lambda: StopIteration("mine"),
    lambda: StopAsyncIteration("mine"),
    lambda: asyncio.CancelledError("mine"),
    lambda: TimeoutError("mine"),
    lambda: AgentTimeout("mine"),
    lambda: AgentCrashed("mine"),
    lambda: BaseExceptionGroup("mine", [errors.SiteError("mine"), SystemExit(1)]),
    lambda: Own("mine"),
    Unspeakable,
    Masked,
]


class InMake:
    def __init__(self, error: BaseException) -> None:
        raise error


class InAct:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def act(self, observation: Any) -> Any:
        raise self.error


class InAsyncAct(InAct):
    async def act(self, observation: Any) -> Any:
        await asyncio.sleep(0)
        raise self.error


def run(tmp_path: Path, make: Callable[[], Any], **more: Any) -> tuple[TrialRecord, FakeResources]:
    agent = AgentDefinition(id="a", make=lambda assignment: make(), digest="d", **more)
    memory = Memory(tmp_path / "memory") if agent.memory else None
    plan = TrialPlan(task=TASK, agent=agent, trial=1, limits=EpisodeLimits(seconds=60), memory=memory)
    resources = FakeResources()
    return run_trial(plan, resources, RunDir(tmp_path).folder(TrialKey("t", "a", 1))), resources


@pytest.mark.matrix(12)
@pytest.mark.parametrize(
    ("where", "error"),
    [
        *((InAct, error) for error in RAISED),
        # One clause catches all of the package's errors.
        *((where, error) for where in (InMake, InAsyncAct) for error in RAISED[len(OURS) - 1 :]),
    ],
    ids=lambda each: each.__name__ if each in (InMake, InAct, InAsyncAct) else type(each()).__name__,
)
def test_raising_agent_fails_without_retry(
    tmp_path: Path, where: type[Any], error: Callable[[], BaseException]
) -> None:
    record, resources = run(tmp_path, lambda: where(error()))
    assert (record.outcome, record.cause, record.stop_reason) == ("failed", None, "agent_crash")
    assert resources.sessions == len(record.attempts) == 1


@pytest.mark.matrix(8)
@pytest.mark.parametrize("error", RAISED, ids=lambda make: type(make()).__name__)
def test_exceptions_after_the_episode_keep_the_verdict(tmp_path: Path, error: Callable[[], BaseException]) -> None:
    class Last:
        def act(self, observation: Any) -> Any:
            return Stop("42")

        def remember(self, reason: str) -> Any:
            raise error()

        @property
        def close(self) -> Any:
            raise error()

    record, _ = run(tmp_path, Last, memory=MemoryKeys(scope="all"))
    assert record.outcome == "passed"
    assert record.memory is not None
    assert record.memory.problem


def test_exception_in_cut_off_keeps_the_verdict(tmp_path: Path) -> None:
    asked_agents, over = [], asyncio.Event()

    class Stuck:
        async def act(self, observation: Any) -> Any:
            await over.wait()

        def cut_off(self) -> None:
            asked_agents.append(self)
            raise SystemExit(3)

    agent = AgentDefinition(id="a", make=lambda assignment: Stuck(), digest="d")
    plan = TrialPlan(task=TASK, agent=agent, trial=1, limits=EpisodeLimits(seconds=0.2))
    record = run_trial(plan, FakeResources(), RunDir(tmp_path).folder(TrialKey("t", "a", 1)))
    assert (record.outcome, record.stop_reason, len(asked_agents)) == ("failed", "time", 1)


class Weird:
    def __repr__(self) -> str:
        raise errors.SiteError("no words")


@pytest.mark.parametrize(
    "facts",
    [
        {"usage": "much"},
        {"usage": {"input_tokens": "5"}},
        {"usage": {"cost": -1.0}},
        {"thought": 5},
        {"ended": ("site", "it was not me")},
        {"ended": "time"},
    ],
    ids=str,
)
def test_malformed_reply_is_an_agent_crash(tmp_path: Path, facts: dict[str, Any]) -> None:
    class Replying:
        def act(self, observation: Any) -> Any:
            usage = facts.get("usage")
            return Reply("stop", **{**facts, **({"usage": Usage(**usage)} if isinstance(usage, dict) else {})})

    record, _ = run(tmp_path, Replying)
    assert (record.outcome, record.stop_reason) == ("failed", "agent_crash")


@pytest.mark.parametrize(
    "returned",
    [Weird(), Goto(3), Stop(Weird()), Stop(None), Click("4"), Click(Element(Weird()))],  # type: ignore[arg-type]
    ids=["object", "number", "weird answer", "no answer", "text", "weird element"],
)
def test_malformed_action_is_invalid(tmp_path: Path, returned: Any) -> None:
    class Saying:
        def act(self, observation: Any) -> Any:
            return returned

    record, _ = run(tmp_path, Saying)
    assert (record.outcome, record.stop_reason) == ("failed", "invalid")


def test_malformed_memory_is_reported_and_keeps_the_verdict(tmp_path: Path) -> None:
    class Leaving:
        def act(self, observation: Any) -> Any:
            return Stop("42")

        def remember(self, reason: str) -> Any:
            return Remembered(text=5)  # type: ignore[arg-type]

    record, _ = run(tmp_path, Leaving, memory=MemoryKeys(scope="all"))
    assert record.outcome == "passed"
    assert record.memory is not None
    assert "expected a text" in record.memory.problem


@pytest.mark.parametrize(("error", "outcome"), [(TaskError("no solution"), "error"), (ModelError("down"), "failed")])
def test_agent_may_raise_only_its_declared_errors(tmp_path: Path, error: Any, outcome: str) -> None:
    record, _ = run(tmp_path / "one", lambda: InAct(error), raises=(type(error),))
    assert (record.outcome, record.event) == (outcome, error.cause)
    record, _ = run(tmp_path / "two", lambda: InAct(errors.SiteError("it was the site")), raises=(type(error),))
    assert record.outcome == "failed"


@pytest.mark.parametrize(
    ("error", "outcome", "event", "counted"),
    [
        (ModelError("down"), "failed", "model", "judged"),
        (errors.DeclaredError("quota"), "failed", "declared", "judged"),
        (errors.AgentAbsent("nobody listens"), "failed", "absent", "judged"),
        (errors.BudgetError("spent"), "failed", "budget", "judged"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_record_marks_errors_declared_by_the_agent(
    tmp_path: Path, error: Any, outcome: str, event: str, counted: str
) -> None:
    record, _ = run(tmp_path, lambda: InAct(error), raises=(errors.TrialError,))
    assert (record.outcome, record.event, record.undecided) == (outcome, event, outcome == "failed")
    assert TrialRecord.from_json(record.to_json()) == record
    (coverage,) = cover({}, [record]).values()
    assert getattr(coverage, counted) == coverage.planned == 1


def test_third_party_agents_may_declare_no_errors(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def act(observation): ...\ndef solve(task, cdp_url): ...\n")
    (tmp_path / "mine.yaml").write_text("kind: python\npython: mine.py:act\n")
    (tmp_path / "drive.yaml").write_text("kind: cdp\npython: mine.py:solve\n")
    assert resolve_agent("oracle").raises == (TaskError,)
    for name in (f"{tmp_path}/mine.yaml", f"{tmp_path}/drive.yaml", f"{tmp_path}/mine.py:act", "null", "random"):
        assert resolve_agent(name).raises == ()


@pytest.mark.parametrize("error", ["SystemExit(0)", "pytest.skip.Exception('no')", "GeneratorExit()"])
def test_agent_module_that_raises_on_import_is_a_usage_error(tmp_path: Path, error: str) -> None:
    (tmp_path / "mine.py").write_text(f"import pytest\nraise {error}\n")
    with pytest.raises(errors.UsageError, match=r"importing .*mine\.py failed"):
        resolve_agent(f"{tmp_path}/mine.py:act")


def test_exception_of_the_session_is_a_browser_error(tmp_path: Path) -> None:
    """Exceptions of the browser are not the agent's failure."""

    class Broken(FakeSession):
        def observe(self) -> Any:
            raise errors.BrowserError("gone")

    class Resources(FakeResources):
        def session(self, config: Any) -> Any:
            self.sessions += 1
            return __import__("contextlib").nullcontext(Broken())

    agent = AgentDefinition(id="a", make=lambda assignment: InAct(ValueError()), digest="d")
    plan = TrialPlan(task=TASK, agent=agent, trial=1, limits=EpisodeLimits())
    record = run_trial(plan, Resources(), RunDir(tmp_path).folder(TrialKey("t", "a", 1)))
    assert (record.outcome, record.cause, len(record.attempts)) == ("error", "browser", 2)


def test_agent_calling_os_exit_only_crashes_its_trial(tmp_path: Path) -> None:
    class Exits:
        def act(self, observation: Any) -> Any:
            os._exit(0)

    record, _ = run(tmp_path, Exits)
    assert (record.outcome, record.stop_reason) == ("failed", "agent_crash")
    assert record.stop_detail.startswith("SystemExit: 0")


def ended(child: int) -> int | None:
    """Return the signal that ended the process, or None if the test had to end it."""
    found: list[int] = []

    def look() -> bool:
        pid, status = os.waitpid(child, os.WNOHANG)
        found.append(status)
        return pid == child

    try:
        wait_until(look)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return found[-1]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_forked_child_continuing_as_the_agent_is_ended(tmp_path: Path, asynchronous: bool) -> None:
    children: list[int] = []

    def reply() -> Any:
        if child := os.fork():
            children.append(child)
            return Stop("42")
        return Stop("13")

    class Forks:
        def act(self, observation: Any) -> Any:
            return reply()

    class ForksLater:
        async def act(self, observation: Any) -> Any:
            return reply()

    record, _ = run(tmp_path, ForksLater if asynchronous else Forks)
    assert record.outcome == "passed"
    assert ended(children[0]) in (0, signal.SIGKILL)  # exited, or killed with its parent thread


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone can tie a process to its parent")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_child_process_of_an_agent_is_ended_with_it(tmp_path: Path) -> None:
    children: list[int] = []

    class Leaves:
        def act(self, observation: Any) -> Any:
            if child := os.fork():
                children.append(child)
                return Stop("42")
            while True:
                signal.pause()

    run(tmp_path, Leaves)
    assert ended(children[0]) in (signal.SIGKILL, 0)  # 0: reaped before its status was read
