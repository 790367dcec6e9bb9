"""Replays a solution and explains each step: done as recorded, healed, not found, or found on a page that differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pytest_webarena.actions import Action, Click, Selector
from pytest_webarena.agents.builtin import describe_step, with_full_address
from pytest_webarena.recorder import selector_proving
from pytest_webarena.recorder.healing import LookupResult, described, look_for

__all__ = ["Page", "ReplayedStep", "replay_solution"]

_PATIENCE = 5.0
"""Seconds to wait for the element of a step's own selector."""
_COVERED = " is covered by "
"""Part of the message for an action without effect because another element would get the click."""
_CLOSING = r"/^\s*(close|dismiss|got it|not now|no,? thanks|ok|okay|×|✕|x)\s*$/i"
"""Text of buttons that only close a dialog."""
_CONSENT = r"/cookie|consent|privacy/i"
"""Name of dialogs that ask for consent and are not related to a task."""
_REFUSING = (
    r"/^\s*((reject|decline|refuse|deny)( all)?( cookies)?"
    r"|(only )?(what is )?(strictly )?necessary( cookies)?( only)?)\s*$/i"
)
"""Text of buttons in such dialogs that refuse everything that can be refused."""
_DECLINING = r"/^\s*(no,? thanks|no,? thank you|not now|maybe later|not interested)\s*$/i"
"""Text of buttons that decline an offer and have no other use. They are clicked even outside of a dialog."""
_MOST_DIALOGS = 3
"""Maximum number of dialogs to close before one step."""


class Page(selector_proving.Page, Protocol):
    """A page on which steps can be replayed, such as `Tryout`."""

    @property
    def error(self) -> str:
        """Why the last action had no effect; empty if it had one."""

    def act(self, action: Action, label: str = "") -> bool:
        """Perform an action; return whether it had an effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedStep:
    """Result of replaying one step."""

    number: int
    """Index of the step in the solution, from 0."""
    action: Action
    """Action as in the task."""
    done: Action | None
    """Action as performed; None if it was not possible."""
    how: str
    """Description: as recorded, healed by which selectors, or not found and why."""
    before: tuple[Action, ...] = ()
    """Actions that closed new dialogs over the page before it."""
    unsure: bool = False
    """Whether only its place identifies the target."""

    @property
    def healed(self) -> bool:
        """Whether the step in the task should be rewritten."""
        return self.done is not None and (bool(self.before) or _targets(self.done) != _targets(self.action))

    def __str__(self) -> str:
        return f"step {self.number + 1} ({describe_step(self.action)}): {self.how}"


def replay_solution(solution: Sequence[Action], page: Page, sites: Mapping[str, str]) -> Iterator[ReplayedStep]:
    """Do the steps one by one, healed if necessary. The first that is not possible is the last result."""
    for number, step in enumerate(solution):
        replayed = _step(number, step, page, sites)
        yield replayed
        if replayed.done is None:
            return


def _step(number: int, step: Action, page: Page, sites: Mapping[str, str]) -> ReplayedStep:
    lookups = {key: look_for(target, page, _PATIENCE) for key, target in _targets(step).items()}
    if not_found := next((each for each in lookups.values() if each.target is None), None):
        return ReplayedStep(number=number, action=step, done=None, how=f"not found: {not_found.note}")
    aimed: Any = step
    done: Action = replace(aimed, **{key: each.target for key, each in lookups.items()}) if lookups else step
    before: tuple[Action, ...] = ()
    acted = page.act(with_full_address(done, sites))
    while not acted and len(before) < _MOST_DIALOGS and _COVERED in page.error:
        closing = _closing(page)
        if closing is None or not page.act(closing):
            break
        before = (*before, closing)
        acted = page.act(with_full_address(done, sites))
    if not acted:
        return ReplayedStep(number=number, action=step, done=None, how=f"it had no effect: {page.error}")
    is_unsure = any(each.is_uncertain for each in lookups.values())
    return ReplayedStep(
        number=number, action=step, done=done, how=_how(lookups, before), before=before, unsure=is_unsure
    )


def _closing(page: Page) -> Action | None:
    """Return a click that closes what covers the page: the only close button of a dialog, the only button that refuses
    consent, or the only button on the page that declines."""
    consenting = f"role=dialog[name={_CONSENT}] >> "
    for within, says in (("role=dialog >> ", _CLOSING), (consenting, _REFUSING), ("", _DECLINING)):
        [found] = page.find_matches([f"{within}role=button[name={says}]"])
        if found.is_unique and found.target is not None:
            name = " ".join(found.target.name.split())
            inside = "role=dialog >> " if within else ""
            return Click(Selector(f"{inside}role=button[name={json.dumps(name, ensure_ascii=False)}s]"))
    return None


def _how(lookups: Mapping[str, LookupResult], before: Sequence[Action]) -> str:
    many = f"{len(before)} dialogs that lay over the page were closed"
    parts = [many if len(before) > 1 else "a dialog that lay over the page was closed"] if before else []
    for each in lookups.values():
        if each.healed:
            healed = f"healed: {described(each.found)}, found by {' and '.join(each.families)}"
            parts.append(f"{healed} ({each.note})" if each.note else healed)
        elif each.note:
            parts.append(f"as recorded, but {each.note}")
    return "; ".join(parts) or "as recorded"


def _targets(step: Action) -> dict[str, Selector]:
    found = {key: getattr(step, key, None) for key in ("target", "to")}
    return {key: target for key, target in found.items() if isinstance(target, Selector)}
