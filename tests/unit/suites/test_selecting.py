"""Selection of tasks by properties and samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.suites.loading import read_suite_file
from pytest_webarena.suites.selecting import one_per_template, parse_choice
from pytest_webarena.tasks import Task
from tests.cases import each_case
from tests.unit.suites.made import raw, write


@pytest.fixture
def tasks(tmp_path: Path) -> tuple[Task, ...]:
    never = {"eval__reference_answers": {"fuzzy_match": "N/A"}, "eval__string_note": "none"}
    address = {"eval__eval_types": ["url_match"], "eval__reference_url": "__GITLAB__/a"}
    return read_suite_file(
        write(
            tmp_path,
            *(raw(number) for number in range(5)),
            raw(5, sites=["gitlab", "reddit"], start_url="__GITLAB__", intent_template_id=8, **address),
            raw(16, intent_template_id=9, **never),
        )
    )


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("site=reddit", [5]),
        ("site=reddit,shopping", [0, 1, 2, 3, 4, 5, 16]),
        ("sites=gitlab+reddit", [5]),
        ("sites=gitlab", []),
        ("achievable=no", [16]),
        ("achievable=yes", [0, 1, 2, 3, 4, 5]),
        ("category=navigation", [5]),
        ("evaluation=string_match", [0, 1, 2, 3, 4, 16]),
        ("template=t8,t9", [5, 16]),
        ("id=1-3,16", [1, 2, 3, 16]),
        ("id=mine.4", [4]),
        ("suite=mine", [0, 1, 2, 3, 4, 5, 16]),
    ],
)
def test_choice_selects_tasks_by_their_properties(tasks: tuple[Task, ...], text: str, numbers: list[int]) -> None:
    choice = parse_choice(text)
    assert [task.source["task_id"] for task in tasks if choice.holds(task)] == numbers
    if numbers:
        choice.check(tasks)


@each_case(
    ("text", "complaint"),
    [
        ("site", "expected KEY=VALUE, found 'site'; keys: suite, site, sites"),
        ("site=", "expected KEY=VALUE"),
        ("stie=map", "expected a known key, found 'stie'; did you mean 'site'?"),
        ("achievable=maybe", "expected achievable=yes or achievable=no, found 'maybe'"),
    ],
)
def test_malformed_choice_is_a_usage_error(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_choice(text)
    assert complaint in str(caught.value)


def test_choice_with_unknown_value_shows_nearest_value(tasks: tuple[Task, ...]) -> None:
    with pytest.raises(
        UsageError, match="expected a site of the collected tasks, found 'gitlba'; did you mean 'gitlab'"
    ):
        parse_choice("site=gitlba").check(tasks)


def test_sample_has_one_task_per_template_and_depends_on_seed(tasks: tuple[Task, ...]) -> None:
    samples = {seed: one_per_template(tasks, seed) for seed in range(20)}
    assert all({"mine.5", "mine.16"} < sample and len(sample) == 3 for sample in samples.values())
    assert len(set(samples.values())) > 1
    assert one_per_template(reversed(tasks), 7) == samples[7]
