"""What is collected of a trial: the agent's requests and no others, its writes when they are over, messages uneaten.

Whole trials and whole environments on an app of ours, which must agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.errors import JudgeError, SiteError, TaskError, TrialError
from pytest_webarena.testing import make_task
from pytest_webarena.trials.runtime import Runtime
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
def test_what_a_page_does_while_a_check_looks_elsewhere_is_its_own(run: Run, play: Play) -> None:
    record = agree(run, play, f"[{PROBED}, {{network: {{method: POST, url: /beat, none: true}}}}]", Goto("/patient"))
    assert record.outcome == "failed"
    assert "1 × " not in record.message
    assert "there were 1" in record.message
    record = agree(run, play, f"[{PROBED}, {{network: {{method: POST, url: /beat, count: 1}}}}]", Goto("/patient"))
    assert record.outcome == "passed", record.message


def test_what_checks_ask_for_is_not_the_agents(run: Run, play: Play) -> None:
    checks = f"""[{PROBED}, {{state: {{api: {{path: /count, status: 200}}}}, when: any_step}},
        {{network: {{regex: "probe|seen|count", none: true}}}}, {{network: {{url: /patient, count: 1}}}}]"""
    record = agree(run, play, checks, Goto("/patient"))
    assert record.outcome == "passed", record.message


@pytest.mark.matrix(1)
@pytest.mark.parametrize("button", ["Chain", "Save", "Send", "Queue", "Lock"])
def test_the_last_write_is_waited_for(run: Run, play: Play, button: str) -> None:
    checks = """[{state: {sql: "select count(*) from saves", equals: 1}},
        {network: {method: POST, url: /save, status: 200}}]"""
    record = agree(run, play, checks, press(button))
    assert record.outcome == "passed", record.message
    assert "unfinished_writes" not in record.environment


def test_what_was_asked_for_before_the_last_action_is_not_waited_for(run: Run) -> None:
    """Pages that poll hold a request open all the time."""
    record = run(task(SAVED), press("Poll"), press("Save"), Stop("done"))
    assert record.outcome == "passed", record.message
    assert "unanswered_reads" not in record.environment


def test_what_was_asked_for_and_not_answered_in_time_is_told(run: Run) -> None:
    record = run(task("[{state: {sql: 'select count(*) from saves', equals: 0}}]"), press("Poll"), write_timeout=0.5)
    assert record.outcome == "passed", record.message
    assert record.environment["unanswered_reads"] == [f"GET {BASE}/endless"]


def test_a_write_of_a_page_that_was_left_is_waited_for(run: Run) -> None:
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
def test_a_site_that_does_not_answer_a_write_decides_nothing(run: Run, check: str) -> None:
    record = run(task(f"[{check}]"), press("Hang"), write_timeout=0.2)
    first, second = record.attempts
    assert (first.outcome, first.cause) == ("error", "site")
    assert f"expected an answer to POST {BASE}/save within 0.2 s" in first.message
    # Under this agent it hangs again, without it the site works.
    assert (second.outcome, record.stop_reason) == ("failed", "broke_site")
    assert f"expected an answer to POST {BASE}/save within 1.2 s" in record.message
    (unfinished,) = record.environment["unfinished_writes"]
    assert (unfinished["url"], unfinished["waits_for"]) == (f"{BASE}/save", "site")


def test_the_next_attempt_is_more_patient_with_a_slow_site(run: Run) -> None:
    checks = '[{state: {sql: "select count(*) from saves", equals: 1}}]'
    record = run(task(checks), press("Slow"), write_timeout=1.0)
    assert [(each.outcome, each.cause) for each in record.attempts] == [("error", "site"), ("passed", None)]


def test_an_environment_says_so_too(play: Play) -> None:
    with pytest.raises(SiteError, match="expected an answer to POST"):
        play(task("[{state: {sql: 'select count(*) from saves', equals: 0}}]"), press("Hang"), write_timeout=0.2)


SET_UP = """
intent: Look.
sites: [desk]
setup: [{browser: [{click: text=%s}]}]
checks: [{state: {sql: "select count(*) from saves", equals: 1}}, {network: {method: POST, none: true}}]
"""


def test_what_a_set_up_has_begun_is_over_when_the_agent_begins(run: Run) -> None:
    record = run(make_task(SET_UP % "Save", id="t"))
    assert record.outcome == "passed", record.message
    record = run(make_task(SET_UP % "Hang", id="t"), write_timeout=0.2)
    assert (record.outcome, record.cause, record.steps) == ("error", "site", 0)
    assert "after the last step of its set-up, found none" in record.message


def test_who_does_not_wait_sees_the_site_as_it_is(run: Run) -> None:
    record = run(task("[{state: {sql: 'select count(*) from saves', equals: 0}}]"), press("Hang"), write_timeout=0)
    assert record.outcome == "passed"
    assert record.environment["unfinished_writes"][0]["url"] == f"{BASE}/save"


def test_answers_don_t_depend_on_writes(run: Run) -> None:
    record = run(task("[{answer: {exact: done}}]"), press("Hang"), Stop("done"), write_timeout=0.2)
    assert record.outcome == "passed"
    assert record.environment["unfinished_writes"]


SHOWN = "{page: {open: /, locate: css=#flash, includes: %s}, when: any_step}"


LEFT = "{page: {locate: css=#flash, includes: %s}}"


def test_messages_in_cookies_are_not_eaten(run: Run) -> None:
    record = run(task(f"[{SHOWN % 'noted'}, {LEFT % 'noted'}]"), press("Note"), Goto("/"), Stop("done"))
    assert record.outcome == "passed", record.message


def test_messages_that_the_site_keeps_are_eaten_by_who_looks_first(run: Run, play: Play) -> None:
    """What no harness can help: it is the same session. Documented, with the way out: look at the data instead."""
    record = agree(run, play, f"[{SHOWN % 'kept'}, {LEFT % 'kept'}]", press("Keep"), Goto("/"))
    assert record.outcome == "failed"
    data = "{state: {sql: 'select count(*) from saves', equals: 0}, when: any_step}"
    record = run(task(f"[{data}, {LEFT % 'kept'}]"), press("Keep"), Goto("/"), Stop("done"))
    assert record.outcome == "passed", record.message


@pytest.mark.parametrize(
    ("check", "error"),
    [
        ("{page: {open: /count, locate: 'css=:::', includes: x}}", TaskError),
        ("{string_match: {fuzzy_match: [It is comfortable]}}", JudgeError),
    ],
)
def test_a_verdict_that_is_none_has_no_reward(run: Run, play: Play, check: str, error: type[TrialError]) -> None:
    record = run(task(f"[{check}]"), Stop("done"))
    assert (record.outcome, record.cause) == ("error", error.cause)
    with pytest.raises(error) as raised:
        play(task(f"[{check}]"))
    assert str(raised.value) == record.message


@pytest.mark.matrix(1)
@pytest.mark.parametrize("when", ["end", "any_step"])
def test_a_browser_that_an_agent_has_forged_answers_for_answers_no_check(run: Run, when: str) -> None:
    forger = Forger(f"{BASE}/start")
    checks = f"[{{page: {{open: /record, includes: 'true'}}, when: {when}}}]"
    record = run(task(checks), make=lambda: forger)
    assert f"{BASE}/start" in forger.forged
    assert f"{BASE}/worker.js" in forger.forged  # the attack itself works
    assert f"{BASE}/record" not in forger.forged
    assert record.outcome == "failed", record.message


def test_a_tab_whose_agent_has_gone_gets_the_sites_own_answers(run: Run) -> None:
    """What checks read of the agent's own tab is read when nobody answers in the site's place any more."""
    forger = Forger(f"{BASE}/start")
    asks = "js=fetch('/record', {cache: 'no-store'}).then(answer => answer.text())"
    record = run(task(f"[{{page: {{locate: \"{asks}\", exact: ''}}}}]"), make=lambda: forger)
    assert not [url for url in forger.forged if url.endswith("/record")]
    assert record.verdict is not None


def test_requests_are_read_after_what_they_may_have_changed(run: Run) -> None:
    """The agent's page posts only once a check has begun to look."""
    checks = "[{page: {open: /probe, includes: probe}}, {network: {method: POST, url: /beat, count: 1}}]"
    record = run(task(checks), Goto("/patient"), Stop("done"), write_timeout=0.5)
    assert record.outcome == "passed", record.message


@pytest.mark.exhaustive
def test_a_page_that_its_agent_has_brought_to_a_halt_is_not_empty(hasty_runtime: Runtime, tmp_path: Path) -> None:
    halt = "Emulation.setCPUThrottlingRate", {"rate": 1e9}
    checks = """[{page: {excludes: Send}}, {page: {excludes: Send}, when: any_step},
        {not: {page: {includes: Send}}}, {page: {locate: css=button, count: 0}}]"""  # all false of the page itself
    record = run_in(hasty_runtime, tmp_path)(task(checks), make=lambda: Driver(script("1"), halt))
    assert (record.outcome, record.cause) == ("failed", None), record.message
    assert record.verdict is not None
    assert [result["score"] for result in record.verdict["results"]] == [0, 0, 0, 0]
