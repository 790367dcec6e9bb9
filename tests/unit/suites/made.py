"""Invented rows in the published formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["raw", "verified", "write"]


def raw(number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a row in WebArena's format. ``eval__x=…`` changes a key of its ``eval``."""
    row: dict[str, Any] = {
        "sites": ["shopping"],
        "task_id": number,
        "require_login": True,
        "storage_state": "./.auth/shopping_state.json",
        "start_url": "__SHOPPING__",
        "geolocation": None,
        "intent_template": "How much is {{thing}}?",
        "intent_template_id": 7,
        "instantiation_dict": {"thing": "tea"},
        "intent": "How much is tea?",
        "require_reset": False,
        "eval": {
            "eval_types": ["string_match"],
            "reference_answers": {"must_include": ["4.50"]},
            "reference_url": "",
            "program_html": [],
            "string_note": "",
            "reference_answer_raw_annotation": "4.50",
        },
    }
    for name, value in changes.items():
        inner = name.startswith("eval__")
        (row["eval"] if inner else row)[name.removeprefix("eval__")] = value
    return row


def verified(number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a row in WebArena-Verified's format."""
    return {
        "sites": ["shopping"],
        "task_id": number,
        "intent_template_id": 7,
        "start_urls": ["__SHOPPING__/tea"],
        "intent": "Get the price of tea",
        "intent_template": "Get the price of {{thing}}",
        "instantiation_dict": {"thing": "tea"},
        "eval": [
            {
                "evaluator": "AgentResponseEvaluator",
                "results_schema": {"type": "array", "items": {"type": "number"}},
                "expected": {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": [4.5]},
            }
        ],
        "revision": 2,
        **changes,
    }


def write(folder: Path, *rows: Any, name: str = "mine.json") -> Path:
    """Write a file of rows."""
    path = folder / name
    path.write_text(json.dumps(list(rows), indent=2), encoding="utf-8")
    return path
