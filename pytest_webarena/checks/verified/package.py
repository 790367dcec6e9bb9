"""Calls the evaluators of the package ``webarena-verified`` with the evidence of a trial."""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_webarena.checks.verified.form import VerifiedSpec
from pytest_webarena.evidence import Evidence
from pytest_webarena.har import entries

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["EvaluatorResult", "PackageMissing", "Result", "evaluate", "load_package"]

_LOGGERS = ("WebArena-Verified", "webarena_verified")


class PackageMissing(Exception):
    """The package can't be imported; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorResult:
    """The result of one evaluator."""

    evaluator: str
    status: str
    """``success``, ``failure`` or ``error``."""
    expected: Mapping[str, Any] = field(default_factory=dict)
    """What the evaluator expects, as in the data set."""
    why: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The package's result for a trial."""

    status: str
    """``success``, ``failure`` or ``error``. An error counts as not passed, as in the package."""
    findings: tuple[EvaluatorResult, ...] = ()
    problem: str = ""
    """Why there are no findings."""

    @property
    def passed(self) -> bool:
        return self.status == "success"


@functools.cache
def load_package() -> ModuleType:
    """Returns the package with its logging switched off. Raises `PackageMissing` when it is not installed."""
    try:
        with warnings.catch_warnings():
            # Dependencies that were not compiled at installation are compiled now, which fails under -W error.
            warnings.simplefilter("ignore")
            import webarena_verified.api as api
    except ImportError as error:
        raise PackageMissing(
            f"expected the package 'webarena-verified', it can't be imported ({error}); "
            "pip install 'pytest-webarena[suites]'"
        ) from None
    for name in _LOGGERS:  # the package logs every mismatch, which the verdict has anyway
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL + 1)
    module: ModuleType = api
    return module


def evaluate(spec: VerifiedSpec, evidence: Evidence) -> Result:
    """Run the evaluators on the recorded answer and requests. Raises `PackageMissing` when the package is not
    installed.

    The result is that of the package's command line with the answer in a file and the requests as HAR.
    """
    api = load_package()
    from webarena_verified.types.config import EnvironmentConfig, WebArenaVerifiedConfig
    from webarena_verified.types.eval import TaskEvalContext
    from webarena_verified.types.task import WebArenaSite, WebArenaVerifiedTask
    from webarena_verified.types.tracing import NetworkTrace

    config = WebArenaVerifiedConfig(
        environments={WebArenaSite(site): EnvironmentConfig(urls=[evidence.sites[site]]) for site in spec.sites}
    )
    log = entries(evidence.requests)
    trace = NetworkTrace.from_content(log) if log else NetworkTrace.model_construct(is_playwright=False, events=())
    context = TaskEvalContext(
        task=WebArenaVerifiedTask.model_validate(_task(spec)),
        agent_response_raw=evidence.answer,
        network_trace=trace,
        config=config,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # under -W error a warning would become a failed comparison
        result = api.WebArenaVerifiedEvaluator(config=config, reader=None).evaluate_task(context=context)
    findings = zip(spec.eval, result.evaluators_results, strict=False)
    return Result(
        status=str(result.status),
        findings=tuple(_finding(spec, index, found) for index, (_, found) in enumerate(findings)),
        problem=result.error_msg or "",
    )


def _task(spec: VerifiedSpec) -> dict[str, Any]:
    """Returns the task in the package's form; fields that evaluators don't use have dummy values."""
    return {
        "sites": list(spec.sites),
        "task_id": spec.task_id,
        "intent_template_id": 0,
        "start_urls": ["about:blank"],
        "intent": "-",
        "intent_template": "-",
        "instantiation_dict": {},
        "revision": 1,
        "eval": [dict(each) for each in spec.eval],
    }


def _finding(spec: VerifiedSpec, index: int, found: Any) -> EvaluatorResult:
    said = [found.error_msg] if found.error_msg else []
    for each in found.assertions or ():
        said += [message for message in (*(each.assertion_msgs or ()), each.error_msg) if message]
    expected = spec.eval[index]["expected"]
    what = "response" if "task_type" in expected or "performed_operation" in expected else _request(expected)
    return EvaluatorResult(
        evaluator=found.evaluator_name,
        status=str(found.status),
        expected=expected,
        why=f"{what}: {' '.join(said) or found.status}",
    )


def _request(expected: Mapping[str, Any]) -> str:
    return f"{expected.get('http_method', 'GET')} {expected.get('url')}"
