"""``webarena tasks try``: interactive authoring on real sites."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from pytest_webarena.browser.config import Deadlines, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.commands import playing
from pytest_webarena.commands.cli import main
from pytest_webarena.trials.runtime import Runtime

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

TASKS = """
defaults: {user: ''}
tasks:
  - id: sum
    sites: [homepage]
    intent: What is 12 times 34?
    checks:
      - answer: {number: 408}
      - url: homepage:/calculator
    solution:
      - click: role=navigation[name="Main"] >> role=link[name="Calculator"]
      - stop: "408"
  - id: wrong
    sites: [homepage]
    intent: What is 12 times 34?
    checks: [{answer: {number: 409}}]
    solution: [{goto: /calculator}, {stop: "408"}]
  - id: astray
    sites: [homepage]
    intent: What is 12 times 34?
    checks: [{answer: {number: 408}}]
    solution: [{goto: "http://map.test/"}, {goto: "https://map.test/"}, {stop: "408"}]
"""


@pytest.fixture(scope="module")
def runtime(shared_engine: BrowserEngine) -> Iterator[Runtime]:
    """The runtime that the command starts, shared by all tests."""
    session = SessionConfig(deadlines=Deadlines(selector=2.0))  # for elements that never appear
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(playing, "SessionConfig", lambda: session)
        with playing.open_runtime("embedded", headed=False, executable=None) as runtime:
            yield runtime


@pytest.fixture
def tasks(runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    @contextmanager
    def opened(sites: str, *, headed: bool, executable: str | None) -> Iterator[Runtime]:
        assert (sites, headed, executable) == ("embedded", False, None)
        yield runtime

    monkeypatch.setattr("pytest_webarena.commands.tryout.open_runtime", opened)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "demo.tasks.yaml"
    file.write_text(TASKS)
    return file


@pytest.mark.exhaustive
def test_solution_option_replays_the_solution(tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "try", f"{tasks}::sum", "--solution"]) == 0
    assert "passed: 2 of 2 checks hold" in capsys.readouterr().out
    assert main(["tasks", "try", f"{tasks}::wrong", "--solution"]) == 1
    assert "failed: 0 of 1 checks hold" in capsys.readouterr().out


def test_step_to_address_rejected_by_gateway_fails(
    tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("s\ns\nq"))
    assert main(["tasks", "try", f"{tasks}::astray"]) == 0
    output = capsys.readouterr().out
    why = "the gateway refused it, for map.test is not one of this task's sites: name its site in the task's 'sites'"
    assert f"✗ step 1 of 3: goto 'http://map.test/'\n  → {why}" in output
    assert output.count(why) == 2  # https, too, where the gateway sees only the host


@pytest.mark.exhaustive
def test_checks_are_judged_after_every_command(
    tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = ["c", "click [99999]", "fly away", "s", "p", "o", "stop [408]", "r", "c", "q"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(commands)))
    assert main(["tasks", "try", f"{tasks}::sum"]) == 0
    output = capsys.readouterr().out
    verdicts = [line for line in output.splitlines() if "checks hold" in line]
    assert [line.split(":")[1].split()[0] for line in verdicts] == ["0", "1", "2", "0"]  # the last one after the reset
    assert output.count("What is 12 times 34?") == 2  # at the start and after the reset, not with each verdict
    assert "✗ checks[0] answer, as before" in output
    assert "There is no element [99999]" in output
    assert "no action: " in output
    assert "RootWebArea" in output
    assert [path.suffix for path in (tasks.parent / "tryout").iterdir()] == [".jpg"]


BROKEN = """
tasks:
  - id: rye
    sites: [homepage]
    intent: Add a note titled "Rye".
    start: homepage:/scratchpad/
    checks: [{changes: {notes: {added: 1}}}]
    solution:
      - click: role=link[name="New note"]
      - fill: {css=#heading: Rye}
      - click: role=button[name="Save note"]
"""


def test_failing_step_is_done_manually_and_solution_is_written(
    tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks.write_text(BROKEN)
    commands = ["- goto: x", "fill: {css=#title: Rye}", "s", "q"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(commands)))
    assert main(["tasks", "try", f"{tasks}", "--go-on", "--record", "made.yaml"]) == 0
    output = capsys.readouterr().out
    assert "step 2 does not work. Do it manually; 's' continues with the next step." in output
    assert "no step: expected an address" in output
    assert "· step 3 of 4: click role=button" in output
    assert output.count("passed: 1 of 1 checks hold") == 2  # manually, and by the written solution
    steps = yaml.safe_load(Path("made.yaml").read_text())["solution"]
    assert [next(iter(step.values())) for step in steps[:-1]] == [
        'role=link[name="New note"s]', {'role=textbox[name="Title"s]': "Rye"}, 'role=button[name="Save note"s]',
    ]  # fmt: skip
    assert "css=#title" in steps[1]["repair_selectors"]
    assert main(["tasks", "try", f"{tasks}", "--solution"]) == 1
    assert "--go-on stops there and reads commands" in capsys.readouterr().out
    assert main(["tasks", "try", f"{tasks}", "--record", "made.yaml"]) == 2
    assert "expected a file that is not there yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [("{file}::sums", "did you mean 'sum'"), ("nowhere.yaml::x", "nowhere.yaml"), ("{file}", "expected FILE::ID")],
)
def test_unknown_task_is_an_error(tasks: Path, capsys: pytest.CaptureFixture[str], name: str, message: str) -> None:
    assert main(["tasks", "try", name.format(file=tasks)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.exhaustive
def test_where_command_prints_selectors_of_an_element(
    tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = ["w css=nav >> text=Calculator", "w css=#nothing-like-it", "o", "q"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(commands)))
    assert main(["tasks", "try", f"{tasks}::sum"]) == 0
    output = capsys.readouterr().out
    assert '\nrole=link[name="Calculator"s]\ncss=nav >> text=Calculator\ncss=nav' in output
    assert 'text="Calculator"' not in output, "that is on the page twice"
    assert "expected an element that is there, found none that is css=#nothing-like-it" in output
    number = re.search(r"\[(\d+)\] searchbox", output)
    assert number is not None
    monkeypatch.setattr("sys.stdin", io.StringIO(f"o\nw [{number[1]}]\nw [99999]\nq\n"))
    assert main(["tasks", "try", f"{tasks}::sum"]) == 0
    output = capsys.readouterr().out
    assert 'role=searchbox[name="Search the manuals"s]\ncss=' in output
    assert "There is no element [99999]" in output
