"""Mind2Web-Live's files: both formats, spellings, refusals and skips. All tasks are invented."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.key_nodes.model import KeyNodes
from pytest_webarena.checks.webcanvas.counterparts import NoCounterpart, counterpart
from pytest_webarena.checks.webcanvas.nodes import FUNCTIONS, Node
from pytest_webarena.errors import TaskFileError, UsageError
from pytest_webarena.suites.export import export
from pytest_webarena.suites.loading import is_suite, load_suite
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.model import Start, Task
from tests.unit.suites.lamps import COMPACT, FOUND, HOME, RAW, compact, node, write


def read(path: Path) -> tuple[Task, ...]:
    return load_suite(f"mind2web-live:{path}").tasks


def nodes_of(task: Task) -> list[Node]:
    (check,) = task.checks
    assert check.kind == "key_nodes"
    assert isinstance(check.spec, KeyNodes)
    return [counterpart(each) for each in check.spec.nodes]


def test_compact_task_is_read(tmp_path: Path) -> None:
    (task,) = read(write(tmp_path, COMPACT))
    assert (task.id, task.intent, task.sites) == ("lamps.7", COMPACT["task"], ("lamps-test",))
    assert task.start == (Start(site="", path="about:blank"),)
    assert not task.skip
    assert task.source == {
        "suite": "mind2web-live",
        "task_id": 7,
        "reference_length": 6,
        "hosts": {"lamps-test": "www.lamps.test"},
        "recorded": [HOME, *[FOUND] * 6],
    }
    assert nodes_of(task) == [
        Node(function="url_included_match", reference="lamps."),
        Node(function="url_semantic_match", reference="Decide whether red lamps are searched for", key="q"),
        Node(function="url_exactly_match", reference="20", key="max"),
        Node(function="element_value_included_match", reference="a@b", label="lamps", path="#letter input"),
        Node(function="element_path_exactly_match", reference="#basket > button", label="lamps"),
        Node(function="final_answer_exact_match", reference="Lumen 3"),
        Node(function="cache_data_included_match", reference="19.50"),
    ]


def test_the_raw_export_gives_the_same_task(tmp_path: Path) -> None:
    (one,) = read(write(tmp_path, {**COMPACT, "index": 0}))
    (other,) = read(write(tmp_path, RAW))
    assert (one.digest, one.id, one.source) == (other.digest, other.id, other.source)


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name != "element_path_included_match"])
def test_match_functions_keep_their_names(tmp_path: Path, function: str) -> None:
    more = {"method": "selector"} if "path" in function else {}
    (task,) = read(
        write(tmp_path, compact(node(function, "https://lamps.test/" if function.startswith("url") else "#x", **more)))
    )
    assert nodes_of(task)[0].function == function


def test_xpath_method_is_kept(tmp_path: Path) -> None:
    (task,) = read(write(tmp_path, compact(node("element_path_exactly_match", "//a[1]", method="xpath"))))
    assert nodes_of(task)[0] == Node(
        function="element_path_exactly_match", reference="//a[1]", label="lamps", method="xpath"
    )


def test_each_host_becomes_one_site(tmp_path: Path) -> None:
    places = (HOME, "https://jobs.lamps.test:81/", "https://lamps.test/x")
    (task,) = read(write(tmp_path, compact(*(node("url_included_match", "lamps.", url) for url in places))))
    assert task.sites == ("lamps-test", "jobs-lamps-test")
    assert task.source["hosts"] == {"lamps-test": "www.lamps.test", "jobs-lamps-test": "jobs.lamps.test"}


def test_exported_yaml_gives_the_same_tasks(tmp_path: Path) -> None:
    odd = compact(
        node("url_included_match", "lamps.", HOME),
        node("url_exactly_match", " {{ 50% }} no: #1", key="max price"),
        node("url_exactly_match", "https://lamps.test/ä b%?x=1#y"),
        node("url_semantic_match", "Decide: 'a' or \"b\"?"),
        node("element_path_exactly_match", "#a\\:b > li:nth-child(2)>a ", method="selector"),
        node("element_value_exactly_match", "yes"),
        node("element_value_semantic_match", "Decide {% it %}", netloc=""),
        index="x/y z",
    )
    path = write(tmp_path, COMPACT, odd)
    tasks = read(path)
    export(f"mind2web-live:{path}", tmp_path / "out.yaml")
    back = load_tasks(tmp_path / "out.yaml", sites={"shop": ()})  # a catalogue without these sites

    def facts(each: Task) -> tuple[Any, ...]:
        return each.digest, each.source, each.sites, each.intent, each.skip

    assert {each.id: facts(each) for each in back} == {each.id: facts(each) for each in tasks}
    assert [nodes_of(each) for each in back] == [nodes_of(each) for each in tasks]
    assert tasks[1].id == "lamps.x-y-z"
    assert nodes_of(tasks[1])[1].reference == " {{ 50% }} no: #1"
    assert nodes_of(tasks[1])[2].reference == "https://lamps.test/ä b%?x=1#y"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            node("element_path_included_match", "#x", method="selector"),
            "its key node 2 is element_path_included_match, which WebCanvas reserves and never scores",
        ),
        (
            node("element_value_exactly_match", ""),
            "its key node 2: element_value_exactly_match has an empty reference, which says nothing",
        ),
        (
            node("url_included_match", "/find?q"),
            "its key node 2: '/find?q' has a query ('?'), and host and path have none",
        ),
        (node("url_exactly_match", "www.lamps.test"), "its key node 2: 'www.lamps.test' is no whole address"),
        (node("element_path_exactly_match", "div >", method="selector"), "its key node 2: 'div >' is no selector: "),
        (node("element_value_exactly_match", "2", path="["), "its key node 2: '[' is no selector: "),
    ],
)
def test_unreachable_node_skips_its_task(tmp_path: Path, fault: dict[str, Any], reason: str) -> None:
    one, other = read(
        write(tmp_path, compact(COMPACT["evaluation"][0], fault), compact(*COMPACT["evaluation"], index=1))
    )
    assert one.skip.startswith(reason)
    assert not other.skip
    export(f"mind2web-live:{tmp_path / 'lamps.json'}", tmp_path / "out.yaml")
    assert load_tasks(tmp_path / "out.yaml")[0].skip == one.skip


def changed(*keys: Any, to: Any = None) -> dict[str, Any]:
    """Return the compact task with the value at ``keys`` changed or removed."""
    task: Any = copy.deepcopy(COMPACT)
    place = task
    for key in keys[:-1]:
        place = place[key]
    if to is None:
        del place[keys[-1]]
    else:
        place[keys[-1]] = to
    return dict(task)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (changed("index"), "expected the key 'index' of task at position 0, found an object with"),
        (
            changed("index", to=True),
            "expected a whole number from 0 or a text in 'index' of task at position 0, found true",
        ),
        (changed("task"), "expected the key 'task' of task 7, found"),
        (changed("task", to=[1]), "expected text in 'task' of task 7, found a list of 1"),
        (
            changed("reference_task_length", to="6"),
            "expected a whole number from 0 in 'reference_task_length' of task 7",
        ),
        (changed("evaluation", to=[]), "expected a list of objects, at least one in 'evaluation' of task 7"),
        (changed("evaluation", to=[1]), "expected an object in 'evaluation[0]' of task 7, found the number 1"),
        (
            changed("evaluation", 0, "match_function_name", to="url_include_match"),
            "expected a function of WebCanvas in 'evaluation[0].match_function_name' of task 7, found the text "
            "'url_include_match' (did you mean 'url_included_match'?)",
        ),
        (
            changed("evaluation", 5, "match_function_name", to="final_answer_exactly_match"),
            "found the text 'final_answer_exactly_match' (did you mean 'final_answer_exact_match'?)",
        ),
        (changed("evaluation", 0, "content"), "expected the key 'content' in 'evaluation[0]' of task 7"),
        (
            changed("evaluation", 0, "content", "key"),
            "expected the key 'key' in 'evaluation[0].content' of task 7",
        ),
        (
            changed("evaluation", 4, "content", "netloc"),
            "expected the key 'netloc' in 'evaluation[4].content' of task 7",
        ),
        (changed("evaluation", 4, "method"), "expected the key 'method' in 'evaluation[4]' of task 7"),
        (
            changed("evaluation", 4, "method", to="css"),
            "expected selector or xpath in 'evaluation[4].method' of task 7, found the text 'css'",
        ),
        (
            changed("evaluation", 2, "content", "reference_answer", to=20),
            "expected text in 'evaluation[2].content.reference_answer' of task 7, found the number 20",
        ),
        (
            compact(node("url_included_match", "lamps.", ""), index=3),
            "expected a recorded address ('url') that says which site it is in 'evaluation' of task 3, found none",
        ),
        (
            compact(node("url_included_match", ""), index=3),
            "expected a node that can be reached in 'evaluation' of task 3, found none: url_included_match has",
        ),
    ],
)
def test_malformed_task_is_reported(tmp_path: Path, task: dict[str, Any], said: str) -> None:
    path = write(tmp_path, task)
    with pytest.raises(TaskFileError) as caught:
        read(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def raw_step(*functions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"title": "Look", "steps": [{"href": FOUND, **changes, "rewardFunction": list(functions)}]}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({**RAW, "steps": []}, "expected a list of objects, at least one in 'steps' of task at position 0"),
        (raw_step(), "expected a step with a function ('rewardFunction') in 'steps' of task at position 0, found none"),
        (
            raw_step({"name": "url_exactly_match", "key": "none"}),
            f"expected a parameter of the recorded address {FOUND} in 'steps[0].rewardFunction[0].key'",
        ),
        (raw_step({"name": "url_included_match"}), "expected the key 'required' in 'steps[0].rewardFunction[0]'"),
        (raw_step({"name": "url_semantic_match"}), "expected the key 'optional' in 'steps[0].rewardFunction[0]'"),
        (raw_step({"name": "element_path_exactly_match"}), "expected the key 'selector' in 'steps[0]'"),
        (raw_step({"name": "element_value_exactly_match"}), "expected the key 'value' in 'steps[0]'"),
        (
            raw_step({"name": "element_path_exactly_match"}, selector="a", href="http://localhost/"),
            "expected an address with a site's name in its host in 'steps[0].href'",
        ),
        (
            raw_step({}, {"name": "url_included_match", "required": "x"}),
            "expected no function after an empty one in 'steps[0].rewardFunction[1]'",
        ),
        (raw_step({"name": "url_match"}), "expected a function of WebCanvas in 'steps[0].rewardFunction[0].name'"),
    ],
)
def test_malformed_recording_is_reported(tmp_path: Path, task: dict[str, Any], said: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        read(write(tmp_path, task))
    assert said in str(caught.value)


def test_recorded_values_are_decoded_like_the_converter(tmp_path: Path) -> None:
    href = "https://www.lamps.test/?max%20price=20%25"
    functions = [
        {"name": "url_exactly_match", "key": "max%20price"},
        {"name": "url_included_match", "required": "lamps%2Etest"},
        {
            "name": "url_semantic_match",
            "key": "max%20price",
            "optional": "Is%20it cheap",
        },  # not decoded, like the converter's mistake
        {"name": "url_exactly_match", "key": "max%20price", "optional": "5%25"},
        {"name": "element_value_included_match", "required": "5%25"},
    ]
    (task,) = read(write(tmp_path, raw_step(*functions, href=href)))
    assert [(each.key, each.reference) for each in nodes_of(task)] == [
        ("max price", "20%"),
        ("", "lamps.test"),
        ("max%20price", "Is%20it cheap"),
        ("max price", "5%"),
        ("", "5%25"),
    ]


def test_all_defects_of_a_file_are_reported(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError) as caught:
        read(write(tmp_path, changed("task"), changed("evaluation", 0, "content"), changed("index")))
    assert len(caught.value.problems) == 3


def test_duplicate_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError) as caught:
        read(write(tmp_path, COMPACT, COMPACT))
    assert "expected an index used once in 'index' of task 7, found 'lamps.7' again (first in line 2)" in str(
        caught.value
    )


def test_files_are_recognised_by_their_keys(tmp_path: Path) -> None:
    path = write(tmp_path, COMPACT)
    assert is_suite(f"mind2web-live:{path}")
    assert load_suite(str(path)).tasks == read(path)
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{"task_id": 1, "intent": "x"}]))
    with pytest.raises(
        UsageError, match=r"expected tasks of Mind2Web-Live in .*other\.json, with 'task' and 'evaluation'"
    ):
        read(other)
    with pytest.raises(UsageError, match="no such file"):
        read(tmp_path / "none.json")


@pytest.mark.parametrize(
    "form",
    [
        "{url: {param: q}}",
        "{url: {param: q, at: /find, exact: a}}",
        "{url: {includes: a}, forbidden: true}",
        "{url: {includes: a}, hold: end}",
    ],
)
def test_nodes_without_counterpart_cannot_be_exported(tmp_path: Path, form: str) -> None:
    text = f"tasks: [{{id: a, intent: x, sites: [s], checks: [{{key_nodes: [{form}, {{element: a}}]}}]}}]"
    (tmp_path / "a.yaml").write_text(text)
    (task,) = load_tasks(tmp_path / "a.yaml")
    with pytest.raises(NoCounterpart):
        nodes_of(task)
