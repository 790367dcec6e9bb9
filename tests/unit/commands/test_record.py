"""``webarena tasks record`` interrupted before its task is made: the recording is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.commands import record
from pytest_webarena.commands.cli import main
from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.recorder.autosave import Autosaver
from pytest_webarena.recorder.task_building import task_keys
from pytest_webarena.signals import AddressChanged
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.tasks import parse_tasks

[TASK] = parse_tasks("tasks: [{id: a, intent: Buy tea., sites: [homepage], checks: [{answer: x}]}]")
SIGNALS = tuple(AddressChanged(time=1.0, tab=0, url=f"http://shop.test/{n}", cause="browser") for n in range(2))
DOING: Any = SimpleNamespace(signals=lambda: SIGNALS, signals_before=1, signals_lost=0, sites={})


def ended(_: str) -> str:
    raise EOFError


def broken(*_: object) -> int:
    raise SiteError("homepage did not start")


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Callable[[], object]], None]:
    """Run ``webarena tasks record`` with a fake session, then the given function."""

    def watched(then: Callable[[], object]) -> None:
        def watch(task: object, runtime: object, options: object, keeper: Autosaver) -> object:
            keeper.save_changes(DOING, TASK, intent="Buy tea.", answer="")
            return then()

        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(record, "_on_page", lambda options: (False, False))
        monkeypatch.setattr(record, "open_runtime", lambda *_, **__: contextlib.nullcontext())
        monkeypatch.setattr(record, "_watch", watch)

    return watched


COMMAND = ["tasks", "record", "homepage", "--intent", "Buy tea."]
KEPT = "what was done is kept: webarena tasks record --from recorded.recording.json -o FILE makes a task of it"


def test_recording_is_kept_when_the_input_ends(
    watched: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", ended)
    watched(lambda: record._asked("the answer (empty: there is none): ", "--answer"))
    assert main(COMMAND) != 0
    captured = capsys.readouterr()
    assert KEPT in captured.out
    assert (
        "expected something typed behind 'the answer (empty: there is none):', found the end of the input"
        in captured.err
    )
    assert "use --answer" in captured.err


@pytest.mark.parametrize("steps", [(), ("a step",)])
def test_recording_is_kept_when_making_the_task_fails(
    watched: Callable[[Callable[[], object]], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    steps: tuple[str, ...],
) -> None:
    monkeypatch.setattr(record, "_make", broken)
    watched(lambda: SimpleNamespace(steps=steps, answer=""))
    with contextlib.suppress(SiteError, UsageError):
        main(COMMAND)
    assert KEPT in capsys.readouterr().out


def test_recording_is_removed_once_the_task_is_made(
    watched: Callable[[Callable[[], object]], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(record, "_make", lambda *_: 0)
    watched(lambda: SimpleNamespace(steps=("a step",), answer=""))
    assert main(COMMAND) == 0
    assert "is kept" not in capsys.readouterr().out
    assert [*tmp_path.iterdir()] == []


def test_record_prints_the_signed_in_user_and_alternatives(
    watched: Callable[[Callable[[], object]], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(record, "_make", lambda *_: 0)
    watched(lambda: SimpleNamespace(steps=("a step",), answer=""))
    command = ["tasks", "record", "tracker", "wiki", "--intent", "Look.", "--sites", "debian"]
    assert main([*command, "--user", "wiki=desmond.pell"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("tracker: signed out; --user tracker=NAME for hamish.dorrow (manager), ")
    assert lines[0].endswith(", desmond.pell (admin)")
    assert lines[1].startswith("wiki: signed in as desmond.pell; --user wiki=NAME for mara.linden, ")
    assert "desmond.pell (" not in lines[1]


def test_task_of_a_live_site_starts_at_its_full_address() -> None:
    options: Any = SimpleNamespace(
        places=["https://www.example.com/tea?a=1"], intent="Buy tea.", id="", user=[], annotator="", source=None
    )
    task = record._task(options, load_catalogue("live"), None, ask=False)
    assert (task.sites, task_keys(task, mutates=False)["start"]) == (("live",), ["https://www.example.com/tea?a=1"])
