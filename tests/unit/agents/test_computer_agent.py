"""Agents that act by the computer-use tools of three APIs: results with screenshots, safety checks, wrong calls."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_webarena.actions import Click, Invalid, Noop, Point, Stop, Type, Wait
from pytest_webarena.agents import resolve_agent
from pytest_webarena.errors import UsageError
from pytest_webarena.llm.anthropic_api import beta_header
from tests.cases import each_case
from tests.model_server import Answer, model_server
from tests.unit.agents.computer_replies import (
    APIS,
    CLICK,
    UNKNOWN,
    agent_of,
    images,
    reply,
    results,
    screen,
    scripted,
)
from tests.unit.agents.model_agents import act

EACH = pytest.mark.parametrize("api", APIS)
TWO = {
    "responses": CLICK["responses"],
    "anthropic": CLICK["anthropic"],
    "google": ("type", {"text": "rye"}),
}
CONFIRM: dict[str, Any] = {
    "responses": ("computer", {**CLICK["responses"][1], "checks": [{"id": "s", "code": "risky", "message": "look"}]}),
    "google": ("click", {**CLICK["google"][1], "safety_decision": {"decision": "require_confirmation"}}),
}


@EACH
def test_agent_gets_the_screenshot_after_each_action_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    bodies = scripted(monkeypatch, [reply(api, CLICK[api], text="The cart."), reply(api, text="45 crowns")])
    agent = agent_of(tmp_path, api)
    first = act(agent, screen())
    assert (first.action, first.thought) == (Click(Point(100, 50)), "The cart.")
    second = act(agent, screen())
    assert second.action == Stop("45 crowns")
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens) == (1000, 100)
    (result,) = results(bodies[1])
    assert (images(bodies[0]), images(result), images(bodies[1])) == (1, 1, 2)  # not in the prompt as well
    assert "toolset_name" not in result or result["toolset_name"] == "computer"


@EACH
def test_action_without_effect_is_reported_with_the_screenshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    bodies = scripted(monkeypatch, [reply(api, CLICK[api]), reply(api, text="done")])
    agent = agent_of(tmp_path, api)
    act(agent, screen())
    act(agent, screen(error="It is covered."))
    assert "No effect: It is covered." in json.dumps(bodies[1])
    assert images(bodies[1]) - images(results(bodies[1])) == 2  # of the first page, and of this one
    if api == "anthropic":
        assert results(bodies[1])[0]["is_error"] is True


@EACH
def test_unknown_action_is_reported_to_the_model_as_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    bodies = scripted(monkeypatch, [reply(api, UNKNOWN[api]), reply(api, CLICK[api]), reply(api, text="done")])
    agent = agent_of(tmp_path, api)
    found = act(agent, screen())
    assert (found.action, found.retries) == (Click(Point(100, 50)), 1)
    (result,) = results(bodies[1])
    assert "There is no computer action 'teleport'" in json.dumps(bodies[1])
    error = {"anthropic": result.get("is_error"), "google": "error" in result.get("response", {})}
    assert error.get(api, True) is True
    act(agent, screen())
    assert len(results(bodies[2])) == 2  # the error stays in the chat


@EACH
def test_reply_without_a_usable_call_is_an_invalid_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    bodies = scripted(monkeypatch, [reply(api, UNKNOWN[api]), reply(api, UNKNOWN[api]), reply(api, text="done")])
    agent = agent_of(tmp_path, api)
    assert isinstance(act(agent, screen()).action, Invalid)
    assert act(agent, screen()).action == Stop("done")
    assert images(bodies[2]) - images(results(bodies[2])) == 2  # no result has the page's screenshot


@EACH
def test_calls_of_one_reply_are_carried_out_in_order_each_with_its_screenshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    bodies = scripted(monkeypatch, [reply(api, CLICK[api], TWO[api]), reply(api, text="done")])
    agent = agent_of(tmp_path, api)
    actions = [act(agent, screen()).action for _ in range(3)]
    second = Type(None, "rye") if api == "google" else Click(Point(100, 50))
    assert actions == [Click(Point(100, 50)), second, Stop("done")]
    assert len(bodies) == 2
    assert [images(result) for result in results(bodies[1])] == [1, 1]


@EACH
def test_calls_after_one_without_effect_are_answered_and_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    bodies = scripted(monkeypatch, [reply(api, CLICK[api], TWO[api]), reply(api, text="done")])
    agent = agent_of(tmp_path, api)
    act(agent, screen())
    assert act(agent, screen(error="It is covered.")).action == Stop("done")
    assert len(results(bodies[1])) == 2
    assert "Not carried out, because the call before it had no effect." in json.dumps(bodies[1])


def test_actions_of_one_call_run_until_one_has_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    actions = [*CLICK["responses"][1]["actions"], {"type": "type", "text": "rye"}, {"type": "wait"}]
    bodies = scripted(
        monkeypatch, [reply("responses", ("computer", {"actions": actions})), reply("responses", text="done")]
    )
    agent = agent_of(tmp_path, "responses")
    assert [act(agent, screen()).action for _ in range(2)] == [Click(Point(100, 50)), Type(None, "rye")]
    assert act(agent, screen(error="nothing has the focus")).action == Stop("done")
    assert len(results(bodies[1])) == 1
    assert "nothing has the focus The rest of the call was not carried out" in json.dumps(bodies[1])


@pytest.mark.parametrize("api", CONFIRM)
def test_safety_check_ends_the_trial_unless_the_policy_confirms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    bodies = scripted(monkeypatch, [reply(api, CONFIRM[api]), reply(api, text="done")])
    stopped = act(agent_of(tmp_path, api), screen())
    assert stopped.ended is not None
    assert (stopped.ended[0], stopped.action) == ("filtered", "")
    assert "the endpoint wants a person to confirm: " in stopped.ended[1]
    bodies.clear()
    agent = agent_of(tmp_path, api, computer={"acknowledge": "always"})
    assert act(agent, screen()).action == Click(Point(100, 50))
    act(agent, screen())
    (result,) = results(bodies[1])
    if api == "responses":
        assert result["acknowledged_safety_checks"] == CONFIRM[api][1]["checks"]
    else:
        assert result["response"] == {"url": "http://shopping.test/", "safety_acknowledgement": "true"}


def test_blocked_action_ends_the_trial_under_any_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = ("click", {**CLICK["google"][1], "safety_decision": {"decision": "block"}})
    scripted(monkeypatch, [reply("google", blocked)])
    stopped = act(agent_of(tmp_path, "google", computer={"acknowledge": "always"}), screen())
    assert stopped.ended is not None
    assert "the endpoint blocked an action" in stopped.ended[1]


@EACH
def test_latest_screenshots_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str) -> None:
    bodies = scripted(monkeypatch, [reply(api, CLICK[api])])
    agent = agent_of(tmp_path, api)
    for _ in range(6):
        act(agent, screen())
    assert [images(body) for body in bodies] == [1, 2, 3, 3, 3, 3]
    assert [len(results(body)) for body in bodies] == [0, 1, 2, 3, 4, 5]


def test_large_screenshot_is_scaled_and_clicks_are_scaled_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    click = ("left_click", {"coordinate": [1567, 0]})
    bodies = scripted(monkeypatch, [reply("anthropic", click)])
    found = act(agent_of(tmp_path, "anthropic"), screen(3136, 392, viewport=(1568, 196)))
    (sent,) = [block for block in bodies[0]["messages"][0]["content"] if block["type"] == "image"]
    assert sent["transformations"] == {"oversized_image": "error"}
    import base64

    with Image.open(io.BytesIO(base64.b64decode(sent["source"]["data"]))) as image:
        assert image.size == (1568, 196)
    assert found.action == Click(Point(1567, 0))


def test_zoom_shows_the_enlarged_part_and_the_prompt_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoom = ("zoom", {"region": [0, 0, 2, 2]})
    bodies = scripted(monkeypatch, [reply("anthropic", zoom), reply("anthropic", text="done")])
    agent = agent_of(tmp_path, "anthropic")
    assert act(agent, screen()).action == Noop()
    act(agent, screen())
    (result,) = results(bodies[1])
    import base64

    with Image.open(io.BytesIO(base64.b64decode(result["content"][0]["source"]["data"]))) as image:
        assert image.size == (8, 8)
        red = [image.convert("RGB").getpixel(place)[0] for place in ((0, 0), (7, 7))]  # type: ignore[index]
    assert red[0] > 128 > red[1]
    assert images(bodies[1]) == 3


def test_history_as_text_needs_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = scripted(monkeypatch, [reply("anthropic", CLICK["anthropic"]), reply("anthropic", text="done")])
    agent = agent_of(tmp_path, "anthropic", history="actions")
    act(agent, screen())
    assert act(agent, screen()).action == Stop("done")
    assert (results(bodies[1]), images(bodies[1])) == ([], 1)
    assert "left_click" in json.dumps(bodies[1])


@each_case(
    ("api", "model", "computer", "tools", "beta"),
    [
        ("responses", "gpt", {}, [{"type": "computer"}], ""),
        (
            "responses",
            "computer-use-preview",
            {},
            [
                {
                    "type": "computer_use_preview", "environment": "browser", "display_width": 1000,
                    "display_height": 500,
                }
            ],
            "",
        ),
        ("anthropic", "m", {}, [{"type": "computer_toolset_20260801"}], ""),
        (
            "anthropic",
            "m",
            {"exclude": ["zoom"]},
            [{"type": "computer_toolset_20260801", "configs": {"zoom": {"enabled": False}}}],
            "",
        ),
        (
            "anthropic",
            "m",
            {"tool": "computer_20251124"},
            [
                {
                    "type": "computer_20251124", "name": "computer", "display_width_px": 1000,
                    "display_height_px": 500, "enable_zoom": True,
                }
            ],
            "computer-use-2025-11-24",
        ),
        (
            "anthropic",
            "m",
            {"tool": "computer_20250124"},
            [
                {
                    "type": "computer_20250124", "name": "computer", "display_width_px": 1000,
                    "display_height_px": 500,
                }
            ],
            "computer-use-2025-01-24",
        ),
        (
            "google",
            "m",
            {"exclude": ["key_up"]},
            [{"computerUse": {"environment": "ENVIRONMENT_BROWSER", "excludedPredefinedFunctions": ["key_up"]}}],
            "",
        ),
        (
            "google",
            "gemini-2.5-computer-use-preview-10-2025",
            {},
            [{"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}],
            "",
        ),
    ],
)  # fmt: skip
def test_tool_is_offered_in_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str, model: str, computer: Any, tools: Any, beta: str
) -> None:
    bodies = scripted(monkeypatch, [reply(api, text="done")])
    act(agent_of(tmp_path, api, model=model, computer=computer), screen())
    assert bodies[0]["tools"] == tools
    assert "tool_choice" not in bodies[0]
    assert "toolConfig" not in bodies[0]
    assert beta_header(bodies[0]) == beta


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"api": "chat"}, "expected endpoint: {api: responses}, anthropic or google with it, found api: chat"),
        ({"observation": {"kinds": ["accessibility_tree"]}}, "expected a screenshot"),
        ({"observation": {"kinds": ["screenshot"], "screenshot_full_page": True}}, "screenshots of the window"),
        ({"computer": {"tool": "computer_use"}}, "a tool of that API (computer, computer_use_preview) with it"),
        ({"reply": "tools", "computer": {"acknowledge": "always"}}, "expected also 'reply: computer'"),
        ({"computer": {"acknowledge": "sometimes"}}, "computer.acknowledge: unknown value 'sometimes'"),
    ],
)
def test_incompatible_settings_are_usage_errors(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    keys = dict(keys)
    plain = {"kind": "model", "reply": "computer", "observation": {"kinds": ["screenshot"]}}
    plain |= {"endpoint": {"api": keys.pop("api", "responses")}}
    (tmp_path / "mine.yaml").write_text(json.dumps({**plain, **keys}))
    with pytest.raises(UsageError) as raised:
        resolve_agent("mine", [tmp_path])
    assert message in str(raised.value)


# --- with the providers' own packages ---------------------------------------------------------------------------------

SCRIPTS: dict[str, list[list[Any]]] = {
    "plain": [["click"], ["click"], []],
    "two calls": [["click", "click"], []],
    "unknown": [["unknown"], ["click"], []],
    "unknown twice": [["unknown"], ["unknown"], ["click"], []],
}


@pytest.mark.exhaustive
@EACH
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=list(SCRIPTS))
@pytest.mark.parametrize("after", ["well", "no effect"])
def test_requests_are_accepted_by_the_providers_types(
    tmp_path: Path, api: str, script: list[list[Any]], after: str
) -> None:
    calls = {"click": CLICK[api], "unknown": UNKNOWN[api]}
    answers = [
        Answer(raw=json.dumps(reply(api, *(calls[each] for each in step), text="" if step else "done")).encode())
        for step in script
    ]
    error = "It is covered." if after == "no effect" else ""
    with model_server(answers) as server:
        agent = agent_of(tmp_path, api, url=server.url, endpoint={"timeout": 60}, invalid_retries=0)
        found = act(agent, screen())
        for _ in range(4):
            if found.action == Stop("done"):
                break
            found = act(agent, screen(error=error))
        assert found.action == Stop("done")
        for body in server.bodies:
            _check(api, body)
        if api == "anthropic":
            assert all("anthropic-beta" not in {name.lower() for name in each} for each in server.headers)


@pytest.mark.exhaustive
def test_beta_header_is_sent(tmp_path: Path) -> None:
    answer = Answer(raw=json.dumps(reply("anthropic", ("computer", {"action": "wait", "duration": 2}))).encode())
    with model_server([answer]) as server:
        keys = {"computer": {"tool": "computer_20251124"}, "endpoint": {"timeout": 60}}
        assert act(agent_of(tmp_path, "anthropic", url=server.url, **keys), screen()).action == Wait(2)
        headers = {name.lower(): value for name, value in server.headers[0].items()}
    assert headers["anthropic-beta"] == "computer-use-2025-11-24"


def _check(api: str, body: dict[str, Any]) -> None:
    if api != "responses":
        from tests.native_apis import check_body

        check_body(api, body)
        return
    from openai.types.responses import ResponseInputParam
    from openai.types.responses.tool_param import ToolParam
    from pydantic import TypeAdapter

    # An action that the installed types do not know goes back to the endpoint that sent it, as received.
    known = json.loads(json.dumps(body["input"]).replace('"teleport"', '"wait"'))
    TypeAdapter(ResponseInputParam).validate_python(known)
    for tool in body["tools"]:
        TypeAdapter(ToolParam).validate_python(tool)
