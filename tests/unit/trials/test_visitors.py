"""Accounts with which checks visit a site, and whether the browser still has their login cookies."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_webarena.browser.login import doubt_from_response
from pytest_webarena.sites.catalogues.manifest import Account, LoginCheck, LoginRecipe
from pytest_webarena.sites.client.visitor import Answer
from pytest_webarena.sites.protocol.messages import SiteAccess
from pytest_webarena.trials.live import LiveTrial
from pytest_webarena.trials.session_joining import cookies_at, paths_elsewhere
from tests.cases import each_case

CHECK = LoginCheck(path="/account", includes="{username}")
RECIPES = {
    "form": LoginRecipe(kind="form", site="board", path="/login", check=CHECK),
    "header": LoginRecipe(kind="header", site="board", headers={"X-User": "{username}"}, check=CHECK),
}


def cookie(name: str) -> dict[str, str]:
    return {"name": name, "value": "1", "domain": "a.test", "path": "/"}


def visit(kind: str, *, began: tuple[str, ...] = (), now: tuple[str, ...] = (), page: Any = None) -> LiveTrial:
    """Return a trial that visits the site ``board`` as emma, with cookies at its start and now."""
    site = SiteAccess(
        name="board",
        app="board",
        url="http://a.test",
        start="http://a.test/",
        users={"emma": Account(username="emma", password="x")},
        login=RECIPES[kind],
        default_user="emma",
    )
    session = SimpleNamespace(
        config=SimpleNamespace(storage_state={"cookies": [cookie(name) for name in began]}),
        storage_state=lambda: {"cookies": [cookie(name) for name in now]},
        read_page=lambda **asked: page,
    )
    return LiveTrial(cast("Any", session), cast("Any", SimpleNamespace(sites={"board": site})))


@pytest.mark.parametrize("kind", RECIPES)
def test_site_visitor_is_known_for_every_login_kind(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With header login, the server or a cookie can still sign the account out."""
    answer = Answer(url="http://a.test/account", status=404, headers={}, data=b"")
    monkeypatch.setattr(LiveTrial, "_visit", lambda *asked: answer)
    page = SimpleNamespace(url="http://a.test/account", status=404, texts=())
    live = visit(kind, page=page)
    assert live.visitor("http://a.test/notes/1") == ("board", "emma")
    assert live.caller("board", "/api/notes", None) == ("board", "emma")
    assert live.caller("board", "/api/notes", {"Accept": "text/csv"}) == ("board", "emma")
    assert live.caller("board", "/api/notes", {"authorization": "Bearer x"}) is None  # an unknown account
    assert live.sign_in_doubt("board") == ("expected http://a.test/account to open, found HTTP status 404", False)


@each_case(
    ("kind", "began", "now", "keeps"),
    [
        ("form", ("sid",), ("sid", "seen"), True),
        ("form", ("sid",), ("seen",), False),
        ("header", (), (), True),
        ("header", ("seen",), ("seen",), True),
        ("header", (), ("out",), False),
        ("header", ("seen",), (), False),
    ],
)
def test_keeps_sign_in_compares_login_cookies(
    kind: str, began: tuple[str, ...], now: tuple[str, ...], keeps: bool
) -> None:
    assert visit(kind, began=began, now=now).keeps_sign_in("board") is keeps


def jar(*cookies: str) -> list[Mapping[str, Any]]:
    """Return cookies of a.test, each given as "name value path"."""
    split = (each.split() for each in cookies)
    return [{"name": name, "value": value, "domain": "a.test", "path": path} for name, value, path in split]


@each_case(
    ("now", "paths"),
    [
        (["sid 1 /"], []),
        (["sid 2 /"], ["/"]),  # a new id
        (["sid 1 /", "seen yes /notes"], ["/", "/notes"]),
        ([], ["/"]),  # signed out
        (["sid 1 /", "sid x /notes"], ["/", "/notes"]),
        (["sid 1 /account"], ["/", "/account"]),
    ],
)
def test_paths_elsewhere_finds_paths_with_changed_cookies(now: list[str], paths: list[str]) -> None:
    assert paths_elsewhere(jar("sid 1 /"), jar(*now), "http://a.test") == paths
    assert paths_elsewhere(jar("sid 1 /"), jar(*now), "http://b.test") == []
    assert paths_elsewhere(jar("sid 1 /"), jar(*now), "http://a.test/notes") == (["/notes"] if paths else [])


def test_cookies_at_returns_matching_cookies_longest_path_first() -> None:
    secure: dict[str, Any] = {**jar("s 1 /")[0], "secure": True}
    kept = [*jar("sid 1 /", "sid 2 /notes", "a 3 /note", "b 4 /notes/"), secure, {**secure, "domain": "b.test"}]
    for url, path, values in (
        ("http://a.test", "/", "1"),
        ("http://a.test", "/notes", "21"),
        ("http://a.test", "/notes/1", "421"),
        ("https://a.test", "/n", "11"),
        ("http://c.a.test", "/", ""),
    ):
        assert "".join(each["value"] for each in cookies_at(kept, url, path)) == values


def test_cookies_of_other_paths_raise_no_doubt_about_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, an application below a path of its site has its own cookies."""

    def doubts(began: list[str], now: list[str]) -> tuple[str, list[str]]:
        asked: list[str] = []

        def ask(self: LiveTrial, cookies: list[dict[str, str]], *more: Any) -> tuple[str, int]:
            asked.append(" ".join(each["value"] for each in cookies))
            return "" if "emma" in asked[-1] else "nobody", 200

        monkeypatch.setattr(LiveTrial, "_request_with", ask)
        live = visit("form")
        session: Any = live._session
        session.config.storage_state = {"cookies": jar(*began)}
        session.own_cookies = lambda: jar(*now)
        return live._doubt_elsewhere("board", CHECK, opens=False)[0], asked

    assert doubts(["sid emma /account"], ["sid emma /account", "key 2 /"]) == ("", [""])
    assert doubts(["sid emma /"], ["sid emma5 /", "seen yes /notes"]) == ("", ["yes emma5"])
    flash = ["sid emma /", "flash 1 /account"]
    doubt, asked = doubts(flash, ["sid emma /account", "flash 1 /account", "sid bob /"])
    assert asked == ["emma", "bob"]
    assert doubt == "with the cookies for addresses at /: nobody"


def test_plain_request_cannot_verify_accounts_found_by_locate() -> None:
    answer = Answer(url="http://a.test/account", status=200, headers={}, data=b"emma")
    emma = Account(username="emma", password="x")
    for check, doubt in (
        (LoginCheck(path="/account", locate="text={username}"), "the check names the account in 'locate' alone"),
        (LoginCheck(path="/account", locate="text={username}", includes="{username}"), ""),
        (LoginCheck(path="/account", locate="css=h1"), ""),
    ):
        assert doubt_from_response(answer, check, emma, url="http://a.test").partition(",")[0] == doubt
