"""Hand-written trials for the tests of key nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_webarena.actions import Click, Goto, Note, Selector, Stop, as_record
from pytest_webarena.checks import CheckResult, judge
from pytest_webarena.checks.judge_protocol import Decision, Grade, Question
from pytest_webarena.evidence import Evidence, StepRecord, TabState
from pytest_webarena.signals import AddressChanged, ControlRecord, DomEvent, ElementRecord, Signal, TargetRecord

from ..helpers import SITES, task

SHOP = "http://shopping.test"
FORM = "html > body > form#buy > div > button.go > span"
QTY = "html > form > input#qty"


def at(path: str, *, tab: int = 0) -> AddressChanged:
    """Return a signal that a tab shows an address; a path belongs to the shop."""
    return AddressChanged(time=0.0, tab=tab, url=path if not path.startswith("/") else SHOP + path)


def element(text: str, **more: Any) -> ElementRecord:
    """Parse an element from ``tag#id.class[name=value]``."""
    attributes: dict[str, str] = {}
    while text.endswith("]"):
        text, _, last = text[:-1].rpartition("[")
        name, _, value = last.partition("=")
        attributes[name] = value
    head, *classes = text.split(".")
    tag, _, id = head.partition("#")
    if id:
        attributes["id"] = id
    if classes:
        attributes["class"] = " ".join(classes)
    return ElementRecord(
        **{"tag": tag, "attributes": attributes, "nth": 1, "children": 1, "nth_of_type": 1, "of_type": 1, **more}
    )


def chain(path: str, within: str = "root") -> tuple[ElementRecord, ...]:
    """Parse a chain from ``html > form#buy > button``; ``>>>`` enters a shadow tree, ``|`` a frame."""
    words = path.split()
    found: list[ElementRecord] = []
    for word in words:
        if word in (">", ">>>", "|"):
            within = {">": "element", ">>>": "shadow", "|": "frame"}[word]
        else:
            found.append(element(word, within=within))
    return tuple(reversed(found))


def event(
    path: str,
    name: str = "click",
    *,
    value: str | None = None,
    on: str = "/",
    frame: str = "",
    within: str = "root",
    target: Mapping[str, Any] | None = None,
    tab: int = 0,
    control: ControlRecord | None = None,
) -> DomEvent:
    """Return an event of a page. ``within``: the container of its outermost recorded element."""
    elements = chain(path, within)
    return DomEvent(
        time=0.0,
        tab=tab,
        url=on if not on.startswith("/") else SHOP + on,
        event=name,
        target=TargetRecord(tag=elements[0].tag if elements else "", **(target or {})),
        value=value,
        chain=elements,
        whole=within == "root",
        frame=frame,
        control=control,
    )


def typed(path: str, value: str, **more: Any) -> DomEvent:
    """Return the event of a field's new value."""
    return event(path, "input", value=value, **more)


def trial(
    *steps: Sequence[Signal] | str,
    start: str = "/",
    answer: str | None = None,
    end: str = "",
    counted: bool = True,
    **facts: Any,
) -> Evidence:
    """Return a trial whose steps are lists of signals or noted texts, followed by an answer."""
    signals: list[Signal] = []
    after: list[int] = []
    records: list[StepRecord] = []
    here = start if not start.startswith("/") else SHOP + start
    for each in steps:
        before = here
        action: Any = Note(each) if isinstance(each, str) else Goto("/")
        if not isinstance(each, str):
            signals += each
            if any(isinstance(signal, DomEvent) for signal in each):
                action = Click(Selector("css=a"))
            here = next((signal.url for signal in reversed(each) if isinstance(signal, AddressChanged)), here)
        records.append(_step(len(records), action, before, here))
        after.append(len(signals))
    if answer is not None:
        records.append(_step(len(records), Stop(answer), here, here))
        after.append(len(signals))
    final = end if end and not end.startswith("/") else SHOP + end if end else here
    values: dict[str, Any] = {
        "answer": answer,
        "stop_reason": "answered",
        "tabs": (TabState(url=final, title="", html="", active=True),),
        "steps": tuple(records),
        "signals": tuple(signals),
        "signals_after": tuple(after) if counted else (),
        "sites": SITES,
    }
    return Evidence(**{**values, **facts})


def _step(index: int, action: Any, before: str, after: str) -> StepRecord:
    return StepRecord(index=index, action=as_record(action), raw="", url_before=before, url_after=after)


def judged(nodes: str, recorded: Evidence, *, asker: Any = None) -> CheckResult:
    """Return the result of ``key_nodes: …`` for a trial after a JSON round trip."""
    stored = Evidence.from_json(recorded.to_json())
    [only] = judge(task(f"- key_nodes: {nodes}"), stored, asker=asker).results
    return only


def reached(result: CheckResult) -> str:
    """Return one character per node: ``+`` reached, ``-`` missed, ``?`` undecided."""
    return "".join("?" if part.open else "+" if part.by else "-" for part in result.parts)


class Asker:
    """A judge that accepts texts with a certain word."""

    def __init__(self, word: str = "kettle", error: Exception | None = None) -> None:
        self.word = word
        self.error = error
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        if self.error is not None:
            raise self.error
        decision: Decision = "correct" if self.word in question.answer else "incorrect"
        return Grade(decision=decision, replies=("",), model="m", prompt="p", temperature=0)
