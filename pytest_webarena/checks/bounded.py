"""Judging within bounds: in a process of its own that is ended when a check takes too long, or dies of one.

Patterns that backtrack for ever, functions that never return, libraries that count without looking up: nothing inside
a process ends all of them, so the process is what ends. It is forked from this one and knows all that this one knows.
What can't be asked from there, the judge model and the one that looks at images, is asked here in its stead.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from pytest_webarena.checks.grading import REPAIRED, Grading
from pytest_webarena.checks.images.captions import answer_through, find_captioner
from pytest_webarena.checks.judge_protocol import Asker, Grade, Question
from pytest_webarena.checks.judging import Watch, judge, judge_all, make_ready
from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.death_signal import die_with_parent
from pytest_webarena.errors import HarnessError, JudgeError, TrialError
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks.model import Task

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["CHECK_SECONDS", "judge_all_bounded", "judge_bounded"]

CHECK_SECONDS = 60.0
"""What one check of one trial may take, all states together; asking models is not counted. Most take milliseconds."""

_LONGEST_WAIT = 1e6
"""In seconds; more is more than the system takes."""

V = TypeVar("V")

_forking = threading.Lock()
"""One at a time."""

_Work = Callable[[Asker | None, Watch | None], V]
"""Judges, given whom to ask and whom to tell of each check."""

_Place = tuple[str, str]
"""A check while it is judged: the name of the grading, and its path."""


def judge_all_bounded(
    task: Task, evidence: Evidence, *, headline: Grading, asker: Asker | None = None, seconds: float = CHECK_SECONDS
) -> Mapping[str, Verdict]:
    """`judge_all`, but a check that takes longer than ``seconds``, or ends its process, is inconclusive.

    0: no limit and no process apart, for debuggers. Raises what `judge_all` does, and `HarnessError` when it isn't a
    check that takes too long.
    """

    def work(asker: Asker | None, watch: Watch | None) -> Mapping[str, Verdict]:
        return judge_all(task, evidence, headline=headline, asker=asker, watch=watch)

    return _bounded(work, task, asker, seconds, headline)


def judge_bounded(
    task: Task, evidence: Evidence, *, grading: Grading = REPAIRED, seconds: float = CHECK_SECONDS
) -> Verdict:
    """`judge`, bounded in the same way."""

    def work(asker: Asker | None, watch: Watch | None) -> Verdict:
        return judge(task, evidence, grading=grading, asker=asker, watch=watch)

    return _bounded(work, task, None, seconds, grading)


def _bounded(work: _Work[V], task: Task, asker: Asker | None, seconds: float, grading: Grading) -> V:
    if not seconds:
        return work(asker, None)
    make_ready(task, grading.name)  # here, so that each process finds it loaded
    overdue: dict[_Place, str] = {}
    while True:
        told = _Judging(work, asker, overdue, seconds).told()
        if not isinstance(told, _Overdue):
            return told
        if told.place is None or told.place in overdue:
            raise HarnessError(f"judging {task.id}: expected a verdict, but outside of its checks {told.why}")
        overdue[told.place] = told.why


@dataclass(frozen=True, slots=True)
class _Overdue:
    """The process is gone: at which check, and why."""

    place: _Place | None
    why: str


class _Judging(Generic[V]):
    """One process that judges, seen from outside."""

    def __init__(
        self,
        work: _Work[V],
        asker: Asker | None,
        overdue: Mapping[_Place, str],
        seconds: float,
    ) -> None:
        self._work = work
        self._asker = asker
        self._overdue = overdue
        self._seconds = seconds

    def told(self) -> V | _Overdue:
        """What it says, or why it says nothing. Raises what judging raised."""
        from multiprocessing import Pipe

        ours, theirs = Pipe()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()  # else what is in their buffers is written twice
        with _forking, warnings.catch_warnings():  # whose filters are the process's, whichever thread sets them
            warnings.simplefilter("ignore")  # of threads: the process needs nothing that any of ours may hold
            child = os.fork()
        if not child:
            _run(theirs, parent, lambda: self._work(self._proxy(theirs), self._watch(theirs)))
        theirs.close()
        try:
            return self._listen(ours, child)
        finally:
            ours.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            _wait(child)

    def _watch(self, channel: Connection) -> Watch:
        def watch(grading: str, path: str) -> str:
            why = self._overdue.get((grading, path), "")
            if not why:
                channel.send(("begins", (grading, path)))
            return why

        return watch

    def _proxy(self, channel: Connection) -> Asker | None:
        answer_through(_Captions(channel))
        return _Asks(channel) if self._asker is not None else None

    def _listen(self, channel: Connection, child: int) -> V | _Overdue:
        spent: dict[_Place | None, float] = {}
        place: _Place | None = None
        began = time.monotonic()
        while True:
            left = self._seconds - spent.get(place, 0.0) - (time.monotonic() - began)
            if not channel.poll(min(max(left, 0.0), _LONGEST_WAIT)):
                return _Overdue(place, f"judging took longer than {self._seconds:g} s and was ended (--check-timeout)")
            try:
                kind, value = channel.recv()
            except (EOFError, OSError):
                return _Overdue(place, f"the process that judged ended with {_how(_wait(child))}")
            if kind == "done":
                verdict: V = value
                return verdict
            if kind == "raised":
                raise value
            spent[place] = spent.get(place, 0.0) + time.monotonic() - began
            if kind == "begins":
                place = value
            else:
                with contextlib.suppress(OSError):  # then it is gone, which the next round finds out
                    channel.send(self._answer(kind, value))
            began = time.monotonic()

    def _answer(self, kind: str, value: Any) -> tuple[bool, Any]:
        """What a model says, or what asking it raised."""
        try:
            if kind == "question" and self._asker is not None:
                return True, self._asker.ask(value)
            return True, find_captioner().answer(*value)
        except Exception as error:  # to be raised there, where the check knows what to make of it
            return False, _portable(error)


class _Asks:
    """The judge model, in the process that judges."""

    def __init__(self, channel: Connection) -> None:
        self._channel = channel

    def ask(self, question: Question) -> Grade:
        grade: Grade = _call(self._channel, "question", question)
        return grade


class _Captions:
    """The model that looks at images, in the process that judges."""

    def __init__(self, channel: Connection) -> None:
        self._channel = channel

    def answer(self, image: Any, question: str) -> str:
        image.load()
        return str(_call(self._channel, "caption", (image, question)))


def _call(channel: Connection, kind: str, value: Any) -> Any:
    channel.send((kind, value))
    fine, told = channel.recv()
    if not fine:
        raise told
    return told


def _run(channel: Connection, parent: int, work: Callable[[], Any]) -> NoReturn:
    """In the new process: judge, tell, end. Nothing of the old one's is cleaned up here."""
    try:
        _detach(channel.fileno(), parent)
        try:
            message = "done", work()
            pickle.dumps(message)
        except Exception as error:
            message = "raised", _portable(error)
        channel.send(message)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(0)
    finally:
        os._exit(1)  # without a word: a check left by SystemExit or the like


def _detach(channel: int, parent: int) -> None:
    """Hold nothing that others wait for the end of, and go with whoever waits for the verdict."""
    gc.freeze()  # objects of the old process must not be finalised here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the user's Ctrl-C is for the old one, which then ends this one
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")  # if memory runs out, this process has taken it
    die_with_parent(parent)
    os.closerange(3, channel)
    os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX") if not os.path.isdir("/proc/self/fd") else _highest() + 1)


def _highest() -> int:
    """The highest file descriptor that is open."""
    return max(int(name) for name in os.listdir("/proc/self/fd"))


def _portable(error: BaseException) -> BaseException:
    """``error`` if it survives the way between processes, else the like of it."""
    try:
        copied = pickle.loads(pickle.dumps(error))
    except Exception:
        copied = None
    if type(copied) is type(error) and str(copied) == str(error):
        return error
    if isinstance(error, TrialError):
        plain = JudgeError(str(error)) if isinstance(error, JudgeError) else TrialError(str(error))
        plain.__dict__.update(cause=error.cause, again=error.again)
        return plain
    return RuntimeError(f"{type(error).__name__}: {error}")


def _wait(child: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except ChildProcessError:  # waited for already
        return 0


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
