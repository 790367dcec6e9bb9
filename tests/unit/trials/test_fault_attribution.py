"""Sites that break under an agent: retries, control attempts, then a site error or the agent's failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.reports import Outcome, PageReading
from pytest_webarena.errors import SiteError, SiteUnreached, SiteYielded
from pytest_webarena.evidence import QuietWait, ReachedSite, RequestRecord, TabState, Unfinished
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.plugin.runner import facts
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.export import results_csv
from pytest_webarena.results.statistics import summarise
from pytest_webarena.sites.protocol.messages import ReleaseReport, SiteAccess
from pytest_webarena.tasks import Task
from pytest_webarena.testing import ScriptedAgent, make_task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.live import LiveTrial
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial

from .test_trial import FakeSession

TASK = make_task("intent: How many?\nsites: [shop]\nchecks: [{answer: {number: 42}}]", id="t")


class Site:
    """A site that breaks for the visitors with the given numbers, counted from 1 and including controls."""

    sites: ClassVar = {
        "shop": SiteAccess(
            name="shop", app="shop", url="http://shop.test", start="http://shop.test/", users={}, default_user="",
            login=None,
        )
    }  # fmt: skip
    replicas: tuple[Any, ...] = ()
    reach: ClassVar[Mapping[str, str]] = {}
    live: ClassVar[Mapping[str, object]] = {}
    own_addresses = OwnAddresses({})

    def __init__(self, *breaks: int, at_once: bool = False) -> None:
        self.breaks, self.at_once, self.leases = breaks, at_once, 0
        self.asked: list[bool] = []
        self.lives: float | None = None
        """Seconds that a lease's replica lives, whoever visits it; None: for ever."""
        self.leased = 0.0
        self.now: list[tuple[str, ...]] = []
        """What each visitor had leased at once beside it."""

        self.fresh: list[bool] = []

    def session(self) -> FakeSession:
        return FakeSession()

    @property
    def broken(self) -> bool:
        late = self.lives is not None and time.monotonic() - self.leased > self.lives
        return late or self.leases in self.breaks

    def requests(self) -> tuple[()]:
        return ()

    def mark(self, *, required: bool = False) -> None: ...

    def changes(self) -> tuple[()]:
        return ()

    def unrecorded(self) -> tuple[()]:
        return ()

    def wait_until_quiet(self, **how: Any) -> tuple[QuietWait, ...]:
        return ()

    def wait_for_writes(self, seconds: float, **more: float) -> tuple[()]:
        return ()

    def undisturbed(self) -> bool:
        return True

    def release(self) -> ReleaseReport:
        return ReleaseReport()

    def check(self, *, ask: bool = False) -> None:
        self.asked.append(ask)
        if self.broken:
            raise SiteError("it ended with exit code 3")


class RestlessSite(Site):
    """A working site with a page that never stops writing for the visitors with the given numbers."""

    @property
    def broken(self) -> bool:
        return False

    def wait_for_writes(self, seconds: float, **more: float) -> tuple[Unfinished, ...]:  # type: ignore[override]
        if self.leases not in self.breaks:
            return ()
        return (Unfinished(method="POST", url="http://shop.test/beat", seconds=0.1, waits_for="site", repeated=True),)


class WideSite(Site):
    """A working site whose visitors with the given numbers cannot reach the encyclopedia."""

    reach: ClassVar[Mapping[str, str]] = {"wiki": "http://wiki.test"}

    @property
    def broken(self) -> bool:
        return False

    def visited(self) -> tuple[ReachedSite, ...]:
        if self.leases in self.breaks:
            raise SiteUnreached("the wiki could not be had")
        return self.reached()

    def reached(self) -> tuple[ReachedSite, ...]:
        return (ReachedSite(site="wiki", app="wiki", url="http://wiki.test", shared=False),)


class YieldingSite(WideSite):
    """A working site whose first visitors yield, each after reaching ``more`` sites than the one before."""

    def __init__(self, *breaks: int, more: int = 1) -> None:
        super().__init__(*breaks)
        self.more = more

    def visited(self) -> tuple[ReachedSite, ...]:
        if self.leases in self.breaks:
            raise SiteYielded("it gave way")
        return self.reached()

    def reached(self) -> tuple[ReachedSite, ...]:
        names = [f"wiki{number}" for number in range(1 + self.more * self.leases)]
        return tuple(ReachedSite(site=name, app=name, url=f"http://{name}.test", shared=False) for name in names)


class Resources:
    def __init__(self, site: Site) -> None:
        self.site = site

    def engine(self) -> Any:
        @contextmanager
        def session(config: Any) -> Iterator[FakeSession]:
            yield self.site.session()

        return SimpleNamespace(version="fake 1", session=session)

    def session_config(self, lease: Any, state: Any) -> Any:
        if self.site.broken and self.site.at_once:
            raise SiteError("nobody answers")
        return SessionConfig()

    @contextmanager
    def _lease(self) -> Iterator[Any]:
        self.site.leases += 1
        self.site.leased = time.monotonic()
        yield self.site

    def lease(self, sites: Sequence[str], *, users: Mapping[str, str], holder: str, **reach: Any) -> Any:
        self.site.now.append(reach.get("now", ()))
        self.site.fresh.append("max_age" in reach)
        return self._lease()

    def login_state(self, lease: Any, users: Any) -> None:
        return None

    def keeper(self, users: Any) -> Any:
        return None


def run(
    tmp_path: Path, site: Site, *, retries: int = 1, agent: Any = None, seconds: float = 0.2, task: Task = TASK
) -> TrialRecord:
    def make(assignment: object) -> Any:
        return agent() if callable(agent) else agent or ScriptedAgent(Stop("42"))

    definition = AgentDefinition(id="a", make=make, digest="d")
    limits = EpisodeLimits(seconds=5 if agent is None else seconds)
    plan = TrialPlan(task=task, agent=definition, trial=1, limits=limits, options=TrialOptions(env_retries=retries))
    run_dir = RunDir(tmp_path)
    record = run_trial(plan, Resources(site), run_dir.folder(TrialKey("t", "a", 1)))
    (kept,) = run_dir.records()
    assert kept == TrialRecord.from_json(kept.to_json())
    return record


def outcomes(record: TrialRecord) -> list[str]:
    return [f"{each.outcome} {each.cause or ''}".strip() for each in record.attempts]


@pytest.mark.parametrize(("restless", "expected"), [((1, 2), "error site"), ((1, 3), "failed")])
def test_page_writing_endlessly_only_with_the_agent_fails(
    tmp_path: Path, restless: tuple[int, ...], expected: str
) -> None:
    site = RestlessSite(*restless)
    task = make_task("intent: Save\nsites: [shop]\nchecks: [{network: {url: /save}}]", id="t")
    record = run(tmp_path, site, task=task)
    assert outcomes(record) == [expected]
    assert "its page repeats it" in record.message
    assert site.leases == (3 if expected == "failed" else 2)  # no other attempt
    assert record.stop_reason == ("endless_writes" if expected == "failed" else "answered")


@pytest.mark.parametrize(
    ("breaks", "retries", "expected"),
    [
        # attempt, control without the agent, its actions again; the next attempt, …
        ([1], 0, ["failed"]),  # it broke by chance, whose fault is undecided
        ([1], 1, ["failed", "passed"]),
        ([1, 3], 0, ["failed"]),
        ([1, 3], 1, ["failed", "passed"]),  # a crash buys no second attempt
        ([1, 3, 4], 1, ["failed", "error site"]),
        ([1, 2], 0, ["error site"]),  # the control broke, too
        ([1, 2], 1, ["error site", "passed"]),
        ([1, 2, 3, 6], 1, ["error site", "failed"]),
        ([1, 2, 3, 5], 1, ["error site", "error site"]),  # one of two controls broke: a flaky site
        ([1, 2, 3, 4, 5, 9], 2, ["error site", "error site", "failed"]),
        ([1, 2, 3, 4, 5, 8], 2, ["error site", "error site", "error site"]),  # as many controls as breakages
    ],
)
def test_agent_fails_if_its_site_breaks_and_survives_the_controls(
    tmp_path: Path, breaks: list[int], retries: int, expected: list[str]
) -> None:
    record = run(tmp_path, Site(*breaks), retries=retries)
    assert outcomes(record) == expected, record.message
    counting = expected.index("failed") if "failed" in expected else len(expected) - 1
    assert (record.attempt, record.outcome) == (counting + 1, expected[counting].partition(" ")[0])
    passed_later = expected[counting + 1 :] == ["passed"]
    assert ("attempt 2 passed, which does not count" in record.message) == passed_later
    summary = summarise([record])["a"]
    assert (summary.passed_after_own_error, summary.retried) == (passed_later, counting > 0)
    assert summary.rate.passed == (record.outcome == "passed")


def test_later_attempt_that_ends_with_its_process_does_not_replace_the_one_that_counts(tmp_path: Path) -> None:
    """The record of a worker that died is written by another process, see `TrialFolder.finish`."""

    class Killed(BaseException):
        pass

    class DeadlySite(Site):
        def mark(self, *, required: bool = False) -> None:
            if self.leases == 4:
                raise Killed

    began = time.time()
    with pytest.raises(Killed):
        run(tmp_path, DeadlySite(1, 3))
    folder = RunDir(tmp_path).folder(TrialKey("t", "a", 1))
    lost = TrialRecord(
        key=TrialKey("t", "a", 1), outcome="error", cause="harness", attempt=2, started=time.time(), agent_digest="d",
        task_digest=TASK.digest,
    )  # fmt: skip
    record = folder.finish(lost, since=began - 1)
    assert (record.outcome, record.stop_reason, record.attempt) == ("failed", "broke_site", 1)


@pytest.mark.parametrize(
    ("breaks", "retries", "expected"),
    [
        ([1], 0, ["error site", "passed"]),
        ([1, 2], 0, ["error site", "error site"]),
        ([1, 2, 3], 2, ["error site", "error site", "error site"]),
    ],
)
def test_unavailable_reachable_site_is_never_the_agents_failure(
    tmp_path: Path, breaks: list[int], retries: int, expected: list[str]
) -> None:
    site = WideSite(*breaks)
    task = make_task("intent: How many?\nsites: [shop]\nreach: environment\nchecks: [{answer: {number: 42}}]", id="t")
    assert outcomes(run(tmp_path, site, retries=retries, task=task)) == expected
    assert site.leases == len(expected)  # no controls: the agent is not suspected
    assert site.now == [(), *[("wiki",)] * (len(expected) - 1)]


@pytest.mark.parametrize(
    ("more", "retries", "expected"),
    [
        (1, 0, ["error site", "error site", "error site", "passed"]),
        (1, 1, ["error site", "error site", "error site", "passed"]),
        (0, 1, ["error site", "error site", "error site"]),  # it already requested all of them at once
    ],
)
def test_yielding_a_replica_costs_no_retry(tmp_path: Path, more: int, retries: int, expected: list[str]) -> None:
    site = YieldingSite(1, 2, 3, more=more)
    task = make_task("intent: How many?\nsites: [shop]\nreach: environment\nchecks: [{answer: {number: 42}}]", id="t")
    assert outcomes(run(tmp_path, site, retries=retries, task=task)) == expected
    assert [len(names) for names in site.now] == [0, *(1 + more * number for number in range(1, len(expected)))]


class LivingSite(Site):
    """A live website, which has no fresh replica."""

    live: ClassVar[Mapping[str, Any]] = {"domains": ["example.com"]}


def test_broken_live_site_is_undecided_without_controls(tmp_path: Path) -> None:
    site = LivingSite(1, 2)
    record = run(tmp_path, site)
    assert (outcomes(record), record.undecided) == (["failed", "error site"], True)
    assert site.leases == 2  # no controls


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_site_that_breaks_before_any_action_is_a_site_error(tmp_path: Path, retries: int) -> None:
    record = run(tmp_path, Site(*range(1, 9), at_once=True), retries=retries)
    assert outcomes(record) == ["error site"] * (retries + 1)
    assert record.message == "nobody answers"


def test_broken_site_fails_with_its_own_stop_reason(tmp_path: Path) -> None:
    record = run(tmp_path, Site(1, 3), retries=0)
    assert (record.score, record.cause, record.stop_reason) == (0.0, None, "broke_site")
    assert record.message.startswith("the agent broke the site: without the agent it does not occur, and its actions")
    assert record.message.endswith("it ended with exit code 3")
    assert (record.event, record.control) == ("site", "recurs")
    summary = summarise([record])["a"]
    assert (summary.rate.passed, summary.rate.failed, summary.rate.errors) == (0, 1, 0)
    assert summary.stop_reasons == {"broke_site": 1}
    assert "broke_site" in results_csv([record])
    assert ("stop_reason", "broke_site") in facts(record)


def test_sites_are_checked_at_the_end_and_earlier_after_a_timeout(tmp_path: Path) -> None:
    site = Site()
    assert run(tmp_path / "quick", site).outcome == "passed"
    assert site.asked == [False, True]
    site.asked.clear()
    thinking = threading.Event()
    record = run(tmp_path / "late", site, agent=SimpleNamespace(act=lambda observation: thinking.wait()))
    thinking.set()
    assert record.stop_reason == "time"
    assert site.asked == [True, True]


@pytest.mark.parametrize("breaks", [(), (2,)], ids=["long attempts", "a short one after a long one"])
def test_site_that_dies_after_some_time_is_a_site_error(tmp_path: Path, breaks: tuple[int, ...]) -> None:
    """The agent takes longer than the site lives; a shorter control would find the site working."""
    site = Site(*breaks)
    site.lives = 0.3

    class Patient:
        def act(self, observation: object) -> object:
            while not site.broken:
                threading.Event().wait(0.01)
            return Stop("42")

    record = run(tmp_path, site, agent=Patient(), seconds=60)
    assert outcomes(record) == ["error site", "error site"]
    assert record.message == "it ended with exit code 3"


class HalfDownSite(Site):
    """A site that answers 503 at one address to the visitors in ``down``, counted from 1."""

    def __init__(self, *down: int) -> None:
        super().__init__()
        self.down = down
        self.log: list[RequestRecord] = []

    def session(self) -> FakeSession:
        self.log = []
        return VisitingSession(self)

    def status(self, path: str) -> int:
        return 503 if path == "/stock" and self.leases in self.down else 200

    def requests(self) -> tuple[RequestRecord, ...]:  # type: ignore[override]
        return tuple(self.log)

    def own_answer(self, url: str) -> str:
        return ""


class VisitingSession(FakeSession):
    def __init__(self, site: HalfDownSite) -> None:
        self.site, self.urls = site, ["about:blank"]

    def open_tabs(self, urls: Any) -> None:
        self.urls = list(urls)
        for url in urls:
            status = self.site.status(url.removeprefix("http://shop.test"))
            self.site.log.append(RequestRecord(time=0.0, method="GET", url=url, status=status))

    def execute(self, action: Goto) -> Outcome:
        self.open_tabs([action.url])
        return Outcome(url_after=action.url)

    def tabs(self) -> tuple[TabState, ...]:
        return tuple(TabState(url=url, title="", html="", active=True) for url in self.urls)

    def read_page(self, **arguments: Any) -> PageReading:
        status = self.site.status(self.urls[0].removeprefix("http://shop.test"))
        return PageReading(url=self.urls[0], status=status, texts=("tea",))


@pytest.mark.parametrize(
    ("check", "down", "expected"),
    [
        ("url: /stock", (1, 2, 3, 4), ["failed", "error site"]),  # its address alone shows it
        ("state: {api: /stock, includes: tea}", (1, 2, 3, 5), ["error site", "error site"]),  # one of two controls
        ("url: /stock", (1, 3, 4), ["failed", "error site"]),
        ("page: {excludes: overdue}", (1, 2, 3, 4), ["failed", "error site"]),
        ("page: {excludes: overdue}", (1, 3), ["failed", "passed"]),
        ("page: {excludes: overdue}, when: any_step", (1, 2, 3, 4), ["failed", "error site"]),
        ("state: {api: /stock, includes: tea}", (1, 2, 3, 6), ["error site", "failed"]),
    ],
)
def test_agent_fails_only_if_the_site_responds_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: str, down: Sequence[int], expected: list[str]
) -> None:
    """The task fails without the agent's answer, whether the site responds or not."""
    site = HalfDownSite(*down)
    monkeypatch.setattr(LiveTrial, "fetch", lambda live, name, path, **sent: (site.status(path), "tea"))
    task = make_task(f"intent: How many?\nsites: [shop]\nchecks: [{{answer: {{number: 42}}}}, {{{check}}}]", id="t")
    record = run(tmp_path, site, task=task, agent=lambda: ScriptedAgent(Goto("http://shop.test/stock"), Stop("42")))
    assert outcomes(record) == expected, record.message
    failed = "unattributed" if record.undecided else "broke_site"
    assert record.stop_reason == (failed if "failed" in expected else "answered")
    assert record.undecided == (down[1:2] == (2,) and "failed" in expected and expected[0] == "failed")


def test_controls_visit_the_page_that_breaks_the_site_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent ends on that page; its check reads another page, which responds without the agent."""

    class Poisoned(HalfDownSite):
        poisoned = False

        def status(self, path: str) -> int:
            self.poisoned |= path == "/poison"
            return 503 if self.poisoned else 200

        def session(self) -> FakeSession:
            self.poisoned = False
            return super().session()

    site = Poisoned()
    monkeypatch.setattr(LiveTrial, "fetch", lambda live, name, path, **sent: (site.status(path), "tea"))
    check = "{answer: {number: 42}}, {state: {api: /stock, includes: tea}}"
    task = make_task(f"intent: How many?\nsites: [shop]\nchecks: [{check}]", id="t")
    record = run(tmp_path, site, task=task, agent=lambda: ScriptedAgent(Goto("http://shop.test/poison"), Stop("42")))
    assert outcomes(record) == ["failed", "error site"], record.message
