"""Runs commands in a sandbox made with ``bwrap``, and tests whether this machine can make one.

Inside are the system's programs and libraries, the installation of the command's own program, the agent's working
directory as ``/agent``, and a private ``/tmp``. There are no other processes, no network but a private loopback, no
home directory, and nothing of the project or of this package, wherever these are installed.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest_webarena
from pytest_webarena.agents.sandbox import relay
from pytest_webarena.agents.sandbox.hosts import LOOPBACK, Destination, proxy_for
from pytest_webarena.errors import UsageError

__all__ = ["ARGUMENTS", "BUBBLEWRAP", "SandboxedCommand", "check", "examine", "sandboxed"]

BUBBLEWRAP = "bubblewrap"
"""Value of ``sandbox`` in definitions."""
ARGUMENTS = "{arguments}"
"""Placeholder, see `SandboxedCommand.command`."""
_INSIDE = "/agent"
_RELAY = "/run/relay"
_ISOLATION = (
    "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox",
    "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run", "--dir", "/var/tmp",
    # Even without capabilities, root could change the whole machine's settings there.
    *(
        word
        for name in ("acpi", "bus", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
        for word in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    ),
)  # fmt: skip
_WAYS: Mapping[str, tuple[str, ...]] = {
    "with a user namespace of its own": ("--unshare-user", *_ISOLATION),
    "without one, as root": _ISOLATION,
}
"""Tried in this order; the second is for root on kernels without user namespaces."""
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")
"""Folders of the system outside /usr; links into it on most machines."""
_ETC = (
    "alternatives", "ca-certificates", "crypto-policies", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
    "localtime", "mime.types", "pki", "ssl",
)  # fmt: skip
_ANSWERS = ("pytest_webarena", "webarena_verified")
"""Packages that contain tasks with solutions; hidden wherever they are installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxedCommand:
    """A command in the sandbox."""

    command: tuple[str, ...]
    """The command line. ``ARGUMENTS`` stands for the number of a descriptor from which ``bwrap`` reads its arguments,
    because command lines are visible inside."""
    arguments: tuple[str, ...]
    """The arguments of ``bwrap``."""
    environment: Mapping[str, str]
    """Environment variables in addition to those that the agent gets anyway."""
    relay: str
    """Settings of the relay for `supervisor`, as JSON; empty without one."""
    folder: Path
    """Folder of files that are mounted inside; removed by whoever ends the command."""


def sandboxed(
    command: Sequence[str],
    directory: Path,
    *,
    search: str,
    places: Iterable[Destination] = (),
    readable: Iterable[str] = (),
    hidden: Iterable[Path] = (),
) -> SandboxedCommand:
    """``command`` in a sandbox with ``directory`` as its working directory; it can connect to ``places``.

    ``search`` is its PATH. ``readable`` are further visible files and folders of this machine, ``hidden`` those that
    stay invisible below them. `UsageError` when no sandbox can be made.
    """
    places = list(places)
    program, *options = _bwrap()
    arguments = [*options, *_mounts(_programs(command, search), readable, hidden)]
    within = list(command)
    folder = Path(tempfile.mkdtemp(prefix="box-", dir=directory.parent))
    for name, text in _ACCOUNTS.items():
        (folder / name).write_text(text.format(uid=os.getuid(), gid=os.getgid()))
        arguments += ["--ro-bind", str(folder / name), f"/etc/{name}"]
    arguments += ["--bind", str(directory), _INSIDE, "--chdir", _INSIDE]
    environment = {"HOME": _INSIDE, "TMPDIR": "/tmp", "PWD": _INSIDE}
    relay_settings = ""
    if places:
        known = {str(place): proxy_for(place) for place in places}
        local = [place.port for place in places if place.is_loopback]
        known |= {f"{name}:{port}": "" for name in LOOPBACK for port in local}
        relay_settings = json.dumps({"module": relay.__file__, "path": str(folder / "socket"), "hosts": known})
        ports = dict.fromkeys([relay.PROXY_PORT, *local])
        arguments += ["--ro-bind", str(folder), _RELAY, "--ro-bind", relay.__file__, f"{_RELAY}.py"]
        relay_command = [os.path.realpath(sys.executable), "-I", "-S", f"{_RELAY}.py", f"{_RELAY}/socket"]
        within = [*relay_command, ",".join(map(str, ports)), *within]
        proxy, direct = f"http://127.0.0.1:{relay.PROXY_PORT}", "127.0.0.1,localhost"
        for name, value in (("HTTPS_PROXY", proxy), ("HTTP_PROXY", proxy), ("NO_PROXY", direct)):
            environment |= {name: value, name.lower(): value}
        environment["NODE_USE_ENV_PROXY"] = "1"  # otherwise Node's own client ignores the proxy variables
    return SandboxedCommand(
        command=(program, "--args", ARGUMENTS, "--", *within),
        arguments=tuple(arguments),
        environment=environment,
        relay=relay_settings,
        folder=folder,
    )


_ACCOUNTS = {
    "passwd": "agent:x:{uid}:{gid}:agent:/agent:/bin/sh\n",
    "group": "agent:x:{gid}:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
"""Content of files in /etc inside the sandbox."""


def check(where: str) -> None:
    """Raise `UsageError` when this machine cannot make a sandbox, with the remedy."""
    try:
        _bwrap()
    except UsageError as error:
        raise UsageError(f"{where}: sandbox: {error}") from None


def examine() -> tuple[bool, str]:
    """Whether agents can be sandboxed on this machine, and a sentence about it."""
    try:
        program = _bwrap()[0]
    except UsageError as error:
        return False, str(error)
    return True, f"bubblewrap at {program}"


@functools.cache
def _bwrap() -> tuple[str, ...]:
    """The path of ``bwrap``, and the options with which it works on this machine."""
    if sys.platform != "linux":
        raise UsageError(f"bubblewrap is for Linux, and this is {sys.platform}; give a command of your own for sandbox")
    program = shutil.which("bwrap")
    if program is None:
        raise UsageError("expected bubblewrap's program bwrap, found none: apt-get install bubblewrap")
    tried = []
    for name, options in _WAYS.items():
        if "as root" in name and os.geteuid() != 0:
            continue
        command = [program, *options, *_mounts([], (), ()), "--", "true"]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        if result.returncode == 0:
            return (program, *options)
        message = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
        tried.append(f"  {name}: {message}")
    raise UsageError(
        "\n".join(["expected bubblewrap to work here, but the kernel does not let it. Tried:", *tried, _HELP])
    )


_HELP = """Debian: sysctl kernel.unprivileged_userns_clone=1
Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap
In a Docker container: --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
    --security-opt systempaths=unconfined"""


def _mounts(programs: Iterable[Path], readable: Iterable[str], hidden: Iterable[Path]) -> list[str]:
    """Options that mount the system, the programs and what is ``readable``, without what is ``hidden``."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        if os.path.islink(name):
            options += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            options += ["--ro-bind", name, name]
    for name in _ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    mounted = [*programs, *map(Path, readable)]
    visible = list(dict.fromkeys([*mounted, *(path.resolve() for path in mounted)]))
    visible = [path for path in visible if not any(path.is_relative_to(each) for each in ("/usr", *_SYSTEM))]
    covered = {path.resolve() for path in hidden} | set(_with_answers([Path("/usr"), *visible]))
    for path in map(Path, readable):
        if path.resolve() in covered:
            raise UsageError(
                f"readable: expected files that an agent may see, found tasks, records or a home directory in {path}"
            )
    # From outer to inner paths, so that a hidden folder covers what is mounted around it, and a visible one inside it
    # is mounted again.
    for path in sorted({*visible, *covered}, key=lambda path: len(path.parts)):
        if path not in covered:
            options += ["--ro-bind", str(path), str(path)]
        elif path.is_dir() and any(path.is_relative_to(each) for each in [Path("/usr"), *visible]):
            options += ["--tmpfs", str(path)]
    return options


def _with_answers(visible: Iterable[Path]) -> Iterator[Path]:
    """Locations of packages with tasks that would be visible."""
    for name in _ANSWERS:
        spec = find_spec(name)
        for place in spec.submodule_search_locations or () if spec is not None else ():
            yield Path(place).resolve()
    yield Path(pytest_webarena.__file__).resolve().parent
    for root in visible:
        for pattern in ("lib/python3*/*-packages", "local/lib/python3*/*-packages", "lib/python3"):
            for packages in root.glob(pattern):
                yield from (packages / name for name in _ANSWERS if (packages / name).is_dir())


def _programs(command: Sequence[str], search: str) -> list[Path]:
    """Installations that the command's program and this Python need: a virtual environment and its base Python."""
    found: list[Path] = []
    own_python = Path(os.path.realpath(sys.executable))
    program = shutil.which(command[0], path=search) if not command[0].startswith("./") else None
    for start in (own_python, *([Path(os.path.abspath(program))] if program else [])):
        at = start
        for _ in range(40):  # as many links as the kernel follows
            found.append(_installation(at))
            if not at.is_symlink():
                break
            at = Path(os.path.normpath(at.parent / os.readlink(at)))
    for settings in [path / "pyvenv.cfg" for path in found]:
        if settings.is_file():
            lines = dict(line.partition("=")[::2] for line in settings.read_text(errors="replace").splitlines())
            home = {key.strip(): value.strip() for key, value in lines.items()}.get("home", "")
            found += [_installation(Path(home) / "python")] if home else []
    return list(dict.fromkeys(path for path in found if path.exists()))


def _installation(program: Path) -> Path:
    """The folder of a program's installation, or the program only if the folder would show a home or the project."""
    root = program.parent.parent
    if program.parent.name != "bin" or Path.home().is_relative_to(root) or Path.cwd().is_relative_to(root):
        return program
    return root
