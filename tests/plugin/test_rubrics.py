"""Rubrics under pytest: judged in a run, rescored, with and without a judge, and audited."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.results import RunDir
from tests.made_up import PICTURE
from tests.model_server import Answer, ModelServer, model_server, say
from tests.sealed import sealed, with_seal

from .test_questions import NOWHERE, records

TASKS = """
tasks:
  - id: even
    sites: []
    intent: Show that the square of an even number is divisible by 4.
    source: {subject: numbers}
    checks:
      - rubric:
          threshold: 0.7
          items: [{points: 4, what: Writes n = 2k.}, {points: 6, what: Squares it.}]
          solution: Write n = 2k. Its square is 4k^2.
    solution: [{stop: "Write n = 2k. Its square is 4k^2."}]
"""
ANSWER = "An even n is 2k, hence n^2 = 4k^2, a multiple of four."
GOOD = "ITEM 1 POINTS 4\nQUOTE An even n is 2k\nITEM 2 POINTS 4\nQUOTE n^2 = 4k^2"
BAD = "ITEM 1 POINTS 0\nQUOTE none\nITEM 2 POINTS 0\nQUOTE none"


@pytest.fixture(autouse=True)
def cache(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(pytester.path / "cache"))


@pytest.fixture
def agent(pytester: pytest.Pytester) -> str:
    (pytester.path / "a.tasks.yaml").write_text(TASKS)
    (pytester.path / "said.py").write_text(
        f"from pytest_webarena.actions import Stop\n\n\ndef agent(observation):\n    return Stop({ANSWER!r})\n"
    )
    pytester.syspathinsert()
    return "--agent=said:agent"


def judged_by(server: ModelServer, model: str = "m") -> tuple[str, ...]:
    return (f"--judge={model}", f"--judge-url={server.url}", "--judge-key-env=none")


def test_rescoring_a_rubric_asks_the_judge_nothing(pytester: pytest.Pytester, agent: str) -> None:
    with model_server([sealed(GOOD), say("nothing more")]) as server:
        pytester.runpytest(agent, *judged_by(server), *NOWHERE).assert_outcomes(passed=1)
        (record,) = records(pytester).values()
        assert record["score"] == 0.8
        (result,) = record["verdict"]["results"]
        assert [(part["points"], part["of"]) for part in result["parts"]] == [(4, 4), (4, 6)]
        assert record["judge"]["prompt"].startswith("rubric@")
        again = pytester.runpytest("--rescore=run", *judged_by(server), "-p", "no:cacheprovider")
        again.assert_outcomes(passed=1)
        stricter = TASKS.replace("threshold: 0.7", "threshold: 0.9")
        (pytester.path / "a.tasks.yaml").write_text(stricter)
        pytester.runpytest("--rescore=run", *judged_by(server), "-p", "no:cacheprovider").assert_outcomes(failed=1)
        assert server.requests == 1  # the record contains all replies of the judge
    (record,) = records(pytester).values()
    assert (record["score"], record["outcome"]) == (0.8, "failed")


def test_rubric_task_is_an_error_until_a_judge_answers(pytester: pytest.Pytester, agent: str) -> None:
    pytester.runpytest(agent, *NOWHERE).assert_outcomes(errors=1)
    (record,) = records(pytester).values()
    assert (record["outcome"], record["cause"]) == ("error", "judge")
    with model_server([say("I give 9 points.")]) as server:
        pytester.runpytest("--rescore=run", *judged_by(server), "-p", "no:cacheprovider").assert_outcomes(errors=1)
    (record,) = records(pytester).values()
    assert (record["cause"], record["score"]) == ("judge", None)
    assert "no line begins with the code word" in record["message"]
    with model_server([sealed(BAD)]) as server:
        pytester.runpytest("--rescore=run", *judged_by(server), "-p", "no:cacheprovider").assert_outcomes(failed=1)


def test_judge_below_minimum_kappa_on_rubrics_is_not_asked(
    pytester: pytest.Pytester, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with model_server([sealed(GOOD)]) as server:
        pytester.runpytest(agent, *judged_by(server), *NOWHERE).assert_outcomes(passed=1)
        points = pytester.path / "people.csv"
        assert main(["judge", "rubric", "sheet", str(pytester.path / "run"), "-o", str(points)]) == 0
        points.write_text(re.sub(r",,(?=[\"A,])", ",0,", points.read_text()))
        assert main(["judge", "rubric", "compare", str(pytester.path / "run"), str(points), "--remember"]) == 1
        result = pytester.runpytest("--rescore=run", *judged_by(server), "-p", "no:cacheprovider")
        result.assert_outcomes(errors=1)
        text = " ".join(result.stdout.str().split())
        assert "judge m on rubrics, below the bar of 0.8" in text
        assert server.requests == 1
        allowed = pytester.runpytest(
            "--rescore=run", *judged_by(server), "--judge-min-kappa=0", "-p", "no:cacheprovider"
        )
        allowed.assert_outcomes(passed=1)


def test_audit_of_rubric_task_asks_the_judge(pytester: pytest.Pytester) -> None:
    (pytester.path / "a.tasks.yaml").write_text(TASKS)
    with model_server([sealed(BAD)]) as server:
        pytester.runpytest("--audit", *judged_by(server), *NOWHERE)
        assert server.requests > 0
    audit = json.loads((pytester.path / "run" / "audit.json").read_text())
    assert {task["task"]: task["finding"] for task in audit["tasks"]} == {"even": "valid"}


def test_image_of_arb_proof_is_sent_to_multimodal_agent(pytester: pytest.Pytester) -> None:
    problem = {
        "_id": "1",
        "Problem_Statement": "Show what the figure says.",
        "Problem_Type": "Proof",
        "Images": ["figure.png"],
        "Solution": "As drawn.",
        "rubric": "(4 points) Sets up.\n(6 points) Ends.",
    }
    (pytester.path / "problems.jsonl").write_text(json.dumps(problem) + "\n")
    (pytester.path / "figure.png").write_bytes(PICTURE)

    def model(body: dict[str, Any]) -> Answer:
        text = GOOD if "teacher grade" in json.dumps(body["messages"][0]) else f"```stop [{ANSWER}]```"
        return say(with_seal(text, body))

    with model_server(model) as server:
        (pytester.path / "eyes.yaml").write_text(
            "kind: model\nmodel: m\nobservation: [screenshot, accessibility_tree]\n"
            f"endpoint: {{base_url: '{server.url}', key_env: null}}\nprompt: standard\n"
        )
        result = pytester.runpytest("--suite=arb:problems.jsonl", "--agent=eyes.yaml", *judged_by(server), *NOWHERE)
        result.assert_outcomes(failed=1)  # 8 of 10 points
        request = json.dumps(server.bodies[0])
    assert "data:image/png;base64" in request
    (record,) = records(pytester).values()
    assert record["score"] == 0.8
    assert RunDir(pytester.path / "run").records()[0].source["answer"] == "rubric"
