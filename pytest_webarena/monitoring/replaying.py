"""The monitoring agent: replays a solution or visits the recorded addresses of key nodes, and searches for moved
elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pytest_webarena.actions import Goto, Stop, answers_dialogs
from pytest_webarena.agents.builtin import describe_step, refused_step, with_full_address
from pytest_webarena.agents.form_fields import named_elements
from pytest_webarena.agents.protocol import AgentDefinition, Assignment, Reply
from pytest_webarena.checks.key_nodes.model import ElementTarget, KeyNodes, UrlTarget, ValueTarget
from pytest_webarena.monitoring.alternatives import KnownElements, StepVariant, locator_variants, step_variants
from pytest_webarena.results.files import read_lines, write_lines

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.tasks.model import Check, Task

__all__ = [
    "AGENT",
    "Replayer",
    "ScriptStep",
    "TriedAction",
    "definition",
    "key_node_checks",
    "read_tried_actions",
    "script_of",
]

AGENT = "monitor"
"""Id of the agent in records."""
_FILE = "monitor.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptStep:
    """One action of the monitoring agent."""

    kind: Literal["step", "open", "find"]
    """``step``: a step of the solution; ``open``: opening the address of a key node; ``find``: looking for its
    element."""
    number: int
    """Index, from 0, of the solution's step, or of the key node in the task's first check of that kind."""
    variants: tuple[StepVariant, ...]

    @property
    def needed(self) -> bool:
        """Whether later actions depend on it."""
        return self.kind == "step"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedAction:
    """The result of one `ScriptStep`."""

    kind: str
    number: int
    found: bool
    how: str = ""
    """How it was found, if not as the task says."""
    step: int | None = None
    """Index of the recorded step that succeeded, or that tried last."""
    what: str = ""
    """Short description of the step."""
    url: str = ""
    """Address at which it was tried."""
    error: str = ""
    """Why it could not be done as the task says; empty when it could."""


def key_node_checks(task: Task) -> Iterator[Check]:
    """The task's checks with key nodes that must pass, so none inside ``any`` or ``not``."""
    pending = list(task.checks)
    while pending:
        check = pending.pop(0)
        if isinstance(check.spec, KeyNodes):
            yield check
        elif check.kind == "all":
            pending = [*check.children, *pending]


def script_of(task: Task, known: KnownElements | None, sites: Mapping[str, str]) -> tuple[ScriptStep, ...]:
    """The actions that check a task: its solution or, without one, the recorded addresses and elements of its key
    nodes."""
    if task.solution is not None:
        before = known.steps if known is not None else ()
        return tuple(
            ScriptStep(
                kind="step",
                number=number,
                variants=step_variants(
                    with_full_address(step, sites), before[number] if number < len(before) else None
                ),
            )
            for number, step in enumerate(task.solution)
        )
    return tuple(_visits(task, sites))


def _visits(task: Task, sites: Mapping[str, str]) -> Iterator[ScriptStep]:
    recorded = task.source.get("recorded")
    checks = list(key_node_checks(task))
    if not isinstance(recorded, Sequence) or isinstance(recorded, str) or len(checks) != 1:
        return
    for number, node in enumerate(checks[0].spec.nodes):
        url = _here(str(recorded[number]) if number < len(recorded) else "", task, sites)
        if not url or node.forbidden or not isinstance(node.target, UrlTarget | ElementTarget | ValueTarget):
            continue
        yield ScriptStep(kind="open", number=number, variants=(StepVariant(action=Goto(url)),))
        if not isinstance(node.target, UrlTarget) and node.target.locate:
            yield ScriptStep(kind="find", number=number, variants=locator_variants(node.target.locate))


def _here(url: str, task: Task, sites: Mapping[str, str]) -> str:
    """A recorded address moved to the site that represents its host; empty when there is none."""
    hosts = task.source.get("hosts")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return ""
    site = next((name for name, known in hosts.items() if known == host), "") if isinstance(hosts, Mapping) else ""
    if site not in sites:
        return ""
    return f"{sites[site]}{parts.path or '/'}" + (f"?{parts.query}" if parts.query else "")


class Replayer:
    """Carries out one action after the other; an action that fails as written is tried in other ways."""

    def __init__(
        self, turns: Sequence[ScriptStep], folder: Path | None, refusal: Callable[[str], str] = lambda url: ""
    ) -> None:
        """``refusal``: as `Assignment.refusal`."""
        self._refusal = refusal
        self._turns = list(turns)
        self._folder = folder
        self._turn: ScriptStep | None = None
        self._variants: Iterator[StepVariant] = iter(())
        self._variant: StepVariant | None = None
        self._first_error = ""
        self._count = 0
        self._last = 0

    def act(self, observation: Observation) -> Reply:
        """The next action, or another way to do the current one."""
        if self._turn is not None and self._variant is not None:
            refused = refused_step(self._variant.action, observation.url, self._refusal)
            error = "; ".join(filter(None, (observation.error, refused)))
            if not error:
                self._note(found=True, how=self._variant.how, url=observation.url)
                self._turn = None
            else:
                self._first_error = self._first_error or error
        if self._turn is not None:
            variant = self._next_variant(observation)
            if variant is not None:
                return self._reply(variant)
            failed_turn = self._turn
            self._note(found=False, url=observation.url)
            self._turn = None
            if failed_turn.needed:
                what = describe_step(failed_turn.variants[0].action)
                text = f"step {failed_turn.number + 1} ({what}) can't be done at {observation.url}: {self._first_error}"
                return Reply(Stop(""), thought=text, ended=("invalid", text))
        while self._turns:
            self._turn = self._turns.pop(0)
            self._variants, self._first_error = iter(self._turn.variants), ""
            variant = self._next_variant(observation)
            if variant is not None:
                return self._reply(variant)
        return Reply(Stop(""))

    def _next_variant(self, observation: Observation) -> StepVariant | None:
        """The next way whose target is unambiguous."""
        for variant in self._variants:
            if not variant.how or not variant.name or not self._is_one_of_many(variant, observation):
                self._variant = variant
                return variant
        return None

    def _is_one_of_many(self, variant: StepVariant, observation: Observation) -> bool:
        elements = [
            name
            for _, role, name in named_elements(observation.text)
            if name == variant.name and variant.role in ("", role)
        ]
        return len(elements) > 1

    def _reply(self, variant: StepVariant) -> Reply:
        self._last = self._count
        self._count += 1
        if isinstance(variant.action, Stop):  # `act` is not called after it
            self._note(found=True, url="")
            self._turn = None
        return Reply(variant.action, thought=f"found by {variant.how}" if variant.how else "")

    def _note(self, *, found: bool, url: str, how: str = "") -> None:
        turn = self._turn
        assert turn is not None
        if self._folder is not None:
            tried = TriedAction(
                kind=turn.kind,
                number=turn.number,
                found=found,
                how=how,
                step=self._last,
                what=describe_step(turn.variants[0].action),
                url=url,
                error=self._first_error,
            )
            write_lines(self._folder / _FILE, [asdict(tried)], mode="a")


def read_tried_actions(attempt: Path) -> tuple[TriedAction, ...]:
    """The results of an attempt's actions, in order."""
    return tuple(TriedAction(**each) for each in read_lines(attempt / _FILE))


def definition(known: KnownElements | None) -> AgentDefinition:
    """The agent that checks one task, of which ``known`` is known."""

    def make(assignment: Assignment) -> Replayer:
        return Replayer(script_of(assignment.task, known, assignment.view.sites), assignment.folder, assignment.refusal)

    return AgentDefinition(
        id=AGENT,
        make=make,
        digest="",
        kind="built-in",
        dialogs=lambda task, trial: "hold" if answers_dialogs(task.solution or ()) else None,
        privileged=True,
        source="built-in: replays each task's solution, and finds what has moved",
    )
