"""Login sessions of trials, and their reuse across replicas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.trials import logins
from pytest_webarena.trials.logins import Logins


class FakeLease:
    """A lease of one replica."""

    harness_proxy = sign_in_proxy = ""

    def __init__(self, site: Any) -> None:
        self.sites = {"todo": site}
        self.refused: list[str] = []

    def session_refused(self, site: str) -> None:
        self.refused.append(site)

    def set_headers(self, site: str, headers: Any) -> None:
        raise AssertionError("the recipe sends none")


class Sites:
    """Replicas that create sessions and accept their own, or also those of other replicas."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, shared: bool) -> None:
        self.shared = shared
        self.lease: FakeLease | None = None
        self.made_by: list[FakeLease] = []
        self.looks = self.glances = self.visits = 0
        self.public = False
        """Whether the check holds for visitors who are not signed in, too."""
        self.over = False
        """Whether the site has ended all sessions."""
        recipe = SimpleNamespace(headers={}, check="")
        self.site: Any = SimpleNamespace(
            name="todo", url="http://todo.test", login=recipe, users={"emma": "emma"}, default_user="emma",
            login_state_portable=True, sessions={},
        )  # fmt: skip
        monkeypatch.setattr(logins, "login_headers", lambda recipe, account: {})
        monkeypatch.setattr(logins, "login", self._login)
        monkeypatch.setattr(logins, "verify", self._verify)
        monkeypatch.setattr(logins, "request_check_page", self._glance)
        monkeypatch.setattr(logins, "passes_without_login", self._holds_for_visitors)
        self.logins = Logins(
            lambda: None,  # type: ignore[arg-type,return-value]
            self._lend,
            look=lambda names: {"todo": self.site},
        )

    def trial(self) -> tuple[FakeLease, Any]:
        """Return a trial's lease and the session that it starts with."""
        self.logins.prepare(["todo"], {})
        self.lease = lease = FakeLease(self.site)
        state = self.logins.state(lease, {})  # type: ignore[arg-type]
        assert state is not None
        (cookie,) = state["cookies"]
        return lease, cookie["made_on"]

    @contextmanager
    def _lend(self, sites: Any, holder: str, ahead: Any) -> Iterator[Any]:
        self.lease = FakeLease(self.site)
        yield self.lease

    def _login(self, engine: Any, recipe: Any, account: Any, **where: Any) -> Any:
        assert self.lease is not None
        self.made_by.append(self.lease)
        return {"cookies": [{"made_on": self.lease}]}

    def _holds_for_visitors(self, engine: Any, recipe: Any, account: Any, **where: Any) -> bool:
        self.visits += 1
        return self.public

    def _verify(self, engine: Any, recipe: Any, account: Any, *, state: Any, **where: Any) -> Any:
        self.looks += 1
        if self.over or (not self.shared and state["cookies"] != [{"made_on": self.lease}]):
            raise SiteError("signing in to todo as emma: expected http://todo.test/ to open, found /login")
        return state

    def _glance(self, recipe: Any, account: Any, *, state: Any, **where: Any) -> Any:
        self.glances += 1
        return None if self.over else state


def test_replicas_that_accept_each_others_sessions_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    sites = Sites(monkeypatch, shared=True)
    cookies = [sites.trial()[1] for _ in range(3)]
    assert cookies == [sites.made_by[0]] * 3
    assert (len(sites.made_by), sites.looks, sites.glances) == (1, 1, 2)  # verified in a browser once, not per trial
    assert sites.visits == 1


def test_login_check_that_passes_when_signed_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sites = Sites(monkeypatch, shared=True)
    sites.public = True
    with pytest.raises(SiteError, match="passes for visitors who are not signed in too, so it proves nothing"):
        sites.trial()
    assert not sites.made_by


def test_ended_session_is_replaced_before_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    sites = Sites(monkeypatch, shared=True)
    sites.trial()
    sites.over = True
    lease, cookie = sites.trial()
    assert cookie is lease  # newly created


def test_expired_cookies_are_verified_before_use(monkeypatch: pytest.MonkeyPatch) -> None:
    sites = Sites(monkeypatch, shared=True)
    monkeypatch.setattr(logins, "_expired", lambda state: True)
    for _ in range(3):
        sites.trial()
    assert (sites.looks, sites.glances) == (3, 0)


def test_session_refused_by_other_replicas_is_created_on_each(monkeypatch: pytest.MonkeyPatch) -> None:
    sites = Sites(monkeypatch, shared=False)
    refused = []
    for _ in range(3):
        lease, cookie = sites.trial()
        assert cookie is lease
        refused += lease.refused
    assert refused == ["todo"]  # reported once: the broker keeps such sessions for later replicas
    assert (len(sites.made_by), sites.looks) == (4, 1)  # one on a replica that was returned immediately
