"""Judges with time limits: in a child process that is killed when a check takes too long, and may crash without harm.

Patterns that backtrack for ever, functions that never return, library calls that block: nothing inside a process can
stop all of them, so the process is killed. It is forked from this one and shares its state. Models (the judge model,
and the one for images) can't be called from the child; this process calls them on its behalf.
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
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from pytest_webarena.actions import Stop
from pytest_webarena.checks.grading import REPAIRED, Grading
from pytest_webarena.checks.images.captions import answer_through, find_captioner
from pytest_webarena.checks.judge_protocol import Asker, Grade, Question
from pytest_webarena.checks.judging import Watch, judge, judge_all, leaves, make_ready
from pytest_webarena.checks.kind import Judgement, Kind
from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.death_signal import die_with_parent
from pytest_webarena.errors import HarnessError, JudgeError, TrialError
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks.kinds import find_kind
from pytest_webarena.tasks.model import Task

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["CHECK_SECONDS", "judge_all_bounded", "judge_bounded"]

CHECK_SECONDS = 60.0
"""Time limit of one check of one trial in seconds, over all its states; calls of models don't count. Most take
milliseconds."""

_LONGEST_WAIT = 1e6
"""Longest wait in seconds that the system accepts."""

V = TypeVar("V")

_forking = threading.Lock()
"""Allows only one fork at a time."""

_Work = Callable[[Evidence, Asker | None, Watch | None], V]
"""A function that judges; it receives the evidence, the judge model, and the watch that is called before each check."""

_Run = Callable[[Asker | None, Watch | None], V]
"""Such a function with its evidence."""

_BY_ANSWER = "with another answer it ends in time, so this one is the cause"

_Place = tuple[str, str]
"""A check that is being judged: the name of the grading, and the check's path."""


def judge_all_bounded(
    task: Task, evidence: Evidence, *, headline: Grading, asker: Asker | None = None, seconds: float = CHECK_SECONDS
) -> Mapping[str, Verdict]:
    """Like `judge_all`, but a check that takes longer than ``seconds``, or kills its process, is undecided.

    It is not met if the answer is the cause: twice it ends in this way, and in between not with another answer.

    0 means no limit and no child process, for debuggers. Raises the errors of `judge_all`, and `HarnessError` if
    something other than a check takes too long.
    """

    def work(evidence: Evidence, asker: Asker | None, watch: Watch | None) -> Mapping[str, Verdict]:
        return judge_all(task, evidence, headline=headline, asker=asker, watch=watch)

    return _bounded(work, task, evidence, asker, seconds, headline)


def judge_bounded(
    task: Task, evidence: Evidence, *, grading: Grading = REPAIRED, seconds: float = CHECK_SECONDS
) -> Verdict:
    """Like `judge`, with the same limits."""

    def work(evidence: Evidence, asker: Asker | None, watch: Watch | None) -> Verdict:
        return judge(task, evidence, grading=grading, asker=asker, watch=watch)

    return _bounded(work, task, evidence, None, seconds, grading)


def _bounded(
    work: _Work[V], task: Task, evidence: Evidence, asker: Asker | None, seconds: float, grading: Grading
) -> V:
    if not seconds:
        return work(evidence, asker, None)
    make_ready(task, grading.name)  # before forking, so that each process finds it loaded
    skipped: dict[_Place, Judgement] = {}
    suspected: set[_Place] = set()
    while True:
        judged = _Judging(partial(work, evidence), asker, skipped.get, seconds).result()
        if not isinstance(judged, _Overdue):
            return judged
        if (place := judged.place) is None or place in skipped:
            raise HarnessError(f"judging {task.id}: expected a verdict, but outside of its checks {judged.why}")
        if place in suspected:
            skipped[place] = Judgement.unknown(expected="", why=f"{judged.why}; {_BY_ANSWER}", cause="agent")
        elif (reference := _reference(task, place[1])) is not None and _ends(
            partial(work, replace(evidence, answer=reference)), place, seconds
        ):
            suspected.add(place)
        else:
            skipped[place] = Judgement.unknown(expected="", why=judged.why)


def _reference(task: Task, path: str) -> str | None:
    """An answer with which the check at ``path`` must end in time: that of the task's solution; else one that it must
    accept, or an empty one, if nothing but the answer decides it. None: there is no such answer."""
    for action in task.solution or ():
        if isinstance(action, Stop):
            return action.answer
    check = next((check for check, _ in leaves(task.every_check) if check.path == path), None)
    kind = find_kind(check.kind) if check is not None else None
    if check is None or not isinstance(kind, Kind) or kind.sights(check.spec) != frozenset({"answer"}):
        return None
    return next(iter(kind.right_answers(check.spec) or ()), "")


def _ends(work: _Run[object], place: _Place, seconds: float) -> bool:
    """Whether the check at ``place`` can be judged in time. No other check is judged."""
    others = Judgement.unknown(expected="", why="only one check is judged")
    judged = _Judging(work, None, lambda each: None if each == place else others, seconds).result()
    return not isinstance(judged, _Overdue)


@dataclass(frozen=True, slots=True)
class _Overdue:
    """The child process has ended early: at which check, and why."""

    place: _Place | None
    why: str


class _Judging(Generic[V]):
    """One child process that judges, seen from its parent."""

    def __init__(
        self,
        work: _Run[V],
        asker: Asker | None,
        skipped: Callable[[_Place], Judgement | None],
        seconds: float,
    ) -> None:
        self._work = work
        self._asker = asker
        self._skipped = skipped
        self._seconds = seconds

    def result(self) -> V | _Overdue:
        """Returns the result of the child, or why there is none. Raises the errors of judging."""
        from multiprocessing import Pipe

        ours, theirs = Pipe()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()  # else buffered output is written twice
        with _forking, warnings.catch_warnings():  # warning filters are shared by all threads
            warnings.simplefilter("ignore")  # about threads: the child needs no lock that they may hold
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
        def watch(grading: str, path: str) -> Judgement | None:
            skipped = self._skipped((grading, path))
            if skipped is None:
                channel.send(("begins", (grading, path)))
            return skipped

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
                with contextlib.suppress(OSError):  # the child has ended; the next iteration detects it
                    channel.send(self._answer(kind, value))
            began = time.monotonic()

    def _answer(self, kind: str, value: Any) -> tuple[bool, Any]:
        """Returns a model's answer, or the error that the call raised, with a flag for success."""
        try:
            if kind == "question" and self._asker is not None:
                return True, self._asker.ask(value)
            return True, find_captioner().answer(*value)
        except Exception as error:  # raised in the child, where the check handles it
            return False, _portable(error)


class _Asks:
    """Proxy of the judge model in the child process."""

    def __init__(self, channel: Connection) -> None:
        self._channel = channel

    def ask(self, question: Question) -> Grade:
        grade: Grade = _call(self._channel, "question", question)
        return grade


class _Captions:
    """Proxy of the model for images in the child process."""

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
    """Judge in the child process, send the result, and exit without any clean-up of the parent's state."""
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
        os._exit(1)  # reports nothing: a check raised SystemExit or similar


def _detach(channel: int, parent: int) -> None:
    """Close all file descriptors whose end of file others wait for, and end with the parent."""
    gc.freeze()  # objects of the parent must not be finalised here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then kills this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")  # make this process the first victim if memory runs out
    die_with_parent(parent)
    os.closerange(3, channel)
    os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX") if not os.path.isdir("/proc/self/fd") else _highest() + 1)


def _highest() -> int:
    """Returns the highest open file descriptor."""
    return max(int(name) for name in os.listdir("/proc/self/fd"))


def _portable(error: BaseException) -> BaseException:
    """Returns ``error`` if it survives pickling, else a similar one that does."""
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
    except ChildProcessError:  # already waited for
        return 0


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
