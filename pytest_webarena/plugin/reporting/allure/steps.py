"""An attempt as Allure steps, created afterwards with the actual times."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from allure_commons.model2 import Attachment, Parameter, TestStepResult

from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.evidence.step_sentences import step_sentence
from pytest_webarena.plugin.reporting.allure.pictures import WIDTH_AFTER, is_outside
from pytest_webarena.plugin.reporting.allure.site_changes import changes_step
from pytest_webarena.results.attempts import INTENT_IMAGES, TRACE, VIDEOS, read_evidence, read_steps
from pytest_webarena.results.model_calls import message_texts, model_calls_text
from pytest_webarena.results.wording import reply_words, script_words, usage_words
from pytest_webarena.text import printable, within

if TYPE_CHECKING:
    from pytest_webarena.checks.verdict import CheckResult, Part
    from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord
    from pytest_webarena.plugin.reporting.allure.files import Attachments

__all__ = ["attempt_evidence", "attempt_files", "attempt_steps"]

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
    evidence: Evidence | None,
    files: Attachments,
) -> list[TestStepResult]:
    """Return one step per action, so that Allure's numbers are the agent's, followed by the answer, the changes of the
    sites and the checks.

    ``folder`` is the attempt's, ``started`` its Unix time, ``seconds`` the durations of the trial's phases, and
    ``evidence`` as from `attempt_evidence`. Unknown parts of an interrupted attempt are left out.
    """
    return list(_Timeline(folder, started, seconds, evidence, files).steps(verdict, answer))


def attempt_evidence(folder: Path) -> Evidence | None:
    """Return the evidence of an attempt; None if it was interrupted."""
    try:
        return read_evidence(folder)
    except (ValueError, KeyError, TypeError):
        return None


def attempt_files(folder: Path, evidence: Evidence | None, files: Attachments) -> list[Attachment]:
    """Return the attachments of the attempt: images of the intent, last page, traffic, trace, videos, traceback."""
    found = [
        files.file(f"Image {number} of the task", image)
        for number, image in enumerate(
            sorted((folder / INTENT_IMAGES).glob("*"), key=lambda path: int(path.stem)), start=1
        )
    ]
    found += [
        files.picture("Final page", shot)
        for shot in sorted((folder / "screenshots").glob("final.*"))
        if not _seen(shot)
    ]
    if evidence is not None:
        refused = sum(bool(request.refused) for request in evidence.requests)
        name = f"Network log ({len(evidence.requests)} requests" + (f", {refused} refused)" if refused else ")")
        found.append(files.text(name, _network(evidence.requests)))
        if evidence.tabs:
            tabs = "\n".join(
                f"{'*' if tab.active else ' '} {tab.title or '(no title)'}  {tab.url}" for tab in evidence.tabs
            )
            found.append(files.text("Tabs at the end", tabs))
    found.append(files.file("Trace", folder / TRACE))
    found += [files.file("Video", path) for path in sorted((folder / VIDEOS).glob("*.webm"))]
    found.append(files.file("Traceback", folder / "traceback.txt"))
    return [attachment for attachment in found if attachment is not None]


class _Timeline:
    """Steps in the order of events, each with its time."""

    def __init__(
        self, folder: Path, started: float, seconds: Mapping[str, float], evidence: Evidence | None, files: Attachments
    ) -> None:
        self._folder = folder
        self._now = started
        self._seconds = seconds
        self._files = files
        self._evidence = evidence
        self._final = next(iter(sorted((folder / "screenshots").glob("final.*"))), None)
        self._shown: dict[str, str] = {}
        """Texts of earlier prompts of this attempt, with the steps that have them."""

    def steps(self, verdict: Verdict | None, answer: str | None) -> Iterator[TestStepResult]:
        self._now += sum(self._seconds.get(name, 0.0) for name in _BEFORE)
        began = self._now
        steps = read_steps(self._folder)
        pictures = [self._folder / step.screenshot if step.screenshot else None for step in steps]
        for step, after in zip(steps, (*pictures[1:], self._final), strict=False):  # without steps, only the final page
            yield self._action(step, began, after)
        self._now = max(self._now, began + self._seconds.get("episode", 0.0))
        if answer:
            yield self._long_text(f"Answer: {answer}", "Answer", answer)
        self._now += self._seconds.get("collect", 0.0)
        if self._evidence is not None and self._evidence.changes is not None:
            yield changes_step(self._evidence.changes, round(self._now * 1000), self._files)
        if verdict is not None:
            checks = [self._check(result) for result in verdict.results]
            held = sum(result.passed is True for result in verdict.results)
            parent = _step(f"Checks: {held} of {len(checks)} pass", self._now, self._now)
            parent.status = _status(verdict.passed, judgeable=verdict.judgeable)
            parent.steps += checks
            yield parent

    def _action(self, step: StepRecord, episode: float, after: Path | None) -> TestStepResult:
        """One action; ``after`` is the picture of the page that it led to."""
        began = episode + step.started
        ended = began + sum(step.seconds.values())
        self._now = max(self._now, ended)
        result = _step(step_sentence(step), began, ended)
        if step.error:
            result.status = (
                "skipped"  # marks an action without effect; failed steps are unfolded and would hide the others
            )
            result.name = f"{result.name} · no effect: {' '.join(_cut(step.error, 160).split())}"
        reply = reply_words(step).strip()
        facts = {
            "page": step.url_before,
            "leads to": step.url_after if step.url_after != step.url_before else "",
            "reasoning": "" if step.thought in reply else step.thought.strip(),
            "reply": reply,
            "model": ", ".join(usage_words(step.usage)) if step.usage is not None else "",
            "before it, by script": script_words(step),
            "asked again": str(step.retries or ""),
        }
        for name, text in facts.items():
            self._fact(result, name, text)
        result.attachments[:0] = self._seen_by(step, after)
        if step.model_calls and (exchange := self._exchange_text(step)):
            result.attachments.append(self._files.text("Prompt and reply", exchange))
        return result

    def _fact(self, result: TestStepResult, name: str, text: str) -> None:
        """Add a text to a step as a parameter; of a long one the beginning, and all of it as an attachment."""
        if text:
            result.parameters.append(
                Parameter(name=name, value=_cut(" ".join(text.split()) if name == "reply" else text))
            )
            if len(text) > _INLINE:
                result.attachments.append(self._files.text(name.capitalize(), text))

    def _seen_by(self, step: StepRecord, after: Path | None) -> list[Attachment]:
        """The page before the action with its target marked, the page after it, and the page as text."""
        found = []
        if step.screenshot:
            shot = self._folder / step.screenshot
            outside = step.target is not None and is_outside(shot, step.target)
            name = "Before (target outside the view)" if outside else "Before"
            found.append(self._files.picture(name, shot, target=step.target))
            if after is not None and not _same(self._folder / step.screenshot, after):
                found.append(self._files.picture("After", after, width=WIDTH_AFTER))
        if step.observation:
            found.append(self._files.file("Page", self._folder / step.observation))
        return [attachment for attachment in found if attachment is not None]

    def _exchange_text(self, step: StepRecord) -> str:
        """The step's model calls, without texts that the report has already: its observation, earlier messages."""
        try:
            text = (self._folder / step.model_calls).read_text(encoding="utf-8", errors="replace")
            observed = self._folder / step.observation
            observation = observed.read_text(encoding="utf-8", errors="replace") if step.observation else ""
        except OSError:
            return ""  # dropped by --record
        shown = {observation: "the observation of this step", **self._shown}
        for message in message_texts(text):
            self._shown.setdefault(message, f"as in step {step.index + 1}")
        return model_calls_text(text, shown)

    def _check(self, check: CheckResult) -> TestStepResult:
        result = _step(f"{check.mark} {_check_words(check)}", self._now, self._now)
        result.status = _status(check.passed, judgeable=check.judgeable)
        for name, text in (("expected", check.expected), ("found", check.actual), ("why", check.why)):
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


def _seen(final: Path) -> bool:
    """Whether the last page looks as before the last step, which is so when the agent stops."""
    before = [shot for shot in final.parent.iterdir() if shot.stem.isdigit() and shot.suffix == final.suffix]
    return bool(before) and _same(max(before), final)


def _same(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False  # dropped by --record


def _step(name: str, began: float, ended: float) -> TestStepResult:
    return TestStepResult(name=printable(name), status="passed", start=round(began * 1000), stop=round(ended * 1000))


def _cut(text: str, most: int = _INLINE) -> str:
    return within(printable(text), most)
