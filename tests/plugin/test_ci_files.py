"""The actions for GitHub and the template for GitLab: their steps are run in order in a scratch repository."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_webarena.commands.starter import start_project
from pytest_webarena.results.gate import BELOW_THRESHOLD, TOO_MANY_ERRORS
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.pull_comment import marker
from tests.ci_runner import CiRunner, evaluate
from tests.made_up import make_run, make_trial
from tests.unit.commands.comment_server import CommentServer, comment_server

ROOT = Path(__file__).parents[2]
ACTIONS = sorted((ROOT / "pytest_webarena" / "ci" / "github").glob("*/action.yml"))
GITLAB = ROOT / "pytest_webarena" / "ci" / "gitlab.yml"
GATE = ".github/actions/webarena-gate/action.yml"
RUN = ".github/actions/webarena-run/action.yml"


@pytest.fixture
def server() -> Iterator[CommentServer]:
    with comment_server() as server:
        yield server


@pytest.fixture
def runner(tmp_path: Path, server: CommentServer) -> CiRunner:
    """A project with CI files of both hosts, and a runner whose jobs belong to pull request 7."""
    project = tmp_path / "project"
    for host in ("github", "gitlab"):
        start_project(project, {}, ci=host)
    (project / "pytest.ini").write_text("[pytest]\n")
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7, "head": {"sha": "c0ffee"}}}))
    variables = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": str(event), "GITHUB_WORKSPACE": str(project)}
    return CiRunner(project, tmp_path / "temp", {**server.variables, **variables})


def write_tasks(project: Path, *, wrong: int) -> None:
    answers = ["x"] * (6 - wrong) + ["y"] * wrong
    (project / "tasks").mkdir(exist_ok=True)
    (project / "tasks" / "some.yaml").write_text(
        "tasks:\n"
        + "".join(
            f"  - {{id: t{number}, sites: [], intent: Say x, checks: [{{answer: x}}], solution: [{{stop: {word}}}]}}\n"
            for number, word in enumerate(answers)
        )
    )


def make_parts(folder: Path, *outcomes: str) -> None:
    """Write the parts of a run, each with one trial."""
    for number, outcome in enumerate(outcomes, start=1):
        run = make_run(folder / f"part-{number}", asked={"options": {"--shard": f"{number}/{len(outcomes)}"}})
        record = make_trial(run, f"t{number}", outcome)
        extend_plan(run.path, [PlannedTrial(key=record.key)])


def test_expressions_are_evaluated_as_the_host_does() -> None:
    contexts = {"inputs": {"max-errors": "0"}, "steps": {"a": {"outputs": {"code": "10"}}}}
    assert evaluate("always() && steps.a.outputs.code != '0'", contexts) is True
    assert evaluate("inputs.max-errors == '0' || !always()", contexts) is True
    assert evaluate("steps.none.outputs.code", contexts) == ""
    with pytest.raises(ValueError, match="supported kind"):
        evaluate("inputs.a > 3", contexts)


def test_actions_declare_what_they_use_and_give_the_token_to_one_step() -> None:
    for file in ACTIONS:
        content = yaml.safe_load(file.read_text())
        used = set(re.findall(r"\binputs\.([\w-]+)", file.read_text()))
        assert used == set(content["inputs"]), file
        for step in content["runs"]["steps"]:
            assert "inputs." not in step.get("run", ""), "an input would become code"
            assert set(step.get("env", {})) >= set(re.findall(r"\$([A-Z_]{3,})\b", step.get("run", ""))) - {
                "GITHUB_OUTPUT"
            }
            assert ("inputs.token" in str(step)) == (step.get("name") == "Comment")
    script = yaml.safe_load(GITLAB.read_text())["webarena"]["script"]
    assert script[0].startswith("unset WEBARENA_GITLAB_TOKEN")


def test_gate_action_merges_parts_comments_and_fails_with_the_gates_exit_code(
    runner: CiRunner, server: CommentServer
) -> None:
    make_parts(runner.artifacts / "webarena-part-1", "passed", "failed")
    server.add(f"{marker('tasks')}\nforged", author="mallory")
    done = runner.action(runner.project / GATE, {"min-pass-rate": "0.9"}, {})
    assert done.code == BELOW_THRESHOLD, done.output
    assert done.outputs == {"exit-code": "10"}
    assert (runner.artifacts / "webarena-run" / "view.html").is_file()
    forged, ours = server.bodies
    assert forged.endswith("forged")
    assert "❌ gate: a: 50.0% passed, --min-pass-rate asks for 90.0%" in ours
    assert "[Records and pictures](https://git.test/o/r/artifacts/webarena-run)" in ours
    assert re.search(
        r"\| t2 \| a \| failed \| .*<code>trials/t2\.a\.1-\w+/attempt-1/screenshots/final\.png</code>", ours
    )
    assert ours in runner.summary.read_text()


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_github_workflow_runs_parts_gates_the_whole_and_updates_its_comment(
    runner: CiRunner, server: CommentServer
) -> None:
    text = (ROOT / "examples" / "shards" / "github.yaml").read_text()
    for old, new in (("[1, 2, 3, 4]", "[1, 2]"), ("}}/4", "}}/2"), ("agents/mine.yaml", "oracle")):
        assert old in text
        text = text.replace(old, new)
    jobs = yaml.safe_load(text)["jobs"]
    write_tasks(runner.project, wrong=5)
    for part in jobs["part"]["strategy"]["matrix"]["part"]:
        done = runner.github_job(jobs["part"], {"part": part})
        assert done.code == 0, done.output
        shutil.rmtree(runner.project / "webarena-parts")  # each job has a machine of its own
    assert runner.installed.count("pip install pytest-webarena[shop]") == 2
    assert runner.installed.count("playwright install --with-deps --only-shell chromium") == 2
    whole = runner.github_job(jobs["whole"])
    assert whole.code == BELOW_THRESHOLD, whole.output
    assert "16.7% passed" in server.bodies[0]
    jobs["whole"]["steps"][-1]["with"]["min-pass-rate"] = "0.1"
    clear(runner)
    assert runner.github_job(jobs["whole"]).code == 0
    assert len(server.bodies) == 1
    assert "✅ gate: the thresholds are met" in server.bodies[0]
    clear(runner)
    shutil.rmtree(runner.artifacts / "webarena-part-2")  # its job died
    missing = runner.github_job(jobs["whole"])
    assert missing.code == TOO_MANY_ERRORS, missing.output
    assert "part 2 of 2 &#40;" in server.bodies[0] or "part 2 of 2 (--shard) is missing" in server.bodies[0]


def clear(runner: CiRunner) -> None:
    for name in ("webarena-parts", "webarena-run"):
        shutil.rmtree(runner.project / name, ignore_errors=True)


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("test_other.py", "def test_a(): assert False\n", 1),
        ("test_other.py", "def test_a(: pass\n", 1),
        ("other.yaml", "tasks: [{id: other, sites: [], intent: Say x}]\n", TOO_MANY_ERRORS),
        ("notes.txt", "", 0),
    ],
    ids=["failed-test", "unreadable-test", "unreadable-task", "only-trials"],
)
def test_part_fails_only_for_what_the_gate_does_not_see(runner: CiRunner, name: str, content: str, code: int) -> None:
    write_tasks(runner.project, wrong=6)
    (runner.project / "tasks" / name).write_text(content)
    done = runner.action(runner.project / RUN, {}, {})
    assert done.code == code, done.output
    assert (runner.artifacts / "webarena-part-1" / "junit-1.xml").is_file()


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", ["no-token", 403, 404])
def test_hindered_comment_leaves_the_gates_exit_code_and_a_summary(
    runner: CiRunner, server: CommentServer, fault: Any
) -> None:
    make_parts(runner.artifacts / "webarena-part-1", "passed", "failed")
    if fault == "no-token":
        runner.token = ""
    else:
        server.faults = [fault]
    failed = runner.action(runner.project / GATE, {"min-pass-rate": "0.9"}, {})
    assert failed.code == BELOW_THRESHOLD, failed.output
    assert "::warning title=pytest-webarena::no comment was posted: " in failed.output
    assert "50.0% passed" in runner.summary.read_text()
    clear(runner)
    runner.token, server.faults = "", []
    assert runner.action(runner.project / GATE, {"min-pass-rate": "0.4"}, {}).code == 0
    assert server.bodies == []


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_run_that_cannot_be_merged_fails_and_is_commented(runner: CiRunner, server: CommentServer) -> None:
    done = runner.action(runner.project / GATE, {}, {})
    assert done.code == 2, done.output
    assert "❌ no result: " in server.bodies[0]
    bad = runner.action(runner.project / GATE, {"args": "'unfinished"}, {})
    assert bad.code != 0


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_gitlab_template_runs_parts_gates_the_whole_and_updates_its_comment(
    runner: CiRunner, server: CommentServer
) -> None:
    template = yaml.safe_load((runner.project / ".gitlab-ci.yml").read_text())
    assert template["webarena"]["parallel"] == 2
    runner.environment.pop("GITHUB_ACTIONS")
    write_tasks(runner.project, wrong=1)
    token = {"WEBARENA_GITLAB_TOKEN": "t0ken-of-the-job", "CI_JOB_URL": "https://git.test/o/r/-/jobs/3"}
    (runner.project / "conftest.py").write_text("import os\nassert 'WEBARENA_GITLAB_TOKEN' not in os.environ\n")
    for part in ("1", "2"):
        done = runner.gitlab_job(template, "webarena", {**token, "CI_NODE_INDEX": part, "CI_NODE_TOTAL": "2"})
        assert done.code == 0, done.output
        assert f"junit-{part}.xml" in " ".join(path.name for path in (runner.project / "webarena-parts").iterdir())
    gate = runner.gitlab_job(template, "webarena-gate", token)
    assert gate.code == BELOW_THRESHOLD, gate.output
    assert "[All trials](https://git.test/o/r/-/jobs/3/artifacts/file/webarena-run/view.html)" in server.bodies[0]
    shutil.rmtree(runner.project / "webarena-run")
    met = runner.gitlab_job(template, "webarena-gate", {**token, "WEBARENA_GATE": "--min-pass-rate=0.5"})
    assert met.code == 0, met.output
    assert len(server.bodies) == 1
    assert "✅" in server.bodies[0]
    shutil.rmtree(runner.project / "webarena-run")
    fork = runner.gitlab_job(template, "webarena-gate", {**token, "WEBARENA_GITLAB_TOKEN": ""})
    assert fork.code == BELOW_THRESHOLD, fork.output
    assert "expected a token in WEBARENA_GITLAB_TOKEN, found none" in fork.output
