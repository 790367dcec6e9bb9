"""Converts script actions between the steps of a recorded trial to actions of a replay."""

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

__all__ = ["repetitions_of", "script_action_steps"]

_VALUES = frozenset({"change", "put", "set"})
"""Events that set a field's value."""
_LONGEST_NAME = 80
"""Maximum name length of elements other than controls: a longer name is their content, which may change."""


def script_action_steps(step: StepRecord, before: StepRecord | None) -> Iterator[StepRecord]:
    """Yield the script actions before ``step``, each as a step whose `by_script` contains only that action.

    Their observation is that of the step ``before``, because they happened after it.
    """
    for act in step.by_script:
        nested = ">>" in act.selector  # in a frame or a shadow tree, where the page's selectors do not apply
        action: dict[str, Any] = {"kind": ByScript.kind, "event": act.event}
        yield replace(
            step,
            action=action | ({"target": {"selector": act.selector}} if act.selector else {}),
            raw="", error="", url_after="", thought="", value=act.value, tab=act.tab,
            target=replace(act.target, selector="") if nested else act.target,
            observation=before.observation if before is not None else "",
            by_script=(act,),
        )  # fmt: skip


def repetitions_of(
    step: StepRecord, recorded_text: str, current_text: str, text_before_step: str
) -> Iterator[tuple[ByScript, str]]:
    """Yield actions that repeat a script action, and how each finds its target.

    The first finds it at its recorded place, if it is unique there and has the same name and surrounding text; the
    second by a name that no other element has.

    Args:
        step: The script action, as from `script_action_steps`.
        recorded_text: Text of the observation before the action in the recording.
        current_text: Text of the current observation.
        text_before_step: Text of the observation before the last step of the replay.

    Actions of the agent's commands are always repeated. An action that the page itself may have caused is skipped if
    the field has the value already. So is one whose field got the value with the last step: the page did that, and
    announcing the value again might send something twice.
    """
    [act] = step.by_script
    texts = (text_before_step, current_text)
    value_before, value_now = (field_value(text, act.target.role, act.target.name) for text in texts)
    set_by_page = value_before is not None and value_before != value_now == _shown(act)
    may_be_by_page = act.event in ("put", "set") or not act.commanded or set_by_page
    skip_if_set = may_be_by_page and act.event in _VALUES
    names = _names(act, recorded_text, current_text)
    if act.selector:
        where = Selector(act.selector)
        yield ByScript(where, act.event, act.value, skip_if_set, act.target.selector, act.rows, names), ""
    matching_ids = [id for id, *called in named_elements(current_text) if called == [act.target.role, act.target.name]]
    if act.target.name and len(matching_ids) == 1:
        yield (
            ByScript(Element(matching_ids[0]), act.event, act.value, skip_if_set, "", act.rows, names),
            "role and name",
        )


def _names(act: ScriptAct, recorded_text: str, current_text: str) -> tuple[str, ...]:
    """Return names that the element may have; empty without a name, or if the name is the whole content."""
    hit = act.target
    if not hit.name or hit.tag in ("form", "body", "html"):
        return ()
    if hit.role not in CONTROLS and len(hit.name) >= _LONGEST_NAME:
        return ()
    return (hit.name, *name_with_other_numbers(hit, named_elements(recorded_text), named_elements(current_text)))


def _shown(act: ScriptAct) -> str:
    """Return the value as observations show it."""
    return ", ".join((act.value or "").splitlines()) if act.target.tag == "select" else act.value or ""
