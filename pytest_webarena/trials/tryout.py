"""Interactive try-out of a task on real sites: the checks are judged again after every action, with reasons."""

from __future__ import annotations

import json
import re
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import Action, Element, Hover, Stop, answers_dialogs, as_record
from pytest_webarena.agents.builtin import describe_step, refused_step, with_full_address
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.checks import REPAIRED, judge_bounded
from pytest_webarena.checks.bounded import CHECK_SECONDS
from pytest_webarena.checks.grading import answer_format
from pytest_webarena.errors import SiteError, TaskError, TrialError
from pytest_webarena.evidence import Evidence, StepRecord, TargetRecord, Usage
from pytest_webarena.tasks.placeholders import readable
from pytest_webarena.tasks.step_text import parse_step
from pytest_webarena.trials.collecting import Collector, Used
from pytest_webarena.trials.trial_environment import Resources, TrialEnvironment, set_up_environment
from pytest_webarena.trials.written_tables import WrittenTables, read_written_tables
from pytest_webarena.trials.written_values import change_values

if TYPE_CHECKING:
    from pytest_webarena.browser.config import SessionConfig
    from pytest_webarena.browser.remote_input import RemoteInput
    from pytest_webarena.browser.reports import SelectorMatch
    from pytest_webarena.changes import SiteChanges
    from pytest_webarena.checks import Verdict
    from pytest_webarena.signals import Signal
    from pytest_webarena.tasks.model import Task

__all__ = ["Tryout", "about", "converse", "tryout"]

HELP = """\
An action in the agents' grammar, e.g.  click [42]   type [7] [hello] [1]   stop [answer]
or as a solution has it, e.g.  click: role=button[name="Save"]   fill: {css=#title: Rye}
or one of:
  s, solution   do the next step of the task's solution      a, all    do all that are left
  c, checks     judge the checks, every reason again          o, see    print what an agent sees
  w, which      by what an element is found, e.g.  w [42]     w css=#title
  p, picture    save a screenshot and say where               r, reset  begin again on fresh sites
  q, quit       leave                                         h, help   this"""


class Tryout:
    """One task in its environment, operated step by step."""

    def __init__(self, task: Task, environment: TrialEnvironment, say: Callable[[str], None], pictures: Path) -> None:
        task = self._task = environment.own_addresses.in_value(task)
        self._environment = environment
        self._say = say
        self._pictures = pictures
        self._answer: str | None = None
        self._steps: list[StepRecord] = []
        self.notes = ""
        """What the last action reported of its field, such as a text that the field did not take."""
        self._collector = Collector(task, environment)
        self._solution = list(task.solution or ())
        self._shown_verdict: Verdict | None = None
        environment.open_first_pages()

    @property
    def steps_left(self) -> int:
        """Number of steps of the solution that were not done yet."""
        return len(self._solution)

    @property
    def sites(self) -> Mapping[str, str]:
        """Address of each site, by name."""
        return self._environment.live.sites

    @property
    def done(self) -> Sequence[StepRecord]:
        """The steps done with `act`, in order."""
        return tuple(self._steps)

    @property
    def url(self) -> str:
        """Address after the last action."""
        return self._steps[-1].url_after if self._steps else ""

    @property
    def error(self) -> str:
        """Why the last action had no effect; empty when it had one."""
        return self._steps[-1].error if self._steps else ""

    def first_pages(self) -> list[tuple[str, int]]:
        """Address and HTTP status of each tab that is open; 200 if the status is unknown."""
        return [(tab.url, tab.status or 200) for tab in self._environment.session.tabs()]

    def next_step(self) -> bool:
        """Do the solution's next step; False when there is none or it failed."""
        if not self._solution:
            self._say("the solution has no more steps" if self._task.solution else "the task has no solution")
            return False
        total = len(self._task.solution or ())
        step = with_full_address(self._solution.pop(0), self._environment.live.sites)
        return self.act(step, label=f"step {total - len(self._solution)} of {total}: ")

    def play(self) -> bool:
        """Do the solution's steps until one fails; return whether all worked. Prints where it stops; the next call of
        `next_step` continues after it."""
        total = len(self._task.solution or ())
        while self._solution:
            if not self.next_step():
                number = total - len(self._solution)
                self._say(f"step {number} does not work. Do it manually; 's' continues with the next step.")
                return False
        return True

    def parse(self, text: str) -> tuple[Action, ...] | None:
        """The actions of a step in a solution's syntax; None for other texts. `ValueError` for an invalid step."""
        steps = parse_step(text, next(iter(self.sites), ""))
        return None if steps is None else tuple(with_full_address(step, self.sites) for step in steps)

    def act(self, action: Action, label: str = "") -> bool:
        """Carry out one action and print its effect after ``label``; return whether it had one."""
        session = self._environment.session
        outcome = None if isinstance(action, Stop) else session.execute(action)
        self._environment.arrive()
        if isinstance(action, Stop):
            self._answer = action.answer
        url = outcome.url_after if outcome else session.observe().url
        error = outcome.error if outcome else ""
        refused = refused_step(action, url, self._environment.refusal)
        error = "; ".join(filter(None, (error, refused)))
        self._steps.append(
            StepRecord(
                index=len(self._steps),
                action=as_record(action),
                raw="",
                error=error,
                url_before=outcome.url_before if outcome else url,
                url_after=url,
                target=outcome.target if outcome else None,
                value=outcome.value if outcome else None,
            )
        )
        self._collector.stepped(len(self._steps) - 1)
        self._say(f"{'✗' if error else '·'} {label}{describe_step(action)}")
        self.notes = "; ".join(event.text for event in outcome.events if event.kind == "field") if outcome else ""
        self._say(f"  → {error or url}")
        if self.notes:
            self._say(f"  {self.notes}")
        return not error

    def evidence(self, *, patient: bool = True) -> Evidence:
        """Everything recorded so far, and the current state of the sites. ``patient`` first waits for late work, as at
        the end of a trial."""
        with self._environment.attributing_site_errors():
            return self._collector.finish(
                answer=self._answer,
                stop_reason="answered",
                steps=self._steps,
                answer_format=answer_format(self._task, REPAIRED),
                used=Used(usage=Usage(), seconds=0.0),  # no model is called, and a person's time does not count
                patient=patient,
            )

    def verdict(self, *, patient: bool = True) -> Verdict:
        """The checks' verdict on the current state, without the intent, which the user has just read; ``patient`` as in
        `evidence`."""
        return replace(judge_bounded(self._task, self.evidence(patient=patient)), intent="")

    def changed_values(self) -> dict[str, Any]:
        """Change what the trial wrote, one value at a time, and judge again. Returns the facts that
        `results.value_audit` reads. The sites keep what was written."""
        evidence = self.evidence()
        with self._environment.attributing_site_errors():
            return change_values(self._task, self._environment, evidence, CHECK_SECONDS)

    def written_tables(self, changes: Iterable[SiteChanges]) -> WrittenTables:
        """Return what is known of the tables that were written to, by app and name."""
        lease = self._environment.lease
        return read_written_tables(lease, changes) if lease is not None else {}

    def remote_input(self) -> RemoteInput:
        """Access for a user without a browser window to see pages and act in them."""
        session = self._environment.session
        if isinstance(session, Pageless):
            raise TaskError("expected a task with a site to be used, found one without; name a site")
        return session.remote_input()

    def answered(self, answer: str) -> None:
        """Use ``answer`` as the answer."""
        self._answer = answer

    def signals(self) -> tuple[Signal, ...]:
        """The browser's events, whoever caused them; the first `signals_before` came from the first pages."""
        return self._environment.session.signals.since()

    @property
    def signals_before(self) -> int:
        """Number of signals before the first action."""
        return self._environment.session.signals.before

    @property
    def signals_lost(self) -> int:
        """Number of signals dropped because there was no room."""
        return self._environment.session.signals.lost

    def find(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        """The first match in the current tab, waited for at most ``patience`` seconds. The element is not changed."""
        return self._environment.session.element_of(selector, patience)

    def find_matches(self, selectors: Sequence[str]) -> tuple[SelectorMatch, ...]:
        """The elements that each selector currently matches in the current tab. They are not changed."""
        return self._environment.session.find_matches(selectors)

    def which(self, text: str) -> tuple[str, ...]:
        """Selectors that match one element only, the most stable first. ``text`` is the element's id in the agent's
        observation, which moves the mouse over it, or a selector. `TaskError` when there is no such element."""
        session = self._environment.session
        if number := re.fullmatch(r"\[?\s*(\d+)\s*\]?", text):
            outcome = session.execute(Hover(Element(number[1])))
            if outcome.error:
                raise TaskError(outcome.error)
            target = outcome.target
        else:
            target = self.find(text)
        if target is None:
            raise TaskError(f"expected an element that is there, found none that is {text}; 'o' shows what is there")
        selectors = [selector for selector in _selector_candidates(target, text) if selector]
        matches = dict(zip(selectors, session.find_matches(selectors), strict=False))
        element = next(
            (
                matches[selector].element
                for selector in reversed(selectors)
                if selector in matches and matches[selector].is_unique
            ),
            -1,
        )
        return tuple(selector for selector, found in matches.items() if found.is_unique and found.element == element)

    def show_checks(self, width: int = 80, *, changes: bool = False) -> bool:
        """Print the verdict on the current state, or only its ``changes``; return whether it is a pass. Between two
        steps of the solution, late work is not waited for."""
        verdict = self.verdict(patient=not (changes and self._solution))
        self._print(verdict, self._shown_verdict if changes else None, width)
        return bool(verdict.passed)

    def _print(self, verdict: Verdict, before: Verdict | None, width: int = 80) -> None:
        self._say(verdict.render(width, before))
        self._shown_verdict = verdict

    def see(self) -> str:
        """The observation that an agent would get now."""
        return self._environment.session.observe().text

    def screenshot(self) -> bytes:
        """A screenshot as JPEG; empty while a dialog is open."""
        return self._environment.session.screenshot()

    def picture(self) -> Path:
        """Save a screenshot and return its file. `TaskError` when there is nothing to show."""
        shot = self.screenshot()
        if not shot:
            raise TaskError("expected something to take a picture of, found none: no page, or a dialog in front of it")
        self._pictures.mkdir(parents=True, exist_ok=True)
        target = self._pictures / f"{self._task.id}-{len(self._steps):02d}.jpg"
        target.write_bytes(shot)
        return target

    def inputs(self) -> list[Path]:
        """Save the images of the intent and return their files."""
        targets = []
        for number, image in enumerate(self._environment.images):
            suffix = image.media_type.rpartition("/")[2]
            targets.append(self._pictures / f"{self._task.id}-input-{number}.{suffix}")
            self._pictures.mkdir(parents=True, exist_ok=True)
            targets[-1].write_bytes(image.data)
        return targets

    def watch(self, ended: threading.Event, every: float = 1.0) -> None:
        """Judge repeatedly while a user works in the browser's window; print the verdict when it changes."""
        problem = ""
        while not ended.wait(every):
            try:
                verdict = self.verdict(patient=False)
            except SiteError as error:  # the site may answer later
                if str(error) != problem:
                    problem = str(error)
                    self._say(f"error ({error.cause}): {problem}")
                continue
            if self._shown_verdict is None or verdict.results != self._shown_verdict.results:
                self._print(verdict, self._shown_verdict)


def about(task: Task) -> str:
    """Id and intent of the task, in lines of at most 80 columns."""
    return textwrap.fill(f"{task.id}: {readable(task.intent, task.leased)}", 80)


@contextmanager
def tryout(
    task: Task,
    resources: Resources,
    say: Callable[[str], None],
    pictures: Path,
    *,
    user_answers_dialogs: bool = False,
    uploads: Mapping[str, Path] | None = None,
) -> Iterator[Tryout]:
    """Set up ``task`` and yield its `Tryout`. ``user_answers_dialogs`` leaves dialogs to the user; ``uploads`` are
    files that steps may choose, by name."""
    holds_dialogs = user_answers_dialogs or answers_dialogs(task.solution or ())

    def tailor(config: SessionConfig) -> SessionConfig:
        config = replace(config, uploads={**config.uploads, **uploads}) if uploads else config
        return replace(config, dialogs="hold") if holds_dialogs else config

    with set_up_environment(task, resources, holder=f"trying out {task.id}", tailor=tailor) as environment:
        yield Tryout(task, environment, say, pictures)


def converse(
    task: Task,
    resources: Resources,
    read: Callable[[], str],
    say: Callable[[str], None],
    pictures: Path,
    *,
    play: bool = False,
    ended: Callable[[Tryout], None] = lambda trying: None,
) -> None:
    """Read commands until the end of input or ``quit``. A failing command prints its error, and the session continues.

    ``play`` first does the steps of the solution that work. ``ended`` is called before the sites are released.
    """
    parse = grammar("webarena").parse
    say(HELP)
    goes_on = True
    while goes_on:
        goes_on = False
        with tryout(task, resources, say, pictures) as trying:
            say("\n" + about(task))
            for image in trying.inputs():
                say(f"It comes with the picture {image}")
            if task.solution is None:
                say("It has no solution yet: act by hand, 'o' shows the elements.")
            if play:
                trying.play()
                trying.show_checks(changes=True)
            while command := _next(read):
                if command in ("r", "reset"):
                    goes_on = True
                    break
                try:
                    _run_command(trying, command, say, parse)
                except TrialError as error:
                    say(f"error ({error.cause}): {error}")
            if not goes_on:
                ended(trying)


def _next(read: Callable[[], str]) -> str:
    """The next command; empty at the end."""
    try:
        command = read().strip()
    except EOFError:
        return ""
    return "" if command in ("q", "quit") else command or "c"


def _run_command(trying: Tryout, command: str, say: Callable[[str], None], parse: Callable[[str], Action]) -> None:
    match command:
        case "h" | "help":
            say(HELP)
        case "o" | "see":
            say(trying.see())
        case "p" | "picture":
            say(str(trying.picture()))
        case "c" | "checks":
            trying.show_checks()
        case "s" | "solution":
            if trying.next_step():
                trying.show_checks(changes=True)
        case "a" | "all":
            while trying.steps_left and trying.next_step():
                pass
            trying.show_checks(changes=True)
        case _ if (which := re.fullmatch(r"(?:w|which)\s+(\S.*)", command)) is not None:
            found = trying.which(which[1])
            say("\n".join(found) or "nothing finds it alone: its role, name, text and place are others', too")
        case _:
            _do(trying, command, say, parse)


def _selector_candidates(target: TargetRecord, text: str) -> tuple[str, ...]:
    """Candidates of selectors by which the element may be found again; empty texts for impossible ones."""
    name, words = " ".join(target.name.split()), " ".join(target.text.split())
    return (
        f"role={target.role}[name={json.dumps(name, ensure_ascii=False)}s]"
        if target.role and 0 < len(name) < 80
        else "",
        f"text={json.dumps(words, ensure_ascii=False)}" if 1 < len(words) < 80 and not words.endswith("…") else "",
        "" if text.strip("[] ").isdecimal() else text,
        f"css={target.selector}" if target.selector else "",
    )


def _do(trying: Tryout, command: str, say: Callable[[str], None], parse: Callable[[str], Action]) -> None:
    """Carry out an action in either syntax."""
    try:
        steps = trying.parse(command)
    except ValueError as error:
        say(f"no step: {error}")
        return
    actions = steps if steps is not None else (parse(f"```{command}```"),)
    if actions[0].kind == "invalid":
        say(f"no action: {getattr(actions[0], 'reason', '')}; 'help' lists what there is")
    elif all(trying.act(action) for action in actions):
        trying.show_checks(changes=True)
