"""Collection of page images and reference images, once each, from the task's sites and from files."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.images import collecting as reading
from tests.unit.checks.helpers import task
from tests.unit.checks.pictures import PAGE, REF, A, B, looked, picture, png, shop


def test_images_are_collected_once_and_judged_from_the_record() -> None:
    live = shop([A, B, A], {A: png(picture(seed=2)), B: png(picture()), REF: png(picture())})
    assert looked("__SHOPPING__/ref.png", live, url="__SHOPPING__/kettle").score == 1.0
    assert [each[1] for each in live.asked] == [PAGE, REF]
    spec: Any = task(f"- page_image_query: [{{eval_image_url: last, eval_fuzzy_image_match: {REF!r}}}]").checks[0].spec
    gathered: Any = reading.collect(spec, live)
    assert len(gathered["files"]) == 2  # the same bytes twice
    assert set(gathered["sources"]) == {A, B, REF}


def test_data_urls_contain_their_image() -> None:
    address = "data:image/png;base64," + base64.b64encode(png(picture())).decode()
    assert looked(REF, shop([address], {REF: png(picture())})).score == 1.0


def test_images_of_the_current_post_are_collected() -> None:
    live = shop([A], {A: png(picture()), REF: png(picture())})
    assert looked(REF, live, url="func:reddit_get_post_url('__last_url__')").score == 1.0
    assert looked(REF, live, url="func:exec('x')").score is None


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("https://images.example.org/a.jpg", "it is on no site of the task"),
        ("coco_images/none.jpg", "no such image file"),
        ("media/catalog/a.jpg", "no such image file"),
    ],
)
def test_missing_reference_image_is_undecided(reference: str, why: str) -> None:
    judged = looked(reference, shop([A], {A: png(picture())}))
    assert judged.score is None
    assert f"{reference}: " in judged.why
    assert why in judged.why


def test_reference_image_may_be_a_local_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "coco_images").mkdir()
    (tmp_path / "coco_images" / "1.png").write_bytes(png(picture()))
    (tmp_path / "secret.txt").write_bytes(png(picture()))
    monkeypatch.chdir(tmp_path)
    live = shop([A], {A: png(picture())})
    assert looked("coco_images/1.png", live).score == 1.0
    assert looked("secret.txt", live).score is None


def test_number_and_size_of_collected_images_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_IMAGES", 2)
    many = [f"http://shopping.test/{index}.png" for index in range(5)]
    live = shop(many, {REF: png(picture()), **{each: png(picture(seed=9)) for each in many}})
    assert "3 more images" in looked(REF, live).why
    monkeypatch.setattr(reading, "MAX_BYTES", 10)
    assert "more than is kept" in looked(REF, shop([A], {A: png(picture()), REF: png(picture())})).why
