"""`scripts/docker-engine` on a fake machine: what it installs, starts, prints and returns."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "docker-engine"

pytestmark = pytest.mark.skipif(not SCRIPT.exists() or sys.platform != "linux", reason="for Linux, in a checkout")


class Machine:
    """A PATH with a few real tools and a fake apt-get that installs an engine."""

    def __init__(self, root: Path) -> None:
        self.root, self.bin = root, root / "bin"
        self.bin.mkdir()
        for tool in ("mv", "rm", "setsid", "sh", "sleep", "tail", "touch"):
            found = shutil.which(tool)
            assert found
            (self.bin / tool).symlink_to(found)
        self.install("id", "echo 0")
        self.install("apt-cache", "exit 1")
        self.install("apt-get", f'echo "$@" >>{root}/apt; [ "$1" = update ] || mv {root}/packed/* {self.bin}')
        (root / "packed").mkdir()
        self.install("docker", f"[ -e {root}/up ] && echo 20.10", place="packed")
        self.install("dockerd", f"touch {root}/up; echo serving; exec sleep 60", place="packed")
        self.install("busybox", "true", place="packed")

    def install(self, name: str, lines: str, *, place: str = "bin") -> None:
        path = self.root / place / name
        path.write_text(f"#!{shutil.which('sh')}\n{lines}\n")
        path.chmod(0o755)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {
            "PATH": str(self.bin),
            "WEBARENA_DOCKERD_LOG": str(self.root / "log"),
            "WEBARENA_DOCKERD_TIMEOUT": "5",
        }
        return subprocess.run(
            [str(SCRIPT), *arguments], env=environ, capture_output=True, text=True, timeout=30, check=False
        )

    @property
    def apt(self) -> list[str]:
        log = self.root / "apt"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def started(machine: Machine) -> Iterator[subprocess.CompletedProcess[str]]:
    done = machine.run()
    yield done
    with suppress(ValueError, ProcessLookupError):
        os.kill(int(done.stdout), signal.SIGKILL)


def test_script_installs_and_starts_an_engine_once(machine: Machine, started: subprocess.CompletedProcess[str]) -> None:
    assert started.returncode == 0, started.stderr
    os.kill(int(started.stdout), 0)  # it is running
    assert machine.apt == ["update -qq", "install -y -qq --no-install-recommends docker.io busybox-static"]
    for text in ("apt-get install docker.io busybox-static", f"pid {started.stdout.strip()}", "20.10 answers"):
        assert text in started.stderr
    assert (machine.root / "log").read_text() == "serving\n"

    again = machine.run()
    assert (again.returncode, again.stdout) == (0, "")
    assert "nothing to do" in again.stderr
    assert len(machine.apt) == 2


def test_check_option_changes_nothing(machine: Machine) -> None:
    done = machine.run("--check")
    assert (done.returncode, done.stdout, machine.apt) == (1, "", [])
    assert "no engine answers" in done.stderr


def test_log_of_an_engine_that_exits_is_printed(machine: Machine) -> None:
    machine.install("dockerd", "echo out of inodes; exit 1", place="packed")
    done = machine.run()
    assert (done.returncode, done.stdout) == (1, "")
    assert "out of inodes" in done.stderr


def test_script_requires_root_to_install(machine: Machine) -> None:
    machine.install("id", "echo 1000")
    done = machine.run()
    assert (done.returncode, done.stdout, machine.apt) == (1, "", [])
    assert "Run as root: apt-get install docker.io busybox-static" in done.stderr


def test_script_refuses_a_remote_docker_host(machine: Machine) -> None:
    environ = {"PATH": str(machine.bin), "DOCKER_HOST": "tcp://far.example:2375"}
    done = subprocess.run([str(SCRIPT)], env=environ, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, machine.apt) == (1, "", [])
    assert "DOCKER_HOST=tcp://far.example:2375" in done.stderr
