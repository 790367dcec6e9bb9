"""Conversion of rows in the published formats to tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import TaskFileError, UsageError
from pytest_webarena.suites.export import export
from pytest_webarena.suites.loading import load_suite, read_suite_file
from pytest_webarena.suites.selecting import evaluation_types
from pytest_webarena.tasks import Start, Task, load_tasks
from pytest_webarena.tasks.model import ImageSource
from tests.unit.checks.helpers import FakeLive, FakePage
from tests.unit.suites.made import raw, verified, write

FEW = """
apps:
  homepage:
    backend: process
    sites: {homepage: {host: homepage.test}}
    process: {command: ["{python}", homepage.py, "{port}"]}
"""
"""A catalogue of one site, which is never started."""


def one(tmp_path: Path, row: dict[str, Any]) -> Task:
    (task,) = read_suite_file(write(tmp_path, row))
    return task


def test_webarena_row_becomes_a_task(tmp_path: Path) -> None:
    task = one(tmp_path, raw(21))
    assert (task.id, task.intent, task.sites) == ("mine.21", "How much is tea?", ("shopping",))
    assert task.start == (Start(site="shopping", path="/"),)
    assert (task.category, task.template, evaluation_types(task)) == ("information", "t7", ("string_match",))
    assert task.source == {"suite": "mine", "task_id": 21, "template_id": 7, "template": "How much is {thing}?"}
    assert task.checks[0].spec.must_include == ("4.50",)
    assert task.location.line == 2


def test_start_tabs_lead_to_their_sites(tmp_path: Path) -> None:
    row = raw(sites=["gitlab", "reddit"], start_url="__GITLAB__/a/b?c=1 |AND| __REDDIT__ |AND| http://example.org/x")
    assert one(tmp_path, row).start == (
        Start(site="gitlab", path="/a/b?c=1"),
        Start(site="reddit", path="/"),
        Start(site="", path="http://example.org/x"),
    )


def test_wikipedia_starts_at_its_start_page(tmp_path: Path) -> None:
    row = verified(sites=["map", "wikipedia"], start_urls=["__MAP__", "__WIKIPEDIA__"])
    assert one(tmp_path, row).start == (Start(site="map", path="/"), Start(site="wikipedia", path=""))


def test_evaluators_become_checks_in_order(tmp_path: Path) -> None:
    target = {
        "url": "func:reddit_get_post_url('__last_url__')",
        "locator": "document.querySelector('h1').outerText",
        "required_contents": {"must_include": ["a |OR| b"]},
        "prep_actions": ["document.title"],
    }
    row = raw(
        eval__eval_types=["url_match", "program_html"],
        eval__reference_url="__SHOPPING__/a |OR| __SHOPPING__/b",
        eval__url_note="GOLD in PRED",
        eval__program_html=[target],
    )
    task = one(tmp_path, row)
    assert [check.kind for check in task.checks] == ["url_match", "program_html"]
    assert task.checks[0].spec.reference_url == "__SHOPPING__/a |OR| __SHOPPING__/b"
    assert task.category == "content"


@pytest.mark.parametrize(
    ("changes", "category"),
    [
        ({"eval__reference_answers": {"fuzzy_match": "N/A"}, "eval__string_note": "no such tea"}, "unachievable"),
        ({"eval__eval_types": ["url_match"], "eval__reference_url": "__SHOPPING__/a"}, "navigation"),
        (
            {
                "eval__eval_types": ["program_html"],
                "eval__program_html": [{"url": "last", "locator": "", "required_contents": {"must_include": ["a"]}}],
            },
            "navigation",
        ),
        (
            {
                "eval__eval_types": ["program_html"],
                "eval__program_html": [
                    {"url": "__SHOPPING__/cart", "locator": "", "required_contents": {"must_include": ["a"]}}
                ],
            },
            "content",
        ),
    ],
)
def test_category_follows_from_the_evaluators(tmp_path: Path, changes: dict[str, Any], category: str) -> None:
    assert one(tmp_path, raw(**changes)).category == category


def test_webarena_verified_row_becomes_a_task(tmp_path: Path) -> None:
    task = one(tmp_path, verified(5))
    (check,) = task.checks
    assert (check.kind, check.spec.task_id, check.spec.sites) == ("verified", 5, ("shopping",))
    assert check.spec.eval == tuple(verified()["eval"])
    assert (task.category, evaluation_types(task)) == ("information", ("agent_response",))


def test_verified_task_with_expected_error_is_unachievable(tmp_path: Path) -> None:
    row = verified()
    row["eval"][0]["expected"] = {"task_type": "retrieve", "status": "NOT_FOUND_ERROR", "retrieved_data": None}
    assert one(tmp_path, row).category == "unachievable"


def test_visualwebarena_and_lite_rows_use_their_own_evaluators(tmp_path: Path) -> None:
    visual = raw(viewport_size={"width": 1280}, image=["__HOMEPAGE__/a.png"], sites=["classifieds"])
    task = one(tmp_path, visual)
    assert task.checks[0].spec.dialect == "visualwebarena"
    assert task.images == (ImageSource(site="homepage", path="/a.png"),)
    assert task.leased == (*task.sites, "homepage")
    assert task.tags == ("input-images",)
    assert task.sites == ("classifieds", "shopping"), "it begins on a site that it does not list"
    assert one(tmp_path, raw(old_task_id=4)).checks[0].spec.dialect == "webarena-lite"


def test_webchorearena_rows_keep_what_makes_them_hard(tmp_path: Path) -> None:
    more: dict[str, Any] = {"type_main": "massive_memory", "required_obs": "image", "required_wait": True}
    task = one(tmp_path, raw(**more, affects_environment=False))
    assert task.tags == ("type_main:massive_memory", "required_obs:image")
    assert (task.source["required_wait"], task.source["affects_environment"]) == (True, False)


@pytest.mark.parametrize("image", [7, "__homepage__/a.png", ["http://example.org/a.png", "a.txt"]])
def test_invalid_image_is_a_defect(tmp_path: Path, image: object) -> None:
    with pytest.raises(TaskFileError, match="'image"):
        one(tmp_path, raw(image=image))


def test_image_paths_are_relative_to_the_exported_yaml(tmp_path: Path) -> None:
    one(tmp_path, raw(image=["pictures/a.png", "http://example.org/b.png", "/tmp/c.png"]))
    [source] = tmp_path.glob("*.json")
    export(str(source), tmp_path / "yaml" / "own.yaml")
    [task] = load_tasks(tmp_path / "yaml" / "own.yaml")
    assert list(map(str, task.images)) == ["../pictures/a.png", "http://example.org/b.png", "/tmp/c.png"]


def test_image_on_another_host_gives_no_verdict_and_is_named(tmp_path: Path) -> None:
    from pytest_webarena.checks import collect, judge
    from pytest_webarena.evidence import Evidence

    row = raw(
        eval__eval_types=["page_image_query"],
        eval__page_image_query=[{"eval_image_url": "last", "eval_fuzzy_image_match": "http://example.org/a.jpg"}],
        reasoning_difficulty="easy",
    )
    task = one(tmp_path, row)
    dot = "data:image/gif;base64,R0lGODlhAQABAIAAAP///////yH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
    live = FakeLive(page=lambda open, locate: FakePage(texts=[f'{{"found": ["{dot}"]}}']))
    probes = collect(task.checks, live, state="end")
    verdict = judge(task, Evidence(answer="x", stop_reason="answered", probes=probes))
    assert verdict.passed is None
    assert "http://example.org/a.jpg" in verdict.render()


def test_different_texts_of_one_template_id_are_distinguished(tmp_path: Path) -> None:
    rows = [raw(0), raw(1, intent_template="What is the price of {{thing}}?"), raw(2), raw(3, intent_template_id=8)]
    assert [task.template for task in read_suite_file(write(tmp_path, *rows))] == ["t7-1", "t7-2", "t7-1", "t8"]


def test_file_may_contain_a_single_task(tmp_path: Path) -> None:
    path = tmp_path / "12.json"
    path.write_text(__import__("json").dumps(raw(12)))
    assert [task.id for task in load_suite(str(path)).tasks] == ["12.12"]


def test_template_syntax_in_intents_is_plain_text(tmp_path: Path) -> None:
    assert one(tmp_path, raw(intent="Say {{ 1/0 }} and {% x %}")).intent == "Say {{ 1/0 }} and {% x %}"


def test_digest_excludes_the_source(tmp_path: Path) -> None:
    assert one(tmp_path, raw(1)).digest == one(tmp_path, raw(2, intent_template="another text")).digest
    assert one(tmp_path, raw(1)).digest != one(tmp_path, raw(1, intent="How much is it?")).digest


def test_tasks_try_accepts_tasks_of_suites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, raw(0), raw(1))
    assert main(["tasks", "try", f"{path}::mine.7"]) == 2
    assert "expected FILE::ID of a task" in (said := capsys.readouterr().err)
    assert "known: mine.0, mine.1" in said


def test_gym_environment_takes_tasks_with_available_sites(tmp_path: Path) -> None:
    gym = pytest.importorskip("pytest_webarena.gym")
    few = tmp_path / "few.yaml"
    few.write_text(FEW)
    far = raw(1, sites=["gitlab"], start_url="__GITLAB__")
    near = raw(0, sites=["homepage"], start_url="__HOMEPAGE__")
    gym.TasksEnv(tasks=write(tmp_path, near, far), sites=str(few)).close()
    with pytest.raises(UsageError, match="on these sites, found none"):
        gym.TasksEnv(tasks=write(tmp_path, far), sites=str(few))
