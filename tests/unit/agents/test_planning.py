"""The planner of the WebCanvas framework: its switches, first step, guides and step limit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element, Goto, Invalid, Search, Stop
from pytest_webarena.agents import resolve_agent
from pytest_webarena.agents.model.guide_author import author_guide, read_reply
from pytest_webarena.agents.model.guides import Guide, guide_file, guide_of, material, material_digest, write_guide
from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.agents.protocol import AgentLimits
from pytest_webarena.browser.pageless import NO_PAGE
from pytest_webarena.errors import ModelError, TaskError, UsageError
from pytest_webarena.llm.client import ModelClient
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Message, ModelReply, Request
from pytest_webarena.tasks.model import Check, Limits, Location, Task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.plan import TrialPlan
from tests.model_server import Answer, model_server, say

from .model_agents import Make, act, maker, page

PLANNED = {
    "thought": "The shop is open; the cart is left.",
    "action": "click",
    "action_input": "",
    "element_id": "[4]",
    "description": "Opens the cart.",
}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes an agent from definition keys and a model server."""
    return maker(tmp_path)


def prompts(make: Make, **keys: Any) -> tuple[str, str]:
    """Return the prompts of the first and the second step."""
    with model_server([say(json.dumps(PLANNED))]) as server:
        agent = make(server, **{"grammar": "webcanvas", "prompt": "webcanvas", "history": "actions", **keys})
        assert act(agent).action == Click(Element("4"))
        act(agent, page(url="http://shopping.test/cart", error="It is gone"))
    return server.prompt(0), server.prompt(1)


# --- each switch alone ----------------------------------------------------------------------------------------------


def test_prompt_asks_only_for_an_action_without_switches(make: Make) -> None:
    first, later = prompts(make, reasoning=False)
    assert 'Leave "thought" out' in first
    assert "Plan before you act" not in first
    assert '1. {"action": "click", "element_id": "[4]"} where [4] is link \'Cart\'' in later
    assert "The cart is left" not in later
    assert "seen after it" not in later


def test_planning_adds_plan_and_description_to_the_prompt(make: Make) -> None:
    first, later = prompts(make, planning=True)
    assert "Plan before you act" in first
    assert 'Add a key "description"' in first
    assert "to bring about: Opens the cart." in later
    assert "thought: " not in later


def test_react_adds_thoughts_and_later_pages_to_the_history(make: Make) -> None:
    first, later = prompts(make, react=True)
    assert "what the last action brought" in first
    assert "Plan before you act" not in first
    assert "thought: The shop is open; the cart is left." in later
    assert "seen after it: Shop at http://shopping.test/cart" in later


def test_reflections_add_thoughts_to_the_history(make: Make) -> None:
    first, later = prompts(make, history="reflections")
    assert "What an observer said" in first
    assert "thought: The shop is open; the cart is left." in later
    assert "seen after it" not in later


@pytest.mark.parametrize("prompt", ["standard", "webarena"])
@pytest.mark.parametrize("keys", [{"react": True}, {"history": "reflections"}])
def test_standard_and_webarena_prompts_support_react_and_reflections(
    make: Make, prompt: str, keys: dict[str, Any]
) -> None:
    with model_server([say("The cart is next. ```click [4]```")]) as server:
        agent = make(server, prompt=prompt, **keys)
        act(agent)
        act(agent)
    assert "\n   thought: The cart is next." in server.prompt()
    assert ("\n   seen after it: Shop at http://shopping.test/" in server.prompt()) is ("react" in keys)


def test_step_records_thought_and_raw_reply(make: Make) -> None:
    with model_server([say(json.dumps(PLANNED))]) as server:
        reply = act(make(server, grammar="webcanvas", prompt="webcanvas", planning=True))
    assert reply.thought == "The shop is open; the cart is left."
    assert reply.raw == json.dumps(PLANNED)


HOSTILE = [
    '{"action": "click"}',
    '{"action": {"a": 1}, "thought": 5}',
    '{"thought": ["x"], "action": "jump"}',
    "{" * 5000,
    "",
    '```json\n{"action": "fly"}\n```',
]


@pytest.mark.parametrize("reply", HOSTILE)
def test_malformed_plan_is_retried_then_invalid(make: Make, reply: str) -> None:
    with model_server([say(reply or "{}")]) as server:
        agent = make(server, grammar="webcanvas", prompt="webcanvas", planning=True, invalid_retries=1)
        answer = act(agent)
    assert isinstance(answer.action, Invalid)
    assert (answer.retries, server.requests) == (1, 2)


# --- the first step -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thought", ["<think>\nMaybe {0}? No.</think>\n", "Maybe {0}? No.\n</think>\n\n"])
def test_actions_inside_a_thought_are_ignored(make: Make, thought: str) -> None:
    """Endpoints without reasoning support leave thoughts in the text of a reply."""
    draft = json.dumps({**PLANNED, "element_id": 99, "thought": "the wrong one"})
    reply = thought.format(draft) + json.dumps(PLANNED)
    with model_server([say(reply)]) as server:
        agent = make(server, grammar="webcanvas", prompt="webcanvas", history="reflections")
        assert act(agent).action == Click(Element("4"))
        act(agent)
    assert "the wrong one" not in server.prompt()


def test_unclosed_thought_is_not_an_action(make: Make) -> None:
    with model_server([say("<think>" + json.dumps(PLANNED)), say(json.dumps(PLANNED))]) as server:
        agent = make(server, grammar="webcanvas", prompt="webcanvas", history="actions")
        assert act(agent).retries == 1


def test_several_different_actions_in_a_reply_are_rejected(make: Make) -> None:
    """Otherwise an earlier step that a reply cites would be repeated."""
    cited = f"After {json.dumps({**PLANNED, 'element_id': 3})} comes {json.dumps(PLANNED)}"
    with model_server([say(cited), say(f"{json.dumps(PLANNED)}\n{json.dumps(PLANNED)}")]) as server:
        reply = act(make(server, grammar="webcanvas", prompt="webcanvas", history="actions"))
    assert (reply.action, reply.retries) == (Click(Element("4")), 1)
    assert "2 different actions at once" in server.prompt()


def test_first_step_must_be_search_or_goto_when_configured(make: Make) -> None:
    go = '{"action": "%s", "action_input": "http://shopping.test/"}'
    script = [say('{"action": "get_final_answer", "action_input": ""}'), say(go % "goto"), say(json.dumps(PLANNED))]
    keys: dict[str, Any] = {"grammar": "webcanvas", "prompt": "webcanvas", "first_step": "search_or_goto"}
    with model_server(script) as server:
        agent = make(server, **keys)
        first = act(agent)
        assert first.action == Goto("http://shopping.test/")
        assert first.retries == 1
        assert act(agent).action == Click(Element("4")), "later ones are free"
    assert "The first action has to be a search or a goto." in server.prompt(1)
    assert "The first action is a search or a goto." in server.prompt(0)
    with model_server([say(json.dumps(PLANNED))]) as server:
        stubborn = make(server, invalid_retries=0, **keys)
        assert [type(act(stubborn).action) for _ in range(3)] == [Invalid] * 3, "no action is no first one"
        asked_only = act(make(server, **keys), page(NO_PAGE))
        assert asked_only.action == Click(Element("4")), "a question without a page has no address to go to"
    with model_server([say(go % "google_search")]) as server:
        assert act(make(server, **keys)).action == Search("http://shopping.test/")
    with model_server([say(json.dumps(PLANNED))]) as server:
        assert act(make(server, **{**keys, "first_step": "any"})).action == Click(Element("4"))


def test_prompt_mentions_search_only_when_configured(make: Make) -> None:
    without, _ = prompts(make)
    searching, _ = prompts(make, search={"page": "http://find.test/{query}"})
    for words in ("search the web for", '"search" looks for pages'):
        assert words in searching
        assert words not in without


# --- the step limit -------------------------------------------------------------------------------------------------


def plan(tmp_path: Path, steps: Any, task: Task, flag: int | None = None) -> TrialPlan:
    (tmp_path / "mine.yaml").write_text(json.dumps({"kind": "model", "model": "m", "limits": {"steps": steps}}))
    overrides = Overrides(limits=AgentLimits(steps=flag))
    agent = resolve_agent("mine", [tmp_path], overrides)
    return TrialPlan(task=task, agent=agent, trial=1, limits=EpisodeLimits())


CLICKS = (Click(Element("1")),)


@pytest.mark.parametrize(
    ("task", "limit"),
    [
        ({"solution": CLICKS * 3 + (Stop(""),)}, 10),
        ({"solution": CLICKS * 6 + (Stop(""),)}, 10),
        ({"solution": CLICKS * 8 + (Stop(""),)}, 13),
        ({"solution": CLICKS, "source": {"reference_length": 21}}, 31),
        ({"source": {"reference_task_length": 8}}, 12),
        ({"solution": CLICKS * 20, "limits": Limits(steps=4)}, 4),
        ({"limits": Limits(steps=4)}, 4),
    ],
)
def test_step_limit_follows_from_the_reference_length(tmp_path: Path, task: dict[str, Any], limit: int) -> None:
    made = plan(tmp_path, "webcanvas", Task(id="t", intent="i", sites=(), **task))
    assert made.effective_limits.steps == made.agent_limits.steps == limit
    assert made.agent.missing_requirement(made.task) == ""


@pytest.mark.parametrize("source", [{}, {"reference_length": 0}, {"reference_length": "9"}, {"reference_length": True}])
def test_step_limit_without_a_reference_length_is_an_error(tmp_path: Path, source: dict[str, Any]) -> None:
    task = Task(id="t", intent="i", sites=(), source=source)
    made = plan(tmp_path, "webcanvas", task)
    message = "task t: expected a solution or 'source.reference_length', from which 'limits.steps: webcanvas' follows"
    assert made.agent.missing_requirement(task).startswith(message)
    with pytest.raises(TaskError, match="expected a solution or"):
        _ = made.effective_limits
    assert plan(tmp_path, "webcanvas", task, flag=7).effective_limits.steps == 7
    assert plan(tmp_path, 12, task).agent.missing_requirement(task) == ""


# --- guides ---------------------------------------------------------------------------------------------------------

GUIDE = Guide(goal="Tea is in the cart.", steps=("Open the cart.",), done_when=("The cart lists tea.",))
CHECK = Check(path="checks[0]", kind="key_nodes", spec={"nodes": [{"url": {"includes": "/cart"}}]})


def known(tmp_path: Path, **rest: Any) -> Task:
    place = Location(path=str(tmp_path / "tea.yaml"), line=3)
    return Task(id="tea:1", intent="Buy tea", sites=(), location=place, solution=(*CLICKS, Stop("")), **rest)


def test_guide_is_stored_next_to_the_task_and_read_back(tmp_path: Path) -> None:
    task = known(tmp_path)
    with pytest.raises(UsageError, match=r"task tea:1: expected a guide at .*guides/tea-1\.yaml, found none; webarena"):
        guide_of(task)
    write_guide(guide_file(task), GUIDE, task=task.id, made_of={"digest": material_digest(task), "model": "m"})
    assert guide_of(task) == GUIDE
    text = guide_file(task).read_text()
    assert text.startswith("# Read this before you rely on it")
    guide_file(task).write_text(text.replace("The cart lists tea.", "The cart lists one tea."))
    assert guide_of(task).done_when == ("The cart lists one tea.",), "people may change it"
    for other in (
        replace(task, intent="Buy two teas"),
        replace(task, solution=CLICKS * 2),
        replace(task, checks=(CHECK,)),
    ):
        with pytest.raises(UsageError, match="was made of another intent, solution or key nodes"):
            guide_of(other)
    assert guide_of(replace(task, tags=("x",), limits=Limits(steps=3))).goal == GUIDE.goal


def test_guide_material_contains_key_nodes_and_no_other_check(tmp_path: Path) -> None:
    other = Check(path="checks[1]", kind="answer", spec={"exact": "secret"})
    inside = Check(path="checks[2]", kind="all", children=(CHECK,))
    made_of = material(known(tmp_path, checks=(other, inside)))
    assert made_of["key_nodes"] == [CHECK.spec]
    assert "secret" not in json.dumps(made_of)
    assert [step["kind"] for step in made_of["solution"]] == ["click", "stop"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("goal: [", "expected YAML"),
        ("- a", "expected a mapping with goal, steps and done_when"),
        ("goal: x\nwhen: y", "expected only the keys .*, found 'when'"),
        ("goal: x\ndone_when: [y]", "made_of: expected the 'digest'"),
        ("made_of: {digest: d}\ndone_when: [y]", "goal: expected a text"),
        ("made_of: {digest: d}\ngoal: x\ndone_when: []", "done_when: expected a list of 1 to 40 texts"),
        ("made_of: {digest: d}\ngoal: x\ndone_when: [1]", "done_when: expected texts"),
        ("schema_version: 2\ngoal: x", "expected schema_version 1, found 2"),
    ],
)
def test_invalid_guide_is_a_usage_error(tmp_path: Path, text: str, message: str) -> None:
    task = known(tmp_path)
    guide_file(task).parent.mkdir()
    guide_file(task).write_text(text)
    with pytest.raises(UsageError, match=rf"guide .*tea-1\.yaml: {message}"):
        guide_of(task)


def sender(url: str) -> Any:
    endpoint = Endpoint(base_url=url, key_env=None, timeout=5)
    client = ModelClient(endpoint, ModelSettings(), trial="guide")

    def send(messages: tuple[Message, ...]) -> ModelReply:
        return client.ask(Request(model="author", messages=messages))

    return send


def test_a_model_writes_a_guide_from_solution_and_key_nodes(tmp_path: Path) -> None:
    whole = {"goal": GUIDE.goal, "steps": list(GUIDE.steps), "done_when": list(GUIDE.done_when)}
    script = [say("Gladly."), say('{"goal": "x"}'), say(f"```json\n{json.dumps(whole)}\n```")]
    with model_server(script) as server:
        assert author_guide(sender(server.url), known(tmp_path, checks=(CHECK,))) == GUIDE
    assert "Buy tea" in server.prompt(0)
    assert '"includes": "/cart"' in server.prompt(0)
    assert '"kind": "click"' in server.prompt(0)
    assert "found none. Please write it with nothing else." in server.prompt(1)
    assert "done_when: expected a list of 1 to 40 texts" in server.prompt(2)


@pytest.mark.parametrize("answer", [say("No."), Answer(text=None, refusal="No."), say('{"goal": 1}')])
def test_model_that_writes_no_guide_is_a_model_error(tmp_path: Path, answer: Answer) -> None:
    with model_server([answer]) as server, pytest.raises(ModelError, match="expected a guide, found none in 3 replies"):
        author_guide(sender(server.url), known(tmp_path))


def test_guide_needs_a_solution_or_key_nodes(tmp_path: Path) -> None:
    task = replace(known(tmp_path), solution=None)
    with model_server([say("{}")]) as server, pytest.raises(UsageError, match="expected a solution or key nodes"):
        author_guide(sender(server.url), task)
    assert server.requests == 0


def test_oversized_guides_are_refused() -> None:
    for data in ({"goal": "x" * 3000, "done_when": ["y"]}, {"goal": "x", "done_when": ["y"] * 50}):
        assert "Please write the whole object again." in str(read_reply(json.dumps(data)))


def test_reward_model_gets_the_guide_and_the_planner_does_not(make: Make, tmp_path: Path) -> None:
    task = known(tmp_path)
    write_guide(guide_file(task), GUIDE, task=task.id, made_of={"digest": material_digest(task)})
    verdict = '{"reason": "r", "status": "doing", "score": 1, "description": "Open."}'
    with model_server([say(json.dumps(PLANNED)), say(verdict), say(json.dumps(PLANNED))]) as server:
        agent = make(server, task=task, grammar="webcanvas", prompt="webcanvas", reward="reference")
        act(agent)
        act(agent)
    assert "GUIDE:\nGoal: Tea is in the cart.\nOne way:\n1. Open the cart.\nDone when:\n- The cart lists tea." in (
        server.prompt(1)
    )
    assert "The cart lists tea" not in server.prompt(0) + server.prompt(2)
    definition = resolve_agent("mine", [tmp_path])
    assert definition.missing_requirement(task) == ""
    assert definition.missing_requirement(replace(task, id="other")).startswith("task other: expected a guide at")


# --- the shipped definitions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "by"), [("webcanvas", "none"), ("webcanvas-reward", "self"), ("webcanvas-reference", "reference")]
)
def test_shipped_webcanvas_definitions_have_the_papers_settings(tmp_path: Path, name: str, by: str) -> None:
    task = known(tmp_path)
    definition = resolve_agent(name, [Path("agents")])
    assert definition.viewport == (1080, 720)
    assert definition.grammar == "webcanvas"
    assert definition.observation["kinds"] == ["webcanvas"]
    assert definition.limits.steps == "webcanvas"
    assert definition.missing_requirement(task).startswith("task tea:1: expected a guide" if by == "reference" else "")
    assert bool(definition.missing_requirement(task)) is (by == "reference")
