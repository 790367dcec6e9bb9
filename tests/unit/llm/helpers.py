"""A fake clock that advances only by waiting, and a client for a scripted endpoint."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from pytest_webarena.llm.client import ModelClient
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Message, Request
from tests.model_server import ModelServer

PRICES = "models: {priced: {input: 10, output: 100}}\n"
"""Dollars per million: a reply of 1000 + 100 tokens costs two cents."""


class FakeClock:
    """Starts at 1000 s."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


def client_of(
    server: ModelServer,
    *,
    clock: FakeClock | None = None,
    settings: ModelSettings | None = None,
    trial: str = "t",
    worker: str = "main",
    **endpoint: Any,
) -> ModelClient:
    return ModelClient(
        Endpoint(**{"base_url": server.url, "key_env": None, "timeout": 5.0, **endpoint}),
        settings or ModelSettings(),
        trial=trial,
        worker=worker,
        clock=clock or FakeClock(),
        chance=random.Random(1),
    )


def question(text: str = "What now?", model: str = "priced", **rest: Any) -> Request:
    return Request(model=model, messages=(Message(role="user", text=text),), **rest)


def prices(folder: Path) -> Path:
    file = folder / "prices.yaml"
    file.write_text(PRICES)
    return file
