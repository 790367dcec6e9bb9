"""Points that people gave to the answers of a run, beside those of its judge."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.answers import as_text
from pytest_webarena.checks.verdict import CheckResult, Part, Verdict
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.llm_judge.config import JudgeIdentity
from pytest_webarena.llm_judge.marks import Mark, Marks
from pytest_webarena.llm_judge.rubric_measuring import RubricMeasurement
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.text import clip

__all__ = ["Study", "read_points", "sheet", "study"]

COLUMNS = ("task", "agent", "trial", "browser", "item", "of", "what", "points", "answer")
_NEEDED = ("task", "trial", "item", "points")

Place = tuple[str, str, str, str]
"""Task, trial, agent and browser; the latter are empty where the file does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What came of a comparison."""

    measurement: RubricMeasurement
    left_out: tuple[str, ...]
    """What could not be compared, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Points:
    """One row of the file."""

    line: int
    place: Place
    item: int
    points: float


def sheet(run: RunDir) -> str:
    """A CSV file with a row for each item of each answer that the run's judge graded, for people to fill in."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record, parts in _graded(run):
        key = record.key
        for number, part in enumerate(parts, start=1):
            answer = (as_text(record.answer) or "") if number == 1 else ""
            row = [key.task, key.agent, key.trial, key.browser, number, f"{part.of:g}", part.what, "", answer]
            writer.writerow([_inert(each) if isinstance(each, str) else each for each in row])
    return text.getvalue()


def _inert(text: str) -> str:
    """``text`` that no spreadsheet takes for a formula: answers are hostile."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def read_points(path: Path) -> Sequence[_Points]:
    """Rows of task, trial, item and points. `UsageError` names the first line that can't be used."""
    where = f"points of people {path.name}"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: expected a readable CSV file at {path}: {error}") from None
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    names = {name: (name or "").strip().lower() for name in rows.fieldnames or ()}
    if missing := [name for name in _NEEDED if name not in names.values()]:
        found = ", ".join(map(repr, names.values())) or "none"
        raise UsageError(f"{where}: expected the columns {', '.join(_NEEDED)}; {', '.join(missing)} missing in {found}")
    given: list[_Points] = []
    try:
        for row in rows:
            values = {names[key]: (value or "").strip() for key, value in row.items() if key in names}
            if (points := _row(values, rows.line_num, where)) is not None:
                given.append(points)
    except csv.Error as error:
        raise UsageError(f"{where}, line {rows.line_num}: expected CSV: {error}") from None
    return given


def _row(row: Mapping[str, str], line: int, where: str) -> _Points | None:
    if not row["points"]:
        return None  # not graded
    try:
        item, points = int(row["item"]), float(row["points"].replace(",", "."))
    except ValueError:
        raise UsageError(
            f"{where}, line {line}: expected a number of an item and its points, found "
            f"{clip(row['item'], 20)!r} and {clip(row['points'], 20)!r}"
        ) from None
    place = (row["task"], row["trial"], row.get("agent", ""), row.get("browser", ""))
    return _Points(line=line, place=place, item=item, points=points)


def study(run: RunDir, path: Path) -> Study:
    """The judge's points of a run beside those of people; several people's are averaged. Raises `UsageError`."""
    where = f"points of people {path.name}"
    graded = list(_graded(run))
    if not graded:
        raise UsageError(f"{run.path}: expected trials with rubrics that a judge graded, found none")
    given: dict[tuple[int, int], list[float]] = {}
    for row in read_points(path):
        index = _find(graded, row, where)
        parts = graded[index][1]
        if not 1 <= row.item <= len(parts):
            raise UsageError(f"{where}, line {row.line}: expected an item from 1 to {len(parts)}, found {row.item}")
        if not 0 <= row.points <= parts[row.item - 1].of:
            most = parts[row.item - 1].of
            raise UsageError(f"{where}, line {row.line}: expected 0 to {most:g} points, found {row.points:g}")
        given.setdefault((index, row.item), []).append(row.points)
    marks, abouts, left_out = [], {}, []
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
        abouts[name] = record.key.task
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
            judge=next(iter(identities)), answers=path.name, marks=Marks(marks), abouts=abouts, at=time.time()
        ),
        left_out=tuple(left_out),
    )


def _graded(run: RunDir) -> Iterator[tuple[TrialRecord, Sequence[Part]]]:
    """The trials whose rubrics a judge graded, with the items of all of them."""
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
            f"{where}, line {row.line}: expected one answer, found {len(found)} of task {task!r}, trial {trial}: "
            "say whose in a column 'agent' (and 'browser')"
        )
    tasks = list(dict.fromkeys(record.key.task for record, _ in graded))
    known = f"no trial {trial!r} of it is" if task in tasks else closest(task, tasks)
    raise UsageError(
        f"{where}, line {row.line}: expected an answer that the run's judge graded, found {task!r}; {known}"
    )


def _name(record: TrialRecord) -> str:
    key = record.key
    return f"{key.task}, {key.agent}, trial {key.trial}" + (f", {key.browser}" if key.browser else "")


def _identity(record: TrialRecord) -> JudgeIdentity:
    assert record.judge is not None
    prompts = record.judge.prompt.split(" + ")
    prompt = next((each for each in prompts if each.startswith("rubric@")), prompts[0])
    return JudgeIdentity(model=record.judge.model, prompt=prompt, temperature=record.judge.temperature)
