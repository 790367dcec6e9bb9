"""Kills a running pytest, one of its workers, or the broker with SIGKILL at random moments, and lists what remains.

    python benchmarks/kill_pytest.py [--times 20] [--sites embedded] [--agent oracle] [--only pytest|worker|broker]
    python benchmarks/kill_pytest.py --times 17 --sites embedded-docker --from-broker --between 0 10
    python benchmarks/kill_pytest.py --times 10 --sites debian --tasks tasks-debian --from-broker --between 0 40

Every process of a run has a mark in its environment, which children inherit, so /proc shows the remaining ones whatever
their parent. Objects on the Docker engine have a label that names the broker. Temporary files go to the run's own
directory. Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from processes import carrying

MARK = "WEBARENA_KILL_BENCHMARK"
PROCESSES = "embedded"
"""The sites that create nothing on the engine."""
PATIENCE = 30.0
"""Seconds that a run may take to clean up after the kill."""


def main() -> int:
    """Returns exit code 1 if anything was left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="kill this many runs (default: %(default)s)")
    parser.add_argument("--sites", default="embedded", help="catalogue of sites (default: %(default)s)")
    parser.add_argument(
        "--tasks", nargs="+", default=["tasks/homepage"], help="run these task files (default: tasks/homepage)"
    )
    parser.add_argument(
        "--agent", default="oracle", help="agent to run (keyword-process uses temporary files) (default: %(default)s)"
    )
    parser.add_argument("--only", choices=tuple(VICTIMS), help="kill only this kind of process")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments (default: %(default)s)")
    parser.add_argument("--between", type=float, nargs=2, default=(2.0, 9.0), help="seconds into the run")
    parser.add_argument("--from-broker", action="store_true", help="count from the broker's start or first container")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    bad = 0
    for victim in [options.only] if options.only else list(VICTIMS):
        slowest = 0.0
        live = left_over = with_objects = 0
        for _ in range(options.times):
            after = chance.uniform(*options.between)
            found, made, left, seconds = one_kill(
                victim, options.sites, options.agent, after, from_broker=options.from_broker, tasks=options.tasks
            )
            live += found
            with_objects += made > 0
            left_over += bool(left)
            slowest = max(slowest, seconds)
            for what in left:
                print(f"  left after killing {victim}: {what}")
        bad += left_over
        print(
            f"{victim:>7}: {options.times} kills ({live} found it running"
            f"{f', {with_objects} with objects on the engine' if options.sites != PROCESSES else ''}), "
            f"{left_over} left something, "
            f"slowest clean-up {slowest:.1f} s",
            flush=True,
        )
    return 1 if bad else 0


def one_kill(
    victim: str, sites: str, agent: str, after: float, *, from_broker: bool, tasks: Sequence[str]
) -> tuple[bool, int, list[str], float]:
    """Starts a run and kills ``victim`` some seconds later.

    Returns whether the victim existed, how many objects were on the engine, what was left, and how long the cleaning up
    took.
    """
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="kb-") as folder, tempfile.TemporaryDirectory(prefix="kt-") as scratch:
        command = [sys.executable, "-m", "pytest", *tasks, f"--agent={agent}", "-n", "2", "-q"]
        command += [f"--sites={sites}", f"--run-dir={folder}/run", "-p", "no:cacheprovider", f"--basetemp={folder}/tmp"]
        run = subprocess.Popen(
            command,
            env={**os.environ, MARK: mark, "TMPDIR": scratch},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with watching(mark) as pids:
            patience = time.monotonic() + 2 * PATIENCE
            while from_broker and time.monotonic() < patience and not _begun(run.pid, mark, sites):
                time.sleep(0.05)
            time.sleep(after)  # the moment of the kill varies
            made = len(on_the_engine(set(carrying(MARK, mark)))) if sites != PROCESSES else 0
            pid = VICTIMS[victim](run.pid, carrying(MARK, mark))
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
            if victim != "pytest":  # the run goes on without the victim until the user interrupts it
                time.sleep(2.0)
                run.send_signal(signal.SIGINT)
                try:
                    run.wait(30)
                except subprocess.TimeoutExpired:
                    run.kill()
            run.wait()
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE:
            left = [*map(describe, carrying(MARK, mark)), *map(str, Path(scratch).iterdir())]
            if sites != PROCESSES:
                left += on_the_engine(pids)
            if not left:
                break
            time.sleep(0.1)
        for process in carrying(MARK, mark):
            os.kill(process, signal.SIGKILL)
    return pid is not None, made, left, time.monotonic() - began


def _begun(controller: int, mark: str, sites: str) -> bool:
    """Returns whether a broker runs, and whether anything is on the engine if these sites use one."""
    pids = carrying(MARK, mark)
    return VICTIMS["broker"](controller, pids) is not None and (sites == PROCESSES or bool(on_the_engine(set(pids))))


@contextmanager
def watching(mark: str) -> Iterator[set[int]]:
    """Collects all processes that ever carry the mark, because processes that have ended may have left containers."""
    pids: set[int] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            pids.update(carrying(MARK, mark))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield pids
    finally:
        over.set()
        thread.join()


def on_the_engine(pids: set[int]) -> list[str]:
    """Returns the containers, networks, volumes and images made by these processes."""
    from pytest_webarena.sites.backends.docker import connect
    from pytest_webarena.sites.backends.docker.labels import OWNER

    client = connect()
    chosen: dict[str, Any] = {"label": OWNER}
    try:
        found = [
            ("container", one.name, one.labels)
            for one in client.containers.list(all=True, filters=chosen, ignore_removed=True)
        ]
        found += [("network", one.name, one.attrs["Labels"]) for one in client.networks.list(filters=chosen)]
        found += [("volume", one.name, one.attrs["Labels"] or {}) for one in client.volumes.list(filters=chosen)]
        found += [("image", one["Id"], one["Labels"] or {}) for one in client.api.images(filters=chosen)]
    finally:
        client.close()
    owners = {str(pid) for pid in pids}
    return [f"{kind} {name}" for kind, name, labels in found if labels.get(OWNER, "").partition("/")[0] in owners]


def describe(pid: int) -> str:
    """Describes a process."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        words = "(gone)"
    return f"process {pid}: {words[:120]}"


def _with_words(*words: str) -> Callable[[int, list[int]], int | None]:
    def find(controller: int, pids: list[int]) -> int | None:
        matching = [pid for pid in pids if all(word in describe_all(pid) for word in words)]
        return random.choice(matching) if matching else None

    return find


def describe_all(pid: int) -> str:
    """Returns a process's whole command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


VICTIMS: dict[str, Callable[[int, list[int]], int | None]] = {
    "pytest": lambda controller, pids: controller,
    "worker": _with_words("python", "exec(eval(sys.stdin.readline()))"),
    "broker": _with_words("pytest_webarena.sites.broker.main"),
}


if __name__ == "__main__":
    sys.exit(main())
