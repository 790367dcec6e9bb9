"""``webarena judge annotate``: people's verdicts and reasons of failure, added to runs or compared with checks."""

from __future__ import annotations

import argparse
import csv
import io
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from pytest_webarena.checks.judge_protocol import Decision
from pytest_webarena.csv_text import csv_text, plain
from pytest_webarena.error_collector import ErrorCollector
from pytest_webarena.errors import UsageError, closest, writing
from pytest_webarena.evidence import PersonLabel
from pytest_webarena.llm_judge.agreement import Agreement
from pytest_webarena.results.failure_labels import add_labels
from pytest_webarena.results.person_labels import add_label, person_labels, questions_of
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.unreadable import name_damaged
from pytest_webarena.text import clip

__all__ = ["Labelled", "add_arguments", "compare", "read_labels", "sheet"]

COLUMNS = ("task", "agent", "trial", "browser", "label")
_YES = frozenset({"1", "yes", "y", "true", "pass", "passed", "success"})
_NO = frozenset({"0", "no", "n", "false", "fail", "failed", "failure"})
_LONGEST = 10_000_000
"""Size limit of a label file in bytes."""
_LONGEST_NAME = 200
"""Maximum length of a person's name in characters."""

_COMPARED = {
    "key nodes": "all key nodes reached",
    "outcome checks": "all other checks hold",
    "verdict": "the trial passed",
    "verdict with a judge": "the trial passed, and a judge model was asked about it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A trial that a person labelled."""

    record: TrialRecord
    done: bool
    """Whether the person says that the task was done, or answers the question with yes."""
    question: str = ""
    """The question of a check of the kind ``human``; empty for trials without one."""

    def result(self, source: str) -> bool | str | None:
        """Return the result of one of `_COMPARED`: None where it is undecided, "none" where it does not apply.

        Checks that people decide are not compared with people.
        """
        record = self.record
        results = (record.verdict or {}).get("results") or ()
        if self.question and source != "key nodes":
            return "none"
        match source:
            case "key nodes":
                return _holds([each for each in results if each.get("kind") == "key_nodes"])
            case "outcome checks":
                return _holds([each for each in results if each.get("kind") != "key_nodes"])
            case "verdict with a judge" if record.judge is None:
                return "none"
        return None if record.outcome == "error" or record.undecided else record.outcome == "passed"


def _holds(results: Sequence[Mapping[str, Any]]) -> bool | str | None:
    """Whether all results pass: None where one is undecided and none fails, "none" without results."""
    if not results:
        return "none"
    found = [_passed(each) for each in results]
    return False if False in found else None if None in found else True


def _passed(result: Mapping[str, Any]) -> bool | None:
    counts = result.get("counts")
    score = result.get("score") if counts is None else counts
    return None if score is None else score >= 1


def sheet(records: Iterable[TrialRecord]) -> str:
    """Return a CSV file in which people fill in each trial's label: ``yes`` if the task was done, else ``no``.

    Trials with checks of the kind ``human`` have a row for each question.
    """
    rows: list[Sequence[object]] = [[*COLUMNS, "question", "intent", "record"]]
    for record in sorted(records, key=lambda each: each.key):
        key = record.key
        for question in questions_of(record) or [""]:
            cells = (_flat(question), clip(record.intent, 300), f"trials/{key.folder}")
            rows.append([key.task, key.agent, key.trial, key.browser, "", *cells])
    return csv_text(rows)


def _flat(text: str) -> str:
    """Return a text as one line."""
    return " ".join(text.split())


def read_labels(path: Path, records: Sequence[TrialRecord]) -> tuple[Labelled, ...]:
    """Return the trials that a file labels, without rows that have no label.

    Raises `UsageError` that names all bad rows.
    """
    try:
        if path.stat().st_size > _LONGEST:
            raise UsageError(f"{path}: expected a file of at most {_LONGEST // 10**6} MB, found a larger one")
        rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")))
        header = [str(name).strip().lower() for name in rows.fieldnames or ()]
        rows.fieldnames = header
        if missing := {"task", "label"} - set(header):
            raise UsageError(
                f"{path}: expected the columns task and label, found no {' and no '.join(sorted(missing))}"
            )
        found: dict[tuple[TrialKey, str], Labelled] = {}
        errors = ErrorCollector()
        for row in rows:
            with errors.of_one():
                _take(row, f"{path}, line {rows.line_num}", records, found)
    except (OSError, UnicodeError, csv.Error) as error:
        raise UsageError(f"{path}: expected a CSV file with the columns {', '.join(COLUMNS)}, found: {error}") from None
    errors.raise_errors()
    if not found:
        raise UsageError(f"{path}: expected labels (yes or no) of at least one trial, found none")
    return tuple(found.values())


def _take(
    row: Mapping[str, Any],
    where: str,
    records: Sequence[TrialRecord],
    found: dict[tuple[TrialKey, str], Labelled],
) -> None:
    """Add a row's label to ``found``."""
    label = str(row.get("label") or "").strip().lower()
    if not label:
        return
    if label not in _YES | _NO:
        raise UsageError(f"{where}: label: expected yes or no, found {clip(label, 40)!r}")
    record = _find(records, row, where)
    _check_folder(record, str(row.get("record") or ""), where)
    question = _question(record, str(row.get("question") or ""), where)
    known = found.setdefault((record.key, question), Labelled(record=record, done=label in _YES, question=question))
    if known.done != (label in _YES):
        raise UsageError(f"{where}: expected one label for each trial, found another one for {_name(record)}")


def _question(record: TrialRecord, given: str, where: str) -> str:
    """Return the question that a row answers; empty for a trial without one."""
    known = questions_of(record)
    if not given.strip() and len(known) < 2:
        return next(iter(known), "")
    found = [each for each in known if _flat(each) in (_flat(given), plain(_flat(given)))]
    if not found:
        expected = " or ".join(repr(clip(each)) for each in known) or "no question"
        raise UsageError(f"{where}: question: expected {expected} of {_name(record)}, found {clip(given)!r}")
    return found[0]


def _check_folder(record: TrialRecord, given: str, where: str) -> None:
    """Raise `UsageError` if a row names the folder of another trial than its other columns."""
    known = f"trials/{record.key.folder}"
    if (found := given.strip()) and plain(found) not in (known, f"trials/{record.key.older_folder}"):
        raise UsageError(f"{where}: record: expected {known!r} of {_name(record)}, found {clip(given, 200)!r}")


def _find(records: Sequence[TrialRecord], row: Mapping[str, Any], where: str) -> TrialRecord:
    wanted = {name: plain(str(row.get(name) or "").strip()) for name in ("task", "agent", "trial", "browser")}
    found = [
        record
        for record in records
        if all(not value or str(getattr(record.key, name)) == value for name, value in wanted.items())
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{where}: expected one trial, found {len(found)} of task {wanted['task']!r}: "
            "choose one with the columns agent, trial and browser"
        )
    tasks = list(dict.fromkeys(record.key.task for record in records))
    known = "no such trial of it" if wanted["task"] in tasks else closest(wanted["task"], tasks)
    raise UsageError(f"{where}: expected a trial of the run, found task {wanted['task']!r}; {known}")


def compare(labelled: Sequence[Labelled]) -> dict[str, Agreement]:
    """Return the agreement of each of `_COMPARED` with people, over the trials to which it applies."""
    found = {}
    for source in _COMPARED:
        pairs = [(each.done, result) for each in labelled if (result := each.result(source)) != "none"]
        if pairs:
            found[source] = Agreement((_decision(done), _decision(result)) for done, result in pairs)  # type: ignore[misc]
    return found


def _decision(holds: bool | str | None) -> Decision | None:
    return None if holds is None else "correct" if holds else "incorrect"


def disagreements(labelled: Sequence[Labelled]) -> list[Labelled]:
    """Return the trials in which key nodes and outcome checks have opposite results."""
    return [
        each for each in labelled if {each.result("key nodes"), each.result("outcome checks")} == {True, False}
    ]  # undecided or missing results are not opposites


def _name(record: TrialRecord) -> str:
    browser = f", {record.key.browser}" if record.key.browser != "chromium" else ""
    return f"{record.key.task}, {record.key.agent}, trial {record.key.trial}{browser}"


def _report(labelled: Sequence[Labelled]) -> Iterator[str]:
    done = sum(each.done for each in labelled)
    yield f"{len(labelled)} labelled trials; people marked {done} as done"
    yield ""
    head = f"{'trials':>7}{'kappa':>8}{'accuracy':>10}{'precision':>11}{'recall':>8}{'open':>6}"
    yield f"{'agreement with people':<24}{head}"
    for source, agreement in compare(labelled).items():
        kappa = "–" if agreement.kappa is None else f"{agreement.kappa:.2f}"
        shares = [agreement.accuracy, agreement.precision, agreement.recall]
        accuracy, precision, recall = ("–" if each.value is None else f"{each.value:.0%}" for each in shares)
        cells = f"{len(agreement.pairs):>7}{kappa:>8}{accuracy:>10}{precision:>11}{recall:>8}{agreement.unreadable:>6}"
        yield f"{source:<24}{cells}"
    yield "  precision: share of passes that people marked done; recall: share of trials marked done that pass;"
    yield "  open: undecided trials; they count as disagreement."
    opposed = disagreements(labelled)
    if opposed:
        yield ""
        yield "key nodes and outcome checks disagree:"
    for each in opposed:
        nodes = "reached" if each.result("key nodes") else "not reached"
        people = "done" if each.done else "not done"
        yield f"  {_name(each.record)}: key nodes {nodes}, people say {people}"


def _as_json(labelled: Sequence[Labelled]) -> str:
    data = {
        "schema_version": 1,
        "trials": len(labelled),
        "done": sum(each.done for each in labelled),
        "agreement": {
            source: {
                "trials": len(each.pairs),
                "kappa": each.kappa,
                "kappa95": list(each.kappa_interval),
                "accuracy": each.accuracy.value,
                "precision": each.precision.value,
                "recall": each.recall.value,
                "open": each.unreadable,
            }
            for source, each in compare(labelled).items()
        },
        "disagreements": [
            {"trial": _name(each.record), "key_nodes": each.result("key nodes"), "people": each.done}
            for each in disagreements(labelled)
        ],
    }
    return json.dumps(data, indent=1)


# --- webarena judge annotate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    empty = commands.add_parser("sheet", help="write a CSV file for people's verdicts")
    empty.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    empty.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: RUN_DIR/labels.csv")
    empty.set_defaults(run=_sheet)
    comparing = commands.add_parser("compare", help="compare people's labels with checks and verdicts")
    comparing.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    comparing.add_argument("labels", type=Path, metavar="CSV", help="columns task, agent, trial, browser, label")
    comparing.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    comparing.set_defaults(run=_compare)
    adding = commands.add_parser("add", help="add people's verdicts or reasons to a run")
    adding.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    adding.add_argument("labels", type=Path, metavar="FILE", help="a sheet (.csv), or labels.jsonl of the viewer")
    adding.add_argument("--by", default="", metavar="NAME", help="the person who filled in the sheet")
    adding.set_defaults(run=_add)


def _sheet(options: argparse.Namespace) -> int:
    target = options.output or options.run_dir / "labels.csv"
    text = sheet(RunDir(options.run_dir).finished())
    with writing(target):
        target.write_text(text, encoding="utf-8", errors="replace")
    print(
        f"{target}: fill in the column 'label' (yes, no), then run"
        f"\n  webarena judge annotate compare {options.run_dir} {target}    # how far checks agree with it"
        f"\n  webarena judge annotate add {options.run_dir} {target} --by NAME    # if people decide the task"
    )
    return 0


def _add(options: argparse.Namespace) -> int:
    if options.labels.suffix.lower() == ".csv":
        return _add_verdicts(options)
    if options.by:
        raise UsageError(f"--by: expected a sheet (.csv), found {options.labels}, whose lines name their authors")
    run = RunDir(options.run_dir)
    run.facts()  # raises if it is not a run
    code = name_damaged(run, run.read())
    labels = add_labels(run, options.labels)
    people = ", ".join(dict.fromkeys(each.by for each in labels))
    trials = len({each.trial for each in labels})
    text = f"{trials} failed trial{'s' * (trials != 1)} labelled by {people}"
    print(f"{text}: webarena compare tables {options.run_dir} counts them")
    return code


def _add_verdicts(options: argparse.Namespace) -> int:
    by = " ".join(options.by.split())
    if not by or len(by) > _LONGEST_NAME:
        raise UsageError(f"--by: expected the name of the person who filled in the sheet, found {clip(by)!r}")
    run = RunDir(options.run_dir)
    labelled = read_labels(options.labels, run.finished())
    asked = [each for each in labelled if each.question]
    if not asked:
        raise UsageError(f"{options.labels}: expected labels of trials with a check 'human', found other trials only")
    now = round(time.time(), 3)
    for each in asked:
        label = PersonLabel(question=each.question, done=each.done, by=by, at=now)
        add_label(run.folder(each.record.key).path, each.record, label)
    labels = f"{len(asked)} label{'s' * (len(asked) != 1)} of {clip(by)}"
    print(f"{labels}: pytest --rescore={options.run_dir} judges by them")
    if others := len(labelled) - len(asked):
        print(f"left out: {others} of trials without a check 'human'; 'compare' counts them")
    print(*_between_people(run), sep="", end="")
    return 0


def _between_people(run: RunDir) -> Iterator[str]:
    """Yield a line for each two people who labelled the same trials: how far they agree."""
    labels: dict[str, dict[tuple[TrialKey, str], Decision]] = {}
    for record in run.records():
        for each in person_labels(run.folder(record.key).path, record):
            decision: Decision = "correct" if each.done else "incorrect"
            labels.setdefault(each.by, {})[record.key, each.question] = decision
    for one, other in combinations(sorted(labels), 2):
        if both := labels[one].keys() & labels[other].keys():
            found = Agreement((labels[one][key], labels[other][key]) for key in both)
            kappa = "–" if found.kappa is None else f"{found.kappa:.2f}"
            equal = found.accuracy
            yield f"{clip(one)} and {clip(other)}: {equal.some} of {equal.of} labels agree, kappa {kappa}\n"


def _compare(options: argparse.Namespace) -> int:
    labelled = read_labels(options.labels, RunDir(options.run_dir).finished())
    print(_as_json(labelled) if options.format == "json" else "\n".join(_report(labelled)))
    return 0
