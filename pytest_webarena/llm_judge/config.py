"""Settings of a run's judge: model, prompt, temperature, endpoint and the kappa that it has to reach."""

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
"""Names of built-in prompts.

``teacher`` is a grading assistant, the role that the WebArena paper gives its judge (section 3.2).
"""

_OF_KINDS: dict[QuestionKind, str] = {"formula": "formula", "rubric": "rubric", "rule": "rule"}
"""Prompts of kinds of question that have their own; ``--judge-prompt`` applies to the others."""

DEFAULT_BAR = 0.8
"""Cohen's kappa that a measured judge needs by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeIdentity:
    """What determines a judge's replies, as far as a harness can pin it."""

    model: str
    prompt: str
    """``name@hash`` of the prompt file."""
    temperature: float | None
    """Temperature; None leaves it to the endpoint."""

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits, equal for judges whose measurements and verdicts are interchangeable."""
        text = json.dumps([self.model, self.prompt, self.temperature])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        warmth = "" if self.temperature == 0 else f", temperature {self.temperature}"
        return f"{self.model} (prompt {self.prompt}{warmth})"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Settings of a run's judge. Without a model nothing is asked, and checks that need a judge stay undecided."""

    model: str = ""
    prompt: str = "teacher"
    """A built-in name, the path of a Jinja2 file, or ``upstream`` (``upstream:FOLDER``) for WebArena's own prompt."""
    endpoint: Endpoint = field(default_factory=Endpoint)
    temperature: float | None = 0.0
    max_tokens: int = 1024
    """Token limit of one reply."""
    asks: int = 3
    """Number of times that a question is asked before unreadable replies are an error."""
    bar: float = DEFAULT_BAR
    """Kappa that a measured judge has to reach; 0 disables the bar."""
    cache: Path | None = None
    """Directory of the verdict cache; None: no cache."""

    def file(self, kind: QuestionKind = "equivalent") -> Path:
        """Return the prompt file for a kind of question."""
        return _DIRECTORY / f"{_OF_KINDS[kind]}.j2" if kind in _OF_KINDS else prompt_file(self.prompt)

    def upstream(self, kind: QuestionKind) -> UpstreamPrompt | None:
        """Return WebArena's own prompt for a kind of question, if it was requested and exists; else None."""
        from pytest_webarena.llm_judge.upstream import UpstreamPrompt, is_upstream  # only where there is a judge

        return None if kind in _OF_KINDS or not is_upstream(self.prompt) else UpstreamPrompt.find(self.prompt, kind)

    def identity(self, kind: QuestionKind = "equivalent") -> JudgeIdentity:
        """Return the judge's identity for a kind of question. Raises `UsageError` when the prompt can't be read."""
        if (own := self.upstream(kind)) is not None:
            return JudgeIdentity(model=self.model, prompt=own.version, temperature=self.temperature)
        file = self.file(kind)
        try:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
        except OSError as error:
            raise UsageError(
                f"--judge-prompt: expected a readable file at {file}, found {(error.strerror or 'none').lower()}"
            ) from None
        return JudgeIdentity(model=self.model, prompt=f"{file.stem}@{digest}", temperature=self.temperature)

    def read(self) -> None:
        """Read the prompts of all kinds of question, because every report names them.

        Raises `UsageError` when one can't be read.
        """
        if self.model:
            for kind in get_args(QuestionKind):
                self.identity(kind)

    def check(self, models: ModelSettings, where: str = "--judge: ") -> None:
        """Raise `UsageError` if the judge can't be asked, before anything runs. Messages begin with ``where``."""
        if not self.model:
            return
        self.read()
        if importlib.util.find_spec("openai") is None:
            raise UsageError(f"{where}expected the package 'openai', it is not installed; pip install openai")
        try:
            _ = self.endpoint.url
            self.endpoint.key()
        except UsageError as error:
            raise UsageError(f"{where}{error}") from None
        prices = read_prices(models.prices)
        if models.max_cost is not None and prices.price(self.model, url=self.endpoint.url) is None:
            raise UsageError(
                f"{where}expected a price for model {self.model!r}, because --max-cost limits the run; "
                "add it to a table and name that with --prices"
            )


def placed(settings: JudgeSettings, run_dir: Path) -> JudgeSettings:
    """Return ``settings`` with the cache in the run's folder unless another was chosen.

    Judging the run again is then free.
    """
    return settings if settings.cache is not None else replace(settings, cache=run_dir / "judge_replies")


def prompt_file(name: str) -> Path:
    """Return the file of a built-in prompt or of the named one. Raises `UsageError` when ``name`` is neither."""
    if name in BUILTIN_PROMPTS:
        return _DIRECTORY / f"{name}.j2"
    path = Path(name)
    if path.suffix in (".j2", ".jinja", ".jinja2", ".txt"):
        return path
    raise UsageError(f"--judge-prompt: expected a .j2 file, upstream or a built-in; {closest(name, BUILTIN_PROMPTS)}")


def endpoint(url: str, key_env: str) -> Endpoint:
    """Return the endpoint of a judge; a key variable of ``none`` means that it needs no key."""
    return Endpoint.from_options(url, key_env, "--judge-key-env")


def temperature(text: str) -> float | None:
    """Parse a temperature: a number from 0, or ``none``. Raises `UsageError` for anything else."""
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise UsageError(f"--judge-temperature: expected a number from 0 or none, found {text!r}")
    return value
