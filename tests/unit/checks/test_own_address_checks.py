"""Checks of hosted sites: own addresses in the task, in the answer and on the pages mean the same as the name."""

from __future__ import annotations

import pytest

from pytest_webarena.checks import judge
from pytest_webarena.errors import TaskFileError
from pytest_webarena.evidence import Evidence, Probe, TabState
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.tasks import parse_tasks
from tests.cases import each_case

OWN = OwnAddresses(
    {
        "http://one:7770": "http://shop.test",
        "http://two:7770": "http://shop.test",
        "http://one:8023": "http://git.test",
    }
)
SITES = {"shop": "http://shop.test", "git": "http://git.test"}


def passed(checks: str, answer: str, url: str = "", text: str = "") -> bool | None:
    [task] = parse_tasks(f"tasks: [{{id: a, intent: Where?, sites: [shop, git], checks: [{checks}]}}]")
    evidence = Evidence(
        answer=answer, stop_reason="answered", sites=SITES, own_addresses=OWN,
        tabs=(TabState(url=url, title="", html="", active=True),) if url else (),
        probes=(Probe(check="checks[0]", state="end", value=text),) if text else (),
    )  # fmt: skip
    return judge(task, Evidence.from_json(evidence.to_json())).passed


@each_case(
    "wanted, answer, expected",
    [
        ("http://one:7770/product/1", "http://two:7770/product/1", True),
        ("http://one:7770/product/1", "http://shop.test/product/1", True),
        ("http://shop.test/product/1", "http://one:7770/product/1", True),
        ("http://shop.test/product/1", "http://one:77701/product/1", False),
        ("http://shop.test/product/1", "http://one:8023/product/1", False),
        ("http://shop.test/product/1", "http://other:7770/product/1", False),
    ],
)
def test_answers(wanted: str, answer: str, expected: bool) -> None:
    assert passed(f'answer: {{url: "{wanted}"}}', answer) is expected
    assert passed(f'answer: {{exact: "{wanted}"}}', answer) is expected
    assert passed(f"answer: {{regex: '{wanted.replace('.', chr(92) + '.')}'}}", answer) is expected
    assert passed(f'answer: {{json: {{at: ["{wanted}"]}}}}', f'{{"at": ["{answer}"]}}') is expected


@each_case(
    "wanted, answer, expected",
    [
        ("http://one:7770/product/1", "one:7770/product/1", True),
        ("http://one:7770/product/1", "It is at two:7770/product/1.", True),
        ("http://shop.test/product/1", "one:7770/product/1", True),
        ("http://one:7770/product/1", "shop.test/product/1", True),
        ("http://shop.test/product/1", "one:8023/product/1", False),
        ("http://shop.test/product/1", "other:7770/product/1", False),
        ("http://shop.test/product/1", "one:7770/product/2", False),
    ],
)
def test_answers_without_a_scheme(wanted: str, answer: str, expected: bool) -> None:
    assert passed(f'answer: {{url: "{wanted}"}}', answer) is expected
    bare = wanted.partition("://")[2]
    assert passed(f'answer: {{exact: "{bare}"}}', answer.removeprefix("It is at ").rstrip(".")) is expected


@each_case(
    "wanted, expected",
    [
        ("shop:/a", True),
        ("http://one:7770/a", True),
        ("http://two:7770/a", True),
        ("http://one:8023/a", False),
        ("git:/a", False),
    ],
)
def test_addresses_of_tabs(wanted: str, expected: bool) -> None:
    assert passed(f'url: "{wanted}"', "", "http://shop.test/a") is expected
    assert passed(f'url: "{wanted}"', "", "http://two:7770/a") is expected


def test_address_that_is_not_translated_is_undecided() -> None:
    assert passed("answer: {regex: 'one:777[01]/a'}", "one:7770/a") is None
    assert passed("answer: {regex: 'other:777[01]/a'}", "one:7770/a") is False


def test_answer_that_names_a_site_is_refused_in_task_files() -> None:
    with pytest.raises(TaskFileError, match=r"full address .*found 'shop:/a' .*site's host, not its name"):
        passed("answer: {url: 'shop:/a'}", "http://shop.test/a")
