"""Judges over a scripted endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_webarena.checks.judge_protocol import Question, QuestionKind
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.retries import RetryPolicy
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import Judge
from tests.model_server import ModelServer

__all__ = ["judge_at", "question"]


def judge_at(
    server: ModelServer, *, models: ModelSettings | None = None, cache: Path | None = None, **settings: Any
) -> Judge:
    """A judge whose model is the server."""
    endpoint = Endpoint(base_url=server.url, key_env=None, timeout=30.0, retries=RetryPolicy(attempts=1))
    return Judge(JudgeSettings(**{"model": "priced", "endpoint": endpoint, "cache": cache, **settings}), models)


def question(answer: str = "it takes 5 minutes", kind: QuestionKind = "equivalent") -> Question:
    return Question(kind=kind, intent="How long is the walk?", reference="five minutes", answer=answer)
