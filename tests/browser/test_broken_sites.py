"""Trials on a site that dies, hangs or sends nonsense: fault attribution and evidence for verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.agents.protocol import Assignment
from pytest_webarena.browser.config import Deadlines, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.errors import SiteError
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from pytest_webarena.testing import ScriptedAgent, make_task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import WRITE_TIMEOUT, TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from tests.frail import write_catalogue

SITE = "http://frail.test"
Try = Callable[..., TrialRecord]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerClient]:
    folder = tmp_path_factory.mktemp("frail")
    config = BrokerConfig(catalogue=str(write_catalogue(folder)), run_dir=folder, max_replicas=3)
    with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="main") as client:
        yield client


@pytest.fixture
def attempt(engine: BrowserEngine, client: BrokerClient, quick: Deadlines, tmp_path: Path) -> Try:
    """Run one trial with these checks and an agent that takes these actions; ``once``: only in its first attempt."""

    class Resources:
        def keeper(self, users: Mapping[str, str]) -> Any:
            return None

        def engine(self) -> BrowserEngine:
            return engine

        def session_config(self, lease: Lease | None, state: Mapping[str, Any] | None) -> SessionConfig:
            return SessionConfig(
                proxy=lease.proxy if lease else None,
                harness_proxy=lease.harness_proxy if lease else None,
                deadlines=quick,
            )

        def lease(self, sites: Sequence[str], *, users: Mapping[str, str], holder: str, **reach: Any) -> Lease:
            return client.lease(sites, holder=holder, timeout=60)

        def login_state(self, lease: Lease, users: Mapping[str, str]) -> None:
            return None

    def attempt(
        checks: str,
        *actions: Any,
        retries: int = 1,
        limits: EpisodeLimits | None = None,
        once: bool = False,
        write_timeout: float = WRITE_TIMEOUT,
        driver: Any = None,
    ) -> TrialRecord:
        def make(assignment: Assignment) -> Any:
            return driver or ScriptedAgent(*(() if once and assignment.attempt > 1 else actions), Stop("done"))

        task = make_task(f"intent: Add a note.\nsites: [frail]\nchecks: {checks}", id="frail")
        agent = AgentDefinition(id="a", make=make, digest="d", self_driving=driver is not None)
        plan = TrialPlan(
            task=task,
            agent=agent,
            trial=1,
            limits=limits or EpisodeLimits(steps=9, seconds=60),
            options=TrialOptions(env_retries=retries, write_timeout=write_timeout),
        )
        return run_trial(plan, Resources(), RunDir(tmp_path).folder(TrialKey("frail", "a", 1)))

    return attempt


def attempts_of(record: TrialRecord) -> list[tuple[str, str | None]]:
    return [(each.outcome, each.cause) for each in record.attempts]


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    "check",
    [
        "{page: {open: /die, includes: notes}}",
        "{page: {open: /die, status: 502}}",
        "{not: {page: {open: /die, includes: notes}}}",
        "{any: [{page: {open: /die, includes: notes}}, {answer: {exact: done}}]}",
        "{state: {api: {path: /die, status: 200}}}",
        "{state: {api: /die, includes: notes}}",
        "{not: {state: {api: {path: /blunt, status: 200}}}}",
    ],
)
def test_site_crash_during_checks_is_a_site_error(attempt: Try, check: str) -> None:
    record = attempt(f"[{check}]", retries=0)
    assert attempts_of(record) == [("error", "site")], record.message
    assert "exit code 3" in record.message or "without an answer" in record.message


def test_site_health_is_checked_after_all_other_checks(attempt: Try) -> None:
    last_words = "fetch('/die').then(answer => answer.text())"  # a response that is never read counts as pending
    record = attempt(f'[{{page: {{open: /, prepare: "{last_words}", includes: notes}}}}]')  # its content is fine
    assert attempts_of(record) == [("error", "site")] * 2, record.message


@pytest.mark.exhaustive
def test_environment_raises_instead_of_reward_when_site_crashed(
    shared_engine: BrowserEngine, tmp_path: Path, browser_executable: str | None
) -> None:
    from pytest_webarena.gym.env import TasksEnv

    task = make_task("intent: Add a note.\nsites: [frail]\nchecks: [{not: {page: {open: /die, includes: notes}}}]")
    env = TasksEnv(task, sites=str(write_catalogue(tmp_path)), browser_executable=browser_executable)
    try:
        env.reset()
        with pytest.raises(SiteError, match="exit code 3"):
            env.step(Stop("done"))
    finally:
        env.close()


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    "check",
    ["{page: {open: 'http://elsewhere.test/', CONDITION}}", "{page: {open: 'https://elsewhere.test/', CONDITION}}"],
)
@pytest.mark.parametrize("condition", ["includes: reached", "excludes: notes", "status: 403"])
def test_check_that_opens_foreign_address_is_a_task_error(attempt: Try, check: str, condition: str) -> None:
    record = attempt(f"[{check.replace('CONDITION', condition)}]")
    assert attempts_of(record) == [("error", "task")]
    assert "expected a page of this task's sites (frail), found http" in record.message


def test_site_redirecting_checks_elsewhere_is_a_site_error(attempt: Try) -> None:
    record = attempt("[{not: {page: {open: /away, includes: notes}}}]", retries=0)
    assert attempts_of(record) == [("error", "site")], record.message
    assert "leads to http://elsewhere.test/" in record.message


def test_gateway_error_page_satisfies_no_condition(attempt: Try) -> None:
    conditions = ("includes: reached", "excludes: notes", "locate: css=form, count: 0")
    checks = ", ".join(f"{{page: {{{condition}}}}}" for condition in conditions)
    record = attempt(f"[{checks}]", Goto("http://elsewhere.test/"))
    assert record.outcome == "failed", record.message
    assert record.verdict is not None
    for condition, result in zip(conditions, record.verdict["results"], strict=True):
        assert (result["score"], "no page of a site" in str(result)) == (0, True), (condition, result)


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("path", "retries"), [("/die", 0), ("/die", 1), ("/freeze", 1), ("/lie-down", 1), ("/blunt", 1)]
)
def test_agent_that_breaks_its_site_fails(attempt: Try, path: str, retries: int) -> None:
    record = attempt("[{answer: {exact: done}}]", Goto(f"{SITE}{path}"), Goto(f"{SITE}/"), retries=retries)
    assert attempts_of(record) == [("failed", None), ("error", "site")][: retries + 1], record.message
    assert (record.outcome, record.stop_reason, record.score) == ("failed", "broke_site", 0.0)
    assert record.message.startswith("the agent broke the site: ")


@pytest.mark.matrix(1)
@pytest.mark.parametrize("path", ["/die", "/freeze", "/lie-down", "/blunt"])
def test_site_that_breaks_at_an_address_is_undecided(attempt: Try, path: str) -> None:
    """The address may be one that everybody can follow."""
    record = attempt("[{answer: {exact: done}}]", Goto(f"{SITE}{path}"), retries=0)
    assert (record.undecided, record.event, record.control) == (True, "site", "address"), record.message


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("check", "owner"),
    [("{page: {open: /closed, includes: notes}}", ("error", "fails")), ("{url: /closed}", ("failed", "address"))],
)
def test_address_that_never_answers_is_not_blamed_on_the_agent(
    attempt: Try, check: str, owner: tuple[str, str]
) -> None:
    """Without the agent, the answer is missing too, so the task fails there; that does not depend on the address."""
    record = attempt(f"[{{answer: {{exact: done}}}}, {check}]", Goto(f"{SITE}/closed"), retries=0)
    assert (record.outcome, record.control) == owner, record.message


def test_site_that_restarts_itself_is_not_broken(attempt: Try) -> None:
    record = attempt("[{page: {open: /, includes: notes}}]", Goto(f"{SITE}/restart"))
    assert attempts_of(record) == [("passed", None)], record.message


@pytest.mark.exhaustive
def test_hanging_site_is_not_counted_as_agent_timeout(attempt: Try) -> None:
    limits = EpisodeLimits(steps=50, seconds=4)
    actions = [Goto(f"{SITE}/freeze")] + [Goto(f"{SITE}/")] * 20
    record = attempt("[{state: {sql: select count(*) from notes, equals: 0}}]", *actions, limits=limits, once=True)
    assert attempts_of(record) == [("failed", None), ("passed", None)], record.message  # repeated, it breaks again
    assert record.stop_reason == "broke_site"
    assert "it runs, but does not answer; no success within 2 s" in record.attempts[0].message


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "page",
    [
        "open: /, locate: 'js=nonsense.here', excludes: a",
        "open: /, locate: 'js=nonsense.here', count: 0",
        "open: /, prepare: nonsense(), excludes: nothing",
        "locate: 'js=(() => { throw new Error() })()', count: 0",
    ],
)
def test_throwing_check_script_is_a_task_error(attempt: Try, page: str) -> None:
    for check in (f"{{page: {{{page}}}}}", f"{{not: {{page: {{{page}}}}}}}"):
        record = attempt(f"[{check}]")
        assert attempts_of(record) == [("error", "task")], record.message
        assert "could not be read: " in record.message
