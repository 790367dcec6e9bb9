"""Terminal output of a run at 80 columns."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from pytest_webarena.plugin.reporting.progress import Progress

MakeTasks = Callable[..., None]

pytestmark = pytest.mark.usefixtures("every_plugin")


def section(result: pytest.RunResult) -> list[str]:
    """Return the lines of the plugin's summary."""
    start = next(number for number, line in enumerate(result.outlines) if line.startswith("=") and " webarena " in line)
    end = next(number for number in range(start + 1, len(result.outlines)) if result.outlines[number].startswith("="))
    return result.outlines[start + 1 : end]


@pytest.fixture
def narrow(canned: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A terminal of 80 columns, outside any CI."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    return canned


def test_summary_fits_80_columns(narrow: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right", "wrong", "odd")
    lines = section(narrow.runpytest("--run-dir=run"))
    assert lines[0] == "oracle: 1/2 passed = 50.0% (95% interval 9.5% to 90.5%), 1 error excluded"
    assert lines[-1].startswith("records: run (")
    assert max(map(len, lines)) <= 80


def test_failure_header_shows_location_and_message_appears_once(narrow: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("wrong", "odd")
    result = narrow.runpytest()
    result.stdout.fnmatch_lines(
        [
            "*_ ERROR at call of odd?chromium? (demo.yaml:8) _*",
            "error (site): canned error",
            "*_ wrong?chromium? (demo.yaml:2) _*",
            "canned failed",
            "FAILED tasks/demo.yaml::wrong?chromium? - canned failed",
            "ERROR tasks/demo.yaml::odd?chromium? - error (site): canned error",
        ]
    )
    assert sum("canned failed" in line for line in result.outlines) == 2


def test_long_message_wraps_between_words(narrow: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("odd")
    conftest = narrow.path / "conftest.py"
    message = "the site of " + "the homepage " * 12 + "went away"
    conftest.write_text(conftest.read_text().replace('f"canned {outcome}"', repr(message)))
    lines = narrow.runpytest().outlines
    start = lines.index(next(line for line in lines if line.startswith("error (site)")))
    body = lines[start : start + 3]
    assert max(map(len, body)) <= 80
    assert " ".join(body) == f"error (site): {message}"


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "xdist"])
def test_tb_line_shows_one_line_per_failure(
    narrow: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("wrong")
    conftest = narrow.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace('f"canned {outcome}"', 'f"canned {outcome}\\nand a second line"'))
    result = narrow.runpytest("--tb=line", "--junitxml=junit.xml", *workers)
    result.stdout.fnmatch_lines(["tasks/demo.yaml:2: canned failed"])
    result.stdout.no_fnmatch_line("*and a second line*")
    narrow.runpytest("--junitxml=junit.xml", *workers).stdout.fnmatch_lines(["and a second line"])
    (failure,) = ET.parse(narrow.path / "junit.xml").iter("failure")
    assert failure.get("message") == "canned failed"
    assert "and a second line" in (failure.text or "")


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "xdist"])
def test_deselected_trials_are_reported_with_reason(
    narrow: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("a", "b", "c", "d", "odd")
    narrow.runpytest("--run-dir=run", "--shard=1/2", *workers).stdout.fnmatch_lines(
        ["left out *trial* of other shards (--shard)"]
    )
    records = [file.read_text() for file in (narrow.path / "run" / "trials").glob("*/trial.json")]
    judged = sum('"outcome": "passed"' in record for record in records)
    assert judged > 1
    narrow.runpytest("--resume=run", *workers).stdout.fnmatch_lines(
        [
            f"left out       {judged} trials finished before (--resume),",
            "* of other shards (--shard)",
        ]  # the run's own shard
    )


def test_summary_has_no_left_out_line_when_all_trials_ran(narrow: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "odd")
    narrow.runpytest("--run-dir=run").stdout.no_fnmatch_line("left out*")


def test_interrupted_trial_is_recorded_as_interrupted_not_crashed(
    narrow: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("right", "dying")
    conftest = narrow.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("os._exit(9)", "raise KeyboardInterrupt").replace('"w"', '"main"'))
    result = narrow.runpytest_inprocess("--run-dir=run", "--alluredir=allure", no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["oracle: 1/1 passed*1 error excluded", "*errors by*harness 1*"])
    (record,) = (narrow.path / "run" / "trials").glob("dying*/trial.json")
    assert "the run was interrupted during this trial" in record.read_text()
    results = [file.read_text() for file in (narrow.path / "allure").glob("*-result.json")]
    (broken,) = [text for text in results if "#dying" in text]
    assert '"status": "broken"' in broken
    assert "interrupted" in broken


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "xdist"])
def test_terminal_shows_progress_line_and_removes_it_at_end(
    narrow: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks(*(f"right{number}" for number in range(6)), "wrong")
    output = run_in_terminal(narrow, "--run-dir=run", "-p", "no:cacheprovider", *workers)
    assert " 0/7 trials " in output
    assert " 7/7 trials · 85.7% passed " in output
    drawing, _, after = output.rpartition("\033[r")  # the whole screen scrolls again
    assert "trials · " in drawing
    assert "trials · " not in after
    assert "oracle: 6/7 passed" in after


@pytest.mark.exhaustive  # the first tier has it of the decision: tests/unit/plugin/reporting/test_progress.py
def test_dumb_terminal_gets_no_control_sequences(
    narrow: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tasks(*(f"right{number}" for number in range(6)))
    monkeypatch.setenv("TERM", "dumb")
    assert "\033[r" not in run_in_terminal(narrow, "--color=no")


def run_in_terminal(pytester: pytest.Pytester, *arguments: str) -> str:
    """Return all that pytest writes to a terminal of 24 by 80."""
    controller, terminal = pty.openpty()
    subprocess.run(["stty", "rows", "24", "cols", "80"], stdin=terminal, check=True)
    environment = {**os.environ, "TERM": os.environ.get("TERM") or "xterm"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", "pytest", *arguments]
    process = subprocess.Popen(
        command, cwd=pytester.path, stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    )
    os.close(terminal)
    output, deadline = b"", time.monotonic() + 100
    try:
        while time.monotonic() < deadline:
            if select.select([controller], [], [], 0.5)[0]:
                try:
                    piece = os.read(controller, 65536)
                except OSError:  # Linux: no process has the terminal open any more
                    break
                output += piece
        process.wait(timeout=max(0.1, deadline - time.monotonic()))
    finally:
        process.kill()
        os.close(controller)
    return output.decode()


@pytest.mark.exhaustive
def test_github_gets_error_annotations_and_job_summary(
    narrow: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(narrow.path.parent), "GITHUB_STEP_SUMMARY": "page.md"}
    for name, value in made.items():
        monkeypatch.setenv(name, value)
    make_tasks("right", "wrong")
    result = narrow.runpytest("--run-dir=run", "-n2")
    place = f"file={narrow.path.name}/tasks/demo.yaml,line=8"
    result.stdout.fnmatch_lines([f"::error {place},title=oracle%3A wrong failed::canned failed"])
    assert "| **oracle** | 1/2 | 50.0% |" in (narrow.path / "page.md").read_text("utf-8")


def test_unwritable_job_summary_is_reported(
    narrow: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(narrow.path / "no" / "page.md"))
    make_tasks("right")
    result = narrow.runpytest()
    result.stdout.fnmatch_lines(["webarena: the job's summary could not be written to *page.md: No such file*"])
    assert result.ret == 0


SLOW = """
apps:
  slow:
    backend: process
    sites: {slow: {host: slow.test}}
    ready: [{http: /}]
    process: {command: ["%s", app.py, "{port}"]}
"""
SLOW_APP = """
import http.server, pathlib, sys, time
while not pathlib.Path("go").exists():
    time.sleep(0.05)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("sites", "workers"), [("[]", ()), ("[slow]", ()), ("[slow]", ("-n1",))], ids=["test", "trial", "xdist"]
)
def test_slow_site_start_is_reported_while_waiting(
    pytester: pytest.Pytester,
    make_tasks: MakeTasks,
    monkeypatch: pytest.MonkeyPatch,
    sites: str,
    workers: tuple[str, ...],
) -> None:
    """A Python test or a trial waits for the site; only the trial needs a browser."""
    make_tasks("hello", sites=sites)
    pytester.path.joinpath("app.py").write_text(SLOW_APP)
    pytester.path.joinpath("sites.yaml").write_text(SLOW % sys.executable)
    if sites == "[]":
        pytester.makepyfile("import pytest\n@pytest.mark.webarena(sites=['slow'])\ndef test_slow(webarena): pass\n")
    write = Progress._write

    def write_and_go(progress: Progress, text: str) -> None:
        write(progress, text)
        if text.startswith("waiting for slow to start ("):
            pytester.path.joinpath("go").touch()  # only now: the line was printed during the wait

    monkeypatch.setattr(Progress, "_write", write_and_go)
    result = pytester.runpytest("--sites=sites.yaml", "-p", "no:cacheprovider", *workers)
    result.assert_outcomes(passed=2 if sites == "[]" else 1)
    result.stdout.fnmatch_lines(["webarena: waiting for slow to start (*"])


def test_collection_errors_are_reported_next_to_trials(
    canned: pytest.Pytester, make_tasks: Callable[..., None]
) -> None:
    make_tasks("t")
    canned.makepyfile(test_one="import nothing_of_that_name", test_two="import nor_of_this")
    result = canned.runpytest(".", "tasks", "--agent=null", "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["*nothing_of_that_name*", "*nor_of_this*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
