"""The kind ``url_match``: the original's rules to the letter, and each of their repairs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.checks import ORIGINAL, REPAIRED, Grading, find_grading, judge
from pytest_webarena.errors import TaskFileError
from tests.cases import each_case

from .helpers import evidence, task


def passes(reference: str, url: str, grading: Grading = REPAIRED, **more: Any) -> bool | None:
    made = task(f"- url_match: {json.dumps({'reference_url': reference, **more})}")
    return judge(made, evidence(url=url), grading=grading).passed


R = "http://reddit.test"


@each_case(
    ("reference", "url", "holds"),
    [
        ("__REDDIT__/f/books", f"{R}/f/books", True),
        ("__REDDIT__/f/books", f"{R}/f/books//", True),
        ("__REDDIT__/f/books", f"{R}/f/books2", True),
        ("__REDDIT__/f/books", "http://proxy.test/reddit.test/f/books/", True),
        ("__REDDIT__/f/books", "https://reddit.test/f/books?a=b#c", True),
        ("__REDDIT__/f/books", "http://reddit.test:81/f/books", False),
        ("__REDDIT__/f/books", f"{R}/F/books", False),
        ("__REDDIT__/f/books", f"{R}/f/book", False),
        ("__REDDIT__/x?k=1", f"{R}/x/?k=1", True),
        ("__REDDIT__/x/?k=1", f"{R}/x?k=1", False),
        ("__REDDIT__/x?k=a+b&l=%C3%A9", f"{R}/x?l=é&z=1&k=a%20b", True),
        ("__REDDIT__/x?k=1", f"{R}/x?k=2&k=1", True),
        ("__REDDIT__/x?k=1", f"{R}/x?k=2", False),
        ("__REDDIT__/x?k=", f"{R}/x", True),
        ("__REDDIT__/a?k=1 |OR| __REDDIT__/b?k=2", f"{R}/a?k=2", True),
        ("__REDDIT__/a |OR| __REDDIT__/b", f"{R}/b", True),
        ("__REDDIT__/a |OR| __REDDIT__/b", f"{R}/c", False),
    ],
)
def test_original(reference: str, url: str, holds: bool) -> None:
    assert passes(reference, url, ORIGINAL) is holds


@each_case(
    ("note", "url", "holds"),
    [
        ("EXACT", f"{R}/f/books/", True),
        ("EXACT", f"{R}/f/books//", False),
        ("EXACT", f"{R}/f/books?a=1", False),
        ("GOLD in PRED", f"{R}/f/books?a=1", True),
        ("GOLD in PRED", "http://reddit.test/f/book", False),
    ],
)
def test_visual_dialect(note: str, url: str, holds: bool) -> None:
    for grading in (ORIGINAL, REPAIRED):
        assert passes("__REDDIT__/f/books/", url, grading, note=note, dialect="visualwebarena") is holds


@each_case(
    ("rule", "reference", "kept", "changed"),
    [
        (
            "url-base",
            "__REDDIT__/f/books",
            ["/f/books", "/f/books/", "/f/books/12/a-title", "/f/books?sort=new", "/f/books#top"],
            ["/f/books2", "http://proxy.test/reddit.test/f/books", "http://notreddit.test/f/books"],
        ),
        ("url-base", "__REDDIT__/edit/id/1", ["/edit/id/1", "/edit/id/1/key/abc/"], ["/edit/id/12"]),
        (
            "url-alternatives",
            "__REDDIT__/a?k=1 |OR| __REDDIT__/b?k=2",
            ["/a?k=1", "/b/?k=2&l=3"],
            ["/a?k=2", "/b?k=1"],
        ),
        (
            "url-slash",
            "__REDDIT__/x/-/issues/?state=opened&sort=created_date",
            ["/x/-/issues/?sort=created_date&state=opened"],
            ["/x/-/issues?state=opened&sort=created_date"],
        ),
        ("url-case", "__REDDIT__/f/diy", ["/f/diy", "/f/diy/12/a"], ["/f/DIY", "/f/DIY/12/A-title"]),
        ("corrections", "__REDDIT__/f/old", [], ["/f/new", "/f/old"]),
    ],
)
def test_repairs(rule: str, reference: str, kept: list[str], changed: list[str]) -> None:
    more: Any = {"corrected": "__REDDIT__/f/new"} if rule == "corrections" else {}
    without = find_grading("repaired", [rule])
    for path in kept:
        url = path if "://" in path else R + path
        assert [(passes(reference, url, each), url) for each in (REPAIRED, ORIGINAL)] == [(True, url)] * 2
    for path in changed:
        url = path if "://" in path else R + path
        repaired = passes(reference, url, **more)
        assert (passes(reference, url, without, **more), url) == (not repaired, url)
        assert (passes(reference, url, ORIGINAL, **more), url) == (not repaired, url)


def test_other_cases_stay_apart() -> None:
    assert passes("__REDDIT__/user/Ann", f"{R}/user/ann") is False
    assert passes("__REDDIT__/f/diy", f"{R}/f/DIYs") is False


def test_what_can_not_be_told() -> None:
    made = task("- url_match: {reference_url: __REDDIT__/x}")
    assert judge(made, evidence("a")).passed is None
    assert judge(made, evidence("a", url="http://[")).passed is None
    odd = task("- url_match: {reference_url: __REDDIT__/x, note: EXACT}")
    assert judge(odd, evidence("a", url=f"{R}/x")).passed is None


def test_malformed() -> None:
    with pytest.raises(TaskFileError, match="expected the key 'reference_url'"):
        task("- url_match: {note: EXACT}")
    with pytest.raises(TaskFileError, match="expected one of GOLD in PRED, EXACT"):
        task("- url_match: {reference_url: __REDDIT__/x, note: PRED in GOLD}")
