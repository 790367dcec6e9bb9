"""Work on hostile input in a process of its own, which may use so much time and memory and no more.

Computer algebra has inputs that take for ever, or all memory, inside a single call that nothing in the process can
interrupt. So the process is what ends: forked from this one, knowing all that this one has loaded, it costs a few
milliseconds. Its limit is processor time, so that a busy machine doesn't change what is found; the clock is only there
for what sleeps.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import NoReturn, TypeVar

from pytest_webarena.death_signal import die_with_parent

__all__ = ["Ended", "run_confined"]

T = TypeVar("T")

SECONDS = 1.5
"""Of processor time."""
MEGABYTES = 512
"""Of memory beyond what this process has."""
PATIENCE = 20.0
"""By how much longer the clock may say it took."""


class Ended(Exception):
    """The work was ended, or failed in a way that nobody foresaw; ``str()`` says how."""


def run_confined(work: Callable[[], T], *, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> T:
    """What ``work`` returns, computed in a forked process. It must be something that can be pickled.

    Raises `Ended` when the process takes more than ``seconds`` of processor time or more than ``megabytes``, when it
    dies, and when ``work`` raises.
    """
    reader, writer = os.pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads: the process needs nothing that any of ours may hold
        child = os.fork()
    if not child:
        _work(writer, parent, work, seconds, megabytes)
    os.close(writer)
    try:
        told = _listen(reader, time.monotonic() + seconds * PATIENCE)
    finally:
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        code = _wait(child)
    if told is None:
        raise Ended(f"it took longer than {seconds * PATIENCE:g} s")
    if not told:
        if code == -signal.SIGPROF:
            raise Ended(f"it took more than {seconds:g} s of processor time")
        raise Ended(f"its process ended with {_how(code)}")
    kind, value = pickle.loads(told)
    if kind == "raised":
        raise Ended(value)
    result: T = value
    return result


def _listen(reader: int, deadline: float) -> bytes | None:
    """All that is said until the other end closes; None when that takes too long."""
    said = bytearray()
    poll = select.poll()
    poll.register(reader, select.POLLIN | select.POLLHUP)
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            return bytes(said)
        said += chunk


def _work(writer: int, parent: int, work: Callable[[], object], seconds: float, megabytes: int) -> NoReturn:
    """In the new process: limit it, do the work, tell, end. Nothing of the old one's is cleaned up here."""
    try:
        _confine(writer, parent, seconds, megabytes)
        try:
            message = pickle.dumps(("done", work()))
        except MemoryError:
            message = pickle.dumps(("raised", f"it took more than {megabytes} MB of memory"))
        except OverflowError:
            message = pickle.dumps(("raised", "a number in it is too large"))
        except RecursionError:
            message = pickle.dumps(("raised", "it is nested too deeply"))
        except Exception as error:
            message = pickle.dumps(("raised", f"{type(error).__name__}: {str(error)[:200]}"))
        with open(writer, "wb", closefd=False) as stream:
            stream.write(message)
        os._exit(0)
    finally:
        os._exit(1)


def _confine(writer: int, parent: int, seconds: float, megabytes: int) -> None:
    gc.disable()  # it ends before that would pay, and would copy the memory of the old process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the user's Ctrl-C is for the old one, which then ends this one
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    die_with_parent(parent)
    if sys.platform == "linux":
        with open("/proc/self/statm") as sizes:
            used = int(sizes.read().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, used + megabytes * 1_000_000)
    os.closerange(3, writer)
    os.closerange(writer + 1, 1 << 20)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)  # it writes no file


def _limit(kind: int, most: int) -> None:
    """Lower a limit; it never rises."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, hard))


def _wait(child: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except ChildProcessError:  # waited for already
        return 0


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
