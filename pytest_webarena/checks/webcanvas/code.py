"""Scores key nodes as WebCanvas' code does: before each action, on the page on which the agent decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_webarena.actions import Note, Stop
from pytest_webarena.checks.judge_protocol import JudgeOff, Question
from pytest_webarena.checks.key_nodes.matching import Matcher
from pytest_webarena.checks.key_nodes.model import KeyNode, KeyNodes
from pytest_webarena.checks.kind import Judgement, View
from pytest_webarena.checks.verdict import Part
from pytest_webarena.checks.webcanvas.counterparts import counterpart
from pytest_webarena.checks.webcanvas.elements import missing_libraries, selector_fault
from pytest_webarena.checks.webcanvas.labels import shown_text
from pytest_webarena.checks.webcanvas.nodes import FUNCTIONS, Moment, Node, evaluate
from pytest_webarena.errors import JudgeError
from pytest_webarena.evidence import SeenPage, StepRecord
from pytest_webarena.text import clip

__all__ = ["judge_by_code", "moments"]

_TYPED, _CLICKED = "type", ("click", "select")
"""Kinds of action that have an element in WebCanvas; other kinds never have one."""


class _NoReply(Exception):
    """The judge could not be asked."""


def judge_by_code(spec: KeyNodes, view: View) -> Judgement:
    """Judge the evidence of a trial, which includes its pages."""
    evidence, expected = view.evidence, str(spec)
    nodes = [counterpart(node, dict(evidence.sites)) for node in spec.nodes]
    elements = any(FUNCTIONS[node.function][0] in ("element", "value") for node in nodes)
    if elements and (missing := missing_libraries()):
        why = f"pages are read with {' and '.join(missing)}: pip install 'pytest-webarena[webcanvas]'"
        return Judgement.unknown(expected=expected, why=why, cause="judge")
    strange = next(
        (number for number, node in enumerate(nodes, 1) if _is_ours(spec.nodes[number - 1]) and _foreign(node)), 0
    )
    if strange:
        why = f"key node {strange} has no counterpart there: WebCanvas has CSS selectors, and Playwright's own are none"
        return Judgement.unknown(expected=expected, why=why, cause="task")
    pages = {page.step: page for page in evidence.pages}
    lacking = [step.index for step in evidence.steps if step.index not in pages]
    if elements and lacking:
        why = (
            f"the page before step {lacking[0] + 1} was not recorded; a run with --grading=webcanvas-code records it, "
            "and agents that drive the browser themselves have none"
        )
        return Judgement.unknown(expected=expected, why=why)
    told: list[str] = []

    def reply(subject: str, rule: str) -> str:
        return _reply(view, subject, rule, told)

    scores: tuple[float, ...] = (0.0,) * len(nodes)
    reached: dict[int, StepRecord] = {}
    for step, moment in zip(evidence.steps, moments(evidence.steps, pages), strict=True):
        before, scores = scores, evaluate(nodes, scores, moment, reply)
        for index, (old, new) in enumerate(zip(before, scores, strict=True)):
            if new > old:
                reached[index] = step
    if told and any(score != 1 and "semantic" in nodes[index].function for index, score in enumerate(scores)):
        return Judgement.unknown(expected=expected, why=told[0], cause="judge")
    free = [Matcher(view).is_free(node) for node in spec.nodes]
    parts = tuple(_part(spec, index, score, reached.get(index), free[index]) for index, score in enumerate(scores))
    met = sum(score == 1 for score in scores)
    missed = next((part.what for part in parts if part.points != 1), "")
    # As in WebCanvas, only a sum equal to the number of nodes is a success: 0.85 adds to the rate, but prevents
    # success.
    return Judgement(
        score=sum(scores) / len(nodes),
        expected=expected,
        actual=f"{met} of {len(nodes)}" + (f", missed {missed}" if missed else ""),
        why="; ".join(_line(number, part) for number, part in enumerate(parts, 1)),
        parts=parts,
    )


def _is_ours(node: KeyNode) -> bool:
    """Whether a node was written for this package; imported nodes name their site by a label."""
    return not getattr(node.target, "label", "")


def _foreign(node: Node) -> bool:
    """Whether an element or a value is selected by something that is not CSS."""
    selector = node.reference if FUNCTIONS[node.function][0] == "element" else node.path
    return bool(selector) and node.method == "selector" and bool(selector_fault(selector or ""))


def moments(steps: Sequence[StepRecord], pages: Mapping[int, SeenPage]) -> Iterator[Moment]:
    """Yields the moments at which nodes are evaluated: one before each action, and none after the last."""
    for step in steps:
        kind = step.action.get("kind")
        page = pages.get(step.index)
        html = page.html if page is not None else ""
        selector, value, text = None, "", ""
        if kind in (_TYPED, *_CLICKED) and step.target is not None and step.target.selector:
            selector = step.target.selector.removeprefix("css=")
            if kind == _TYPED:
                value = str(step.action.get("text", ""))
            else:
                shown = shown_text(html, selector) if html else None
                value = (step.target.name or step.target.text) if shown is None else shown
        elif kind == Note.kind:
            text = str(step.action.get("text", ""))
        elif kind == Stop.kind:
            text = str(step.action.get("answer", ""))
        yield Moment(
            url=page.url if page is not None else step.url_before, html=html, selector=selector, value=value, text=text
        )


def _reply(view: View, subject: str, rule: str, told: list[str]) -> str:
    """Returns the reply of this run's judge in the form of WebCanvas' judge. Why it can't be asked is appended to
    ``told``."""
    if told:
        raise _NoReply
    if view.asker is None:
        told.append("it needs a judge model, and there is none (--judge)")
        raise _NoReply
    try:
        grade = view.asker.ask(Question(kind="rule", intent=view.intent, reference=rule, answer=subject))
    except (JudgeOff, JudgeError) as error:
        if isinstance(error, JudgeError) and error.cause == "agent":
            return "```0```"
        told.append(str(error))
        raise _NoReply from None
    share = grade.share if grade.share is not None else float(grade.decision == "correct")
    return f"```{share}```"


def _part(spec: KeyNodes, index: int, score: float, step: StepRecord | None, free: bool) -> Part:
    node = spec.nodes[index]
    by = f"step {step.index + 1} at {clip(step.url_before, 160)}" if step is not None else ""
    return Part(
        what=clip(str(node), 200),
        points=score,
        of=1.0,
        given=score,
        function=node.target.function,
        step=step.index if step is not None and score == 1 else None,
        by=by if score else "",
        free=free,
        why="" if score == 1 or not score else "a part of it, which counts for the rate and not for success",
    )


def _line(number: int, part: Part) -> str:
    mark = "✓" if part.points == 1 else f"{part.points:g}" if part.points else "✗"
    when = "" if part.step is None else f" before step {part.step + 1}"
    return f"{mark} {number} {clip(part.what, 60)}{when}"
