"""The keys of a task file and the resulting tasks."""

from __future__ import annotations

import pytest

from pytest_webarena.tasks import ApiRequest, BrowserSetup, SqlSetup, Start, parse_tasks
from tests.cases import each_case

from .helpers import one, task

DESIGN = """
defaults: {sites: [shopping]}
tasks:
  - id: shopping-spend-on-books
    intent: How much did I spend on books in 2023?
    checks:
      - answer: {number: 84.97, tolerance: 0.01}
    solution:                       # what the oracle agent replays
      - goto: /accounts/orders/
      - stop: "84.97"

  - id: shopping-review
    intent: Leave a {{ stars }}-star review titled "{{ title }}" on {{ product }}
    each:
      coffee: {product: Coffee Grinder, stars: 4, title: Quiet enough}
      kettle: {product: Gooseneck Kettle, stars: 2, title: Drips}
    mutates: true
    checks:
      - page: {open: /reviews/, locate: css=.review-title, includes: "{{ title }}"}
      - state: {sql: "select count(*) from reviews where title = {{ title|sql }}", equals: 1}

  - id: no-phone-number
    intent: What is the phone number of this shop?
    checks:
      - answer: {unachievable: the shop lists no phone number}
"""


def test_full_example_file_is_read() -> None:
    books, coffee, kettle, phone = parse_tasks(DESIGN)
    assert [t.id for t in (books, coffee, kettle, phone)] == [
        "shopping-spend-on-books",
        "shopping-review.coffee",
        "shopping-review.kettle",
        "no-phone-number",
    ]
    assert [t.category for t in (books, coffee, phone)] == ["information", "content", "unachievable"]
    assert coffee.intent == 'Leave a 4-star review titled "Quiet enough" on Coffee Grinder'
    assert (coffee.template, kettle.template, books.template) == (
        "shopping-review",
        "shopping-review",
        "shopping-spend-on-books",
    )
    assert [t.location.line for t in (books, coffee, kettle)] == [4, 15, 16]
    assert coffee.filling == {"product": "Coffee Grinder", "stars": 4, "title": "Quiet enough"}
    assert kettle.checks[1].spec.sql == "select count(*) from reviews where title = 'Drips'"
    assert [check.path for check in coffee.checks] == ["checks[0]", "checks[1]"]
    assert coffee.digest != kettle.digest


@each_case(
    ("written", "text"),
    [("no", "no"), ("1.10", "1.10"), ("2023-01-05", "2023-01-05"), ("12:30", "12:30"), ("'null'", "null"), ("x ", "x")],
)
def test_scalars_keep_their_text_as_written(written: str, text: str) -> None:
    assert task(f"checks: [{{answer: {{exact: {written}}}}}]").checks[0].spec.text.exact == text


def test_ids_may_look_like_numbers() -> None:
    assert one("tasks: [{id: 1.10, intent: x, sites: [], checks: [{answer: x}]}]").id == "1.10"


@each_case(
    ("written", "start"),
    [
        ("/a", [("shopping", "/a")]),
        ("reddit:/f/books", [("reddit", "/f/books")]),
        (
            "[/a, {reddit: /f}, 'http://homepage.test/x']",
            [("shopping", "/a"), ("reddit", "/f"), ("", "http://homepage.test/x")],
        ),
        ("about:blank", [("", "about:blank")]),
    ],
)
def test_start_notations(written: str, start: list[tuple[str, str]]) -> None:
    assert task(f"start: {written}").start == tuple(Start(site=site, path=path) for site, path in start)


@pytest.mark.parametrize(
    ("written", "user"),
    [("emma", {"shopping": "emma"}), ("{reddit: bob}", {"reddit": "bob"}), ("''", {"shopping": ""})],
)
def test_user_notations(written: str, user: dict[str, str]) -> None:
    assert task(f"user: {written}").user == user


def test_setup_notations() -> None:
    steps = task("""
        setup:
          - sql: delete from notes
          - sql: {site: reddit, sql: "insert into posts values (1)", database: main}
          - api: {method: POST, path: "reddit:/api/x", json: {title: Tée}, headers: {X-A: b}, status: 201}
          - api: {path: /ping}
          - browser: [{goto: /x}, {click: text=Save}]
          - browser: {site: reddit, user: "", steps: [{goto: /f}]}
    """).setup
    assert [(step.kind, step.site) for step in steps] == [
        ("sql", "shopping"),
        ("sql", "reddit"),
        ("api", "reddit"),
        ("api", "shopping"),
        ("browser", "shopping"),
        ("browser", "reddit"),
    ]
    assert steps[1].spec == SqlSetup(sql="insert into posts values (1)", database="main")
    assert steps[2].spec == ApiRequest(
        method="POST",
        path="/api/x",
        headers={"X-A": "b", "Content-Type": "application/json"},
        body='{"title": "Tée"}',
        status=201,
    )
    assert steps[3].spec == ApiRequest(path="/ping")
    assert isinstance(steps[5].spec, BrowserSetup)
    assert steps[5].spec.user == ""
    assert steps[5].spec.steps[0].url == "reddit:/f"  # type: ignore[union-attr]


def test_scoring_limits_and_marks_are_read() -> None:
    t = task("""
        score: mean
        threshold: 0.5
        checks: [{answer: x, weight: 2}, {answer: y}]
        limits: {steps: 12, seconds: 1.5}
        skip: not yet
        xfail: known to fail
        tags: money
        mutates: false
        category: shopping about
    """)
    assert (t.score, t.threshold, t.limits.steps, t.limits.seconds) == ("mean", 0.5, 12, 1.5)
    assert (t.skip, t.xfail, t.tags, t.mutates, t.category) == (
        "not yet",
        "known to fail",
        ("money",),
        False,
        "shopping about",
    )
    assert [check.weight for check in t.checks] == [2.0, 1.0]


def test_task_may_have_no_sites() -> None:
    assert task("sites: []").sites == ()


@each_case(
    ("checks", "extra", "category"),
    [
        ("[{answer: x}]", "", "information"),
        ("[{url: /a}]", "", "navigation"),
        ("[{page: {includes: x}}]", "", "navigation"),
        ("[{page: {open: /a, includes: x}}]", "", "content"),
        ("[{state: {sql: select 1, equals: 1}}, {answer: x}]", "", "content"),
        ("[{url: /a}, {answer: x}]", "", "information"),
        ("[{network: {method: POST, url: /a}}]", "", "content"),
        ("[{network: {url: /a}}]", "", "navigation"),
        ("[{any: [{url: /a}, {answer: {unachievable: no page}}]}]", "", "unachievable"),
        ("[{url: /a}]", "mutates: true", "content"),
        ("[{python: a:b}]", "", ""),
    ],
)
def test_category_follows_from_the_checks(checks: str, extra: str, category: str) -> None:
    assert task(f"checks: {checks}\n{extra}").category == category


def test_combined_checks_have_children_and_paths() -> None:
    [check] = task("""
        checks:
          - all:
              - any: [{url: /a}, {url: /b}]
              - not: {page: {includes: x}}
            when: any_step
    """).checks
    assert [child.path for child in check.children] == ["checks[0].all[0]", "checks[0].all[1]"]
    assert check.children[1].children[0].path == "checks[0].all[1].not"
    assert check.when == "any_step"
    assert check.children[0].children[0].location is not None
    assert check.children[0].children[0].location.line == 7


def test_keys_of_a_task_override_defaults() -> None:
    a, b = parse_tasks("""
defaults: {sites: [shopping], tags: [x], user: emma, limits: {steps: 3}}
tasks:
  - {id: a, intent: x, checks: [{answer: x}]}
  - {id: b, intent: x, checks: [{url: /p}], sites: [reddit], tags: [y]}
""")
    assert (a.sites, a.tags, a.user, a.limits.steps) == (("shopping",), ("x",), {"shopping": "emma"}, 3)
    assert (b.sites, b.tags, b.user) == (("reddit",), ("y",), {"reddit": "emma"})
    assert b.checks[0].spec.address[0].site == "reddit"


def test_default_checks_are_filled_per_task() -> None:
    a, b = parse_tasks("""
defaults: {checks: [{page: {open: /x, includes: "{{ word }}"}}], sites: [one]}
tasks:
  - {id: a, intent: x, each: {q: {word: tea}}}
  - {id: b, intent: x, each: {q: {word: milk}}, sites: [two]}
""")
    assert [t.checks[0].spec.text.includes for t in (a, b)] == [("tea",), ("milk",)]
    assert [t.checks[0].spec.open.site for t in (a, b)] == ["one", "two"]


def test_anchors_merge_keys_and_x_keys_are_supported() -> None:
    a, b = parse_tasks("""
x-common: &common
  sites: [shopping]
  checks: &same [{answer: x}]
tasks:
  - {id: a, intent: x, <<: *common}
  - {id: b, intent: x, <<: [{sites: [reddit]}, *common], checks: *same}
""")
    assert (a.sites, b.sites) == (("shopping",), ("reddit",))
    assert a.checks[0].spec == b.checks[0].spec


def test_json_file_is_read() -> None:
    assert one('{"tasks": [{"id": "a", "intent": "x", "sites": [], "checks": [{"answer": {"number": 1}}]}]}').id == "a"


def test_empty_list_of_tasks_is_accepted() -> None:
    assert parse_tasks("tasks: []") == ()
