"""Verdicts as text and as JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.checks import CheckResult, Verdict, judge
from pytest_webarena.evidence import JsonValue, Probe
from tests.cases import each_case

from .helpers import evidence, request, task, with_probes


def sample() -> Verdict:
    made = task(
        """
        - answer: {number: 84.97, tolerance: 0.01}
        - url: /accounts/orders/
        - all:
            - page: {open: /reviews/, locate: css=.review-title, includes: Quiet enough}
            - not: {url: /accounts/orders/}
        - network: {method: POST, url: /reviews/}
        - url: /basket/
          when: any_step
        """,
        intent="Leave a 4-star review titled Quiet enough on the Coffee Grinder, and tell me how much I paid for it",
    )
    recorded = evidence(
        "About 85 dollars, as far as I can see from the list of my orders in the account, "
        "which I have looked at again.",
        url="http://shopping.test/accounts/orders/",
        urls=["http://shopping.test/", "http://shopping.test/basket/"],
        requests=(request("GET", "/"),),
    )
    page: JsonValue = {"url": "http://shopping.test/reviews/", "status": 200, "texts": ["Drips", "Too loud"]}
    return judge(made, with_probes(recorded, Probe(check="checks[2].all[0]", state="end", value=page)))


def test_rendered_failure_text() -> None:
    assert (
        sample().render()
        == """\
answer: expected the number 84.97 ± 0.01, found "About 85 dollars, as far as I …
failed: 2 of 5 checks hold
Leave a 4-star review titled Quiet enough on the Coffee Grinder, and tell me how
much I paid for it

✗ checks[0] answer
    expected the number 84.97 ± 0.01
    actual   "About 85 dollars, as far as I can see from the list of my orders
             in the account, which I have looked at again."
    why      it does not give the value

✓ checks[1] url: shopping:/accounts/orders/

✗ checks[2] all
  ✗ all[0] page
      expected includes "Quiet enough" at css=.review-title on
               shopping:/reviews/
      actual   "Drips", "Too loud"
      why      none of the 2 does (at http://shopping.test/reviews/)
  ✗ all[1] not: what must not hold does
    ✓ all[1].not url: shopping:/accounts/orders/

✗ checks[3] network
    expected at least 1 × POST shopping:/reviews/
    actual   none of 1 requests
    why      there was no such request

✓ checks[4] url (after step 1): shopping:/basket/"""
    )


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (Verdict(score=1.0, passed=True, results=()), "passed: 0 of 0 checks hold"),
        (
            Verdict(score=0.5, passed=False, results=(), threshold=0.8, stop_reason="max_steps"),
            "failed: 0 of 0 checks hold, score 0.5 of 0.8 (stopped: max_steps)",
        ),
        (
            Verdict(
                score=None, passed=None, results=(CheckResult(path="checks[0]", kind="x", score=None, expected=""),)
            ),
            "undecided: 1 of 1 checks could not be decided",
        ),
    ],
)
def test_headline_of_a_verdict(verdict: Verdict, line: str) -> None:
    assert verdict.render().splitlines()[0] == line


def combined(kind: str, *scores: float) -> CheckResult:
    parts = tuple(
        CheckResult(path=f"checks[0].{kind}[{index}]", kind="url", score=score, expected=f"/{index}", actual="/x")
        for index, score in enumerate(scores)
    )
    held = {"not": not scores[0], "any": any(scores), "all": all(scores)}[kind]
    return CheckResult(path="checks[0]", kind=kind, score=float(held), expected="", children=parts)


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (combined("any", 0.0, 1.0), "✓ checks[0] any: url /1"),
        (combined("all", 1.0, 1.0), "✓ checks[0] all: 2 of 2 hold"),
        (combined("not", 0.0), "✓ checks[0] not: url /0"),
    ],
)
def test_passed_combination_is_rendered_in_one_line(result: CheckResult, line: str) -> None:
    assert Verdict(score=1.0, passed=True, results=(result,)).render().splitlines()[1:] == [line]


def test_render_with_earlier_verdict_shows_only_changes() -> None:
    def verdict(*actual: str) -> Verdict:
        results = tuple(
            CheckResult(path=f"checks[{index}]", kind="url", score=float(at == "/a"), expected="/a", actual=at)
            for index, at in enumerate(actual)
        )
        return Verdict(score=0.0, passed=False, results=results, intent="Go to /a")

    lines = verdict("/b", "/a", "/a", "/c").render(80, before=verdict("/b", "/a", "/b", "/b")).splitlines()
    assert lines[1:] == [
        "✗ checks[0] url, as before",
        "✓ checks[1] url",
        "✓ checks[2] url: /a",
        "",
        "✗ checks[3] url",
        "    expected /a",
        "    actual   /c",
    ]


@each_case("width", [40, 60, 80, 120])
def test_rendered_lines_fit_the_width(width: int) -> None:
    assert max(map(len, sample().render(width).splitlines())) <= width
    assert str(sample()) == sample().render(80)


@given(st.text(max_size=400), st.text(max_size=400), st.text(max_size=400))
def test_any_text_fits_its_columns_and_line_limit(intent: str, actual: str, why: str) -> None:
    result = CheckResult(path="checks[0]", kind="answer", score=0.0, expected=actual, actual=actual, why=why)
    text = Verdict(score=0.0, passed=False, results=(result,), intent=intent).render(60)
    assert max(map(len, text.splitlines())) <= 60
    assert len(text.splitlines()) <= 12


def test_verdict_round_trips_through_json() -> None:
    verdict = sample()
    data = json.loads(json.dumps(verdict.to_json()))
    assert Verdict.from_json(data) == verdict
    assert (data["schema_version"], data["undecided"]) == (3, False)


@pytest.mark.parametrize("version", [4, "1", None])
def test_newer_verdict_schema_versions_are_refused(version: object) -> None:
    with pytest.raises(ValueError, match="expected a verdict of schema version 3 or older"):
        Verdict.from_json({**sample().to_json(), "schema_version": version})
