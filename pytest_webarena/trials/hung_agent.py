"""The record of a trial whose agent blocks the interpreter: prepared in advance, because the process cannot write it
then."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_webarena.agents.host_access import can_signal_processes
from pytest_webarena.agents.watchdog import Watched, watched
from pytest_webarena.owners import EVENTS
from pytest_webarena.results.lost_trials import note_agent
from pytest_webarena.results.records import Attempt
from pytest_webarena.results.run_identity import own_id
from pytest_webarena.secrets import scrub_plain
from pytest_webarena.trials.fault_attribution import attributed, failed_by_all

if TYPE_CHECKING:
    from pytest_webarena.results.attempts import AttemptWriter
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.trials.plan import TrialPlan

__all__ = ["guarded", "without_alarms"]

_MESSAGE = (
    "the agent held the interpreter beyond the trial's limits (an endless regular expression or C call blocks "
    "every thread), so its process was killed before any check; agents of kind process can be interrupted"
)

_TIMERS = {
    signal.ITIMER_REAL: signal.SIGALRM,
    signal.ITIMER_VIRTUAL: signal.SIGVTALRM,
    signal.ITIMER_PROF: signal.SIGPROF,
}
"""Timers of which a process has one each, and the signals that end it unless they are handled."""


@contextmanager
def guarded(plan: TrialPlan, record: TrialRecord, writer: AttemptWriter) -> Iterator[Watched | None]:
    """Watch over the agent if its code runs in this process. ``record`` is what is known of the trial so far.

    If the interpreter blocks during a call of the agent, the agent has failed. Otherwise the owner is undecided: a
    thread of the agent may have caused it.
    """
    if can_signal_processes(plan.agent):
        note_agent(writer.path, _lost(plan, record, writer, "the worker's process died while the agent ran"))
    if plan.agent.tier != "in-process" or plan.agent.kind == "built-in":
        yield None
        return
    attempt = Attempt(number=writer.number, outcome="failed", message=_MESSAGE, started=record.started)
    headline, verdicts = failed_by_all(plan.task, plan.options.grading, record.intent, "time")
    failed = replace(
        record,
        outcome="failed",
        cause=None,
        score=0.0,
        stop_reason="time",
        stop_detail="the agent held the interpreter",
        message=_MESSAGE,
        verdict=verdicts[headline],
        verdicts=verdicts,
        grading=headline,
        attempt=writer.number,
        attempts=(attempt,),
        run=own_id(writer.path.parents[2]),
    )
    lost = _lost(plan, record, writer, "a thread of the agent blocked the interpreter for long between its steps")
    if plan.counting is not None:  # whatever happens in a later attempt does not count
        failed = plan.counting
    with (
        without_alarms(),
        watched(
            writer.path.parent / "trial.json",
            steps=writer.path / "steps.jsonl",
            acting=scrub_plain(failed.to_json()),
            idle=scrub_plain(lost.to_json()),
            name=f"{plan.task.id} ({plan.agent.id}, trial {plan.trial})",
        ) as guard,
    ):
        yield guard


def _lost(plan: TrialPlan, record: TrialRecord, writer: AttemptWriter, message: str) -> TrialRecord:
    """The record of an attempt that its agent may have ended together with the process: its owner is undecided."""
    if plan.counting is not None:  # whatever happens in a later attempt does not count
        return plan.counting
    lost = replace(record, message=message, attempt=writer.number, run=own_id(writer.path.parents[2]))
    lost = attributed(lost, EVENTS["agent"], "impossible", task=plan.task, grading=plan.options.grading)
    attempt = Attempt(number=writer.number, outcome="failed", message=lost.message, started=record.started)
    return replace(lost, attempts=(attempt,))


@contextmanager
def without_alarms() -> Iterator[None]:
    """Keep timers that the agent sets from ending the process, in this trial or later.

    An agent that calls ``signal.alarm`` wants a time-out of its own, but runs in a thread, where it cannot handle the
    signal. The handlers stay, because a thread that was given up may set a timer at any time. Timers that others use,
    such as pytest-timeout, are left alone. In other threads this does nothing: a runner that uses threads has to enter
    it in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread can set signal handlers
        yield
        return
    own = [timer for timer, number in _TIMERS.items() if _is_free(timer, number)]
    for timer in own:
        signal.signal(_TIMERS[timer], _ignore)  # not `SIG_IGN`, which child processes would inherit
        signal.setitimer(timer, 0)
    try:
        yield
    finally:
        for timer in own:
            signal.setitimer(timer, 0)


def _is_free(timer: int, number: int) -> bool:
    handler = signal.getsignal(number)
    return handler is _ignore or (handler is signal.SIG_DFL and signal.getitimer(timer)[0] == 0)


def _ignore(number: int, frame: object) -> None:
    pass
