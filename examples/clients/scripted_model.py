"""A model that is none: knows the one task here, and says to each client in its own form what is to be done next.

It reads the ids of elements from what the client shows it, as a model would.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.model_server import Answer, call, say

__all__ = ["reply"]

TEXT = "Enamel, at most 60 crowns."


def reply(body: dict[str, Any]) -> Answer:
    """The next word, by the form in which the client asks."""
    if "tools" in body:
        return _with_tools(body, {tool["function"]["name"] for tool in body["tools"]})
    if "input" in body:
        return _stagehand(json.dumps(body["input"]))
    if "response_format" in body:
        return _browser_use(_message_text(body["messages"][-1]))
    return _browsergym(_message_text(body["messages"][-1]))


def _with_tools(body: dict[str, Any], names: set[str]) -> Answer:
    """Playwright's MCP server, or that of Chrome DevTools: look, fill, look again, save, answer."""
    tool_messages = [message for message in body["messages"] if message["role"] == "tool"]
    here = _message_text(tool_messages[-1]) if tool_messages else ""
    look = "browser_snapshot" if "browser_snapshot" in names else "take_snapshot"
    if len(tool_messages) in (0, 2):
        return call(look, **({"pageId": 1} if look == "take_snapshot" else {}))
    if len(tool_messages) == 1 and look == "browser_snapshot":
        return call("browser_type", element="Text", target=_found(r'textbox "Text".*?\[ref=(\w+)\]', here), text=TEXT)
    if len(tool_messages) == 1:
        return call("fill", pageId=1, uid=_found(r'uid=(\w+) textbox "Text"', here), value=TEXT)
    if len(tool_messages) == 3 and look == "browser_snapshot":
        return call("browser_click", element="Save", target=_found(r'button "Save note".*?\[ref=(\w+)\]', here))
    if len(tool_messages) == 3:
        return call("click", pageId=1, uid=_found(r'uid=(\w+) button "Save note"', here))
    return say("The note is called Kettle.")


def _stagehand(text: str) -> Answer:
    if "into the field Text" in text:
        found, method, arguments = _found(r"\[(\d+-\d+)\] textbox: Text", text), "fill", [TEXT]
    else:
        found, method, arguments = _found(r"\[(\d+-\d+)\] button: Save note", text), "click", []
    action = {"elementId": found, "description": "what was asked for", "method": method, "arguments": arguments}
    return say(json.dumps({"action": action, "twoStep": False}))


def _browser_use(text: str) -> Answer:
    text = text.partition("Interactive elements")[2]
    if "<textarea" in text:
        actions: list[dict[str, Any]] = [
            {"input": {"index": int(_found(r"\[(\d+)\]<textarea", text)), "text": TEXT, "clear": True}},
            {"click": {"index": int(_found(r"\[(\d+)\]<button[^>]*/>\s*Save note", text))}},
        ]
    else:
        actions = [{"done": {"text": "The note is called Kettle.", "success": True}}]
    thoughts = {"thinking": "…", "evaluation_previous_goal": "…", "memory": "…", "next_goal": "…"}
    return say(json.dumps({**thoughts, "action": actions}))


def _browsergym(text: str) -> Answer:
    page = text.partition("# Page")[2].partition("# Last error")[0]
    if "Save note" not in page:
        return say('send_msg_to_user("The note is called Kettle.")')
    if TEXT in page:
        bid = _found(r"\[(\w+)\] button 'Save note'", page)
        return say(f"click('{bid}')")
    bid = _found(r"\[(\w+)\] textbox 'Text'", page)
    return say(f"fill('{bid}', '{TEXT}')")


def _message_text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else "0"  # there is none: the client says so
