"""What a page puts off after the last action: how long it is waited for, and by whom."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.actions import Goto, Stop, Wait
from pytest_webarena.browser.faults import Unresponsive
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
    run_patiently,
    runtime,
    task,
)

__all__ = ["catalogue", "hasty_runtime", "house", "patient_runtime", "play", "run", "run_patiently", "runtime"]


LATER = "[...document.querySelectorAll('button')].find(each => each.innerText == 'Later').click()"


POSTED = "{network: {method: POST, url: /save}}"


@pytest.mark.exhaustive
def test_a_save_put_off_is_waited_for_whoever_acts(run_patiently: Run) -> None:
    """So that an agent which does what the solution does gets the same verdict."""
    for how in ({"make": lambda: Driver(script(LATER))}, {}):
        record = run_patiently(task(SAVED), *(() if how else (press("Later"), Stop("done"))), **how)
        assert record.outcome == "passed", record.message


def test_what_an_agent_leaves_to_a_timer_is_its_own(run_patiently: Run) -> None:
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
def test_a_save_put_off_by_whatever_means_is_waited_for(run: Run, by: dict[str, str], quiet_time: float) -> None:
    """How long pages get is generous here, and how long they take is not: the machine may be busy."""
    late = script(
        "const b = document.querySelector('button'); const save = by => fetch('/save?after=0&by=' + by, "
        "{method: 'POST'}); " + "".join(f"{{ {act} }}" for act in by.values())
    )
    checks = f"""[{{state: {{sql: "select count(*) from saves", equals: {len(by)}}}}}]"""
    record = run(task(checks), make=lambda: Driver(late), quiet_time=quiet_time)
    assert record.outcome == "passed", record.message


@pytest.mark.matrix(1)
@pytest.mark.parametrize(("button", "quiet_time"), [("Fade", 6), ("Retry", 6), ("Drop", 1)])
def test_what_a_click_leads_to_later_is_waited_for(run: Run, button: str, quiet_time: float) -> None:
    record = run(task(SAVED), press(button), Stop("done"), quiet_time=quiet_time)
    assert record.outcome == "passed", record.message
    record = run(task("[{network: {url: /save*, none: true}}]"), press(button), Stop("done"), quiet_time=quiet_time)
    assert button == "Retry" or record.outcome == "failed", record.message


@pytest.mark.matrix(1)
@pytest.mark.parametrize("check", ["url: /there", f"url_match: {{reference_url: '{BASE}/there'}}"])
def test_a_page_on_its_way_is_waited_for_by_whatever_looks_at_places(run: Run, check: str) -> None:
    record = run(task(f"[{{{check}}}]"), press("Go"), Stop("done"), quiet_time=6)  # generous: the machine may be busy
    assert record.outcome == "passed", record.message


def test_pages_without_scripts_are_not_waited_for(run: Run) -> None:
    record = run(task(SAVED.replace("1", "0")), Goto("/count"), Stop("done"), quiet_time=25)
    assert record.outcome == "passed", record.message
    assert record.seconds["wait"] < 20


@pytest.mark.exhaustive
def test_who_thinks_before_it_stops_has_waited(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = []

    async def come_to_rest(*args: Any, pause: float, **more: Any) -> bool:
        pauses.append(pause)
        return True

    monkeypatch.setattr("pytest_webarena.browser.session_work.come_to_rest", come_to_rest)
    for actions in ((Wait(0.2), Stop("done")), (Stop("done"),), (press("Note"), Wait(0.2), Stop("done"))):
        run(task(SAVED), *actions, quiet_time=0.2)
    assert max(pauses) <= 0
    run(task(SAVED), press("Note"), Stop("done"), quiet_time=1000, write_timeout=1)
    assert pauses[-1] > 0


@pytest.mark.exhaustive
def test_pictures_are_no_reason(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may be too dear to paint. What it says, and what the site holds, can be told all the same."""
    wanted = []

    async def capture(*args: Any, **options: Any) -> None:
        wanted.append(1)
        raise Unresponsive("Page.captureScreenshot", 20)

    monkeypatch.setattr("pytest_webarena.browser.snapshotting.capture", capture)
    checks = "[{page: {includes: Send}}, {not: {page: {open: /, includes: Gone}}}]"
    for actions, how in (((press("Note"), Stop("x")), {}), ((), {"make": lambda: Driver(script("1"))})):
        record = run(task(checks), *actions, **how)
        assert record.outcome == "passed", record.message
        assert "Page.captureScreenshot" in record.environment["no_picture"]
    assert len(wanted) <= 4 * 2  # of a page that could not be painted no other picture is tried
