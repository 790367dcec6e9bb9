"""Reads problems in ARB's format as tasks without sites: multiple choice, numeric, symbolic and proofs.

ARB (Sawada et al., arXiv 2307.13692) is served as JSON objects whose keys differ between collections in case, spaces
and underscores. They are read leniently; an unknown type of problem is refused with its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.checks.computed.arithmetic import NoNumber
from pytest_webarena.checks.computed.chosen import read_choice
from pytest_webarena.checks.computed.extraction import unwrap
from pytest_webarena.checks.computed.grammar import parse
from pytest_webarena.checks.computed.rubric_files import items_of_text, read_items, read_rubric
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.values import read_number
from pytest_webarena.checks.judge_protocol import RubricItem
from pytest_webarena.errors import UsageError
from pytest_webarena.suites.forms import Form, make_task
from pytest_webarena.suites.rows import Row, TaskRows, parse_json, read_rows
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import clip

__all__ = ["PREFIX", "is_arb", "read_arb"]

PREFIX = "arb:"
"""Prefix for files of this format where suites are named."""

_STATEMENT = ("problemstatement", "problem", "question")
_OPTIONS = ("answercandidates", "answerchoices", "choices", "options")
_ANSWER = ("finalanswer", "answer")
_TYPE = ("problemtype", "answertype", "type")
_SUBJECT = ("subject", "topic", "category")
_SOLUTION = ("solution", "finalanswer", "answer")
_ID = ("id", "problemnumber")
_USED = frozenset(
    (*_STATEMENT, *_OPTIONS, *_ANSWER, *_TYPE, *_SUBJECT, *_SOLUTION, "rubric", "source", "image", "images")
)
"""Keys, folded, whose values are used."""
_LISTS = ("problems", "data", "results", "documents")
"""Keys under which a file may have its problems."""
_KINDS = {"choice": "multiple choice", "number": "numerical", "symbolic": "symbolic", "rubric": "proof"}
_LABEL = re.compile(r"^\s*[(\[]?([A-Za-z])[)\].:]\s+(.+)$", re.DOTALL)
_SHOWN = "multiple choice, numerical, symbolic, proof"


def is_arb(data: bytes, path: str) -> bool:
    """Whether the bytes of a JSON file look like problems of this format, judged by the keys of the first one."""
    if path.endswith(".jsonl"):
        return True
    head = re.sub(rb"[^a-z\":]", b"", data[:20_000].lower())
    return b'"problemstatement":' in head


def read_arb(data: bytes, path: str, name: str, forms: list[Form]) -> tuple[tuple[Task, ...], TaskRows]:
    """Returns the tasks of a file, and its rows with all their problems. ``forms`` receives the plain data."""
    rows = _rows(data, path)
    tasks: list[Task] = []
    known: dict[str, int] = {}
    for row in rows.rows:
        problem = _Problem(rows, row, path)
        form = problem.form(name)
        if form is None:
            continue
        if form["id"] in known:
            rows.note(row.line, 1, "an id used once", f"'{form['id']}' again", f"first in line {known[form['id']]}")
            continue
        known[form["id"]] = row.line
        task = make_task(form, rows, row)
        if task is not None:
            tasks.append(task)
            forms.append(form)
    return tuple(tasks), rows


def _rows(data: bytes, path: str) -> TaskRows:
    """Returns the rows of JSON lines, of a list, of one problem, or of an object with a list of problems."""
    text = data.decode("utf-8-sig", "replace")
    begin = text.lstrip()[:1]
    if begin == "{" and _is_lines(text):
        rows = TaskRows(path, text)
        offset = 0
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                _add(rows, line, offset, number)
            offset += len(line) + 1
        return rows
    if begin == "{":
        try:
            whole = parse_json(text)
        except (ValueError, RecursionError):
            return read_rows(data, path)  # it reports the position of the error
        lists = [key for key in _LISTS if isinstance(whole.get(key), list)]
        if lists:
            rows, inside = TaskRows(path, text), whole[lists[0]]
            if len(lists) > 1:
                named = " and ".join(f"'{key}' ({len(whole[key])} entries)" for key in lists)
                rows.note(1, 1, "one list of problems", f"several, {named}", "put all problems into one of them")
                return rows
            rows.rows = [Row(index, each, 0, 1) for index, each in enumerate(inside) if isinstance(each, dict)]
            if len(rows.rows) < len(inside):
                rows.note(1, 1, "a list of problems, each an object", "something else in it")
            return rows
    return read_rows(data, path)


def _is_lines(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    try:
        return isinstance(json.loads(first), dict) and bool(text.lstrip()[len(first) :].strip())
    except (ValueError, RecursionError):
        return False


def _add(rows: TaskRows, line: str, offset: int, number: int) -> None:
    try:
        found = parse_json(line)
    except (ValueError, RecursionError) as error:
        rows.note(number, 1, "a JSON object in each line", clip(line.strip(), 60), str(error))
        return
    if isinstance(found, dict):
        rows.rows.append(Row(len(rows.rows), found, offset, number))
    else:
        rows.note(number, 1, "a JSON object in each line", clip(line.strip(), 60))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same, written as a number or as a text."""
    return one == other or (not isinstance(one, bool | list | dict) and str(one).strip() == str(other).strip())


def _item(data: Any) -> Any:
    """Returns an item of a rubric with our names of its keys."""
    if isinstance(data, str):
        items = items_of_text(data)
        return {"points": items[0].points, "what": items[0].what} if len(items) == 1 else data
    if not isinstance(data, Mapping):
        return data
    names = {"points": "points", "score": "points", "max": "points", "what": "what"}
    names |= dict.fromkeys(("item", "text", "description", "criterion"), "what")
    return {names.get(str(key).lower(), key): value for key, value in data.items()}


class _Problem:
    """One problem with any spelling of its keys."""

    def __init__(self, rows: TaskRows, row: Row, path: str) -> None:
        self._rows = rows
        self._row = row
        self._path = path
        self._values: dict[str, Any] = {}
        self._twice: tuple[str, str] | None = None
        """Two spellings of one key that have different values, so that the meaning is ambiguous."""
        spelt: dict[str, str] = {}
        for key, value in row.data.items():
            folded = re.sub("[^a-z]", "", key.lower())
            if folded in spelt and folded in _USED and not _same(self._values[folded], value):
                self._twice = self._twice or (spelt[folded], key)
            spelt[folded] = key
            self._values[folded] = value

    def form(self, name: str) -> Form | None:
        """Returns the content of a task file; None, with a problem noted, when the row is faulty."""
        if self._twice is not None:
            one, other = self._twice
            values = (clip(json.dumps(self._row.data[key], ensure_ascii=False), 60) for key in self._twice)
            self._fault(
                f"one value of '{one}' and '{other}', two spellings of one key,",
                " and ".join(values),
                "keep one of them",
            )
            return None
        statement, answer = self._text(_STATEMENT), self._text(_ANSWER)
        if not statement:
            shown = ", ".join(map(repr, list(self._row.data)[:6])) or "no keys"
            self._fault("a problem statement ('Problem_Statement')", f"the keys {clip(shown, 120)}")
            return None
        kind = self._kind()
        if kind is None:
            return None
        images = self._images()
        if images is None:
            return None
        if not answer and kind != "rubric":
            self._fault("a final answer ('Final_Answer')", "none")
            return None
        id = f"{name}.{self._id()}"
        check, said, skip = self._proof(id) if kind == "rubric" else self._check(kind, answer)
        source = {"suite": "arb", "answer": kind}
        if subject := self._text(_SUBJECT):
            source["subject"] = subject
        for key in ("source", "topic"):
            if text := self._text((key,)):
                source.setdefault(key, text)
        if kind == "rubric" and skip and (text := self._text(("rubric",))):
            source["rubric"] = text  # for authors of the items
        form: Form = {
            "id": id,
            "intent": statement,
            "sites": [],
            "checks": [check],
            "source": source,
        }
        if images:
            form |= {"images": images, "tags": ["input-images"]}
        if skip:
            form["skip"] = skip
        elif said:
            form["solution"] = [{"stop": said}]
        return form

    def _check(self, kind: str, answer: str) -> tuple[Form, str, str]:
        """Returns the check, the oracle's answer, and why the problem can't be posed; the last is empty if it can."""
        as_text = {"answer": answer}
        if kind == "choice":
            options = self._options()
            if empty := self._empty_option():
                return as_text, "", empty
            if strange := self._other_letters():
                return as_text, "", f"its options have the letters {strange}, expected A, B, C, … in order"
            letter = read_choice(unwrap(answer), options) if len(options) > 1 else ("", "it has fewer than two options")
            if isinstance(letter, tuple):
                return as_text, "", clip(f"its final answer '{clip(answer, 60)}' names no option: {letter[1]}", 200)
            return {"choice": {"options": options, "is": letter, "marker": True}}, f"ANSWER: {letter}", ""
        if kind == "number":
            try:
                found = read_number(unwrap(answer))
            except NoNumber as error:
                return as_text, "", clip(f"its final answer '{clip(answer, 60)}' is no number: {error}", 200)
            number: Form = {"is": found.written.text, "preset": "arb"}
            if not found.written.value:
                number["abs"] = 0.01
            return {"number": number}, f"ANSWER: {answer}", ""
        try:
            parse(unwrap(answer))
        except Unreadable as error:
            return as_text, "", clip(f"its final answer '{clip(answer, 60)}' is no formula: {error}", 200)
        return {"symbolic": {"equals": unwrap(answer), "marker": True}}, f"ANSWER: {answer}", ""

    def _proof(self, id: str) -> tuple[Form, str, str]:
        """Like `_check` for a proof: with the rubric written for it, else with the one that came with it."""
        solution = self._text(_SOLUTION)
        rubric: Form = {"solution": solution} if solution else {}
        file = Path(self._path).parent / "rubrics" / f"{id}.yaml"
        skip, command = "", f"webarena judge rubric author '{PREFIX}{self._path}::{id}' --model=MODEL"
        try:
            items = read_rubric(file) if file.is_file() else self._items()
        except UsageError as error:
            items, skip = (), clip(str(error), 200)
            if solution and not file.is_file():
                skip += f"; mend it, or {command} writes another one"
        if items:
            rubric["items"] = [{"points": item.points, "what": item.what} for item in items]
        if not rubric:
            rubric = {"solution": "(none is known)"}
            skip = skip or "a proof with neither a rubric nor a solution can't be graded"
        elif not items:
            lacks = "in the rubric of this proof, a text, no items with points can be distinguished"
            lacks = lacks if self._text(("rubric",)) else "the rubric of this proof has no items yet"
            skip = skip or f"{lacks}: {command} writes them"
        return {"rubric": rubric}, solution, skip

    def _items(self) -> tuple[RubricItem, ...]:
        """Returns the items of the problem's own rubric, if they can be read reliably. Raises `UsageError` when it is
        not a text and can't be used."""
        given = next((value for value in self._found(("rubric",)) if value), "")
        if isinstance(given, str):
            return items_of_text(given)
        if isinstance(given, Mapping):
            given = given.get("items") or ()
        return read_items([_item(each) for each in given] if isinstance(given, list) else given, "its rubric")

    def _kind(self) -> str | None:
        said = self._text(_TYPE)
        folded = re.sub("[^a-z]", "", said.lower())
        parts = {"multiple": "choice", "choice": "choice", "numer": "number", "symbol": "symbolic", "proof": "rubric"}
        found = next((kind for part, kind in parts.items() if part in folded), None)
        if found is None and not said:
            place = re.sub("[^a-z]", "", self._path.lower())
            in_name = next((kind for part, kind in parts.items() if part in place and kind != "choice"), None)
            found = "choice" if self._options() else in_name
        if found is None:
            self._fault(f"a problem type: {_SHOWN}", f"'{clip(said, 60)}'" if said else "none ('Problem_Type')")
        return found

    def _options(self) -> list[str]:
        """Returns the options, without their letters if all have one."""
        texts = self._written_options()
        labelled = [match for text in texts if (match := _LABEL.match(text))]
        if texts and len(labelled) == len(texts) and not self._other_letters():
            return [match[2].strip() for match in labelled]
        return texts

    def _other_letters(self) -> str:
        """Returns the options' letters if they differ from their positions; a letter as the final answer would then be
        ambiguous."""
        given: Any = next((self._values[key] for key in _OPTIONS if self._values.get(key)), [])
        texts = self._written_options()
        letters = [match[1].upper() for text in texts if (match := _LABEL.match(text))]
        if isinstance(given, Mapping) and all(re.fullmatch("[A-Za-z]", str(key)) for key in given):
            letters = sorted(str(key).upper() for key in given)
        in_order = [chr(65 + index) for index in range(len(texts))]
        return "" if len(letters) < len(texts) or letters == in_order else ", ".join(letters)

    def _written_options(self) -> list[str]:
        given: Any = next((self._values[key] for key in _OPTIONS if self._values.get(key)), [])
        if isinstance(given, Mapping):
            given = [given[key] for key in sorted(given)]
        if not isinstance(given, Sequence) or isinstance(given, str):
            return []
        return [str(each).strip() for each in given]

    def _empty_option(self) -> str:
        """Returns why the options can't be posed if one of them is empty."""
        given: Any = next((self._values[key] for key in _OPTIONS if self._values.get(key)), [])
        if isinstance(given, Mapping):
            given = [given[key] for key in sorted(given)]
        if not isinstance(given, Sequence) or isinstance(given, str):
            return ""
        for number, each in enumerate(given, start=1):
            if isinstance(each, bool) or not isinstance(each, str | int | float) or not str(each).strip():
                found = clip(json.dumps(each, ensure_ascii=False), 60)
                return f"its option {number} is {found}, expected a text or a number"
        return ""

    def _images(self) -> list[str] | None:
        given = self._values.get("images") or self._values.get("image") or []
        listed = [given] if isinstance(given, str) else given
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            self._fault("a list of image files or addresses in 'Images'", clip(str(given), 60))
            return None
        inside = next((each for each in listed if each.startswith("data:")), None)
        if inside is not None:
            self._fault("an image file next to this one, or an address", clip(inside, 40), "save it as a file")
            return None
        return [each.strip() for each in listed if each.strip()]

    def _id(self) -> str:
        for key in _ID:
            value = self._values.get(key)
            if isinstance(value, Mapping):  # extended JSON of MongoDB
                value = value.get("$oid")
            if isinstance(value, str | int) and (text := re.sub(r"[^A-Za-z0-9._-]+", "-", str(value)).strip("-.")):
                return text
        return str(self._row.index + 1)

    def _text(self, keys: Sequence[str]) -> str:
        for value in self._found(keys):
            if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
                return str(value).strip()
            if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
                return value[0].strip()
        return ""

    def _found(self, keys: Sequence[str]) -> Iterator[Any]:
        return (self._values[key] for key in keys if key in self._values)

    def _fault(self, expected: str, found: str, hint: str = "") -> None:
        self._rows.note(self._row.line, 1, f"{expected} of the problem at position {self._row.index}", found, hint)
