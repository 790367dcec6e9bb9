"""Definitions of model agents: errors in them, options that override them, shipped definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Stop
from pytest_webarena.agents import Assignment, resolve_agent
from pytest_webarena.agents.model.guides import Guide, guide_file, material_digest, write_guide
from pytest_webarena.agents.overrides import Overrides, parse_option
from pytest_webarena.agents.protocol import AgentLimits
from pytest_webarena.errors import UsageError
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.tasks.model import Location, Task
from tests.model_server import Answer, call, model_server, say

from .model_agents import VIEW, Make, act, maker


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes an agent from definition keys and a model server."""
    return maker(tmp_path)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("invalid_retries: 11", "invalid_retries: expected 0 to 10, found 11"),
        ("reply: telepathy", "reply: unknown value 'telepathy'; .*known: computer, json, text, tools"),
        ("history: {policy: action}", "history.policy: unknown value 'action'; did you mean 'actions'"),
        ("sampling: {temprature: 1}", "unknown key 'sampling.temprature'; did you mean 'temperature'"),
        ("sampling: {temperature: hot}", "sampling.temperature: expected a number or null, found 'hot'"),
        ("prompt: webarina", "expected a .j2 or .json file or a built-in; did you mean 'webarena'"),
        ("prompt: nowhere.j2", "prompt nowhere.j2: expected a readable text file"),
        ("reply: tools\ntools: [click, jump]", "tools: unknown tool 'jump'"),
        ("tools: [click]", "expected also 'reply: tools'"),
        ("grammar: klingon", "unknown grammar 'klingon'"),
        ("observation: smell", "smell"),
        ("observation: {kinds: [html], compat: maybe}", "compat: expected true or false, found 'maybe'"),
        ("limits: {cost: -1}", "limits.cost: expected a number above 0, found -1"),
        ("viewport: [1280]", "viewport: expected a list of 2 items or null"),
        ("modell: x", "unknown key 'modell' for kind 'model'; did you mean 'model'"),
        ("endpoint: {api_key: sk-1}", "unknown key 'endpoint.api_key'; did you mean 'api'"),
    ],
)
def test_invalid_definition_is_a_usage_error(tmp_path: Path, keys: str, message: str) -> None:
    (tmp_path / "mine.yaml").write_text(f"kind: model\n{keys}\n")
    with pytest.raises(UsageError, match=r"agent definition .*mine\.yaml.*" + message):
        resolve_agent("mine", [tmp_path])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"p.j2": "no messages"}, "expected lines such as '--- system'"),
        ({"p.json": "{"}, "expected JSON"),
        ({"p.json": '{"intro": "x"}'}, "expected an object with the texts 'intro' and 'template'"),
        ({"p.json": '{"intro": "x", "template": "{objektive}"}'}, "unknown slot 'objektive'; did you mean 'objective'"),
        ({"p.json": '{"intro": "x", "template": "t", "examples": [["a"]]}'}, "examples: expected a list of pairs"),
    ],
)
def test_invalid_prompt_file_is_a_usage_error(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / "mine.yaml").write_text(f"kind: model\nprompt: {name}\n")
    with pytest.raises(UsageError, match=message):
        resolve_agent("mine", [tmp_path])


@pytest.mark.parametrize(
    "text", ["--- user\n{% if %}", "--- user\n{{ objektive }}", "--- user\n{{ intent.__class__.mro() }}"]
)
def test_broken_template_is_a_usage_error(make: Make, tmp_path: Path, text: str) -> None:
    (tmp_path / "own.j2").write_text(text)
    with model_server([say("x")]) as server, pytest.raises(UsageError, match=r"prompt own\.j2"):
        act(make(server, prompt="own.j2"))


def test_overrides_change_the_digest_and_the_definition(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("kind: model\nmodel: a\nprompt: own.j2\nlimits: {steps: 5}\n")
    (tmp_path / "own.j2").write_text("--- user\nx")
    variants = [
        Overrides(),
        Overrides(model="b"),
        Overrides(observation=("html",)),
        Overrides(limits=AgentLimits(steps=7)),
        Overrides(options=(parse_option("sampling.temperature=0"),)),
    ]
    found = [resolve_agent("mine", [tmp_path], each) for each in variants]
    assert len({each.digest for each in found}) == 5
    assert [each.model for each in found] == ["a", "b", "a", "a", "a"]
    assert (found[0].limits.steps, found[3].limits.steps) == (5, 7)
    assert found[2].observation == {"kinds": ["html"]}
    assert found[4].overridden == ("--agent-option sampling.temperature",)
    (tmp_path / "own.j2").write_text("--- user\ny")
    assert resolve_agent("mine", [tmp_path]).digest != found[0].digest


@pytest.mark.parametrize(
    ("keys", "settings", "message"),
    [
        ("endpoint: {key_env: NO_SUCH_KEY}", {}, "expected an API key in the environment variable NO_SUCH_KEY"),
        ("endpoint: {key_env: null}", {"max_cost": 1.0}, "expected a price for model 'm', because --max-cost"),
        ("endpoint: {key_env: null}\nlimits: {cost: 1}", {}, "because a limit of cost limits the run"),
        ("endpoint: {key_env: null}\nmodel: ''", {}, "expected the name of a model: give --model"),
    ],
)
def test_missing_key_price_or_model_is_reported_before_the_run(
    tmp_path: Path, keys: str, settings: Any, message: str
) -> None:
    model = "" if "model:" in keys else "model: m\n"
    (tmp_path / "mine.yaml").write_text(f"kind: model\n{model}{keys}\n")
    with pytest.raises(UsageError, match=message):
        resolve_agent("mine", [tmp_path]).check(ModelSettings(**settings))


SHIPPED = [path.stem for path in sorted(Path("agents").glob("*.yaml")) if "kind: model" in path.read_text()]
EACH_SHIPPED = [
    pytest.param(name, marks=[pytest.mark.exhaustive] if name.startswith(("anthropic", "google")) else [])
    for name in SHIPPED
]


@pytest.mark.parametrize("name", EACH_SHIPPED)
def test_shipped_definitions_work_with_a_model(tmp_path: Path, name: str) -> None:
    task = Task(id="t", intent="i", sites=(), location=Location(path=str(tmp_path / "t.yaml"), line=1))
    guide = Guide(goal="A kettle.", done_when=("It is there.",))
    write_guide(guide_file(task), guide, task="t", made_of={"digest": material_digest(task)})

    def model(body: dict[str, Any]) -> Answer:
        if "get_final_answer" in str(body):
            return say('{"thought": "", "action": "get_final_answer", "action_input": "1"}')
        if name.endswith("-computer"):
            return say("1")
        if "tools" in body:
            return call("stop", answer="1")
        return say('{"thought": "", "action": "stop [1]"}' if "response_format" in body else "```stop [1]```")

    with model_server(model) as server:
        options = (("endpoint.base_url", server.url), ("endpoint.key_env", None), ("endpoint.timeout", 60))
        definition = resolve_agent(name, [Path("agents")], Overrides(options=options))
        agent = definition.make(Assignment(view=VIEW, task=task))
        assert act(agent).action == Stop("1")
        definition.check(ModelSettings(max_cost=1.0))
        assert all(text not in server.prompt() for text in ("{{", "{%", "Undefined"))


def test_shipped_definitions_cover_every_reply_form() -> None:
    assert {"cot", "cot-no-hint", "direct", "tools", "vision", "tools-vision", "dialogue", "summary"} <= set(SHIPPED)
    assert {"webcanvas", "webcanvas-reward", "webcanvas-reference"} <= set(SHIPPED)
    assert {"anthropic-tools", "anthropic-marks", "google-tools", "google-marks", "openai-tools"} <= set(SHIPPED)
    assert {"anthropic-computer", "google-computer", "openai-computer"} <= set(SHIPPED)
