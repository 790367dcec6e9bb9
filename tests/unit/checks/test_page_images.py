"""Image checks of pages: similarity, questions to a captioner, and undecided cases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from PIL import Image

from pytest_webarena.checks import Judgement, View
from pytest_webarena.checks.grading import ORIGINAL, REPAIRED, Grading, find_grading
from pytest_webarena.checks.images import collecting as reading
from pytest_webarena.checks.images.similarity import ImageTooLarge, Unreadable, decode, similarity
from pytest_webarena.checks.page_images import judge
from pytest_webarena.evidence import Probe
from tests.cases import each_case
from tests.unit.checks.helpers import evidence, task
from tests.unit.checks.pictures import PAGE, REF, A, B, Knows, judged, noisy, picture, png, probe, shop, without


def matched(image: Image.Image | bytes, **query: Any) -> Judgement:
    """Judge whether a page with ``image`` shows the reference image."""
    data = image if isinstance(image, bytes) else png(image)
    gathered = probe({A: data}, references={REF: png(picture())})
    return judged({"eval_fuzzy_image_match": "__SHOPPING__/ref.png", **query}, gathered)


@each_case(
    ("image", "score"),
    [
        (picture(), 1.0),
        (picture(size=(180, 120)), 1.0),
        (png(picture(), "JPEG"), 1.0),
        (picture().convert("P"), 1.0),
        (picture().convert("RGBA"), 1.0),
        (noisy(picture(), 3), 1.0),
        (noisy(picture(), 70), 0.0),
        (picture(seed=2), 0.0),
        (Image.new("RGB", (120, 80), "white"), 0.0),
        (picture().transpose(Image.Transpose.FLIP_LEFT_RIGHT), 0.0),
    ],
    ids=["same", "resized", "jpeg", "palette", "alpha", "noise", "much-noise", "other", "blank", "mirrored"],
)
def test_same_image_is_found(image: Image.Image | bytes, score: float) -> None:
    assert matched(image).score == score


def test_similarity_must_exceed_the_threshold() -> None:
    image = noisy(picture(), 25)
    exact = similarity(decode(png(image)), decode(png(picture())))
    assert 0.2 < exact < 0.99
    assert matched(image, ssim_threshold=exact - 0.001).score == 1.0
    assert matched(image, ssim_threshold=exact).score == 0.0


def test_similarity_uses_the_larger_width_and_height() -> None:
    wide, high = Image.linear_gradient("L").resize((40, 10)), Image.linear_gradient("L").resize((10, 40))
    common = [each.resize((40, 40), Image.Resampling.LANCZOS) for each in (wide, high)]
    assert similarity(wide, high) == similarity(high, wide) == pytest.approx(similarity(*common))
    assert similarity(Image.new("RGB", (2, 2), "red"), Image.new("RGB", (2, 2), "red")) == 1.0  # no window fits
    assert similarity(Image.new("RGB", (2, 2), "red"), Image.new("RGB", (2, 2), "blue")) == 0.0


def test_one_matching_image_and_alternative_suffice() -> None:
    images = {A: png(picture(seed=3)), B: png(picture(seed=2))}
    either = {"eval_fuzzy_image_match": f"{REF} |OR| __SHOPPING__/other.png"}
    other = "http://shopping.test/other.png"
    assert judged(either, probe(images, references={REF: png(picture()), other: png(picture(seed=2))})).score == 1.0
    missing = {REF: {"error": "it could not be fetched"}}
    assert judged(either, probe(images, references={**missing, other: png(picture(seed=2))})).score == 1.0
    undecided = judged(either, probe(images, references={**missing, other: png(picture(seed=4))}))
    assert undecided.score is None
    assert f"{REF}: it could not be fetched" in undecided.why


@each_case(
    ("images", "score", "why"),
    [
        ({}, 0.0, "no image there"),
        ({A: b"<svg/>"}, 0.0, "none of the 1 images can be read"),
        ({A: png(picture())[:200]}, 0.0, "none of the 1 images can be read"),
        ({A: {"broken": "status 404"}}, 0.0, "none of the 1 images can be read"),
        ({A: b"", B: png(picture())}, 1.0, ""),
        ({A: b"", B: png(picture(seed=2))}, 0.0, "similar enough"),
        ({A: {"error": "too long"}, B: png(picture())}, 1.0, ""),
        ({A: {"error": "too long"}, B: png(picture(seed=2))}, None, f"{A}: too long"),
    ],
)
def test_invalid_images_are_ignored_and_missing_ones_undecided(
    images: dict[str, Any], score: float | None, why: str
) -> None:
    judgement = judged({"eval_fuzzy_image_match": REF}, probe(images, references={REF: png(picture())}))
    assert judgement.score == score
    assert why in judgement.why


def test_images_beyond_the_limit_are_undecided() -> None:
    gathered = probe({A: png(picture(seed=2))}, references={REF: png(picture())}, left_out=7)
    judgement = judged({"eval_fuzzy_image_match": REF}, gathered)
    assert judgement.score is None
    assert "7 more images" in judgement.why
    assert "8 images" in judgement.actual


def test_huge_image_is_refused_before_decoding() -> None:
    huge = png(Image.new("1", (8_000, 8_000)))  # eight kilobytes
    with pytest.raises(ImageTooLarge):
        decode(huge)
    judgement = matched(huge)
    assert judgement.score is None
    assert "pixels" in judgement.why
    both = probe({A: png(Image.new("1", (11_000, 10)))}, references={REF: png(Image.new("1", (10, 11_000)))})
    assert "can't be compared: 11000 × 11000 pixels" in judged({"eval_fuzzy_image_match": REF}, both).why


def test_broken_reference_image_is_undecided() -> None:
    judgement = judged({"eval_fuzzy_image_match": REF}, probe({A: png(picture())}, references={REF: b"GIF89a"}))
    assert (judgement.score, "no image that can be read" in judgement.why) == (None, True)
    with pytest.raises(Unreadable):
        decode(b"GIF89a")


@each_case(
    ("questions", "score"),
    [
        ([("Shape?", "wide")], 1.0),
        ([("Shape?", "High")], 1.0),
        ([("Shape?", "wide"), ("Really?", "high")], 1.0),
        ([("Shape?", "wide"), ("Really?", "round")], 0.0),
        ([("fail", "wide")], None),
    ],
)
def test_every_image_question_needs_one_matching_image(questions: list[tuple[str, str]], score: float | None) -> None:
    query = {"eval_vqa": [{"question": question, "answer": answer} for question, answer in questions]}
    images = {A: png(picture()), B: png(picture(size=(40, 80)))}
    judgement = judged(query, probe(images), captioner=Knows())
    assert judgement.score == score
    if score is None:
        assert (judgement.cause, "out of memory" in judgement.why) == ("judge", True)


def test_image_questions_and_similarity_are_both_required() -> None:
    query = {"eval_vqa": [{"question": "Shape?", "answer": "wide"}], "eval_fuzzy_image_match": REF}
    seen = probe({A: png(picture(seed=2))}, references={REF: png(picture())})
    assert judged(query, seen, captioner=Knows()).score == 0.0
    assert judged({**query, "eval_fuzzy_image_match": ""}, seen, captioner=Knows()).score == 1.0


@pytest.mark.parametrize(("module", "package"), [("skimage", "scikit-image"), ("PIL", "pillow"), ("numpy", "numpy")])
def test_missing_image_libraries_are_named(monkeypatch: pytest.MonkeyPatch, module: str, package: str) -> None:
    without(monkeypatch, module)
    judgement = matched(picture())
    assert (judgement.score, judgement.cause) == (None, "judge")
    assert f"needs {package}: `pip install 'pytest-webarena[images]'`" in judgement.why


def several(*queries: dict[str, Any], shown: list[list[str]]) -> tuple[Any, Probe]:
    """Return image queries of one page each, which shows ``shown``: A is the reference, B another image."""
    spec: Any = task(f"- page_image_query: {json.dumps(queries)}").checks[0].spec
    gathered: Any = reading.collect(spec, shop([A, B], {A: png(picture()), B: png(picture(seed=2)), REF: b"GIF89a"}))
    for look, images in zip(gathered["looks"], shown, strict=True):
        look["images"] = images
    return spec, Probe(check="checks[0]", state="end", value=gathered)


RIGHT, WRONG = ({"eval_image_url": "last", "eval_fuzzy_image_match": each} for each in (A, B))
BROKEN, GONE, EITHER = (
    {"eval_image_url": "last", "eval_fuzzy_image_match": each}
    for each in (REF, "https://elsewhere.example.org/a.png", f"{REF} |OR| {A}")
)


@each_case(
    ("queries", "shown", "original", "repaired"),
    [
        ((RIGHT, RIGHT), [[A], [A]], 1.0, 1.0),
        ((WRONG, RIGHT), [[A], [A]], 1.0, 0.0),
        ((RIGHT, WRONG), [[A], [A]], 0.0, 0.0),
        ((BROKEN, RIGHT), [[A], [A]], None, None),
        ((GONE, RIGHT), [[A], [A]], 1.0, None),  # independent of the reference
        ((EITHER, RIGHT), [[A], [A]], None, 1.0),  # one of the two is no image
        ((WRONG, RIGHT), [[], [A]], 0.0, 0.0),
        ((BROKEN, RIGHT), [[REF], [A]], 0.0, 0.0),  # the shown file is no image
        ((RIGHT, RIGHT), [["http://shopping.test/never.png"], [A]], None, None),
        ((RIGHT, BROKEN), [[], [A]], 0.0, 0.0),  # the first query decided it before the second
    ],
)
def test_original_grading_uses_only_the_last_image_query(
    queries: tuple[dict[str, Any], ...], shown: list[list[str]], original: float | None, repaired: float | None
) -> None:
    spec, gathered = several(*queries, shown=shown)

    def score(grading: Grading) -> float | None:
        return judge(spec, View(evidence=evidence(url=PAGE), probe=gathered, grading=grading)).score

    assert score(ORIGINAL) == original
    assert score(REPAIRED) == repaired
    assert score(find_grading("repaired", without=["image-queries"])) == original


def test_changed_image_queries_are_undecided() -> None:
    spec, gathered = several(RIGHT, RIGHT, shown=[[A], [A]])
    assert judge(spec[:1], View(evidence=evidence(url=PAGE), probe=gathered)).score is None
