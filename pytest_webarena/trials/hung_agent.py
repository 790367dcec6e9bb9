"""The record of a trial whose agent holds the interpreter: written beforehand, for afterwards nobody is left to."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_webarena.agents.watchdog import Watched, watched
from pytest_webarena.results.records import Attempt
from pytest_webarena.secrets import scrub_plain
from pytest_webarena.trials.fault_attribution import failed_by_all

if TYPE_CHECKING:
    from pytest_webarena.results.attempts import AttemptWriter
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.trials.plan import TrialPlan

__all__ = ["guarded", "without_alarms"]

_HELD = (
    "the agent held the interpreter beyond the trial's limits (an endless match of a pattern or call of a C library "
    "holds up every thread), so its process was ended and no check could be asked; agents of kind process can be "
    "cut off"
)


_TIMERS = {
    signal.ITIMER_REAL: signal.SIGALRM,
    signal.ITIMER_VIRTUAL: signal.SIGVTALRM,
    signal.ITIMER_PROF: signal.SIGPROF,
}
"""A process has one of each, and dies of its signal unless somebody waits for that."""


@contextmanager
def guarded(plan: TrialPlan, record: TrialRecord, writer: AttemptWriter) -> Iterator[Watched | None]:
    """Watch over the agent if its code runs in this process. ``record``: what is known of the trial so far.

    An agent that had the word has failed. Else nobody knows what held the process; but an agent's threads may, so it
    counts in a gate as what is the agent's own doing.
    """
    if plan.agent.tier != "in-process" or plan.agent.kind == "built-in":
        yield None
        return
    attempt = Attempt(number=writer.number, outcome="failed", message=_HELD, started=record.started)
    headline, verdicts = failed_by_all(plan, record.intent, "time")
    failed = replace(
        record,
        outcome="failed",
        cause=None,
        score=0.0,
        stop_reason="time",
        stop_detail="the agent held the interpreter",
        message=_HELD,
        verdict=verdicts[headline],
        verdicts=verdicts,
        grading=headline,
        attempt=writer.number,
        attempts=(attempt,),
    )
    message = "something held the interpreter for long while the agent was not asked, such as a thread of its own"
    lost = replace(attempt, outcome="error", cause="agent", message=message)
    erred = replace(
        record, outcome="error", cause="agent", shortfall="declared", message=message, attempt=writer.number,
        attempts=(lost,),
    )  # fmt: skip
    with (
        without_alarms(),
        watched(
            writer.path.parent / "trial.json",
            steps=writer.path / "steps.jsonl",
            acting=scrub_plain(failed.to_json()),
            idle=scrub_plain(erred.to_json()),
            name=f"{plan.task.id} ({plan.agent.id}, trial {plan.trial})",
        ) as guard,
    ):
        yield guard


@contextmanager
def without_alarms() -> Iterator[None]:
    """Keep timers that the agent sets from ending the process, in this trial or in a later one.

    It means a time-out of its own (``signal.alarm``), but has a thread, where it can't wait for one. Timers that
    somebody else has use of, such as pytest-timeout, stay as they are. In other threads it does nothing: whoever plays
    trials there enters it in the main one.
    """
    if threading.current_thread() is not threading.main_thread():  # only there signals have handlers
        yield
        return
    free = {
        timer: number
        for timer, number in _TIMERS.items()
        if signal.getsignal(number) is signal.SIG_DFL and signal.getitimer(timer)[0] == 0
    }
    for number in free.values():
        signal.signal(number, _pass_over)  # not `SIG_IGN`, which programs that are started would inherit
    try:
        yield
    finally:
        for timer, number in free.items():
            signal.setitimer(timer, 0)
            signal.signal(number, signal.SIG_DFL)


def _pass_over(number: int, frame: object) -> None:
    pass
