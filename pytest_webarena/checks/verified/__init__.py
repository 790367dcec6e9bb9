"""The kind ``verified``: WebArena-Verified's evaluators, for typed answers and the browser's requests.

`form` has its form in task files, `package` calls the evaluators of the package ``webarena-verified``; this module
judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from pytest_webarena.answers import read_response
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.verified.form import FORM, NETWORK, VerifiedSpec
from pytest_webarena.checks.verified.package import EvaluatorResult, PackageMissing, evaluate, load_package
from pytest_webarena.evidence import Evidence, RequestRecord
from pytest_webarena.text import clip

__all__ = ["VERIFIED", "VerifiedSpec"]

_ASSETS = (".css", ".js", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".woff", ".woff2", ".ttf", ".ico", ".webp")


def judge(spec: VerifiedSpec, view: View) -> Judgement:
    """Returns the judgement of the package's evaluators on the answer and the requests.

    Undecided where they could only guess: without the package, without addresses or requests, for a plain answer of
    an agent that was not asked for a typed one, and if a part that was cut off a request or a response would decide.
    """
    evidence, expected = view.evidence, str(spec)
    if problem := _not_computed(spec, evidence):
        return Judgement.unknown(expected=expected, why=problem)
    try:
        result = evaluate(spec, evidence)
    except PackageMissing as missing:
        return Judgement.unknown(expected=expected, why=str(missing))
    failed = [finding for finding in result.findings if not finding.passed]
    if lost := next(filter(None, (_unrecorded(finding, evidence) for finding in result.findings)), 0):
        # The package uses the last such request, and which one that was is unknown.
        why = f"{lost} requests that may be the expected one could not be recorded, for there were too many"
        return Judgement.unknown(expected=expected, why=why, cause="site")
    if not result.passed and all(_undecided(finding, evidence) for finding in failed):
        why = _undecided(failed[0], evidence) if failed else result.problem
        return Judgement.unknown(expected=expected, why=why)
    why = "; ".join(finding.why for finding in failed) or result.problem
    actual = _actual(spec, evidence, failed)
    return Judgement.of(result.passed, expected=expected, actual=actual, why=clip(why, 600))


def _not_computed(spec: VerifiedSpec, evidence: Evidence) -> str:
    """Returns why there is nothing to judge; empty when there is."""
    if evidence.answer_format == "text" and read_response(evidence.answer) is None:
        return "not computed: the answer is not in the response format, which the agent was not asked for"
    if unknown := [site for site in spec.sites if not evidence.sites.get(site)]:
        return f"the address of {', '.join(unknown)} was not recorded"
    if spec.network and not evidence.requests:
        return "the requests were not recorded"
    return ""


def _undecided(finding: EvaluatorResult, evidence: Evidence) -> str:
    """Returns why a finding might differ if everything had been kept; empty when it would not."""
    if finding.evaluator != NETWORK:
        return ""
    wanted = finding.expected
    method = str(wanted.get("http_method", "GET")).upper()
    for request in evidence.requests:
        if request.method.upper() != method or not _may_be(wanted.get("url"), request.url):
            continue
        if wanted.get("post_data") and request.body_cut:
            return f"the body of {method} {clip(request.url, 80)} was too long to be kept whole"
        if wanted.get("response_content") and _answer_lost(request):
            return f"the response to {method} {clip(request.url, 80)} was not kept"
    return ""


def _unrecorded(finding: EvaluatorResult, evidence: Evidence) -> int:
    """Returns the number of unrecorded requests that a finding may be about."""
    if finding.evaluator != NETWORK:
        return 0
    method = str(finding.expected.get("http_method", "GET")).upper()
    wanted = finding.expected.get("url")

    def may_be(url: str) -> bool:
        if method == "GET":  # the last page shown counts, whichever it was
            return not _is_asset(url)
        return not url or _may_be(wanted, url)

    sent = (each for each in evidence.unrecorded if not each.refused)
    return sum(each.count for each in sent if each.method in ("", method) and may_be(each.url))


def _may_be(wanted: Any, url: str) -> bool:
    """Whether an address may be the expected one: patterns match any address, otherwise the paths are compared."""
    expected = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    path = urlsplit(url).path.rstrip("/")
    return any(
        each.startswith("^") or path.endswith(urlsplit(each.split("__", 2)[-1]).path.rstrip("/")) for each in expected
    )


def _answer_lost(request: RequestRecord) -> bool:
    kinds = [value for name, value in request.response_headers if name.lower() == "content-type"]
    return (
        request.response_body is None
        and request.response_bytes > 0
        and any(kind.lower().startswith("application/json") for kind in kinds)
    )


def _actual(spec: VerifiedSpec, evidence: Evidence, failed: Sequence[EvaluatorResult]) -> str:
    """Returns the answer, the number of requests, and the closest ones to those that were missed."""
    parts = ["no answer" if evidence.answer is None else clip(evidence.answer, 200)]
    if spec.network:
        parts.append(f"{len(evidence.requests)} requests")
        parts += [_nearest(finding, evidence) for finding in failed if finding.evaluator == NETWORK]
    return "; ".join(dict.fromkeys(filter(None, parts)))


def _nearest(finding: EvaluatorResult, evidence: Evidence) -> str:
    """Returns the last request with the expected method and path, else with the method; empty when there is none."""
    method = str(finding.expected.get("http_method", "GET")).upper()
    alike = [each for each in evidence.requests if each.method.upper() == method and not _is_asset(each.url)]
    found = next((each for each in reversed(alike) if _may_be(finding.expected.get("url"), each.url)), None)
    found = found or (alike[-1] if alike else None)
    if found is None:
        return f"no {method}"
    body = f" {clip(found.request_body, 120)}" if found.request_body else ""
    status = "refused" if found.refused else "no response" if found.status is None else found.status
    return f"last {method}: {clip(found.url, 120)} ({status}){body}"


def _is_asset(url: str) -> bool:
    """Whether the package ignores such a request."""
    return urlsplit(url).path.endswith(_ASSETS)


def _category(spec: VerifiedSpec) -> str:
    if spec.status != "SUCCESS":
        return "unachievable"
    return {"RETRIEVE": "information", "NAVIGATE": "navigation", "MUTATE": "content"}.get(spec.task_type, "")


VERIFIED: Kind[VerifiedSpec] = Kind(
    name="verified",
    doc=(
        "Judges a typed answer and the browser's requests with the evaluators of the package `webarena-verified` "
        "(extra `suites`). See [WebArena-Verified](verified.md)."
    ),
    form=FORM,
    judge=judge,
    category=_category,
    reads_requests=True,
    make_ready=lambda spec: load_package(),
    reads_responses=lambda spec: any(each["expected"].get("response_content") for each in spec.network),
    examples=(
        "- verified:\n"
        "    sites: [shopping]\n"
        "    eval:\n"
        "      - evaluator: AgentResponseEvaluator\n"
        "        results_schema: {type: array, items: {type: number, format: currency}}\n"
        "        expected: {task_type: retrieve, status: SUCCESS, retrieved_data: [84.97]}",
    ),
)
