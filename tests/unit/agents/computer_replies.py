"""Replies with calls of computer-use tools in the JSON of three APIs, and an endpoint without HTTP that gives them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from pytest_webarena.browser.observation import Observation
from tests.unit.agents.model_agents import maker, page

__all__ = ["APIS", "CLICK", "UNKNOWN", "agent_of", "images", "picture", "reply", "results", "screen", "scripted"]

APIS = ("responses", "anthropic", "google")
Call = tuple[str, dict[str, Any]]

CLICK: dict[str, Call] = {
    "responses": ("computer", {"actions": [{"type": "click", "button": "left", "x": 100, "y": 50}]}),
    "anthropic": ("left_click", {"coordinate": [100, 50]}),
    "google": ("click", {"x": 100, "y": 100, "intent": "Open the cart."}),
}
"""A click on (100, 50) of a screen of 1000 by 500 pixels."""
UNKNOWN: dict[str, Call] = {
    "responses": ("computer", {"actions": [{"type": "teleport"}]}),
    "anthropic": ("teleport", {}),
    "google": ("teleport", {}),
}


def reply(api: str, *calls: Call, text: str = "", cut: bool = False) -> dict[str, Any]:
    """Return an answer of 1000 + 100 tokens."""
    if api == "anthropic":
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        for number, (name, values) in enumerate(calls):
            toolset = {} if name == "computer" else {"toolset_name": "computer"}
            blocks.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": values, **toolset})
        stop = "max_tokens" if cut else "tool_use" if calls else "end_turn"
        usage = {"input_tokens": 1000, "output_tokens": 100}
        whole = {"id": "m", "type": "message", "role": "assistant", "stop_sequence": None, "stop_reason": stop}
        return {**whole, "model": "scripted-1", "content": blocks, "usage": usage}
    if api == "google":
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        parts += [{"functionCall": {"name": name, "args": values}} for name, values in calls]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "MAX_TOKENS" if cut else "STOP"}
        return {
            "modelVersion": "scripted-1",
            "candidates": [candidate],
            "usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": 100, "totalTokenCount": 1100},
        }
    items: list[dict[str, Any]] = []
    for number, (_, values) in enumerate(calls):
        call = {"type": "computer_call", "id": f"i{number}", "call_id": f"c{number}", "status": "completed"}
        items.append({**call, "pending_safety_checks": values.get("checks", []), "actions": values.get("actions")})
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        items.append({"type": "message", "id": "m", "status": "completed", "role": "assistant", "content": content})
    whole = {"id": "r", "object": "response", "model": "scripted-1", "status": "incomplete" if cut else "completed"}
    if cut:
        whole["incomplete_details"] = {"reason": "max_output_tokens"}  # type: ignore[assignment]
    return {**whole, "output": items, "usage": {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}}


def scripted(monkeypatch: pytest.MonkeyPatch, answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answer requests without HTTP, the last answer for ever; return the list of their bodies."""
    bodies: list[dict[str, Any]] = []

    def send(endpoint: Any, body: Any, *, timeout: float, now: Any) -> dict[str, Any]:
        bodies.append(json.loads(json.dumps(body)))
        return answers[min(len(bodies), len(answers)) - 1]

    monkeypatch.setattr("pytest_webarena.llm.client.send", send)
    return bodies


def agent_of(tmp_path: Path, api: str, url: str = "http://127.0.0.1:9/v1", **keys: Any) -> Any:
    """Return a computer-use agent with a chat."""
    keys = {"invalid_retries": 1, "history": {"policy": "chat", "pages": 9, "images": 2}, **keys}
    endpoint = {"api": api, **keys.pop("endpoint", {})}
    make = maker(tmp_path)
    server: Any = SimpleNamespace(url=url)
    return make(server, reply="computer", endpoint=endpoint, observation={"kinds": ["screenshot"]}, **keys)


def picture(width: int = 1000, height: int = 500, *, red: int = 0) -> bytes:
    """Return a PNG whose pixel at the top left is red and whose other ones have this share of red."""
    image = Image.new("RGB", (width, height), (red, 0, 0))
    image.putpixel((0, 0), (255, 0, 0))
    image.save(held := io.BytesIO(), "PNG")
    return held.getvalue()


def screen(
    width: int = 1000, height: int = 500, *, viewport: tuple[int, int] | None = None, **rest: Any
) -> Observation:
    """Return a page with a screenshot."""
    return page("", screenshot=picture(width, height), viewport=viewport or (width, height), **rest)


def results(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results of calls in a request, as the API has them."""
    found: list[dict[str, Any]] = []
    for item in body.get("messages") or body.get("contents") or body["input"]:
        if item.get("type") == "computer_call_output":
            found.append(item)
        for part in item.get("parts") or item.get("content") or []:
            if isinstance(part, dict) and part.get("type") == "tool_result":
                found.append(part)
            elif isinstance(part, dict) and "functionResponse" in part:
                found.append(part["functionResponse"])
    return found


def images(value: Any) -> int:
    """Return the number of screenshots in a request or in a part of it; pictures of one pixel don't count."""
    text = json.dumps(value)
    kinds = ('"type": "image"', '"inlineData"', '"type": "input_image"', '"type": "computer_screenshot"')
    return sum(map(text.count, kinds)) - text.count("iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB")
