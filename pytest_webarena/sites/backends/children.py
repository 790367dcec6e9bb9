"""Helpers for processes that fork others: they notice when children end, and kill them when they end themselves."""

from __future__ import annotations

import os
import selectors
import signal
import sys
import traceback
from collections.abc import Callable, Collection
from functools import partial
from typing import NoReturn

from pytest_webarena.death_signal import die_with_parent, prctl
from pytest_webarena.errors import UsageError

__all__ = ["ChildError", "Loop", "adopt_orphans", "end_all", "in_child", "live_as"]

_ADOPT = 36  # PR_SET_CHILD_SUBREAPER
_CLEAR = "!"
_MOST = 4000
"""Maximum length in bytes of a child's error message: less than a pipe's buffer, so that writing never blocks."""


class Loop:
    """Waits for orders on ``source`` and for ends of children at the same time."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._waker, self._woken = os.pipe()
        os.set_blocking(self._woken, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(source, selectors.EVENT_READ)
        self._selector.register(self._waker, selectors.EVENT_READ)

    def run(self, serve: Callable[[], bool], collect: Callable[[], None]) -> None:
        """Call ``serve`` when there are orders, until it returns that none will follow, and ``collect`` after every
        event, because a child may have ended."""
        while True:
            for key, _ in self._selector.select():
                if key.fd == self._waker:
                    os.read(self._waker, 4096)
                elif not serve():
                    return
            collect()

    def leave(self) -> None:
        """Undo the set-up in a newly forked child; ``source`` stays open."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        os.close(self._waker)
        os.close(self._woken)


def live_as(child: Callable[[], object]) -> NoReturn:
    """Run ``child`` in a newly forked process and exit, without the parent's clean-up."""
    code = 1
    try:
        child()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def end_all(children: Collection[int]) -> None:
    """Kill children that have not been waited for, and wait for them."""
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        os.waitpid(pid, 0)


def adopt_orphans() -> None:
    """On Linux, make this process the parent of descendants whose parent ends."""
    if (call := prctl()) is not None:
        call(_ADOPT, 1, 0, 0, 0)


class ChildError(Exception):
    """The work of `in_child` failed; the text is the error."""

    def __init__(self, text: str, *, clear: bool) -> None:
        super().__init__(text)
        self.clear = clear
        """Whether the text alone tells the user what to do, because it was a `UsageError`."""


def in_child(work: Callable[[], object]) -> None:
    """Run ``work`` in a forked child and wait for its end, so that this process keeps nothing that it loads.

    Raises `ChildError` if the work raises, in which case the traceback goes to stderr, or if the child ends early.
    """
    reading, writing = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        live_as(partial(_work, work, parent, writing))
    os.close(writing)
    _, status = os.waitpid(pid, 0)
    os.set_blocking(reading, False)  # processes that it leaves running may keep the other end open
    with open(reading, "rb", buffering=0) as pipe:
        text = (pipe.read(_MOST) or b"").decode("utf-8", "replace")
    if text:
        raise ChildError(text[1:], clear=text[0] == _CLEAR)
    if status:
        raise ChildError(f"the process that did it ended with {os.waitstatus_to_exitcode(status)}", clear=False)


def _work(work: Callable[[], object], parent: int, writing: int) -> None:
    die_with_parent(parent)
    signal.set_wakeup_fd(-1)  # it is the parent's
    try:
        work()
    except UsageError as error:
        _send(writing, f"{_CLEAR}{error}")
    except BaseException as error:
        _send(writing, f" {type(error).__name__}: {error}")
        raise  # its traceback goes to stderr


def _send(writing: int, text: str) -> None:
    os.write(writing, text.encode("utf-8", "replace")[:_MOST])
