"""Makes the Linux kernel kill a process when its parent ends for any reason (PR_SET_PDEATHSIG).

Scripts that import nothing of this package implement the same themselves (`agents/supervisor.py`).
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import sys
from collections.abc import Callable

__all__ = ["arm", "die_with_parent", "prctl"]

_PR_SET_PDEATHSIG = 1


@functools.cache  # forked children inherit the cached lookup
def prctl() -> Callable[..., int] | None:
    """Returns the ``prctl`` system call, which sets attributes of the calling process; None on systems without it."""
    if sys.platform != "linux":
        return None
    function: Callable[..., int] = ctypes.CDLL(None).prctl
    return function


def arm() -> None:
    """Have this process killed when the thread that started it ends; without effect if it has ended
    (`die_with_parent`)."""
    if (call := prctl()) is not None:
        call(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """End this process when its parent, the process ``parent``, ends; at once if it has already ended."""
    arm()
    if os.getppid() != parent:
        os._exit(1)
