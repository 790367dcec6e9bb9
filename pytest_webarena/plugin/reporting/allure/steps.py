"""An attempt as Allure steps, created afterwards with the actual times."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from allure_commons.model2 import Attachment, Parameter, TestStepResult

from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.results.attempts import INTENT_IMAGES, TRACE, VIDEOS, read_evidence, read_steps
from pytest_webarena.results.model_calls import model_calls_text
from pytest_webarena.results.wording import action_words, script_words, usage_words
from pytest_webarena.text import printable, within

if TYPE_CHECKING:
    from pytest_webarena.checks.verdict import CheckResult, Part
    from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord
    from pytest_webarena.plugin.reporting.allure.files import Attachments

__all__ = ["attempt_files", "attempt_steps"]

_INLINE = 300
"""Characters of a text in a step; a longer one is cut there and attached in full."""
_BEFORE = ("lease", "session", "setup")


def attempt_steps(
    folder: Path,
    *,
    started: float,
    seconds: Mapping[str, float],
    verdict: Verdict | None,
    answer: str | None,
    files: Attachments,
) -> list[TestStepResult]:
    """Return one step per action, so that Allure's numbers are the agent's, followed by the answer and the checks.

    ``folder`` is the attempt's, ``started`` its Unix time, and ``seconds`` the durations of the trial's phases. Unknown
    parts of an interrupted attempt are left out.
    """
    return list(_Timeline(folder, started, seconds, files).steps(verdict, answer))


def attempt_files(folder: Path, files: Attachments) -> list[Attachment]:
    """Return the attachments of the attempt: images of the intent, last page, traffic, trace, videos, traceback."""
    found = [
        files.file(f"Image {number} of the task", image)
        for number, image in enumerate(
            sorted((folder / INTENT_IMAGES).glob("*"), key=lambda path: int(path.stem)), start=1
        )
    ]
    found += [
        files.file("Final page", shot) for shot in sorted((folder / "screenshots").glob("final.*")) if not _seen(shot)
    ]
    evidence = _evidence(folder)
    if evidence is not None:
        refused = sum(bool(request.refused) for request in evidence.requests)
        name = f"Network log ({len(evidence.requests)} requests" + (f", {refused} refused)" if refused else ")")
        found.append(files.text(name, _network(evidence.requests)))
        if evidence.tabs:
            tabs = "\n".join(
                f"{'*' if tab.active else ' '} {tab.title or '(no title)'}  {tab.url}" for tab in evidence.tabs
            )
            found.append(files.text("Tabs at the end", tabs))
    found.append(files.file("Playwright trace", folder / TRACE))
    found += [files.file("Video", path) for path in sorted((folder / VIDEOS).glob("*.webm"))]
    found.append(files.file("Traceback", folder / "traceback.txt"))
    return [attachment for attachment in found if attachment is not None]


class _Timeline:
    """Steps in the order of events, each with its time."""

    def __init__(self, folder: Path, started: float, seconds: Mapping[str, float], files: Attachments) -> None:
        self._folder = folder
        self._now = started
        self._seconds = seconds
        self._files = files

    def steps(self, verdict: Verdict | None, answer: str | None) -> Iterator[TestStepResult]:
        self._now += sum(self._seconds.get(name, 0.0) for name in _BEFORE)
        began = self._now
        for step in read_steps(self._folder):
            yield self._action(step, began)
        self._now = max(self._now, began + self._seconds.get("episode", 0.0))
        if answer:
            yield self._long_text(f"Answer: {answer}", "Answer", answer)
        if verdict is not None:
            self._now += self._seconds.get("collect", 0.0)
            checks = [self._check(result) for result in verdict.results]
            held = sum(result.passed is True for result in verdict.results)
            parent = _step(f"Checks: {held} of {len(checks)} pass", self._now, self._now)
            parent.status = _status(verdict.passed, judgeable=verdict.judgeable)
            parent.steps += checks
            yield parent

    def _action(self, step: StepRecord, episode: float) -> TestStepResult:
        began = episode + step.started
        ended = began + sum(step.seconds.values())
        self._now = max(self._now, ended)
        result = _step(action_words(step), began, ended)
        if step.url_before:
            result.parameters.append(Parameter(name="page", value=printable(step.url_before)))
        if step.url_after and step.url_after != step.url_before:
            result.parameters.append(Parameter(name="leads to", value=printable(step.url_after)))
        if step.error:
            result.status = (
                "skipped"  # marks an action without effect; failed steps are unfolded and would hide the others
            )
            result.name = f"{result.name} · no effect: {' '.join(_cut(step.error, 160).split())}"
        found = []
        if step.screenshot:
            found.append(self._files.file("Screenshot", self._folder / step.screenshot))
        if step.observation:
            found.append(self._files.file("Observation", self._folder / step.observation))
        if len(step.raw) > _INLINE or "\n" in step.raw.strip():
            found.append(self._files.text("Reply of the agent", step.raw))
        elif step.raw:
            result.parameters.append(Parameter(name="reply", value=printable(step.raw.strip())))
        if step.model_calls and (exchange := self._exchange_text(step.model_calls)):
            found.append(self._files.text("Prompt and reply of the model", exchange))
        if step.usage is not None:
            result.parameters.append(Parameter(name="model", value=", ".join(usage_words(step.usage))))
        if scripts := script_words(step):
            result.parameters.append(Parameter(name="before it, by script", value=printable(scripts)))
        if step.retries:
            result.parameters.append(Parameter(name="asked again", value=str(step.retries)))
        result.attachments += [attachment for attachment in found if attachment is not None]
        return result

    def _exchange_text(self, file: str) -> str:
        try:
            return model_calls_text((self._folder / file).read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return ""  # dropped by --record

    def _check(self, check: CheckResult) -> TestStepResult:
        result = _step(f"{check.mark} {_check_words(check)}", self._now, self._now)
        result.status = _status(check.passed, judgeable=check.judgeable)
        for name, text in (("expected", check.expected), ("actual", check.actual), ("why", check.why)):
            if text:
                result.parameters.append(Parameter(name=name, value=_cut(text)))
                if len(text) > _INLINE:
                    result.attachments.append(self._files.text(name, text))
        if check.state not in ("", "end"):
            result.parameters.append(Parameter(name="state", value=printable(check.state)))
        if check.waited is not None:
            result.parameters.append(Parameter(name="waited", value=f"{check.waited:.1f} s"))
        if check.score is not None and 0 < check.score < 1:
            result.parameters.append(Parameter(name="score", value=f"{check.score:.3g}"))
        result.steps += [self._check(child) for child in check.children]
        result.steps += [self._part(number, part) for number, part in enumerate(check.parts, start=1)]
        return result

    def _part(self, number: int, part: Part) -> TestStepResult:
        """An item of a rubric."""
        sign = "✓" if part.points >= part.of else "◐" if part.points else "✗"
        what = " ".join(_cut(part.what, 120).split())
        result = _step(f"{sign} item {number}: {part.points:g} of {part.of:g} points: {what}", self._now, self._now)
        result.status = "passed" if part.points >= part.of else "failed"
        for name, text in (("item", part.what), ("quote", part.quote), ("why", part.why)):
            if text:
                result.parameters.append(Parameter(name=name, value=_cut(text)))
                if len(text) > _INLINE:
                    result.attachments.append(self._files.text(name, text))
        return result

    def _long_text(self, title: str, name: str, text: str) -> TestStepResult:
        step = _step(" ".join(_cut(title).split()), self._now, self._now)
        if len(title) > _INLINE or "\n" in text.strip():
            step.attachments.append(self._files.text(name, text))
        return step


def _status(passed: bool | None, *, judgeable: bool) -> str:
    """Allure's status of a check or verdict, as of a trial: undecided, or an error where evidence is missing."""
    if passed is None:
        return "unknown" if judgeable else "broken"
    return "passed" if passed else "failed"


def _check_words(check: CheckResult) -> str:
    """A check and the reason of its result, such as ``state: the values differ``."""
    words = f"{check.kind} ({check.path})"
    return words if check.passed or not check.why else f"{words}: {' '.join(_cut(check.why, 120).split())}"


def _network(requests: Sequence[RequestRecord]) -> str:
    if not requests:
        return "(no requests)"
    began = requests[0].time
    lines = []
    for request in requests:
        line = f"{request.time - began:8.2f} s  {request.status or '---'}  {request.method:<6} {request.url}"
        lines.append(f"{line}  REFUSED: {request.refused}" if request.refused else line)
    return "\n".join(lines)


def _evidence(folder: Path) -> Evidence | None:
    try:
        return read_evidence(folder)
    except (ValueError, KeyError, TypeError):
        return None  # the attempt was interrupted


def _seen(final: Path) -> bool:
    """Whether the last page looks as before the last step, which is so when the agent stops."""
    before = [shot for shot in final.parent.iterdir() if shot.stem.isdigit() and shot.suffix == final.suffix]
    return bool(before) and filecmp.cmp(max(before), final, shallow=False)


def _step(name: str, began: float, ended: float) -> TestStepResult:
    return TestStepResult(name=printable(name), status="passed", start=round(began * 1000), stop=round(ended * 1000))


def _cut(text: str, most: int = _INLINE) -> str:
    return within(printable(text), most)
