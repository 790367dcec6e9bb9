"""The table of repairs, the corrections, and which tasks each one can touch."""

from __future__ import annotations

from pytest_webarena.checks.upstream.corrections import corrected, corrections
from pytest_webarena.checks.upstream.rules import RULES
from pytest_webarena.checks.upstream.touched import touched, touches
from pytest_webarena.tasks import Task
from tests.cases import each_case

from .helpers import task

TARGET = "url: __REDDIT__/x, required_contents: {exact_match: a}"
IMAGES = "{eval_image_url: last, eval_fuzzy_image_match: a.png}"

TOUCHED = [
    ("strict-judge", "string_match: {fuzzy_match: [a]}", "string_match: {must_include: [a]}"),
    ("string-alternatives", "string_match: {must_include: [a |OR| b]}", "string_match: {must_include: [a or b]}"),
    ("typed-references", "string_match: {must_include: [a]}", "string_match: {fuzzy_match: [a]}"),
    ("typed-references", "string_match: {one_of: [a]}", "string_match: {must_exclude: [a]}"),
    ("early-stops", "string_match: {must_include: ['3']}", "string_match: {must_include: ['4']}"),
    ("corrections", "string_match: {exact_match: a, corrected: {exact_match: b}}", "string_match: {exact_match: a}"),
    ("site-hosts", "string_match: {exact_match: 'ssh://git@x:2/a.git'}", "string_match: {exact_match: 'git@x:a.git'}"),
    ("url-base", "url_match: {reference_url: __REDDIT__/x}", "string_match: {exact_match: a}"),
    ("url-alternatives", "url_match: {reference_url: __REDDIT__/x |OR| a}", "url_match: {reference_url: __REDDIT__/x}"),
    ("url-slash", "url_match: {reference_url: __REDDIT__/x/?a=b}", "url_match: {reference_url: __REDDIT__/x?a=b}"),
    ("url-case", "url_match: {reference_url: __REDDIT__/f/diy}", "url_match: {reference_url: __REDDIT__/diy}"),
    (
        "js-null",
        "program_html: [{url: last, locator: document.title, required_contents: {must_include: ['no']}}]",
        "program_html: [{url: last, locator: document.title, required_contents: {must_include: ['yes']}}]",
    ),
    (
        "fresh-tabs",
        f"program_html: [{{{TARGET}}}, {{url: last, required_contents: {{exact_match: a}}}}]",
        f"program_html: [{{url: last, required_contents: {{exact_match: a}}}}, {{{TARGET}}}]",
    ),
    (
        "closed-selectors",
        "program_html: [{url: last, locator: \"document.querySelector('[a')\", required_contents: {exact_match: a}}]",
        "program_html: [{url: last, locator: \"document.querySelector('[a]')\", required_contents: {exact_match: a}}]",
    ),
    ("failures-decide", "string_match: {fuzzy_match: [a, b]}", "string_match: {fuzzy_match: [a]}"),
    ("failures-decide", f"page_image_query: [{IMAGES}, {IMAGES}]", f"page_image_query: [{IMAGES}]"),
    ("equal-answers", "string_match: {fuzzy_match: [a]}", "string_match: {exact_match: a}"),
    ("image-queries", f"page_image_query: [{IMAGES}, {IMAGES}]", f"page_image_query: [{IMAGES}]"),
]


@each_case(("rule", "check", "other"), TOUCHED)
def test_what_a_repair_touches(rule: str, check: str, other: str) -> None:
    assert touches(rule, task(f"- {check}"))
    assert not touches(rule, task(f"- {other}"))


def test_every_repair_says_what_it_touches() -> None:
    assert {rule for rule, _, _ in TOUCHED} == set(RULES)
    own: tuple[Task, ...] = (task("- answer: 5"), task("- page: {includes: a}"))
    assert set(touched(own).values()) == {()}


def test_every_repair_says_what_it_is() -> None:
    for name, rule in RULES.items():
        assert rule.name == name
        assert rule.part in ("string_match", "url_match", "program_html", "page_image_query", "score")
        assert all(text[0].isupper() or text[0] in "'\"" for text in (rule.defect, rule.repair))
        assert rule.effect in ("tightens", "loosens", "corrects", "asks")
        assert rule.source


def test_corrections_change_what_they_are_for() -> None:
    assert corrected("string_match", {"fuzzy_match": ["Feburary: 1"], "note": ""}, 108) == {
        "fuzzy_match": ["Feburary: 1"],
        "note": "",
        "corrected": {"fuzzy_match": ["February: 1"], "note": ""},
    }
    target = {"url": "__REDDIT__/f/Karaoke", "locator": "x", "required_contents": {"must_include": ["/f/Karaoke"]}}
    changed = {"url": "__REDDIT__/f/Karaoke/edit", "required_contents": {"must_include": ["/f/Karaoke/edit"]}}
    assert corrected("program_html", [target], 584) == [{**target, "corrected": changed}]
    assert corrected("program_html", {"targets": [target]}, 584)["targets"] == [{**target, "corrected": changed}]
    assert corrected("program_html", [target], 585) == [target]


def test_the_table_of_corrections_is_sound() -> None:
    for correction in corrections():
        assert correction.part in ("string_match", "url_match", "program_html")
        assert correction.tasks
        assert correction.replace
        assert correction.why
        assert correction.source
        assert all(wrong != right for wrong, right in correction.replace.items())
