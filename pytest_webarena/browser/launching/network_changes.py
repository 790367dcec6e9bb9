"""Keeps a browser from hearing that an address of this machine came or went.

``steady_network.py PROGRAM ARGUMENT…`` is a program of its own, run by path: it becomes PROGRAM. Chromium breaks off
every request under way (``net::ERR_NETWORK_CHANGED``) when an address comes or goes, and each container that starts or
ends brings that about. All requests of a run go to the gateway on this machine, for which no such change matters. The
kernel tells of changes by sockets of one kind (``AF_NETLINK``, ``NETLINK_ROUTE``): a filter on system calls refuses
those to the program and to all that it starts, and Chromium and Firefox then take the network for steady.

Linux only: elsewhere, and where a filter can't be had or would cost the browser its sandbox, PROGRAM runs as it is.
Requests may be broken off there; `pytest_webarena.browser.tabs.aborted_requests` says what becomes of them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

__all__ = ["steady_command"]

_SYSCALLS = {"x86_64": (0xC000003E, 41, 317), "aarch64": (0xC00000B7, 198, 277)}
"""By machine: what the kernel calls it in filters, and the numbers of ``socket`` and ``seccomp``."""

# linux/filter.h and linux/seccomp.h: one instruction is a code, two jumps and a constant.
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EAFNOSUPPORT
_AT_NUMBER, _AT_MACHINE, _AT_FAMILY, _AT_PROTOCOL = 0, 4, 16, 32
"""Offsets in ``struct seccomp_data``; of 64-bit arguments, the low half."""
_AF_NETLINK, _NETLINK_ROUTE = 16, 0
_SET_FILTER, _KEEP_SPECULATION = 1, 4
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWUSER = 0x10000000


class _Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def steady_command(command: list[str]) -> list[str]:
    """What to run instead of ``command`` for a steady network; ``command`` itself where there is no such way."""
    if sys.platform != "linux" or os.uname().machine not in _SYSCALLS:
        return command
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), *command]


def _instructions(machine: int, socket: int) -> bytes:
    checks = ((_AT_MACHINE, machine), (_AT_NUMBER, socket), (_AT_FAMILY, _AF_NETLINK), (_AT_PROTOCOL, _NETLINK_ROUTE))
    lines = []
    for number, (offset, value) in enumerate(checks):
        # One that differs jumps over what is left of the checks and over the refusal.
        lines += [(_LOAD, 0, 0, offset), (_EQUAL, 0, 2 * (len(checks) - number - 1) + 1, value)]
    lines += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _refuse_news() -> bool:
    """Refuse news of the network to this process and its children; whether that went."""
    machine, socket, seccomp = _SYSCALLS[os.uname().machine]
    instructions = ctypes.create_string_buffer(code := _instructions(machine, socket), len(code))
    program = _Program(len(code) // 8, ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)

    def install() -> bool:
        return bool(libc.syscall(seccomp, _SET_FILTER, _KEEP_SPECULATION, ctypes.byref(program)) == 0)

    if install():  # root may without giving anything up
        return True
    # Others give up programs with rights of their file's owner, as Chromium's oldest sandbox is one.
    if os.geteuid() != 0 and not _has_user_namespaces():
        return False
    return libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and install()


def _has_user_namespaces() -> bool:
    """Whether a browser finds its usual sandbox without a program that has root's rights."""
    try:
        with open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", encoding="ascii") as file:
            if file.read().strip() != "0":
                return False
    except OSError:
        pass  # no such restriction here
    child = os.fork()
    if not child:
        os._exit(0 if ctypes.CDLL(None).unshare(_CLONE_NEWUSER) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    try:
        _refuse_news()
    finally:
        os.execv(sys.argv[1], sys.argv[1:])
