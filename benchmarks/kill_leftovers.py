"""Counts processes and files that remain after ``kill -9`` at random moments.

    python benchmarks/kill_leftovers.py [--times 20]

Each round runs a controller with busy clients in a temporary directory with its own environment, kills one process, and
searches for processes with that environment and for files in that directory. Prints, per kind of process, how often it
was killed, how often something remained, and the seconds until all was clean.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from pytest_webarena.sites.protocol import keys

PATIENCE = 10.0
CLIENTS = 3


def controller(catalogue: str) -> None:
    """Runs a launcher, and clients in processes of their own that lease without end."""
    with BrokerLauncher(BrokerConfig(catalogue=catalogue, max_replicas=CLIENTS + 1)) as launcher:
        print(launcher.address, keys.key_for(launcher.address, "observer"), flush=True)
        clients = []
        for name in (f"gw{index}" for index in range(CLIENTS)):
            client = _spawn(["--client", launcher.address, "--name", name], stdin=subprocess.PIPE)
            clients.append(client)
            assert client.stdin is not None
            client.stdin.write(f"{keys.key_for(launcher.address, name)}\n")
            client.stdin.flush()
        print(*(client.pid for client in clients), flush=True)
        sys.stdin.read()
        for client in clients:
            client.kill()
            client.wait()


def busy(address: str, name: str, site: str) -> None:
    """Leases, reads, writes and releases without end; a dead broker is ignored."""
    keys.store_key(address, name, sys.stdin.readline().strip())
    broker = BrokerClient(address, name=name)
    while True:
        with suppress(SiteError, OSError), broker.lease([site], holder="busy", timeout=20) as lease:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.proxy}))
            url = lease.sites[site].start
            opener.open(url, timeout=10).read()
            with suppress(urllib.request.HTTPError):
                opener.open(urllib.request.Request(url, data=b"x=1"), timeout=10)


def _spawn(arguments: list[str], **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, __file__, *arguments], text=True, **more)  # type: ignore[call-overload,no-any-return]


class Round:
    """One run to be disturbed."""

    def __init__(self, catalogue: str) -> None:
        self.mark = f"KILL_ROUND={secrets.token_hex(8)}"
        self.temp = Path(tempfile.mkdtemp(prefix="kill-", dir="/tmp"))
        name, value = self.mark.split("=")
        self.process = _spawn(
            ["--controller", catalogue],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, name: value, "TMPDIR": str(self.temp)},
        )

    def address(self) -> str:
        """Returns the broker's address; from then on this process may speak to it as ``observer``."""
        address, key = self.line().split()
        keys.store_key(address, "observer", key)
        return address

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def processes(self) -> dict[int, str]:
        """Returns the living processes of this round with their command lines."""
        found = {}
        for entry in os.listdir("/proc"):
            with suppress(OSError):
                if entry.isdigit() and self.mark.encode() in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    command = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                    if command:  # zombies have no command line
                        found[int(entry)] = command.strip()
        return found

    def files(self) -> list[str]:
        """Lists the round's temporary directory; os.walk ignores that the directory may vanish meanwhile."""
        walk = os.walk(self.temp)
        paths = [Path(folder, name) for folder, folders, files in walk for name in (*folders, *files)]
        return [str(path.relative_to(self.temp)) for path in paths]

    def end(self) -> None:
        # All at once: the clients share the controller's stdout, so waiting only for its end would take for ever.
        while doomed := self.processes():
            for pid in doomed:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.process.communicate()
        shutil.rmtree(self.temp, ignore_errors=True)


@contextmanager
def running(catalogue: str) -> Iterator[Round]:
    """A round that is cleaned up, whatever is left of it."""
    round_ = Round(catalogue)
    try:
        yield round_
    finally:
        round_.end()


def until(condition: Callable[[], object]) -> float:
    """Returns the seconds until ``condition`` held; more than `PATIENCE` if it never did."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > PATIENCE:
            return PATIENCE + 1
        time.sleep(0.02)
    return time.monotonic() - began


def kill_controller(catalogue: str, delay: float) -> tuple[float, str]:
    """Kills the controller at a random moment, and its clients with it, as xdist's workers end with their
    controller."""
    with running(catalogue) as round_:
        time.sleep(delay)
        clients = [pid for pid, command in round_.processes().items() if "--client" in command]
        for pid in [round_.process.pid, *clients]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        round_.process.wait()
        # A client that was just being started has no pipe to this process, unlike a real worker.
        for pid, command in round_.processes().items():
            if "--client" in command:
                os.kill(pid, signal.SIGKILL)
        took = until(lambda: not round_.processes() and not round_.files())
        return took, f"{round_.processes()} {round_.files()}" if took > PATIENCE else ""


def kill_client(catalogue: str, delay: float) -> tuple[float, str]:
    """Kills a client; its leases must be released."""
    with running(catalogue) as round_:
        address, clients = round_.address(), round_.line().split()
        with BrokerClient(address, name="observer") as observer:
            observer.status()
            time.sleep(delay)
            os.kill(int(clients[0]), signal.SIGKILL)

            def freed() -> bool:
                status = observer.status()
                holders = [holder for app in status.apps for one in app.replicas for holder in one.holders]
                holders += [wait.holder for wait in status.waiting]
                return not any(holder.startswith("gw0 ") for holder in holders)

            took = until(freed)
            return took, str(observer.status()) if took > PATIENCE else ""


def kill_child(catalogue: str, delay: float, wanted: str) -> tuple[float, str]:
    """Kills a broker, a fork server or their common parent; its resources must go, and a new lease must work."""
    with running(catalogue) as round_:
        address, _ = round_.address(), round_.line()
        with BrokerClient(address, name="observer") as observer:
            observer.lease([SITE], holder="first", timeout=60).release()
            time.sleep(delay)
            before = {pid for pid, command in round_.processes().items() if "pytest_webarena.sites" in command}
            module, generation = (BROKER, 0) if wanted == "broker" else (COMMON_PARENT, GENERATIONS[wanted])
            (victim,) = (pid for pid in before if generation_of(pid, module, round_.processes()) == generation)
            doomed = before if wanted == "broker" else {victim, *descendants(victim)} & before
            os.kill(victim, signal.SIGKILL)
            took = until(lambda: not doomed & set(round_.processes()))
            if wanted == "broker":
                took = max(took, until(lambda: not any(name.split("/")[1:] == ["broker-0"] for name in round_.files())))
            for _ in range(3):
                with suppress(SiteError):
                    observer.lease([SITE], holder="again", timeout=60).release()
                    break
            else:
                return took, "no new lease"
            return took, str({pid: round_.processes().get(pid) for pid in doomed}) if took > PATIENCE else ""


BROKER, COMMON_PARENT = "pytest_webarena.sites.broker.main", "backends.common_parent"
GENERATIONS = {"common parent": 0, "fork server": 1}
"""How many ancestors with the same module each has; a forked process keeps its parent's command line, so a replica
has 2."""


def generation_of(pid: int, module: str, commands: Mapping[int, str]) -> int | None:
    """Returns how many ancestors of a process run the same ``module``; None if the process itself doesn't."""
    if module not in commands.get(pid, ""):
        return None
    with suppress(psutil.NoSuchProcess):
        return sum(module in commands.get(each.pid, "") for each in psutil.Process(pid).parents())
    return None


def descendants(pid: int) -> set[int]:
    """Returns all descendants of a process."""
    with suppress(psutil.NoSuchProcess):
        return {each.pid for each in psutil.Process(pid).children(recursive=True)}
    return set()


SITE = "homepage"


def main() -> None:
    """Kills each kind of process several times and prints what was left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--times", type=int, default=20, help="kill this many processes of each kind (default: %(default)s)"
    )
    parser.add_argument("--catalogue", default="embedded", help="catalogue of sites (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments (default: %(default)s)")
    parser.add_argument("--controller", help=argparse.SUPPRESS)
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--name", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.controller:
        return controller(arguments.controller)
    if arguments.client:
        return busy(arguments.client, arguments.name, SITE)
    chance = random.Random(arguments.seed)
    kinds: dict[str, Callable[[float], tuple[float, str]]] = {
        "controller": lambda delay: kill_controller(arguments.catalogue, 2 * delay),
        "client": lambda delay: kill_client(arguments.catalogue, delay),
        "broker": lambda delay: kill_child(arguments.catalogue, delay, "broker"),
        "fork server": lambda delay: kill_child(arguments.catalogue, delay, "fork server"),
        "common parent": lambda delay: kill_child(arguments.catalogue, delay, "common parent"),
    }
    failed = False
    for kind, disturb in kinds.items():
        results = [disturb(chance.uniform(0.0, 1.0)) for _ in range(arguments.times)]
        left = [text for _, text in results if text]
        seconds = sorted(took for took, _ in results)
        middle = seconds[len(seconds) // 2]
        print(f"{kind:13} killed {len(results)} times, {len(left)} left something; clean after", end=" ")
        print(f"{middle:.2f} s median, {seconds[-1]:.2f} s at most", flush=True)
        for text in left:
            print(f"    {text}")
        failed = failed or bool(left)
    sys.exit(failed)


if __name__ == "__main__":
    main()
