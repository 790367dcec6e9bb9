"""A Ray cluster of a head and two nodes in its own network namespace. Ray listens on all addresses of a machine, and
the namespace has only loopback.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.processes import Process, name_of, of_pids, wait_until

ROOT = Path(__file__).parents[2]


def _lacking() -> str:
    if importlib.util.find_spec("ray") is None:
        return "expected the package 'ray', found none; pip install -e '.[ray]'"
    if shutil.which("ip") is None:
        return "expected the program ip, found none; apt-get install iproute2"
    if os.geteuid() != 0:
        return "expected root, which network namespaces are made by"
    return ""


def _ports(line: str) -> tuple[str, str]:
    """Return the ports of both ends of a connection that ss lists."""
    here, there = line.split()[3:5]
    return here.rpartition(":")[2], there.rpartition(":")[2]


@dataclass
class Machines:
    """The cluster, and operations that change it."""

    namespace: str
    folder: Path
    process: subprocess.Popen[str]
    address: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    there: list[int] = field(default_factory=list)
    """Numbers of the nodes that live."""
    made: int = 0

    def command(self, *arguments: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespace, sys.executable, *arguments]

    def _order(self, line: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().strip() == "done"

    def kill_one(self) -> None:
        """Kill the first of the nodes."""
        self._order(f"kill {self.there.pop(0)}")

    def add(self) -> None:
        """Add a node."""
        self._order("add 4")
        self.made += 1
        self.there.append(self.made)

    def start(self, project: Path, *options: str) -> subprocess.Popen[str]:
        """Start pytest on ``project`` with this cluster and two concurrent trials on each node."""
        arguments = ["tasks", f"--ray={self.address}", "--ray-insecure", "--concurrency=2", "-p", "no:cacheprovider"]
        return subprocess.Popen(
            self.command("-m", "pytest", *arguments, *options), cwd=project, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def wait_for_trials(self, number: int) -> None:
        """Wait until so many trials are running on nodes."""
        wait_until(lambda: len(list(self.folder.glob("pytest-webarena-*/run/trials/*/started.json"))) >= number, 120)

    def actors(self) -> list[Process]:
        """Return the processes that run trials."""
        stdout = subprocess.run(
            ["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=True
        ).stdout
        return [process for process in of_pids(map(int, stdout.split())) if name_of(process).startswith("ray::Node")]

    def cut(self, driver: int, actor: int) -> None:
        """Break the connections between two processes, as a network failure does."""
        ss = ["ip", "netns", "exec", self.namespace, "ss"]
        lines = subprocess.run([*ss, "-tnpH"], capture_output=True, text=True, check=True).stdout.splitlines()
        ends = {pid: {_ports(line) for line in lines if f"pid={pid}," in line} for pid in (driver, actor)}
        between = [(here, there) for here, there in ends[driver] if (there, here) in ends[actor]]
        assert between
        for here, there in between:
            both = ["sport", "=", f":{here}", "dport", "=", f":{there}"]
            subprocess.run([*ss, "-K", *both], check=True, capture_output=True)

    @contextmanager
    def judge(self, reply: str) -> Iterator[tuple[str, Callable[[], int]]]:
        """A model in the cluster's network with one fixed reply: its address, and the number of requests."""
        command = self.command("-m", "tests.ray.judge", reply)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, cwd=ROOT, env=self.environment, text=True, **pipes) as process:  # type: ignore[call-overload]

            def count_requests() -> int:
                process.stdin.write("\n")
                process.stdin.flush()
                return int(process.stdout.readline())

            yield process.stdout.readline().strip(), count_requests
            process.stdin.close()

    def left_behind(self) -> list[str]:
        """Return directories of nodes that still exist."""
        return sorted(path.name for path in self.folder.glob("pytest-webarena-*"))


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    """A cluster with two nodes."""
    with _cluster(nodes=2) as machines:
        yield machines


@pytest.fixture(scope="session")
def single() -> Iterator[Machines]:
    """A cluster with one node; it starts in two thirds of the time."""
    with _cluster(nodes=1) as machines:
        yield machines


@contextmanager
def _cluster(nodes: int) -> Iterator[Machines]:
    if unavailable := _lacking():
        if os.environ.get("WEBARENA_REQUIRE_RAY") == "1":
            pytest.fail(f"WEBARENA_REQUIRE_RAY=1, but {unavailable}", pytrace=False)
        pytest.skip(unavailable)
    namespace, folder = f"webarena-{uuid.uuid4().hex[:8]}", Path(tempfile.mkdtemp(prefix="wr-", dir="/tmp"))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "PYTEST_", "COV_"))
    } | {
        "TMPDIR": str(folder),
        "RAY_TMPDIR": str(folder),
        "RAY_AUTH_MODE": "disabled",
        "RAY_BACKEND_LOG_LEVEL": "error",
        "RAY_worker_niceness": "0",  # a busy machine leaves nothing to those with 15
    }
    subprocess.run(["ip", "netns", "add", namespace], check=True)
    try:
        subprocess.run(["ip", "netns", "exec", namespace, "ip", "link", "set", "lo", "up"], check=True)
        log = (folder / "nodes.log").open("w")
        process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, "-m", "tests.ray.nodes", *["4"] * nodes],
            cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None
        line = ""
        while not line.startswith("ready"):
            line = process.stdout.readline()
            assert line, (folder / "nodes.log").read_text()[-3000:]
        yield Machines(namespace, folder, process, line.split()[1], environment, [*range(1, nodes + 1)], nodes)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        process.stdout.close()
        log.close()
    finally:
        pids = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False).stdout
        for pid in pids.split():  # all of them belong to this test
            os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", namespace], check=True)
        shutil.rmtree(folder, ignore_errors=True)


AGENT = '''
"""Answers with the location of its code, and reports a cost."""

import os
import time

from pytest_webarena.actions import Stop
from pytest_webarena.agents import Reply
from pytest_webarena.evidence import Usage


class Telling:
    def __init__(self, task, seconds=0.0, cost=None, held_by="", says=""):
        self.seconds, self.cost, self.says = seconds, cost, says
        self.held_by = [held_by, f"{held_by}-{os.getpid()}", f"{held_by}-{task.intent}"] if held_by else []
        print("asked to", task.intent)

    def act(self, observation):
        time.sleep(self.seconds)
        while any(map(os.path.exists, self.held_by)):
            time.sleep(0.05)
        usage = Usage(calls=1, cost=self.cost) if self.cost is not None else None
        return Reply(Stop(self.says or f"{__file__} in {os.getcwd()}"), usage=usage)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with quick tasks and an agent in a file."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "telling.py").write_text(AGENT)
    (tmp_path / "agents").mkdir()
    (tmp_path / "tasks").mkdir()
    write_tasks(tmp_path, 22)
    return tmp_path


def write_tasks(project: Path, count: int) -> None:
    tasks = "".join(
        f"  - {{id: t{number}, sites: [], intent: Say t{number}, checks: [{{steps: {{at_most: 1}}}}], "
        "solution: [{stop: telling.py}]}\n"
        for number in range(count)
    )
    (project / "tasks" / "quick.yaml").write_text(f"tasks:\n{tasks}")


def agent(project: Path, **options: object) -> str:
    """Define the agent with these options; return its name for ``--agent``."""
    keys = "".join(f"  {name}: {value}\n" for name, value in options.items())
    (project / "agents" / "telling.yaml").write_text(
        "python: ../telling.py:Telling\n" + (f"options:\n{keys}" if keys else "")
    )
    return "telling"
