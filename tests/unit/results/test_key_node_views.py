"""Charts of key nodes: counts, positions, and escaping of recorded texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from html.parser import HTMLParser
from typing import Any

import pytest

from pytest_webarena.checks.render import render
from pytest_webarena.checks.verdict import CheckResult, Part, Verdict
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.results.key_node_views import run_section, standalone, timeline

HOSTILE = "</script><img src=x onerror=alert(1)> \"'&"


def part(what: str, step: int | None = None, **more: Any) -> Part:
    got = step is not None and not more.get("forbidden")
    values: dict[str, Any] = {
        "what": what, "points": float(got), "of": 1.0, "given": float(got), "function": "url includes", "step": step,
        "by": "http://s.test/" if step is not None else "",
    }  # fmt: skip
    return Part(**{**values, **more})


def record(parts: Sequence[Part], *, task: str = "t", agent: str = "a", trial: int = 1, **more: Any) -> TrialRecord:
    wanted = [each for each in parts if not each.forbidden]
    score = sum(each.points for each in wanted) / len(wanted)
    check = CheckResult(path="checks[0]", kind="key_nodes", score=score, expected="all", parts=tuple(parts))
    verdict = Verdict(score=score, passed=score == 1, results=(check,), task=task)
    values: dict[str, Any] = {
        "outcome": "passed" if score == 1 else "failed", "steps": 5, "verdict": verdict.to_json(), "sites": ("s",),
    }  # fmt: skip
    return TrialRecord(key=TrialKey(task, agent, trial), **{**values, **more})


class Outline(HTMLParser):
    """Checks that elements are closed in order."""

    EMPTY = ("meta", "br", "img", "input", "link")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def test_timeline_shows_step_and_cause_of_each_node() -> None:
    nodes = [part("home", -1, free=True), part("found", 2), part("bought"), part("paid", 4, forbidden=True)]
    found = timeline(record([*nodes, part("odd", open=True, why="nobody knows")]))
    assert " ".join(Outline(found).text.split()) == (
        "Key nodes of t ✓ 1 home free at the start, http://s.test/ ✓ 2 found step 3, http://s.test/ ✗ 3 bought "
        "not reached ✗ 4 paid forbidden step 5, http://s.test/ ? 5 odd nobody knows"
    )
    assert re.findall(r'cx="([\d.]+)"', found) == ["4.0", "119.2", "196.0"]
    assert timeline(TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")) == ""


def test_run_without_key_nodes_has_no_charts() -> None:
    assert run_section([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")]) == ""
    assert run_section([]) == ""


def funnel(records: Sequence[TrialRecord]) -> list[int]:
    found = run_section(records).partition("</figure>")[0]
    return [int(count) for count in re.findall(r"<b>(\d+)</b>", found)]


def test_funnel_counts_trials_by_share_of_reached_nodes() -> None:
    full, half, none = ([part("a", 1), part("b", 2)], [part("a", 1), part("b")], [part("a"), part("b")])
    trials = [record(each, trial=number) for number, each in enumerate([full, half, half, none], start=1)]
    assert funnel(trials) == [4, 3, 3, 3, 1, 1, 1]  # trials, one node, a quarter, half, three quarters, all, passed
    assert funnel([record([part("home", 0, free=True), part("a")])]) == [
        1,
        0,
        0,
        0,
        0,
        0,
        0,
    ]  # free nodes are no progress
    assert funnel([*trials, record(full, trial=9, outcome="error"), record([part("a", open=True)], trial=10)])[0] == 4


def test_heat_maps_have_a_cell_for_each_node() -> None:
    trials = [
        record([part("a", 1), part("b", 3), part("no", 2, forbidden=True)], trial=1),
        record([part("a", 1), part("b"), part("no", 2, forbidden=True)], trial=2),
        record([part("a", 1)], task="other"),
    ]
    found = run_section(trials, links=True)
    cells = re.findall(r'<td class="(\w+)" title="([^"]+)"><a href="#([^"]+)">', found)
    assert [(kind, tooltip) for kind, tooltip, _ in cells] == [
        ("h10", "a: reached 2 of 2, mostly by http://s.test/"),
        ("h5", "b: reached 1 of 2, mostly by http://s.test/"),
        ("h0", "no: reached 2 of 2, mostly by http://s.test/"),
        ("h10", "a: reached 1 of 1, mostly by http://s.test/"),
    ]
    assert cells[1][2] == trials[1].key.folder  # the one that missed it
    assert "<a " not in run_section(trials)
    assert "functions × annotated steps" in found


def ways(parts: Sequence[Part]) -> list[str]:
    return re.findall(r"<title>a: 1 of 1 ([^<]+)</title>", run_section([record(parts)]))


def test_node_flows_follow_the_order_of_reached_nodes() -> None:
    assert ways([part("a", 1), part("b", 2)]) == ["from the start to 1", "from 1 to 2"]
    assert ways([part("a", 3), part("b", 1)]) == ["from the start to 2", "from 2 to 1"]
    assert ways([part("a", 1), part("b"), part("c", 2)]) == [
        "from the start to 1", "from 1 to 3", "reached nothing after 3",
    ]  # fmt: skip
    assert ways([part("a"), part("b")]) == ["reached nothing after the start"]
    assert ways([part("a", 1), part("no", 1, forbidden=True), part("b", 1)]) == ["from the start to 1", "from 1 to 2"]


def test_recorded_texts_are_escaped_in_html() -> None:
    trials = [record([part(HOSTILE, 1, by=HOSTILE), part(HOSTILE)], task=HOSTILE, agent=HOSTILE)]
    for found in (run_section(trials, links=True), timeline(trials[0])):
        outline = Outline(found)
        assert not {"img", "script"} & set(outline.tags)
        assert "onerror" in outline.text
    page = standalone(HOSTILE, "")
    assert "<img" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ([part("a", 1), part("two of them"), part("c")], "key_nodes: missed two of them (node 2 of 3, 1 reached)"),
        ([part("a", 1), part("checkout", 1, forbidden=True)], "key_nodes: reached checkout, which is forbidden"),
        ([part("no", forbidden=True), part("a")], "key_nodes: missed a (node 1 of 1, 0 reached)"),
    ],
)
def test_verdict_headline_names_first_missed_node(parts: Sequence[Part], line: str) -> None:
    check = CheckResult(path="checks[0]", kind="key_nodes", score=0.5, expected="all", parts=tuple(parts))
    verdict = Verdict(score=0.5, passed=False, results=(check,), task="t")
    assert render(verdict).splitlines()[0] == line


def test_verdict_headline_with_long_node_name_fits_80_columns() -> None:
    parts = tuple(part("a very long name of a node, as those are that have none " * 3) for _ in range(12))
    check = CheckResult(path="checks[0]", kind="key_nodes", score=0.0, expected="all", parts=parts)
    line = render(Verdict(score=0.0, passed=False, results=(check,), task="t")).splitlines()[0]
    assert len(line) <= 80
    assert line.endswith("… (node 1 of 12, 0 reached)")


def test_flows_of_many_agents_are_distinguishable() -> None:
    agents = [f"agent-{letter}" for letter in "abcdefghi"]
    drawn = run_section([record([part("home", 0), part("found")], agent=agent) for agent in agents])
    keys = re.findall(r'<i class="(way-\d[^"]*)"></i>', drawn)
    assert len(set(keys)) == len(agents)
    ends = [float(place) for place in re.findall(r'<path class="way-[^"]* end"[^>]* d="M(\d+) ', drawn)]
    assert len(set(ends)) == len(agents)
    first = 40 + 92  # of the stop at which all of them ended
    assert all(abs(place - first) < 92 / 2 for place in ends)


def page_ways(text: str) -> list[str]:
    """Return the labels of the drawn page flows, one line each."""
    return re.findall(r"<title>([^<]*)</title>", text.partition("Ways from page to page")[2])


def test_page_flows_are_drawn_against_the_solution() -> None:
    pages_by_agent = {
        "oracle": ["http://s.test/", "http://s.test/search/?q=x", "http://s.test/search/?q=y", "http://s.test/a#top"],
        "lost": ["http://s.test/", "http://s.test/b", "http://s.test/a", "http://s.test/", HOSTILE],
    }
    nodes = [part("home", 0), part("found")]
    records = [
        TrialRecord(key=TrialKey("t", "oracle", 1), outcome="passed"),
        record(nodes, agent="lost"),
        record(nodes, agent="lost", trial=2, outcome="error"),  # no path: an error
        TrialRecord(key=TrialKey("t", "crashed", 1), outcome="failed"),  # its nodes were not judged
    ]
    drawn = run_section(records, pages=lambda each: pages_by_agent.get(each.key.agent, ["http://s.test/c"]))
    Outline(drawn)
    assert page_ways(drawn) == [
        "lost: 1 of 1 from the start to 1", "lost: 1 of 1 from 1 to 4", "lost: 1 of 1 from 1 to 5",
        "lost: 1 of 1 from 3 to 1", "lost: 1 of 1 from 4 to 3", "lost: 1 of 1 reached nothing after 5",
    ]  # fmt: skip
    stops = re.findall(r"<li( class=aside)?>([^<]*)</li>", drawn.partition("Ways from page to page")[2])
    assert [name for aside, name in stops if not aside] == ["s.test", "s.test/search", "s.test/a"]
    assert [name for aside, name in stops if aside] == ["s.test/b", escape(HOSTILE)]
    assert "page to page" not in run_section(records)


def test_recorded_pages_are_the_reference_on_mapped_hosts() -> None:
    source = {"hosts": {"ikea": "www.ikea.com"}, "recorded": ["https://www.ikea.com/", "https://www.ikea.com/sofas/"]}
    drawn = run_section(
        [record([part("home", 0)], source=source)], pages=lambda _: ["http://ikea.test/", "http://ikea.test/sofas"]
    )
    assert page_ways(drawn) == ["a: 1 of 1 from the start to 1", "a: 1 of 1 from 1 to 2"]
    assert "aside" not in drawn.partition("Ways from page to page")[2]


def test_less_visited_pages_share_one_stop() -> None:
    pages = ["http://s.test/", *(f"http://s.test/{number}" for number in range(20))]
    drawn = run_section([record([part("home", 0)])], pages=lambda _: pages)
    stops = re.findall(r"<li[^>]*>([^<]*)</li>", drawn.partition("Ways from page to page")[2])
    assert (len(stops), stops[-1]) == (13, "other pages")
