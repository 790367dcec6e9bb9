"""The tutorial and the how-to pages: their files and commands, as they stand, do what the pages say.

A block that begins with the name of a file is written there; each line of a console block that begins with ``$`` is
run, and the lines below it have to be among what it prints. What installs packages or fetches from the network is left
out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.inner import NEEDLESS

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(console|yaml|python|ini)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\S+\.(?:py|yaml|ini))\n")
NOT_HERE = re.compile(r"pip install|playwright install|npx |.*--(?:suite|sites)=webarena\b|webarena sites")


@dataclass(frozen=True, slots=True)
class Command:
    """A line to type, and what the page says it prints."""

    line: str
    shown: tuple[str, ...]


def steps(page: str) -> list[Command | tuple[str, str]]:
    """What to type and which files to write, in the page's order."""
    found: list[Command | tuple[str, str]] = []
    for kind, text in BLOCK.findall(page):
        if kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, *shown = part.splitlines()
                found.append(Command(line, tuple(shown)))
        elif name := NAMED.match(text):
            found.append((name[1], text))
    return found


def follow(page: str, folder: Path) -> int:
    """Do what a page says, in ``folder``; how many commands were run."""
    count = 0
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTEST_ADDOPTS": NEEDLESS,
    }
    for step in steps(page):
        if not isinstance(step, Command):
            name, text = step
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
            continue
        if NOT_HERE.match(step.line):
            continue
        typed = step.line
        if "cd " in typed:  # for all that follows
            typed, _, place = typed.partition(" && cd ")
        done = subprocess.run(
            typed, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        said = done.stdout + done.stderr
        assert done.returncode == int(any("failed" in line for line in step.shown)), f"$ {typed}\n{said}"
        assert [line for line in step.shown if line not in said] == [], f"$ {typed}\n{said}"
        folder = folder / place if "cd " in step.line else folder
        count += 1
    return count


@pytest.mark.browser
@pytest.mark.usefixtures("browser_executable")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("page", "commands"), [("tutorial", 7), ("researcher", 3), ("playwright", 1), ("writing-tasks", 2)]
)
def test_what_a_page_says_is_what_happens(page: str, commands: int, tmp_path: Path) -> None:
    assert follow((DOCS / f"{page}.md").read_text("utf-8"), tmp_path) == commands


def test_a_page_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    page = "```python\n# made/a.py\nprint('four')\n```\n```console\n$ python made/a.py\n{}\n```\n"
    assert follow(page.format("four"), tmp_path) == 1
    with pytest.raises(AssertionError, match="four"):
        follow(page.format("five"), tmp_path)
    with pytest.raises(AssertionError, match="no-such"):
        follow("```console\n$ no-such-command\n```", tmp_path)
