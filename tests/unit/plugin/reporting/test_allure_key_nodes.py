"""Allure results of trials with key nodes: a timeline for each, a page for the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_webarena.checks.verdict import Part
from pytest_webarena.reports import write_allure_results

from ....made_up import check, make_run, make_trial


def parts(*reached: bool) -> tuple[Part, ...]:
    return tuple(
        Part(
            what=f"node {number}", points=float(got), of=1.0, given=float(got), function="url includes",
            step=0 if got else None, by="http://s.test/" if got else "",
        )
        for number, got in enumerate(reached, start=1)
    )  # fmt: skip


def results(folder: Path, pattern: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob(pattern))]


def test_key_node_timelines_and_run_page_are_attached(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    make_trial(run, "buy", "failed", checks=[check("key_nodes", 0.5, parts=parts(True, False))])
    make_trial(run, "ask")
    assert write_allure_results(run.path, tmp_path / "allure") == 2
    attached = {
        result["name"]: [each for each in result["attachments"] if each["name"] == "Key nodes"]
        for result in results(tmp_path / "allure", "*-result.json")
    }
    assert {name: len(found) for name, found in attached.items()} == {"Do buy": 1, "Do ask": 0}
    (timeline,) = attached["Do buy"]
    assert timeline["type"] == "text/html"
    assert "node 2" in (tmp_path / "allure" / timeline["source"]).read_text()
    (failed,) = [each for each in results(tmp_path / "allure", "*-result.json") if each["name"] == "Do buy"]
    assert failed["statusDetails"]["message"].splitlines()[0] == (
        "failed: key_nodes: missed node 2 (node 2 of 2, 1 reached)"
    )
    (globals_file,) = results(tmp_path / "allure", "*-globals.json")
    (page,) = [each for each in globals_file["attachments"] if each["name"] == "key-nodes.html"]
    text = (tmp_path / "allure" / page["source"]).read_text()
    assert "tasks × nodes" in text
    assert "How far trials came" in text


def test_runs_without_key_nodes_get_no_page(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    make_trial(run, "ask")
    write_allure_results(run.path, tmp_path / "allure")
    assert "key-nodes.html" not in {
        each["name"]
        for globals_file in results(tmp_path / "allure", "*-globals.json")
        for each in globals_file["attachments"]
    }
    assert not (run.path / "key-nodes.html").exists()
