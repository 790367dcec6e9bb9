"""Allure's files of a run: configuration, environment, executor, figures of the first page."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright._impl._driver import compute_driver_executable

from pytest_webarena.evidence import Usage
from pytest_webarena.plugin.reporting.allure import write_results
from pytest_webarena.plugin.reporting.allure.run_files import (
    ONE_PAGE_LIMIT,
    configuration,
    executor,
    write_run_files,
)
from pytest_webarena.results import RunDir
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from tests.cases import each_case

from ....made_up import UNDECIDED, make_run, make_trial


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return make_run(tmp_path / "run")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "allure"


def test_run_files_are_equal_for_every_shard(run: RunDir, tmp_path: Path) -> None:
    facts = run.facts()
    for name, more in (
        ("1", {"argv": ["--shard=1/2"], "started": 1.0}),
        ("2", {"argv": ["--shard=2/2"], "started": 2.0}),
    ):
        write_run_files(tmp_path / name, {**facts, **more}, agents=["a"], environment={})
    for name in ("categories.json", "allurerc.mjs", "environment.properties", "executor.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_environment_is_written_as_java_properties(run: RunDir, tmp_path: Path) -> None:
    facts = {**run.facts(), "platform": "Linux\\x\nΩ=1 😀"}
    write_run_files(tmp_path, facts, agents=["a", "b: c"], environment={})
    lines = (tmp_path / "environment.properties").read_text("ascii").splitlines()
    assert "agents=a, b: c" in lines
    assert "trials\\ per\\ task=1" in lines
    assert "platform=Linux\\\\x\\n\\u03a9=1 \\ud83d\\ude00" in lines


def test_run_attachments_and_problems_are_reported_once(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text("hello")
    attached = [tmp_path / "broker.log", tmp_path / "missing.csv"]
    write_run_files(
        tmp_path / "allure", run.facts(), agents=["a"], attached=attached, problems=["killed"], environment={}
    )
    (file,) = (tmp_path / "allure").glob("*-globals.json")
    data = json.loads(file.read_text())
    assert [attachment["name"] for attachment in data["attachments"]] == ["broker.log"]
    assert (tmp_path / "allure" / data["attachments"][0]["source"]).read_text() == "hello"
    assert data["errors"] == [{"message": "killed"}]


@each_case(
    ("environment", "expected"),
    [
        ({}, {"name": "local run", "type": "local"}),
        (
            {
                "GITHUB_ACTIONS": "true",
                "GITHUB_SERVER_URL": "https://git.test",
                "GITHUB_REPOSITORY": "a/b",
                "GITHUB_RUN_ID": "77",
                "GITHUB_RUN_NUMBER": "5",
                "GITHUB_WORKFLOW": "agents",
            },
            {
                "type": "github",
                "buildName": "agents #5",
                "buildUrl": "https://git.test/a/b/actions/runs/77",
                "buildOrder": 5,
            },
        ),
        (
            {"GITLAB_CI": "true", "CI_PIPELINE_IID": "9", "CI_PIPELINE_URL": "https://g.test/p/9"},
            {"type": "gitlab", "buildName": "pipeline #9", "buildUrl": "https://g.test/p/9"},
        ),
        (
            {"JENKINS_URL": "https://j.test", "JOB_NAME": "x", "BUILD_NUMBER": "3", "BUILD_URL": "https://j.test/x/3"},
            {"type": "jenkins", "buildName": "x #3", "buildUrl": "https://j.test/x/3"},
        ),
    ],
)
def test_the_executor_is_the_ci_job(environment: dict[str, str], expected: dict[str, Any]) -> None:
    assert executor(environment).items() >= expected.items()


def test_several_agents_become_environments() -> None:
    assert 'const agents = {"my_agents_py-A": "my.agents.py-A", "b": "b"};' in configuration(["my.agents.py-A", "b"])
    assert "const agents = {};" in configuration(["only"])


def evaluated(configuration: str, folder: Path, **variables: str) -> Any:
    """Return Allure's configuration as evaluated by Node."""
    config = folder / "allurerc.mjs"
    config.write_text(configuration, encoding="utf-8")
    node, _ = compute_driver_executable()
    script = f"import({config.as_uri()!r}).then((it) => console.log(JSON.stringify(it.default)))"
    result = subprocess.run(
        [node, "-e", script], check=True, capture_output=True, text=True, env=os.environ | variables
    )
    return json.loads(result.stdout)


def test_trend_charts_need_a_history_file(tmp_path: Path) -> None:
    def charts(**variables: str) -> tuple[object, set[str]]:
        read = evaluated(configuration(["a"]), tmp_path, **variables)
        return read.get("historyPath"), {chart["type"] for chart in read["plugins"]["awesome"]["options"]["charts"]}

    nothing, plain = charts(ALLURE_HISTORY="")
    kept, more = charts(ALLURE_HISTORY="kept.jsonl")
    assert (nothing, kept) == (None, "kept.jsonl")
    assert more - plain == {"statusDynamics", "statusTransitions"}


def test_first_page_shows_the_figures_of_each_part(run: RunDir, tmp_path: Path) -> None:
    """One part's rates must not appear as the rates of all parts."""

    def shown() -> dict[str, str]:
        return dict(evaluated((tmp_path / "allurerc.mjs").read_text(), tmp_path)["variables"])

    write_run_files(tmp_path, run.facts(), agents=["a"], figures={"rate of a": "1/2"}, environment={})
    assert shown() == {"rate of a": "1/2"}
    write_run_files(tmp_path, run.facts(), agents=["a"], figures={"rate of a": "2/2"}, environment={})
    write_run_files(tmp_path, run.facts(), agents=["a"], problems=["no records"], environment={})
    both = shown()
    assert {name for name in both if name.startswith("rate of a")} == {
        "rate of a (part 1 of 2)",
        "rate of a (part 2 of 2)",
    }
    assert {*both.values()} >= {"1/2", "2/2"}
    assert "merge the runs" in both["rates of all parts"]


def test_figures_of_a_stored_run_name_what_its_rates_leave_out(run: RunDir, target: Path) -> None:
    keys = [make_trial(run, "open", "failed", privileged=True, **UNDECIDED).key]
    keys += [make_trial(run, "broken", "error", cause="model", usage=Usage(calls=1, cost=0.25)).key]
    plan = [*(PlannedTrial(key=key) for key in keys), PlannedTrial(key=replace(keys[0], task="later"))]
    extend_plan(run.path, [*plan, PlannedTrial(key=replace(keys[0], task="no-site"), skipped="no shop")])
    write_results(run, target, root=Path("/w"))
    (file,) = target.glob("*-globals.json")
    figures = json.loads(file.read_text())["figures"]
    assert (figures["a"], figures["95% of a"][:3]) == ("0.0% 0–1/1", "0–7")
    assert figures["if undecided are met, a"] == "100.0% if 1 undecided is met"
    assert figures["a, note"].startswith("sees the solutions")
    assert figures["errors of a"] == "model 1"
    assert figures["cost of a"] == "$0.2500"
    assert figures["trials of a without a result"] == "1 not run, 1 skipped (of 4 planned)"


@pytest.mark.parametrize(("size", "one_page"), [(10, True), (ONE_PAGE_LIMIT, False)])
def test_configuration_uses_a_single_file_below_the_size_limit(size: int, one_page: bool, tmp_path: Path) -> None:
    (tmp_path / "100%.txt").touch()  # no name of a file may upset it
    os.truncate(tmp_path / "100%.txt", size)
    read = evaluated(configuration(["a", "b"]), tmp_path)
    assert read["plugins"]["awesome"]["options"]["singleFile"] is one_page
    assert set(read["environments"]) == {"a", "b"}


def test_offline_plugin_removes_the_script_that_allure_loads_from_elsewhere(run: RunDir, tmp_path: Path) -> None:
    """The page is a part of the one that Allure 3.18 writes."""
    write_run_files(tmp_path, run.facts(), agents=["a"], environment={})
    read = evaluated((tmp_path / "allurerc.mjs").read_text(), tmp_path)
    assert list(read["plugins"]) == ["awesome", "offline"]
    page = tmp_path / "awesome" / "index.html"
    page.parent.mkdir()
    kept = "<body><p>trial</p>{}<script>window.dataLayer = [];</script></body>"
    page.write_text(kept.format('<script async src="https://www.googletagmanager.com/gtag/js?id=G-X"></script>'))
    script = f"""
        import {{ writeFileSync }} from "node:fs";
        const {{ default: Plugin }} = await import({(Path(read["plugins"]["offline"]["import"])).as_uri()!r});
        const addFile = async (name, data) => {{
            const path = new URL(name, {(tmp_path / "offline" / "x").as_uri()!r});
            writeFileSync(path, data);
            return path.pathname;
        }};
        await new Plugin().done({{ reportFiles: {{ addFile }} }});
    """
    node, _ = compute_driver_executable()
    subprocess.run([node, "--input-type=module", "-e", script], check=True)
    assert page.read_text() == kept.format("")
