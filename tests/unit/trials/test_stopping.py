"""Stopping of agents and sites after consecutive errors."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import Unready
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.trials.stopping import BROWSER, Stops


def record(cause: Any = None, *, agent: str = "a", sites: tuple[str, ...] = ("shop",), **more: Any) -> TrialRecord:
    """Return the record of a trial with this error, or with a verdict if ``cause`` is None."""
    outcome: Any = "error" if cause else "failed"
    return TrialRecord(
        key=TrialKey("t", agent, 1), outcome=outcome, cause=cause, sites=sites, message="no answer",
        **{"seconds": {"episode": 1.0}, **more},
    )  # fmt: skip


def note(stops: Stops, record: TrialRecord) -> None:
    stops.note(record, (*record.sites, BROWSER))


def why(stops: Stops, agent: str = "a", *sites: str, browser: str = "chromium") -> str:
    found = stops.why_not(agent, browser, (*(sites or ("shop",)), BROWSER))
    return "" if found is None else found.reason


def test_consecutive_errors_stop_only_their_agent(tmp_path: Path) -> None:
    stops = Stops(tmp_path, 3)
    for _ in range(2):
        note(stops, record("model"))
        note(stops, record("model", agent="b"))
    assert not why(stops)
    note(stops, record(agent="b"))
    note(stops, record("browser"))  # another cause neither counts nor ends the row
    note(stops, record("model"))
    note(stops, record("model", agent="b"))
    assert why(Stops(tmp_path, 3)) == "a: stopped after 3 errors in a row (model), the latest: no answer"
    assert not why(stops, "b")
    assert not why(stops, browser="firefox")
    note(stops, record())  # running trials still end
    assert why(stops)


def test_site_errors_stop_tasks_with_all_of_those_sites(tmp_path: Path) -> None:
    stops = Stops(tmp_path, 2)
    for sites in (("shop", "forum"), ("forum", "shop")):
        note(stops, record("site", sites=sites))
    assert (
        why(stops, "a", "forum", "shop", "wiki") == "a on forum, shop: stopped after 2 errors in a row (site), "
        "the latest: no answer"
    )
    assert not why(stops, "a", "shop")
    assert not why(stops, "b", "forum", "shop")  # only the agent that breaks sites is stopped


def test_site_that_never_started_is_stopped_for_all_agents(tmp_path: Path) -> None:
    stops = Stops(tmp_path, 2)
    note(stops, record("site", seconds={"lease": 9.0}))
    note(stops, record("site", agent="b", seconds={"lease": 9.0}))
    assert why(stops, "c").startswith("every agent on shop: stopped after 2 errors")
    assert not why(stops, "c", "forum")


def test_verdict_resets_consecutive_errors(tmp_path: Path) -> None:
    stops = Stops(tmp_path, 2)
    for cause in ("site", None, "site", None):
        note(stops, record(cause))
        assert not why(stops)


@pytest.mark.parametrize(
    ("limit", "errors"), [(0, [record("model")] * 9), (1, [record("task")]), (1, [record("model", event="budget")])]
)
def test_other_errors_stop_no_agent(tmp_path: Path, limit: int, errors: list[TrialRecord]) -> None:
    stops = Stops(tmp_path, limit)
    for error in errors:
        note(stops, error)
    assert not why(stops)


@pytest.mark.parametrize(
    ("event", "stop_reason", "stopped"),
    [
        ("declared", "unattributed", True),  # a dead program or a revoked key must end the run
        ("agent", "unattributed", True),
        ("site", "unattributed", True),
        ("archive", "unattributed", False),  # the next task may need other pages
        ("live_site", "unattributed", False),
        ("site", "broke_site", False),
    ],
)
def test_errors_without_an_owner_stop_a_run(tmp_path: Path, event: str, stop_reason: Any, stopped: bool) -> None:
    stops = Stops(tmp_path, 2)
    facts = {"archive": {"not_archived": {"GET http://old.test/a": "page"}}, "live_site": {"live": {"domains": []}}}
    for _ in range(2):
        note(stops, record(event=event, stop_reason=stop_reason, environment=facts.get(event, {})))
    assert bool(why(stops)) == stopped


def test_missing_prerequisite_stops_immediately(tmp_path: Path) -> None:
    stops = Stops(tmp_path, 0)
    error = Unready("expected a browser,\nfound none", cause="browser")
    reason = "a: a prerequisite is missing (browser): expected a browser, found none"
    assert stops.stop("a", "chromium", ("shop", BROWSER), error) == (reason, False)
    assert why(stops) == reason
    assert not why(stops, browser="firefox")
    assert not stops.why_not("a", "chromium", ())  # a task without sites
    stops.stop("a", "chromium", (BROWSER,), Unready("nobody there", cause="model"))
    assert (found := stops.why_not("a", "chromium", ())) is not None
    assert "nobody there" in found.reason


def test_site_that_cannot_run_stops_all_its_tasks(tmp_path: Path) -> None:
    stops = Stops(tmp_path, 0)
    error = Unready("the app 'shop' needs oscar, not installed here; run: pip install x", cause="site")
    reason = f"every agent on shop: a prerequisite is missing (site): {error}"
    assert stops.stop("a", "chromium", ("shop", BROWSER), error).reason == reason
    assert why(stops, "b", browser="firefox") == why(stops, "b", "shop", "forum") == reason
    assert not why(stops, "a", "forum")


def _note(folder: Path) -> None:
    for _ in range(20):
        note(Stops(folder, 60), record("model"))


def test_errors_of_all_workers_are_counted_together(tmp_path: Path) -> None:
    workers = [multiprocessing.get_context("spawn").Process(target=_note, args=(tmp_path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert "after 60 errors in a row" in why(Stops(tmp_path, 60))


def test_stops_of_killed_run_recreate_no_directory(tmp_path: Path) -> None:
    """Workers outlive a killed run for a moment; a directory that they create would never be removed."""
    private = tmp_path / "of-the-run"
    private.mkdir()
    stops = Stops(private / "temp", 1)
    note(stops, record("model"))
    assert why(stops)
    shutil.rmtree(private)
    note(stops, record("model"))
    assert not why(stops)
    assert not private.exists()


def test_missing_archive_pages_stop_no_agent(tmp_path: Path) -> None:
    """The next task may need other pages."""
    stops = Stops(tmp_path, 2)
    for _ in range(3):
        note(stops, record("site", sites=("old",), environment={"not_archived": {"GET http://old.test/a": "page"}}))
    assert not why(stops, "a", "old")
    for _ in range(2):
        note(stops, record("site", sites=("old",)))
    assert why(stops, "a", "old")


def test_obstacles_of_live_sites_stop_no_agent(tmp_path: Path) -> None:
    """One name covers many sites, and the gateway already respects sites that block agents."""
    stops = Stops(tmp_path, 2)
    for _ in range(3):
        note(stops, record("blocked", sites=("live",)))
        note(stops, record("site", sites=("live",), environment={"obstacles": {"GET https://a.com/": "site: no name"}}))
        note(stops, record("site", sites=("live",), environment={"live": {"domains": ["a.com"]}}))  # a download
    assert not why(stops, "a", "live")
    for _ in range(2):
        note(stops, record("site", sites=("live",), environment={"obstacles": {}}))
    assert why(stops, "a", "live")


def test_trials_that_ends_of_the_agent_stop_are_undecided(tmp_path: Path) -> None:
    """A single error of a known owner does not make the agent's own ends the environment's."""
    stops = Stops(tmp_path, 2)
    note(stops, record(event="declared", stop_reason="unattributed"))
    note(stops, record("model"))
    found = stops.why_not("a", "chromium", ("shop", BROWSER))
    assert found is not None
    assert found.undecided
    note(stops, record("harness"))
    note(stops, record("harness"))  # would stop it without the agent's ends, too
    found = stops.why_not("a", "chromium", ("shop", BROWSER))
    assert found is not None
    assert not found.undecided
