"""``webarena judge annotate``: people's labels and reasons of failure, compared with checks and key nodes."""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.checks.judge_protocol import Decision
from pytest_webarena.error_collector import ErrorCollector
from pytest_webarena.errors import UsageError, closest, writing
from pytest_webarena.llm_judge.agreement import Agreement
from pytest_webarena.results.failure_labels import add_labels
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
    """Whether the person says that the task was done."""

    def result(self, source: str) -> bool | str | None:
        """Return the result of one of `_COMPARED`: None where it is undecided, "none" where it does not apply."""
        record = self.record
        results = (record.verdict or {}).get("results") or ()
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
    """Return a CSV file in which people fill in each trial's label: ``yes`` if the task was done, else ``no``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, "intent", "record"])
    for record in sorted(records, key=lambda each: each.key):
        key = record.key
        intent = clip(record.intent, 300)
        guarded = f"'{intent}" if intent.startswith(("=", "+", "-", "@")) else intent  # no formula for spreadsheets
        writer.writerow([key.task, key.agent, key.trial, key.browser, "", guarded, f"trials/{key.folder}"])
    return text.getvalue()


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
        found: dict[TrialKey, Labelled] = {}
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


def _take(row: Mapping[str, Any], where: str, records: Sequence[TrialRecord], found: dict[TrialKey, Labelled]) -> None:
    """Add a row's label to ``found``."""
    label = str(row.get("label") or "").strip().lower()
    if not label:
        return
    if label not in _YES | _NO:
        raise UsageError(f"{where}: label: expected yes or no, found {clip(label, 40)!r}")
    record = _find(records, row, where)
    if record.key in found and found[record.key].done != (label in _YES):
        raise UsageError(f"{where}: expected one label for each trial, found another one for {_name(record)}")
    found[record.key] = Labelled(record=record, done=label in _YES)


def _find(records: Sequence[TrialRecord], row: Mapping[str, Any], where: str) -> TrialRecord:
    wanted = {name: str(row.get(name) or "").strip() for name in ("task", "agent", "trial", "browser")}
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
    adding = commands.add_parser("add", help="add people's reasons of failure to a run")
    adding.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    adding.add_argument("labels", type=Path, metavar="FILE", help="labels.jsonl, as the page saves it")
    adding.set_defaults(run=_add)


def _sheet(options: argparse.Namespace) -> int:
    target = options.output or options.run_dir / "labels.csv"
    text = sheet(RunDir(options.run_dir).finished())
    with writing(target):
        target.write_text(text, encoding="utf-8", errors="replace")
    print(
        f"{target}: fill in the column 'label' (yes, no), then run"
        f"\n  webarena judge annotate compare {options.run_dir} {target}"
    )
    return 0


def _add(options: argparse.Namespace) -> int:
    run = RunDir(options.run_dir)
    run.facts()  # raises if it is not a run
    code = name_damaged(run, run.read())
    labels = add_labels(run, options.labels)
    people = ", ".join(dict.fromkeys(each.by for each in labels))
    trials = len({each.trial for each in labels})
    text = f"{trials} failed trial{'s' * (trials != 1)} labelled by {people}"
    print(f"{text}: webarena compare tables {options.run_dir} counts them")
    return code


def _compare(options: argparse.Namespace) -> int:
    labelled = read_labels(options.labels, RunDir(options.run_dir).finished())
    print(_as_json(labelled) if options.format == "json" else "\n".join(_report(labelled)))
    return 0
