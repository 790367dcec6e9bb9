"""Script actions between the steps of a recorded trial, in the form in which a replay repeats them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import ByScript, Element, Selector
from pytest_webarena.agents.form_fields import field_value, named_elements
from pytest_webarena.agents.target_recovery import name_with_other_numbers
from pytest_webarena.tasks.syntax import CONTROLS

if TYPE_CHECKING:
    from pytest_webarena.evidence import ScriptAct, StepRecord

__all__ = ["acts_of", "repetitions_of"]

_VALUES = frozenset({"change", "put", "set"})
_LONGEST_NAME = 80
"""Maximum name length of elements other than controls: a longer name is their content, which may change."""


def acts_of(step: StepRecord, before: StepRecord | None) -> Iterator[StepRecord]:
    """The script actions before ``step``, each as a step whose `by_script` contains only that action.

    Their observation is that of the step ``before``, because they happened after it.
    """
    for act in step.by_script:
        elsewhere = ">>" in act.selector  # in a frame or a shadow tree, where the page's selectors do not apply
        action: dict[str, Any] = {"kind": ByScript.kind, "event": act.event}
        yield replace(
            step,
            action=action | ({"target": {"selector": act.selector}} if act.selector else {}),
            raw="", error="", url_after="", thought="", value=act.value, tab=act.tab,
            target=replace(act.target, selector="") if elsewhere else act.target,
            observation=before.observation if before is not None else "",
            by_script=(act,),
        )  # fmt: skip


def repetitions_of(
    step: StepRecord, recorded_text: str, current_text: str, text_before_step: str
) -> Iterator[tuple[ByScript, str]]:
    """Actions that repeat a script action, and how each finds the target: at its recorded place if it is unique there,
    with the same name and the same text around it; or by a name that no other element has. ``then`` is the text shown
    before it in the recording, ``before`` the text shown before the last step of the replay.

    Actions of the agent's commands are always repeated. An action that the page itself may have caused is skipped if
    the field has the value already. So is one whose field got the value with the last step: the page did that, and
    announcing the value again might send something twice.
    """
    [act] = step.by_script
    values = [field_value(text, act.target.role, act.target.name) for text in (text_before_step, current_text)]
    by_page = values[0] is not None and values[0] != values[1] == _shown(act)
    may_keep_value = act.event in ("put", "set") or not act.commanded or by_page
    held_already = may_keep_value and act.event in _VALUES
    names = _names(act, recorded_text, current_text)
    if act.selector:
        where = Selector(act.selector)
        yield ByScript(where, act.event, act.value, held_already, act.target.selector, act.rows, names), ""
    matching_ids = [id for id, *called in named_elements(current_text) if called == [act.target.role, act.target.name]]
    if act.target.name and len(matching_ids) == 1:
        yield (
            ByScript(Element(matching_ids[0]), act.event, act.value, held_already, "", act.rows, names),
            "role and name",
        )


def _names(act: ScriptAct, recorded_text: str, current_text: str) -> tuple[str, ...]:
    """Names that the element may have; empty for elements without a name, or whose name is their whole content."""
    hit = act.target
    if not hit.name or hit.tag in ("form", "body", "html"):
        return ()
    if hit.role not in CONTROLS and len(hit.name) >= _LONGEST_NAME:
        return ()
    return (hit.name, *name_with_other_numbers(hit, named_elements(recorded_text), named_elements(current_text)))


def _shown(act: ScriptAct) -> str:
    """The value as observations show it."""
    return ", ".join((act.value or "").splitlines()) if act.target.tag == "select" else act.value or ""
