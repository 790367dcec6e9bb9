"""Descriptions of trials in Allure: suspect tasks, and facts without a value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.evidence import Usage
from pytest_webarena.plugin.reporting.allure import write_results
from pytest_webarena.results import RunDir
from tests.cases import each_case

from ....made_up import make_run, make_trial


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return make_run(tmp_path / "run")


def by_agent(run: RunDir, target: Path) -> dict[str, dict[str, Any]]:
    write_results(run, target, root=Path("/w"))
    found = [json.loads(file.read_text(encoding="utf-8")) for file in target.glob("*-result.json")]
    return {each["parameters"][0]["value"]: each for each in found}


@each_case(("oracle", "suspect"), [("failed", True), ("passed", False)])
def test_failure_is_undecided_where_the_oracle_failed_too(tmp_path: Path, oracle: str, suspect: bool) -> None:
    run = make_run(tmp_path / oracle)
    make_trial(run, outcome="failed")
    make_trial(run, outcome=oracle, agent="oracle", privileged=True)
    text = by_agent(run, tmp_path / f"allure of {oracle}")["a"]["description"]
    assert ("its checks are suspect" in text) is suspect
    assert ("whose fault: undecided" in text) is suspect
    assert ("whose fault: the agent" in text) is not suspect


def test_facts_without_a_value_are_left_out(run: RunDir, tmp_path: Path) -> None:
    made = make_trial(run, usage=Usage(calls=1, input_tokens=9, output_tokens=4))
    trace = run.folder(made.key).path / "attempt-1" / "trace.zip"
    trace.write_bytes(b"PK")
    result = by_agent(run, tmp_path / "allure")["a"]
    assert "model" not in {each["name"] for each in result["parameters"]}
    assert "signed in at the end" not in result["description"]
    assert "show-trace" in result["description"]
    assert str(tmp_path) not in result["description"]


def test_parameter_says_why_sites_were_reset(run: RunDir, tmp_path: Path) -> None:
    make_trial(run, resets={"shop": "POST http://shop.test/cart", "wiki": "reuse: never"})
    make_trial(run, agent="b")
    found = by_agent(run, tmp_path / "allure")
    values = {name: {each["name"]: each for each in one["parameters"]} for name, one in found.items()}
    parameter = values["a"]["reset after"]
    assert parameter["value"].strip("'") == "shop: POST http://shop.test/cart; wiki: reuse: never"
    assert parameter["excluded"]
    assert "reset after" not in values["b"]
