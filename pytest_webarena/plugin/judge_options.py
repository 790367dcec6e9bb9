"""Options and ini keys of the LLM judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.option_groups import Subject

if TYPE_CHECKING:
    from pytest_webarena.llm_judge.config import JudgeSettings
    from pytest_webarena.plugin.rescoring import StoredRun

__all__ = ["BAR", "JUDGE_INI", "add_judge_options", "read_judge"]

BAR = 0.8
"""Copy of `llm_judge.config.DEFAULT_BAR`, so that declaring options does not import that package."""

JUDGE_INI = (
    ("judge", "Default of --judge."),
    ("judge_prompt", "Default of --judge-prompt, a file relative to the root directory."),
    ("judge_url", "Default of --judge-url."),
    ("judge_key_env", "Default of --judge-key-env."),
    ("judge_temperature", "Default of --judge-temperature."),
    ("judge_min_kappa", "Default of --judge-min-kappa."),
    ("judge_cache", "Default of --judge-cache, relative to the root directory."),
)


def add_judge_options(group: Subject) -> None:
    """Declare the options, each with its default and unit; `JUDGE_INI` has the ini keys."""
    group.addoption(
        "--judge",
        default=None,
        metavar="MODEL",
        help="Model that judges answers which no rule can compare. none (default): such trials get no verdict and "
        "are counted; --rescore with a judge decides them later.",
    )
    group.addoption(
        "--judge-prompt",
        default=None,
        metavar="NAME",
        help="Prompt of the judge: teacher (default), a Jinja2 file, or upstream (WebArena's own, from a checkout).",
    )
    group.addoption(
        "--judge-url",
        default=None,
        metavar="URL",
        help="The judge's OpenAI-compatible endpoint (default: OPENAI_BASE_URL, else OpenAI's).",
    )
    group.addoption(
        "--judge-key-env",
        default=None,
        metavar="NAME",
        help="Environment variable with the endpoint's key; none: no key (default: OPENAI_API_KEY).",
    )
    group.addoption(
        "--judge-temperature",
        default=None,
        metavar="T",
        help="Temperature of the judge; none: not sent (default: 0).",
    )
    group.addoption(
        "--judge-min-kappa",
        default=None,
        metavar="KAPPA",
        help="Minimum Cohen's kappa that 'webarena judge measure' found. A judge below is not asked, and its "
        "checks stay undecided. 0: any judge (default: 0.8).",
    )
    group.addoption(
        "--judge-cache",
        default=None,
        metavar="DIR",
        help="Directory that caches the judge's verdicts (default: judge_replies/ in the run directory).",
    )


def read_judge(config: pytest.Config, stored: StoredRun | None = None) -> JudgeSettings:
    """Return the run's judge; without ``--judge-cache`` the run chooses the place of the cache. Raises `UsageError`.

    ``stored`` is the run to rescore; its own judge is used unless another one, or ``none``, is given.
    """
    from pytest_webarena.llm_judge.config import JudgeSettings, endpoint, temperature

    chosen = {name: config.getoption(f"--{name.replace('_', '-')}") for name, _ in JUDGE_INI}
    kept = {name: str(config.getini(f"webarena_{name}")).strip() for name, _ in JUDGE_INI}
    values = {name: chosen[name] or kept[name] for name, _ in JUDGE_INI}
    model, prompt, cache = values["judge"], values["judge_prompt"] or "teacher", values["judge_cache"]
    if not chosen["judge_prompt"] and (config.rootpath / prompt).is_file():
        prompt = str(config.rootpath / prompt)
    settings = JudgeSettings(
        model="" if model == "none" else model,
        prompt=prompt,
        endpoint=endpoint(values["judge_url"], values["judge_key_env"] or "OPENAI_API_KEY"),
        temperature=temperature(values["judge_temperature"] or "0"),
        bar=_bar(values["judge_min_kappa"]),
        cache=(Path(cache).absolute() if chosen["judge_cache"] else config.rootpath / cache) if cache else None,
    )
    return settings if stored is None else stored.judged_by(settings, none=model == "none")


def _bar(text: str) -> float:
    from pytest_webarena.llm_judge.config import DEFAULT_BAR

    try:
        value = float(text) if text else DEFAULT_BAR
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"--judge-min-kappa: expected a kappa from 0 to 1, found {text!r}")
    return value
