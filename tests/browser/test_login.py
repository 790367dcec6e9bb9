"""Signing in by recipe, and what is said when it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs

import pytest

from pytest_webarena.actions import Click, Selector, Type
from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.login import login
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.manifest import Account, LoginCheck, LoginRecipe

if TYPE_CHECKING:
    from tests.browser.conftest import Reply, Request, Web

ADA = Account(username="ada", password="pässword {1}")
RECIPE = LoginRecipe(
    kind="form",
    site="forum",
    path="/login?next=/",
    steps=(
        Type(Selector('role=textbox[name="Username"]'), "{username}"),
        Type(Selector("css=[type=password]"), "{password}"),
        Click(Selector('role=button[name="Log in"]')),
    ),
    check=LoginCheck(path="/account", includes="Signed in as {username}", locate="css=header"),
)
FORM = """<title>Log in</title><form method=post action=/login><label>Username <input name=u></label>
<input type=password name=p><button>Log in</button></form>"""


@pytest.fixture
def forum(web: Web) -> Web:
    """A site with a form, a cookie and an account page."""

    def sign_in(request: Request) -> Reply | str:
        if request.method == "GET":
            return FORM
        sent = parse_qs(request.body)
        if (sent["u"], sent["p"]) == ([ADA.username], [ADA.password]):
            return web.reply(status=302, Location="/", Set_Cookie="user=ada; Path=/")
        return FORM + "<p>Wrong name or password."

    def account(request: Request) -> Reply | str:
        if "user=ada" in request.headers.get("Cookie", ""):
            return "<header>Signed in as ada</header>"
        return web.reply(status=302, Location="/login")

    web.put("/login", sign_in)
    web.put("/account", account)
    web.put("/", "<title>Home</title>")
    return web


class SignIn(Protocol):
    def __call__(self, *, recipe: LoginRecipe = ..., account: Account = ...) -> dict[str, Any]: ...


@pytest.fixture
def sign_in(engine: BrowserEngine, forum: Web, quick: Deadlines) -> SignIn:
    def sign_in(*, recipe: LoginRecipe = RECIPE, account: Account = ADA) -> dict[str, Any]:
        return login(engine, recipe, account, url="http://a.test", proxy=forum.proxy, deadlines=quick)

    return sign_in


def test_the_state_signs_other_sessions_in(sign_in: SignIn, open_session: Callable[..., Session]) -> None:
    state = sign_in()
    session = open_session(storage_state=state)
    assert session.read_page(open="http://a.test/account", locate="css=header").texts == ("Signed in as ada",)


def test_a_wrong_password_is_noticed_and_never_shown(sign_in: SignIn) -> None:
    with pytest.raises(SiteError) as caught:
        sign_in(account=Account(username="ada", password="hunter2"))
    message = str(caught.value)
    assert message.startswith(
        "signing in to forum as ada: expected http://a.test/account to open, found http://a.test/login"
    )
    assert "the page is http://a.test/login ('Log in'): " in message
    assert "Wrong name or password." in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"steps": (Click(Selector("css=#missing")),)},
            "step 1 of 1 (click css=#missing): No element matches 'css=#missing' on http://a.test/login",
        ),
        (
            {"check": LoginCheck(path="/account", includes="Welcome")},
            "expected 'Welcome' in http://a.test/account, found 'Signed in as ada'",
        ),
        (
            {"check": LoginCheck(path="/account", includes="x", locate="css=footer")},
            "expected 'x' in css=footer on http://a.test/account, found no such element",
        ),
        ({"check": LoginCheck(path="/account", locate="css=footer")}, "expected css=footer on http://a.test/account"),
        ({"check": LoginCheck(path="/nowhere")}, "expected http://a.test/nowhere to open, found HTTP status 404"),
    ],
)
def test_what_failed_is_said(sign_in: SignIn, change: dict[str, Any], message: str) -> None:
    with pytest.raises(SiteError) as caught:
        sign_in(recipe=replace(RECIPE, **change))
    assert message in str(caught.value)
    assert "\nthe page is http://a.test/" in str(caught.value)


def test_a_site_that_is_down(engine: BrowserEngine, web: Web) -> None:
    with pytest.raises(SiteError, match=r"signing in to forum as ada: https://a\.test/login.*ERR_TUNNEL"):
        login(engine, RECIPE, ADA, url="https://a.test", proxy=web.proxy)
