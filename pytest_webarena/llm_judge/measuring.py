"""Measures a judge with labelled answers, and stores the result for this user."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from pytest_webarena.checks.judge_protocol import Decision, JudgeUnreadable
from pytest_webarena.evidence import Usage
from pytest_webarena.llm_judge.agreement import Agreement, Share
from pytest_webarena.llm_judge.answers import LabelledAnswer, LabelledSet
from pytest_webarena.llm_judge.config import JudgeIdentity
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.results.records import JudgeErrors

__all__ = ["Graded", "KnownJudge", "Measurement", "find_measurement", "measure", "store_measurement"]

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """One labelled answer and the judge's grade."""

    case: LabelledAnswer
    judge_grade: Decision | None
    """The judge's grade; None when none could be read."""
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Measurement of a judge with one set of answers."""

    judge: JudgeIdentity
    answers: str
    """Version of the labelled set."""
    graded: tuple[Graded, ...]
    usage: Usage
    seconds: float
    at: float
    """Unix time in seconds."""

    @property
    def agreement(self) -> Agreement:
        """Agreement over all answers."""
        return Agreement((each.case.grade, each.judge_grade) for each in self.graded)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of passing."""
        return self.agreement.kappa

    def by(self, key: Callable[[LabelledAnswer], str]) -> dict[str, Agreement]:
        """Return the agreement for groups of answers, the largest group first."""
        groups: dict[str, list[tuple[Decision, Decision | None]]] = {}
        for each in self.graded:
            groups.setdefault(key(each.case), []).append((each.case.grade, each.judge_grade))
        ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        return {name: Agreement(pairs) for name, pairs in ordered}

    def summary(self) -> KnownJudge:
        """Return the part of the measurement that later runs use."""
        agreement = self.agreement
        low, high = agreement.kappa_interval
        return KnownJudge(
            kappa=-1.0 if agreement.kappa is None else agreement.kappa,
            low=low,
            high=high,
            cases=len(self.graded),
            unreadable=agreement.unreadable,
            answers=self.answers,
            at=self.at,
            errors=_errors(self.agreement.confusion),
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data with a ``schema_version``."""
        agreement = self.agreement
        return {
            "schema_version": _VERSION,
            "judge": asdict(self.judge),
            "fingerprint": self.judge.fingerprint,
            **asdict(self.summary()),
            "accuracy": _share(agreement.accuracy),
            "precision": _share(agreement.precision),
            "recall": _share(agreement.recall),
            "confusion": [
                {"right": right, "told": grade, "cases": cases} for (right, grade), cases in agreement.confusion.items()
            ],
            "by_about": {name: _share(each.accuracy) for name, each in self.by(lambda case: case.about).items()},
            "by_subject": {
                name: {**_share(each.accuracy), **asdict(each.passing)}
                for name, each in self.by(lambda case: case.subject).items()
                if name
            },
            "by_kind": {name: _share(each.accuracy) for name, each in self.by(lambda case: case.question.kind).items()},
            "usage": asdict(self.usage),
            "seconds": round(self.seconds, 3),
            "disagreements": [
                {**asdict(each.case.question), "right": each.case.grade, "told": each.judge_grade, "reply": each.reply}
                for each in self.graded
                if each.judge_grade != each.case.grade
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJudge:
    """Part of a stored measurement that later runs use."""

    kappa: float
    """Cohen's kappa; -1 where it is not defined."""
    low: float
    high: float
    cases: int
    unreadable: int
    answers: str
    at: float
    errors: JudgeErrors | None = None
    """Numbers of right and wrong verdicts; None for judges that give points, which are no verdicts."""

    def __str__(self) -> str:
        return f"kappa {self.kappa:.2f} ({self.low:.2f} to {self.high:.2f}) on {self.cases} labelled answers"


def measure(
    judge: Judge, answers: LabelledSet, *, workers: int = 8, on_graded: Callable[[Graded], None] = lambda graded: None
) -> Measurement:
    """Ask the judge about every answer. Raises `JudgeError` when its model can't be reached.

    ``on_graded`` is called with each result as soon as it is known.
    """
    began = time.monotonic()

    def grade(case: LabelledAnswer) -> tuple[Graded, Usage]:
        session = judge.session("judge-measurement")
        try:
            answer = session.ask(case.question)
            graded = Graded(case=case, judge_grade=answer.decision, reply=answer.reply)
        except JudgeUnreadable as unreadable:
            graded = Graded(case=case, judge_grade=None, reply=unreadable.replies[-1])
        on_graded(graded)
        return graded, session.use.usage if session.use is not None else Usage()

    for kind in {case.question.kind for case in answers.answers}:
        _ = judge.prompt(kind), judge.identity(kind)  # read the files before threads start
    with ThreadPoolExecutor(workers) as pool:
        try:
            done = list(pool.map(grade, answers.answers))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Measurement(
        judge=judge.identity(answers.answers[0].question.kind),
        answers=answers.version,
        graded=tuple(graded for graded, _ in done),
        usage=sum((usage for _, usage in done), Usage()),
        seconds=time.monotonic() - began,
        at=time.time(),
    )


def _errors(confusion: Mapping[tuple[Decision, Decision | None], int]) -> JudgeErrors:
    """Return the numbers of right and wrong verdicts in a confusion matrix.

    As in verdicts, only the grade ``correct`` passes an answer. Unreadable grades are excluded.
    """

    def count(matches: Callable[[Decision, Decision], bool]) -> int:
        return sum(cases for (right, grade), cases in confusion.items() if grade is not None and matches(right, grade))

    return JudgeErrors(
        right_accepted=count(lambda right, grade: right == grade == "correct"),
        right=count(lambda right, grade: right == "correct"),
        wrong_refused=count(lambda right, grade: right != "correct" and grade != "correct"),
        wrong=count(lambda right, grade: right != "correct"),
    )


class StorableMeasurement(Protocol):
    """A measurement that can be stored. Its data contains the fields of `KnownJudge`."""

    @property
    def judge(self) -> JudgeIdentity:
        """The judge that was measured."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""


def store_measurement(measurement: StorableMeasurement) -> Path:
    """Store a measurement for this user, under the judge's fingerprint; return the file."""
    file = _file(measurement.judge)
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(json.dumps(measurement.to_json(), indent=1), encoding="utf-8", errors="surrogatepass")
    temporary.replace(file)
    return file


def find_measurement(judge: JudgeIdentity) -> KnownJudge | None:
    """Return the stored measurement of a judge; None when it was never measured here."""
    try:
        data: Mapping[str, Any] = json.loads(_file(judge).read_text(encoding="utf-8"))
        if data["schema_version"] != _VERSION:
            return None
        known = {name: data[name] for name in KnownJudge.__dataclass_fields__ if name != "errors"}
        rows = data.get("confusion") or ()  # older files have a confusion matrix but no errors
        confusion = {(row["right"], row["told"]): int(row["cases"]) for row in rows}
        return KnownJudge(**known, errors=_errors(confusion) if confusion else None)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _file(judge: JudgeIdentity) -> Path:
    return _directory() / f"{judge.fingerprint}.json"


def _directory() -> Path:
    if chosen := os.environ.get("WEBARENA_CACHE_DIR"):
        return Path(chosen) / "judges"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-webarena" / "judges"


def _share(share: Share) -> dict[str, Any]:
    return {"some": share.some, "of": share.of, "value": share.value, "interval95": list(share.interval)}
