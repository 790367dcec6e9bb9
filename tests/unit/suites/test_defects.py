"""Malformed suite files: each defect gives one message with its location, and never a traceback."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_webarena.errors import Problem, TaskFileError, UsageError
from pytest_webarena.suites.loading import load_suite, read_suite_file
from tests.unit.suites.made import raw, verified, write


def complaints(path: Path) -> list[str]:
    with pytest.raises(TaskFileError) as caught:
        read_suite_file(path)
    return [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems]


def problems(path: Path) -> tuple[Problem, ...]:
    """Return the problems of a file, which may be none."""
    try:
        read_suite_file(path)
    except TaskFileError as error:
        return error.problems
    return ()


def of_row(tmp_path: Path, row: Any) -> list[str]:
    return complaints(write(tmp_path, row))


def without(row: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != key}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (without(raw(3), "intent"), "2:3: expected the key 'intent' of task 3, found an object with sites, task_id, "),
        (without(raw(3), "task_id"), "expected the key 'task_id' of task at position 0"),
        (without(raw(3), "eval"), "expected the key 'eval' of task 3"),
        ({**without(raw(3), "intent"), "intnet": "x"}, "did you mean 'intnet'?"),
        (raw(3, intent=["x"]), "expected text in 'intent' of task 3, found a list of 1"),
        (raw(3, intent="  "), "expected text in 'intent' of task 3, found the text ''"),
        (
            {**raw(), "task_id": "3"},
            "expected a whole number from 0 in 'task_id' of task at position 0, found the text '3'",
        ),
        (raw(True), "found true"),
        (raw(3, sites=[]), "expected a list of texts, at least one in 'sites' of task 3, found an empty list"),
        (raw(3, sites="shopping"), "found the text 'shopping'"),
        (raw(3, sites=["shopping", "shopping"]), "expected each site once in 'sites[1]' of task 3"),
        (raw(3, start_url="__SHOPING__/x"), "(__SHOPPING__) in 'start_url' of task 3, found the text '__SHOPING__/x'"),
        (raw(3, start_url="shopping.com"), "expected addresses that begin with a site of the task"),
        (
            raw(3, eval__eval_types=["string_mach"]),
            "in 'eval.eval_types[0]' of task 3, found the text 'string_mach' (did",
        ),
        (raw(3, eval__eval_types=["string_match"] * 2), "expected each evaluator once in 'eval.eval_types[1]'"),
        (raw(3, eval__eval_types=[]), "at least one in 'eval.eval_types' of task 3, found an empty list"),
        (raw(3, eval__reference_answers=None), "expected an object in 'eval.reference_answers' of task 3, found null"),
        (raw(3, eval__reference_answers={}), "expected a reference answer"),
        (raw(3, eval__reference_answers={"must_inclde": ["x"]}), "found 'must_inclde' (did you mean 'must_include'?)"),
        (raw(3, eval__reference_answers={"must_include": [4.5]}), "must_include[0]' of task 3, found the number 4.5"),
        (
            raw(3, eval__eval_types=["url_match"]),
            "expected text in 'eval.reference_url' of task 3, found an empty text",
        ),
        (
            raw(3, eval__eval_types=["url_match"], eval__reference_url="__SHOPPING__", eval__url_note="ALMOST"),
            "expected 'EXACT' or 'GOLD in PRED' in 'eval.url_note' of task 3, found the text 'ALMOST'",
        ),
        (
            raw(3, eval__eval_types=["program_html"]),
            "at least one in 'eval.program_html' of task 3, found an empty list",
        ),
        (
            raw(3, eval__eval_types=["program_html"], eval__program_html=[{"url": "last", "locator": ""}]),
            "expected the key 'required_contents' in 'eval.program_html[0]' of task 3",
        ),
        (verified(3, eval=[]), "expected a list of objects, at least one in 'eval' of task 3, found an empty list"),
        (verified(3, eval=[{"evaluator": "Guess", "expected": {}}]), "found the text 'Guess'"),
        (verified(3, start_urls="__SHOPPING__"), "expected a list of texts, at least one in 'start_urls' of task 3"),
        (raw(3, eval=[]), "expected an object in 'eval' of task 3, found an empty list"),
        (7, "2:3: expected an object as the 1st task, found the number 7"),
    ],
)
def test_one_defect_gives_one_message(tmp_path: Path, row: Any, complaint: str) -> None:
    (found,) = of_row(tmp_path, row)
    assert complaint in found


def test_every_defect_is_reported_with_its_line(tmp_path: Path) -> None:
    rows = [raw(0), raw(1, intent=5), raw(1), raw(2, sites=[1], start_url=7)]
    path = write(tmp_path, *rows)
    lines = path.read_text().splitlines()
    found = complaints(path)
    assert [text.split(" expected ")[1].split(",")[0] for text in found] == [
        "text in 'intent' of task 1",
        "an id used once in 'task_id' of task 1",
        "text in 'sites[0]' of task 2",
        "text in 'start_url' of task 2",
    ]
    assert lines[int(found[0].split(":")[0]) - 1].strip() == '"intent": 5,'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "1:1: expected a JSON list of tasks, found an empty file"),
        (b"  \n ", "1:1: expected a JSON list of tasks, found an empty file"),
        (b"[]", "1:1: expected at least one task, found an empty list"),
        (b"tasks:\n  - id: a", "1:1: expected a JSON list of tasks, found 'tasks"),
        (b'[{}, {"a": ', "expected valid JSON in the 2nd task, found its end (the file seems to be cut off)"),
        (b'[{"a": "b', "(the file seems to be cut off)"),
        (b"[{}", "expected ',' or ']' after the 1st task, found the end of the file (the file seems to be cut off)"),
        (b"[{} {}]", "expected ',' or ']' after the 1st task, found '{}]'"),
        (b"[{}] x", "expected nothing after the list of tasks, found 'x'"),
        (b"[{'a': 1}]", "expected valid JSON in the 1st task"),
        (b'[{"a": NaN}]', "expected valid JSON in the 1st task, found NaN, which JSON does not have"),
        (b'[{"a": 1, "a": 2}]', "expected each key once in the 1st task, found 'a' again in one object"),
        (b'[{"intent": "\\ud800"}]', "expected text in the 1st task, found the character U+D800"),
        (b'[{"a": "\xff"}]', "expected UTF-8 text, found byte 0xff"),
        (b"[" * 100_000, "levels of nesting in the 1st task"),
        (b'[{"a": ' + b"[" * 60 + b"]" * 60 + b"}]", "expected at most 40 levels of nesting in the 1st task"),
        (b'[{"task_id": ' + b"9" * 5000 + b"}]", "expected valid JSON in the 1st task"),
    ],
)
def test_file_without_a_list_of_tasks_is_refused(tmp_path: Path, text: bytes, complaint: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text)
    assert complaint in complaints(path)[-1]


def test_missing_file_and_unknown_suite_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.json: expected a readable JSON file of tasks, found: no such file"):
        load_suite(str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match=r"found no 'webarean'; did you mean 'webarena'"):
        load_suite("webarean")


def test_hundreds_of_defects_are_counted_rather_than_listed(tmp_path: Path) -> None:
    found = complaints(write(tmp_path, *({"task_id": number} for number in range(100))))
    assert len(found) == 201
    assert found[-1].endswith("expected no further problems, found 100 more")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 10**12) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inner for place in ((*path, key), *_places(item, (*path, key)))]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_anywhere_gives_a_task_or_a_problem(tmp_path: Path, data: st.DataObject) -> None:
    target = {"url": "last", "locator": "", "required_contents": {"must_include": ["a"]}}
    image = {"eval_image_url": "last", "eval_image_class": ".a"}
    rows = [
        raw(
            eval__eval_types=["string_match", "url_match", "program_html", "page_image_query"],
            eval__reference_url="__SHOPPING__/a",
            eval__program_html=[target],
            eval__page_image_query=[image],
        ),
        verified(),
    ]
    row = copy.deepcopy(data.draw(st.sampled_from(rows)))
    *path, last = data.draw(st.sampled_from(_places(row)))
    holder = row
    for key in path:
        holder = holder[key]
    if data.draw(st.booleans()) and isinstance(holder, dict):
        del holder[last]
    else:
        holder[last] = data.draw(_VALUES)
    file = write(tmp_path, row)
    assert all(problem.line >= 1 and problem.expected and problem.found for problem in problems(file))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 10**6), noise=st.binary(max_size=4))
def test_truncated_or_damaged_file_gives_problems(tmp_path: Path, cut: int, noise: bytes) -> None:
    text = json.dumps([raw(0), verified(1)]).encode()
    path = tmp_path / "cut.json"
    place = cut % len(text)
    path.write_bytes(text[:place] + noise + (text[place + 1 :] if noise else b""))
    assert all(len(str(problem)) < 1200 and "Traceback" not in str(problem) for problem in problems(path))
