"""Key nodes under the gradings ``webcanvas-paper`` and ``webcanvas-code``."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pytest_webarena.actions import Click, Goto, Hover, Note, Select, Selector, Stop, Type, as_record
from pytest_webarena.checks import CheckResult, find_grading, judge, judge_all, judge_all_bounded
from pytest_webarena.checks.grading import gradings_of, headline_of, needs_pages
from pytest_webarena.checks.judge_protocol import Grade, Question
from pytest_webarena.checks.webcanvas.labels import shown_text
from pytest_webarena.errors import JudgeError, TaskError
from pytest_webarena.evidence import Evidence, SeenPage, StepRecord, TabState, TargetRecord
from pytest_webarena.signals import AddressChanged, DomEvent, ElementRecord
from pytest_webarena.tasks.model import Task
from tests.cases import each_case

from .helpers import SITES, task

HOME, FOUND = "http://shopping.test/", "http://shopping.test/find?q=red+lamp"
HTML = """<body><form id="f"><input id="q" placeholder="Find"><button id="go">Go <span>now</span></button></form>
<ul><li><a id="lamp" href="/lamp"><b>x</b></a></li></ul></body>"""


def step(index: int, action: Any, url: str, selector: str = "", after: str = "") -> StepRecord:
    target = TargetRecord(selector=selector, tag="a") if selector else None
    return StepRecord(
        index=index, action=as_record(action), raw="", url_before=url, url_after=after or url, target=target
    )


def click(index: int, selector: str, url: str = HOME, after: str = "") -> StepRecord:
    return step(index, Click(Selector(selector)), url, selector, after)


def recorded(*steps: StepRecord, pages: bool = True, answer: str | None = None, **facts: Any) -> Evidence:
    """Return evidence of a trial whose pages are all the same."""
    kept = tuple(SeenPage(step=each.index, url=each.url_before, html=HTML) for each in steps) if pages else ()
    last = steps[-1].url_after
    values: dict[str, Any] = {
        "answer": answer,
        "stop_reason": "answered",
        "tabs": (TabState(url=last, title="", html="", active=True),),
        "steps": steps,
        "signals": tuple(AddressChanged(time=0.0, tab=0, url=each.url_after) for each in steps),
        "signals_after": tuple(range(1, len(steps) + 1)),
        "pages": kept,
        "sites": SITES,
    }
    return Evidence.from_json(Evidence(**{**values, **facts}).to_json())


def result(nodes: str, evidence: Evidence, grading: str = "webcanvas-code", asker: Any = None) -> CheckResult:
    verdict = judge(task(f"- key_nodes: {nodes}"), evidence, grading=find_grading(grading), asker=asker)
    assert verdict.grading == grading
    return verdict.results[0]


def score(nodes: str, evidence: Evidence, grading: str = "webcanvas-code", asker: Any = None) -> float | None:
    return result(nodes, evidence, grading, asker).score


class Saying:
    """A judge model with a fixed score."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        return Grade(
            decision="correct" if self.share == 1 else "partially_correct", replies=("",), model="m", prompt="p",
            temperature=0.0, share=self.share,
        )  # fmt: skip


# --- which gradings there are


def nodes_task() -> Task:
    return task("- key_nodes: [{url: {includes: /find}}]")


def test_webcanvas_gradings_apply_to_key_nodes_on_request() -> None:
    each = nodes_task()
    assert gradings_of(each) == gradings_of(each, "repaired") == ()
    assert gradings_of(each, "webcanvas-code") == ("webcanvas-paper", "webcanvas-code", "repaired")
    assert [headline_of(each, name) for name in ("repaired", "webcanvas-paper")] == ["repaired", "webcanvas-paper"]
    other = task("- answer: x")
    assert gradings_of(other, "webcanvas-code") == ()
    evidence = recorded(click(0, "#go", after=FOUND), step(1, Stop(""), FOUND))
    verdicts = judge_all(each, evidence, headline=find_grading("webcanvas-paper"))
    assert {name: verdict.passed for name, verdict in verdicts.items()} == {
        "webcanvas-paper": True,
        "webcanvas-code": True,
        "repaired": True,
    }
    assert next(iter(verdicts)) == "webcanvas-paper"
    assert list(judge_all(each, evidence, headline=find_grading("repaired"))) == ["repaired"]


def test_webarena_tasks_have_no_webcanvas_gradings() -> None:
    each = task("- url_match: {reference_url: __SHOPPING__/find}")
    with pytest.raises(TaskError, match="expected checks of the grading 'webcanvas-code', found original, repaired"):
        judge(each, recorded(step(0, Stop(""), HOME)), grading=find_grading("webcanvas-code"))


def test_only_webcanvas_code_needs_recorded_pages() -> None:
    wanted = [
        needs_pages(nodes_task(), find_grading(name)) for name in ("repaired", "webcanvas-paper", "webcanvas-code")
    ]
    assert wanted == [False, False, True]
    assert not needs_pages(task("- answer: x"), find_grading("webcanvas-code"))


# --- as the code does


def test_code_does_not_score_the_last_navigation() -> None:
    nodes = "[{url: {includes: /find}}]"
    stopped_early = recorded(click(0, "#go", after=FOUND))
    assert score(nodes, stopped_early) == 0
    assert score(nodes, stopped_early, "webcanvas-paper") == 1
    assert score(nodes, recorded(click(0, "#go", after=FOUND), step(1, Stop(""), FOUND))) == 1


def test_code_scores_nodes_of_failed_actions() -> None:
    failed = StepRecord(
        index=0, action=as_record(Click(Selector("#go"))), raw="", url_before=HOME, url_after=HOME,
        error="it is covered", target=TargetRecord(selector="#go"),
    )  # fmt: skip
    assert score("[{element: '#go'}]", recorded(failed)) == 1


def test_code_accepts_ancestors_of_the_reference_only() -> None:
    assert score("[{element: 'css=#go > span'}]", recorded(click(0, "#go"))) == 1
    assert score("[{element: '#go'}]", recorded(click(0, "#go > span"))) == 0
    assert score("[{element: {locate: '#go', label: other}}]", recorded(click(0, "#go"))) == 0
    assert score("[{element: '#go'}]", recorded(step(0, Hover(Selector("#go")), HOME, "#go"))) == 0


def test_code_values_are_typed_or_shown_texts() -> None:
    typed = recorded(step(0, Type(Selector("#q"), "red lamp"), HOME, "#q"))
    assert score("[{value: {locate: '#q', exact: red lamp}}]", typed) == 1
    assert score("[{value: {exact: Red lamp}}]", typed) == 0
    assert score("[{value: {includes: d l}}]", typed) == 1
    assert score("[{value: {exact: now}}]", recorded(click(0, "#go"))) == 1  # the last text painted for it
    assert score("[{value: {exact: Go}}]", recorded(click(0, "#go"))) == 0
    chosen = recorded(step(0, Select(Selector("#q"), ("Red",)), HOME, "#q"))
    assert score("[{value: {exact: Red}}]", chosen) == 0


def test_code_compares_answers_and_notes_in_lower_case() -> None:
    steps = (step(0, Note("It is 19.50"), HOME), step(1, Stop("The RED one"), HOME))
    assert score("[{text: {includes: red}}, {text: {exact: IT IS 19.50, of: noted}}]", recorded(*steps)) == 1
    semantic = "[{text: {semantic: Names a colour}}, {url: {includes: /}}]"
    assert score(semantic, recorded(*steps)) == 0  # always fails and skips the following nodes
    assert score(semantic, recorded(click(0, "#go"), *steps[1:])) == 0.5


def test_partial_semantic_score_counts_but_prevents_success() -> None:
    nodes = "[{url: {param: q, semantic: Looks for lamps}}, {url: {includes: /find}}]"
    found = recorded(step(0, Goto(FOUND), HOME, after=FOUND), step(1, Stop(""), FOUND))
    asker = Saying(0.85)
    told = result(nodes, found, asker=asker)
    assert told.score == pytest.approx(0.925)
    assert [part.points for part in told.parts] == [0.85, 1]
    assert [(each.kind, each.answer, each.reference) for each in asker.asked] == [
        ("rule", "red lamp", "Looks for lamps")
    ]
    assert score(nodes, found, asker=Saying(0.999)) == 1  # it is rounded up
    without = result(nodes, found)
    assert (without.score, without.cause) == (None, "judge")


@pytest.mark.parametrize(("cause", "expected"), [("agent", 0.5), ("judge", None)])
def test_text_that_upsets_the_judge_earns_nothing(cause: Any, expected: float | None) -> None:
    class Upset:
        def ask(self, question: Question) -> Grade:
            error = JudgeError("refused")
            error.cause = cause
            raise error

    nodes = "[{url: {param: q, semantic: Looks for lamps}}, {url: {includes: /find}}]"
    found = recorded(step(0, Goto(FOUND), HOME, after=FOUND), step(1, Stop(""), FOUND))
    assert score(nodes, found, asker=Upset()) == expected


@pytest.mark.parametrize("locate", ["role=button", 'button:has-text("Go")', "form >> button"])
def test_playwright_selectors_are_undecided_in_code_grading(locate: str) -> None:
    told = result(f"[{{element: '{locate}'}}]", recorded(click(0, "#go")))
    assert (told.score, told.cause) == (None, "task")
    assert "key node 1 has no counterpart there: WebCanvas has CSS selectors" in told.why
    imported = f"[{{element: {{locate: '{locate}', label: shopping}}}}]"
    assert score(imported, recorded(click(0, "#go"))) == 0  # never found, like upstream


def test_code_grading_is_undecided_without_recorded_pages() -> None:
    nodes = "[{element: '#go'}]"
    told = result(nodes, recorded(click(0, "#go"), pages=False))
    assert told.score is None
    assert "the page before step 1 was not recorded; a run with --grading=webcanvas-code records it" in told.why
    assert score("[{url: {includes: /find}}]", recorded(step(0, Stop(""), FOUND), pages=False)) == 1  # needs none


@each_case("grading", ["webcanvas-paper", "webcanvas-code"])
@each_case(
    ("nodes", "why"),
    [
        (
            "[{url: {includes: a}}, {element: '#x', forbidden: true}]",
            "key node 2 has no counterpart there: WebCanvas has no",
        ),
        ("[{url: {includes: a}, hold: end}]", "nodes that are to hold at the end"),
        ("[{url: {param: q}}]", "always for a value"),
        ("{order: strict, nodes: [{url: {includes: a}}, {element: '#x'}]}", "WebCanvas knows no order of key nodes"),
    ],
)
def test_features_unknown_to_webcanvas_are_undecided(grading: str, nodes: str, why: str) -> None:
    told = result(nodes, recorded(step(0, Stop(""), HOME)), grading)
    assert (told.score, told.cause) == (None, "task")
    assert why in told.why


# --- as the paper says


def acted(event: str, *, value: str | None = None, text: str = "", tag: str = "button") -> DomEvent:
    record = ElementRecord(tag=tag, attributes={"id": "go"}, nth=1, children=1, nth_of_type=1, of_type=1, within="root")
    target = TargetRecord(selector="#go", tag=tag, text=text)
    return DomEvent(time=0.0, tab=0, url=HOME, event=event, target=target, value=value, chain=(record,))


def test_paper_scores_whole_nodes_when_reached() -> None:
    seen = recorded(click(0, "#go"), signals=(acted("click", text="Go now"),), signals_after=(1,), pages=False)
    assert score("[{element: '#go'}, {url: {includes: /none}}]", seen, "webcanvas-paper") == 0.5
    assert score("[{element: {locate: '#go', label: shopping}}]", seen, "webcanvas-paper") == 1
    assert score("[{element: {locate: '#go', label: other}}]", seen, "webcanvas-paper") == 0
    assert (
        score("[{element: '#go', weight: 3}, {element: '#no'}]", seen, "webcanvas-paper") == 0.5
    )  # upstream has no weights


def test_paper_uses_clicked_text_as_value() -> None:
    clicked = recorded(click(0, "#go"), signals=(acted("click", text="Go now"),), signals_after=(1,))
    assert score("[{value: {locate: '#go', exact: Go now}}]", clicked, "webcanvas-paper") == 1
    assert score("[{value: {locate: '#go', exact: go now}}]", clicked, "webcanvas-paper") == 0
    typed = acted("input", value="two lamps", tag="input")
    entered = recorded(click(0, "#go"), signals=(typed,), signals_after=(1,))
    assert score("[{value: {locate: '#go', includes: o la}}]", entered, "webcanvas-paper") == 1  # no whole words
    assert score("[{value: {includes: o la}}]", entered, "webcanvas-paper") == 1


def test_paper_compares_addresses_exactly() -> None:
    went = recorded(step(0, Goto(FOUND), HOME, after=FOUND), pages=False)
    for nodes, holds in {
        "[{url: {includes: 'shopping.test/find', site: '*'}}]": 1,
        "[{url: {includes: /Find}}]": 0,
        "[{url: {includes: /find/}}]": 0,
        "[{url: {param: q, exact: red lamp}}]": 1,
        "[{url: {param: q, exact: Red lamp}}]": 0,
        "[{url: {param: q, includes: d la}}]": 1,
        "[{url: {exact: 'http://shopping.test/find?q=red+lamp'}}]": 1,
        "[{url: {exact: 'http://shopping.test/find'}}]": 0,
    }.items():
        assert score(nodes, went, "webcanvas-paper") == holds, nodes


@each_case("grading", ["webcanvas-paper", "webcanvas-code"])
@each_case(
    ("address", "holds"),
    [
        ("/find?q=red+lamp", 1),
        ("shopping:/find?q=red+lamp", 1),
        ("/find", 0),
        ("reddit:/f/books", 1),
        ("http://reddit.test/f/books", 1),
        ("shopping:/f/books", 0),
        ("reddit:/find?q=red+lamp", 0),
    ],
)
def test_full_addresses_of_task_files_are_compared(grading: str, address: str, holds: float) -> None:
    books = "http://reddit.test/f/books"
    steps = (
        step(0, Goto(FOUND), HOME, after=FOUND),
        step(1, Goto(books), FOUND, after=books),
        step(2, Stop(""), books),
    )
    nodes, went = f"[{{url: {{exact: '{address}'}}}}]", recorded(*steps, pages=False)
    assert score(nodes, went, grading) == holds
    assert judge(task(f"- key_nodes: {nodes}"), went).results[0].score == holds


def test_paper_compares_answers_in_lower_case() -> None:
    said = recorded(step(0, Note("Costs 19.50 Euro"), HOME), step(1, Stop("The RED one"), HOME), answer="The RED one")
    nodes = "[{text: {exact: the red ONE}}, {text: {includes: EURO, of: noted}}, {text: {includes: blue}}]"
    assert score(nodes, said, "webcanvas-paper") == pytest.approx(2 / 3)


# --- texts of elements


@each_case(
    ("html", "text"),
    [
        ("<button id=x>Buy <span>now</span></button>", "now"),
        ("<button id=x>Buy <b>now</b></button>", "Buy"),  # b passes no text to its parent
        ("<button id=x>Buy <span role=button>now</span></button>", "Buy"),
        ("<button id=x>Buy <span style='display: none'>now</span></button>", "Buy"),
        ("<a id=x title='Home'></a>", "Home"),
        ("<input id=x placeholder='Find' title=''>", "Find"),
        ("<input id=x type=submit>", "submit"),
        ("<select id=x><option>Red</option></select>", "Select an option value"),
        ("<button id=x>\n\t </button>", ""),
        ("<p>none</p>", None),
    ],
)
def test_shown_text_of_an_element(html: str, text: str | None) -> None:
    assert shown_text(html, "#x") == text


@pytest.mark.parametrize(("grading", "loaded"), [("webcanvas-code", True), ("repaired", False)])
def test_html_library_is_loaded_once_in_the_main_process(
    monkeypatch: pytest.MonkeyPatch, grading: str, loaded: bool
) -> None:
    pytest.importorskip("bs4")
    for name in [name for name in sys.modules if name.partition(".")[0] in ("bs4", "soupsieve")]:
        monkeypatch.delitem(sys.modules, name)
    evidence = recorded(click(0, "#go"), step(1, Stop(""), HOME))
    each = task("- key_nodes: [{element: {locate: '#go'}}]")
    found = judge_all_bounded(each, evidence, headline=find_grading(grading), seconds=30)
    assert grading != "webcanvas-code" or found[grading].results[0].score == 1
    assert ("bs4" in sys.modules) is loaded
