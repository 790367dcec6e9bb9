"""Has the kernel, on Linux, kill a process when the one that started it ends, however that ends (PR_SET_PDEATHSIG).

Scripts that import nothing of this package do the same by themselves (`agents/supervisor.py`).
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


@functools.cache  # a child that is forked finds it looked up
def prctl() -> Callable[..., int] | None:
    """The system call that sets what is about a process alone; None where there is none."""
    if sys.platform != "linux":
        return None
    function: Callable[..., int] = ctypes.CDLL(None).prctl
    return function


def arm() -> None:
    """This process ends with the thread that started it, if that is still there: see `die_with_parent`."""
    if (call := prctl()) is not None:
        call(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """End this process when the process ``parent``, which started it, ends; at once if it has ended by now."""
    arm()
    if os.getppid() != parent:
        os._exit(1)
