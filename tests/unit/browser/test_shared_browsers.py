"""Shared browsers of an engine: placement of sessions, and browsers that are lost."""

from __future__ import annotations

from typing import Any

from pytest_webarena.browser.shared import SharedBrowsers


class FakeBrowser:
    """A fake browser with a number of contexts."""

    def __init__(self, contexts: int = 0) -> None:
        self.contexts: list[object] = [None] * contexts
        self.connected = True

    def is_connected(self) -> bool:
        return self.connected


def fake_browser(contexts: int = 0) -> Any:
    return FakeBrowser(contexts)


def test_session_is_placed_in_the_emptiest_browser() -> None:
    fleet, full, roomy = SharedBrowsers(3), fake_browser(3), fake_browser(1)
    fleet.add(full)
    assert fleet.least_loaded() is None
    fleet.add(roomy)
    assert fleet.least_loaded() == roomy
    with fleet.reserve(roomy), fleet.reserve(roomy):  # contexts that are not there yet
        assert fleet.least_loaded() is None
    assert fleet.least_loaded() is roomy


def test_stuck_browser_is_lost_and_closed_after_its_last_session() -> None:
    fleet, stuck, other = SharedBrowsers(3), fake_browser(2), fake_browser()
    fleet.add(stuck)
    fleet.add(other)
    assert not fleet.has_lost(stuck)
    assert fleet.retire(stuck) == []  # others are in it still
    assert fleet.has_lost(stuck)  # though it is connected
    assert not fleet.has_lost(other)
    assert fleet.least_loaded() is other
    stuck.contexts.clear()
    assert fleet.retire(stuck) == [stuck]
    assert fleet.all() == [other]


def test_disconnected_browser_is_lost_and_gets_no_session() -> None:
    fleet, disconnected = SharedBrowsers(3), fake_browser(1)
    fleet.add(disconnected)
    disconnected.connected = False
    assert fleet.has_lost(disconnected)
    assert fleet.least_loaded() is None


def test_unshared_browser_is_closed_at_once() -> None:
    fleet, own = SharedBrowsers(None), fake_browser(1)
    fleet.add(own)
    own.connected = False
    assert not fleet.has_lost(own)
    assert fleet.retire(own) == [own]


def test_exclusive_browser_gets_no_other_session() -> None:
    fleet = SharedBrowsers(3)
    own = fleet.use_exclusively(fake_browser(1))
    assert fleet.least_loaded() is None
    own.contexts.clear()
    assert fleet.retire(own) == [own]
