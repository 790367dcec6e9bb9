"""How checks judge pages that are still active, lack a response, or cannot be read."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.browser.reading import page_reading
from tests.browser.conftest import BROWSER, CALM, QUICK, Reply
from tests.browser.visiting import look, signed_in, visit

if TYPE_CHECKING:
    from pytest_webarena.browser.reports import PageReading
    from pytest_webarena.browser.tabs.tab import Tab
    from tests.browser.conftest import OpenSession, Request, Web


LATER = {
    "a timer": "<script>setTimeout(() => document.body.append('Seed'), 300)</script>",
    "timers in a row": """<script>
        let n = 9
        const f = () => n-- ? setTimeout(f, 20) : document.body.append('Seed')
        f()</script>""",
    "a stream": "<script>new EventSource('/stream').onmessage = m => document.body.append(m.data)</script>",
    "a fetch after a timer": """<script>
        setTimeout(async () => document.body.append(await (await fetch('/seed')).text()), 300)</script>""",
    "elsewhere": "<script>setTimeout(() => location.href = '/seed', 300)</script>",
    "meta": "<meta http-equiv=refresh content='1; url=/seed'>",
    "a frame": "<iframe src=/framed></iframe>",
}


@pytest.mark.matrix(1)
@pytest.mark.parametrize("how", [*LATER, "header"])
def test_negative_condition_is_checked_a_second_time(open_session: OpenSession, web: Web, how: str) -> None:
    web.put("/seed", "Seed")
    web.put("/framed", "<script>setTimeout(() => document.body.append('Seed'), 300)</script>")
    web.put("/stream", lambda request: web.reply(stream(), Content_Type="text/event-stream"))
    headers = {"Refresh": "1; url=/seed"} if how == "header" else {}
    web.put("/late", lambda request: Reply(body=LATER.get(how, "wait"), headers=headers))
    session = open_session(deadlines=replace(CALM, second_look=1.5))
    session.open_tabs(["about:blank"])
    live = visit(session, web, default_user="")
    for condition in ("page: {open: /late, excludes: Seed}", "not: {page: {open: /late, includes: Seed}}"):
        verdict = look(session, live, f"[{{{condition}}}]")
        assert verdict.passed is False, f"{condition}: {verdict}"


def stream() -> Iterator[bytes]:
    yield b": begun\n\n"
    yield b"data: Seed\n\n"


def test_negative_condition_on_current_page_is_checked_again(open_session: OpenSession, web: Web) -> None:
    web.put("/", "<script>setTimeout(() => document.body.append('Seed'), 1500)</script>")
    session = open_session(deadlines=replace(CALM, second_look=3.0))
    session.open_tabs(["http://a.test/"])
    session.tabs()
    assert look(session, visit(session, web, default_user=""), "[{page: {excludes: Seed}}]").passed is False


@pytest.mark.parametrize("way", ["open: /, ", ""])
def test_negative_condition_is_undecided_while_a_request_is_pending(
    open_session: OpenSession, web: Web, way: str
) -> None:
    """The site is slow, or it polls forever: the message says what to add to the check."""
    web.put("/", "<p>Board</p><script>fetch('/never')</script>")
    web.put("/never", lambda request: str(web.released.wait(60)))
    session = open_session(deadlines=replace(QUICK, answers=0.5, settle=0.5, second_look=0.05))
    session.open_tabs(["http://a.test/"])
    session.tabs()
    live = visit(session, web, default_user="")
    for condition in ("page: {%sexcludes: Seed}", "not: {page: {%sincludes: Seed}}", "page: {%slocate: li, count: 0}"):
        verdict = look(session, live, f"[{{{condition % way}}}]")
        assert (verdict.passed, verdict.cause) == (None, "site"), str(verdict)
        assert "was still waiting for GET http://a.test/never" in " ".join(str(verdict).split())
        assert not condition.startswith("page: {%sexcludes") or "includes" in (verdict.results[0].why or "")
    assert look(session, live, f"[{{page: {{{way}includes: Board, excludes: Seed}}}}]").passed
    assert look(session, live, f"[{{page: {{{way}includes: Seed}}}}]").passed is False
    assert look(session, live, f"[{{page: {{{way}excludes: Board}}}}]").passed is False


@pytest.mark.matrix(1)
@pytest.mark.parametrize("status", [429, 408, 425, 500, 503, 400, 413, 419, 431])
def test_negative_condition_is_undecided_after_failed_script_request(
    open_session: OpenSession, web: Web, status: int
) -> None:
    """For example a site that limits requests per minute and loads its content by script."""
    provoked = status in (400, 413, 419, 431)  # by cookies, which are the agent's
    web.put("/", "<p>Board</p><script>fetch('/items')</script>")
    web.put("/items", web.reply("no", status))
    session = open_session(deadlines=replace(QUICK, second_look=0.1))  # nothing follows the awaited requests
    session.open_tabs(["about:blank"])
    live = visit(session, web, default_user="")
    for condition in ("page: {open: /, excludes: Seed}", "not: {page: {open: /, includes: Seed}}"):
        verdict = look(session, live, f"[{{{condition}}}]")
        message = " ".join(str(verdict).split())
        if provoked:
            assert verdict.passed is False, f"{condition}: {verdict}"
            assert f"got status {status} for http://a.test/items" in message
        else:
            assert (verdict.passed, verdict.cause) == (None, "site"), f"{condition}: {verdict}"
            assert f"got status {status} for GET http://a.test/items" in message
    if not provoked:
        assert look(session, live, "[{page: {open: /, includes: Board, excludes: Seed}}]").passed
        assert look(session, live, "[{page: {open: /, excludes: Board}}]").passed is False


PARTS = {
    "a script": "<script src=/part></script>",
    "a module": "<script type=module src=/part></script>",
    "a static import": "<script type=module>import '/part'</script>",
    "a dynamic import": "<script>import('/part').catch(() => 0)</script>",
    "a frame": "<iframe src=/part></iframe>",
    "an object": "<object data=/part></object>",
    "a worker": "<script>new Worker('/part')</script>",
    "a stream": "<script>new EventSource('/part')</script>",
    "a redirected fetch": "<script>fetch('/redirect')</script>",
    "another page": "<script>setTimeout(() => location.href = '/part', 100)</script>",
}
ASKED_LATER = {"a worker", "a stream", "another page"}
"""Parts that may be requested only once the page is quiet; all others are requested before the page has loaded."""


UNANSWERED = [
    ("a script", "status 429"),
    *((part, "status 503") for part in PARTS),
    *((part, "no whole answer") for part in ("a script", "a static import", "a redirected fetch", "a worker")),
]


@pytest.mark.matrix(1)
@pytest.mark.skipif(BROWSER != "chromium", reason="a Firefox does not tell of all of them")
@pytest.mark.parametrize(("part", "found"), UNANSWERED)
def test_negative_condition_is_undecided_after_failed_resource(
    open_session: OpenSession, web: Web, part: str, found: str
) -> None:
    """A script bundle that fails to load leaves every page of a site empty."""
    answers = {
        "status 503": web.reply("no", 503),
        "status 429": web.reply("no", 429),
        "no whole answer": web.reply([b"no"], Content_Length="100"),
    }
    web.redirect("/redirect", "/part")
    session = open_session(deadlines=CALM if part in ASKED_LATER else replace(CALM, second_look=0.1))
    session.open_tabs(["about:blank"])
    live = visit(session, web, default_user="")
    web.put("/", f"<p>Board</p>{PARTS[part]}")
    web.put("/part", answers[found])
    verdict = look(session, live, "[{not: {page: {open: /, includes: Seed}}}]")
    assert (verdict.passed, verdict.cause) == (None, "site"), str(verdict)
    assert f"got {found} for GET http://a.test/part" in " ".join(str(verdict).split())
    if (part, found) == UNANSWERED[0]:
        assert look(session, live, "[{page: {open: /, includes: Board, excludes: Seed}}]").passed
        assert look(session, live, "[{page: {open: /, includes: Seed}}]").passed is False


def test_failed_invisible_or_foreign_resources_do_not_matter(open_session: OpenSession, web: Web) -> None:
    parts = """<img src=/busy><link rel=stylesheet href=/busy><link rel=icon href=/busy><video src=/busy></video>
        <link rel=prefetch href=/busy><link rel=manifest href=/busy><script src=/gone></script>
        <iframe src=/refused></iframe><script src=https://elsewhere.test/x.js></script>
        <script>navigator.sendBeacon('/busy')
        const stop = new AbortController(); fetch('/again', {signal: stop.signal}).catch(() => 0)
        stop.abort(); fetch('/again')</script>"""
    web.put("/again", "none")
    web.put("/busy", web.reply("no", 503))
    web.put("/gone", web.reply("no", 404))
    web.put("/refused", web.reply("no", 403))
    web.put("/", f"<p>Board</p>{parts}")
    web.put("/lost", web.reply("Out of order", 503))
    web.put("/from", "<script src=/busy></script><script>setTimeout(() => location.href = '/', 100)</script>")
    session = open_session(deadlines=CALM)
    session.open_tabs(["about:blank"])
    live = visit(session, web, default_user="")  # for a signed-in user, the rejected part may matter
    for check in (
        "page: {open: /, excludes: Seed}",
        "page: {open: /from, excludes: Seed}",
        "page: {open: /lost, status: 503, excludes: Seed}",
    ):
        verdict = look(session, live, f"[{{{check}}}]")
        assert verdict.passed, f"{check}: {verdict}"


@pytest.mark.parametrize(("times", "shown"), [(1, "Seed"), (99, "")])
def test_page_that_navigates_while_read_is_read_again(
    open_session: OpenSession, web: Web, monkeypatch: pytest.MonkeyPatch, times: int, shown: str
) -> None:
    """For example by a timer that is late on a busy machine: later than the second read."""
    read, left = page_reading._read, [times]

    async def read_late(tab: Tab, *given: Any) -> PageReading:
        document, reading = tab.document, await read(tab, *given)
        if left[0]:
            left[0] -= 1
            await tab.evaluate("() => { location.href = '/' }", seconds=20, what="going elsewhere")
            while tab.document == document and not tab.is_navigating():
                await tab.wait_for_activity(20)
        return reading

    monkeypatch.setattr(page_reading, "_read", read_late)
    web.put("/", f"<p>{shown}</p>")
    web.put("/from", "<p>Board</p>")
    session = open_session(deadlines=replace(CALM, second_look=0.1))
    session.open_tabs(["about:blank"])
    live = visit(session, web, default_user="")
    for check in ("page: {open: /from, excludes: Seed}", "page: {open: /from, includes: Board}"):
        left[0] = times
        assert look(session, live, f"[{{{check}}}]").passed is False, check


@pytest.mark.skipif(BROWSER != "chromium", reason="which frames a Firefox loads late is its own")
def test_content_out_of_view_is_read(open_session: OpenSession, web: Web) -> None:
    """Browsers render it, and load its frames, only when it is scrolled into view."""
    far = "<div style='height: 20000px'>Board</div>"
    style = "<style>li { content-visibility: auto; contain-intrinsic-size: 1px 1000px }</style>"
    closed = "<p style='content-visibility: hidden'>Tea</p>"
    web.put("/", f"{style}{closed}<ul>{'<li>Milk</li>' * 20}<li id=last style='color: red'>Seed</li></ul>")
    web.put("/framed", f"{far}<iframe loading=lazy src=/inner></iframe>")
    web.put("/inner", f"{far}<iframe loading=lazy src=/seed></iframe>")
    web.put("/seed", "Seed")
    session = open_session(deadlines=CALM)
    session.open_tabs(["http://a.test/"])
    session.tabs()
    live = visit(session, web, default_user="")
    for way in ("", "open: /, "):
        conditions = (
            "includes: Seed",
            "excludes: Tea",
            "locate: css=li, includes: Seed",
            "locate: 'js=document.querySelector(\"#last\").innerText', exact: Seed",
            "locate: 'js=document.querySelector(\"#last\")', exact: Seed",
        )
        checks = ", ".join(f"{{page: {{{way}{condition}}}}}" for condition in conditions)
        verdict = look(session, live, f"[{checks}]")
        assert verdict.passed, f"{way}: {verdict}"
        assert look(session, live, f"[{{page: {{{way}excludes: Seed}}}}]").passed is False
    html = live.read_page(open=None, locate=None).html
    assert 'style="color: red' in html
    assert "visibility: visible" not in html  # it is left as it was
    assert "<li>Milk</li>" in html
    assert look(session, live, "[{page: {open: /framed, includes: Seed}}]").passed
    assert look(session, live, "[{page: {open: /framed, excludes: Seed}}]").passed is False
    session.open_tabs(["http://a.test/framed"])
    verdict = look(session, live, "[{page: {excludes: Seed}}]")  # which belongs to the agent and is not changed
    assert (verdict.passed, verdict.cause) == (None, "site"), str(verdict)
    assert "has not loaded its frame http://a.test/inner" in " ".join(str(verdict).split())


ASKED_AGAIN = """<script type=module>
    const ask = (way, more) => fetch('/items?' + way, more).then(answer => answer.text())
    const form = () => { const made = new FormData(); made.append('op', 'list'); return made }
    await ask('get')
    await ask('get', {headers: {Authorization: 'renewed', 'X-Request-Id': '2'}})
    await ask('post', {method: 'POST', body: 'list'})
    await ask('post', {method: 'POST', body: 'list'})
    await ask('form', {method: 'POST', body: form()})
    await ask('form', {method: 'POST', body: form()})
    await ask('gone')
    </script>"""
OTHERS = {
    "body": "await ask({method: 'POST', body: 'list'}); await ask({method: 'POST', body: 'me'})",
    "header": "await ask({headers: {'X-Page': '2'}}); await ask({headers: {'X-Page': '1'}})",
    "method": "await ask({}); await ask({method: 'HEAD'})",
    "at once": "await Promise.all([ask({}), ask({})])",
    "file": """const file = text => ({method: 'POST', body: new Blob([text])})
        await ask(file('list')); await ask(file('me'))""",
}


@pytest.mark.matrix(1)
@pytest.mark.parametrize("how", OTHERS)
def test_repeated_script_request_replaces_the_failed_one(open_session: OpenSession, web: Web, how: str) -> None:
    """Only if the request is the same: one API address may answer many questions."""
    asked: set[str] = set()

    def answer(request: Request) -> Reply:
        again, way = request.url in asked, request.url.partition("?")[2]
        asked.add(request.url)
        return web.reply("none", 404 if way == "gone" else 200 if again else 503)

    web.put("/items", answer)
    session = open_session()
    session.open_tabs(["about:blank"])
    live = visit(session, web, default_user="")
    if how == "body":
        web.put("/", ASKED_AGAIN)
        verdict = look(session, live, "[{page: {open: /, excludes: Seed}}]")
        assert verdict.passed, str(verdict)
        assert len(asked) == 4
    asked.clear()
    script = f"const ask = more => fetch('/items', more).then(a => a.text()); {OTHERS[how]}"
    web.put("/", f"<script type=module>{script}</script>")
    verdict = look(session, live, "[{page: {open: /, excludes: Seed}}]")
    assert (verdict.passed, verdict.cause) == (None, "site"), str(verdict)
    assert "got status 503" in " ".join(str(verdict).split())


GIVEN_UP = {
    "fetch": """<script>const stop = new AbortController(); fetch('/held', {signal: stop.signal}).catch(() => 0)
        when.then(() => stop.abort())</script>""",
    "XMLHttpRequest": """<script>const x = new XMLHttpRequest(); x.open('GET', '/held'); x.send()
        when.then(() => x.abort())</script>""",
    "body": """<script>const stop = new AbortController(); fetch('/begun', {signal: stop.signal}).then(a => a.text())
        .catch(() => 0); when.then(() => stop.abort())</script>""",
    "frame": """<iframe src=/held></iframe>
        <script>when.then(() => document.querySelector('iframe').remove())</script>""",
}
NOT_MISSED = {
    "asked again": """<script>const stop = new AbortController()
        fetch('/second', {signal: stop.signal}).catch(() => fetch('/second').then(a => a.text()))
        when.then(() => stop.abort())</script>""",
    "another frame": """<iframe src=/held></iframe>
        <script>when.then(() => document.querySelector('iframe').src = '/asked')</script>""",
    "another page": "<script>fetch('/held').catch(() => 0); when.then(() => location.href = '/asked')</script>",
    "not read": "<script>fetch('/ping'); fetch('/much'); fetch('/ping').then(a => a.body.cancel())</script>",
    "shared worker": "<script>new SharedWorker('/shared')</script>",
    "preflight": "<script>fetch('http://b.test/free', {headers: {'X-A': '1'}}).then(a => a.text())</script>",
    "no such api": "<script>fetch('http://b.test/none', {headers: {'X-A': '1'}}).catch(() => 0)</script>",
}
BLOCKED = {
    "status 503 when the browser asked": "http://b.test/busy",
    "status 403 when the browser asked": "http://b.test/shut",
    "status 502 for GET": "http://b.test/down",
}


BECAME = {
    **{how: (body, "gave up GET") for how, body in GIVEN_UP.items()},
    **{how: (body, "") for how, body in NOT_MISSED.items()},
    **{said: (f"<script>fetch('{url}', {{headers: {{'X-A': '1'}}}})</script>", said) for said, url in BLOCKED.items()},
}
"""The script of a page, and the verdict's text about its request; empty if nothing is missing."""


@pytest.mark.matrix(3)
@pytest.mark.skipif(BROWSER != "chromium", reason="a Firefox does not tell of all of them")
@pytest.mark.parametrize("how", BECAME)
def test_outcome_of_requests_is_known_without_browser_events(open_session: OpenSession, web: Web, how: str) -> None:
    """Requests that the page aborted, that the browser blocked, or whose response was never read."""
    body, expected = BECAME[how]
    if how == "status 502 for GET":  # which needs no asking
        body = body.replace("'X-A'", "Accept")
    held = threading.Event()
    second = iter([True])

    def hold(request: Request) -> str:
        if not request.url.endswith("/second") or next(second, False):
            held.set()
            web.released.wait(60)
        return "none"

    web.put("/held", hold)
    web.put("/second", hold)
    web.put("/asked", lambda request: str(held.wait(60)))  # the page continues once the site has received the request
    web.put("/begun", lambda request: web.reply(begun(held, web.released)))
    unkept = {"Cache-Control": "no-store"}
    web.put("/ping", Reply(body="none", headers=unkept))
    web.put("/much", Reply(body="x" * 300_000, headers=unkept))
    web.file("/shared", "onconnect = () => 0", "text/javascript")
    allowed = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*"}
    for path, status, others in (("free", 200, 200), ("none", 404, 200), ("busy", 503, 200), ("shut", 403, 200)):
        first, then = Reply(status=status, headers=allowed), Reply(status=others, headers=allowed)
        web.put(f"http://b.test/{path}", partial(by_method, first, then))
    web.put("http://b.test/down", web.reply("no", 502))
    session = open_session(deadlines=replace(CALM, answers=1.0, settle=1.0, second_look=0.1))
    session.open_tabs(["about:blank"])
    live = visit(session, web, default_user="")
    when = "<script>const when = fetch('/asked').then(a => a.text())</script>" if "when." in body else ""
    web.put("/", f"<p>Board</p>{when}{body}")
    verdict = look(session, live, "[{page: {open: /, excludes: Seed}}]")
    if expected:
        assert (verdict.passed, verdict.cause) == (None, "site"), str(verdict)
        assert expected in " ".join(str(verdict).split())
    else:
        assert verdict.passed, str(verdict)


def by_method(options: Reply, others: Reply, request: Request) -> Reply:
    return options if request.method == "OPTIONS" else others


def begun(held: threading.Event, released: threading.Event) -> Iterator[bytes]:
    yield b"see"
    held.set()
    released.wait(60)


def test_page_without_scripts_is_read_once(open_session: OpenSession, web: Web) -> None:
    web.put("/", "<p>Board</p>")
    session = open_session(deadlines=replace(CALM, second_look=500.0, step=30.0))
    session.open_tabs(["about:blank"])
    assert look(session, visit(session, web, default_user=""), "[{page: {open: /, excludes: Seed}}]").passed


@pytest.mark.matrix(1)
@pytest.mark.skipif(BROWSER != "chromium", reason="what a Firefox does with such pages is its own")
@pytest.mark.parametrize(
    ("content", "conditions"),
    [
        (
            "<script>document.write('x '.repeat(60000))</script>",
            (
                "page: {open: /, includes: Milk}",
                "not: {page: {open: /, includes: Milk}}",
                "page: {open: /, excludes: Tea}",
            ),
        ),
        # Each reading of these keeps a core busy for seconds.
        (
            "<script>setTimeout(() => { while (true); }, 0)</script>",
            ("not: {page: {open: /, includes: Milk}}", "page: {open: /, excludes: Tea}"),
        ),
        (
            "<script>setInterval(() => { while (true) alert(1) }, 0)</script>",
            ("not: {page: {open: /, includes: Milk}}", "page: {open: /, excludes: Tea}"),
        ),
    ],
    ids=["much", "busy", "dialogs"],
)
def test_page_made_unreadable_by_agent_satisfies_no_condition(
    open_session: OpenSession, web: Web, monkeypatch: pytest.MonkeyPatch, content: str, conditions: tuple[str, ...]
) -> None:
    """An agent can write into the pages of a site; that must not exclude its trial from the success rate."""
    monkeypatch.setattr("pytest_webarena.browser.reading.page_reading.LONGEST_PAGE", 100_000)
    web.put("/", f"<p>Milk</p>{content}")
    session = signed_in(open_session, QUICK)
    live = visit(session, web, default_user="")
    verdict = look(session, live, f"[{', '.join(f'{{{each}}}' for each in conditions)}]")
    assert [result.passed for result in verdict.results] == [False] * len(conditions), str(verdict)


def test_oversized_api_response_satisfies_no_condition(
    open_session: OpenSession, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_webarena.sites.client.visitor.LONGEST_ANSWER", 100_000)
    web.put("/api", json.dumps(["Milk"] * 20_000))
    session = signed_in(open_session)
    live = visit(session, web, default_user="")
    conditions = ("includes: Milk", "excludes: Tea", "count: 0")
    for around, condition in itertools.product(("{}", "not: {{{}}}"), conditions):
        check = around.format(f"state: {{api: /api, {condition}}}")
        verdict = look(session, live, f"[{{{check}}}]")
        assert verdict.passed is False, f"{check}: {verdict}"
        assert "expected at most 100,000 bytes, found more" in str(verdict)
