"""Controls and retries of single trials: their number and order, what they repeat, and whose faults they find."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.browser.faults import PageCrashed
from pytest_webarena.browser.reports import Outcome
from pytest_webarena.errors import BrowserError, BrowserLost, SiteError
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.plugin.resuming import close_lost, finished_trials
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.lost_trials import FILE
from pytest_webarena.testing import ScriptedAgent, make_task
from pytest_webarena.trials import hung_agent
from pytest_webarena.trials.agent_run import run_agent
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.rescoring import Rescorer
from pytest_webarena.trials.trial import run_trial
from tests.unit.trials.owner_events import CASES, PAGE, SCENARIOS, FaultySession, FaultySite, Result, launched_by
from tests.unit.trials.owner_events import run as run_scenario
from tests.unit.trials.test_fault_attribution import HalfDownSite, LivingSite, Resources, Site, VisitingSession

from .comparing import ending_of
from .project import once
from .rules import Ending, expected, retried


def attempt(site: Site, *, retries: int = 0, folder: Path | None = None, **how: Any) -> TrialRecord:
    """The record of a trial on ``site`` with this number of retries."""
    with tempfile.TemporaryDirectory(prefix="owners-") as made:
        run = RunDir(folder or Path(made))

        def launch(plan: TrialPlan, resources: Resources) -> TrialRecord:
            options = replace(plan.options, env_retries=retries)
            return run_trial(replace(plan, options=options), resources, run.folder(plan.key))

        with launched_by(launch):
            return run_scenario(Path(made), site, **how)


def wrong(name: str, record: TrialRecord, ending: Ending, *, attempts: int = 1) -> Iterator[str]:
    """How the record differs from what it must be."""
    if (found := ending_of(record)) != ending:
        yield f"{name}: {found} instead of {ending}"
    if len(record.attempts) != attempts:
        yield f"{name}: {len(record.attempts)} attempts instead of {attempts}"


def numbers_of_controls() -> Iterator[str]:
    """A site that breaks for visitors with these numbers: the attempts, and the controls of each."""
    table: Sequence[tuple[tuple[int, ...], int, Sequence[str], int]] = (
        # visitors that break it, retries, endings of the attempts, visitors
        ((1,), 0, ["failed"], 3),
        ((1,), 1, ["failed", "passed"], 4),  # a crash buys no second attempt
        ((1, 3), 1, ["failed", "passed"], 4),
        ((1, 2), 0, ["error"], 2),
        ((1, 2), 1, ["error", "passed"], 3),
        ((1, 2, 3, 6), 1, ["error", "failed"], 6),  # two controls after the second attempt, then its actions
        ((1, 2, 3, 5), 1, ["error", "error"], 5),  # the second of two controls breaks
        ((1, 2, 3, 4, 5, 8), 2, ["error", "error", "error"], 8),  # the last of three controls breaks
        ((1, 2, 3, 4, 5, 9), 2, ["error", "error", "failed"], 9),
    )
    for breaks, retries, endings, visitors in table:
        site = Site(*breaks)
        record = attempt(site, retries=retries)
        name = f"visitors {breaks}, {retries} retries"
        if (shown := [each.outcome for each in record.attempts]) != endings:
            yield f"{name}: {shown} instead of {endings}"
        if site.leases != visitors:
            yield f"{name}: {site.leases} visitors instead of {visitors}"
        counting = endings.index("failed") + 1 if "failed" in endings else len(endings)
        if (record.attempt, record.outcome) != (counting, endings[counting - 1]):
            yield f"{name}: attempt {record.attempt} counts instead of {counting}"
        if endings[counting:] == ["passed"] and "does not count" not in record.message:
            yield f"{name}: the message does not say that a later attempt passed"


def events_with_retries() -> Iterator[str]:
    """Each event with one retry, whose agent answers rightly: only the environment's errors buy another attempt."""
    for event, result in CASES:
        with tempfile.TemporaryDirectory(prefix="owners-") as folder, pytest.MonkeyPatch.context() as monkey:

            def launch(plan: TrialPlan, resources: Resources, folder: str = folder) -> TrialRecord:
                agent = replace(plan.agent, make=once(plan.agent.make))
                own = replace(plan, agent=agent, options=replace(plan.options, env_retries=1))
                return run_trial(own, resources, RunDir(Path(folder)).folder(plan.key))

            with launched_by(launch):
                record = SCENARIOS[event](Path(folder), monkey, result)
        ending, bought = retried(event, result), expected(event, result) == "error"
        if (found := ending_of(record)) != ending:
            yield f"{event} ({result}): {found} instead of {ending}"
        if ending != "error" and record.attempt != 1 + bought:
            yield f"{event} ({result}): attempt {record.attempt} counts"


def controls() -> Iterator[str]:
    """What a control does, and what its own faults mean."""
    crash: Callable[[], Exception] = lambda: PageCrashed("out of memory")  # noqa: E731
    solved = make_task(
        "intent: How many?\nsites: [shop]\nchecks: [{answer: {number: 42}}]\n"
        "solution: [goto: 'shop:/stock', stop: '42']",
        id="t",
    )
    yield from wrong("its own solution breaks it", attempt(FaultySite(crash, 1, 3, 4), task=solved), "error")
    yield from wrong("its own solution works", attempt(FaultySite(crash, 1, 3), task=solved), "failed")
    # the third visitor repeats the agent's actions: a fault of another kind says nothing, nor does one before them
    faults = iter([PageCrashed("x"), RuntimeError("a bug in the repetition")])
    yield from wrong("a repetition that fails", attempt(FaultySite(lambda: next(faults), 1, 3)), "undecided")

    class Unready(FaultySite):
        def session(self) -> VisitingSession:
            self.everywhere = 3
            return super().session()

    yield from wrong("a repetition that does not begin", attempt(Unready(crash, 1, 3)), "undecided")
    yield from wrong("a harness's own agent", attempt(FaultySite(crash, 1), kind="built-in"), "error")
    yield from wrong(
        "a harness's own agent that breaks it", attempt(FaultySite(crash, 1, 3), kind="built-in"), "failed"
    )
    yield from late_site()
    for event in ("refused_request", "model", "model_access"):
        with tempfile.TemporaryDirectory(prefix="owners-") as folder, pytest.MonkeyPatch.context() as monkey:
            yield from wrong(f"{event} without a control", SCENARIOS[event](Path(folder), monkey, None), "undecided")


def late_site() -> Iterator[str]:
    """A site that dies after a while, whoever visits it: controls last as long as the longest attempt."""
    site = Site(2)  # the second visitor would be a short one after the first attempt
    site.lives = 0.2

    class Patient:
        def act(self, observation: object) -> object:
            while not site.broken:
                threading.Event().wait(0.01)
            return Stop("42")

    yield from wrong(
        "a site that dies without cause", attempt(site, retries=1, make=lambda task: Patient()), "error", attempts=2
    )


def interrupted() -> Iterator[str]:
    """The first action breaks the page before it is recorded as a step."""
    table: Sequence[tuple[tuple[int, ...], Ending]] = (((1, 3), "failed"), ((1,), "undecided"))
    for breaks, ending in table:
        visited: list[tuple[int, str]] = []

        class Interrupted(FaultySession):
            seconds_since_first_action = 1.0

            def execute(
                self, action: Goto, breaks: tuple[int, ...] = breaks, visited: list[tuple[int, str]] = visited
            ) -> Outcome:
                visited.append((self.site.leases, action.url))
                if self.site.leases in breaks:
                    raise PageCrashed("while it loads")
                return super().execute(action)

        class Crashing(FaultySite):
            def session(self, session: type[FaultySession] = Interrupted) -> VisitingSession:
                super().session()
                return session(self)

        record = attempt(Crashing(lambda: PageCrashed("x")))
        yield from wrong(f"visitors {breaks}", record, ending)
        if [url for lease, url in visited if lease == 3] != [PAGE]:
            yield f"visitors {breaks}: the interrupted action is not repeated"


def self_driving() -> Iterator[str]:
    """Actions of an agent that drives the browser are not repeated: the recorded steps are not all that it did."""

    @contextmanager
    def open_driven(engine: Any, config: Any, *, rooted: bool = False) -> Iterator[Any]:
        with engine.session(config) as session:
            yield session, object()

    def act(plan: TrialPlan, environment: Any, *rest: Any) -> Any:
        if plan.agent.self_driving:
            environment.session.execute(Goto(PAGE))
            environment.session.observe()
        raise AssertionError("the page breaks")

    table: Sequence[tuple[tuple[int, ...], Ending, int]] = (((1,), "failed", 2), ((1, 2), "error", 2))
    for breaks, ending, visitors in table:
        site = FaultySite(lambda: PageCrashed("x"), *breaks, everywhere=2)
        with (
            patch("pytest_webarena.browser.driven.open_driven", open_driven),
            patch("pytest_webarena.trials.trial.run_agent", act),
            patch.object(FaultySession, "addresses", ()),
        ):
            record = attempt(site, self_driving=True)
        yield from wrong(f"visitors {breaks}", record, ending)
        if site.leases != visitors:
            yield f"visitors {breaks}: {site.leases} visitors instead of {visitors}"


def killers() -> Iterator[str]:
    """A fault that neither a control nor the agent's actions show again: whoever ran code there may have caused it."""
    table: Sequence[tuple[str, str, bool]] = (
        ("python", "in-process", True), ("process", "process", True), ("process", "wrapped", True),
        ("http", "process", True), ("cdp", "wrapped", True), ("process", "sandboxed", False),
        ("model", "in-process", False), ("replay", "in-process", False), ("scripted", "in-process", False),
    )  # fmt: skip
    for kind, tier, could in table:
        how = {"kind": kind, "tier": tier}
        with patch("pytest_webarena.trials.trial._SHARED_LOSSES", 0):
            record = attempt(FaultySite(lambda: BrowserLost("killed"), 1), **how)
        yield from wrong(f"a shared browser and {tier} {kind}", record, "undecided" if could else "error")
        for error in (BrowserError, SiteError):
            record = attempt(FaultySite(lambda error=error: error("killed"), 1), **how)  # type: ignore[misc]
            yield from wrong(f"{error.__name__} and {tier} {kind}", record, "undecided")


def shared_browsers() -> Iterator[str]:
    """The loss of a shared browser costs no retry, once; then the trial and its controls have one of their own."""
    for retries in (0, 1):
        site, alone = FaultySite(lambda: BrowserLost("x"), *range(1, 30), everywhere=1), list[bool]()
        resources = Resources(site).engine().session

        @contextmanager
        def session(config: Any, alone: list[bool] = alone, opened: Any = resources) -> Iterator[Any]:
            alone.append(config.own_browser)
            with opened(config) as found:
                yield found

        engine = Resources(site).engine()
        engine.session = session
        with patch.object(Resources, "engine", lambda self, engine=engine: engine):
            record = attempt(site, retries=retries, kind="model")
        yield from wrong(f"{retries} retries", record, "error", attempts=2 + retries)
        if alone != [False, *[True] * (len(alone) - 1)]:
            yield f"{retries} retries: own browsers {alone}"
    owned: list[bool] = []
    site = FaultySite(lambda: BrowserLost("x"), 1, 3)
    with patch("pytest_webarena.trials.trial._SHARED_LOSSES", 5):  # so that the attempt shares its browser
        real = Resources(site).engine().session

        @contextmanager
        def noted(config: Any) -> Iterator[Any]:
            owned.append(config.own_browser)
            with real(config) as found:
                yield found

        engine = Resources(site).engine()
        engine.session = noted
        with patch.object(Resources, "engine", lambda self: engine):
            attempt(site)
    if owned[:3] != [False, True, True]:
        yield f"controls with own browsers: {owned}"


def live_sites() -> Iterator[str]:
    """There is no second copy of a live site, so no control."""
    site = LivingSite(1, 2)
    yield from wrong("it breaks", attempt(site, retries=1), "undecided", attempts=2)
    if site.leases != 2:
        yield f"{site.leases} visitors instead of 2"


class MissingSite(HalfDownSite):
    """A site whose page ``/stock`` was not served, as the other fields of its request say."""

    def __init__(self, *, live: bool, **request: Any) -> None:
        super().__init__()
        self.request = request
        if live:
            self.live = {"domains": ["shop.test"]}  # type: ignore[misc]

    def requests(self) -> tuple[RequestRecord, ...]:
        of_page = {"request_headers": (("Sec-Fetch-Dest", "document"),), **self.request}
        return tuple(replace(each, **of_page) if each.url == PAGE else each for each in self.log)


def missing_pages() -> Iterator[str]:
    """A page that an archive lacks, or that a live site refuses: the agent may have chosen it, unless it came first."""
    late: dict[str, Any] = {"time": 1e12}
    table: Sequence[tuple[bool, dict[str, Any], Ending]] = (
        (False, {"lacks": "page"}, "undecided"), (False, {"lacks": "part"}, "undecided"),
        (False, {"lacks": "extra"}, "failed"), (True, {"obstacle": "blocked", **late}, "undecided"),
        (True, {"obstacle": "site", **late}, "undecided"), (True, {"obstacle": "blocked"}, "error"),
        (True, {"obstacle": "site"}, "error"),
    )  # fmt: skip
    for live, request, ending in table:
        for answer, right in (("41", ending), ("42", "passed")):
            make = lambda assignment, answer=answer: ScriptedAgent(Goto(PAGE), Stop(answer))  # noqa: E731
            record = attempt(MissingSite(live=live, **request), make=make)
            yield from wrong(f"{request}, answer {answer}", record, right)


def older_records() -> Iterator[str]:
    """Records of versions that excluded what only the agent reports from the rate."""
    plain = TrialRecord(key=TrialKey("t", "a", 1), outcome="error", cause="model", message="x").to_json()
    table: Sequence[tuple[str, Ending]] = (
        ("declared", "undecided"), ("usage_unreported", "undecided"), ("not_archived", "undecided"),
        ("site_unavailable", "undecided"), ("hindered", "undecided"), ("budget", "error"), ("", "error"),
    )  # fmt: skip
    for shortfall, ending in table:
        record = TrialRecord.from_json({**plain, "schema_version": 12, "shortfall": shortfall})
        if (found := ending_of(record)) != ending:
            yield f"{shortfall or 'none'}: {found} instead of {ending}"


class Killed(BaseException):
    """The end of a process."""


def lost_processes() -> Iterator[str]:
    """The record that counts if the process ends while the agent runs: prepared before, and found by the next one."""
    table: Sequence[tuple[tuple[int, ...], int, Ending, int]] = (
        # visitors that break the site, the one that ends the process, ending and attempt that count
        ((), 1, "undecided", 1), ((1, 3), 4, "failed", 1), ((1,), 4, "undecided", 1), ((1, 2), 3, "undecided", 2),
    )  # fmt: skip
    for breaks, dying, ending, counting in table:
        site = Site(*breaks)
        watched: list[dict[str, Any]] = []

        @contextmanager
        def watch(*file: Path, watched: list[dict[str, Any]] = watched, **announced: Any) -> Iterator[None]:
            watched.append(announced)
            yield

        def act(*trial: Any, site: Site = site, dying: int = dying) -> Any:
            if site.leases == dying:
                raise Killed
            return run_agent(*trial)

        name = f"visitors {breaks} break it, {dying} ends the process"
        with tempfile.TemporaryDirectory(prefix="owners-") as folder:
            run = RunDir(Path(folder))
            with (
                patch.object(hung_agent, "watched", watch),
                patch("pytest_webarena.trials.trial.run_agent", act),
                pytest.raises(Killed),
            ):
                attempt(site, retries=1, folder=Path(folder))
            (trial,) = run.trials.iterdir()
            (trial / "trial.json").unlink(missing_ok=True)
            last = len(list(trial.glob("attempt-*")))
            lost = json.loads(next(trial.glob(f"attempt-*/{FILE}")).read_text())
            close_lost(run)
            closed = {(each.key.task, *each.key.entrant): ending_of(each) for each in run.records()}
            again = {trial[:3] for trial in finished_trials(run)}
            if [*closed.values()] != [ending] or len(again) != 1:
                yield f"{name}: --resume finds {closed}, and {again} finished"
        records = {
            "ended": lost["record"],
            "blocked": watched[-1]["acting"],
            "blocked between calls": watched[-1]["idle"],
        }
        for kind, data in records.items():
            record = TrialRecord.from_json(data)
            # an agent that holds the interpreter during its call has failed
            right: Ending = "failed" if kind == "blocked" and counting == last else ending
            if (ending_of(record), record.attempt) != (right, counting):
                yield f"{name}: of a process that {kind}, attempt {record.attempt} counts as {ending_of(record)}"


def rescoring() -> Iterator[str]:
    """Judging again finds the same owner, as long as task and evidence are the same."""
    table: Sequence[tuple[str, Result]] = (
        ("renderer", "recurs"), ("site", "recurs"), ("renderer", "works"), ("declared", None),
        ("unread_site", "recurs"), ("unread_site", "works"), ("unread_site", "fails"), ("unreported_usage", None),
        ("uncounted_usage", None), ("too_large", None), ("disk", None),
    )  # fmt: skip
    for event, result in table:
        with tempfile.TemporaryDirectory(prefix="owners-") as folder, pytest.MonkeyPatch.context() as monkey:
            plans: list[TrialPlan] = []

            def launch(
                plan: TrialPlan, resources: Any, plans: list[TrialPlan] = plans, to: str = folder
            ) -> TrialRecord:
                plans.append(plan)
                return run_trial(plan, resources, RunDir(Path(to)).folder(plan.key))

            with launched_by(launch):
                SCENARIOS[event](Path(folder), monkey, result)
            rescorer = Rescorer(
                RunDir(Path(folder)), options=TrialOptions(), judge=Judge(JudgeSettings()), agents={"a": "a"}
            )
            record = rescorer.run(plans[0].task, "a", 1, browser="chromium", node_id="")
            yield from wrong(f"{event} ({result})", record, expected(event, result))
            edited = replace(plans[0].task, checks=(), digest="edited")
            if expected(event, result) == "failed" and event != "too_large":
                again = rescorer.run(edited, "a", 1, browser="chromium", node_id="")
                yield from wrong(f"{event} ({result}) without checks", again, "failed")


CASES_OF_ATTEMPTS: Mapping[str, Callable[[], Iterator[str]]] = {
    "as many controls as attempts": numbers_of_controls,
    "each event with a retry": events_with_retries,
    "controls": controls,
    "an interrupted first action": interrupted,
    "an agent that drives the browser": self_driving,
    "agents that could have killed what broke": killers,
    "shared browsers": shared_browsers,
    "live sites": live_sites,
    "missing pages": missing_pages,
    "records of older versions": older_records,
    "a process that ends in an attempt": lost_processes,
    "judging again": rescoring,
}
