"""The trials of an audit: which agents try a task to find out whether its checks can be trusted, and what they do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args
from urllib.parse import urlsplit

from pytest_webarena.actions import (
    Action,
    Check,
    Click,
    Goto,
    Hover,
    Invalid,
    Noop,
    Press,
    Scroll,
    Select,
    Selector,
    Stop,
    Type,
)
from pytest_webarena.agents.builtin import describe_step, with_full_address
from pytest_webarena.checks.ground import declared_ground
from pytest_webarena.checks.kind import EvidenceSource
from pytest_webarena.checks.side_effects import wants_ledger
from pytest_webarena.tasks import digest
from pytest_webarena.tasks.kinds import find_kind
from pytest_webarena.tasks.model import Task

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import TaskView
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.tasks.model import Check as TaskCheck

__all__ = [
    "AUDIT_AGENTS",
    "CRAWL",
    "CRAWLERS",
    "MUTANTS",
    "MUTE",
    "NEIGHBOUR",
    "NO_NEIGHBOUR",
    "NULL_FAMILY",
    "ORACLE",
    "ORDER",
    "PRIVILEGED",
    "REMEDIES",
    "RIGHT",
    "SHORT",
    "SIBLING",
    "SKIP",
    "STRAY",
    "VALUES",
    "AuditTrial",
    "Replay",
    "audit_trials",
    "evidence_sources",
    "is_unachievable",
    "last_effective_step",
    "may_read_answer",
    "neighbourly_steps",
    "reads_requests",
]  # fmt: skip

ORACLE = "oracle"
SHORT = "audit-short"
MUTE = "audit-mute"
SIBLING = "audit-sibling"
SKIP = "audit-skip"
STRAY = "audit-stray"
NEIGHBOUR = "audit-neighbour"
VALUES = "audit-values"
ORDER = "audit-order"
CRAWL = "audit-crawl"
PRIVILEGED = "audit-privileged"
NO_NEIGHBOUR = "no step could be done to a neighbour"
"""Stop detail of a `NEIGHBOUR` trial that proved nothing."""

NULL_FAMILY = {
    "null": "doing nothing and answering nothing",
    "na": "doing nothing and answering N/A",
    "echo": "doing nothing and answering with the intent",
    "dump": "doing nothing and answering with the whole page",
}
"""Built-in agents that must fail every task, and what they do."""
MUTANTS = {
    SHORT: "replays the solution without its last effective step",
    MUTE: "replays the solution and keeps the answer to itself",
    SIBLING: "replays the solution of another instance of the template",
    SKIP: "replays the solution without one of the steps that key nodes are for",
    STRAY: "replays the solution and takes away something else",
    NEIGHBOUR: "replays the solution, but takes what is next to the target of one step",
}
"""Further agents that must fail: each replays a solution that is wrong for its task."""
CRAWLERS = {
    CRAWL: "looks for what the task's account must not find",
    PRIVILEGED: "looks for it as the account that must find it",
}
"""Agents that attack the ground of impossible tasks. They answer N/A, and what the sites show decides."""
REMEDIES = {
    "null": "let `setup` prepare another state than the one that is wanted, or check for what has to change",
    "na": "ask for the answer itself: 'N/A' meets this check",
    "echo": "ask for what the intent does not give away",
    "dump": "ask for the answer `exact`, as a `number`, or with `excludes` for what is next to it",
    SHORT: "check what that step brings about; if it brings about nothing, take it out of the solution",
    SKIP: "let the key nodes of that step need it: a narrower address or value, or the click itself",
    MUTE: "let every check of the answer count, not one of several (`any`)",
    SIBLING: "check what distinguishes the instances",
    STRAY: "let `changes` list what may change (`webarena tasks side-effects FILE` writes it), or set `mutates: false`",
    NEIGHBOUR: "check which one was meant: its number, its name, what it belongs to",
}
"""How to fix a task that such an agent passed."""
AUDIT_AGENTS = (ORACLE, *NULL_FAMILY, *MUTANTS, VALUES, ORDER, *CRAWLERS)

RIGHT = (ORACLE, VALUES)
"""Agents that replay the solution as it is."""
_MOST_SKIPPED = 2
"""Maximum number of steps left out, one at a time, for a task with key nodes, in addition to the last effective one."""
_MOST_NEIGHBOURS = 2
"""Maximum number of steps applied to a neighbour, one at a time."""
_IDLE = (Stop, Scroll, Hover, Noop, Invalid)
"""Actions that only look, or that end the episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTrial:
    """One trial of a task's audit."""

    agent: str
    trial: int
    task: Task
    """The task with the solution that the agent replays, and the matching digest."""
    manner: str
    """What the agent does, phrased to follow "passed by": ``leaving out step 3 of 4 (click …)``."""
    without: int | None = None
    """Index of the step that it leaves out; None if it leaves out none."""

    @property
    def must_pass(self) -> bool:
        """Whether this trial replays the correct solution; all others must fail."""
        return self.agent in RIGHT


def audit_trials(
    task: Task, family: Sequence[Task], *, oracle_runs: int = 2, ledgers: Collection[str] = ()
) -> tuple[AuditTrial, ...]:
    """The trials that audit ``task``.

    ``family`` has the tasks of its file, in order; ``ledgers`` the sites that keep a ledger of changes. Agents that
    could not act differently from another one are omitted: answers matter only to checks that may read them.
    """

    def trial(
        agent: str,
        manner: str,
        number: int = 1,
        solution: tuple[Action, ...] | None = None,
        without: int | None = None,
        changed: Task = task,
    ) -> AuditTrial:
        if solution is not None:
            changed = replace(task, solution=solution)
        if changed is not task:
            changed = replace(changed, digest=digest(changed))
        return AuditTrial(agent=agent, trial=number, task=changed, manner=manner, without=without)

    def leaving_out(agent: str, index: int, number: int = 1) -> AuditTrial:
        steps = task.solution or ()
        what = f"step {index + 1} of {len(steps)} ({describe_step(steps[index])})"
        return trial(agent, f"leaving out {what}", number, (*steps[:index], *steps[index + 1 :]), index)

    found = [trial(ORACLE, "replaying the solution")]
    if task.skip:
        return tuple(found)
    answered = may_read_answer(task)
    for agent, manner in NULL_FAMILY.items():
        if agent == "null" or (answered and not (agent == "na" and is_unachievable(task))):
            found.append(trial(agent, manner))
    found += [trial(agent, manner, changed=crawled) for agent, manner, crawled in _crawls(task)]
    if task.solution is None:
        return tuple(found)
    if (last := last_effective_step(task)) is not None:
        found.append(leaving_out(SHORT, last))
        found += [leaving_out(SKIP, index, number) for number, index in enumerate(_to_skip(task, last), start=1)]
    if answered and not _only_answers(task) and _answer(task):
        mute = (*(step for step in task.solution if not isinstance(step, Stop)), Stop())
        found.append(trial(MUTE, "replaying the solution without giving its answer", solution=mute))
    compared = wants_ledger(task) and any(site in ledgers for site in task.sites)
    writes = task.mutates is not False and not is_unachievable(task) and not _only_answers(task)
    has_queries = any(check.kind == "state" for check in _leaves(task.checks))
    changes_values = (compared and (writes or has_queries)) or (writes and reads_requests(task))
    if compared:
        found.append(trial(STRAY, "replaying the solution and taking away something else"))
    if (sibling := _sibling(task, family)) is not None and sibling.solution is not None:
        sibling_solution = (Stop(_answer(sibling)),) if _only_answers(task) else sibling.solution
        found.append(trial(SIBLING, f"replaying the solution of {sibling.id}", solution=sibling_solution))
    if changes_values:  # the same run of the solution, after which the harness changes what it wrote, and asks queries
        found.append(trial(VALUES, "replaying the solution"))
    repeated = range(2, oracle_runs + (0 if changes_values else 1))
    found += [trial(ORACLE, "replaying the solution", number) for number in repeated]
    # Last, because what these agents reach is compared with the end state of the solution.
    if compared and (other := _in_other_order(task)) is not None:
        steps, manner = other
        found.append(trial(ORDER, manner, solution=steps))
    neighbour = "replaying the solution, but taking what is next to the target of one step"
    neighbour_count = min(_MOST_NEIGHBOURS, len(neighbourly_steps(task)))
    found += [trial(NEIGHBOUR, neighbour, number) for number in range(1, neighbour_count + 1)]
    return tuple(found)


def _in_other_order(task: Task) -> tuple[tuple[Action, ...], str] | None:
    """The solution done in another way, and a description; None if no other way is known.

    Two neighbouring fields of a form are filled in the other order. If no check looks at the place where the agent
    ends, it also opens the start page at the end.
    """
    steps = list(task.solution or ())
    pairs = (index for index in range(len(steps) - 1) if _independent(steps[index], steps[index + 1]))
    first = next(pairs, None)
    manners = []
    if first is not None:
        steps[first : first + 2] = steps[first + 1], steps[first]
        manners.append(f"doing steps {first + 1} and {first + 2} in the other order")
    sources = evidence_sources(task)
    if (
        task.start
        and task.mutates is not False
        and sources
        and sources <= {"answer", "data"}
        and not _only_answers(task)
    ):
        start = task.start[0]
        end = len(steps) - isinstance(steps[-1], Stop) if steps else 0
        steps.insert(end, Goto(start.path if "://" in start.path else f"{start.site}:{start.path or '/'}"))
        manners.append("opening the start page at the end")
    return (tuple(steps), f"replaying the solution, {' and '.join(manners)}") if manners else None


def _independent(one: Action, other: Action) -> bool:
    """Whether both steps fill fields, and different ones."""
    kinds = (Type, Select, Check)
    return (
        isinstance(one, kinds)
        and isinstance(other, kinds)
        and isinstance(one.target, Selector)
        and isinstance(other.target, Selector)
        and one.target.selector != other.target.selector
        and not any(isinstance(each, Type) and each.enter for each in (one, other))
    )


def _crawls(task: Task) -> Iterator[tuple[str, str, Task]]:
    """Yields the agents that attack the ground of an impossible task, what they do, and the task that they get."""
    ground = declared_ground(task)
    if ground is None:
        return
    yield CRAWL, "looking for what must be absent", task
    if ground.visible_to:
        sites = tuple(dict.fromkeys((*task.sites, *ground.visible_to)))
        as_privileged = replace(task, sites=sites, user={**task.user, **ground.visible_to}, reach="task")
        yield PRIVILEGED, f"looking for it as {', '.join(ground.visible_to.values())}", as_privileged


def last_effective_step(task: Task) -> int | None:
    """Index of the solution's step without which the task is not done; None if that is unknown.

    If the agent's final place (``url``, the current ``page``) or its requests count, it is the last step that does more
    than look. If only data counts (``state``, an opened ``page``), navigation changes nothing: it is the last click
    (not on a link), key, choice or text. A task that also asks for an answer may end by looking things up, so there it
    is known only if the task says ``mutates: true`` or checks the final place. A task that cannot be done has none.
    """
    solution = task.solution or ()
    checks = [check for check in _leaves(task.checks) if not _reads_only_answer(check)]
    at_end = any(_looks_at_place(check) for check in checks)
    asks = any("answer" in (_sources_of(check) or ()) for check in _leaves(task.checks))
    if not checks or is_unachievable(task) or (asks and task.mutates is not True and not at_end):
        return None
    active = [index for index, step in enumerate(solution) if not isinstance(step, _IDLE)]
    if not active or (len(active) == 1 and not _answer(task)):
        return None  # without its only step it would be the null agent
    if all(_is_data(check) for check in checks):
        active = [index for index in active if _may_change_data(solution[index])] or active
    return active[-1]


def neighbourly_steps(task: Task) -> list[int]:
    """Indices of the solution's steps, up to the last effective one, whose target may have neighbours: elements, list
    options, addresses that end in a number. Empty for tasks without a last effective step."""
    last = last_effective_step(task)
    if last is None:
        return []
    return [index for index, step in enumerate((task.solution or ())[: last + 1]) if _may_have_neighbours(step)]


def evidence_sources(task: Task) -> frozenset[str]:
    """The sources of evidence on which the task's checks depend; all sources if a check does not declare its own."""
    sources = [_sources_of(check) for check in _leaves(task.checks)]
    if any(each is None for each in sources):
        return frozenset(get_args(EvidenceSource))
    return frozenset(source for each in sources for source in each or ())


def _may_have_neighbours(step: Action) -> bool:
    if isinstance(step, Goto):
        return urlsplit(step.url).path.rstrip("/")[-1:].isdigit()
    return isinstance(step, Click | Type | Press | Select | Check) and isinstance(step.target, Selector)


def _to_skip(task: Task, last: int) -> list[int]:
    """The steps before the last effective one that key nodes most likely test: text and choices first, then clicks and
    keys. Navigation is excluded, because the following steps fail without it and nothing is learnt."""
    if not any(check.kind == "key_nodes" for check in _leaves(task.checks)):
        return []
    acts = [(index, step) for index, step in enumerate((task.solution or ())[:last]) if _may_change_data(step)]
    acts.sort(key=lambda act: not isinstance(act[1], Type | Select | Check))
    return sorted(index for index, _ in acts[:_MOST_SKIPPED])


class Replay:
    """Replays a solution that may not fit the task: after a step without effect it gives its answer at once."""

    def __init__(self, task: Task, view: TaskView) -> None:
        self._steps = [with_full_address(step, view.sites) for step in task.solution or ()]
        self._answer = Stop(_answer(task))
        self._has_acted = False

    def act(self, observation: Observation) -> Action:
        """The next step of the solution, or its answer."""
        if self._has_acted and observation.error:
            self._steps.clear()
        self._has_acted = True
        return self._steps.pop(0) if self._steps else self._answer


def _sibling(task: Task, family: Sequence[Task]) -> Task | None:
    """The next instance of the same template, cyclically, whose solution should be wrong for ``task``; None if there is
    none.

    Instances with the same start and user are preferred, because their solutions get further.
    """
    relatives = [other for other in family if other.template == task.template]
    position = next((index for index, other in enumerate(relatives) if other.id == task.id), None)
    if position is None:
        return None
    own_digest = _checks_digest(task)
    others = (*relatives[position + 1 :], *relatives[:position])
    for other in sorted(others, key=lambda other: (other.user, other.start) != (task.user, task.start)):
        if (
            other.solution is None
            or other.skip
            or other.solution == task.solution
            or _checks_digest(other) == own_digest
        ):
            continue
        if (_only_answers(task) or is_unachievable(task)) and (
            _answer(other).strip().casefold() == _answer(task).strip().casefold()
            or (is_unachievable(task) and is_unachievable(other))
        ):
            continue
        return other
    return None


def _checks_digest(task: Task) -> str:
    return digest(Task(id="", intent="", sites=(), checks=task.checks))


def _answer(task: Task) -> str:
    return next((step.answer for step in reversed(task.solution or ()) if isinstance(step, Stop)), "")


def _leaves(checks: Sequence[TaskCheck]) -> Iterator[TaskCheck]:
    """The checks that are no combinations, without those that look at nothing an agent leaves."""
    for check in checks:
        if check.children:
            yield from _leaves(check.children)
        elif _sources_of(check) != frozenset():
            yield check


def _sources_of(check: TaskCheck) -> Collection[str] | None:
    """The sources of evidence that decide a check, as its kind declares; None if it does not."""
    kind = find_kind(check.kind)
    return kind.sights(check.spec) if kind is not None else None


def may_read_answer(task: Task) -> bool:
    """Whether one of the task's checks may read the answer."""
    return any(sources is None or "answer" in sources for sources in map(_sources_of, _leaves(task.checks)))


def reads_requests(task: Task) -> bool:
    """Whether one of the task's checks reads requests."""
    return any(getattr(find_kind(check.kind), "reads_requests", False) for check in _leaves(task.checks))


def _reads_only_answer(check: TaskCheck) -> bool:
    return set(_sources_of(check) or ()) == {"answer"}


def _only_answers(task: Task) -> bool:
    return all(map(_reads_only_answer, _leaves(task.checks)))


def is_unachievable(task: Task) -> bool:
    """Whether one of the task's checks expects the answer that the task cannot be done."""
    return any(getattr(check.spec, "unachievable", "") for check in _leaves(task.checks))


def _is_data(check: TaskCheck) -> bool:
    return set(_sources_of(check) or ()) - {"answer"} == {"data"}


def _looks_at_place(check: TaskCheck) -> bool:
    return "place" in (_sources_of(check) or ())


def _may_change_data(step: Action) -> bool:
    if isinstance(step, Click) and isinstance(step.target, Selector):
        return not step.target.selector.split(">>")[-1].strip().startswith("role=link")
    return isinstance(step, Click | Type | Press | Select | Check)
