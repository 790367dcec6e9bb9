"""The reaper and the sweep, on processes and directories of the test."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_webarena.sites.cleanup import private_directory as housekeeping
from pytest_webarena.sites.cleanup import reaper
from pytest_webarena.sites.cleanup.private_directory import ReaperProcess, make_directory, sweep
from tests.processes import DEADLINE, of_group, wait_until

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {SLEEPER!r}])"

Spawn = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Return a function that starts Python code and waits until it runs; kill remaining processes at the end."""
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str = SLEEPER, *, mark: str = "", session: bool = False) -> subprocess.Popen[bytes]:
        environ = {**os.environ, **dict([mark.split("=")] if mark else [])}
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, env=environ, start_new_session=session
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_process_identity_includes_start_time_and_boot(spawn: Spawn) -> None:
    process = spawn()
    name = reaper.identity(process.pid)
    assert reaper.is_alive(name)
    pid, start, boot = name.split("/")
    assert not reaper.is_alive(f"{pid}/{int(start) + 1}/{boot}")
    assert not reaper.is_alive(f"{pid}/{start}/another-boot")
    assert not reaper.is_alive("")
    process.kill()
    process.wait()
    assert not reaper.is_alive(name)


def test_zombie_process_is_not_alive(spawn: Spawn) -> None:
    process = spawn()
    name = reaper.identity(process.pid)
    process.kill()
    wait_until(lambda: not reaper.is_alive(name))
    assert process.returncode is None  # not reaped yet


def test_process_group_is_killed_after_its_leader_ended(spawn: Spawn) -> None:
    leader = spawn(PARENT, session=True)
    name = reaper.identity(leader.pid)
    assert len(of_group(leader.pid)) == 2
    leader.kill()
    leader.wait()
    assert len(of_group(leader.pid)) == 1
    reaper.reap([("pid", name)])
    assert of_group(leader.pid) == []


def test_process_with_a_recycled_pid_is_not_killed(spawn: Spawn) -> None:
    process = spawn(session=True)
    pid, start, boot = reaper.identity(process.pid).split("/")
    reaper.reap([("pid", f"{pid}/{int(start) - 1}/{boot}")])
    assert process.poll() is None


def test_marked_descendants_are_killed(spawn: Spawn) -> None:
    marked = spawn(PARENT, mark="PYTEST_WEBARENA_RUN=abc", session=True)
    other = spawn(mark="PYTEST_WEBARENA_RUN=abcd")
    reaper.reap([("mark", "PYTEST_WEBARENA_RUN=abc")])
    wait_until(lambda: not of_group(marked.pid))
    assert other.poll() is None


def test_reaper_acts_only_after_its_owner_ended(spawn: Spawn, tmp_path: Path) -> None:
    kept, removed = tmp_path / "kept", tmp_path / "gone"
    for directory in (kept, removed):
        (directory / "sub").mkdir(parents=True)
        (directory / "sub" / "file").write_text("x")
    process = spawn(session=True)
    guard = ReaperProcess()
    guard.add("dir", str(kept))
    guard.add("dir", str(removed))
    guard.add("pid", reaper.identity(process.pid))
    guard.drop("dir", str(kept))
    time.sleep(0.05)  # it must not act while its owner lives
    assert removed.exists()
    guard.close()
    assert (kept.exists(), removed.exists(), process.wait(DEADLINE)) == (True, False, -9)


OWNER = """
import sys, time
import psutil
from pytest_webarena.sites.cleanup.private_directory import ReaperProcess
guard = ReaperProcess()
guard.add("dir", sys.argv[1])
me = psutil.Process()
left = 100
while left and any(child.status() != psutil.STATUS_ZOMBIE for child in me.children()):
    left -= 1  # whoever starts it has something to do first
    time.sleep(0.05)
for child in (*me.children(), me):
    child.kill()
"""


def test_reaper_survives_the_killing_of_owner_and_children(tmp_path: Path) -> None:
    """Ray ends the process of an actor like this."""
    (tree := tmp_path / "tree").mkdir()
    assert subprocess.run([sys.executable, "-c", OWNER, str(tree)], timeout=DEADLINE, check=False).returncode == -9
    wait_until(lambda: not tree.exists())


def test_reaper_waits_for_processes_marked_wait(spawn: Spawn, tmp_path: Path) -> None:
    tidy = spawn("import time, sys; print('up', flush=True); time.sleep(0.2); sys.exit(3)")
    guard = ReaperProcess()
    guard.add("wait", reaper.identity(tidy.pid))
    guard.add("dir", str(tmp_path / "x"))
    (tmp_path / "x").mkdir()
    guard.close()
    assert tidy.wait(DEADLINE) == 3


def test_directory_is_removed_after_its_writer_ended(spawn: Spawn, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    filler = f"""
import os, time
print('up', flush=True)
end = time.monotonic() + 0.3
count = 0
while time.monotonic() < end:
    count += 1
    try:
        os.makedirs({str(tree)!r}, exist_ok=True)
        open({str(tree)!r} + '/' + str(count), 'w').close()
    except OSError:
        pass
"""
    process = spawn(filler)
    reaper.reap([("dir", str(tree)), ("wait", reaper.identity(process.pid))])
    assert process.wait(DEADLINE) == 0
    assert not tree.exists()


def test_sweep_removes_only_directories_of_dead_owners(
    tmp_path: Path, spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(housekeeping, "_SOCKET_LIMIT", 4096)
    own, dead, fresh, foreign = make_directory(), make_directory(), make_directory(), tmp_path / "something-else"
    foreign.mkdir()
    process = spawn()
    (dead / "owner").write_text(reaper.identity(process.pid))
    (dead / "file").write_text("x")
    process.kill()
    process.wait()
    (fresh / "owner").unlink()
    assert sweep() == [dead]
    assert own.exists()
    assert fresh.exists()
    assert foreign.exists()
    assert own.stat().st_mode & 0o777 == 0o700
    old = time.time() - 3600
    os.utime(fresh, (old, old))
    assert sweep() == [fresh]


def test_long_temporary_directory_is_not_used_for_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / ("x" * 100)))
    directory = make_directory()
    assert directory.parent == Path("/tmp")
    reaper.remove_tree(directory)
