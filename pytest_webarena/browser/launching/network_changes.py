"""Shields a browser from notifications that an address of this machine was added or removed.

``network_changes.py PROGRAM ARGUMENT…`` is a separate program, run by path, which replaces itself by PROGRAM. Chromium
aborts every pending request (``net::ERR_NETWORK_CHANGED``) when an address changes, which happens whenever a container
starts or ends. All requests of a run go to the gateway on this machine, which such changes do not affect. The kernel
sends the notifications by one kind of socket (``AF_NETLINK``, ``NETLINK_ROUTE``). A filter on system calls denies it to
the program and all its children, and Chromium and Firefox then assume a stable network.

Linux only. Elsewhere, and where a filter is not possible or would disable the browser's sandbox, PROGRAM runs
unchanged. Requests may be aborted then; see `pytest_webarena.browser.tabs.aborted_requests`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

__all__ = ["steady_command"]

_SYSCALLS = {"x86_64": (0xC000003E, 41, 317), "aarch64": (0xC00000B7, 198, 277)}
"""By machine: its architecture number in filters, and the numbers of ``socket`` and ``seccomp``."""

# linux/filter.h and linux/seccomp.h: one instruction is a code, two jumps and a constant.
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EAFNOSUPPORT
_AT_NUMBER, _AT_MACHINE, _AT_FAMILY, _AT_PROTOCOL = 0, 4, 16, 32
"""Offsets in ``struct seccomp_data``; for 64-bit arguments, of the low half."""
_AF_NETLINK, _NETLINK_ROUTE = 16, 0
_SET_FILTER, _KEEP_SPECULATION = 1, 4
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWUSER = 0x10000000


class _Program(ctypes.Structure):
    """The C structure ``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def steady_command(command: list[str]) -> list[str]:
    """Return the command to run instead of ``command``; ``command`` itself if the platform is not supported."""
    if sys.platform != "linux" or os.uname().machine not in _SYSCALLS:
        return command
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), *command]


def _instructions(machine: int, socket: int) -> bytes:
    checks = ((_AT_MACHINE, machine), (_AT_NUMBER, socket), (_AT_FAMILY, _AF_NETLINK), (_AT_PROTOCOL, _NETLINK_ROUTE))
    lines = []
    for number, (offset, value) in enumerate(checks):
        # A mismatch jumps over the remaining checks and the refusal.
        lines += [(_LOAD, 0, 0, offset), (_EQUAL, 0, 2 * (len(checks) - number - 1) + 1, value)]
    lines += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _deny_notifications() -> bool:
    """Deny network notifications to this process and its children; return whether that succeeded."""
    machine, socket, seccomp = _SYSCALLS[os.uname().machine]
    instructions = ctypes.create_string_buffer(code := _instructions(machine, socket), len(code))
    program = _Program(len(code) // 8, ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)

    def install() -> bool:
        return bool(libc.syscall(seccomp, _SET_FILTER, _KEEP_SPECULATION, ctypes.byref(program)) == 0)

    if install():  # root needs no further restriction
        return True
    # Other users must give up setuid programs, such as Chromium's oldest sandbox.
    if os.geteuid() != 0 and not _has_user_namespaces():
        return False
    return libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and install()


def _has_user_namespaces() -> bool:
    """Return whether a browser can use its usual sandbox without a setuid program."""
    try:
        with open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", encoding="ascii") as file:
            if file.read().strip() != "0":
                return False
    except OSError:
        pass  # there is no such restriction
    child = os.fork()
    if not child:
        os._exit(0 if ctypes.CDLL(None).unshare(_CLONE_NEWUSER) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    try:
        _deny_notifications()
    finally:
        os.execv(sys.argv[1], sys.argv[1:])
