"""Autosave of a recording in progress, and reading it afterwards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.recorder.autosave import Autosaver, read_saved, uploads_of
from pytest_webarena.signals import AddressChanged, Signal
from pytest_webarena.tasks import Task, parse_tasks
from pytest_webarena.trials.tryout import Tryout

[TASK] = parse_tasks("tasks: [{id: a, intent: x, sites: [shop], user: {shop: ada}, checks: [{answer: x}]}]")


def address(path: str, cause: Any = "browser") -> Signal:
    return AddressChanged(time=1.0, tab=0, url=f"http://shop.test{path}", cause=cause)


@dataclass
class FakeRecording:
    """A fake recording session."""

    seen: tuple[Signal, ...] = (address("/"),)
    signals_before: int = 1
    signals_lost: int = 0

    def signals(self) -> tuple[Signal, ...]:
        return self.seen

    @property
    def sites(self) -> dict[str, str]:
        return {"shop": "http://shop.test"}


class Author:
    def __init__(self, folder: Path) -> None:
        self.reports: list[str] = []
        self.doing = FakeRecording()
        self.autosaver = Autosaver(folder / "tasks" / "tea.yaml", folder / "tasks" / "tea-files", self.reports.append)
        self.autosaver.begin()

    def goes(self, path: str) -> None:
        self.doing.seen = (*self.doing.seen, address(path))
        self.look()

    def look(self, task: Task = TASK, intent: str = "Buy tea.", answer: str = "") -> None:
        self.autosaver.save_changes(cast(Tryout, self.doing), task, intent=intent, answer=answer)


@pytest.fixture
def author(tmp_path: Path) -> Author:
    return Author(tmp_path)


def test_recording_is_saved_with_the_first_step(author: Author, tmp_path: Path) -> None:
    author.look()
    assert not (tmp_path / "tasks").exists()
    author.goes("/tea")
    kept = read_saved(tmp_path / "tasks" / "tea.recording.json")
    assert kept.evidence.signals == author.doing.seen
    assert (kept.evidence.signals_before, kept.evidence.dom_events) == (1, True)
    assert (kept.intent, kept.user, kept.evidence.sites) == ("Buy tea.", {"shop": "ada"}, {"shop": "http://shop.test"})
    author.goes("/jam")
    author.look(answer="jam")
    kept = read_saved(tmp_path / "tasks" / "tea.recording.json")
    assert (len(kept.evidence.signals or ()), kept.evidence.text_answer) == (3, "jam")


def test_replaced_signal_is_saved_in_its_last_form(author: Author, tmp_path: Path) -> None:
    author.goes("/t")
    author.doing.seen = (author.doing.seen[0], address("/tea"))
    author.look()
    signals = read_saved(tmp_path / "tasks" / "tea.recording.json").evidence.signals or ()
    assert [signal.url for signal in signals] == ["http://shop.test/", "http://shop.test/tea"]


def test_existing_recordings_are_not_overwritten(author: Author, tmp_path: Path) -> None:
    author.goes("/tea")
    author.autosaver.begin()
    author.goes("/jam")
    other = Author(tmp_path)
    other.goes("/rye")
    assert sorted(path.name for path in (tmp_path / "tasks").iterdir()) == [
        "tea-2.recording.json",
        "tea-3.recording.json",
        "tea.recording.json",
    ]


def test_recording_is_reported_until_it_becomes_a_task(author: Author, tmp_path: Path) -> None:
    author.goes("/tea")
    author.autosaver.print_location()
    assert author.reports == [
        f"what was done is kept: webarena tasks record --from {tmp_path}/tasks/tea.recording.json -o FILE "
        "makes a task of it"
    ]
    author.autosaver.drop()
    author.autosaver.print_location()
    assert len(author.reports) == 1
    assert [*(tmp_path / "tasks").iterdir()] == []


def test_unwritable_place_is_reported_once(author: Author, tmp_path: Path) -> None:
    (tmp_path / "tasks").write_text("in the way")
    author.goes("/tea")
    author.goes("/jam")
    [message] = author.reports
    assert message.startswith("what you do is not kept on disk, and lost if this ends early: ")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 2}', '{"format": 1, "evidence": {}}', "[" * 9000])
def test_invalid_recording_is_a_usage_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UsageError, match="expected a recording as webarena tasks record keeps it, found"):
        read_saved(tmp_path / "a.json")


def test_only_existing_uploaded_files_are_used(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    assert uploads_of(["a.txt", "b.txt"], tmp_path) == {"a.txt": tmp_path / "a.txt"}


def test_uploaded_files_are_found_next_to_a_moved_recording(author: Author, tmp_path: Path) -> None:
    author.goes("/tea")
    kept = read_saved((tmp_path / "tasks").rename(tmp_path / "moved") / "tea.recording.json")
    assert kept.files == tmp_path / "moved" / "tea-files"


def test_recording_cannot_name_other_files_of_the_machine(author: Author, tmp_path: Path) -> None:
    """A replay would upload them to a page."""
    author.goes("/tea")
    path = tmp_path / "tasks" / "tea.recording.json"
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "id").write_text("secret")
    data = json.loads(path.read_text())
    for named in ("keys", str(tmp_path / "keys"), "..", "tea-files/.."):
        path.write_text(json.dumps({**data, "files": named}))
        with pytest.raises(UsageError, match="files in no folder …-files, but in"):
            read_saved(path)
    path.write_text(json.dumps({**data, "files": "/elsewhere/tea-files"}))
    files = read_saved(path).files
    files.mkdir()
    (files / "link").symlink_to(tmp_path / "keys" / "id")
    assert uploads_of(["../../keys/id", str(tmp_path / "keys" / "id"), "link", "..", ""], files) == {}
    files.rename(files.with_name("old"))
    files.symlink_to(tmp_path / "keys")
    assert uploads_of(["id"], files) == {}
