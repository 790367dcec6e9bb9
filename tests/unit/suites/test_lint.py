"""Lint of key nodes without a network. All tasks are invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.suites.export import export
from pytest_webarena.suites.lint import LintReport, lint
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.tasks import load_tasks
from tests.unit.suites.lamps import COMPACT, FOUND, HOME, compact, node, write

HOME_NODE = node("url_included_match", "lamps.", HOME)


def report(tmp_path: Path, *nodes: dict[str, Any]) -> LintReport:
    return lint(load_suite(str(write(tmp_path, compact(*nodes)))).tasks)


def found(tmp_path: Path, *nodes: dict[str, Any]) -> list[tuple[str, int]]:
    return [(each.rule, each.node) for each in report(tmp_path, *nodes).findings]


def test_sound_task_has_a_free_node_and_no_faults(tmp_path: Path) -> None:
    told = lint(load_suite(str(write(tmp_path, COMPACT))).tasks)
    assert [(each.rule, each.node, each.level) for each in told.findings] == [("free", 1, "note")]
    assert (told.tasks, told.nodes, told.replayed, told.faults) == (1, 7, 2, 0)
    assert "reaches 14.3% of the nodes" in told.render()


@pytest.mark.parametrize(
    ("each", "rule", "why"),
    [
        (node("url_included_match", "/basket"), "own-url", "it may have been recorded a step early"),
        (node("url_exactly_match", "21", key="max"), "own-url", "a step early"),
        (node("url_exactly_match", "x", key="none"), "own-url", "a step early"),
        (node("url_exactly_match", "Red lamp", key="q"), "unpassable", "only upper and lower case differ"),
        (node("url_included_match", "/Find"), "unpassable", "only upper and lower case differ"),
        (node("url_included_match", "/find/"), "unpassable", "only the slash at the end differs"),
        (
            node("url_exactly_match", "https://lamps.test/a", "https://lamps.test/a/"),
            "unpassable",
            "only the slash at the end differs",
        ),
        (node("url_included_match", "https://www.lamps"), "unpassable", "what is compared has no scheme"),
        (
            node("url_included_match", "b", "https://lamps.test/?f=a&f=b", key="f"),
            "unpassable",
            "the parameter is there 2 times, and only its first value counts",
        ),
        (
            node("url_included_match", "id:9,id:3", "https://lamps.test/?f=id:3,id:9", key="f"),
            "unpassable",
            "several values in this order and next to each other",
        ),
        (
            node("url_exactly_match", "1", "https://lamps.test/?max%20price=1", key="max%20price"),
            "unpassable",
            "the parameter's name is percent-encoded",
        ),
    ],
)
def test_node_that_fails_on_its_recorded_page_is_a_fault(
    tmp_path: Path, each: dict[str, Any], rule: str, why: str
) -> None:
    told = report(tmp_path, HOME_NODE, each)
    (finding,) = (each for each in told.findings if each.rule != "free")
    assert (finding.rule, finding.node, finding.level) == (rule, 2, "fault")
    assert why in finding.says
    assert told.faults == 1


@pytest.mark.parametrize(
    "each",
    [
        node("url_included_match", "b", "https://lamps.test/?f=&f=b", key="f"),  # a blank one is ignored
        node("url_exactly_match", "50%", "https://lamps.test/?f=50%2525", key="f"),
        node("url_included_match", "/a b", "https://lamps.test/a%20b"),
        node("url_included_match", "#top", "https://lamps.test/a?b=c#top"),
    ],
)
def test_node_that_matches_its_recorded_page_has_no_finding(tmp_path: Path, each: dict[str, Any]) -> None:
    assert found(tmp_path, HOME_NODE, each) == [("free", 1)]


def test_nodes_reached_by_the_start_page_are_free(tmp_path: Path) -> None:
    assert found(tmp_path, node("url_included_match", "/find")) == []
    assert found(tmp_path, HOME_NODE, node("url_included_match", "www.lamps.test/")) == [("free", 1), ("free", 2)]


def test_duplicate_nodes_and_invalid_selectors_are_found(tmp_path: Path) -> None:
    button = node("element_path_exactly_match", "#buy", method="selector")
    elsewhere = node("element_path_exactly_match", "#buy", "https://www.lamps.test/other", method="selector")
    other = node("element_path_exactly_match", "#buy", method="selector", netloc="jobs")
    assert found(tmp_path, button, other, elsewhere) == [("duplicate", 3)]
    bad = node("element_path_exactly_match", "div >", method="selector")
    assert [rule for rule, _ in found(tmp_path, button, bad)] == ["skipped"]
    told = report(
        tmp_path, button, node("element_value_exactly_match", "2", path="p:visible")
    )  # a selector engine of Playwright only
    (finding,) = told.findings
    assert finding.rule == "selector"
    assert "is none to WebCanvas" in finding.says


def test_playwright_selectors_are_accepted_in_yaml_tasks(tmp_path: Path) -> None:
    text = "tasks: [{id: a, intent: x, sites: [s], checks: [{key_nodes: [{element: role=button}]}]}]"
    (tmp_path / "a.yaml").write_text(text)
    assert lint(load_tasks(tmp_path / "a.yaml")).findings == ()


def test_node_without_recorded_address_is_noted(tmp_path: Path) -> None:
    bare = node("url_included_match", "/find", "")
    assert found(tmp_path, HOME_NODE, bare) == [("free", 1), ("no-record", 2)]


def test_exported_yaml_has_the_findings_of_its_suite(tmp_path: Path) -> None:
    path = write(tmp_path, COMPACT, compact(HOME_NODE, node("url_included_match", "/find/"), HOME_NODE, index=8))
    export(str(path), tmp_path / "out.yaml")

    def told(given: LintReport) -> list[tuple[str, str, int, str]]:
        return [(each.rule, each.task, each.node, each.says) for each in given.findings]

    one = lint(load_suite(str(path)).tasks)
    other = lint(load_tasks(tmp_path / "out.yaml"))
    assert told(one) == told(other)
    assert {each.rule for each in one.findings} == {"free", "unpassable", "duplicate"}
    assert (one.tasks, one.nodes, one.replayed) == (other.tasks, other.nodes, other.replayed)


def test_lint_command_exit_code_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound, faulty = write(tmp_path, COMPACT, name="sound.json"), tmp_path / "faulty.json"
    faulty.write_text(json.dumps([compact(HOME_NODE, node("url_included_match", "/find/"), index=4)]))
    assert main(["tasks", "lint", str(sound)]) == 0
    assert "1 tasks, 7 key nodes, 2 held against their own address" in capsys.readouterr().out
    assert main(["tasks", "lint", f"mind2web-live:{sound}", str(faulty)]) == 1
    said = capsys.readouterr().out
    assert f"{faulty}:2: faulty.4 node 2: unpassable: " in said.replace(":1: ", ":2: ")
    assert f"does not hold on {FOUND}" in said
    assert main(["tasks", "lint", str(faulty), "--format=json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["schema_version"], data["tasks"], data["nodes"], data["replayed"]) == (1, 1, 2, 2)
    assert [(each["rule"], each["node"], each["level"]) for each in data["findings"]] == [
        ("free", 1, "note"),
        ("unpassable", 2, "fault"),
    ]


def test_lint_command_refuses_tasks_without_key_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.tasks.yaml").write_text("tasks: [{id: a, intent: x, sites: [], checks: [{answer: x}]}]")
    assert main(["tasks", "lint", str(tmp_path / "a.tasks.yaml")]) == 2
    assert "expected tasks with key nodes, found none among the 1 of" in capsys.readouterr().err
    (tmp_path / "bad.json").write_text('[{"evaluation": [], "reference_task_length": 1}]')
    assert main(["tasks", "lint", str(tmp_path / "bad.json")]) == 1


def test_path_ending_in_a_digit_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "tasks:\n  - id: open\n    intent: Open it\n    sites: [shopping]\n    mutates: false\n    checks:\n"
        "      - all:\n          - key_nodes: [{url: {includes: /orders/24}}, {url: {exact: /orders/24}},\n"
        "              {url: {includes: /orders/24/}}, {url: {param: page, includes: '2'}}]\n"
    )
    noted = [(each.rule, each.node, each.level) for each in lint(load_tasks(file)).findings if "open" in each.rule]
    assert noted == [("open-end", 1, "note")]
    assert main(["tasks", "validate", str(file)]) == 0
    told = capsys.readouterr().err
    assert "another digit reaches a key node, too, in open ('/orders/24'): ask for the path `exact`" in told
    file.write_text(file.read_text().replace("includes: /orders/24}", "includes: /orders/}"))
    assert main(["tasks", "validate", str(file)]) == 0
    assert "digit" not in capsys.readouterr().err
