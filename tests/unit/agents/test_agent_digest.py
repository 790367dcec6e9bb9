"""Agent digests: which files they cover. Equal digests must mean the same agent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.agents import resolve_agent
from pytest_webarena.agents.code import imported_files
from pytest_webarena.errors import UsageError

ACT = """
class Mine:
    def act(self, observation):
        return "stop []"
"""
DRIVE = """
def drive(task, cdp_url):
    return ""
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path; its modules are removed afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def write(project: Path, **files: str) -> None:
    """Write modules: ``a__b="x"`` becomes ``a/b.py``."""
    for name, text in files.items():
        file = project / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def names(project: Path, file: str, module: str = "") -> list[str]:
    return [path.relative_to(project.resolve()).as_posix() for path in imported_files(project / file, module)]


def test_imported_files_follows_every_form_of_import(project: Path) -> None:
    write(
        project,
        bot__main="from bot import plan\nfrom .tools import click as c\nfrom . import words\n"
        "import json, pytest, jinja2\ndef act():\n    import late\n    __import__('built')\n"
        "    importlib.import_module('named.inner')\n" + ACT,
        bot__plan="import bot.deep.x",
        bot__deep__x="",
        bot__tools__click="from ...nowhere import y\nfrom ..words import z",
        bot__words="class",  # invalid Python
        bot__unused="",
        late="import bot.main",  # a circular import
        built="",
        named__inner="",
        other="",
    )
    for package in ("bot", "bot/tools"):
        (project / package / "__init__.py").write_text("")
    assert names(project, "bot/main.py", "bot.main") == [
        "bot/main.py",
        "bot/__init__.py",
        "bot/deep/x.py",
        "bot/plan.py",
        "bot/tools/__init__.py",
        "bot/tools/click.py",
        "bot/words.py",
        "built.py",
        "late.py",
        "named/inner.py",
    ]
    assert names(project, "other.py") == ["other.py"]


def test_imported_files_does_not_execute_modules(project: Path) -> None:
    write(project, a="import b.c", b__c="raise SystemExit")
    (project / "b" / "__init__.py").write_text("raise SystemExit")
    assert names(project, "a.py") == ["a.py", "b/__init__.py", "b/c.py"]


def test_installed_agent_covers_only_its_own_package(project: Path) -> None:
    place = project / "site-packages"
    sys.path.insert(0, str(place))
    try:
        write(place, theirs__agent="import theirs.help, foreign", theirs__help="", foreign="")
        assert names(project, "site-packages/theirs/agent.py", "theirs.agent") == [
            "site-packages/theirs/agent.py",
            "site-packages/theirs/help.py",
        ]
    finally:
        sys.path.remove(str(place))


@pytest.mark.parametrize(
    ("agent", "changed"),
    [
        ("bot.main:Mine", "help.py"),
        ("main.py:Mine", "help.py"),
        ("python.yaml", "help.py"),
        ("python.yaml", "words.txt"),
        ("python.yaml", "data/deep/more.json"),
        ("cdp.yaml", "help.py"),
        ("cdp.yaml", "words.txt"),
        ("process.yaml", "agent.mjs"),
        ("process.yaml", "data/deep/more.json"),
        ("script.yaml", "elsewhere/agent.py"),
        ("script.yaml", "elsewhere/beside.py"),
        ("model.yaml", "prompt.j2"),
        ("replay.yaml", "run/trials/t/attempt-1/steps.jsonl"),
    ],
)
def test_digest_changes_when_a_file_of_the_agent_changes(project: Path, agent: str, changed: str) -> None:
    def add(name: str, text: str) -> None:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)

    add("bot/main.py", f"import help\n{ACT}")
    add("main.py", f"def later():\n    from help import me\n{ACT}{DRIVE}")
    add("help.py", "")
    add("words.txt", "")
    add("data/deep/more.json", "")
    add("agent.mjs", "")
    add("elsewhere/agent.py", "import beside")
    add("elsewhere/beside.py", "")
    add("prompt.j2", "--- system\nhi\n--- user\n{{ observation }}")
    add("run/run.json", "{}")
    add("run/trials/t/attempt-1/steps.jsonl", "{}")
    add("python.yaml", "python: main.py:Mine\nfiles: [words.txt, data]\n")
    add("cdp.yaml", "kind: cdp\npython: main.py:drive\nfiles: [words.txt]\n")
    add("process.yaml", "kind: process\ncommand: [node, ./agent.mjs]\nfiles: [data]\n")
    add("script.yaml", f"kind: process\ncommand: [{sys.executable}, {project}/elsewhere/agent.py]\n")
    add("model.yaml", "kind: model\nmodel: m\nprompt: prompt.j2\n")
    add("replay.yaml", "kind: replay\nrun: run\n")
    before = resolve_agent(agent).digest
    assert resolve_agent(agent).digest == before
    (project / changed).write_text((project / changed).read_text() + "\n# mended")
    assert resolve_agent(agent).digest != before


def test_digest_ignores_description_and_comments(project: Path) -> None:
    write(project, main=ACT)
    digests = set()
    for text in ("", "description: one\n", "# a comment\ndescription: two\n"):
        (project / "mine.yaml").write_text(f"python: main.py:Mine\n{text}")
        digests.add(resolve_agent("mine.yaml").digest)
    assert len(digests) == 1


def test_missing_file_of_an_agent_is_a_usage_error(project: Path) -> None:
    write(project, main=ACT)
    (project / "mine.yaml").write_text("python: main.py:Mine\nfiles: [gone.txt]\n")
    with pytest.raises(UsageError, match=r"files: expected a file or folder at .*gone\.txt, found none"):
        resolve_agent("mine.yaml")
