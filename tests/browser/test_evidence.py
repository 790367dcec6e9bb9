"""Evidence of a trial: only the agent's own requests, its finished writes, and messages that checks do not consume.

Whole trials and Gymnasium environments on a test app, which must agree.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.errors import JudgeError, SiteError, TaskError, TrialError
from pytest_webarena.testing import make_task
from pytest_webarena.trials.runtime import FittedRuntime
from tests.browser.desk import BASE
from tests.browser.drivers import Driver, Forger, script
from tests.browser.trials_at_desk import (
    SAVED,
    Play,
    Run,
    agree,
    catalogue,
    hasty_runtime,
    house,
    patient_runtime,
    play,
    press,
    run,
    run_in,
    run_patiently,
    runtime,
    task,
)

__all__ = ["catalogue", "hasty_runtime", "house", "patient_runtime", "play", "run", "run_patiently", "runtime"]


PROBED = "{page: {open: /probe, includes: probe}, when: any_step}"


@pytest.mark.exhaustive
def test_page_requests_during_checks_count_as_the_pages_own(run: Run, play: Play) -> None:
    record = agree(run, play, f"[{PROBED}, {{network: {{method: POST, url: /beat, none: true}}}}]", Goto("/patient"))
    assert record.outcome == "failed"
    assert "1 × " not in record.message
    assert "there were 1" in record.message
    record = agree(run, play, f"[{PROBED}, {{network: {{method: POST, url: /beat, count: 1}}}}]", Goto("/patient"))
    assert record.outcome == "passed", record.message


def test_requests_of_checks_are_not_attributed_to_agent(run: Run, play: Play) -> None:
    checks = f"""[{PROBED}, {{state: {{api: {{path: /count, status: 200}}}}, when: any_step}},
        {{network: {{regex: "probe|seen|count", none: true}}}}, {{network: {{url: /patient, count: 1}}}}]"""
    record = agree(run, play, checks, Goto("/patient"))
    assert record.outcome == "passed", record.message


@pytest.mark.matrix(1)
@pytest.mark.parametrize("button", ["Chain", "Save", "Send", "Queue", "Lock"])
def test_trial_waits_for_last_write(run: Run, play: Play, button: str) -> None:
    checks = """[{state: {sql: "select count(*) from saves", equals: 1}},
        {network: {method: POST, url: /save, status: 200}}]"""
    record = agree(run, play, checks, press(button))
    assert record.outcome == "passed", record.message
    assert "unfinished_writes" not in record.environment


def test_trial_does_not_wait_for_earlier_reads(run: Run) -> None:
    """Pages that poll always have an open request."""
    record = run(task(SAVED), press("Poll"), press("Save"), Stop("done"))
    assert record.outcome == "passed", record.message
    assert "unanswered_reads" not in record.environment


def test_unanswered_reads_are_recorded(run: Run) -> None:
    record = run(task("[{state: {sql: 'select count(*) from saves', equals: 0}}]"), press("Poll"), write_timeout=0.5)
    assert record.outcome == "passed", record.message
    assert record.environment["unanswered_reads"] == [f"GET {BASE}/endless"]


def test_trial_waits_for_write_of_a_left_page(run: Run) -> None:
    record = run(task(SAVED), press("Save"), Goto("/count"), Stop("done"))
    assert record.outcome == "passed", record.message


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    "check",
    [
        "{state: {sql: 'select count(*) from saves', equals: 0}}",
        "{network: {method: POST, url: /save, none: true}}",
        "{not: {page: {open: /count, includes: saved}}}",
        "{url: {exact: /}}",
    ],
)
def test_agent_whose_write_gets_no_answer_fails(run: Run, check: str) -> None:
    record = run(task(f"[{check}]"), press("Hang"), write_timeout=0.2)
    # Without the agent, the site works.
    assert (record.outcome, record.stop_reason, len(record.attempts)) == ("failed", "broke_site", 1)
    assert (record.event, record.control) == ("unanswered_write", "recurs")
    assert f"expected an answer to POST {BASE}/save within 1.2 s" in record.message
    (unfinished,) = record.environment["unfinished_writes"]
    assert (unfinished["url"], unfinished["waits_for"]) == (f"{BASE}/save", "site")


@pytest.mark.exhaustive
def test_slow_write_is_no_error(run: Run) -> None:
    checks = '[{state: {sql: "select count(*) from saves", equals: 1}}]'
    record = run(task(checks), press("Slow"), write_timeout=1.0)
    assert [(each.outcome, each.cause) for each in record.attempts] == [("passed", None)]


def test_environment_raises_for_unanswered_write(play: Play) -> None:
    with pytest.raises(SiteError, match="expected an answer to POST"):
        play(task("[{state: {sql: 'select count(*) from saves', equals: 0}}]"), press("Hang"), write_timeout=0.2)


SET_UP = """
intent: Look.
sites: [desk]
setup: [{browser: [{click: text=%s}]}]
checks: [{state: {sql: "select count(*) from saves", equals: 1}}, {network: {method: POST, none: true}}]
"""


def test_writes_of_setup_finish_before_agent_starts(run: Run) -> None:
    record = run(make_task(SET_UP % "Save", id="t"))
    assert record.outcome == "passed", record.message
    record = run(make_task(SET_UP % "Hang", id="t"), write_timeout=0.2)
    assert (record.outcome, record.cause, record.steps) == ("error", "site", 0)
    assert "after the last step of its set-up, found none" in record.message


def test_zero_write_timeout_judges_site_immediately(run: Run) -> None:
    record = run(task("[{state: {sql: 'select count(*) from saves', equals: 0}}]"), press("Hang"), write_timeout=0)
    assert record.outcome == "passed"
    assert record.environment["unfinished_writes"][0]["url"] == f"{BASE}/save"


def test_answer_checks_do_not_depend_on_unfinished_writes(run: Run) -> None:
    record = run(task("[{answer: {exact: done}}]"), press("Hang"), Stop("done"), write_timeout=0.2)
    assert record.outcome == "passed"
    assert record.environment["unfinished_writes"]


SHOWN = "{page: {open: /, locate: css=#flash, includes: %s}, when: any_step}"


LEFT = "{page: {locate: css=#flash, includes: %s}}"


def test_checks_do_not_consume_flash_messages_in_cookies(run: Run) -> None:
    record = run(task(f"[{SHOWN % 'noted'}, {LEFT % 'noted'}]"), press("Note"), Goto("/"), Stop("done"))
    assert record.outcome == "passed", record.message


@pytest.mark.exhaustive
def test_server_side_flash_messages_are_consumed_by_the_first_check(run: Run, play: Play) -> None:
    """Unavoidable, because checks share the agent's session. Documented, with the alternative: check the data."""
    record = agree(run, play, f"[{SHOWN % 'kept'}, {LEFT % 'kept'}]", press("Keep"), Goto("/"))
    assert record.outcome == "failed"
    data = "{state: {sql: 'select count(*) from saves', equals: 0}, when: any_step}"
    record = run(task(f"[{data}, {LEFT % 'kept'}]"), press("Keep"), Goto("/"), Stop("done"))
    assert record.outcome == "passed", record.message


@pytest.mark.parametrize(
    ("check", "error"),
    [
        pytest.param("{page: {open: /count, locate: 'css=:::', includes: x}}", TaskError, marks=pytest.mark.exhaustive),
        ("{string_match: {fuzzy_match: [It is comfortable]}}", JudgeError),
    ],
)
def test_undecided_verdict_raises_instead_of_reward(run: Run, play: Play, check: str, error: type[TrialError]) -> None:
    record = run(task(f"[{check}]"), Stop("done"))
    assert (record.outcome, record.cause) == ("error", error.cause)
    with pytest.raises(error) as raised:
        play(task(f"[{check}]"))
    assert str(raised.value) == record.message


@pytest.mark.matrix(1)
@pytest.mark.parametrize("when", ["end", "any_step"])
def test_responses_forged_by_agent_do_not_reach_checks(run: Run, when: str) -> None:
    forger = Forger(f"{BASE}/start")
    checks = f"[{{page: {{open: /record, includes: 'true'}}, when: {when}}}]"
    record = run(task(checks), make=lambda: forger)
    assert f"{BASE}/start" in forger.forged
    assert f"{BASE}/worker.js" in forger.forged  # the attack itself works
    assert f"{BASE}/record" not in forger.forged
    assert record.outcome == "failed", record.message


def test_tab_gets_real_responses_after_agent_is_detached(run: Run) -> None:
    """Checks read the agent's tab only when the agent can no longer answer in the site's place."""
    forger = Forger(f"{BASE}/start")
    asks = "js=fetch('/record', {cache: 'no-store'}).then(answer => answer.text())"
    record = run(task(f"[{{page: {{locate: \"{asks}\", exact: ''}}}}]"), make=lambda: forger)
    assert not [url for url in forger.forged if url.endswith("/record")]
    assert record.verdict is not None


def test_request_log_is_read_after_pages_and_state(run: Run) -> None:
    """The agent's page sends its POST only after a check starts to read."""
    checks = "[{page: {open: /probe, includes: probe}}, {network: {method: POST, url: /beat, count: 1}}]"
    record = run(task(checks), Goto("/patient"), Stop("done"), write_timeout=0.5)
    assert record.outcome == "passed", record.message


@pytest.mark.exhaustive
def test_halted_page_satisfies_no_condition(hasty_runtime: FittedRuntime, tmp_path: Path) -> None:
    halt = "Emulation.setCPUThrottlingRate", {"rate": 1e9}
    checks = """[{page: {excludes: Send}}, {page: {excludes: Send}, when: any_step},
        {not: {page: {includes: Send}}}, {page: {locate: css=button, count: 0}}]"""  # all false for the page itself
    record = run_in(hasty_runtime, tmp_path)(task(checks), make=lambda: Driver(script("1"), halt))
    assert (record.outcome, record.cause) == ("failed", None), record.message
    assert record.verdict is not None
    assert [result["score"] for result in record.verdict["results"]] == [0, 0, 0, 0]
