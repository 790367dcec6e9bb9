"""Delayed effects of the last action: how long a trial waits for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Goto, Stop, Wait
from pytest_webarena.browser.faults import Unresponsive
from pytest_webarena.trials.runtime import Runtime
from tests.browser.desk import BASE
from tests.browser.drivers import Driver, script
from tests.browser.trials_at_desk import (
    SAVED,
    Run,
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
    with_screenshots,
)

__all__ = ["catalogue", "hasty_runtime", "house", "patient_runtime", "play", "run", "run_patiently", "runtime"]


LATER = "[...document.querySelectorAll('button')].find(each => each.innerText == 'Later').click()"


POSTED = "{network: {method: POST, url: /save}}"


@pytest.mark.exhaustive
def test_delayed_save_is_awaited_for_every_kind_of_agent(run_patiently: Run) -> None:
    """An agent that repeats the solution must get the same verdict."""
    for how in ({"make": lambda: Driver(script(LATER))}, {}):
        record = run_patiently(task(SAVED), *(() if how else (press("Later"), Stop("done"))), **how)
        assert record.outcome == "passed", record.message


def test_request_of_agents_timer_is_attributed_to_agent(run_patiently: Run) -> None:
    late = script("setTimeout(() => fetch('/save?after=0', {method: 'POST'}), 800)")
    checks = f"""[{{state: {{sql: "select count(*) from saves", equals: 0}}}}, {{not: {POSTED}}}]"""
    record = run_patiently(task(checks), make=lambda: Driver(late))
    assert record.outcome == "failed", record.message
    assert record.verdict is not None
    assert [result["score"] for result in record.verdict["results"]] == [0, 0]


BY = {
    "transition": "b.ontransitionend = () => save(0); b.style.transition = 'opacity .5s'; b.offsetWidth;"
    "b.style.opacity = 0",
    "animation": "document.body.animate([{opacity: 0}, {opacity: 1}], 500).onfinish = () => save(1)",
    "frames": "let n = 0; const draw = () => { ++n < 20 ? requestAnimationFrame(draw) : save(2) }; draw()",
    "task": "scheduler.postTask(() => save(3), {delay: 500})",
    "signal": "AbortSignal.timeout(500).onabort = () => save(4)",
    "worker": "window.w = new Worker('/ticking.js'); w.onmessage = () => save(5)",
    "rounds": "let k = 0; const t = setInterval(() => { if (++k == 3) { clearInterval(t); save(6) } }, 200)",
    "turns": "const c = new MessageChannel(); let m = 0;"
    "c.port1.onmessage = () => { ++m < 2000 ? c.port2.postMessage(1) : save(7) }; c.port2.postMessage(1)",
    "refresh": "const f = document.createElement('iframe'); document.body.append(f);"
    "f.srcdoc = `<meta http-equiv=refresh content='1;url=/save?after=0&by=8'>`",
}


PICTURE = {"image": "const i = new Image(); i.onerror = () => save(9); i.src = '/slow?3'"}


@pytest.mark.matrix(1)
@pytest.mark.parametrize(("by", "quiet_time"), [(BY, 6), (PICTURE, 1.5)])
def test_save_delayed_by_any_mechanism_is_awaited(run: Run, by: dict[str, str], quiet_time: float) -> None:
    """The deadline is generous and the delay is not, because the machine may be busy."""
    late = script(
        "const b = document.querySelector('button'); const save = by => fetch('/save?after=0&by=' + by, "
        "{method: 'POST'}); " + "".join(f"{{ {act} }}" for act in by.values())
    )
    checks = f"""[{{state: {{sql: "select count(*) from saves", equals: {len(by)}}}}}]"""
    record = run(task(checks), make=lambda: Driver(late), quiet_time=quiet_time)
    assert record.outcome == "passed", record.message


@pytest.mark.matrix(1)
@pytest.mark.parametrize(("button", "quiet_time"), [("Fade", 6), ("Retry", 6), ("Drop", 1)])
def test_delayed_effect_of_click_is_awaited(run: Run, button: str, quiet_time: float) -> None:
    record = run(task(SAVED), press(button), Stop("done"), quiet_time=quiet_time)
    assert record.outcome == "passed", record.message
    record = run(task("[{network: {url: /save*, none: true}}]"), press(button), Stop("done"), quiet_time=quiet_time)
    assert button == "Retry" or record.outcome == "failed", record.message


@pytest.mark.matrix(1)
@pytest.mark.parametrize("check", ["url: /there", f"url_match: {{reference_url: '{BASE}/there'}}"])
def test_address_checks_wait_for_pending_navigation(run: Run, check: str) -> None:
    record = run(task(f"[{{{check}}}]"), press("Go"), Stop("done"), quiet_time=6)  # generous: the machine may be busy
    assert record.outcome == "passed", record.message


def test_trial_does_not_wait_for_pages_without_scripts(run: Run) -> None:
    record = run(task(SAVED.replace("1", "0")), Goto("/count"), Stop("done"), quiet_time=25)
    assert record.outcome == "passed", record.message
    assert record.seconds["wait"] < 20


@pytest.mark.exhaustive
def test_time_before_stop_counts_as_waiting(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = []

    async def wait_for_idle(*args: Any, pause: float, **more: Any) -> bool:
        pauses.append(pause)
        return True

    monkeypatch.setattr("pytest_webarena.browser.session_work.wait_for_idle", wait_for_idle)
    for actions in ((Wait(0.2), Stop("done")), (Stop("done"),), (press("Note"), Wait(0.2), Stop("done"))):
        run(task(SAVED), *actions, quiet_time=0.2)
    assert max(pauses) <= 0
    run(task(SAVED), press("Note"), Stop("done"), quiet_time=1000, write_timeout=1)
    assert pauses[-1] > 0


@pytest.mark.exhaustive
def test_failed_screenshot_does_not_change_the_verdict(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page may be too expensive to render; its text and the site's data can still be judged."""
    wanted = []

    async def capture(*args: Any, **options: Any) -> None:
        wanted.append(1)
        raise Unresponsive("Page.captureScreenshot", 20)

    monkeypatch.setattr("pytest_webarena.browser.snapshotting.capture", capture)
    checks = "[{page: {includes: Send}}, {not: {page: {open: /, includes: Gone}}}]"
    for actions, how in (((press("Note"), Stop("x")), {}), ((), {"make": lambda: Driver(script("1"))})):
        record = run_in(with_screenshots(runtime), tmp_path)(task(checks), *actions, **how)
        assert record.outcome == "passed", record.message
        assert "Page.captureScreenshot" in record.environment["no_picture"]
    assert len(wanted) <= 4 * 2  # of a page that could not be painted no other picture is tried
