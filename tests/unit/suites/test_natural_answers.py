"""Gradings of natural answers that were labelled by meaning, independently of the rules.

``rules`` is the grading ``repaired`` without its rule ``unsure``.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from pytest_webarena.checks.upstream.plain_words import PLAIN_WORDS
from pytest_webarena.checks.upstream.unexplained import unexplained
from scripts.measure_gradings import FOLDER, Judged, Labelled, main, measure, needs_judge
from scripts.measure_gradings import read as read_anew
from scripts.plain_words import OPENED, plain_words
from tests.cases import each_case

pytestmark = pytest.mark.corpus

FILES = sorted(FOLDER.glob("*.yaml"))
PHRASINGS = tuple(Path(__file__).with_name(name) for name in ("phrasings.yaml", "more_phrasings.yaml"))
WRONG_THAT_MAY_PASS = 0.0
RIGHT_THAT_MAY_FAIL = 0.01
UNSURE_OF_RIGHT = 0.4
"""Share of the right answers that may be given to a judge model."""
CORRECTED = 291
"""The labels follow the published reference of this task, 148; the correction of it says 148.80."""


@functools.cache
def read(path: Path) -> tuple[Labelled, ...]:
    """Return the answers of a file (cached for several tests)."""
    return read_anew(path)


@pytest.fixture(
    scope="module",
    params=[
        "open.yaml",
        *(pytest.param(f"{name}.yaml", marks=pytest.mark.exhaustive) for name in ("second", "third", "fourth")),
    ],
)
def judged(request: pytest.FixtureRequest) -> list[Judged]:
    return list(measure(read(FOLDER / request.param), by=("original", "rules", "repaired")))


def by(judged: list[Judged], grading: str, *, right: bool) -> list[Judged]:
    return [each for each in judged if each.grading == grading and each.labelled.right is right]


def test_rules_fail_almost_all_wrong_answers(judged: list[Judged]) -> None:
    wrong = by(judged, "rules", right=False)
    passing = [each.labelled for each in wrong if each.passed]
    assert len(passing) <= WRONG_THAT_MAY_PASS * len(wrong), passing


def test_rules_pass_no_wrong_answer_that_the_original_fails(judged: list[Judged]) -> None:
    failed = {each.labelled for each in by(judged, "original", right=False) if each.passed is False}
    assert [each.labelled for each in by(judged, "rules", right=False) if each.passed and each.labelled in failed] == []


def test_few_answers_are_unsure_and_decided_ones_are_right(judged: list[Judged]) -> None:
    """Limits the unsure share of right answers that need no judge model."""
    found = [each for each in judged if each.grading == "repaired" and not needs_judge(each.labelled.task)]
    right = [each for each in found if each.labelled.right and each.labelled.task != CORRECTED]
    assert sum(each.unsure for each in right) <= UNSURE_OF_RIGHT * len(right)
    assert sum(each.unsure for each in found) > 0
    assert [each.labelled for each in found if each.passed and not each.labelled.right] == []
    rules = {each.labelled: each.passed for each in judged if each.grading == "rules"}
    assert [each.labelled for each in found if not each.unsure and each.passed is not rules[each.labelled]] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["fifth.yaml", "sixth.yaml", "eighth.yaml"])
def test_published_rates_of_decided_and_misread_answers(name: str) -> None:
    """docs/grading.md states the shares of decided and of misread answers.

    Uses only the words of the other sets, as for unseen answers.
    """
    others = plain_words(answer for path in OPENED if path.name != name for answer in read(path))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unexplained, "__defaults__", (frozenset(others),))
        judged = list(measure(read(FOLDER / name), by=("original", "repaired")))
    found = [each for each in judged if each.grading == "repaired" and not needs_judge(each.labelled.task)]
    decided = [each for each in found if not each.unsure]
    assert len(decided) > 0.70 * len(found)
    for right, share in ((True, 0.03), (False, 0.003)):
        labelled = [each for each in decided if each.labelled.right is right]
        assert sum(each.passed is not right for each in labelled) <= share * len(labelled)
    failed = {each.labelled for each in judged if each.grading == "original" and each.passed is False}
    passed = {each.labelled for each in decided if each.passed and not each.labelled.right}
    assert passed & failed == set()


def test_rules_pass_almost_all_right_answers(judged: list[Judged]) -> None:
    right = [each for each in by(judged, "rules", right=True) if not needs_judge(each.labelled.task)]
    right = [each for each in right if each.labelled.task != CORRECTED]
    failing = [each.labelled for each in right if each.passed is False]
    assert len(right) > 250
    assert len(failing) <= RIGHT_THAT_MAY_FAIL * len(right), failing
    assert all(each.passed is not None for each in right)


def test_right_answers_that_need_a_judge_do_not_fail_without_one(judged: list[Judged]) -> None:
    judged_ones = [each for each in by(judged, "repaired", right=True) if needs_judge(each.labelled.task)]
    assert [each.labelled for each in judged_ones if each.passed is False] == []


@pytest.mark.parametrize("path", PHRASINGS, ids=lambda path: path.stem)
def test_families_of_phrasings_get_their_labelled_verdicts(path: Path) -> None:
    """Variants of formerly misread answers, also for other tasks."""
    answers = read(path)
    assert min(sum(each.right is right for each in answers) for right in (True, False)) > 400
    misread = [each.labelled for each in measure(answers, by=["rules"]) if each.passed is not each.labelled.right]
    assert misread == []


@each_case("path", FILES, ids=lambda path: path.name)
def test_answer_files_have_unique_and_balanced_answers(path: Path) -> None:
    answers = read(path)
    assert len(set(answers)) == len(answers)
    for task in {each.task for each in answers}:
        labels = [each.right for each in answers if each.task == task]
        assert min(labels.count(True), labels.count(False)) >= 4


def test_plain_words_equal_the_generated_list() -> None:
    """The list is generated, never edited."""
    assert plain_words(answer for path in OPENED for answer in read(path)) == sorted(PLAIN_WORDS)


def test_first_two_files_share_no_template() -> None:
    """The other files have the same templates by other authors."""
    templates = [{each.template for each in read(FOLDER / name)} for name in ("open.yaml", "second.yaml")]
    assert sum(map(len, templates)) == len(set().union(*templates))


def test_invalid_answer_files_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("schema_version: 2\ntasks: []\n")
    with pytest.raises(ValueError, match="expected schema_version 1"):
        read_anew(path)
    path.write_text("schema_version: 1\ntasks: [{task: 77, template: 277, right: [5], wrong: []}]\n")
    with pytest.raises(ValueError, match="task 77: expected texts, found 5"):
        read_anew(path)


def test_measure_gradings_script_prints_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("schema_version: 1\ntasks: [{task: 77, template: 277, right: ['5', '6'], wrong: ['7']}]\n")
    monkeypatch.setattr("sys.argv", ["measure_gradings.py", str(path), "--list"])
    assert main() == 0
    said = capsys.readouterr().out
    assert "mine.yaml: 3 answers to 1 tasks of 1 templates" in said
    assert "77 (template 277) right, but fails (original: False): '6'" in said
