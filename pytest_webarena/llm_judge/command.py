"""``webarena judge``: measure a judge with labelled answers before it is trusted."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pytest_webarena.errors import JudgeError, UsageError
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm_judge.answers import SHIPPED_ANSWERS, read_answers
from pytest_webarena.llm_judge.config import DEFAULT_BAR, JudgeSettings, endpoint, temperature
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.llm_judge.measuring import keep_measurement, measure
from pytest_webarena.llm_judge.report import render

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments; those that name a judge are called as pytest calls them."""
    parser.add_argument("model", metavar="MODEL", help="name of the model, as its endpoint knows it")
    parser.add_argument("--judge-prompt", default="teacher", metavar="NAME", help="built-in or .j2 file (teacher)")
    parser.add_argument("--judge-url", default="", metavar="URL", help="endpoint (default: OPENAI_BASE_URL)")
    parser.add_argument(
        "--judge-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key, or none"
    )
    parser.add_argument("--judge-temperature", default="0", metavar="T", help="0; none leaves it to the endpoint")
    parser.add_argument(
        "--judge-bar", type=float, default=DEFAULT_BAR, metavar="KAPPA", help=f"exit with 1 below it ({DEFAULT_BAR})"
    )
    parser.add_argument(
        "--answers", type=Path, default=SHIPPED_ANSWERS, metavar="FILE", help="labelled answers of your own"
    )
    parser.add_argument("--workers", type=int, default=8, metavar="N", help="requests at a time (default: 8)")
    parser.add_argument("--prices", type=Path, metavar="FILE", help="your price table, as for pytest")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure, remember, report: 0 when the bar is reached, 1 when not."""
    settings = JudgeSettings(
        model=options.model,
        prompt=options.judge_prompt,
        endpoint=endpoint(options.judge_url, options.judge_key_env),
        temperature=temperature(options.judge_temperature),
        bar=options.judge_bar,
    )
    if options.workers < 1:
        raise UsageError(f"--workers: expected at least 1, found {options.workers}")
    models = ModelSettings(prices=options.prices)
    settings.check(models)
    answers = read_answers(options.answers)
    try:
        measurement = measure(Judge(settings, models), answers, workers=options.workers)
    except JudgeError as error:
        raise UsageError(
            f"{error}".removeprefix("judge: ").removesuffix(
                "; the trial is recorded and can be judged again with --rescore"
            )
        ) from None
    kappa = measurement.agreement.kappa
    if options.format == "json":
        print(json.dumps(measurement.to_json(), indent=1))
    else:
        print(render(measurement, bar=settings.bar))
    if options.answers == SHIPPED_ANSWERS or options.answers.resolve() == SHIPPED_ANSWERS:
        file = keep_measurement(measurement)
        print(f"\nremembered for runs with --judge={options.model}: {file}", file=sys.stderr)
    return 0 if kappa is not None and kappa >= settings.bar else 1
