"""Outcomes of the grading ``repaired`` on natural answers that were labelled by meaning."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scripts.measure_gradings import FOLDER, main, measure, needs_judge, read
from tests.cases import each_case

pytestmark = pytest.mark.corpus

FILES = sorted(FOLDER.glob("*.yaml"))
CORRECTED = 291
"""The labels follow the published reference of this task, 148; the correction of it says 148.80."""
RIGHT_NOT_MET = 0.01
"""Limit of the share of right answers that are not met."""
RIGHT_MET = 0.35
"""Least share of right answers that are met."""
DECIDED = 0.47
"""Least share of all answers that are met or not met."""


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.exhaustive), 6])
def test_no_wrong_answer_is_met_and_few_right_ones_are_not_met(every: int) -> None:
    count: Counter[tuple[bool, bool | None]] = Counter()
    wrong_and_met = []
    for each in measure((answer for path in FILES for answer in read(path)[::every]), by=["repaired"]):
        if needs_judge(each.labelled.task) or each.labelled.task == CORRECTED:
            continue
        count[each.labelled.right, each.passed] += 1
        if each.passed and not each.labelled.right:
            wrong_and_met.append(each.labelled)
    right = sum(number for (label, _), number in count.items() if label)
    decided = sum(number for (_, passed), number in count.items() if passed is not None)
    assert wrong_and_met == []
    assert count.total() > 10_000 / every
    assert count[True, False] <= RIGHT_NOT_MET * right, count
    assert count[True, True] >= RIGHT_MET * right, count
    assert decided >= DECIDED * count.total(), count


def test_few_wrong_answers_are_met_where_a_judge_is_needed() -> None:
    """Only copies of the reference are met without a judge model."""
    answers = (answer for path in FILES for answer in read(path) if needs_judge(answer.task))
    found = list(measure(answers, by=["repaired"]))
    assert len(found) > 800
    assert [each.labelled for each in found if each.passed is not None and each.passed is not each.labelled.right] == []


@each_case("path", FILES, ids=lambda path: path.name)
def test_answer_files_have_unique_answers_with_both_labels(path: Path) -> None:
    answers = read(path)
    assert len(set(answers)) == len(answers)
    assert min(sum(each.right is right for each in answers) for right in (True, False)) > 300


def test_invalid_answer_files_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("schema_version: 2\ntasks: []\n")
    with pytest.raises(ValueError, match="expected schema_version 1"):
        read(path)
    path.write_text("schema_version: 1\ntasks: [{task: 77, template: 277, right: [5], wrong: []}]\n")
    with pytest.raises(ValueError, match="task 77: expected texts, found 5"):
        read(path)


def test_measure_gradings_script_prints_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("schema_version: 1\ntasks: [{task: 77, template: 277, right: ['5', '6'], wrong: ['7']}]\n")
    monkeypatch.setattr("sys.argv", ["measure_gradings.py", str(path), "--list"])
    assert main() == 0
    output = capsys.readouterr().out
    assert "mine.yaml: 3 answers to 1 tasks of 1 templates" in output
    assert "77 (template 277) right, but fails (original: False): '6'" in output
