"""Messages about invalid task files."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.errors import TaskFileError
from pytest_webarena.tasks import load_tasks, parse_tasks, read_tasks
from pytest_webarena.tasks.nodes import NodeLimits
from tests.cases import each_case

from .helpers import problems, task_text


@each_case(
    ("keys", "message"),
    [
        ("intnet: x", "6:5: expected a key of a task, found 'intnet' (did you mean 'intent'?)"),
        ("score: avg", "6:12: expected one of product, mean, found 'avg'"),
        ("score: men", "6:12: expected one of product, mean, found 'men' (did you mean 'mean'?)"),
        ("threshold: 0", "6:16: expected a number above 0, at most 1, found the number 0"),
        ("threshold: 1.5", "6:16: expected a number above 0, at most 1, found the number 1.5"),
        ("threshold: .nan", "6:16: expected a number above 0, at most 1, found '.nan'"),
        ("threshold: '0.5'", "6:16: expected a number above 0, at most 1, found the text '0.5' (remove the quotes)"),
        ("mutates: yes", "6:14: expected true or false, found 'yes' (write true)"),
        ("mutates:", "6:13: expected true or false, found nothing"),
        ("limits: {steps: 0}", "6:21: expected a whole number above 0, found the number 0"),
        ("limits: {steps: 1.5}", "6:21: expected a whole number above 0, found the number 1.5"),
        ("limits: {step: 1}", "6:14: expected a key of 'limits', found 'step' (did you mean 'steps'?)"),
        ("limits: 5", "6:13: expected a mapping (limits), found the number 5"),
        ("tags: [a, [b]]", "6:15: expected a tag, found a list of 1"),
        ("tags:", "6:10: expected a tag, found nothing"),
        ("skip: true", "6:11: expected a reason, found true"),
        ("start: a/b", "6:12: expected an address: /path, site:/path or http://…, found 'a/b' (paths begin with '/')"),
        (
            "start: gitlab:/x",
            "6:12: expected a site of this task, found 'gitlab' (add it to 'sites' or use shopping, reddit)",
        ),
        ("start: {shoping: /x}", "6:13: expected a site of this task, found 'shoping' (did you mean 'shopping'?)"),
        ("start: {reddit: x}", "6:21: expected a path that begins with '/', found 'x'"),
        ("start: 'http://'", "6:12: expected an address: /path, site:/path or http://…, found 'http://'"),
        ("start: 'http://x:y/'", "6:12: expected an address: /path, site:/path or http://…, found 'http://x:y/'"),
        ("start: 'file:///etc/passwd'", "6:12: expected a site of this task, found 'file'"),
        ("user: {gitlab: x}", "6:12: expected a site of this task, found 'gitlab'"),
        ("user: [x]", "6:11: expected an account name, or a mapping from sites to accounts, found a list of 1"),
        ("setup: [{sql: -- x}]", "6:19: expected an SQL statement, found nothing but space and comments"),
        ("setup: [{sqll: x}]", "6:14: expected a set-up step, found 'sqll' (did you mean 'sql'?)"),
        ("setup: [sql]", "6:13: expected a set-up step: sql, api, browser, found 'sql'"),
        (
            "setup: {sql: x}",
            "6:12: expected a list of set-up steps, found a mapping with sql (start each item with '- ')",
        ),
        ("setup: [{api: {path: /x, body: a, json: 1}}]", "6:19: expected 'body' or 'json', found both"),
        ("setup: [{api: {path: 'http://a/'}}]", "expected /path or site:/path, found 'http://a/'"),
        (
            "setup: [{api: {path: /x, method: FETCH}}]",
            "expected one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, found",
        ),
        ("setup: [{browser: [{stop: x}]}]", "expected a step, found 'stop' ('stop' belongs to solutions)"),
        ("category: {a: b}", "6:15: expected a category, found a mapping with a"),
        (
            "checks: {answer: x}",
            "5:13: expected a list of checks, at least one, found a mapping with answer (start each",
        ),
        ("checks: []", "5:13: expected a list of checks, at least one, found an empty list"),
        ("checks: [answer]", "5:14: expected a check, e.g. 'answer: 84.97', found 'answer'"),
        ("checks: [{anser: x}]", "5:15: expected a kind of check, found 'anser' (did you mean 'answer'?)"),
        ("checks: [{weight: 2}]", "5:14: expected a check, found a mapping with weight (name its kind: answer, url,"),
        ("checks: [{answer: x, url: /a}]", "5:26: expected one kind in a check, 'answer', found 'url' too"),
        ("checks: [{answer: x, weight: 2}]", "2:5: expected 'score: mean' for checks with a weight, found 'weight' in"),
        ("checks: [{answer: x, weight: 0}]", "expected a number above 0, found the number 0"),
        ("checks: [{answer: x, when: any_step}]", "expected 'when' on url, page or state, found it on 'answer'"),
        *(
            (f"checks: [{{state: {{sql: select 1, equals: 1}}, within: {value}}}]", f"such as 10s, found {found}")
            for value, found in (
                ("0", "the number 0"),
                ("-1", "the number -1"),
                ("soon", "'soon'"),
                ("10m", "'10m'"),
                ("1e9", "the number 1e9 (at most 3600)"),
                ("'10'", "the text '10' (remove the quotes)"),
            )
        ),
        ("checks: [{answer: x, within: 5}]", "expected 'within' on state, page or changes, found it on 'answer'"),
        ("checks: [{url: /a, within: 5}]", "expected 'within' on state, page or changes, found it on 'url'"),
        (
            "checks: [{any: [{page: {includes: x}}], within: 5s}]",
            "found it on 'any' (write it on the checks inside)",
        ),
        ("checks: [{page: {includes: x}, within: 5s, when: any_step}]", "found it with 'when: any_step'"),
        ("checks: [{any: [{page: {includes: x}, within: 5s}], when: any_step}]", "found it with 'when: any_step'"),
        (
            "checks: [{not: {any: [{page: {includes: x}, within: 5s}]}}]",
            "expected 'within' outside of 'not', found it inside (absence can only be judged when no work is left",
        ),
        ("checks: [{url: /a, when: always}]", "expected one of end, any_step, found 'always'"),
        ("checks: [{all: [{answer: x}], when: any_step}]", "found it on 'all' of such checks"),
        (
            "checks: [{all: [{url: /a, when: any_step}], when: any_step}]",
            "expected 'when' once, found it inside a check",
        ),
        (
            "checks: [{any: [{answer: x, weight: 2}]}]",
            "expected 'weight' on the task's own checks, found it inside 'any'",
        ),
        ("checks: [{all: []}]", "expected a list of checks, at least one, found an empty list"),
        ("checks: [{not: [{answer: x}]}]", "expected a check, e.g. 'answer: 84.97', found a list of 1"),
    ],
)
def test_invalid_task_keys_are_reported(keys: str, message: str) -> None:
    found = [str(problem) for problem in problems(task_text(keys))]
    assert any(message in text for text in found), found
    assert len(found) == 1


@each_case(
    ("check", "message"),
    [
        ("answer: {}", "expected a condition on the answer, found none"),
        ("answer:", "expected a text, or a mapping of conditions on the answer, found nothing"),
        ("answer: [a]", "expected a text, or a mapping of conditions on the answer, found a list of 1"),
        ("answer: {exat: 1}", "expected a key of an answer check, found 'exat' (did you mean 'exact'?)"),
        ("answer: {excludes: x}", "or 'includes', found it alone"),
        ("answer: {tolerance: 1, exact: x}", "expected 'exact' alone, or with 'case', found 'tolerance' too"),
        ("answer: {number: 1, tolerance: -1}", "expected a tolerance: an amount such as 0.01, or a share such as 1%"),
        ("answer: {number: 1, tolerance: a%}", "expected a tolerance: an amount such as 0.01, or a share such as 1%"),
        ("answer: {number: many}", "expected a number, found 'many'"),
        ("answer: {regex: 'a('}", "expected a regular expression, found 'a(' (missing ), unterminated subpattern at"),
        ("answer: {includes: []}", "expected a text or a list of texts, found an empty list"),
        ("answer: {unachievable: true}", "expected the reason in words, found 'true' (say why it can't be done"),
        ("answer: {unachievable: N/A}", "expected the reason in words, found 'N/A'"),
        ("answer: {unachievable: impossible}", "expected the reason in words, found 'impossible'"),
        ("answer: {unachievable: It is impossible to pay online}", ""),
        ("answer: {unachievable: no such thing, about: x}", "expected 'about' with 'absent' or 'absent_controls'"),
        ("answer: {unachievable: no such thing, visible_to: x}", "expected 'visible_to' with 'absent'"),
        (
            "answer: {number: 1, absent: x}",
            "'includes' or 'excludes', found 'absent' too",
        ),
        (
            "answer: {unachievable: no such thing, absent: '--'}",
            "expected words that name something, or a number, found '--'",
        ),
        (
            "answer: {unachievable: no such thing, absent: 1.5, visible_to: ''}",
            "expected an account name, found an empty",
        ),
        ("answer: {unachievable: no such thing, exact: x}", "expected 'unachievable' alone, or with 'type'"),
        (
            "page: {exact: x, whole_words: false}",
            "expected 'whole_words' with 'includes' or 'excludes', found neither",
        ),
        ("answer: {exact: x, any_order: true}", "expected 'exact' alone, or with 'case', found 'any_order' too"),
        ("answer: {schema: {typ: array}}", "'typ' at $: did you mean 'type'?"),
        ("answer: {schema: {type: list}}", "type list at $"),
        ("answer: {schema: {properties: {a: {pattern: 'a('}}}}", "'pattern' at $.a is not a regular expression"),
        ("answer: {schema: [1]}", "expected a JSON schema, found a list of 1"),
        ("url: {}", "expected a condition on the address, found none"),
        ("url: {tabs: any}", "expected a condition on the address, found none"),
        ("url: {address: []}", "expected an address or a list of them, found an empty list"),
        ("url: {query: {}}", "expected a mapping from query parameters to values, found a mapping"),
        ("page: {}", "expected a condition on the page, found none"),
        ("page: {open: x, includes: y}", "expected an address: /path, site:/path or http://…, found 'x'"),
        ("page: {count: 1}", "expected 'locate' with 'count', found 'count' alone"),
        ("page: {status: 404}", "expected 'open' with 'status', found 'status' alone"),
        ("page: {includes: x, prepare: f()}", "expected 'open' with 'prepare', found 'prepare' alone"),
        ("page: {locate: 'css=a[', count: 1}", "expected a Playwright selector, found no ] in 'css=a['"),
        ("page: {locate: js=, count: 1}", "expected a JavaScript expression after 'js=', found nothing"),
        ("page: {locate: css=a, count: {min: 3, max: 1}}", "expected 'min' not above 'max', found 3 and 1"),
        ("page: {locate: css=a, count: {min: 0}}", "expected 'min' above 0 or 'max', found no bound"),
        ("state: {equals: 1}", "expected 'sql' or 'api', found neither"),
        ("state: {sql: select 1, api: /x, equals: 1}", "expected 'sql' or 'api', found both"),
        ("state: {sql: select 1}", "expected a condition on the result, found none"),
        ("state: {sql: delete from x, equals: 1}", "expected a query, found 'delete …', which changes data"),
        ("state: {sql: 'select 1; select 2', equals: 1}", "expected one SQL statement, found 2 of them"),
        ("state: {sql: selct 1, equals: 1}", "expected an SQL statement, found 'selct 1' (did you mean 'select'?)"),
        ('state: {sql: "select \'a", equals: 1}', "expected an SQL statement, found a quote that is never closed"),
        ("state: {sql: select 1, at: $.a, equals: 1}", "expected 'at' with 'api', found it with 'sql'"),
        ("state: {api: /x, at: a.b, equals: 1}", "expected a JSONPath, found 'a.b' (a path begins with '$')"),
        (
            "state: {api: /x, at: '$.a[', equals: 1}",
            "expected a JSONPath, found '$.a[' (not understood from character 4",
        ),
        ("state: {api: /x, site: reddit, equals: 1}", "expected 'site' with 'sql', found it with 'api'"),
        ("state: {api: 'http://x/', equals: 1}", "expected /path or site:/path, found 'http://x/'"),
        ("network: {}", "expected 'method', 'url' or 'regex', found none of them"),
        ("network: {url: /a, none: true, count: 1}", "expected 'none' or 'count', found both"),
        ("network: {method: FETCH}", "expected one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
        ("python: x", "expected a function as module:name, e.g. my_checks:ordered_twice, found 'x'"),
        ("python: {args: {a: 1}}", "expected the key 'function' in a python check, found only args"),
    ],
)
def test_invalid_checks_are_reported(check: str, message: str) -> None:
    found = [str(problem) for problem in problems(task_text(f"checks:\n  - {check}"))]
    if not message:
        assert not found
        return
    assert any(message in text for text in found), found
    assert len(found) == 1


@pytest.mark.parametrize("check", ["page: {includes: x}", "state: {sql: select 1, equals: 1}", "url: /a"])
def test_checks_that_need_a_site_are_refused_without_sites(check: str) -> None:
    assert problems(task_text(f"sites: []\nchecks: [{{{check}}}]"))


@each_case(
    ("text", "messages"),
    [
        ("5", ["1:1: expected a mapping with the key 'tasks', found the number 5"]),
        ("- id: a", ["1:1: expected a mapping with the key 'tasks', found a list of 1 (put the list under 'tasks:')"]),
        (
            "taks: []",
            ["1:1: expected a key of a task file, found 'taks' (did you mean 'tasks'?)"],
        ),
        (
            "foo: []",
            [
                "1:1: expected a key of a task file, found 'foo' (known: defaults, schema_version, tasks)",
                "1:1: expected the key 'tasks', found a mapping with foo",
            ],
        ),
        ("tasks: x", ["1:8: expected a list of tasks, found 'x' (start each task with '- ')"]),
        ("tasks: [x]", ["1:9: expected a task: a mapping with id, intent, checks, found 'x'"]),
        (
            "tasks: [{}]",
            [f"1:9: expected the key '{key}' in a task, found no keys" for key in ("id", "intent", "sites", "checks")],
        ),
        (
            "schema_version: 2\ntasks: [1]",
            ["1:17: expected version 1 of the task format, found 2 (upgrade pytest-webarena)"],
        ),
        (
            "defaults: {id: x}\ntasks: []",
            ["1:12: expected a key that tasks can share, found 'id' (it belongs to each task)"],
        ),
        ("defaults: {tag: x}\ntasks: []", ["1:12: expected a key of 'defaults', found 'tag' (did you mean 'tags'?)"]),
        ("defaults: [x]\ntasks: []", ["1:11: expected a mapping (defaults), found a list of 1"]),
        ("defaults: {score: x}\ntasks: []", ["1:19: expected one of product, mean, found 'x'"]),
        ("{? [a] : b, tasks: []}", ["1:4: expected a key, found a list of 1"]),
        ("tasks: []\ntasks: []", ["2:1: expected each key once, found 'tasks' again (first in line 1)"]),
        (
            "tasks: [{<<: 5, id: a, intent: x, sites: [], checks: [{answer: x}]}]",
            ["1:10: expected a mapping to merge with '<<', found the number 5"],
        ),
        (
            "tasks: [{id: a, intent: {{ x }}, sites: [], checks: [{answer: x}]}]",
            ["1:25: expected an instruction for the agent, found a mapping (put text that starts with '{{' in quotes)"],
        ),
    ],
)
def test_invalid_files_are_reported(text: str, messages: list[str]) -> None:
    assert [str(problem).removeprefix("t.yaml:") for problem in problems(text)][: len(messages)] == messages


def test_messages_are_one_printable_short_line() -> None:
    [problem] = problems(task_text("checks: [{state: {api: /x, at: '$.a\u2028b', equals: 1}}]"))
    assert str(problem).isprintable()
    [problem] = problems(task_text(f"sites: [{'a' * 5000}]\nuser: {{shopping: x}}"))
    assert len(str(problem)) < 500


def test_duplicate_ids_name_both_lines() -> None:
    same = "intent: x, sites: [], checks: [{answer: x}]"
    found = problems(f"""tasks:
  - {{id: a, {same}}}
  - {{id: a, {same}}}
  - {{id: b.c, {same}}}
  - {{id: b, {same}, each: {{c: {{}}}}}}
""")
    assert [str(problem) for problem in found] == [
        "t.yaml:3:10: expected an id used once, found 'a' again (first in line 2)",
        "t.yaml:5:65: expected an id used once, found 'b.c' again (first in line 4)",
    ]


def test_all_problems_of_a_file_are_reported_in_order() -> None:
    found = problems(
        """
defaults: {sites: [shoping], tagz: x}
tasks:
  - id: a b
    intent: [x]
    checks: [{answer: {numbr: 1}}, {url: x}]
  - {id: c, checks: [{answer: x}], mutates: 1}
""",
        sites=["shopping"],
    )
    assert [problem.line for problem in found] == [2, 2, 4, 5, 6, 6, 7, 7]


def test_sites_that_the_catalogue_lacks_are_reported() -> None:
    [problem] = problems(task_text("sites: [shopping, gitlap]"), sites=["shopping", "gitlab"])
    assert str(problem) == "t.yaml:5:23: expected a known site, found 'gitlap' (did you mean 'gitlab'?)"
    assert not problems(task_text("sites: [shopping, gitlab]"), sites=["shopping", "gitlab"])


def test_accounts_that_the_catalogue_lacks_are_reported() -> None:
    accounts = {"shopping": ("emma", "admin"), "reddit": ()}
    text = "sites: [shopping, reddit]\nuser: {shopping: ema, reddit: ''}\nsetup: [browser: {user: bob, steps: [back]}]"
    assert [str(problem) for problem in problems(task_text(text), sites=accounts)] == [
        "t.yaml:6:22: expected an account of shopping, found 'ema' (did you mean 'emma'?)",
        "t.yaml:7:29: expected an account of shopping, reddit, found 'bob' (known: admin, emma)",
    ]
    [problem] = problems(task_text("sites: [shopping]\nuser: bob"), sites=accounts)
    assert str(problem) == "t.yaml:6:11: expected an account of shopping, found 'bob' (known: admin, emma)"
    assert not problems(task_text("sites: [shopping]\nuser: admin"), sites=accounts)
    assert not problems(task_text("sites: [shopping]\nuser: bob"), sites=list(accounts))


def test_reading_stops_after_many_problems() -> None:
    assert len(problems("tasks: [" + ",".join(f"x{n}" for n in range(1000)) + "]")) == 200


def test_valid_tasks_are_returned_with_problems_of_others(tmp_path: Any) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("tasks:\n- {id: a, intent: x, sites: [], checks: [{answer: x}]}\n- {id: b}\n")
    tasks, wrong = read_tasks(path)
    assert [t.id for t in tasks] == ["a"]
    assert {problem.line for problem in wrong} == {3}
    with pytest.raises(TaskFileError) as caught:
        load_tasks(path)
    assert caught.value.problems == wrong


@pytest.mark.parametrize("name", ["missing.yaml", ".", "a\0b"])
def test_unreadable_file_is_a_problem(name: str, tmp_path: Any) -> None:
    tasks, [problem] = read_tasks(f"{tmp_path}/{name}")
    assert not tasks
    assert problem.expected == "a readable task file"


def test_size_limit_counts_expanded_fillings() -> None:
    text = "tasks: [{id: t, intent: x, sites: [], checks: [{answer: x}], each: [" + "{}," * 100 + "]}]"
    assert len(parse_tasks(text)) == 100
    with pytest.raises(TaskFileError, match="at most 5,000 values, found more, with all fillings written out"):
        parse_tasks(text, limits=NodeLimits(nodes=5000))


def test_misspelled_required_key_is_reported_once() -> None:
    text = "tasks: [{id: a, intnet: Do it., sites: [], checks: [{answer: x}]}]"
    assert [str(each) for each in problems(text)] == [
        "t.yaml:1:17: expected a key of a task, found 'intnet' (did you mean 'intent'?)"
    ]
    assert len(problems("taks: []")) == 1


@each_case(
    ("key", "messages"),
    [
        ("", ["2:3: expected the key 'id' in a task, found only intent, sites, checks"]),
        ("idd: a", ["2:3: expected a key of a task, found 'idd' (did you mean 'id'?)"]),
    ],
)
def test_a_task_without_an_id_is_refused_once(key: str, messages: list[str]) -> None:
    first = f"- {key}\n  intent" if key else "- intent"
    text = f"tasks:\n{first}: How many?\n  sites: [shopping]\n  checks: [{{answer: {{number: 3}}}}]\n"
    with pytest.raises(TaskFileError) as caught:
        parse_tasks(text)
    assert [str(each).partition(":")[2] for each in caught.value.problems] == messages
