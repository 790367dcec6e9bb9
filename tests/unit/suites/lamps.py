"""Invented tasks in the formats of Mind2Web-Live."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["COMPACT", "RAW", "compact", "node", "write"]

HOME = "https://www.lamps.test/"
FOUND = "https://www.lamps.test/find?q=red%20lamp&max=20"


def node(function: str, reference: str, url: str = FOUND, **content: Any) -> dict[str, Any]:
    """Return a node of the compact format; ``method`` is a key beside its content."""
    found: dict[str, Any] = {"match_function_name": function}
    if "method" in content:
        found["method"] = content.pop("method")
    if function.startswith("url"):
        content = {"key": "", **content}
    if function.startswith("element"):
        content = {"netloc": "lamps", **content}
    return {**found, "content": {"reference_answer": reference, **content, "url": url}}


COMPACT: dict[str, Any] = {
    "index": 7,
    "task": "On lamps, put a red lamp below 20 dollars into the basket and subscribe with a@b.example",
    "reference_task_length": 6,
    "evaluation": [
        node("url_included_match", "lamps.", HOME),
        node("url_semantic_match", "Decide whether red lamps are searched for", key="q"),
        node("url_exactly_match", "20", key="max"),
        node("element_value_included_match", "a@b", path="#letter input"),
        node("element_path_exactly_match", "#basket > button", method="selector"),
        node("final_answer_exact_match", "Lumen 3"),
        node("cache_data_included_match", "19.50"),
    ],
}
"""One task with nodes of most sorts."""

RAW: dict[str, Any] = {
    "title": COMPACT["task"],
    "steps": [
        {"href": HOME, "rewardFunction": [{"name": "url_included_match", "key": "", "required": "lamps."}]},
        {
            "href": "https://elsewhere.test/",
            "description": FOUND,
            "rewardFunction": [
                {"name": "url_semantic_match", "key": "q", "optional": "Decide whether red lamps are searched for"},
                {"name": "url_exactly_match", "key": "max"},
            ],
        },
        {"href": FOUND, "selector": "a", "value": "", "rewardFunction": []},
        {
            "href": FOUND,
            "selector": "#letter input",
            "value": "a@b.example",
            "rewardFunction": [
                {"name": "element_value_included_match", "required": "a@b"},
                {"name": "element_path_exactly_match"},
            ],
        },
        {
            "href": FOUND,
            "selector": "#basket > button",
            "description": "Puts it into the basket",
            "rewardFunction": [{"name": "element_path_exactly_match"}],
        },
        {
            "href": FOUND,
            "value": "Lumen 3",
            "rewardFunction": [
                {"name": "final_answer_exact_match"},
                {"name": "cache_data_included_match", "required": "19%2E50"},
            ],
        },
    ],
}
"""The same as recorded steps, but for its index, which is its position."""


def compact(*nodes: dict[str, Any], index: int | str = 0, **changes: Any) -> dict[str, Any]:
    """Return a compact task with these nodes."""
    return {**COMPACT, "index": index, "evaluation": list(nodes), **changes}


def write(folder: Path, *tasks: dict[str, Any], name: str = "lamps.json") -> Path:
    """Write a file of tasks."""
    path = folder / name
    path.write_text(json.dumps(list(tasks), indent=1))
    return path
