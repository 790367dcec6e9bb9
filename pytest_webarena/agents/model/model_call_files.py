"""Keeps what was sent to a model and what it said, one file per step, for people."""

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
    """Writes ``model_calls/000.json``, … below an attempt's folder. Pictures are told of, not copied."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._calls: list[dict[str, Any]] = []

    def add(self, purpose: str, request: Request, reply: ModelReply | None, error: str = "") -> None:
        """One call."""
        told: dict[str, Any] = {
            "purpose": purpose,
            "model": request.model,
            "sampling": {name: value for name, value in asdict(request.sampling).items() if value not in (None, ())},
            "tools": [tool.name for tool in request.tools],
            "messages": _plain(request.messages),
        }
        if reply is not None:
            told["reply"] = {
                "text": reply.text,
                "tool_calls": [asdict(call) for call in reply.tool_calls],
                "refusal": reply.refusal,
                "finish": reply.finish,
                "model": reply.model,
                "usage": asdict(reply.usage),
            }
        if error:
            told["error"] = error
        self._calls.append(told)

    def write(self, what: str) -> str:
        """Write what was added since, for the step ``what``; the file's name relative to the folder, or ``""``.

        Raises `RecordingError`.
        """
        calls, self._calls = self._calls, []
        if self._folder is None or not calls:
            return ""
        name = f"model_calls/{what}.json"
        target = self._folder / name
        text = json.dumps({"schema_version": 1, "calls": scrub_plain(calls)}, indent=1, ensure_ascii=False)
        with recording(target):
            target.parent.mkdir(exist_ok=True)  # not its parents: a run that was removed stays away
            target.write_text(text, encoding="utf-8", errors="replace")
        return name


def _plain(messages: Sequence[Message]) -> list[dict[str, Any]]:
    plain = []
    for message in messages:
        told = {
            name: value
            for name, value in asdict(replace(message, images=(), items=())).items()
            if value not in ("", ())
        }
        if message.images:
            told["images"] = [f"{image.media_type}, {len(image.data)} bytes" for image in message.images]
        plain.append(told)
    return plain
