"""Allure results made from records."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from playwright._impl._driver import compute_driver_executable

from pytest_webarena.checks.verdict import Part
from pytest_webarena.evidence import StopReason, Usage
from pytest_webarena.owners import UNATTRIBUTED
from pytest_webarena.plugin.reporting.allure import write_results
from pytest_webarena.plugin.reporting.allure.identity import Identity, source_url
from pytest_webarena.plugin.reporting.allure.result import SKIP_KINDS, STATUSES, status_details
from pytest_webarena.plugin.reporting.allure.run_files import (
    ONE_PAGE_LIMIT,
    categories,
    configuration,
    executor,
    write_run_files,
)
from pytest_webarena.results import Attempt, RunDir, TrialRecord
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.trial_outcome import reported_outcome
from pytest_webarena.results.wording import CAUSE_WORDS, STOP_WORDS
from tests.cases import each_case

from ....made_up import UNDECIDED, check, graded, make_run, make_trial

Result = dict[str, Any]


def results(directory: Path) -> list[Result]:
    return [json.loads(file.read_text(encoding="utf-8")) for file in directory.glob("*-result.json")]


def report(run: RunDir, target: Path) -> list[Result]:
    write_results(run, target, root=Path("/w"))
    return results(target)


def labels(result: Result, name: str) -> list[str]:
    return [label["value"] for label in result["labels"] if label["name"] == name]


def parameters(item: Result) -> dict[str, str]:
    return {parameter["name"]: parameter["value"] for parameter in item.get("parameters", ())}


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return make_run(tmp_path / "run")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "allure"


def identity(node_id: str, agents: tuple[str, ...] = ("a",), **record: Any) -> Identity:
    values: dict[str, Any] = {
        "key": make_key(record.pop("agent", "a")),
        "outcome": "passed",
        "intent": "Do it",
        **record,
    }
    return Identity.of_record(TrialRecord(node_id=node_id, **values), agents)


def make_key(agent: str) -> Any:
    from pytest_webarena.results import TrialKey

    return TrialKey("t", agent, 1)


def test_trial_is_reported_step_by_step(run: RunDir, target: Path) -> None:
    make_trial(run, "buy.tea", tags=("severity:critical", "smoke"))
    (result,) = report(run, target)
    assert (result["name"], result["status"]) == ("Do buy.tea", "passed")
    assert [step["name"] for step in result["steps"]] == [
        "click button 'Save'",
        "stop 'rye'",
        "Answer: rye",
        "Checks: 1 of 1 pass",
    ]
    first = result["steps"][0]
    assert [attachment["name"] for attachment in first["attachments"]] == ["Screenshot", "Observation"]
    assert parameters(first) == {"page": "http://s.test/", "reply": "click [4]"}
    assert first["stop"] - first["start"] == 800
    assert first["start"] == 1000 * 1_700_000_000 + 500  # after the lease
    (judged,) = result["steps"][-1]["steps"]
    assert parameters(judged) == {"expected": "'rye'", "actual": "'oats'"}
    assert [attachment["name"] for attachment in result["attachments"]] == [
        "Network log (1 requests)",
        "Tabs at the end",
    ]
    assert labels(result, "severity") == ["critical"]
    assert labels(result, "tag") == ["smoke", "content"]
    assert labels(result, "feature") == ["s"]
    assert labels(result, "story") == ["buy"]
    assert "`tasks/x.yaml`" in result["description"]


def test_every_attachment_has_its_own_file(run: RunDir, target: Path) -> None:
    """Allure 3 shows an attachment once and reports a second reference as missing."""
    for task in ("t1", "t2"):
        make_trial(run, task)
    sources = re.findall(r'"source": "([^"]+)"', "".join(map(json.dumps, report(run, target))))
    assert len(set(sources)) == len(sources) == 2 * (2 * 2 + 2)
    assert all((target / source).stat().st_size for source in sources)


def test_images_of_the_task_are_attached(run: RunDir, target: Path) -> None:
    made = make_trial(run)
    inputs = run.folder(made.key).path / "attempt-1" / "intent_images"
    inputs.mkdir()
    (inputs / "0.gif").write_bytes(b"GIF89a")
    [result] = report(run, target)
    [attached] = [each for each in result["attachments"] if each["name"] == "Image 1 of the task"]
    assert (target / attached["source"]).read_bytes() == b"GIF89a"
    assert attached["type"] == "image/gif"


def test_attached_screenshots_are_copies(run: RunDir, target: Path) -> None:
    made = make_trial(run)
    report(run, target)
    run.folder(made.key).drop_pictures()
    (picture, *_) = target.glob("*-attachment.png")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_deleted_screenshots_are_left_out(run: RunDir, target: Path) -> None:
    made = make_trial(run)
    run.folder(made.key).drop_pictures()
    (result,) = report(run, target)
    assert "attachments" not in result["steps"][0]


def test_final_page_is_attached_if_not_shown_before(run: RunDir, target: Path) -> None:
    made = make_trial(run)
    (run.folder(made.key).path / "attempt-1" / "screenshots" / "final.png").write_bytes(b"\x89PNG other")
    (result,) = report(run, target)
    assert result["attachments"][0]["name"] == "Final page"


def test_step_name_reports_an_action_without_effect(run: RunDir, target: Path) -> None:
    make_trial(run, steps=[{"error": "Element 4\nis gone."}])
    (result,) = report(run, target)
    assert result["steps"][0]["name"] == "click button 'Save' · no effect: Element 4 is gone."
    assert result["steps"][0]["status"] == "skipped"


def test_a_long_reply_is_attached(run: RunDir, target: Path) -> None:
    make_trial(run, steps=[{"raw": "thinking\nclick [4]"}])
    (result,) = report(run, target)
    assert "reply" not in parameters(result["steps"][0])
    assert result["steps"][0]["attachments"][-1]["name"] == "Reply of the agent"


def test_failure_details_name_expected_and_actual(run: RunDir, target: Path) -> None:
    inner = (check("url", 0.0, expected="/cart", actual="/", why="the paths differ"), check("answer", 1.0))
    checks = (check("all", 0.0, children=inner, expected="", actual=""), check("state", None, why="no such table"))
    make_trial(run, outcome="failed", checks=checks, message="the verdict")
    (result,) = report(run, target)
    assert result["status"] == "failed"
    assert result["statusDetails"] == {
        "message": "failed: url: the paths differ\nexpected /cart\nactual   /\nand 1 more check that fails",
        "trace": "the verdict",
    }
    judged = result["steps"][-1]
    assert (judged["name"], judged["status"]) == ("Checks: 0 of 2 pass", "failed")
    assert [step["status"] for step in judged["steps"]] == ["failed", "broken"]
    assert [step["name"] for step in judged["steps"][0]["steps"]] == [
        "✗ url (checks[0]): the paths differ",
        "✓ answer (checks[0])",
    ]


def test_rubric_items_become_steps(run: RunDir, target: Path) -> None:
    parts = (
        Part(what="Sets up.", points=4, of=4, given=4, quote="n = 2k"),
        Part(what="Solves.", points=2.5, of=5, given=2.5, quote="=> so"),
        Part(what="Ends.", points=0, of=1, given=1, quote="never said", why="1 given, but it is not in the answer"),
    )
    checks = (check("rubric", 0.65, counts=1.0, parts=parts, why="6.5 of 10 points"),)
    make_trial(run, checks=checks)
    (result,) = report(run, target)
    (judged,) = result["steps"][-1]["steps"]
    assert (judged["name"], judged["status"]) == ("✓ rubric (checks[0])", "passed")
    assert [(step["name"], step["status"]) for step in judged["steps"]] == [
        ("✓ item 1: 4 of 4 points: Sets up.", "passed"),
        ("◐ item 2: 2.5 of 5 points: Solves.", "failed"),
        ("✗ item 3: 0 of 1 points: Ends.", "failed"),
    ]
    assert parameters(judged["steps"][2])["quote"] == "never said"
    assert "not in the answer" in parameters(judged["steps"][2])["why"]


def test_interrupted_attempt_shows_its_completed_steps(run: RunDir, target: Path) -> None:
    made = make_trial(run, outcome="error", evidence=False, cause="harness", message="the worker gw0 died", seconds={})
    steps = run.folder(made.key).path / "attempt-1" / "steps.jsonl"
    steps.write_text(steps.read_text() + '{"index": 2, "act')  # it died in the middle of a line
    (result,) = report(run, target)
    assert result["status"] == "broken"
    assert result["statusDetails"] == {"message": "error (harness): the worker gw0 died"}
    assert len(result["steps"]) == 2
    assert labels(result, "outcome") == ["error: harness"]


def test_attempts_after_environment_errors_are_retries(run: RunDir, target: Path) -> None:
    first = make_trial(run, outcome="error", message="connection refused")
    attempts = (
        Attempt(
            number=1, outcome="error", cause="site", message="connection refused", started=first.started, seconds=2.0
        ),
        Attempt(number=2, outcome="passed"),
    )
    make_trial(run, started=first.started + 5, attempts=attempts)
    earlier, later = sorted(report(run, target), key=lambda result: result["start"])
    assert (earlier["status"], later["status"]) == ("broken", "passed")
    assert earlier["historyId"] == later["historyId"]
    assert earlier["parameters"] == later["parameters"]
    assert earlier["statusDetails"]["message"] == "error (site): connection refused"
    assert len(earlier["steps"]) == 2
    assert "site: `connection refused`" in later["description"]


def test_agents_and_trials_share_a_test_case_but_not_a_history(run: RunDir, target: Path) -> None:
    for agent, trial in (("a", 1), ("a", 2), ("b", 1)):
        make_trial(run, agent=agent, trial=trial)
    found = report(run, target)
    assert len({result["historyId"] for result in found}) == 3
    assert len({result["testCaseId"] for result in found}) == 1
    assert len({json.dumps(result["parameters"]) for result in found}) == 3


@each_case(
    "node_id",
    ["x.yaml::t[chromium]", "x.yaml::t[a-chromium]", "x.yaml::t[trial1-chromium]", "x.yaml::t[a-trial1-chromium]"],
)
def test_history_id_does_not_depend_on_other_agents_and_trials(node_id: str) -> None:
    """Node ids depend on the number of agents and trials; the trial is the same."""
    assert identity(node_id) == identity("x.yaml::t[chromium]")


def test_history_variant_separates_agent_names_and_user_parameters() -> None:
    assert identity("x.yaml::t[a-b-trial2-spring-chromium]", ("a", "a-b")).variant == "spring-chromium"
    assert identity("x.yaml::t[my.py:A-chromium]", ("my.py:A",)).variant == "chromium"
    assert identity("x.yaml::t").variant == ""


@each_case(
    ("environment", "url"),
    [
        ({}, ""),
        (
            {"GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "c0", "GITHUB_WORKSPACE": "/w"},
            "https://github.com/a/b/blob/c0/tasks/x.yaml#L3",
        ),
        (
            {"CI_PROJECT_URL": "https://g.test/a", "CI_COMMIT_SHA": "c0", "CI_PROJECT_DIR": "/w"},
            "https://g.test/a/-/blob/c0/tasks/x.yaml#L3",
        ),
        ({"CI_PROJECT_URL": "https://g.test/a", "CI_COMMIT_SHA": "c0", "CI_PROJECT_DIR": "/elsewhere"}, ""),
    ],
)
def test_source_link_points_to_the_line_of_the_task(environment: dict[str, str], url: str) -> None:
    assert source_url(Path("/w/tasks/x.yaml"), 3, environment) == url


@each_case("cause", CAUSE_WORDS)
def test_error_category_is_its_cause(cause: Any) -> None:
    record = TrialRecord(key=make_key("a"), outcome="error", cause=cause, message="it broke\nbadly")
    assert category(record).startswith(f"Error, {cause}")


def test_every_stop_reason_has_a_category_name() -> None:
    assert set(STOP_WORDS) == set(get_args(StopReason))


@each_case("reason", STOP_WORDS)
def test_failure_category_is_its_stop_reason(reason: StopReason) -> None:
    record = TrialRecord(key=make_key("a"), outcome="failed", stop_reason=reason, message="site error: it says\nso")
    expected = "Finished" if reason == "answered" else f"Failed, {STOP_WORDS[reason]}"
    assert category(record).startswith(expected)


@each_case(
    ("fields", "expected"),
    [
        ({"outcome": "failed", **UNDECIDED}, "Undecided, a judge could decide"),
        (
            {"outcome": "failed", "stop_reason": UNATTRIBUTED, **UNDECIDED},
            "Undecided, an error of the agent or its environment",
        ),
        ({"outcome": "passed", "attempt": 2}, "Passed, after an error on an earlier attempt"),
    ],
)
def test_undecided_and_retried_trials_have_categories_of_their_own(fields: dict[str, Any], expected: str) -> None:
    record = TrialRecord(key=make_key("a"), message="undecided: it may be\nso", **fields)
    assert category(record) == expected


def test_each_kind_of_skip_has_one_category_in_both_versions() -> None:
    for kind, (status, name) in SKIP_KINDS.items():
        message = f"{kind}: why\nso"
        old = [
            each["name"]
            for each in categories()
            if status in each["matchedStatuses"] and re.fullmatch(each["messageRegex"], message)
        ]
        new = [
            each["name"]
            for each in rules()
            if status in each["matchers"]["statuses"] and re.search(each["matchers"].get("message", "(?!)"), message)
        ]
        assert old == new == [name]


def rules() -> list[dict[str, Any]]:
    """Return the categories of Allure 3."""
    found = re.search(r"const config = (.*?);\n", configuration([]), re.DOTALL)
    assert found is not None
    return list(json.loads(found[1])["categories"]["rules"])


def category(record: TrialRecord) -> str:
    """Return the category that both Allure versions assign, by message and by label."""
    outcome = reported_outcome(record)
    status = STATUSES[outcome.kind]
    details = status_details(record)
    assert details is not None
    by_message = [
        rule["name"]
        for rule in categories()
        if status in rule["matchedStatuses"] and re.fullmatch(rule["messageRegex"], details.message)
    ]
    by_label = [
        rule["name"]
        for rule in rules()
        if status in rule["matchers"]["statuses"]
        and re.search(rule["matchers"].get("labels", {}).get("outcome", "^$"), outcome.label)
    ]
    assert by_message == by_label
    assert len(by_label) == 1
    return str(by_label[0])


def test_unprintable_texts_are_escaped_in_the_report(run: RunDir, target: Path) -> None:
    bad = "</script>\ud800 \x00 \x1b[31m ```"
    steps = [{"raw": bad, "error": bad, "url_before": bad}]
    checks = [check("answer", 0.0, expected=bad, actual=bad, why=bad)]
    make_trial(
        run,
        outcome="failed",
        intent=bad,
        answer=bad,
        message=bad,
        steps=steps,
        checks=checks,
        tags=(bad,),
        category=bad,
        sites=(bad,),
    )
    (result,) = report(run, target)
    assert "\\ud800" not in json.dumps(result)
    assert "\\u0000" not in json.dumps(result)
    assert "````\n</script>" in result["description"]  # the answer can't end its block


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
    report(run, target)
    (file,) = target.glob("*-globals.json")
    figures = json.loads(file.read_text())["figures"]
    assert figures["a"].startswith("0–1/1 = 0.0% (0.0% to ")
    assert figures["a"].endswith(", 100.0% if 1 undecided is met")
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


def test_record_without_verdict_details_is_reported(run: RunDir, target: Path) -> None:
    made = make_trial(run, outcome="failed")
    run.folder(made.key).finish(replace(made, verdict={"schema_version": 99}, message="older\nwords"))
    (result,) = report(run, target)
    assert result["statusDetails"]["message"] == "failed: older"


def test_gradings_are_reported_outside_the_history_id(run: RunDir, target: Path) -> None:
    make_trial(run, "webarena.1", **graded(repaired=1, original=0, verified=None))
    make_trial(run, "webarena.2", **graded(repaired=1))
    disputed, one = sorted(report(run, target), key=lambda result: str(result["name"]))
    gradings = {"graded repaired": "passed", "graded original": "failed", "graded verified": "not computed"}
    assert parameters(disputed) | gradings == parameters(disputed)
    assert all(each["excluded"] for each in disputed["parameters"] if each["name"].startswith("graded"))
    assert (labels(disputed, "grading"), labels(one, "grading")) == (["repaired"], ["repaired"])
    assert "gradings-disagree" in labels(disputed, "tag")
    assert not any(name.startswith("graded") for name in parameters(one))
