"""Checks: what they collect while a trial is live, and the pure judging of what was collected.

A kind of check is a `Kind`: its form in task files, what it collects, how it judges. Each built-in kind is a module;
others come from the entry point group ``webarena.checks``.

>>> find_grading("original").name
'original'
>>> "answer" in kind_names()
True
"""

from pytest_webarena.checks.bounded import CHECK_SECONDS, judge_all_bounded, judge_bounded
from pytest_webarena.checks.grading import GRADINGS, ORIGINAL, REPAIRED, VERIFIED, Grading, find_grading
from pytest_webarena.checks.images.captions import Captioner
from pytest_webarena.checks.judging import Needs, collect, judge, judge_all, needs
from pytest_webarena.checks.kind import EvidenceSource, Judgement, Kind, Live, Page, Rows, State, View
from pytest_webarena.checks.verdict import CheckResult, Verdict
from pytest_webarena.tasks.kinds import find_kind, kind_names, register

__all__ = [
    "CHECK_SECONDS",
    "GRADINGS",
    "ORIGINAL",
    "REPAIRED",
    "VERIFIED",
    "Captioner",
    "CheckResult",
    "EvidenceSource",
    "Grading",
    "Judgement",
    "Kind",
    "Live",
    "Needs",
    "Page",
    "Rows",
    "State",
    "Verdict",
    "View",
    "collect",
    "find_grading",
    "find_kind",
    "judge",
    "judge_all",
    "judge_all_bounded",
    "judge_bounded",
    "kind_names",
    "needs",
    "register",
]
