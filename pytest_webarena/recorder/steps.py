"""Converts signals to steps: what a person did, in the form of a task's ``solution``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_webarena import actions
from pytest_webarena.actions import Action, Selector
from pytest_webarena.recorder.address_history import AddressHistory, page_of
from pytest_webarena.recorder.selectors import selectors_of
from pytest_webarena.recorder.withheld import without_secrets
from pytest_webarena.signals import (
    AddressChanged,
    DialogClosed,
    DialogOpened,
    DomEvent,
    KeyPressed,
    Signal,
    TabClosed,
)
from pytest_webarena.tasks.syntax import CONTROLS

__all__ = ["RecordedStep", "steps_of"]

_AT_ONCE = 0.3
"""Seconds within which one action of a person causes all of its events."""
_OPENS = 5.0
"""Seconds after a click within which a new tab counts as opened by it."""
_LEADS = 5.0
"""Seconds after an action within which an address change counts as its effect: scripts use the history, too."""
_SCROLLS = frozenset({"ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", "Space", "Shift+Space"})
"""Keys that scroll a page when no element has the focus."""
_BROWSER = frozenset(
    {f"{held}+{key}" for held in ("Control", "Meta") for key in "acdfhjlnptuvwxyz0123456789+-="}
    | {f"{held}+Shift+{key}" for held in ("Control", "Meta") for key in ("N", "P", "T", "W", "I", "Delete")}
    | {"Alt+ArrowLeft", "Alt+ArrowRight", "Alt+Home", "F1", "F3", "F6", "F7", "F10", "F11", "F12"}
)
"""Shortcuts of the browser, which have other signals or none."""
_EDITING = frozenset(f"{held}+{key}" for held in ("Control", "Meta") for key in "adxyz")
"""Those of them that change something in an editor."""
_CONTROLS = CONTROLS | {"DisclosureTriangle"}
_OMITTED = {
    "formats": "the editor has formats, lists, links or objects, and only its text is recorded",
    "lines": "the editor takes its keys in an invisible field: lines, shortcuts and cursor places are not recorded",
    "rest": "the editor's text is too long to be recorded",
}
"""Problem of a recorded text, by what it omits."""
_RELOADS = frozenset({"F5", "Shift+F5", "Control+F5", "Control+r", "Meta+r", "Control+Shift+R", "Meta+Shift+R"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """One recorded step, with all selectors of its element."""

    action: Action
    selectors: tuple[str, ...] = ()
    """Selectors of the target, most durable first; the action uses the first. Empty for steps without a target."""
    to_selectors: tuple[str, ...] = ()
    """Selectors of the destination of a drag."""
    url: str = ""
    """Address of the page where it was done."""
    time: float = 0.0
    """Unix time in seconds."""
    problem: str = ""
    """Description of what could not be recorded, for readers of the solution; empty if the step is complete."""

    def with_target(self, target: Selector, to: Selector | None = None) -> Action:
        """Return the action with another target, and with the destination ``to`` if it has one."""
        action: Any = self.action
        more = {"to": to} if to is not None and self.to_selectors else {}
        return replace(action, target=target, **more)  # type: ignore[no-any-return]


def steps_of(signals: Sequence[Signal], *, before: int = 0) -> tuple[RecordedStep, ...]:
    """Return what a person did, in order. The first ``before`` signals came with the start pages.

    Steps are made of: addresses that were typed or reached by the history, clicks, the final texts of fields, keys that
    submit, other keys outside of fields, choices, ticks, files, drags, answers to dialogs, changes of tabs and closed
    tabs. Effects of one of these are no steps.
    """
    reader = _Reader()
    for number, signal in enumerate(without_secrets(signals)):
        reader.read(signal, has_started=number >= before)
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self.steps: list[RecordedStep] = []
        self._tab = 0
        self._tabs = {0}
        self._opened: dict[int, float] = {}
        """Time of opening of tabs that a page opened and that have shown nothing else since."""
        self._event: DomEvent | None = None
        """The latest DOM event."""
        self._last_action_time = 0.0
        """Time of the latest action."""
        self._last_enter: DomEvent | None = None
        """The latest DOM event for Enter."""
        self._prompt = ""
        self._empty = False
        """Whether the last tab was closed and no tab has shown anything since."""
        self._history: dict[int, AddressHistory] = {}
        self._uncommitted: dict[tuple[int, str], str | None] = {}
        """Texts of fields, by tab and place, of which the browser may still report the change."""
        self._selecting: DomEvent | None = None
        """A click that selected text, until the next signal."""

    def finish(self) -> tuple[RecordedStep, ...]:
        """Return the steps. If no tab is left, the browser was closed or has died, which is not a step."""
        steps = list(self.steps)
        while self._empty and steps and isinstance(steps[-1].action, actions.CloseTab | actions.FocusTab):
            steps.pop()
        return tuple(steps)

    def read(self, signal: Signal, *, has_started: bool) -> None:
        """Process the next signal."""
        if has_started:
            self._record_selecting_click(signal)
        if isinstance(signal, AddressChanged):
            self._address(signal, has_started)
        elif has_started and isinstance(signal, DialogOpened):
            self._prompt = signal.proposed if signal.dialog == "prompt" else ""
        elif has_started and isinstance(signal, DialogClosed):
            self._closed(signal)
        elif isinstance(signal, TabClosed):
            self._tab_closed(signal, has_started)
        elif has_started and isinstance(signal, KeyPressed):
            self._in_tab(signal)
            self._key(signal)
        elif has_started and isinstance(signal, DomEvent):
            self._in_tab(signal)
            self._dom(signal)
            self._event = signal

    # --- addresses and tabs

    def _address(self, signal: AddressChanged, has_started: bool) -> None:
        known = signal.tab in self._tabs
        self._tabs.add(signal.tab)
        self._leave_fields(signal)
        history = self._history.setdefault(signal.tab, AddressHistory())
        is_effect = (
            history.last_page_change
        )  # a page change after the latest action shows that the action already had its effect
        navigation = history.history_action(signal)
        if not has_started or signal.url.startswith("chrome-error:"):
            return
        if not known:  # a tab comes up
            is_opened_by_click = self._last_action_time > 0 and signal.time - self._last_action_time <= _OPENS
            self._tab = signal.tab
            if signal.cause == "page" or (not signal.cause and is_opened_by_click):
                self._opened[signal.tab] = signal.time
                return
            if not self._empty:  # after the last tab is closed, the browser opens a new one itself
                self._add(actions.NewTab(), signal)
            self._empty = False
            if signal.url != "about:blank":
                self._add(actions.Goto(signal.url), signal)
            return
        if signal.cause == "page" or signal.url == "about:blank":
            return
        if signal.time - self._opened.pop(signal.tab, 0.0) <= _OPENS:
            return  # the page for which the tab was opened
        if (
            signal.cause in ("", "history")
            and signal.time - self._last_action_time <= _LEADS
            and not is_effect > self._last_action_time > 0
        ):
            return
        if self.steps and isinstance(self.steps[-1].action, actions.NewTab) and signal.tab == self._tab:
            self._add(actions.Goto(signal.url), signal)
            return
        self._in_tab(signal)
        self._add(navigation, signal)

    def _in_tab(self, signal: Signal) -> None:
        if signal.tab == self._tab:
            return
        self._tabs.add(signal.tab)
        self._tab = signal.tab
        self._add(actions.FocusTab(sorted(self._tabs).index(signal.tab)), signal)

    def _tab_closed(self, signal: TabClosed, has_started: bool) -> None:
        """Process a closed tab. The last of the others becomes active, as when a session closes a tab."""
        by_page = not signal.cause and signal.time - self._last_action_time <= _LEADS
        if has_started and signal.tab in self._tabs and not by_page:
            self._in_tab(signal)
            self._add(actions.CloseTab(), signal)
        self._tabs.discard(signal.tab)
        self._empty = not self._tabs
        if self._tab == signal.tab and self._tabs:
            self._tab = max(self._tabs)

    # --- dialogs

    def _closed(self, signal: DialogClosed) -> None:
        if not signal.accepted:
            self._add(actions.DismissDialog(), signal)
            return
        text = signal.text if signal.text and signal.text != self._prompt else None
        self._add(actions.AcceptDialog(text), signal)

    # --- what was done to elements

    def _dom(self, event: DomEvent) -> None:
        match event.event:
            case "click" if event.selects and not _acts(event):
                self._selecting = event
                return
            case "click":
                self._leave_fields(event)
                self._click(event)
            case "submit":
                self._leave_fields(event)
            case "dblclick":
                self._double(event)
            case "auxclick" | "contextmenu":
                button: Any = "middle" if event.event == "auxclick" else "right"
                self._add_on_element(lambda target: actions.Click(target, button=button), event)
            case "input" | "change":
                self._changed(event)
            case "keydown":
                self._enter(event)
            case "drop" | "pointerup":
                self._dropped(event)
            case "dragstart" | "pointerdown":
                self._add_on_element(lambda target: actions.Drag(target, target), event)
        self._last_action_time = event.time

    def _record_selecting_click(self, signal: Signal) -> None:
        """Record a click that selected text if the page reacted to it. Otherwise the selection is not a step."""
        selecting, self._selecting = self._selecting, None
        if selecting is None or signal.time - selecting.time > _LEADS:
            return
        if isinstance(signal, DialogOpened) or (isinstance(signal, AddressChanged) and signal.cause == "page"):
            self._click(selecting)
            self._last_action_time = selecting.time

    def _click(self, event: DomEvent) -> None:
        if _is_choice(event):
            return  # the change event has more information
        if self._last_enter is not None and event.time - self._last_enter.time <= _AT_ONCE:
            entered, self._last_enter = self._last_enter, None
            if _is_button(event) and not _same(event, entered):
                return  # Enter in a field also clicks its form's submit button
            if _same(event, entered) and self.steps and isinstance(self.steps[-1].action, actions.Press):
                self.steps.pop()  # Enter on a link or a button also clicks it
        if self._is_label_of(event):
            return
        self._add_on_element(actions.Click, event)

    def _is_label_of(self, event: DomEvent) -> bool:
        """Return whether the browser made this click because a label was clicked."""
        before = self._event
        return (
            before is not None
            and before.event == "click"
            and event.time - before.time <= _AT_ONCE / 3
            and not _same(before, event)
            and _in_label(before)
            and event.target.role in ("checkbox", "radio")
        )

    def _double(self, event: DomEvent) -> None:
        clicks = [step for step in self.steps[-2:] if isinstance(step.action, actions.Click)]
        if len(clicks) == 2 and clicks[0].selectors == clicks[1].selectors:
            del self.steps[-2:]
            self._add_on_element(lambda target: actions.Click(target, count=2), event)

    def _changed(self, event: DomEvent) -> None:
        kind, value = event.target.tag, event.value
        if _is_box(event):
            self._ticked(event)
        elif _is_file(event):
            if value:
                files = tuple(value.split("\n"))
                self._add_on_element(lambda target: actions.Upload(target, files), event, instead=True)
        elif kind == "select":
            if value is not None:
                options = tuple(value.split("\n"))
                self._add_on_element(lambda target: actions.Select(target, options), event, instead=True)
        elif value is None:
            problem = (
                "what was typed is not recorded: a password, code or card number; write it, or have the site signed in"
            )
            self._add_on_element(
                lambda target: actions.Type(target, "", clear=True), event, instead=True, problem=problem
            )
        elif event.event == "input" or event.omits or not self._was_typed(event):
            # An Enter that has become part of the text is not a separate key press.
            if self._last_enter is not None and _same(self._last_enter, event) and event.target.tag != "input":
                self._last_enter = None
                if self.steps and isinstance(self.steps[-1].action, actions.Press):
                    self.steps.pop()
            problem = _OMITTED.get(event.omits, "")
            self._add_on_element(
                lambda target: actions.Type(target, value, clear=True), event, instead=True, problem=problem
            )
            self._uncommitted[event.tab, _place(event)] = value

    def _was_typed(self, event: DomEvent) -> bool:
        """Return whether a change event only reports again what was typed into its field."""
        field = event.tab, _place(event)
        return field in self._uncommitted and self._uncommitted[field] == event.value

    def _leave_fields(self, signal: AddressChanged | DomEvent | KeyPressed) -> None:
        """Process what takes the focus from the fields of a tab, or replaces their document. They have reported their
        changes by then, and the same value in the same place is new input. A script that changes only the query may
        do so while a person types."""
        shown = self._history.get(signal.tab, AddressHistory()).url
        if (
            isinstance(signal, AddressChanged)
            and signal.cause in ("", "page")
            and page_of(signal.url) == page_of(shown)
        ):
            return
        kept = _place(signal) if isinstance(signal, DomEvent) and signal.event == "click" else None
        for tab, place in list(self._uncommitted):
            if tab == signal.tab and place != kept:
                del self._uncommitted[tab, place]

    def _ticked(self, event: DomEvent) -> None:
        checked = event.value == "on"
        last = self.steps[-1] if self.steps else None
        if last is not None and isinstance(last.action, actions.Click) and event.time - last.time <= _AT_ONCE:
            before = self._event
            if last.selectors == selectors_of(event):
                self.steps.pop()
            elif before is not None and before.event in ("click", "input"):
                return  # the person clicked its label, or an element in its place
        self._add_on_element(lambda target: actions.Check(target, checked=checked), event, instead=True)

    def _enter(self, event: DomEvent) -> None:
        self._last_enter = event
        last = self.steps[-1] if self.steps else None
        if last is not None and isinstance(last.action, actions.Click) and last.selectors == selectors_of(event):
            self.steps.pop()  # the click only focused the field, which the key press does, too
        self._add_on_element(lambda target: actions.Press("Enter", target), event)

    def _key(self, pressed: KeyPressed) -> None:
        """Record a key that fields do not process themselves, with the focused element as its target, if any."""
        anywhere = pressed.target.tag in ("body", "html")
        in_editor = _is_shortcut_of_editor(pressed)
        browser = pressed.keys in _BROWSER and not (in_editor and pressed.keys in _EDITING)
        if browser or (anywhere and pressed.keys in _SCROLLS):
            return
        self._last_action_time = pressed.time
        if pressed.keys in _RELOADS:
            self._leave_fields(pressed)
            self._add(actions.Reload(), pressed)
            return
        last = self.steps[-1] if self.steps else None
        enters = last is not None and last.action == actions.Press("Enter", getattr(last.action, "target", None))
        if pressed.keys.endswith("+Enter") and enters:
            self.steps.pop()  # the same key press, already recorded as plain Enter
        if anywhere:
            self._add(actions.Press(pressed.keys), pressed)
            return
        problem = _OMITTED["lines"] if in_editor else ""
        self._add_on_element(lambda target: actions.Press(pressed.keys, target), pressed, problem=problem)

    def _dropped(self, event: DomEvent) -> None:
        selectors = selectors_of(event)
        if self.steps and isinstance(self.steps[-1].action, actions.Drag) and selectors:
            drag = self.steps[-1]
            drag_action: Any = drag.action
            self.steps[-1] = replace(
                drag, action=replace(drag_action, to=Selector(selectors[0])), to_selectors=selectors
            )

    # --- adding

    def _add(self, action: Action, signal: Signal) -> None:
        self.steps.append(RecordedStep(action=action, url=signal.url, time=signal.time))

    def _add_on_element(
        self, make: Any, event: DomEvent | KeyPressed, *, instead: bool = False, problem: str = ""
    ) -> None:
        """Add a step at the event's element. ``instead``: replace the last step if it did the same kind of thing."""
        selectors = selectors_of(event)
        if event.chain and event.chain[-1].within == "frame":
            problem = problem or "the element is in a frame that the page around it did not report"
        action = make(Selector(selectors[0] if selectors else "css=body"))
        step = RecordedStep(action=action, selectors=selectors, url=event.url, time=event.time, problem=problem)
        last = self.steps[-1] if self.steps else None
        # Classes and names of an editor change with its text; its place is the last selector.
        same_page = last is not None and page_of(last.url) == page_of(event.url)
        if last is not None and instead and same_page and last.selectors[-1:] == selectors[-1:]:
            if type(last.action) is type(action):
                self.steps.pop()
            elif isinstance(last.action, actions.Click) and isinstance(action, actions.Type | actions.Select):
                self.steps.pop()  # the click only focused the field, which the new step does, too
        self.steps.append(step)


def _place(event: DomEvent) -> str:
    return next(reversed(selectors_of(event)), "")


def _same(event: DomEvent, other: DomEvent) -> bool:
    return event.tab == other.tab and event.frame == other.frame and event.target.selector == other.target.selector


def _is_shortcut_of_editor(pressed: KeyPressed) -> bool:
    """Return whether a key went to the invisible field of an editor. Other text fields report only keys that they pass
    on to the page."""
    held, _, key = pressed.keys.rpartition("+")
    takes_text = pressed.target.tag in ("input", "textarea")
    return takes_text and key != "Enter" and (bool(held) or key in ("Delete", "Backspace"))


def _is_box(event: DomEvent) -> bool:
    kind = event.chain[0].attributes.get("type", "").lower() if event.chain else ""
    return event.target.tag == "input" and kind in ("checkbox", "radio")


def _is_file(event: DomEvent) -> bool:
    return event.target.tag == "input" and bool(event.chain) and event.chain[0].attributes.get("type", "") == "file"


def _is_choice(event: DomEvent) -> bool:
    return event.target.tag in ("select", "option") or _is_file(event)


def _is_button(event: DomEvent) -> bool:
    kind = event.chain[0].attributes.get("type", "submit").lower() if event.chain else ""
    return event.target.tag in ("button", "input") and kind in ("submit", "image")


def _acts(event: DomEvent) -> bool:
    """Return whether the clicked element is a control or editable."""
    control, chain = event.control, event.chain
    control_tag = chain[control.place].tag if control is not None and control.place < len(chain) else ""
    written = any("contenteditable" in element.attributes for element in chain)
    return event.target.role in _CONTROLS or control_tag not in ("", "label") or written


def _in_label(event: DomEvent) -> bool:
    return any(element.tag == "label" for element in event.chain)
