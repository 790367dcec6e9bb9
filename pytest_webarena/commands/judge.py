"""``webarena judge measure``: measure a judge with labelled answers before it is trusted."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pytest_webarena.errors import JudgeError, UsageError
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm_judge.answers import SHIPPED_ANSWERS, SHIPPED_FORMULAS, SHIPPED_RULES, read_answers, set_of
from pytest_webarena.llm_judge.config import DEFAULT_BAR, JudgeSettings, endpoint, temperature
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.llm_judge.measuring import Measurement, measure, store_measurement
from pytest_webarena.llm_judge.report import render
from pytest_webarena.llm_judge.rubric_answers import SHIPPED_RUBRICS, read_marked
from pytest_webarena.llm_judge.rubric_measuring import RubricMeasurement, measure_rubrics
from pytest_webarena.llm_judge.rubric_report import render_rubrics

__all__ = ["add_arguments", "add_judge_arguments", "judge_settings", "run"]

_SETS = {"answers": SHIPPED_ANSWERS, "formulas": SHIPPED_FORMULAS, "rubrics": SHIPPED_RUBRICS, "rules": SHIPPED_RULES}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments. Those that name a judge have the names of pytest's options."""
    parser.add_argument("model", metavar="MODEL", help="name of the model, as its endpoint knows it")
    parser.add_argument(
        "--judge-prompt", default="teacher", metavar="NAME", help="built-in, .j2 file or upstream (teacher)"
    )
    add_judge_arguments(parser)
    parser.add_argument(
        "--judge-min-kappa",
        type=float,
        default=DEFAULT_BAR,
        metavar="KAPPA",
        help=f"exit with 1 below it ({DEFAULT_BAR})",
    )
    parser.add_argument(
        "--set",
        choices=_SETS,
        default="answers",
        dest="labelled",
        help="what to measure: answers (default), equality, rubrics, rules",
    )
    parser.add_argument("--answers", type=Path, metavar="FILE", help="labelled answers of your own, of that kind")
    parser.add_argument("--workers", type=int, default=8, metavar="N", help="requests at a time (default: 8)")
    parser.add_argument("--prices", type=Path, metavar="FILE", help="your price table, as for pytest")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=run)


def add_judge_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for a judge's endpoint, with the names of pytest's options."""
    parser.add_argument("--judge-url", default="", metavar="URL", help="endpoint (default: OPENAI_BASE_URL)")
    parser.add_argument(
        "--judge-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key, or none"
    )
    parser.add_argument("--judge-temperature", default="0", metavar="T", help="0; none leaves it to the endpoint")


def judge_settings(options: argparse.Namespace) -> JudgeSettings:
    """Return the judge that the arguments name."""
    return JudgeSettings(
        model=options.model,
        prompt=getattr(options, "judge_prompt", "teacher"),
        endpoint=endpoint(options.judge_url, options.judge_key_env),
        temperature=temperature(options.judge_temperature),
        bar=getattr(options, "judge_min_kappa", DEFAULT_BAR),
    )


def run(options: argparse.Namespace) -> int:
    """Measure the judge, store and print the result. Returns 0 when it reaches the minimum kappa, else 1."""
    settings = judge_settings(options)
    if options.workers < 1:
        raise UsageError(f"--workers: expected at least 1, found {options.workers}")
    models = ModelSettings(prices=options.prices)
    settings.check(models, where="")
    shipped = _SETS[options.labelled]
    file = shipped if options.answers is None or options.answers.resolve() == shipped else options.answers
    judge = Judge(settings, models)
    try:
        if options.labelled == "rubrics":
            measurement: Measurement | RubricMeasurement = measure_rubrics(
                judge, read_marked(file), workers=options.workers
            )
        else:
            answers = read_answers(file)
            other = set_of(answers.answers[0].question.kind)
            if other != options.labelled:
                raise UsageError(f"--answers {file}: expected a set of {options.labelled}; it fits --set={other}")
            measurement = measure(judge, answers, workers=options.workers)
    except JudgeError as error:
        raise UsageError(
            f"{error}".removeprefix("judge: ").removesuffix(
                "; the trial is recorded and can be judged again with --rescore"
            )
        ) from None
    if options.format == "json":
        print(json.dumps(measurement.to_json(), indent=1))
    elif isinstance(measurement, RubricMeasurement):
        print(render_rubrics(measurement, bar=settings.bar))
    else:
        print(render(measurement, bar=settings.bar))
    if file == shipped:
        kept = store_measurement(measurement)
        print(f"\nremembered for runs with --judge={options.model}: {kept}", file=sys.stderr)
    kappa = measurement.kappa
    return 0 if kappa is not None and kappa >= settings.bar else 1
