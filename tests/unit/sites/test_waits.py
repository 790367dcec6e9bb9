"""Waits of all processes, shared through files."""

from __future__ import annotations

import time
from pathlib import Path

from pytest_webarena.sites.protocol.waits import Waiting, Waits, directory_of, read_waits


def test_waits_of_all_processes_are_listed_longest_first(tmp_path: Path) -> None:
    directory = directory_of(str(tmp_path / "broker.sock"))
    assert read_waits(directory) == []
    broker, worker = Waits(directory, "broker"), Waits(directory, "gw0")
    began = time.time()
    with worker.on("the sign-in of ann to shop"):
        broker.publish([Waiting(what="shop to start", since=began - 5)])
        assert [wait.what for wait in read_waits(directory)] == ["shop to start", "the sign-in of ann to shop"]
        with worker.on("another one"):
            assert len(read_waits(directory)) == 3
        broker.publish([])
        (remaining,) = read_waits(directory)
        assert began <= remaining.since <= time.time()
    assert read_waits(directory) == []


def test_unwritable_and_unreadable_waits_are_ignored(tmp_path: Path) -> None:
    with Waits(tmp_path / "no" / "such", "gw0").on("something"):
        assert read_waits(tmp_path / "no" / "such") == []
    (tmp_path / "half.json").write_text('[{"what": "x"')
    (tmp_path / "other.json").write_text('[{"who": "x"}]')
    assert read_waits(tmp_path) == []
