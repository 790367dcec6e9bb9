"""Points that people gave to a run's answers: the sheet to fill in, and the comparison with the judge's points."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.answers import as_text
from pytest_webarena.checks.verdict import CheckResult, Part, Verdict
from pytest_webarena.csv_text import csv_text, plain
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.llm_judge.config import JudgeIdentity
from pytest_webarena.llm_judge.judge import LONGEST
from pytest_webarena.llm_judge.point_agreement import Mark, Marks
from pytest_webarena.llm_judge.rubric_measuring import RubricMeasurement
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.text import clip

__all__ = ["Study", "read_points", "sheet", "study"]

COLUMNS = ("task", "agent", "trial", "browser", "item", "of", "what", "points", "answer", "digest")
_NEEDED = ("task", "trial", "item", "points", "digest")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,6}(?:\.[0-9]{0,6})?|\.[0-9]{1,6})")

Place = tuple[str, str, str, str]
"""Task, trial, agent and browser; the latter two are empty where the file does not have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Result of a comparison."""

    measurement: RubricMeasurement
    left_out: tuple[str, ...]
    """What could not be compared, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Points:
    """One row of the file."""

    line: int
    """Number of the row in a spreadsheet."""
    place: Place
    item: int
    points: float
    grader: str
    """The person who gave the points; empty where the file does not say."""
    digest: str


def sheet(run: RunDir) -> str:
    """Return a CSV file for people to fill in, with a row for each item of each answer that the run's judge graded."""
    rows: list[Sequence[object]] = [COLUMNS]
    for record, parts in _graded(run):
        key = record.key
        for number, part in enumerate(parts, start=1):
            answer = _shown(as_text(record.answer) or "") if number == 1 else ""
            digest = _digest(record, number, part)
            row = [key.task, key.agent, key.trial, key.browser, number, f"{part.of:g}", part.what, "", answer, digest]
            rows.append(row)
    return csv_text(rows)


def _shown(answer: str) -> str:
    """The part of an answer that its judge was shown."""
    return answer if len(answer) <= LONGEST else f"{answer[:LONGEST]} […] (cut here, as for the judge)"


def _digest(record: TrialRecord, number: int, part: Part) -> str:
    """A digest of what was graded, which changes with the task, the answer and the item.

    It begins with a letter, because a spreadsheet might read it as a number otherwise.
    """
    what = [record.key.task, record.intent, as_text(record.answer) or "", number, part.of, part.what]
    return f"d{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]}"


def read_points(path: Path) -> Sequence[_Points]:
    """Read the rows that have points. Raises `UsageError` that names the first line that can't be used."""
    where = f"points of people {path.name}"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: expected a readable CSV file at {path}: {error}") from None
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    head = [(name or "").strip().lower() for name in rows.fieldnames or ()]
    names = dict(zip(rows.fieldnames or (), head, strict=True))
    if missing := [name for name in _NEEDED if name not in names.values()]:
        found = ", ".join(map(repr, names.values())) or "none"
        raise UsageError(
            f"{where}: expected the columns {', '.join(_NEEDED)}, as 'webarena judge rubric sheet' writes them, with "
            f"commas between; {', '.join(missing)} missing in {found}"
        )
    if twice := [name for name in (*_NEEDED, "agent", "browser", "grader") if head.count(name) > 1]:
        raise UsageError(f"{where}: expected each column once, found several of {', '.join(twice)}")
    given: list[_Points] = []
    try:
        for number, row in enumerate(rows, start=2):
            if None in row:
                raise UsageError(
                    f"{where}, row {number}: expected {len(head)} cells as in the first line, found "
                    f"{len(head) + len(row[None])}; numbers have a decimal point, such as 2.5"
                )
            values = {names[key]: (value or "").strip() for key, value in row.items() if key in names}
            if (points := _row(values, number, where)) is not None:
                given.append(points)
    except csv.Error as error:
        raise UsageError(f"{where}, line {rows.line_num}: expected CSV: {error}") from None
    return given


def _row(row: Mapping[str, str], line: int, where: str) -> _Points | None:
    if not row["points"]:
        return None  # not graded by a person
    if not re.fullmatch(r"[0-9]{1,4}", row["item"]):
        raise UsageError(f"{where}, row {line}: expected the number of an item, found {clip(row['item'], 20)!r}")
    if not _NUMBER.fullmatch(row["points"]):
        raise UsageError(
            f"{where}, row {line}: expected points as a number with a decimal point, such as 2.5, found "
            f"{clip(row['points'], 20)!r}"
        )
    task, trial, agent, browser = (plain(row.get(name, "")) for name in ("task", "trial", "agent", "browser"))
    return _Points(
        line=line,
        place=(task, trial, agent, browser),
        item=int(row["item"]),
        points=float(row["points"]),
        grader=row.get("grader", ""),
        digest=row["digest"],
    )


def study(run: RunDir, path: Path) -> Study:
    """Compare the judge's points of a run with those of people, averaged over several people.

    Raises `UsageError` for a file that can't be used, and when people graded something else than the run contains.
    """
    where = f"points of people {path.name}"
    graded = list(_graded(run))
    if not graded:
        raise UsageError(f"{run.path}: expected trials with rubrics that a judge graded, found none")
    given: dict[tuple[int, int], list[float]] = {}
    lines: dict[tuple[int, int, str], int] = {}
    others: list[int] = []
    for row in read_points(path):
        index = _find(graded, row, where)
        parts = graded[index][1]
        if not 1 <= row.item <= len(parts):
            raise UsageError(f"{where}, row {row.line}: expected an item from 1 to {len(parts)}, found {row.item}")
        if not 0 <= row.points <= parts[row.item - 1].of:
            most = parts[row.item - 1].of
            raise UsageError(f"{where}, row {row.line}: expected 0 to {most:g} points, found {row.points:g}")
        if row.digest != _digest(graded[index][0], row.item, parts[row.item - 1]):
            others.append(row.line)
        if (first := lines.setdefault((index, row.item, row.grader), row.line)) != row.line:
            raise UsageError(
                f"{where}, row {row.line}: expected each item of an answer once, found item {row.item} of "
                f"{_name(graded[index][0])} on row {first} too; points of several people need a column 'grader' "
                "with their names"
            )
        given.setdefault((index, row.item), []).append(row.points)
    if others:
        raise UsageError(
            f"{where}: expected points for the answers and items of {run.path}, found points for others on "
            f"row{'s' * (len(others) > 1)} {clip(', '.join(map(str, others)), 200)}: their 'digest' is not that of "
            "the task, the answer and the item as they are there; 'webarena judge rubric sheet' writes one for this run"
        )
    marks, subjects, left_out = [], {}, []
    identities: dict[JudgeIdentity, None] = {}
    for index, (record, parts) in enumerate(graded):
        name = _name(record)
        points = [given.get((index, number)) for number in range(1, len(parts) + 1)]
        if None in points:
            some = any(points)
            if some or any(given):
                left_out.append(f"{name}: {'some items' if some else 'no item'} graded by people")
            continue
        identities[_identity(record)] = None
        subjects[name] = record.key.task
        for number, (part, people) in enumerate(zip(parts, points, strict=True), start=1):
            assert people is not None
            item = f"{record.key.task}, item {number}"
            human = sum(people) / len(people)
            marks.append(Mark(answer=name, item=item, of=part.of, human=human, judge=part.points))
    if not marks:
        raise UsageError(f"{where}: expected points for all items of at least one answer, found none")
    if len(identities) > 1:
        raise UsageError(f"{run.path}: expected one judge, found {'; '.join(map(str, identities))}")
    return Study(
        measurement=RubricMeasurement(
            judge=next(iter(identities)), answers=path.name, marks=Marks(marks), subjects=subjects, at=time.time()
        ),
        left_out=tuple(left_out),
    )


def _graded(run: RunDir) -> Iterator[tuple[TrialRecord, Sequence[Part]]]:
    """Yield the trials whose rubrics a judge graded, with the items of all their rubrics."""
    for record in sorted(run.read().records, key=lambda each: (each.key.task, each.key.agent, each.key.trial)):
        if record.verdict is None or record.judge is None:
            continue
        results = Verdict.from_json(record.verdict).results
        parts = [part for result in results for leaf in _rubrics(result) for part in leaf.parts]
        if parts:
            yield record, parts


def _rubrics(result: CheckResult) -> Iterator[CheckResult]:
    return (each for _, each in result.walk() if each.kind == "rubric")


def _find(graded: Sequence[tuple[TrialRecord, Any]], row: _Points, where: str) -> int:
    task, trial, agent, browser = row.place
    found = [
        index
        for index, (record, _) in enumerate(graded)
        if record.key.task == task
        and str(record.key.trial) == trial
        and agent in ("", record.key.agent)
        and browser in ("", record.key.browser)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{where}, row {row.line}: expected one answer, found {len(found)} of task {task!r}, trial {trial}: "
            "name the agent in a column 'agent' (and 'browser')"
        )
    tasks = list(dict.fromkeys(record.key.task for record, _ in graded))
    known = f"no trial {trial!r} of it is" if task in tasks else closest(task, tasks)
    raise UsageError(
        f"{where}, row {row.line}: expected an answer that the run's judge graded, found {task!r}; {known}"
    )


def _name(record: TrialRecord) -> str:
    key = record.key
    return f"{key.task}, {key.agent}, trial {key.trial}" + (f", {key.browser}" if key.browser else "")


def _identity(record: TrialRecord) -> JudgeIdentity:
    assert record.judge is not None
    prompts = record.judge.prompt.split(" + ")
    prompt = next((each for each in prompts if each.startswith("rubric@")), prompts[0])
    return JudgeIdentity(model=record.judge.model, prompt=prompt, temperature=record.judge.temperature)
