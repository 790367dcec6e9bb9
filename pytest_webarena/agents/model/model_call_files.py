"""Stores prompts and replies of model calls for inspection, one file per step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pytest_webarena.errors import recording
from pytest_webarena.llm.messages import Message, ModelReply, Request
from pytest_webarena.secrets import scrub_plain

__all__ = ["ModelCallFiles"]


class ModelCallFiles:
    """Writes ``model_calls/000.json``, … in an attempt's folder. Images are listed, not copied."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._calls: list[dict[str, Any]] = []

    def add(self, purpose: str, request: Request, reply: ModelReply | None, error: str = "") -> None:
        """Add one call."""
        record: dict[str, Any] = {
            "purpose": purpose,
            "model": request.model,
            "sampling": {name: value for name, value in asdict(request.sampling).items() if value not in (None, ())},
            "tools": [tool.name for tool in request.tools],
            "messages": _plain(request.messages),
        }
        if reply is not None:
            record["reply"] = {
                "text": reply.text,
                **({"thought": reply.thought} if reply.thought else {}),
                "tool_calls": [asdict(call) for call in reply.tool_calls],
                "refusal": reply.refusal,
                "finish": reply.finish,
                "model": reply.model,
                "usage": asdict(reply.usage),
            }
        if error:
            record["error"] = error
        self._calls.append(record)

    def write(self, what: str) -> str:
        """Write the calls added since the last write, for the step ``what``. Returns the file's name relative to the
        folder, or ``""``.

        Raises `RecordingError`.
        """
        calls, self._calls = self._calls, []
        if self._folder is None or not calls:
            return ""
        name = f"model_calls/{what}.json"
        target = self._folder / name
        text = json.dumps({"schema_version": 1, "calls": scrub_plain(calls)}, indent=1, ensure_ascii=False)
        with recording(target):
            target.parent.mkdir(exist_ok=True)  # without its parents, so that a removed run is not recreated
            target.write_text(text, encoding="utf-8", errors="replace")
        return name


def _plain(messages: Sequence[Message]) -> list[dict[str, Any]]:
    plain = []
    for message in messages:
        record = {
            name: value
            for name, value in asdict(replace(message, images=(), items=())).items()
            if value not in ("", ())
        }
        if message.images:
            record["images"] = [f"{image.media_type}, {len(image.data)} bytes" for image in message.images]
        plain.append(record)
    return plain
