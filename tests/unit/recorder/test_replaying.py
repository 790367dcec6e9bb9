"""Replay of a solution: reports of its steps, closed dialogs, and its end."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_webarena.actions import Action, Click, Drag, Goto, Press, Selector, Stop, Type
from pytest_webarena.browser.reports import SelectorMatch
from pytest_webarena.recorder.replaying import replay_solution
from pytest_webarena.signals import TargetRecord

SAVE = TargetRecord(selector="#save", role="button", name="Keep", tag="button")
CLOSE = TargetRecord(selector="#x", role="button", name="Close", tag="button")
COVERED = "The element 'css=#a' is covered by form 'Close', which would get the click instead."


class Page:
    """Elements by selector; a dialog covers the page until it is clicked."""

    def __init__(self, found: dict[str, TargetRecord], *, covered: bool = False) -> None:
        self.found = found
        self.covered = covered
        self.done: list[Action] = []
        self.error = ""

    def find(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        return self.found.get(selector)

    def find_matches(self, selectors: Sequence[str]) -> list[SelectorMatch]:
        hits = [next((hit for key, hit in self.found.items() if each.startswith(key)), None) for each in selectors]
        known = list(self.found.values())
        return [
            SelectorMatch(count=1, element=known.index(hit), target=hit) if hit else SelectorMatch() for hit in hits
        ]

    def act(self, action: Action, label: str = "") -> bool:
        target = getattr(action, "target", None)
        closing = target is not None and target.selector.startswith("role=dialog")
        self.error = COVERED if self.covered and target is not None and not closing else ""
        self.covered = self.covered and not closing
        if not self.error:
            self.done.append(action)
        return not self.error


def test_steps_without_target_or_with_present_target_are_as_recorded() -> None:
    page = Page({"css=#a": SAVE, "css=a.b": SAVE})
    steps: list[Action] = [
        Goto("shop:/x"),
        Press("Enter"),
        Click(Selector("css=#a", repair_selectors=("css=a.b",))),
        Stop("1"),
    ]
    replayed = list(replay_solution(steps, page, {"shop": "http://shop.test"}))
    assert [each.how for each in replayed] == ["as recorded"] * 4
    assert not any(each.healed for each in replayed)
    assert page.done[0] == Goto("http://shop.test/x")
    assert str(replayed[1]) == "step 2 (press 'Enter'): as recorded"


def test_replay_heals_a_step_and_ends_at_a_missing_target() -> None:
    page = Page({"css=#save": SAVE, "data-testid=save": SAVE})
    healed = Type(Selector('role=button[name="Save"s]', repair_selectors=("css=#save", "data-testid=save")), "x")
    lost = Drag(Selector("css=#save"), Selector("css=#gone"))
    replayed = list(replay_solution([healed, lost, Stop("")], page, {}))
    assert [each.how for each in replayed] == [
        "healed: button 'Keep', found by its id and its test id",
        "not found: nothing that is known of it finds one",
    ]
    assert replayed[0].healed
    assert replayed[0].done == Type(Selector("css=#save"), "x")
    assert replayed[1].done is None
    assert len(page.done) == 1


def test_covering_dialog_is_closed_by_its_close_button() -> None:
    found = {"css=#a": SAVE, "role=dialog >> role=button[name=/": CLOSE}
    page = Page(found, covered=True)
    [replayed] = replay_solution([Click(Selector("css=#a"))], page, {})
    closing = Click(Selector('role=dialog >> role=button[name="Close"s]'))
    assert (replayed.before, replayed.healed, page.done) == ((closing,), True, [closing, Click(Selector("css=#a"))])
    assert replayed.how == "a dialog that lay over the page was closed"


def test_covering_element_without_close_button_is_reported() -> None:
    page = Page({"css=#a": SAVE}, covered=True)
    [replayed] = replay_solution([Click(Selector("css=#a")), Stop("")], page, {})
    assert (replayed.done, replayed.how) == (None, f"it had no effect: {COVERED}")


def test_cookie_consent_is_rejected_only_in_a_consent_dialog() -> None:
    refuse = TargetRecord(selector="#r", role="button", name="Reject all", tag="button")
    page = Page({"css=#a": SAVE, "role=dialog[name=/cookie": refuse}, covered=True)
    [replayed] = replay_solution([Click(Selector("css=#a"))], page, {})
    assert replayed.before == (Click(Selector('role=dialog >> role=button[name="Reject all"s]')),)
    page = Page({"css=#a": SAVE, "role=dialog[name=/other": refuse}, covered=True)
    [replayed] = replay_solution([Click(Selector("css=#a"))], page, {})
    assert replayed.done is None


def test_covering_offer_is_declined_by_its_only_decline_button() -> None:
    class Offer(Page):
        def act(self, action: Action, label: str = "") -> bool:
            self.covered = self.covered and action != declined
            self.error = COVERED if self.covered else ""
            return not self.error

    declined = Click(Selector('role=button[name="No thanks"s]'))
    decline = TargetRecord(selector="#n", role="button", name="No thanks", tag="button")
    offer = Offer({"css=#a": SAVE, r"role=button[name=/^\s*(no": decline}, covered=True)
    [replayed] = replay_solution([Click(Selector("css=#a"))], offer, {})
    assert replayed.before == (declined,)
    page = Offer({"css=#a": SAVE, r"role=button[name=/^\s*(close": CLOSE}, covered=True)
    [replayed] = replay_solution([Click(Selector("css=#a"))], page, {})
    assert replayed.done is None


def test_several_dialogs_are_closed_up_to_a_limit() -> None:
    class Behind(Page):
        dialogs = 2

        def act(self, action: Action, label: str = "") -> bool:
            target = getattr(action, "target", None)
            if target is not None and target.selector.startswith("role=dialog"):
                self.dialogs -= 1
                return True
            self.error = COVERED if self.dialogs else ""
            return not self.error

    found = {"css=#a": SAVE, "role=dialog >> role=button[name=/": CLOSE}
    page = Behind(found)
    [replayed] = replay_solution([Click(Selector("css=#a"))], page, {})
    assert (len(replayed.before), replayed.how) == (2, "2 dialogs that lay over the page were closed")
    page = Behind(found)
    page.dialogs = 99
    [replayed] = replay_solution([Click(Selector("css=#a"))], page, {})
    assert (replayed.done, page.dialogs) == (None, 96)
