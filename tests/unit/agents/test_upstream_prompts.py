"""WebArena's own prompts: found in a named checkout, parsed and never executed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_webarena.agents.model.prompt import prompt_identity, read_prompt
from pytest_webarena.agents.model.reward import RewardKeys
from pytest_webarena.agents.model.upstream import VARIABLE, prompt_name
from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.agents.registry import resolve_agent
from pytest_webarena.errors import UsageError
from pytest_webarena.tasks import parse_tasks

VALUES = {"intent": "Do it", "url": "http://x", "observation": "PAGE", "previous_action": "None"}


def checkout(folder: Path, *names: str, raw: bool = False) -> Path:
    place = folder / "agent" / "prompts" / ("raw" if raw else "jsons")
    place.mkdir(parents=True)
    for name in names:
        data = {"intro": name, "examples": [("seen", "said")], "template": "{objective}: {observation}"}
        text = f"import os\n\nprompt = {data!r}\n" if raw else json.dumps(data)
        (place / f"{name}{'.py' if raw else '.json'}").write_text(text)
    return folder


@pytest.mark.parametrize("raw", [False, True])
def test_upstream_prompt_matching_the_definition_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bool
) -> None:
    names = [
        prompt_name(reasoning=reasons, unachievable_hint=hint) for reasons in (True, False) for hint in (True, False)
    ]
    assert len({*names}) == 4
    folder = checkout(tmp_path, *names, raw=raw)
    monkeypatch.setenv(VARIABLE, str(folder))
    for name, (reasons, hint) in zip(names, ((True, True), (True, False), (False, True), (False, False)), strict=True):
        for asked in ("upstream", f"upstream:{folder}"):
            prompt = read_prompt(asked, tmp_path, "here", reasoning=reasons, unachievable_hint=hint)
            intro, user, assistant, last = prompt.messages(VALUES)
            assert (intro.text, user.text, assistant.text, last.text) == (name, "seen", "said", "Do it: PAGE")
            assert prompt.files[0].stem == name


@pytest.mark.parametrize("raw", [False, True])
def test_recorded_prompt_name_has_the_digest_of_its_text(tmp_path: Path, raw: bool) -> None:
    """An edited checkout has another digest."""
    folder = checkout(tmp_path, "p_cot_id_actree_2s", raw=raw)
    prompt = read_prompt(f"upstream:{folder}", tmp_path, "here")
    assert prompt_identity(f"upstream:{folder}", prompt) == "upstream p_cot_id_actree_2s@bd277ccdad8f"
    (file,) = prompt.files
    assert prompt_identity(str(file), prompt).startswith(f"{file.name} sha256:")  # named as a file, it is the user's
    file.write_text(file.read_text().replace("seen", "Seen"))
    assert "@bd277ccdad8f" not in prompt_identity("upstream", read_prompt(f"upstream:{folder}", tmp_path, "here"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"intro": "", "template": "{objective}"}', "expected the slot '{observation}', found none: .* see no page"),
        ('{"intro": "", "template": "{observation}"}', "expected the slot '{objective}', found none: .* not know its"),
        ('{"intro": "", "template": "{objective} {observation}", "meta_data": [1]}', "meta_data: expected an object"),
        (f'{{"intro": {"[" * 100_000}', "expected JSON: "),
    ],
)
def test_unusable_prompt_is_reported_before_the_run(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "mine.json").write_text(text)
    with pytest.raises(UsageError, match=f"here: prompt mine.json: .*{expected}"):
        read_prompt("mine.json", tmp_path, "here")


def test_missing_upstream_prompt_error_says_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(UsageError, match="WEBARENA_UPSTREAM=FOLDER, or prompt: upstream:FOLDER"):
        read_prompt("upstream", tmp_path, "here")
    with pytest.raises(UsageError, match=r"found no agent/prompts/jsons/p_cot_id_actree_2s\.json"):
        read_prompt(f"upstream:{tmp_path}", tmp_path, "here")


def test_python_prompt_source_is_parsed_and_not_executed(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "p_cot_id_actree_2s", raw=True)
    file = folder / "agent" / "prompts" / "raw" / "p_cot_id_actree_2s.py"
    file.write_text("prompt = dict(intro=open('/etc/passwd').read())\n")
    with pytest.raises(UsageError, match="expected a prompt as a Python literal"):
        read_prompt(f"upstream:{folder}", tmp_path, "here")
    file.write_text("other = {}\n")
    with pytest.raises(UsageError, match="found none"):
        read_prompt(f"upstream:{folder}", tmp_path, "here")


WEBCANVAS = """
import os

class BasePrompts:
    example = "[4] link"
    unreadable = os.getcwd()
    planning_prompt_system = "Plan." \\
        f" For example: {str(example)}"
    planning_prompt_user = "The task is {{user_request}}.\\n"
"""


def webcanvas(folder: Path, source: str = WEBCANVAS) -> Path:
    place = folder / "agent" / "Prompt"
    place.mkdir(parents=True, exist_ok=True)
    (place / "base_prompts.py").write_text(source)
    return folder


def test_webcanvas_prompt_is_read_and_never_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBCANVAS_UPSTREAM", str(webcanvas(tmp_path)))
    prompt = read_prompt("upstream", tmp_path, "here", grammar="webcanvas")
    system, user = prompt.messages({**VALUES, "answer_instructions": "Be brief.", "history": []})
    assert (system.text, user.text) == ("Plan. For example: [4] link", "The task is Do it\n\nBe brief..\n")
    turn = SimpleNamespace(number=1, action="click [4]", details=("thought: so",))
    _, user = prompt.messages({**VALUES, "history": [turn], "error": "gone"})
    assert user.text.endswith(
        "Your steps so far:\n1. click [4]\n   thought: so\n\nThe last action had no effect: gone\n\nPAGE"
    )
    name = prompt_identity("upstream", prompt)
    assert name.startswith("upstream webcanvas_planning@")
    assert name.endswith(", earlier steps in our words")
    webcanvas(tmp_path, WEBCANVAS.replace("Plan.", "Plan well."))
    assert prompt_identity("upstream", read_prompt("upstream", tmp_path, "here", grammar="webcanvas")) != name
    assert prompt.mentions("details")
    assert not prompt.mentions("memory")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (WEBCANVAS.replace("{str(example)}", "{unreadable}"), "expected the text 'planning_prompt_system'"),
        (WEBCANVAS.replace("{str(example)}", "{example!r}"), "expected the text 'planning_prompt_system'"),
        (WEBCANVAS.replace("{{user_request}}", ""), r"expected the slots \['user_request'\], found \[\]"),
        ("class BasePrompts", "expected Python with texts"),
    ],
)
def test_unusable_webcanvas_prompt_is_refused(tmp_path: Path, source: str, expected: str) -> None:
    folder = webcanvas(tmp_path, source)
    with pytest.raises(UsageError, match=expected):
        read_prompt(f"upstream:{folder}", tmp_path, "here", grammar="webcanvas")


def test_missing_webcanvas_checkout_error_says_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEBCANVAS_UPSTREAM", raising=False)
    with pytest.raises(UsageError, match="WEBCANVAS_UPSTREAM=FOLDER, or prompt: upstream:FOLDER"):
        read_prompt("upstream", tmp_path, "here", grammar="webcanvas")
    with pytest.raises(UsageError, match=r"found no agent/Prompt/base_prompts\.py"):
        read_prompt(f"upstream:{tmp_path}", tmp_path, "here", grammar="webcanvas")


def test_agent_of_webcanvas_takes_the_upstream_prompt(tmp_path: Path) -> None:
    overrides = Overrides(options=(("prompt", f"upstream:{webcanvas(tmp_path)}"),))
    agent = resolve_agent("webcanvas", [Path("agents")], overrides)
    assert agent.prompt.startswith("upstream webcanvas_planning@")


REWARDS = """
class BasePrompts:
    global_reward_prompt_system = ('''Assess.''')
    global_reward_with_GroundTruth_prompt_system = ('''Assess by the guide.''')
    global_reward_prompt_user = "Task: {{user_request}}\\n" \\
        "Steps: {{stringfy_thought_and_action_output}}\\n"
"""

SEEN = {
    "intent": "Do {{stringfy_thought_and_action_output}}", "title": "Shop", "url": "http://shop.test/", "sees": "text",
    "observation": "PAGE", "pictured": False, "quoted": lambda text: f"| {text}", "dialog": "", "guide": "",
    "history": [SimpleNamespace(number=1, action="click [4]", error="gone", thought="so {{user_request}}",
                                reflection="doing, 7 of 10: on")],
}  # fmt: skip


def test_reward_prompt_of_webcanvas_is_read_from_the_checkout(tmp_path: Path) -> None:
    name = f"upstream:{webcanvas(tmp_path, REWARDS)}"
    own = RewardKeys(prompt=name).template(tmp_path, "here")
    system, user = own.messages(SEEN)
    assert system.text == "Assess."
    assert user.text == (
        "Task: Do {{stringfy_thought_and_action_output}}\n"
        "Steps: 1. click [4] (had no effect: gone)\n   thought: so {{user_request}}\n"
        "   reflection: doing, 7 of 10: on\n"
        "\n\nThe current web page:\n| Shop\nURL: http://shop.test/\n| PAGE"
    )
    guided = RewardKeys(prompt=name, by="reference").template(tmp_path, "here")
    system, user = guided.messages({**SEEN, "guide": "Done when: x", "sees": "screenshot", "pictured": True})
    assert system.text == "Assess by the guide."
    assert "Reference Guide:\nDone when: x" in user.text
    assert "PAGE" not in user.text


def test_unusable_reward_prompt_is_refused(tmp_path: Path) -> None:
    keys = RewardKeys(prompt=f"upstream:{webcanvas(tmp_path, REWARDS.replace('{{user_request}}', ''))}")
    with pytest.raises(UsageError, match=r"global_reward_prompt_user: expected the slots .*, found \['stringfy"):
        keys.template(tmp_path, "here")


def test_records_name_the_prompt_of_the_reward_model(tmp_path: Path) -> None:
    folder = webcanvas(tmp_path, WEBCANVAS + REWARDS.replace("BasePrompts", "Rewards"))
    for prompt, named in (("", "reward: ours reward.j2 sha256:"), (f"upstream:{folder}", "upstream webcanvas_reward@")):
        options = (("prompt", f"upstream:{folder}"), ("reward.prompt", prompt))
        agent = resolve_agent("webcanvas-reward", [Path("agents")], Overrides(options=options))
        assert agent.prompt.startswith("upstream webcanvas_planning@")
        assert named in agent.prompt


def test_arb_has_no_upstream_prompt(tmp_path: Path) -> None:
    options = (("prompt", f"upstream:{webcanvas(tmp_path)}"), ("limits.steps", 3))
    agent = resolve_agent("webcanvas", [Path("agents")], Overrides(options=options))
    (task,) = parse_tasks("tasks: [{id: a, sites: [], intent: Say x., checks: [{answer: x}]}]")
    assert not agent.missing_requirement(task)
    assert "ARB publishes no file with its prompts" in agent.missing_requirement(replace(task, source={"suite": "arb"}))
