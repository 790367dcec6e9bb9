"""Pages of the embedded sites, as visitors use them: on a phone, with axe, with the keyboard.

The sites' applications answer requests in this process; no page may request anything from elsewhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from werkzeug.test import Client

from pytest_webarena.embedded import APPS
from pytest_webarena.embedded.world import PEOPLE
from tests.browser.conftest import PeoplesBrowser

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Route

pytestmark = pytest.mark.browser

_HOME = "/makers/pagefold"
KINDS: Mapping[str, Sequence[str]] = {
    "homepage": ("/", "/password.html", "/calculator?expression=2*3", "/scratchpad/", "/scratchpad/1",
                 "/scratchpad/new",
                 "/manuals/", "/manuals/?q=late+fee", "/manuals/code-hosting", "/manuals/trains", "/converter?value=3",
                 "/calendar/2025-06", "/calendar/events/regatta", "/account", "/signin", "/nothing"),
    "wikipedia": ("/", "/wiki/Tarnmark", "/wiki/Aldersey", "/search?q=lantern", "/categories", "/index", "/nothing"),
    "map": ("/", "/search?query=bakery", "/directions?engine=foot&from=Charter+Hall&to=Regional+Library", "/place/1",
            "/reverse?lat=54.412&lon=-1.905", "/about", "/nothing"),
    "reddit": ("/", "/all/new", "/f/books", "/forums", "/forums/by_category", "/forums/all", "/comments",
               "/submit/books",
               "/search?q=lantern", "/user/tobin.ashgrove", "/user/mara.linden/account", "/user/mara.linden/block_list",
               "/user/mara.linden/edit_biography", "/messages", "/messages/thread/1", "/notifications", "/create_forum",
               "/user/tobin.ashgrove/compose_message", "/f/books/moderators", "/f/books/moderation_log",
               "/f/books/bans",
               "/f/books/edit", "/f/books/2384", "/login", "/nothing"),
    "gitlab": ("/explore", "/explore/groups", "/makers", "/dario.penhallow", _HOME, f"{_HOME}/-/tree/main/tests",
               f"{_HOME}/-/blob/main/README.md", f"{_HOME}/-/blame/main/README.md", f"{_HOME}/-/commits/main",
               f"{_HOME}/-/branches", f"{_HOME}/-/tags", f"{_HOME}/-/graphs/main", f"{_HOME}/-/upload/main",
               f"{_HOME}/-/replace/main/README.md", f"{_HOME}/-/new/main", f"{_HOME}/-/edit/main/README.md",
               f"{_HOME}/-/delete/main/README.md", f"{_HOME}/-/compare/main...fix-readme-sheets", f"{_HOME}/-/issues",
               f"{_HOME}/-/issues/1", f"{_HOME}/-/issues/new", f"{_HOME}/-/merge_requests/1/diffs",
               f"{_HOME}/-/merge_requests/new", f"{_HOME}/-/labels", f"{_HOME}/-/labels/new", f"{_HOME}/-/milestones",
               f"{_HOME}/-/milestones/1", f"{_HOME}/-/project_members", f"{_HOME}/edit", f"{_HOME}/-/forks/new",
               "/groups/makers/-/group_members", "/dashboard/todos", "/dashboard/issues", "/dashboard/activity",
               "/-/profile", "/-/profile/personal_access_tokens", "/projects/new", "/groups/new",
               "/search?search=tide&scope=blobs", "/users/sign_in", "/nothing"),
}  # fmt: skip
_BY_KEYS = {"homepage": "/scratchpad/", "wikipedia": "/wiki/Tarnmark", "reddit": "/submit", "gitlab": _HOME,
            "map": "/directions?engine=foot&from=Charter+Hall&to=Regional+Library"}  # fmt: skip
"""Pages that have more to reach by keys than the first of a site."""
FAINT = """() => {
  const light = (colour) => {
    const [red, green, blue, solid = 1] = colour.match(/[\\d.]+/g).map(Number);
    const linear = (v) => v / 255 <= 0.03928 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = [red, green, blue].map(linear);
    return solid < 1 ? NaN : 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll("input, select, textarea")]
    .filter((field) => !["hidden", "checkbox", "radio", "color", "file", "range"].includes(field.type))
    .filter((field) => {
      const style = getComputedStyle(field), both = [light(style.color), light(style.backgroundColor)];
      return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05) < 4.5;
    }).map((field) => field.outerHTML.slice(0, 90));
}"""
"""Fields whose typed text is unreadable; axe checks the text of pages, not the values of fields."""
FOCUSED = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  const ringed = style.outlineStyle !== "none" || style.boxShadow !== "none";
  const said = at.tagName.toLowerCase() + " " + (at.id || at.textContent.trim().slice(0, 20));
  const stop = at === document.body || at.dataset.visited ? "" : said;
  at.dataset.visited = "yes";
  return [stop, ringed];
}"""
MISSED = """() => [...document.querySelectorAll("a[href], button, select, textarea, summary, input")]
  .filter((at) => !["hidden", "radio"].includes(at.type) && at.checkVisibility() && !at.disabled && !at.dataset.visited)
  .filter((at) => !at.closest("details:not([open]) > :not(summary)"))
  .map((at) => at.outerHTML.slice(0, 90))"""

Look = Callable[[Callable[["Page"], Awaitable[None]]], None]


def test_every_site_is_listed_with_page_kinds() -> None:
    assert {*KINDS, "shop"} == APPS.keys(), "add a line to KINDS: a page of each kind (the shop has tests of its own)"


@pytest.fixture(scope="module", params=KINDS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Client]:
    """One of the sites, and a signed-in user where the site has accounts."""
    name: str = request.param
    if name == "gitlab":
        pytest.importorskip("dulwich")
    module = import_module(f"pytest_webarena.embedded.{name}")
    data: Path = tmp_path_factory.mktemp(name)
    module.seed(data)
    client = Client(module.create_app(data))
    facts = yaml.safe_load((APPS[name].folder / "site.yaml").read_bytes())["sites"][name]
    if "sign_in" in facts:
        person = next(person for person in PEOPLE if person.username == facts["user"])
        sent = {"username": person.username, "password": person.password}
        assert client.post(facts["sign_in"]["path"], data=sent).status_code == 303
    return name, client


@pytest.fixture(scope="module")
def look(site: tuple[str, Client], peoples_browser: PeoplesBrowser) -> Look:
    """Run a coroutine with a page on a phone's screen; page errors and foreign requests fail the test."""
    name, client = site

    def look(act: Callable[[Page], Awaitable[None]]) -> None:
        _look(client, f"http://{name}.test/", peoples_browser, act)

    return look


def _look(client: Client, base: str, browser: PeoplesBrowser, act: Callable[[Page], Awaitable[None]]) -> None:
    faults: list[str] = []

    async def answer(route: Route) -> None:
        if not route.request.url.startswith(base):
            faults.append(f"asks for {route.request.url}")
            await route.abort()
            return
        with client.get(route.request.url.removeprefix(base[:-1]), follow_redirects=True) as response:
            await route.fulfill(status=response.status_code, headers=dict(response.headers), body=response.get_data())

    async def use(context: BrowserContext) -> None:
        page = await context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
        page.on("console", lambda said: faults.append(f"{page.url}: {said.text}") if said.type == "error" else None)
        await page.route("**/*", answer)
        await act(page)

    browser.use(use, viewport={"width": 390, "height": 844}, base_url=base)
    assert [fault for fault in faults if "status of 404" not in fault] == []


@pytest.mark.matrix(1)
def test_pages_pass_axe_and_fit_a_narrow_screen(site: tuple[str, Client], look: Look) -> None:
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    problems: list[Any] = []

    async def act(page: Page) -> None:
        for path in KINDS[site[0]]:
            response = await page.goto(path)
            assert response is not None
            assert response.status == (404 if path == "/nothing" else 200), path
            await page.evaluate(axe)
            found = await page.evaluate("axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations"
                                        ".map((one) => [one.id, one.nodes[0].html.slice(0, 120)]))")  # fmt: skip
            problems.extend((path, *each) for each in found)
            wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            problems.extend([(path, "wider than the screen", wide)] if wide > 0 else [])
            problems.extend((path, "can't be read", field) for field in await page.evaluate(FAINT))

    look(act)
    assert problems == []


@pytest.mark.matrix(1)
def test_pages_are_usable_by_keyboard_with_visible_focus(site: tuple[str, Client], look: Look) -> None:
    path = _BY_KEYS.get(site[0], KINDS[site[0]][0])

    async def act(page: Page) -> None:
        await page.goto(path)
        if site[0] == "map":
            await page.locator("#map path").nth(20).wait_for(state="attached")
        stops = []
        await page.evaluate("document.activeElement.blur()")
        for _ in range(90):
            await page.keyboard.press("Tab")
            stop, ringed = await page.evaluate(FOCUSED)
            if not stop:
                break
            assert ringed, stop
            stops.append(stop)
        assert (8 if site[0] in _BY_KEYS else 1) < len(stops) < 90
        assert not [stop for stop in stops if stop.startswith("path")], "the ground of the map is no place to stop"
        assert await page.evaluate(MISSED) == []

    look(act)
