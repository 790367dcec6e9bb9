"""Words that made this project hard to read stay out of messages, help, pages for people and documentation."""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import make_parser

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pytest_webarena"
DROPPED = re.compile(r"\b(told|beside|anew|deeds?|strangers?|by itself)\b", re.IGNORECASE)
ALLOWED: dict[str, int] = {}
"""Files whose strings may have such a word, and how many of them: at most 20 places in all."""
EXAMPLES = ("embedded",)
"""Packages whose texts are content of a small site, which agents read."""


def strings(path: Path) -> Iterator[str]:
    """The string literals of a module that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documentation = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(body := getattr(node, "body", None), list)
        for statement in body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield from [node.value] if " " in node.value.strip() else []  # a name of a field or file is none


def shown(path: Path) -> Iterator[str]:
    """What a file of ours shows to people."""
    text = path.read_text("utf-8")
    if not DROPPED.search(text):  # most files, which then need no parser
        return
    if path.suffix == ".py":
        yield from strings(path)
    elif path.suffix == ".js":
        code = re.sub(r"(?m)(^|\s)//.*$", "", text)
        yield from (literal for literal in re.findall(r'"([^"\n;={}]*)"', code) if " " in literal)
    else:
        yield re.sub(r"<!--.*?-->|<style.*?</style>|<script.*?</script>|```.*?```", "", text, flags=re.DOTALL)


def files() -> Iterator[Path]:
    """Modules, scripts and pages of the package, and the documentation."""
    for suffix in ("py", "js", "html"):
        for path in sorted(PACKAGE.rglob(f"*.{suffix}")):
            if not set(path.relative_to(PACKAGE).parts) & {*EXAMPLES}:
                yield path
    yield from (
        *sorted((ROOT / "docs").glob("*.md")),
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
    )


@pytest.mark.corpus
def test_messages_pages_and_documentation_use_plain_words() -> None:
    found: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for path in files():
        for text in shown(path):
            for match in DROPPED.finditer(text):
                name = path.relative_to(ROOT).as_posix()
                found[name] += 1
                examples.setdefault(name, " ".join(text[max(match.start() - 40, 0) : match.end() + 20].split()))
    over = {name: examples[name] for name, count in found.items() if count > ALLOWED.get(name, 0)}
    assert over == {}, (
        "shared words for these are in the style guide: reported, next to, again, action, new user, alone"
    )
    assert sum(ALLOWED.values()) <= 20
    assert {name for name in ALLOWED if found[name] < ALLOWED[name]} == set(), "take these out of ALLOWED"


def helps(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action._choices_actions:
                yield f"{parser.prog} {each.dest}: {each.help}"
            for command in action.choices.values():
                yield from helps(command)


def test_a_command_is_described_in_at_most_eight_words() -> None:
    lines = dict(line.split(": ", 1) for line in helps(make_parser()))
    assert len(lines) > 40
    assert {name: help for name, help in lines.items() if len(help.split()) > 8} == {}
    assert len([name for name in lines if name.count(" ") == 1]) <= 12


def test_a_dropped_word_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        '"""Told."""\n\n\ndef f():\n    """Anew."""\n    raise ValueError("expected x beside y")\n'
    )
    (tmp_path / "b.js").write_text('// told\nconst told = "a";\nshow("Begin anew now");\n')
    assert [text for text in shown(tmp_path / "a.py") if DROPPED.search(text)] == ["expected x beside y"]
    assert [text for text in shown(tmp_path / "b.js") if DROPPED.search(text)] == ["Begin anew now"]
