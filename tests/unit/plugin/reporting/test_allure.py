"""Allure results made from records."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from pytest_webarena.checks.verdict import Part
from pytest_webarena.evidence import StopReason
from pytest_webarena.owners import UNATTRIBUTED
from pytest_webarena.plugin.reporting.allure import write_results
from pytest_webarena.plugin.reporting.allure.identity import Identity, source_url
from pytest_webarena.plugin.reporting.allure.result import SKIP_KINDS, STATUSES, status_details
from pytest_webarena.plugin.reporting.allure.run_files import (
    categories,
    configuration,
)
from pytest_webarena.results import Attempt, RunDir, TrialRecord
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
        "Click “Save”",
        "Answer “rye”",
        "Answer: rye",
        "Checks: 1 of 1 pass",
    ]
    first = result["steps"][0]
    assert [attachment["name"] for attachment in first["attachments"]] == ["Before", "Page"]
    assert parameters(first) == {"page": "http://s.test/", "reply": "click [4]"}
    assert first["stop"] - first["start"] == 800
    assert first["start"] == 1000 * 1_700_000_000 + 500  # after the lease
    (judged,) = result["steps"][-1]["steps"]
    assert parameters(judged) == {"expected": "'rye'", "found": "'oats'"}
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
    (picture, *_) = target.glob("*-attachment.webp")
    assert picture.read_bytes()[8:12] == b"WEBP"


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
    assert result["steps"][0]["name"] == "Click “Save” · no effect: Element 4 is gone."
    assert result["steps"][0]["status"] == "skipped"


def test_a_long_reply_is_attached(run: RunDir, target: Path) -> None:
    make_trial(run, steps=[{"raw": "thinking\n" * 50 + "click [4]"}])
    (result,) = report(run, target)
    assert parameters(result["steps"][0])["reply"].startswith("thinking thinking ")
    assert result["steps"][0]["attachments"][-1]["name"] == "Reply"


def test_failure_details_name_expected_and_actual(run: RunDir, target: Path) -> None:
    inner = (check("url", 0.0, expected="/cart", actual="/", why="the paths differ"), check("answer", 1.0))
    checks = (check("all", 0.0, children=inner, expected="", actual=""), check("state", None, why="no such table"))
    make_trial(run, outcome="failed", checks=checks, message="the verdict")
    (result,) = report(run, target)
    assert result["status"] == "failed"
    assert result["statusDetails"] == {
        "message": "failed: url: the paths differ\nexpected /cart\nfound    /\nand 1 more check that fails",
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
