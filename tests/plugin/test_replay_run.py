"""``--replay-run``: agents run on recorded trials, without sites or browser, until they diverge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element, Stop, Type
from pytest_webarena.evidence import TargetRecord
from tests.recordings import record_trial
from tests.rewritten import rewrite

TASKS = """
tasks:
  - id: metal
    sites: [homepage]
    intent: Which metal is liquid?
    checks: [{answer: {exact: mercury}}]
  - id: unknown
    sites: [homepage]
    intent: Nobody has tried this one.
    checks: [{answer: {exact: x}}]
"""
AGENTS = """
from pytest_webarena.actions import Click, Element, Stop, Type

class _Scripted:
    def __init__(self):
        self.seen = []
        self._rest = list(self.steps)
    def act(self, observation):
        self.seen.append((observation.url, observation.title, observation.notes))
        assert observation.text.startswith("[1]"), observation.text
        assert len(observation.tabs) == 1
        return self._rest.pop(0)

class Same(_Scripted):
    steps = [Click(Element("1")), Type(Element("2"), "Hg"), Stop("mercury")]
class OtherAnswer(_Scripted):
    steps = [Click(Element("1")), Type(Element("2"), "Hg"), Stop("lead")]
class OtherWay(_Scripted):
    steps = [Click(Element("1")), Type(Element("3"), "Hg"), Stop("mercury")]
class OtherText(_Scripted):
    steps = [Click(Element("1")), Type(Element("2"), "hg"), Stop("mercury")]
class TooEarly(_Scripted):
    steps = [Click(Element("1")), Stop("mercury")]
class NoAction(_Scripted):
    steps = ["what?", Click(Element("1"))]
class OnAndOn(_Scripted):
    steps = [Click(Element("1")), Type(Element("2"), "Hg"), Click(Element("1")), Stop("mercury")]
class Crashes:
    def act(self, observation):
        raise RuntimeError("nothing works")
"""
SEEN = "[1] link 'Metals'\n[2] textbox 'Search'\n[3] textbox 'Other'"
NOWHERE = (f"--browser-executable={sys.executable}", "-p", "no:cacheprovider")
"""Python is not a browser, so any attempt to start one fails."""


@pytest.fixture
def recording(pytester: pytest.Pytester) -> Path:
    """A run with one trial of ``metal``, next to tasks and agents."""
    (pytester.path / "a.tasks.yaml").write_text(TASKS)
    (pytester.path / "scripted.py").write_text(AGENTS)
    link = TargetRecord(role="link", name="Metals")
    return record_trial(
        pytester.path / "before",
        "metal",
        [(SEEN, Click(Element("1")), link), (SEEN, Type(Element("2"), "Hg"), None), (SEEN, Stop("mercury"), None)],
        answer="mercury",
    )


def records(pytester: pytest.Pytester) -> dict[str, dict[str, Any]]:
    found = [json.loads(file.read_text()) for file in (pytester.path / "after" / "trials").glob("*/trial.json")]
    return {each["key"]["agent"].rpartition("-")[2]: each for each in found}


def test_replay_judges_agent_with_same_actions_and_fails_diverging_ones(
    pytester: pytest.Pytester, recording: Path
) -> None:
    names = ["Same", "OtherAnswer", "OtherWay", "OtherText", "TooEarly", "NoAction", "OnAndOn", "Crashes"]
    agents = [f"--agent=scripted.py:{name}" for name in names]
    result = pytester.runpytest("--replay-run=before", "--run-dir=after", "a.tasks.yaml", *agents, *NOWHERE)
    result.assert_outcomes(passed=1, failed=7, deselected=8)
    found = {name: record for name in names for key, record in records(pytester).items() if key.endswith(name)}
    messages = {name: " ".join(record["message"].split()) for name, record in found.items()}
    assert found["Same"]["outcome"] == "passed"
    assert found["Same"]["environment"]["on_record"]["followed"] == 2
    assert "mercury" in messages["OtherAnswer"]
    assert found["OtherAnswer"]["score"] == 0
    assert "step 2 of 3, at http://homepage.test/1: another element" in messages["OtherWay"]
    assert "[2] textbox 'Search'" in messages["OtherWay"]
    assert "[3] textbox 'Other'" in messages["OtherWay"]
    assert "another text" in messages["OtherText"]
    assert "it stopped, where 1 more steps are recorded" in messages["TooEarly"]
    assert "its reply is no action" in messages["NoAction"]
    assert "step 3 of 3" in messages["OnAndOn"]
    assert "nothing works" in messages["Crashes"]
    for name in names[2:]:
        assert (found[name]["outcome"], found[name]["verdict"]) == ("failed", None), name
    text = " ".join(result.stdout.str().split())
    assert "1 of 1 trial on the record to its end, 1 passed, 2 of 3 steps followed" in text
    assert "passed = " not in text  # no rate
    for arguments in (["--rescore=after"], ["--resume=after"], ["--replay-run=after", "--agent=na"]):
        refused = pytester.runpytest("a.tasks.yaml", *arguments, *NOWHERE)
        assert "on the record of" in refused.stderr.str()
        assert refused.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("observations/001.txt", "expected what was shown before step 1"),
        ("observations/001.json", "expected the rest of an observation"),
        ("steps.jsonl", "expected the file as written"),
    ],
)
def test_damaged_recording_is_a_harness_error(
    pytester: pytest.Pytester, recording: Path, damage: str, message: str
) -> None:
    file = recording / damage
    if damage.endswith(".txt"):
        file.unlink()
    elif damage.endswith(".json"):
        file.write_text("{")
    else:
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    agent = "--agent=scripted.py:Same"
    result = pytester.runpytest("--replay-run=before", "--run-dir=after", "a.tasks.yaml", agent, *NOWHERE)
    (record,) = records(pytester).values()
    assert (record["outcome"], record["cause"]) == ("error", "harness")
    assert message in record["message"]
    result.assert_outcomes(errors=1, deselected=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--replay-run=before"], "expected an agent to run on the record"),
        (["--replay-run=before", "--agent=na", "--min-pass-rate=0.5"], "expected no --min-pass-rate"),
        (["--replay-run=before", "--agent=na", "--audit"], "expected no --a"),
        (["--replay-of=clerk", "--agent=na"], "expected --replay-run"),
        (["--replay-run=before", "--replay-of=clark", "--agent=na"], "before (clerk), found 'clark'"),
    ],
)
def test_options_incompatible_with_replay_run_are_rejected(
    pytester: pytest.Pytester, recording: Path, arguments: list[str], message: str
) -> None:
    result = pytester.runpytest("a.tasks.yaml", *arguments, *NOWHERE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()


def test_replay_of_option_chooses_recorded_agent(pytester: pytest.Pytester, recording: Path) -> None:
    record_trial(pytester.path / "before", "metal", [(SEEN, Stop("lead"), None)], answer="lead", agent="other")
    agent = "--agent=scripted.py:Same"
    unclear = pytester.runpytest("--replay-run=before", "--run-dir=one", "a.tasks.yaml", agent, *NOWHERE)
    unclear.stdout.fnmatch_lines(["*metal was tried by clerk, other*"])
    named = pytester.runpytest(
        "--replay-run=before", "--replay-of=clerk", "--run-dir=after", "a.tasks.yaml", agent, *NOWHERE
    )
    named.assert_outcomes(passed=1, deselected=1)


def test_agent_with_other_observation_settings_than_recorded_is_rejected(
    pytester: pytest.Pytester, recording: Path
) -> None:
    (pytester.path / "reader.yaml").write_text("python: scripted.py:Same\nobservation: {kinds: [html]}\n")
    trial = next((pytester.path / "before" / "trials").glob("*/trial.json"))
    rewrite(trial, environment={"observation": {"kinds": ["accessibility_tree"]}})
    result = pytester.runpytest(
        "--replay-run=before", "--run-dir=after", "a.tasks.yaml", "--agent=reader.yaml", *NOWHERE
    )
    text = " ".join(result.stdout.str().split())
    assert "observation.kinds is ['html'] and was ['accessibility_tree']" in text
