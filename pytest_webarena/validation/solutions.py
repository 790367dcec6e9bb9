"""Replays solutions on fresh sites, and reports the steps and checks that do not work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.actions import Upload
from pytest_webarena.agents.builtin import describe_step
from pytest_webarena.checks.grading import REPAIRED
from pytest_webarena.checks.judging import needs_judge
from pytest_webarena.checks.proof import needs_other_states, unproven
from pytest_webarena.errors import Problem, SiteMissing, SiteUnready, TaskError, TrialError
from pytest_webarena.trials.setup import SetupError
from pytest_webarena.trials.tryout import tryout
from pytest_webarena.validation.places import Places, problem_at

if TYPE_CHECKING:
    from pytest_webarena.checks import Verdict
    from pytest_webarena.checks.verdict import CheckResult
    from pytest_webarena.tasks.model import Check, Location, Task
    from pytest_webarena.trials.runtime import Runtime
    from pytest_webarena.trials.tryout import Tryout

__all__ = ["Replay", "check_problems", "replay"]


@dataclass(slots=True, kw_only=True)
class Replay:
    """What was found by doing one task."""

    task: Task
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Checks of absence that were not seen to fail, and alternatives that were not seen to hold."""
    untried: str = ""
    """Why the task could not be done on this machine; empty if it could."""


def replay(task: Task, runtime: Runtime, places: Places) -> Replay:
    """Set ``task`` up, do its solution, and judge its checks; again if there are problems, because a busy machine can
    cause them.

    Of a task without a solution, only checks that nothing can meet are problems.
    """
    done = _replay(task, runtime, places)
    return _replay(task, runtime, places) if done.problems else done


def _replay(task: Task, runtime: Runtime, places: Places) -> Replay:
    done = Replay(task=task)
    if any(isinstance(step, Upload) for step in task.solution or ()):
        done.untried = "its solution uploads files, which only fixtures of pytest provide"
        return done
    try:
        with tryout(task, runtime, lambda line: None, Path("tryout")) as trying:
            done.problems += _start_problems(task, trying, places)
            done.problems += [] if done.problems else _step_problems(task, trying, places)
            whole = bool(task.solution) and not done.problems
            verdict = trying.verdict()
            done.problems += check_problems(task, verdict, whole=whole)
        if whole and not done.problems and needs_other_states(task.every_check):
            done.notes += _unproven(task, verdict, runtime)
    except SetupError as error:
        done.problems.append(problem_at(places.setup_step(task, error.number), "a set-up step that works", str(error)))
    except (SiteMissing, SiteUnready) as error:
        done.untried = str(error).partition("\n")[0]
    except TrialError as error:
        expected = "a task that can be done" if isinstance(error, TaskError) else "sites that work during the task"
        done.problems.append(problem_at(task.location, expected, str(error)))
    return done


def _unproven(task: Task, verdict: Verdict, runtime: Runtime) -> Iterator[str]:
    """Yield the checks of absence, and the alternatives, that the solution's start does not prove, either."""
    with tryout(task, runtime, lambda line: None, Path("tryout")) as trying:
        before = trying.verdict(patient=False)
    for each in unproven(task.every_check, [before, verdict]):
        if each.lacks == "hold" or each.condition.is_absence:
            place = each.condition.check.location or task.location
            yield f"{place.path}:{place.line}: {task.id}: {each}; {each.mend}"


def _start_problems(task: Task, trying: Tryout, places: Places) -> Iterator[Problem]:
    for url, status in trying.first_pages():
        if status >= 400 and status not in (401, 403):
            yield problem_at(places.start(task), "start pages that exist", f"status {status} for {url}")


def _step_problems(task: Task, trying: Tryout, places: Places) -> Iterator[Problem]:
    for index, step in enumerate(task.solution or ()):
        if not trying.next_step():
            where = "" if trying.url in trying.error else f" (on {trying.url})"
            found = f"{describe_step(step)}: {trying.error}{where}"
            yield problem_at(places.solution_step(task, index), "a step that works", found)
            return


def check_problems(task: Task, verdict: Verdict, *, whole: bool) -> Iterator[Problem]:
    """Yields a problem for each check that nothing can meet, or that is not met although the ``whole`` solution was
    done. What only a judge model can decide is no problem."""
    leaves_open = needs_judge(task, REPAIRED)
    by_path = {check.path: check for check in _all_checks(task.every_check)}
    if verdict.passed is True:
        return
    for result in verdict.results:
        for each in _causes(result):
            place = _place(by_path, each.path) or task.location
            why = each.why or each.actual or "it is not met"
            if each.score is None and not each.judgeable and each.cause in (None, "task"):
                yield problem_at(place, f"a check {each.kind} that can be met", why)
            elif whole and not (each.score is None and each.judgeable and leaves_open):
                found = f"{each.actual}: {why}" if each.actual and each.actual != why else why
                yield problem_at(place, f"{each.kind} after the solution: {each.expected}", found)


def _causes(result: CheckResult) -> Iterator[CheckResult]:
    """Yields the checks because of which ``result`` is not met: those inside ``all``, else the check itself."""
    if result.passed is True:
        return
    if result.kind == "all" and result.children:
        for child in result.children:
            yield from _causes(child)
    elif result.score is None and result.children:
        yield next((each for _, each in result.walk() if each.score is None and not each.children), result)
    else:
        yield result


def _all_checks(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        yield check
        yield from _all_checks(check.children)


def _place(by_path: dict[str, Check], path: str) -> Location | None:
    return by_path[path].location if path in by_path else None
