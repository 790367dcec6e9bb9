"""Signing in and out, and sessions that every replica accepts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import homepage
from pytest_webarena.embedded.world import PEOPLE


def _text(client: Client, path: str = "/") -> str:
    return client.get(path).get_data(as_text=True)


def test_everybody_can_sign_in(visitor: Client) -> None:
    assert len(homepage.ACCOUNTS) == len(PEOPLE) == 40
    for person in PEOPLE:
        response = visitor.post("/signin", data={"username": person.username, "password": person.password})
        assert response.status_code == 303
        assert f'Signed in as <a href="/account">{person.name}</a>' in _text(visitor)


def test_sign_in_returns_to_the_previous_page(visitor: Client) -> None:
    assert '<a href="/signin?next=/scratchpad/%3Flabel%3Dlost">Sign in</a>' in _text(visitor, "/scratchpad/?label=lost")
    assert 'name="next" value="/scratchpad/?label=lost"' in _text(visitor, "/signin?next=/scratchpad/%3Flabel%3Dlost")

    data = {"username": "mara.linden", "password": "paper-lantern-86", "next": "/scratchpad/?label=lost"}
    assert visitor.post("/signin", data=data).location == "/scratchpad/?label=lost"


@pytest.mark.parametrize(
    "target", ["http://elsewhere.test/", "//elsewhere.test/", "/\\elsewhere.test", "javascript:1", "//[", "/\t/x"]
)
def test_sign_in_redirects_only_within_the_site(visitor: Client, target: str) -> None:
    data = {"username": "mara.linden", "password": "paper-lantern-86", "next": target}

    assert visitor.post("/signin", data=data).location == "/"


@pytest.mark.parametrize(
    ("username", "password", "accepted"),
    [
        ("mara.linden", "paper-lantern-86", True),
        (" Mara.Linden ", "paper-lantern-86", True),
        ("mara.linden", "Paper-lantern-86", False),
        ("mara.linden", "slack-tide-79", False),
        ("nobody", "paper-lantern-86", False),
        ("", "", False),
    ],
)
def test_only_the_right_password_is_accepted(visitor: Client, username: str, password: str, accepted: bool) -> None:
    response = visitor.post("/signin", data={"username": username, "password": password})

    assert response.status_code == (303 if accepted else 422)
    assert ("Signed in as" in _text(visitor)) is accepted


def test_sign_out_ends_the_session(mara: Client) -> None:
    assert mara.post("/signout").status_code == 303
    assert "Signed in as" not in _text(mara)
    assert mara.get("/account").location == "/signin?next=/account"


def test_account_page_shows_person_and_notes(mara: Client) -> None:
    html = _text(mara, "/account")

    assert "<h1>Mara Linden</h1>" in html
    assert "mara.linden@tarnmark.test" in html
    assert '<a href="/scratchpad/">9</a>' in html


def test_session_is_accepted_by_every_copy_and_after_a_reset(
    mara: Client, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cookie = mara.get_cookie("homepage_session")
    assert cookie is not None
    elsewhere = tmp_path_factory.mktemp("replica")
    homepage.seed(elsewhere)
    replica = Client(homepage.create_app(elsewhere, sites={}))
    replica.set_cookie("homepage_session", cookie.value)
    assert "Signed in as" in _text(replica)

    homepage.seed(elsewhere)
    assert "Signed in as" in _text(replica)


def test_session_cookie_is_the_same_at_every_sign_in(signed_in: Callable[[str], Client]) -> None:
    cookies = [signed_in("mara.linden").get_cookie("homepage_session") for _ in range(2)]

    assert cookies[0] is not None
    assert cookies[1] is not None
    assert cookies[0].value == cookies[1].value
    assert cookies[0].http_only


@pytest.mark.parametrize("value", ["", "rubbish", "eyJ1c2VyIjoibWFyYS5saW5kZW4ifQ.forged"])
def test_forged_session_is_not_signed_in(visitor: Client, value: str) -> None:
    visitor.set_cookie("homepage_session", value)

    assert "Signed in as" not in _text(visitor)


def test_apps_with_different_data_are_isolated(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other_dir = tmp_path_factory.mktemp("other")
    homepage.seed(other_dir)
    one, other = (Client(homepage.create_app(directory, sites={})) for directory in (data_dir, other_dir))

    one.post("/scratchpad/new", data={"title": "Only here"})

    assert "Only here" in _text(one, "/scratchpad/")
    assert "Only here" not in _text(other, "/scratchpad/")


def test_forked_app_uses_its_own_data(visitor: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    own = tmp_path_factory.mktemp("own")
    homepage.seed(own)
    visitor.post("/scratchpad/new", data={"title": "Before the fork"})

    homepage.on_fork(own)

    assert "Before the fork" not in _text(visitor, "/scratchpad/")
