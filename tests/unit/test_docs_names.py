"""What the documentation tells readers to type is there: options, commands, settings, variables, modules, files."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import make_parser
from pytest_webarena.plugin import fixtures
from pytest_webarena.plugin.options import INI_KEYS
from tests.cases import each_case

pytestmark = pytest.mark.corpus

ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"^```(?!html|js)\w*[^\n]*\n(.*?)^```$|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_FILE = re.compile(r"(?<![\w/.~-])(?:tests/(?!data)|benchmarks/|scripts/|pytest_webarena/(?=[a-z])|examples/)[\w./-]+")
_LATER = re.compile(r"[A-Z]{3}|/lostfound/")
"""Of the names of files that a page has its readers write."""
_OF_OTHERS = {
    "--junitxml": "pytest, whose help has --junit-xml",
    "--enable-auto-tool-choice": "vLLM",
    "--tool-call-parser": "vLLM",
    "--output-format": "Claude Code",
    "--network": "Docker",
    "--single-file": "wget",
    "--num-cpus": "ray start",
    "--no-deps": "pip",
    "--option": "whatever option there is",
}
"""Options of other programs that stand by themselves on a page."""
_MODULES_OF_OTHERS = {"webarena_library", "webarena_verified"}


def pages() -> list[Path]:
    """Everything that readers are given, but for the log of changes, which also tells of what was."""
    named = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]
    return [*named, ROOT / "pytest_webarena/embedded/README.md", *sorted((ROOT / "docs").glob("*.md"))]


def typed(text: str) -> Iterator[str]:
    """The lines of code in a page: of its blocks, and what stands between backticks."""
    for block, span in _CODE.findall(text.replace("\\|", "|")):
        yield from block.replace("\\\n", " ").splitlines() if block else [span]


def calls(line: str, program: str) -> Iterator[list[str]]:
    """The words behind ``program`` where a line calls it."""
    for part in re.split(r"&&|;|\s\|\s", re.split(r"(?:^|\s)#\s", line)[0]):
        found = re.match(rf"^(?:[$>]|- run:|.*\s)?\s*(?:[A-Z_]+=\S* )*(?:python -m )?{program} (.+)$", part.strip())
        if found:
            own = re.sub(r'"[^"-][^"]*"', "TEXT", found[1])  # a quoted command has the options of another program
            yield re.findall(r"[^\s\[\]()'\",]+", own)


@cache
def pytest_options() -> frozenset[str]:
    """All that pytest knows with every plugin that is installed here."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--help", "-c", "/dev/null"], capture_output=True, text=True, check=True
    )
    return frozenset(_OPTION.findall(done.stdout))


@cache
def own_options() -> frozenset[str]:
    """All that commands of ours know, and the programs that measure."""
    commands = {option for _, each in all_commands(make_parser()) for option in each._option_string_actions}
    measuring = "".join(path.read_text("utf-8") for path in (ROOT / "benchmarks").glob("*.py"))
    return frozenset({*commands, *_OPTION.findall(measuring)})


@cache
def whole_parser() -> argparse.ArgumentParser:
    return make_parser()


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def all_commands(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for word, below in subcommands(parser).items():
        yield from all_commands(below, f"{name} {word}".strip())


def wrong_call(words: list[str]) -> str:
    """What a call of ``webarena`` names that is not there; empty when all of it is."""
    parsers = [whole_parser()]
    while words and (known := subcommands(parsers[0])):
        named = [name for name in words[0].split("|") if name not in ("…", "COMMAND")]
        if not named:
            return ""
        if unknown := [name for name in named if name not in known]:
            return f"no command {unknown[0]}"
        parsers, words = [known[name] for name in named], words[1:]
    known_options = {option for parser in parsers for option in parser._option_string_actions}
    unknown = [each for word in words for each in _OPTION.findall(word) if each not in known_options]
    return f"no option {unknown[0]}" if unknown else ""


def wrong(text: str) -> list[str]:
    """What a page names that is not there."""
    return [f"{why} in: {line.strip()}" for line in typed(text) for why in _wrong_line(line.strip())]


def _wrong_line(line: str) -> Iterator[str]:
    for words in calls(line, "webarena"):
        if why := wrong_call(words):
            yield why
    for words in calls(line, "pytest"):
        known_options = pytest_options() | _OF_OTHERS.keys()
        yield from (
            f"no option {each}" for word in words for each in _OPTION.findall(word) if each not in known_options
        )
    if line.startswith("--"):
        everywhere = pytest_options() | own_options() | _OF_OTHERS.keys()
        yield from (f"no option {each}" for each in _OPTION.findall(line) if each not in everywhere)
    for module in re.findall(r"python -m (pytest_webarena[\w.]*)", line):
        path = ROOT / module.replace(".", "/")
        if not (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()):
            yield f"no module {module}"
    for name in _FILE.findall(line):
        if not _LATER.search(name) and not list(ROOT.glob(name.rstrip("./"))):
            yield f"no file {name}"
    for key in re.findall(r"\bwebarena_[a-z_]+\b", line):
        known = key.removeprefix("webarena_") in {name for name, _, _ in INI_KEYS} or hasattr(fixtures, key)
        if not known and key not in _MODULES_OF_OTHERS:
            yield f"no setting or fixture {key}"
    for variable in re.findall(r"\bWEBARENA_[A-Z_]+\b", line):
        if variable not in variables():
            yield f"no variable {variable}"


@cache
def variables() -> frozenset[str]:
    """Environment variables that code of ours reads."""
    found = subprocess.run(
        ["git", "-C", str(ROOT), "grep", "-ohIE", "WEBARENA_[A-Z_]+", "--", "*.py", "*.sh", "scripts", ".ci",
         "Makefile", "pytest_webarena", ":!tests/unit/test_docs_names.py"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return frozenset(found.stdout.split())


@each_case("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_on_pages_exist(page: Path) -> None:
    assert wrong(page.read_text("utf-8")) == []


def test_every_command_is_on_the_page_of_commands() -> None:
    text = (ROOT / "docs" / "options.md").read_text("utf-8").partition("## Commands")[2].replace("\\|", "|")
    documented = {word for words in re.findall(r"`webarena ([a-z|-]+)", text) for word in words.split("|")}
    assert [
        name for name, _ in all_commands(make_parser()) if name and not documented.issuperset(name.split()[:1])
    ] == []


@each_case(
    ("line", "why"),
    [
        ("`pytest tasks --agent=oracle -n 2`", ""),
        ("`pytest tasks --agents=oracle`", "no option --agents"),
        ("`--no-such-option`", "no option --no-such-option"),
        ("```sh\n$ webarena view run --open  # and look\n```", ""),
        ("`webarena look run`", "no command look"),
        ("`webarena sites up|look`", "no command look"),
        ("`webarena view run --close`", "no option --close"),
        ("```sh\npython -m pytest_webarena.no_such\n```", "no module pytest_webarena.no_such"),
        ("`benchmarks/no_such.py`", "no file benchmarks/no_such.py"),
        ("`webarena_no_such = 1`", "no setting or fixture webarena_no_such"),
        ("`WEBARENA_NO_SUCH_THING=1`", "no variable WEBARENA_NO_SUCH_THING"),
        ("`somebody --else`", ""),
    ],
)
def test_what_is_not_there_is_noticed(line: str, why: str) -> None:
    assert [each.partition(" in: ")[0] for each in wrong(line)] == [why] * bool(why)
