"""Mutated files give tasks or located problems, never a traceback, in bounded time.

``WEBARENA_FUZZ=10000 pytest tests/unit/tasks/test_fuzz.py`` runs more of them.
"""

from __future__ import annotations

import os
import random
import re
import time

import pytest
import yaml

from pytest_webarena.errors import Problem, TaskFileError
from pytest_webarena.tasks import nodes, parse_tasks
from pytest_webarena.tasks.reference import examples

from .test_format import DESIGN

ROUNDS = int(os.environ.get("WEBARENA_FUZZ", "1500"))
SEED = int(os.environ.get("WEBARENA_FUZZ_SEED", "20240817"))

SPICE = [
    b"{{ x }}", b"{{", b"}}", b"{% if a %}", b"{% for a in b %}", b"{{ 9 ** 9 ** 9 }}", b"{{ ''.__class__ }}", b"&a ",
    b"*a", b"<<: *a", b"!!python/object:os.system ", b"!x ", b": ", b"- ", b"\n", b"\n  ", b"\t", b"'", b'"', b"[",
    b"]", b"{", b"}", b",", b"#", b"|\n", b">\n", b"~", b"null", b"true", b".nan", b".inf", b"-1", b"1e999",
    b"9" * 5000, b"0x", b"1_000", b"12:30", b"\x00", b"\xff", b"\xc3", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"---\n",
    b"...\n", b"%YAML 1.2\n", b"? ", b"each: {a: {}}", b"tasks:", b"id", b"all: ", b"not: ", b"any_step", b"[" * 100,
    b"{a: " * 80, b"- " * 90, b"(" * 300, b"a" * 3000, b"\\", b"\\ud800", b'"\\ud800"', b'"\\x00"', b"css=", b"role=",
    b"js=", b">>", b"$", b"$[", b"select ", b"'';", b"/*", b"(?P<a", b"a{99999999999}", b"[[a", b"http://[",
    b"http://x:99999999/", b"x:/",
]  # fmt: skip


def corpus() -> list[bytes]:
    anchored = b"x-a: &a {sites: [s]}\ntasks:\n- {id: a, intent: x, <<: *a, checks: [{answer: x}]}\n"
    return [DESIGN.encode(), anchored, *(text.encode() for _, text in examples())]


def mutate(data: bytes, random: random.Random, others: list[bytes]) -> bytes:
    mutated = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(mutated) + 1)
        to = min(len(mutated), at + random.choice((0, 1, 2, 5, 30)))
        kind = random.randrange(7)
        if kind == 0:
            mutated[at:to] = b""
        elif kind == 1:
            mutated[at:at] = random.choice(SPICE)
        elif kind == 2:
            mutated[at:to] = random.choice(SPICE)
        elif kind == 3 and at < len(mutated):
            mutated[at] = random.randrange(256)
        elif kind == 4:
            mutated[at:at] = mutated[at:to] * random.choice((2, 50))
        elif kind == 5:
            other = random.choice(others)
            start = random.randrange(len(other))
            mutated[at:to] = other[start : start + 40]
        else:  # replace one word by another: mistakes in valid YAML
            words = list(re.finditer(rb"[\w./=-]+", bytes(mutated)))
            if words:
                word = random.choice(words)
                mutated[word.start() : word.end()] = random.choice(re.findall(rb"[\w./=-]+", random.choice(others)))
    return bytes(mutated)


def wrong_with(problem: Problem, data: bytes) -> str:
    """Return why a problem is a bad message about ``data``, or an empty string."""
    breaks = len(re.findall(rb"\n|\r|\xe2\x80[\xa8\xa9]|\xc2\x85", data))
    text = str(problem)
    if not (1 <= problem.line <= breaks + 2 and problem.column >= 1):
        return f"nowhere: {text}"
    if not (problem.expected and problem.found) or len(text) > 1000 or not text.isprintable():
        return f"no message: {text!r}"
    text.encode()
    return ""


@pytest.mark.parametrize(("loader", "rounds"), [("CSafeLoader", ROUNDS), ("SafeLoader", ROUNDS // 10)])
def test_mutated_files_give_tasks_or_located_problems(
    loader: str, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "_LOADER", getattr(yaml, loader))
    chance = random.Random(SEED)
    files = corpus()
    good = 0
    slowest = 0.0
    for _ in range(rounds):
        data = mutate(chance.choice(files), chance, files)
        began = time.process_time()
        try:
            parse_tasks(data, sites=["shopping", "homepage"] if chance.random() < 0.5 else None)
            good += 1
        except TaskFileError as error:
            faults = [fault for problem in error.problems if (fault := wrong_with(problem, data))]
            if faults or not error.problems:
                pytest.fail(f"{faults} for {data!r}")
        except Exception as error:
            raise AssertionError(f"{error!r} for {data!r}") from error
        slowest = max(slowest, time.process_time() - began)
    print(f"{rounds} files, {good} of them still right, the slowest took {slowest:.2f} s")
    assert 0 < good < rounds
    assert slowest < 5
