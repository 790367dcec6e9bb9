"""What scripts had done between the steps of a recorded trial, for the replay that does it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import ByScript, Element, Selector
from pytest_webarena.agents.form_fields import field_value, named_elements
from pytest_webarena.agents.target_recovery import but_for_numbers
from pytest_webarena.tasks.syntax import CONTROLS

if TYPE_CHECKING:
    from pytest_webarena.evidence import ScriptAct, StepRecord

__all__ = ["acts_of", "ways_to"]

_VALUES = frozenset({"change", "put", "set"})
_LONGEST_NAME = 80
"""Of what is no control: whatever stands in it may be another text by then."""


def acts_of(step: StepRecord, before: StepRecord | None) -> Iterator[StepRecord]:
    """What scripts had done when ``step`` began, each as a step of which `by_script` is that act alone.

    What was shown then is what the step ``before`` had shown: it was done after that one.
    """
    for act in step.by_script:
        elsewhere = ">>" in act.selector  # in a frame or a shadow tree: its place there is none in the page
        action: dict[str, Any] = {"kind": ByScript.kind, "event": act.event}
        yield replace(
            step,
            action=action | ({"target": {"selector": act.selector}} if act.selector else {}),
            raw="", error="", url_after="", thought="", value=act.value, tab=act.tab,
            target=replace(act.target, selector="") if elsewhere else act.target,
            observation=before.observation if before is not None else "",
            by_script=(act,),
        )  # fmt: skip


def ways_to(step: StepRecord, then: str, now: str, before: str) -> Iterator[tuple[ByScript, str]]:
    """What does it again, and by what its target is found: where it was, if it is alone there and what is around it
    reads as it did, and it is called as it was; or by a name that nothing else has. ``then``: what was shown before it
    in the recording; ``before``: what was shown before the step that the replay did last.

    What a command of the agent's did is done in any case; of what may have been the page's doing, a field is left alone
    that holds its value by now. So is one that came to hold it with the last step: the page did that, and to announce
    it again might send something twice.
    """
    [act] = step.by_script
    held = [field_value(text, act.target.role, act.target.name) for text in (before, now)]
    by_page = held[0] is not None and held[0] != held[1] == _shown(act)
    kept = act.event in ("put", "set") or not act.commanded or by_page
    held_already = kept and act.event in _VALUES
    names = _names(act, then, now)
    if act.selector:
        where = Selector(act.selector)
        yield ByScript(where, act.event, act.value, held_already, act.target.selector, act.rows, names), ""
    named = [id for id, *called in named_elements(now) if called == [act.target.role, act.target.name]]
    if act.target.name and len(named) == 1:
        yield ByScript(Element(named[0]), act.event, act.value, held_already, "", act.rows, names), "role and name"


def _names(act: ScriptAct, then: str, now: str) -> tuple[str, ...]:
    """What it may be called; empty for what has no name, or has all that is in it for one."""
    hit = act.target
    if not hit.name or hit.tag in ("form", "body", "html"):
        return ()
    if hit.role not in CONTROLS and len(hit.name) >= _LONGEST_NAME:
        return ()
    return (hit.name, *but_for_numbers(hit, named_elements(then), named_elements(now)))


def _shown(act: ScriptAct) -> str:
    """The value as observations show it."""
    return ", ".join((act.value or "").splitlines()) if act.target.tag == "select" else act.value or ""
