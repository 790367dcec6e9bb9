"""Measures a judge's points with labelled answers; `human_points` does it with people's points for a run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_webarena.checks.computed.rubric import parts_of
from pytest_webarena.checks.judge_protocol import JudgeUnreadable
from pytest_webarena.evidence import Usage
from pytest_webarena.llm_judge.config import JudgeIdentity
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.llm_judge.measuring import KnownJudge
from pytest_webarena.llm_judge.point_agreement import Mark, Marks
from pytest_webarena.llm_judge.rubric_answers import GradedAnswers, MarkedAnswer

__all__ = ["RubricMeasurement", "figures", "measure_rubrics"]

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricMeasurement:
    """Measurement of a judge's points."""

    judge: JudgeIdentity
    answers: str
    """Version of the labelled set, or name of the file with people's points."""
    marks: Marks
    subjects: Mapping[str, str]
    """What makes each answer hard, or its task, by the answer's name."""
    at: float
    """Unix time in seconds."""
    unreadable: tuple[str, ...] = ()
    """Names of answers that the judge did not grade; their points count as the worst possible ones."""
    unfounded: int = 0
    """Number of items whose points did not count, because they have no quote from the answer."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    @property
    def kappa(self) -> float | None:
        """Weighted kappa over all items."""
        return self.marks.kappa

    def by_about(self) -> dict[str, Marks]:
        """Return the marks of groups of answers, the largest group first."""
        groups: dict[str, list[Mark]] = {}
        for mark in self.marks.marks:
            groups.setdefault(self.subjects[mark.answer], []).append(mark)
        return {name: Marks(groups[name]) for name in sorted(groups, key=lambda name: (-len(groups[name]), name))}

    def summary(self) -> KnownJudge:
        """Return what is stored of the measurement."""
        low, high = self.marks.kappa_interval
        kappa = self.marks.kappa
        return KnownJudge(
            kappa=-1.0 if kappa is None else kappa,
            low=low,
            high=high,
            cases=self.marks.answers,
            unreadable=len(self.unreadable),
            answers=self.answers,
            at=self.at,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data with a ``schema_version``."""
        return {
            "schema_version": _VERSION,
            "judge": asdict(self.judge),
            "fingerprint": self.judge.fingerprint,
            **asdict(self.summary()),
            **figures(self.marks),
            "unfounded": self.unfounded,
            "by_about": {name: figures(marks) for name, marks in self.by_about().items()},
            "by_item": {name: figures(marks) for name, marks in self.marks.by_item().items()},
            "usage": asdict(self.usage),
            "seconds": round(self.seconds, 3),
            "marks": [asdict(mark) for mark in self.marks.marks],
        }


def figures(marks: Marks) -> dict[str, Any]:
    """Return the reported figures of some marks."""
    return {
        "graded_answers": marks.answers,
        "items": len(marks.marks),
        "pearson": marks.pearson,
        "spearman": marks.spearman,
        "weighted_kappa": marks.kappa,
        "exact": marks.exact,
        "over": len(marks.over),
        "under": len(marks.under),
        "bias": marks.bias,
        "distance": marks.distance,
    }


def measure_rubrics(judge: Judge, answers: GradedAnswers, *, workers: int = 8) -> RubricMeasurement:
    """Have the judge grade every answer. Raises `JudgeError` when its model can't be reached."""
    began = time.monotonic()
    _ = judge.prompt("rubric"), judge.identity("rubric")  # read once, before there are threads

    def grade(case: MarkedAnswer) -> tuple[list[Mark], bool, int, Usage]:
        session = judge.session("judge-measurement")
        try:
            awards = session.ask(case.question).awards
        except JudgeUnreadable:
            given: Sequence[float] = [
                0.0 if right > item.points / 2 else item.points
                for right, item in zip(case.points, case.question.items, strict=True)
            ]
            readable, unfounded = False, 0
        else:
            parts = parts_of(case.question.items, awards, case.question.answer)
            given, readable, unfounded = [part.points for part in parts], True, sum(bool(part.why) for part in parts)
        rubric = case.name.partition(".")[0]
        marks = [
            Mark(answer=case.name, item=f"rubric {rubric}, item {number}", of=item.points, human=right, judge=got)
            for number, (item, right, got) in enumerate(
                zip(case.question.items, case.points, given, strict=True), start=1
            )
        ]
        return marks, readable, unfounded, session.use.usage if session.use is not None else Usage()

    with ThreadPoolExecutor(workers) as pool:
        try:
            done = list(pool.map(grade, answers.answers))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return RubricMeasurement(
        judge=judge.identity("rubric"),
        answers=answers.version,
        marks=Marks(mark for marks, _, _, _ in done for mark in marks),
        subjects={case.name: case.about for case in answers.answers},
        unreadable=tuple(
            case.name for case, (_, readable, _, _) in zip(answers.answers, done, strict=True) if not readable
        ),
        unfounded=sum(unfounded for _, _, unfounded, _ in done),
        usage=sum((usage for _, _, _, usage in done), Usage()),
        seconds=time.monotonic() - began,
        at=time.time(),
    )
