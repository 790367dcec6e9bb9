"""Unanswered requests to live sites: they make a trial an error, never the agent's failure."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.errors import SiteBlocked, SiteError
from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord, TabState
from pytest_webarena.trials.live_sites import obstacles, reporting_obstacles, with_obstacles
from pytest_webarena.trials.outcome import Decided
from tests.cases import each_case

FAILED, PASSED = Decided("failed", None, "why"), Decided("passed", None, "")
PAGE = (("Sec-Fetch-Dest", "document"),)
SCRIPT, IMAGE = (("Sec-Fetch-Dest", "script"),), (("Sec-Fetch-Dest", "image"),)


def request(
    obstacle: str = "", headers: Any = PAGE, *, time: float = 5.0, url: str = "/", **more: Any
) -> RequestRecord:
    given: dict[str, Any] = {"status": 200, "method": "GET", "request_headers": headers, "obstacle": obstacle, **more}
    why = "status 429" if obstacle == "blocked" else "no connection" if obstacle else ""
    return RequestRecord(
        time=time, url=url if "//" in url else f"https://www.example.com{url}", obstacle_why=why, **given
    )


def evidence(*requests: RequestRecord, answer: str = "42", html: str = "", began: float = 10.0) -> Evidence:
    tabs = (TabState(url="https://www.example.com/", title="", html=html, active=True),) if html else ()
    steps = (StepRecord(index=0, action={"kind": "stop"}, raw="", started=began),)
    return Evidence(answer=answer, stop_reason="answered", requests=requests, tabs=tabs, steps=steps)


WALL = "<html><head><title>x</title><script>var robots</script></head><body>Please verify you are human</body></html>"
LONG = f"<body>{'All about captchas. ' * 100} How to answer: are you a robot?</body>"
TURNS = [request(status=302, url=f"/{n}") for n in range(15)]


@each_case(
    ("given", "cause", "event"),
    [
        (evidence(request("blocked")), "blocked", "before_agent"),
        (evidence(request("site")), "site", "before_agent"),
        (evidence(request(), request("blocked", time=12.0)), "blocked", "live_site"),
        (evidence(request("site"), request("blocked", SCRIPT)), "blocked", "before_agent"),
        (evidence(request(), request("site", SCRIPT)), "site", "live_site"),
        (evidence(request(), html=WALL), "blocked", "live_site"),
        (evidence(request(status=None, seconds=11.0)), "site", "before_agent"),
        (evidence(request(), request("", SCRIPT, status=None, seconds=4.0)), "site", "live_site"),
        (evidence(*TURNS), "site", "before_agent"),
        (evidence(request(), request("", IMAGE, url="https://geo.captcha-delivery.com/captcha/a")), None, ""),
        (evidence(request(), request("", (("Sec-Fetch-Dest", "iframe"),), url="https://geo.captcha-delivery.com/captcha/a")),
         "blocked", "before_agent"),
        (evidence(request("blocked", IMAGE)), None, ""),
        (evidence(request(), html=LONG), None, ""),
        (evidence(request(refused="elsewhere", status=403)), None, ""),
        (evidence(request(refused="not sent", status=403, intercepted=True, method="POST")), None, ""),
        (evidence(*TURNS[:10], request(), *TURNS[:10]), None, ""),
        (evidence(request(status=None, seconds=2.0)), None, ""),
        (evidence(request(), request("", (("Sec-Fetch-Dest", "empty"),), status=None, seconds=9.0)), None, ""),
    ],
)  # fmt: skip
def test_failed_trial_with_obstacles_becomes_an_error(given: Evidence, cause: str | None, event: str) -> None:
    decided = with_obstacles(FAILED, given)
    assert (decided.outcome, decided.cause, decided.event) == ("error" if cause else "failed", cause, event)
    assert "why" in decided.message
    assert bool(obstacles(given)) or given.tabs or cause is None


def test_passed_trial_with_obstacles_stays_passed() -> None:
    obstructed = evidence(request("blocked"))
    assert with_obstacles(PASSED, obstructed) == PASSED
    misled = evidence(request("blocked"), answer="N/A: the page can't be reached")
    assert with_obstacles(PASSED, misled).cause == "blocked"
    only_parts = evidence(request("blocked", SCRIPT), answer="N/A: there is no such tea")
    assert with_obstacles(PASSED, only_parts) == PASSED


def test_without_live_sites_only_failures_of_named_hosts_count() -> None:
    decided = with_obstacles(FAILED, evidence(request("site", SCRIPT), began=1.0), live=False)
    assert (decided.outcome, decided.cause) == ("error", "site")
    assert decided.message.startswith("a host that the site's pages need was not available: GET https://")
    slow, picture = evidence(request(status=None, seconds=11.0)), evidence(request("site", IMAGE))
    for given in (evidence(*TURNS), evidence(request(), html=WALL), slow, picture):
        assert with_obstacles(FAILED, given, live=False) == FAILED
    assert obstacles(evidence(*TURNS), live=False) == {}


def test_other_errors_are_unchanged_by_obstacles() -> None:
    other = Decided("error", "judge", "no word")
    assert with_obstacles(other, evidence(request("blocked"))) == other


@each_case(
    ("found", "live", "kind", "message"),
    [
        (request("site"), True, SiteError, "expected a page, found HTTP status 502: no connection"),
        (request("blocked"), True, SiteBlocked, "expected a page, found HTTP status 502: status 429"),
        (request("site", SCRIPT), True, SiteError, "expected a page, found HTTP status 502"),
        (request(), True, SiteError, "expected a page, found HTTP status 502"),
        (request("site"), False, SiteError, "expected a page, found HTTP status 502"),
    ],
)
def test_unreachable_first_page_reports_its_obstacle(
    found: RequestRecord, live: bool, kind: type[SiteError], message: str
) -> None:
    environment: dict[str, Any] = {"live": {"domains": ["example.com"]}} if live else {}
    with pytest.raises(SiteError) as raised, reporting_obstacles(lambda: [found], environment):
        raise SiteError("expected a page, found HTTP status 502")
    assert (type(raised.value), str(raised.value)) == (kind, message)
    assert bool(environment.get("obstacles")) == (live and bool(found.obstacle))
