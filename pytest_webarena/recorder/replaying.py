"""Replays a solution and explains it: each step as recorded, healed by what, not found, or on a page that differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pytest_webarena.actions import Action, Click, Selector
from pytest_webarena.agents.builtin import addressed, describe_step
from pytest_webarena.recorder import selector_proving
from pytest_webarena.recorder.healing import Looked, look_for, said_of

__all__ = ["Page", "ReplayedStep", "replay_solution"]

_PATIENCE = 5.0
"""Seconds to wait for an element as the task says it."""
_COVERED = " is covered by "
"""In what an action without effect is told: something else would get the click."""
_CLOSING = r"/^\s*(close|dismiss|got it|not now|no,? thanks|ok|okay|×|✕|x)\s*$/i"
"""What a button says that takes a dialog away and does nothing else."""
_CONSENT = r"/cookie|consent|privacy/i"
"""What a dialog is called that asks to agree to something, and has nothing to do with a task."""
_REFUSING = (
    r"/^\s*((reject|decline|refuse|deny)( all)?( cookies)?"
    r"|(only )?(what is )?(strictly )?necessary( cookies)?( only)?)\s*$/i"
)
"""What a button of such a dialog says that agrees to nothing that can be refused."""
_DECLINING = r"/^\s*(no,? thanks|no,? thank you|not now|maybe later|not interested)\s*$/i"
"""What a button says that declines an offer, and of which there is no other use: also where nothing says that it is in
a dialog."""
_MOST_DIALOGS = 3
"""That are closed before one step."""


class Page(selector_proving.Page, Protocol):
    """What is replayed on: `Tryout` is one."""

    @property
    def error(self) -> str:
        """Why the last action had no effect; empty when it had one."""

    def act(self, action: Action, label: str = "") -> bool:
        """Carry out an action; whether it had an effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedStep:
    """What came of one step."""

    number: int
    """Of the solution, from 0."""
    action: Action
    """As the task says it."""
    done: Action | None
    """As it was done; None for one that could not be."""
    how: str
    """In words: as recorded, healed by what, not found and why."""
    before: tuple[Action, ...] = ()
    """What had to be done before it, because something new lay over the page."""
    unsure: bool = False
    """Whether nothing but the place of its target says that it is the one which is meant."""

    @property
    def healed(self) -> bool:
        """Whether the task should say it otherwise."""
        return self.done is not None and (bool(self.before) or _targets(self.done) != _targets(self.action))

    def __str__(self) -> str:
        return f"step {self.number + 1} ({describe_step(self.action)}): {self.how}"


def replay_solution(solution: Sequence[Action], page: Page, sites: Mapping[str, str]) -> Iterator[ReplayedStep]:
    """Do the steps one by one, healed where they have to be; the last one told of is the first that can't be done."""
    for number, step in enumerate(solution):
        done = _step(number, step, page, sites)
        yield done
        if done.done is None:
            return


def _step(number: int, step: Action, page: Page, sites: Mapping[str, str]) -> ReplayedStep:
    looked = {key: look_for(target, page, _PATIENCE) for key, target in _targets(step).items()}
    if lost := next((each for each in looked.values() if each.target is None), None):
        return ReplayedStep(number=number, action=step, done=None, how=f"not found: {lost.note}")
    aimed: Any = step
    done: Action = replace(aimed, **{key: each.target for key, each in looked.items()}) if looked else step
    before: tuple[Action, ...] = ()
    acted = page.act(addressed(done, sites))
    while not acted and len(before) < _MOST_DIALOGS and _COVERED in page.error:
        closing = _closing(page)
        if closing is None or not page.act(closing):
            break
        before = (*before, closing)
        acted = page.act(addressed(done, sites))
    if not acted:
        return ReplayedStep(number=number, action=step, done=None, how=f"it had no effect: {page.error}")
    unsure = any(each.unsure for each in looked.values())
    return ReplayedStep(number=number, action=step, done=done, how=_how(looked, before), before=before, unsure=unsure)


def _closing(page: Page) -> Action | None:
    """A click that closes what lies over the page: a dialog by its one button for that, or by refusing consent;
    anything by the one button that declines."""
    consenting = f"role=dialog[name={_CONSENT}] >> "
    for within, says in (("role=dialog >> ", _CLOSING), (consenting, _REFUSING), ("", _DECLINING)):
        [found] = page.sightings([f"{within}role=button[name={says}]"])
        if found.alone and found.target is not None:
            name = " ".join(found.target.name.split())
            inside = "role=dialog >> " if within else ""
            return Click(Selector(f"{inside}role=button[name={json.dumps(name, ensure_ascii=False)}s]"))
    return None


def _how(looked: Mapping[str, Looked], before: Sequence[Action]) -> str:
    many = f"{len(before)} dialogs that lay over the page were closed"
    parts = [many if len(before) > 1 else "a dialog that lay over the page was closed"] if before else []
    for each in looked.values():
        if each.healed:
            healed = f"healed: {said_of(each.found)}, found by {' and '.join(each.by)}"
            parts.append(f"{healed} ({each.note})" if each.note else healed)
        elif each.note:
            parts.append(f"as recorded, but {each.note}")
    return "; ".join(parts) or "as recorded"


def _targets(step: Action) -> dict[str, Selector]:
    found = {key: getattr(step, key, None) for key in ("target", "to")}
    return {key: target for key, target in found.items() if isinstance(target, Selector)}
