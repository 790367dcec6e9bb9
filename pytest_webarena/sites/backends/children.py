"""What processes that fork others have in common: they notice how those end, and take them along when they end."""

from __future__ import annotations

import os
import selectors
import signal
import sys
import traceback
from collections.abc import Callable, Collection
from typing import NoReturn

from pytest_webarena.death_signal import prctl

__all__ = ["Loop", "adopt_orphans", "end_all", "live_as"]

_ADOPT = 36  # PR_SET_CHILD_SUBREAPER


class Loop:
    """Waits for two things at a time: orders on ``source``, and ends of children."""

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
        """Call ``serve`` when there are orders, until it says that none will come, and ``collect`` after whatever
        happened: a child may have ended."""
        while True:
            for key, _ in self._selector.select():
                if key.fd == self._waker:
                    os.read(self._waker, 4096)
                elif not serve():
                    return
            collect()

    def leave(self) -> None:
        """Undo it in a child that was just forked; ``source`` stays open."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        os.close(self._waker)
        os.close(self._woken)


def live_as(child: Callable[[], object]) -> NoReturn:
    """Be a child that was just forked, to its end: nothing of its parent's clean-up runs here."""
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
    """Have descendants whose parent ends become children of this process, on Linux."""
    if (call := prctl()) is not None:
        call(_ADOPT, 1, 0, 0, 0)
