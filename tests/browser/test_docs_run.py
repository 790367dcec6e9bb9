"""The files and commands of the tutorial and the how-to pages work as documented.

A block that begins with a file name is written to that file. Each line of a console block that begins with ``$`` is
run, and its output must contain the lines below it. Commands that install packages or use the network are skipped.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from pytest_webarena.commands.starter import start_project
from tests.ci_runner import CiRunner
from tests.inner import NEEDLESS

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(console|yaml|python|ini)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\S+\.(?:py|yaml|ini))\n")
BIN = Path(os.environ.get("WEBARENA_TEST_BIN") or Path(sys.executable).parent)
"""The folder of the commands that are run; ``scripts/try_wheel.py`` names that of another environment."""
NOT_HERE = re.compile(r"pip install|playwright install|npx |.*--(?:suite|sites)=webarena\b|webarena sites")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line and its documented output."""

    line: str
    shown: tuple[str, ...]


def steps(page: str) -> list[Command | tuple[str, str]]:
    """Return the commands to run and the files to write, in the page's order."""
    found: list[Command | tuple[str, str]] = []
    for kind, text in BLOCK.findall(page):
        if kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, *shown = part.splitlines()
                found.append(Command(line, tuple(shown)))
        elif name := NAMED.match(text):
            found.append((name[1], text))
    return found


def shell(line: str, folder: Path, addopts: str = NEEDLESS) -> tuple[int, str]:
    """Run a command line in ``folder`` as a user would; return its exit code and output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTEST_ADDOPTS": addopts,
    }
    done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def follow(
    page: str, folder: Path, instead: Mapping[str, str] | None = None, left_out: Collection[str] = frozenset()
) -> int:
    """Run the commands of a page in ``folder``; return how many were run. ``instead`` maps lines to longer ones with
    the same output; the lines in ``left_out`` are not run.
    """
    assert set(left_out) <= {step.line for step in steps(page) if isinstance(step, Command)}
    count = 0
    for step in steps(page):
        if not isinstance(step, Command):
            name, text = step
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
            continue
        if NOT_HERE.match(step.line) or step.line in left_out:
            continue
        typed = (instead or {}).get(step.line, step.line)
        if "cd " in typed:  # for all that follows
            typed, _, place = typed.partition(" && cd ")
        code, output = shell(typed, folder)
        assert code == int(any("failed" in line for line in step.shown)), f"$ {typed}\n{output}"
        assert [line for line in step.shown if line not in output] == [], f"$ {typed}\n{output}"
        folder = folder / place if "cd " in step.line else folder
        count += 1
    return count


FIRST_RUN = "webarena tasks validate tasks sites.yaml && pytest --run-dir=run --junitxml=junit.xml"
"""What CI runs on a project of `webarena init`: more thorough than ``pytest``, with the same output."""


@pytest.mark.exhaustive
@pytest.mark.browser
@pytest.mark.usefixtures("browser_executable")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("page", "commands"),
    [("tutorial", 7), ("researcher", 3), ("playwright", 1), ("writing-tasks", 2)],
)
def test_commands_of_docs_page_give_documented_output(page: str, commands: int, tmp_path: Path) -> None:
    assert follow((DOCS / f"{page}.md").read_text("utf-8"), tmp_path, {"pytest": FIRST_RUN}) == commands


@pytest.mark.browser
@pytest.mark.usefixtures("browser_executable")
@pytest.mark.timeout(900)
def test_tutorial_commands_give_documented_output(tmp_path: Path) -> None:
    later = {"pytest --agent=agents/mine.yaml", "webarena view", "pytest --audit tasks/basil.yaml"}
    tutorial = (DOCS / "tutorial.md").read_text("utf-8")
    assert follow(tutorial, tmp_path, left_out=later) == 4


def test_documented_workflow_is_the_one_that_init_writes(tmp_path: Path) -> None:
    start_project(tmp_path)
    written = (tmp_path / ".github" / "workflows" / "webarena.yml").read_text("utf-8")
    assert f"```yaml\n{written}```\n" in (DOCS / "ci.md").read_text("utf-8")


@pytest.mark.exhaustive
@pytest.mark.browser
@pytest.mark.usefixtures("browser_executable")
@pytest.mark.timeout(900)
def test_workflow_of_a_new_project_is_green(tmp_path: Path) -> None:
    start_project(tmp_path / "project")
    runner = CiRunner(tmp_path / "project", tmp_path / "temp", {})
    workflow = yaml.safe_load((tmp_path / "project" / ".github" / "workflows" / "webarena.yml").read_text("utf-8"))
    done = runner.github_job(workflow["jobs"]["tasks"])
    assert done.code == 0, done.output
    assert "2 files, 2 tasks: no problems" in done.output
    assert "gate: the thresholds are met" in done.output
    assert "the job has no pull request to comment on" in done.output
    assert "| 2/2 | 100.0%" in runner.summary.read_text()


def test_wrong_documented_output_is_detected(tmp_path: Path) -> None:
    page = "```python\n# made/a.py\nprint('four')\n```\n```console\n$ python made/a.py\n{}\n```\n"
    assert follow(page.format("four"), tmp_path) == 1
    with pytest.raises(AssertionError, match="four"):
        follow(page.format("five"), tmp_path)
    with pytest.raises(AssertionError, match="no-such"):
        follow("```console\n$ no-such-command\n```", tmp_path)
