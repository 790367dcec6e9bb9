"""Steps of an attempt in Allure: pictures, reasoning, prompts, changes of the sites, checks."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_webarena.changes import RowChange, SiteChanges, TableChanges
from pytest_webarena.evidence import Evidence, TargetRecord, Usage
from pytest_webarena.plugin.reporting.allure import write_results
from pytest_webarena.plugin.reporting.allure.files import Attachments
from pytest_webarena.plugin.reporting.allure.pictures import WIDTH, WIDTH_AFTER, report_picture
from pytest_webarena.plugin.reporting.allure.site_changes import changes_step
from pytest_webarena.results import RunDir
from pytest_webarena.results.attempts import AttemptWriter, read_evidence

from ....made_up import make_run, make_trial

Result = dict[str, Any]
GREEN = (20, 160, 60)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return make_run(tmp_path / "run")


def screenshot(path: Path, colour: tuple[int, int, int], kind: str = "png") -> Path:
    Image.new("RGB", (1280, 720), colour).save(path, kind)
    return path


def reported(run: RunDir, target: Path) -> Result:
    write_results(run, target, root=Path("/w"))
    [file] = target.glob("*-result.json")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def attached(item: Result) -> dict[str, str]:
    return {each["name"]: each["source"] for each in item.get("attachments", ())}


def facts(item: Result) -> dict[str, str]:
    return {each["name"]: each["value"] for each in item.get("parameters", ())}


def colours(content: bytes, *points: tuple[int, int]) -> list[tuple[int, ...]]:
    with Image.open(BytesIO(content)) as picture:
        assert picture.format == "WEBP"
        return [picture.convert("RGB").getpixel(point) for point in points]  # type: ignore[misc]


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_picture_of_the_report_is_smaller_and_marks_the_target(kind: str, tmp_path: Path) -> None:
    shot = screenshot(tmp_path / "000.img", GREEN, kind)
    marked = report_picture(shot, target=TargetRecord(role="button", name="Save", x=640.0, y=360.0))
    plain = report_picture(shot)
    assert marked is not None
    assert plain is not None
    with Image.open(BytesIO(marked)) as picture:
        assert picture.size == (WIDTH, round(WIDTH * 720 / 1280))
    [centre, ring] = colours(marked, (WIDTH // 2, 169), (WIDTH // 2 + 14, 169))
    assert max(abs(one - other) for one, other in zip(centre, GREEN, strict=True)) < 40
    assert ring[0] > 120 > ring[1]
    assert colours(plain, (WIDTH // 2 + 14, 169))[0][0] < 60


def test_picture_without_place_of_the_target_is_unmarked(tmp_path: Path) -> None:
    shot = screenshot(tmp_path / "000.png", GREEN)
    for target in (TargetRecord(name="Save"), TargetRecord(name="Save", x=5000.0, y=20.0)):
        assert report_picture(shot, target=target) == report_picture(shot)


def test_step_shows_the_page_before_with_its_target_and_the_page_after(run: RunDir, tmp_path: Path) -> None:
    made = make_trial(run, steps=[{"target": TargetRecord(role="button", name="Save", x=100.0, y=100.0)}, {}])
    shots = run.folder(made.key).path / "attempt-1" / "screenshots"
    for name, colour in (("000", GREEN), ("001", (200, 30, 30)), ("final", (200, 30, 30))):
        screenshot(shots / f"{name}.png", colour)
    first, second, *_ = reported(run, tmp_path / "allure")["steps"]
    assert list(attached(first)) == ["Before", "After", "Page"]
    assert list(attached(second)) == ["Before", "Page"]  # the last action changed nothing
    after = (tmp_path / "allure" / attached(first)["After"]).read_bytes()
    assert colours(after, (50, 50))[0][0] > 150
    with Image.open(BytesIO(after)) as picture:
        assert picture.width == WIDTH_AFTER


def test_step_says_that_its_target_is_outside_the_picture(run: RunDir, tmp_path: Path) -> None:
    made = make_trial(run, steps=[{"target": TargetRecord(name="Save", x=100.0, y=900.0)}])
    screenshot(run.folder(made.key).path / "attempt-1" / "screenshots" / "000.png", GREEN)
    first = reported(run, tmp_path / "allure")["steps"][0]
    assert "Before (target outside the view)" in attached(first)


def test_damaged_screenshot_is_attached_as_it_is(run: RunDir, tmp_path: Path) -> None:
    made = make_trial(run)
    (run.folder(made.key).path / "attempt-1" / "screenshots" / "000.png").write_bytes(b"\x89PNG cut")
    first = reported(run, tmp_path / "allure")["steps"][0]
    assert (tmp_path / "allure" / attached(first)["Before"]).read_bytes() == b"\x89PNG cut"


def test_step_has_reasoning_and_use_of_the_model(run: RunDir, tmp_path: Path) -> None:
    used = Usage(calls=1, input_tokens=900, output_tokens=40, cost=0.0123)
    make_trial(run, steps=[{"thought": "The cart is here.", "usage": used}, {"thought": "x" * 400}])
    first, second, *_ = reported(run, tmp_path / "allure")["steps"]
    assert facts(first)["reasoning"] == "The cart is here."
    assert facts(first)["model"] == "$0.0123, 900 tokens in, 40 out, 1 call"
    assert (tmp_path / "allure" / attached(second)["Reasoning"]).read_text() == "x" * 400


def test_prompts_of_later_steps_refer_to_what_the_report_has_already(run: RunDir, tmp_path: Path) -> None:
    def call(step: int) -> str:
        messages = [
            {"role": "system", "text": "Rules. " * 100},
            {"role": "user", "text": f"Page:\n{f'page of step {step} ' * 50}\nWhat next?"},
        ]
        one = {"model": "m", "purpose": "act", "sampling": {}, "tools": [], "messages": messages}
        return json.dumps({"calls": [one]})

    made = make_trial(run, steps=[{"model_calls": f"model_calls/00{step}.json"} for step in (0, 1)])
    attempt = run.folder(made.key).path / "attempt-1"
    (attempt / "model_calls").mkdir()
    for step in (0, 1):
        (attempt / "model_calls" / f"00{step}.json").write_text(call(step))
        (attempt / "observations" / f"00{step}.txt").write_text(f"page of step {step} " * 50)
    first, second = (
        (tmp_path / "allure" / attached(step)["Prompt and reply"]).read_text()
        for step in reported(run, tmp_path / "allure")["steps"][:2]
    )
    assert "Rules. Rules." in first
    assert "[the observation of this step: 750 characters]" in first
    assert "What next?" in second
    assert "[as in step 1: 700 characters]" in second
    assert "Rules." not in second


def changed(**more: Any) -> SiteChanges:
    rows = (
        RowChange(kind="changed", key={"id": 7}, row={"id": 7, "title": "Old", "label": ""}, now={"title": "New"}),
        RowChange(kind="added", key={"id": 8}, row={"id": 8, "title": "Second", "label": None}),
    )
    table = TableChanges(table="notes", database="pad", added=4, changed=1, rows=rows)
    return SiteChanges(app="homepage", sites=("homepage",), tables=(table,), **more)


def test_changes_of_the_sites_are_a_step_with_a_diff(run: RunDir, tmp_path: Path) -> None:
    made = make_trial(run)
    attempt = run.folder(made.key).path / "attempt-1"

    evidence: Evidence = replace(read_evidence(attempt), changes=(changed(),))
    AttemptWriter(attempt, 1).finish(evidence)
    [step] = [each for each in reported(run, tmp_path / "allure")["steps"] if each["name"].startswith("Changed on")]
    assert step["name"] == "Changed on the sites: 5 rows in 1 table"
    assert [each["name"] for each in step["steps"]] == ["homepage pad.notes: 4 added, 1 changed"]
    assert (tmp_path / "allure" / attached(step)["Database diff"]).read_text().splitlines() == [
        "@@ homepage pad.notes id=7: changed",
        "-title: 'Old'",
        "+title: 'New'",
        "@@ homepage pad.notes id=8: added",
        "+id: 8",
        "+title: 'Second'",
        "@@ homepage pad.notes: 3 more rows, which the record does not have",
    ]


def test_unknown_changes_are_not_reported_as_none(tmp_path: Path) -> None:

    unknown = SiteChanges(app="shop", sites=("shop",), unknown="the database was locked")
    step = changes_step((unknown,), 0, Attachments(tmp_path))
    assert step.name == "Changed on the sites: not known"
    assert [(each.name, each.status) for each in step.steps] == [("shop: not known: the database was locked", "broken")]
    assert changes_step((), 0, Attachments(tmp_path)).name == "Changed on the sites: nothing"
