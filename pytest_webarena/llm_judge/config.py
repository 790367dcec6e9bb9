"""Which judge a run has: model, prompt, temperature, where it is reached, and how good it has to be."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from pytest_webarena.checks.judge_protocol import QuestionKind
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.prices import read_prices

if TYPE_CHECKING:
    from pytest_webarena.llm_judge.upstream import UpstreamPrompt

__all__ = [
    "BUILTIN_PROMPTS",
    "DEFAULT_BAR",
    "JudgeIdentity",
    "JudgeSettings",
    "endpoint",
    "placed",
    "prompt_file",
    "temperature",
]

_DIRECTORY = Path(__file__).parent / "prompts"
BUILTIN_PROMPTS = ("teacher",)
"""``teacher``: a grading assistant, the role that the WebArena paper gives its judge (section 3.2)."""

_OF_KINDS: dict[QuestionKind, str] = {"formula": "formula", "rubric": "rubric", "rule": "rule"}
"""Kinds of question that have a prompt of their own; ``--judge-prompt`` is for the others."""

DEFAULT_BAR = 0.8
"""Cohen's kappa from which on a measured judge counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeIdentity:
    """What decides a judge's replies, as far as a harness can pin it."""

    model: str
    prompt: str
    """``name@hash`` of the prompt file."""
    temperature: float | None
    """None: left to the endpoint."""

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits: equal for judges whose measurements and verdicts are interchangeable."""
        text = json.dumps([self.model, self.prompt, self.temperature])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        warmth = "" if self.temperature == 0 else f", temperature {self.temperature}"
        return f"{self.model} (prompt {self.prompt}{warmth})"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How a run's judge is asked. No model: nothing is asked, and what needs a judge stays open."""

    model: str = ""
    prompt: str = "teacher"
    """A built-in name, the path of a Jinja2 file, or ``upstream`` (``upstream:FOLDER``) for WebArena's own."""
    endpoint: Endpoint = field(default_factory=Endpoint)
    temperature: float | None = 0.0
    max_tokens: int = 1024
    """Of one reply."""
    asks: int = 3
    """How often one question is put before an unreadable judge is an error."""
    bar: float = DEFAULT_BAR
    """Kappa that a measured judge has to reach; 0 switches the bar off."""
    cache: Path | None = None
    """Directory of the verdict cache; None: no cache."""

    def file(self, kind: QuestionKind = "equivalent") -> Path:
        """The prompt that a kind of question is put with."""
        return _DIRECTORY / f"{_OF_KINDS[kind]}.j2" if kind in _OF_KINDS else prompt_file(self.prompt)

    def upstream(self, kind: QuestionKind) -> UpstreamPrompt | None:
        """WebArena's own words for a kind of question, where they were asked for and there are any; else None."""
        from pytest_webarena.llm_judge.upstream import UpstreamPrompt, is_upstream  # only where there is a judge

        return None if kind in _OF_KINDS or not is_upstream(self.prompt) else UpstreamPrompt.find(self.prompt, kind)

    def identity(self, kind: QuestionKind = "equivalent") -> JudgeIdentity:
        """The judge's name and version, for a kind of question. `UsageError` when the prompt can't be read."""
        if (own := self.upstream(kind)) is not None:
            return JudgeIdentity(model=self.model, prompt=own.version, temperature=self.temperature)
        file = self.file(kind)
        try:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
        except OSError as error:
            raise UsageError(f"--judge-prompt: expected a readable file at {file}: {error.strerror}") from None
        return JudgeIdentity(model=self.model, prompt=f"{file.stem}@{digest}", temperature=self.temperature)

    def read(self) -> None:
        """`UsageError` when the words of a kind of question can't be read: every report tells of them."""
        if self.model:
            for kind in get_args(QuestionKind):
                self.identity(kind)

    def check(self, models: ModelSettings) -> None:
        """`UsageError` when the judge can't be asked as things are: found before anything runs."""
        if not self.model:
            return
        self.read()
        if importlib.util.find_spec("openai") is None:
            raise UsageError("--judge: expected the package 'openai', it is not installed; pip install openai")
        try:
            _ = self.endpoint.url
            self.endpoint.key()
        except UsageError as error:
            told = str(error).partition("; for an endpoint without keys")[0]
            raise UsageError(f"--judge: {told}; an endpoint without keys wants --judge-key-env=none") from None
        prices = read_prices(models.prices)
        if models.max_cost is not None and prices.price(self.model, url=self.endpoint.url) is None:
            raise UsageError(
                f"--judge: expected a price for model {self.model!r}, because --max-cost is to be held; "
                "add it to a table and name that with --prices"
            )


def placed(settings: JudgeSettings, run_dir: Path) -> JudgeSettings:
    """``settings`` with its cache in the run's folder, unless it was placed elsewhere: judging again is then free."""
    return settings if settings.cache is not None else replace(settings, cache=run_dir / "judged")


def prompt_file(name: str) -> Path:
    """The file of a prompt: a built-in one's, or the one named. `UsageError` when it is neither."""
    if name in BUILTIN_PROMPTS:
        return _DIRECTORY / f"{name}.j2"
    path = Path(name)
    if path.suffix in (".j2", ".jinja", ".jinja2", ".txt"):
        return path
    raise UsageError(f"--judge-prompt: expected a .j2 file, upstream or a built-in; {closest(name, BUILTIN_PROMPTS)}")


def endpoint(url: str, key_env: str) -> Endpoint:
    """Where a judge is reached; a key variable of ``none`` means: without a key."""
    return Endpoint(base_url=url, key_env=None if key_env == "none" else key_env)


def temperature(text: str) -> float | None:
    """A number from 0, or ``none``. `UsageError` for anything else."""
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise UsageError(f"--judge-temperature: expected a number from 0 or none, found {text!r}")
    return value
