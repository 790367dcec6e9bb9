"""Helpers of the tests of checks: tasks from YAML, evidence from a few facts, and a fake live trial."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_webarena.actions import Click, Selector, as_record
from pytest_webarena.checks import CheckResult, collect, judge, needs
from pytest_webarena.evidence import Evidence, Probe, RequestRecord, StepRecord, TabState
from pytest_webarena.tasks import Task, parse_tasks

AnswerTable = list[tuple[str, str, list[str], list[str]]]
"""A check of the kind ``answer``, an intent, answers that pass and answers that don't."""

SITES = {"shopping": "http://shopping.test", "reddit": "http://reddit.test"}


def task(checks: str, *, intent: str = "What is it?", extra: str = "") -> Task:
    """Return a task with these checks (YAML of a list)."""
    body = textwrap.indent(textwrap.dedent(checks).strip("\n"), "      ")
    [made] = parse_tasks(
        f"tasks:\n  - id: t\n    intent: {intent!r}\n    sites: [shopping, reddit]\n{extra}    checks:\n{body}\n"
    )
    return made


def evidence(answer: str | None = None, *, url: str = "", urls: Sequence[str] = (), **facts: Any) -> Evidence:
    """Return evidence of a trial that ended at ``url`` after visiting ``urls``, one per step."""
    steps = tuple(
        StepRecord(index=index, action=as_record(Click(Selector("css=a"))), raw="", url_after=each)
        for index, each in enumerate(urls)
    )
    tabs = (TabState(url=url, title="", html="", active=True),) if url else ()
    return Evidence(
        **{"answer": answer, "stop_reason": "answered", "tabs": tabs, "steps": steps, "sites": SITES, **facts}
    )


def request(method: str, path: str, *, status: int | None = 200, body: str | None = None, **more: Any) -> RequestRecord:
    """Return one request to the shop."""
    url = path if "://" in path else f"http://shopping.test{path}"
    return RequestRecord(time=0.0, method=method, url=url, status=status, request_body=body, **more)


def result(check: str, recorded: Evidence, *, intent: str = "What is it?") -> CheckResult:
    """Return the result of one check: YAML of one item, without the dash, e.g. ``answer: Tea``."""
    indented = textwrap.dedent(check).strip("\n").replace("\n", "\n  ")
    [only] = judge(task(f"- {indented}", intent=intent), recorded).results
    return only


def prohibited(conditions: str, **recorded: Any) -> bool | None:
    """Return whether a prohibition fails; its two forms must agree."""
    forms = (f"network: {{{conditions}, none: true}}", f"not: {{network: {{{conditions}}}}}")
    first, second = (result(form, evidence(url="http://shopping.test/", **recorded)).passed for form in forms)
    assert first is second, conditions
    return None if first is None else not first


def answer_cases(table: AnswerTable, *, right: bool) -> list[tuple[str, str, str]]:
    """Check, answer and intent of each answer in the table that passes, or of each that does not."""
    return [(row[0], answer, row[1]) for row in table for answer in row[2 if right else 3]]


def passes(check: str, answer: str, intent: str) -> bool:
    """Whether the check has no doubt that the answer is right."""
    return result(f"answer: {check}", evidence(answer), intent=intent).passed is True


@dataclass
class FakePage:
    """The result of reading a page."""

    url: str = "http://shopping.test/"
    status: int | None = 200
    texts: Sequence[str] = ()
    error: str = ""
    invalid: str = ""
    hidden: str = ""
    refused: str = ""
    waiting: str = ""
    signed_out: str = ""
    shut_out: str = ""


@dataclass
class FakeRows:
    """The result of a query."""

    rows: Sequence[Sequence[Any]]
    columns: Sequence[str] = ("a",)


@dataclass
class FakeLive:
    """A live trial whose pages, databases and APIs are functions; it records the calls."""

    page: Callable[[str | None, str | None], FakePage] = lambda open, locate: FakePage()
    rows: Callable[[str], Sequence[Sequence[Any]]] = lambda sql: ()
    api: Callable[[str], tuple[int, str]] = lambda path: (200, "{}")
    sites: Mapping[str, str] = field(default_factory=lambda: SITES)
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def read_page(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> FakePage:
        self.asked.append(("page", open, locate, *prepare))
        return self.page(open, locate)

    def query(self, site: str, sql: str, *, database: str = "") -> FakeRows:
        self.asked.append(("query", site, sql, database))
        return FakeRows(self.rows(sql))

    def fetch(
        self,
        site: str,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> tuple[int, str]:
        self.asked.append(("fetch", site, path, method, dict(headers or {}), body))
        return self.api(path)


def live_result(check: str, live: FakeLive, recorded: Evidence | None = None) -> CheckResult:
    """Collect for one check at the end of a trial, and judge it."""
    indented = textwrap.dedent(check).strip("\n").replace("\n", "\n  ")
    made = task(f"- {indented}")
    probes = collect(needs(made.checks).end, live, state="end")
    recorded = recorded or evidence(url="http://shopping.test/")
    [only] = judge(made, with_probes(recorded, *probes)).results
    return only


def with_probes(recorded: Evidence, *probes: Probe) -> Evidence:
    """Return the evidence with more probes, after a JSON round trip."""
    data = recorded.to_json()
    data["probes"] = [
        *data["probes"],
        *map(asdict, probes),
    ]
    return Evidence.from_json(data)
