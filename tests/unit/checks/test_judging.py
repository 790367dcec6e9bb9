"""Collection, combination and scores of checks, including undecided ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.actions import Stop, as_record
from pytest_webarena.checks import (
    CheckResult,
    Judgement,
    Kind,
    Live,
    Verdict,
    View,
    collect,
    find_kind,
    judge,
    kind_names,
    needs,
    register,
)
from pytest_webarena.errors import JudgeError, SiteError, TaskError, UsageError
from pytest_webarena.evidence import Evidence, JsonValue, Probe, StepRecord
from pytest_webarena.tasks import kinds, parse_tasks
from pytest_webarena.tasks.shapes import Json, Text
from tests.cases import each_case

from .helpers import FakeLive, FakePage, evidence, task, with_probes


@dataclass(frozen=True)
class Given:
    """A check spec that contains its verdict."""

    score: Any


def judge_given(spec: Given, view: View) -> Judgement:
    if spec.score == "raise":
        raise ValueError("a bug")
    if spec.score == "model":
        raise JudgeError("no model")
    if spec.score == "site":
        raise SiteError("it was not")
    return Judgement(score=spec.score, expected="as given")


def collect_given(spec: Given, live: Live) -> JsonValue:
    if spec.score == "raise":
        raise KeyError("x")
    return spec.score  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def given_kind() -> Iterator[None]:
    from pytest_webarena.tasks.record_shapes import Convert

    form: Any = Convert(Json(), lambda value, _: Given(value))
    register(Kind(name="given", doc="Says what it is told.", form=form, judge=judge_given, collect=collect_given))
    register(Kind(name="open", doc="The same, in every state.", form=form, judge=judge_given, stateful=True))
    yield
    kinds._registered.clear()


def verdict(checks: str, extra: str = "") -> Verdict:
    return judge(task(checks, extra=extra), evidence("x"))


@each_case(
    ("checks", "extra", "score", "passed"),
    [
        ("- given: 1\n- given: 1", "", 1, True),
        ("- given: 1\n- given: 0", "", 0, False),
        ("- given: 0.5\n- given: 0.5", "", 0.25, False),
        ("- given: 0.5\n- given: 0.5", "    threshold: 0.25\n", 0.25, True),
        ("- given: 1\n- given: 0", "    score: mean\n", 0.5, False),
        ("- given: 1\n- given: 0\n  weight: 3", "    score: mean\n    threshold: 0.25\n", 0.25, True),
        ("- given: 1\n- given: null", "", None, None),
        ("- given: 0\n- given: null", "", 0, False),
        ("- given: 1\n- given: null", "    score: mean\n", None, None),
        ("- all: [{given: 1}, {given: 0.5}]", "", 0.5, False),
        ("- all: [{given: 0}, {given: null}]", "", 0, False),
        ("- all: [{given: 1}, {given: null}]", "", None, None),
        ("- any: [{given: 0.2}, {given: 0.5}]", "", 0.5, False),
        ("- any: [{given: 1}, {given: null}]", "", 1, True),
        ("- any: [{given: 0}, {given: null}]", "", None, None),
        ("- not: {given: 1}", "", 0, False),
        ("- not: {given: 0.25}", "", 0.75, False),
        ("- not: {given: null}", "", None, None),
        ("- not: {any: [{given: 0}, {all: [{given: 1}, {given: 0}]}]}", "", 1, True),
        ("- given: raise\n- given: 1", "", 0, False),
        ("- given: raise\n- given: 0", "", 0, False),
    ],
)
def test_scores_of_combined_checks(checks: str, extra: str, score: float | None, passed: bool | None) -> None:
    found = verdict(checks, extra)
    assert (found.score, found.passed, found.undecided) == (score, passed, score is None)


def test_weights_of_three_tenths_add_up_to_one() -> None:
    found = verdict("\n".join(["- given: 1\n  weight: 0.1"] * 3), "    score: mean\n")
    assert (found.score, found.passed) == (1, True)


@given(st.lists(st.sampled_from([0.0, 0.3, 1.0, None]), min_size=1, max_size=4), st.sampled_from(["product", "mean"]))
def test_score_is_unknown_only_if_an_outcome_would_change_it(scores: list[float | None], how: str) -> None:
    checks = "\n".join(f"- given: {'null' if score is None else score}" for score in scores)
    found = verdict(checks, f"    score: {how}\n")
    possible = {
        verdict("\n".join(f"- given: {score}" for score in filled), f"    score: {how}\n").score
        for filled in itertools.product(*([0.0, 1.0] if score is None else [score] for score in scores))
    }
    assert (found.score is None) == (len(possible) > 1)
    if found.score is not None:
        assert possible == {found.score}


def test_exceptions_in_judging() -> None:
    [bug] = verdict("- given: raise").results
    assert (bug.passed, bug.why) == (False, "judging raised ValueError: a bug")
    [contrary] = verdict("- not: {given: raise}").results
    assert (contrary.passed, contrary.children[0].cause) == (None, "task")
    with pytest.raises(JudgeError):
        verdict("- given: model")
    [other] = verdict("- given: site").results  # judging uses no site, so a retry would not help
    assert other.why == "judging raised SiteError: it was not"


def test_uninstalled_kind_is_undecided() -> None:
    made = task("- given: 1")
    kinds._registered.clear()
    [only] = judge(made, evidence("x")).results
    assert (only.score, only.why) == (None, "no kind of check called 'given' is installed")


def test_needs_name_what_is_collected_and_when() -> None:
    made = task("""
        - answer: x
        - url: /a
          when: any_step
        - page: {includes: x}
          when: any_step
        - any:
            - state: {sql: select 1, equals: 1}
            - not: {page: {open: /b, includes: x}}
        - all: [{page: {includes: y}}, {url: /c}]
          when: any_step
    """)
    asked = needs(made.checks)
    assert [check.path for check in asked.each_step] == ["checks[2]", "checks[4].all[0]"]
    assert [check.path for check in asked.end] == [
        "checks[2]",
        "checks[3].any[0]",
        "checks[3].any[1].not",
        "checks[4].all[0]",
    ]
    assert needs(task("- answer: x").checks) == needs(())


LOOKS = {
    "url: /a": {"sites", "pages"},
    "url_match: {reference_url: 'http://shopping.test/a'}": {"sites", "pages"},
    "state: {sql: select 1, equals: 1}": {"sites", "pages"},
    "network: {url: /a}": {"sites"},
    "python: my_checks:one": {"sites"},
    "untouched: unlisted": {"sites"},
    "changes: nothing": {"sites", "changes"},
    "placed: x": {"sites", "pages"},
    "unsaid: x": {"sites"},
    "cost: {at_most: 1}": set(),
    "answer: x": set(),
}


@each_case("check", LOOKS)
def test_needs_follow_from_what_a_kind_looks_at(check: str) -> None:
    """A kind declares what it reads; undeclared kinds may read everything."""
    register(Kind(name="placed", doc="Where.", form=Text(), judge=judge_given, looks_at=lambda spec: {"place"}))
    register(Kind(name="unsaid", doc="What?", form=Text(), judge=judge_given))
    asked = needs(task(f"- {check}").checks)
    assert {name for name in ("sites", "pages", "changes") if getattr(asked, name)} == LOOKS[check]


def test_exception_in_collecting_is_recorded() -> None:
    [probe] = collect(task("- given: raise").checks, FakeLive(), state=3)
    assert (probe.check, probe.state, probe.error, probe.raised) == ("checks[0]", 3, "KeyError: 'x'", True)


@each_case("around", ["given: 1", "not: {given: 1}"])
@each_case(
    ("error", "passed"),
    [(KeyError("x"), False), (RecursionError(), False), (OSError("no"), False), (ImportError("x"), None),
     (SystemExit(1), None), (TaskError("bad SQL"), None)],
)  # fmt: skip
def test_exception_in_collecting_fails_and_its_negation_is_undecided(
    around: str, error: BaseException, passed: bool | None
) -> None:
    """An agent can cause such exceptions, which must not exclude its trial from the success rate."""

    def collecting(spec: JsonValue, live: Live) -> JsonValue:
        raise error

    def judging(spec: JsonValue, view: View) -> Judgement:
        assert view.probe is not None
        return Judgement.unknown(expected="as given", why=view.probe.error)

    register(Kind(name="given", doc="As given.", form=Json(), judge=judging, collect=collecting))
    made = task(f"- {around}")
    found = judge(made, evidence(probes=collect(made.checks, FakeLive(), state="end")))
    assert found.passed is (None if around.startswith("not") else passed)
    leaf = next(iter(found.results[0].children), found.results[0])
    assert leaf.why.startswith("collecting raised") is (passed is False)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "passed"), [(TaskError("bad SQL"), None), (SystemExit(1), None), (Unspeakable(), False)]
)
def test_failed_collection_is_not_judged(error: BaseException, passed: bool | None) -> None:
    def collecting(spec: JsonValue, live: Live) -> JsonValue:
        raise error

    def judging(spec: JsonValue, view: View) -> Judgement:
        return Judgement.of(True, expected="anything")

    register(Kind(name="given", doc="As given.", form=Json(), judge=judging, collect=collecting))
    made = task("- given: 1")
    assert judge(made, evidence(probes=collect(made.checks, FakeLive(), state="end"))).passed is passed


def page(text: str) -> dict[str, Any]:
    return {"url": "http://shopping.test/", "status": 200, "texts": [text]}


def probed(path: str, *texts: str | None) -> Evidence:
    """Return evidence of steps that ended with these page texts, and an empty final state."""
    recorded = evidence(url="http://shopping.test/", urls=["http://shopping.test/"] * len(texts))
    probes = [Probe(check=path, state=index, value=page(text)) for index, text in enumerate(texts) if text is not None]
    return with_probes(recorded, *probes, Probe(check=path, state="end", value=page("")))


def test_any_step_takes_the_best_state() -> None:
    made = task("- page: {includes: tea}\n  when: any_step")
    [found] = judge(made, probed("checks[0]", "milk", "tea", "tea", "milk")).results
    assert (found.passed, found.state) == (True, "after step 1")
    [found] = judge(made, probed("checks[0]", "milk", "water")).results
    assert (found.passed, found.state) == (False, "any state")
    [found] = judge(made, probed("checks[0]", "milk", None)).results
    assert (found.score, found.why) == (None, "the page was not read")
    [found] = judge(made, probed("checks[0]", "tea", None)).results
    assert found.passed


def test_any_step_requires_all_conditions_in_one_state() -> None:
    def at(*states: tuple[str, str]) -> Evidence:
        recorded = evidence(url="http://shopping.test/", urls=[f"http://shopping.test{url}" for url, _ in states])
        probes = [Probe(check="checks[0].all[0]", state=i, value=page(text)) for i, (_, text) in enumerate(states)]
        return with_probes(recorded, *probes, Probe(check="checks[0].all[0]", state="end", value=page("")))

    made = task("- all: [{page: {includes: tea}}, {url: /b}]\n  when: any_step")
    assert judge(made, at(("/a", "tea"), ("/b", "milk"))).passed is False
    assert judge(made, at(("/a", "tea"), ("/b", "tea"))).passed is True
    apart = task("- all: [{page: {includes: tea}, when: any_step}, {url: /b, when: any_step}]")
    assert judge(apart, at(("/a", "tea"), ("/b", "milk"))).passed is True


def test_stop_step_is_no_additional_state() -> None:
    stop = StepRecord(index=0, action=as_record(Stop("x")), raw="")
    recorded = evidence(url="http://shopping.test/", steps=(stop,))
    assert judge(task("- url: /b\n  when: any_step"), recorded).passed is False


def test_probes_round_trip_through_json() -> None:
    made = task("- page: {open: /r/, locate: css=.t, includes: tea}\n- state: {sql: select 1, equals: 1}")
    live = FakeLive(page=lambda open, locate: FakePage(texts=["tea"]), rows=lambda sql: [(1,)])
    recorded = with_probes(evidence("x", url="http://shopping.test/"), *collect(made.checks, live, state="end"))
    assert judge(made, recorded).passed


def test_malformed_probes_can_be_judged() -> None:
    made = task("""
        - answer: {number: 1}
        - url: {regex: x}
        - page: {includes: x}
        - state: {api: /x, at: $.a, equals: 1}
        - network: {method: POST}
    """)
    odd: list[JsonValue] = [None, 1, "x", [], {}, {"texts": 1}, {"status": "x", "texts": [], "url": 1, "body": None}]
    for value in odd:
        probes = [Probe(check=f"checks[{n}]", state="end", value=value) for n in range(5)]
        found = judge(made, with_probes(evidence("2", url="x://y"), *probes))
        assert found.score == 0
        assert [result.score for result in found.results][2:4] == [None, None]


def test_kinds_are_found_by_name() -> None:
    assert kind_names()[: len(kinds.BUILTIN)] == tuple(kinds.BUILTIN)
    assert "given" in kind_names()
    assert find_kind("nothing") is None
    for name in kind_names():
        kind = find_kind(name)
        assert isinstance(kind, Kind)
        assert kind.name == name
        assert kind.doc.endswith(".")


def test_kinds_are_loaded_from_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = {
        "mine": "pytest_webarena.checks.answer:ANSWER",
        "gone": "no_such_package:X",
        "odd": "pytest_webarena.checks.answer:UNACHIEVABLE",
    }
    monkeypatch.setattr(kinds, "_entry_points", lambda: points)
    kinds._find.cache_clear()
    try:
        [made] = parse_tasks("tasks: [{id: t, intent: x, sites: [], checks: [{mine: yes}]}]")
        assert made.checks[0].kind == "mine"
        with pytest.raises(UsageError, match=r"the check kind 'gone' .* can't be loaded"):
            find_kind("gone")
        with pytest.raises(UsageError, match="to be a kind of check"):
            find_kind("odd")
    finally:
        kinds._find.cache_clear()


def test_marks_of_check_results() -> None:
    marks = [CheckResult(path="", kind="", score=score, expected="").mark for score in (1.0, 0.0, 0.5, None)]
    assert marks == ["✓", "✗", "◐", "?"]
