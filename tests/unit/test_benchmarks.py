"""What benchmarks measure by: the processes of a run are found, whatever these do to their own environment."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.skipif(sys.platform != "linux", reason="benchmarks look into /proc")
def test_a_process_without_the_mark_is_found_by_who_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Chromium's renderers are, which have no environment to be seen."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "processes", raising=False)
    from processes import carrying  # type: ignore[import-not-found]

    mark = uuid.uuid4().hex
    inner = f"{sys.executable} -c 'import os; print(os.getpid(), flush=True); input()'"
    environment = {**os.environ, "MARKED_BY": mark}
    pipe = subprocess.PIPE
    starting = [
        subprocess.Popen(["sh", "-c", words], env=environment, stdin=pipe, stdout=pipe, text=True)
        for words in (f"{inner}; :", f"env -i {inner}; :")
    ]
    with starting[0] as marked, starting[1] as bare:
        assert marked.stdout is not None
        assert bare.stdout is not None
        inside = {int(marked.stdout.readline()), int(bare.stdout.readline())}
        found = carrying("MARKED_BY", mark)
        marked.communicate("\n")
        bare.communicate("\n")
    assert set(found) == {marked.pid, bare.pid, *inside}
    assert len(found) == len(set(found))


def declared_and_read(source: str) -> tuple[set[str], set[str]]:
    """Return the names of the options that ``source`` declares, and those that it reads from parsed arguments."""
    declared, read = set[str](), set[str]()
    parsed = {"options", *re.findall(r"(\w+) = \w+\.parse_args\(", source)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            names = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
            name = next((each for each in names if each.startswith("--")), names[0])
            declared.add(name.lstrip("-").replace("-", "_"))
            declared |= {ast.literal_eval(each.value) for each in node.keywords if each.arg == "dest"}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in parsed:
            read.add(node.attr)
    return declared, (read if "add_argument" in source else set()) - {"add_argument", "parse_args"}


def test_benchmarks_read_only_options_that_some_benchmark_declares() -> None:
    found = {path.name: declared_and_read(path.read_text("utf-8")) for path in BENCHMARKS.glob("*.py")}
    declared = {name for names, _ in found.values() for name in names}
    assert {name: read - declared for name, (_, read) in found.items() if read - declared} == {}


def test_declared_and_read_options_are_found() -> None:
    source = "parser.add_argument('--concurrency')\noptions = parser.parse_args()\nprint(options.wide)\n"
    assert declared_and_read(source) == ({"concurrency"}, {"wide"})


def test_each_rule_of_reading_answers_can_be_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import answers  # type: ignore[import-not-found]

    rows = [
        {"task": "a", "intent": "How many lamps are there?", "want": {"type": "number", "value": 6}, **row}
        for row in ({"answer": "6 lamps", "right": True}, {"answer": "6 dozen", "right": False})
    ]
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setattr("sys.argv", ["answers.py", str(file), "--ablate"])
    assert answers.main() == 0
    output = capsys.readouterr().out
    assert re.search(r"^number +1 +0 +0 +0 +0 +1  95\.0%$", output, re.MULTILINE)
    assert re.search(r"^numbers: what the question counts +1 +-1 ", output, re.MULTILINE)
    assert len(output.splitlines()) == 4 + len(answers.rules())
