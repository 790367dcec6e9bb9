"""Sites on one host share cookies, so sign-ins on several of them are verified together in one browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.catalogues.manifest import Account, LoginCheck, LoginRecipe
from pytest_webarena.sites.protocol.messages import SiteAccess
from pytest_webarena.trials.logins import Logins
from pytest_webarena.trials.renewal import renew_ended_session

if TYPE_CHECKING:
    from tests.browser.conftest import Reply, Request, Web

ADA = Account(username="ada", password="")


class Lease:
    """The part of a lease of hosted sites that logins use."""

    def __init__(self, proxy: str, *sites: SiteAccess) -> None:
        self.harness_proxy = self.sign_in_proxy = proxy
        self.sites = {site.name: site for site in sites}

    def session_refused(self, site: str) -> None:
        raise AssertionError(f"{site} has one replica")


MakeSite = Callable[..., SiteAccess]


@pytest.fixture
def make_site(web: Web, tmp_path: Path) -> MakeSite:
    """Make a site whose account page needs its own cookie, and whose start page may set one."""

    def make(url: str, cookie: str = "", *, sets: str = "") -> SiteAccess:
        label = urlsplit(url).netloc.replace(":", "-").replace(".", "-")

        def account(request: Request) -> Reply | str:
            sent = request.headers.get("Cookie", "").split("; ")
            return "<header>ada</header>" if cookie in sent else web.reply(status=302, Location="/login")

        web.put(f"{url}/", web.reply("<title>Home</title>", Set_Cookie=sets or "seen=yes"))
        web.put(f"{url}/login", "<title>Log in</title>")
        web.put(f"{url}/account", account)
        recipe = None
        if cookie:
            name, _, value = cookie.partition("=")
            kept = {"name": name, "value": value, "domain": urlsplit(url).hostname, "path": "/"}
            storage = {"origin": url, "localStorage": [{"name": "theme", "value": "dark"}]}
            state = {"cookies": [kept], "origins": [storage]}
            file = tmp_path / f"{label}.json"
            file.write_text(json.dumps(state))
            check = LoginCheck(path="/account", includes="{username}", locate="css=header")
            recipe = LoginRecipe(kind="state", site=label, check=check, state=str(file))
        return SiteAccess(
            name=label, app="x", url=url, start=f"{url}/",
            users={"ada": ADA}, default_user="ada" if cookie else "", login=recipe,
        )  # fmt: skip

    return make


def signing_in(engine: BrowserEngine, lease: Lease) -> Callable[[], Any]:
    logins = Logins(lambda: engine, lambda sites, holder, ahead: nullcontext(lease))  # type: ignore[arg-type]
    return lambda: logins.state(lease, {})  # type: ignore[arg-type]


def test_sign_ins_that_overwrite_each_other_are_a_site_error(
    engine: BrowserEngine, web: Web, make_site: MakeSite
) -> None:
    shop, forum = make_site("http://h.test:7770", "session=s"), make_site("http://h.test:9999", "session=f")
    with pytest.raises(SiteError) as caught:
        signing_in(engine, Lease(web.proxy, shop, forum))()
    message = str(caught.value)
    assert caught.value.cause == "site"
    assert message.startswith(
        "the sign-ins do not work together in one browser: signing in to h-test-7770 as ada: expected"
    )
    assert (
        "Cookies belong to a host, whatever the port, so h-test-7770 (http://h.test:7770) and h-test-9999 " in message
    )
    assert "share session. Give each site a host name of its own, as in --site-url h-test-9999=http://" in message


def test_sign_in_overwritten_by_site_without_account_is_a_site_error(
    engine: BrowserEngine, web: Web, make_site: MakeSite
) -> None:
    shop, wiki = make_site("http://h.test:7770", "session=s"), make_site("http://h.test:8888", sets="session=visitor")
    with pytest.raises(SiteError, match="do not work together in one browser"):
        signing_in(engine, Lease(web.proxy, shop, wiki))()


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("urls", "cookies", "together"),
    [
        (("http://h.test:7770", "http://h.test:9999"), ("shop=s", "forum=f"), True),
        (("http://h.test:7770", "http://i.test:9999"), ("session=s", "session=f"), False),
    ],
    ids=["cookies of their own", "hosts of their own"],
)
def test_compatible_sign_ins_are_verified_together_once(
    engine: BrowserEngine,
    web: Web,
    make_site: MakeSite,
    urls: tuple[str, str],
    cookies: tuple[str, str],
    together: bool,
) -> None:
    sign_in = signing_in(engine, Lease(web.proxy, *map(make_site, urls, cookies)))
    looks = []
    for _ in range(3):
        before = len(web.requests)
        state = sign_in()
        looks.append(sum(request.url.endswith("/account") for request in web.requests[before:]))
        assert {f"{each['name']}={each['value']}" for each in state["cookies"]} == set(cookies)
        assert {each["origin"] for each in state["origins"]} == set(urls)
    # Each alone in every trial, and before that as nobody; together once, with one more look at the first after the
    # other's page.
    assert looks == [2 + 2 + 3 * together, 2, 2]


def test_ended_session_is_attributed_to_site_by_port() -> None:
    recipe = LoginRecipe(kind="form", site="", path="/login", check=LoginCheck(path="/account"))
    sites = {
        name: SiteAccess(name=name, app=name, url=url, start="", users={"ada": ADA}, default_user="ada", login=recipe)
        for name, url in (("shop", "http://h.test:7770"), ("forum", "http://h.test:9999"))
    }
    asked: list[str] = []
    logins: Any = SimpleNamespace(ended=lambda lease, site, users, state: asked.append(site))
    environment: Any = SimpleNamespace(
        lease=SimpleNamespace(sites=sites),
        session=SimpleNamespace(storage_state=dict),
        requests=lambda: [SimpleNamespace(url="http://h.test:7770/logout")],
    )
    step: Any = SimpleNamespace(url_before="http://h.test:9999/notes", url_after="http://h.test:9999/login?next=/")
    assert not renew_ended_session(logins, {}, environment, step)
    assert asked == ["forum"]
