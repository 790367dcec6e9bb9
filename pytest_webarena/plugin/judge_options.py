"""Options and ini keys of the LLM judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from pytest_webarena.llm_judge.config import JudgeSettings
    from pytest_webarena.plugin.rescoring import StoredRun

__all__ = ["BAR", "JUDGE_INI", "add_judge_options", "read_judge"]

BAR = 0.8
"""`llm_judge.config.DEFAULT_BAR`, once more: whoever only declares options must not load that room."""

JUDGE_INI = (
    ("judge", "Default of --judge."),
    ("judge_prompt", "Default of --judge-prompt, a file relative to the root directory."),
    ("judge_url", "Default of --judge-url."),
    ("judge_key_env", "Default of --judge-key-env."),
    ("judge_temperature", "Default of --judge-temperature."),
    ("judge_min_kappa", "Default of --judge-min-kappa."),
    ("judge_cache", "Default of --judge-cache, relative to the root directory."),
)


def add_judge_options(group: pytest.OptionGroup) -> None:
    """Declare the options, each with its default and unit; `JUDGE_INI` has the ini keys."""
    group.addoption(
        "--judge",
        default=None,
        metavar="MODEL",
        help="Model that judges answers which can't be compared letter by letter. none (default): such tasks get no "
        "verdict, and the summary counts them; --rescore with a judge gives it later.",
    )
    group.addoption(
        "--judge-prompt",
        default=None,
        metavar="NAME",
        help="How the judge is asked: a built-in (teacher), a Jinja2 file, or upstream for "
        "WebArena's own words, from a checkout (default: teacher).",
    )
    group.addoption(
        "--judge-url",
        default=None,
        metavar="URL",
        help="The judge's OpenAI-compatible endpoint (default: OPENAI_BASE_URL, else OpenAI's own).",
    )
    group.addoption(
        "--judge-key-env",
        default=None,
        metavar="NAME",
        help="Environment variable with the endpoint's key, or none for an endpoint without (default: OPENAI_API_KEY).",
    )
    group.addoption(
        "--judge-temperature",
        default=None,
        metavar="T",
        help="The judge's temperature; none leaves it to models that refuse one (default: 0).",
    )
    group.addoption(
        "--judge-min-kappa",
        default=None,
        metavar="KAPPA",
        help="A judge that 'webarena judge measure' measured below this Cohen's kappa is not asked: what needs it is "
        f"inconclusive (default: {BAR:g}; 0: any judge is asked).",
    )
    group.addoption(
        "--judge-cache",
        default=None,
        metavar="DIR",
        help="Where the judge's verdicts are kept, by what was asked of whom (default: the run directory's judged/).",
    )


def read_judge(config: pytest.Config, stored: StoredRun | None = None) -> JudgeSettings:
    """The run's judge; its cache is the run's to place, unless asked for. `UsageError` for what can't be used.

    ``stored`` is the run that is judged again: its own judge is asked unless another one is named, or ``none``.
    """
    from pytest_webarena.llm_judge.config import JudgeSettings, endpoint, temperature

    told = {name: config.getoption(f"--{name.replace('_', '-')}") for name, _ in JUDGE_INI}
    kept = {name: str(config.getini(f"webarena_{name}")).strip() for name, _ in JUDGE_INI}
    values = {name: told[name] or kept[name] for name, _ in JUDGE_INI}
    model, prompt, cache = values["judge"], values["judge_prompt"] or "teacher", values["judge_cache"]
    if not told["judge_prompt"] and (config.rootpath / prompt).is_file():
        prompt = str(config.rootpath / prompt)
    settings = JudgeSettings(
        model="" if model == "none" else model,
        prompt=prompt,
        endpoint=endpoint(values["judge_url"], values["judge_key_env"] or "OPENAI_API_KEY"),
        temperature=temperature(values["judge_temperature"] or "0"),
        bar=_bar(values["judge_min_kappa"]),
        cache=(Path(cache).absolute() if told["judge_cache"] else config.rootpath / cache) if cache else None,
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
