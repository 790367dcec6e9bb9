"""WebArena's Playwright grammar: one call such as ``page.get_by_role("link", name="Cart").click()`` between two ```.

Nothing is executed. The call is parsed as Python syntax, its arguments must be literals, and its chain of locators is
converted to a Playwright selector. As upstream, the last call of the chain is the action. Extensions to upstream:
double and right clicks, dragging, uploads, mouse and keyboard, dialogs, reloading, waiting; regular expressions as
texts; the calls of BrowserGym's agents (`browsergym`), whose first argument is an element's id.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    DismissDialog,
    Drag,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Note,
    Point,
    Press,
    Reload,
    Scroll,
    Select,
    Selector,
    Stop,
    Target,
    Type,
    Upload,
    Wait,
    infeasible,
)
from pytest_webarena.browser.grammars.browsergym import ALIASES, bare_call, split_target
from pytest_webarena.browser.grammars.code import Call, Chain, WrongCode, chain_of, selector_of
from pytest_webarena.browser.grammars.replies import fenced_text
from pytest_webarena.errors import closest

__all__ = ["describe", "parse"]

_EXAMPLE = 'page.get_by_role("link", name="Cart").click()'
_LONGEST = 100_000
"""Maximum number of characters of code, because parsing more takes too long."""


def parse(text: str) -> Action:
    """Return the action in an agent's reply; `Invalid` with a reason for the agent if there is none. Never raises.

    >>> parse('```page.get_by_label("Search").fill("atlas")```')
    Type(target=Selector(selector='internal:label="Search"i'), text='atlas', clear=True, enter=False)
    """
    code: str | Invalid = bare_call(text) or fenced_text(text, _EXAMPLE)
    if isinstance(code, Invalid):
        return code
    try:
        return _read(code)
    except WrongCode as wrong:
        if (stop := _lenient_stop(code)) is not None:
            return stop
        return Invalid(text, f"{code[:200]!r} is not a valid action: {wrong}. For example: {_EXAMPLE}")


def describe() -> str:
    """Return a short description of the grammar for prompts."""
    return _DESCRIPTION


def _read(code: str) -> Action:
    code = re.sub(r"\A(?:python|py)\s*\n", "", code).removeprefix("await ").strip()
    if len(code) > _LONGEST:
        raise WrongCode("it is too long")
    try:
        with warnings.catch_warnings():  # invalid escapes in texts cause warnings
            warnings.simplefilter("ignore")
            tree = ast.parse(code, mode="exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WrongCode(f"it can't be read as code ({error.__class__.__name__})") from None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise WrongCode("expected one call, nothing else")
    try:
        root, calls = chain_of(tree.body[0].value)
        return _act(root, calls)
    except RecursionError:
        raise WrongCode("it is nested too deeply") from None


_STOP = re.compile(r"(?:await\s+)?(?:\w+\.)?stop\((.*)\)", re.DOTALL)
_QUOTED = re.compile(r"""(["'])(.*)\1""", re.DOTALL)


_FURTHER = re.compile(r"""["']\)\s*[;\n]\s*\w+[.(]""")
"""Start of further code after a call."""


def _one_call(code: str) -> bool:
    """Return whether the code consists of one call, as far as it can be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code.strip().removeprefix("await "))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    match tree.body:
        case [ast.Expr(value=ast.Call(func=ast.Name() | ast.Attribute(value=ast.Name())))]:
            return True
    return False


def _lenient_stop(code: str) -> Stop | None:
    """Parse a ``stop`` that is not valid Python of this grammar as upstream does.

    The answer is everything between the outer quotes, whatever quotes are inside. It is empty for a name or another
    expression, which is never evaluated.
    """
    match = _STOP.fullmatch(code.strip())
    if match is None or _FURTHER.search(code) or not _one_call(code):
        return None
    argument = match[1].strip()
    if quoted := _QUOTED.fullmatch(argument):
        return Stop(quoted[2])
    if "(" in argument or "\n" in argument:
        return None  # a call, or more code
    return Stop(argument if re.fullmatch(r"-?\d+(?:\.\d+)?", argument, re.ASCII) else "")


def _act(root: str, calls: list[Call]) -> Action:
    *path, last = calls
    if not path and last.name in ALIASES:
        last = Call(ALIASES[last.name], last.args, last.options)
    if root == "browser" and (path or last.name not in _ON_BROWSER):
        raise WrongCode("it begins with 'browser' instead of page")
    if root == "dialog":
        if path or last.name not in ("accept", "dismiss"):
            raise WrongCode('dialog.accept(), dialog.accept("text") or dialog.dismiss() is expected')
        if last.name == "dismiss":
            return DismissDialog()
        return AcceptDialog(last.text(0, "prompt_text") if last.args or last.options else None)
    if not path:
        # page.click(selector) and similar calls: the first argument is the locator.
        if last.name in _ON_PAGE:
            return _ON_PAGE[last.name](last)
        if last.name in _ON_ELEMENT and (last.args or not _IDS.isdisjoint(last.options)):
            target, rest = split_target(last, *_IDS)
            return _ON_ELEMENT[last.name](rest, target)
        raise WrongCode(f"page has no action {last.name[:60]!r}; {closest(last.name[:40], (*_ON_PAGE, *_ON_ELEMENT))}")
    if last.name not in _ON_ELEMENT:
        raise WrongCode(f"an element has no action {last.name[:60]!r}; {closest(last.name[:40], _ON_ELEMENT)}")
    return _ON_ELEMENT[last.name](last, Selector(selector_of(path)))


_BUTTONS = ("left", "right", "middle")
_IDS = frozenset({"bid", "selector"})
"""Names of the first argument of calls on the page."""


def _click(call: Call, target: Target, count: int = 1) -> Action:
    # BrowserGym's positional arguments: those after the element, or after the two coordinates.
    more = call.args[2:] if isinstance(target, Point) else call.args
    button = call.options.get("button", more[0] if more else "left")
    modifiers = call.options.get("modifiers", more[1] if len(more) > 1 else ())
    if button not in _BUTTONS:
        raise WrongCode(f"button is one of {', '.join(_BUTTONS)}")
    if not isinstance(modifiers, list | tuple) or not all(isinstance(each, str) for each in modifiers):
        raise WrongCode('modifiers is a list such as ["Shift"]')
    count = int(call.number(99, "click_count", default=count))
    return Click(target, button, max(1, min(count, 3)), tuple(modifiers))


def _select(call: Call, target: Target) -> Action:
    return Select(target, call.texts(0, "value", "label", "options"))


def _drag(call: Call, target: Target) -> Action:
    to = call.args[0] if call.args else call.options.get("target")
    if not isinstance(to, Chain):
        raise WrongCode('drag_to() expects a locator, e.g. drag_to(page.get_by_text("Done"))')
    return Drag(target, Selector(to.selector))


_ON_ELEMENT: Mapping[str, Callable[[Call, Target], Action]] = {
    "click": _click,
    "tap": _click,
    "dblclick": lambda call, target: _click(call, target, 2),
    "hover": lambda call, target: Hover(target),
    "fill": lambda call, target: Type(target, call.text(0, "value"), clear=True),
    "type": lambda call, target: Type(target, call.text(0, "text")),
    "press_sequentially": lambda call, target: Type(target, call.text(0, "text")),
    "clear": lambda call, target: Type(target, "", clear=True),
    "press": lambda call, target: Press(call.text(0, "key"), target),
    "select_option": _select,
    "check": lambda call, target: Check(target),
    "uncheck": lambda call, target: Check(target, checked=False),
    "set_checked": lambda call, target: Check(target, checked=bool(call.args[0] if call.args else True)),
    "drag_to": _drag,
    "set_input_files": lambda call, target: Upload(target, call.texts(0, "files", "file")),
    "scroll_into_view_if_needed": lambda call, target: Hover(target),
}


def _page_press(call: Call) -> Action:
    if len(call.args) > 1 or not _IDS.isdisjoint(call.options):
        target, rest = split_target(call, *_IDS)
        return Press(rest.text(0, "key", "key_comb"), target)
    return Press(call.text(0, "key"))


def _page_drag(call: Call) -> Action:
    source, rest = split_target(call, "source", "from_bid")
    to, _ = split_target(rest, "target", "to_bid")
    return Drag(source, to)


def _mouse_drag(call: Call) -> Action:
    return Drag(
        Point(call.number(0, "from_x"), call.number(1, "from_y")), Point(call.number(2, "to_x"), call.number(3, "to_y"))
    )


def _noop(call: Call) -> Action:
    seconds = call.number(0, "wait_ms", default=0) / 1000
    return Wait(seconds) if seconds else Noop()


def _wheel(call: Call) -> Action:
    across, down = call.number(0, "delta_x", default=0), call.number(1, "delta_y", default=0)
    if abs(across) > abs(down):
        return Scroll("right" if across > 0 else "left", pixels=abs(across))
    if not down:
        raise WrongCode(f"{call.name}() expects how far to scroll")
    return Scroll("down" if down > 0 else "up", pixels=abs(down))


def _page_scroll(call: Call) -> Action:
    if len(call.args) > 1 or "delta_x" in call.options or "delta_y" in call.options:
        return _wheel(call)
    direction = call.text(0, "direction", default="down").lower()
    if direction not in ("up", "down", "left", "right"):
        raise WrongCode('scroll() expects "up", "down", "left" or "right"')
    return Scroll(direction)  # type: ignore[arg-type]  # it is one of them


def _at(call: Call) -> Point:
    return Point(call.number(0, "x"), call.number(1, "y"))


def _tab(call: Call) -> Action:
    number = call.number(0, "page_number", "index")
    if number != int(number) or number < 0:
        raise WrongCode(f"{call.name}() expects the number of a tab, from 0")
    return FocusTab(int(number))


_ON_PAGE: Mapping[str, Callable[[Call], Action]] = {
    "goto": lambda call: Goto(call.text(0, "url")),
    "go_back": lambda call: Back(),
    "go_forward": lambda call: Forward(),
    "reload": lambda call: Reload(),
    "press": _page_press,
    "keyboard.press": _page_press,
    "keyboard.type": lambda call: Type(None, call.text(0, "text")),
    "keyboard.insert_text": lambda call: Type(None, call.text(0, "text")),
    "mouse.click": lambda call: _click(call, _at(call)),
    "mouse.dblclick": lambda call: _click(call, _at(call), 2),
    "mouse.move": lambda call: Hover(_at(call)),
    "mouse.wheel": _wheel,
    "scroll": _page_scroll,
    "page_focus": _tab,
    "tab_focus": _tab,
    "new_tab": lambda call: NewTab(),
    "page_close": lambda call: CloseTab(),
    "close": lambda call: CloseTab(),
    "wait_for_timeout": lambda call: Wait(call.number(0, "timeout") / 1000),
    "drag_and_drop": _page_drag,
    "mouse_drag_and_drop": _mouse_drag,
    "noop": _noop,
    "note": lambda call: Note(call.text()),
    "stop": lambda call: Stop(call.text(0, "answer", "text", default="")),
    "report_infeasible": lambda call: infeasible(call.text(0, "reason", default="")),
}
_ON_BROWSER = frozenset({"new_tab", "page_focus", "tab_focus", "page_close", "goto", "go_back", "go_forward", "stop"})
"""Calls on ``browser``, which agents also use because upstream only reads the last call."""

_DESCRIPTION = """\
Reply with one Playwright call in Python between two ```, for example:
I open the cart. ```page.get_by_role("link", name="Cart").click()```
Arguments are texts in quotes or numbers. An element is found by:

page.get_by_role("button", name="Save")     get_by_text, get_by_label, get_by_placeholder, get_by_alt_text,
                                            get_by_title, get_by_test_id; exact=True for the whole text
page.locator("css selector")                .filter(has_text="…"), .nth(0), .first, .last narrow it down;
                                            page.frame_locator("iframe") looks inside a frame

What can be done with it:  .click()  .dblclick()  .click(button="right")  .hover()  .fill("text")  .type("text")
    .clear()  .press("Enter")  .select_option("label")  .check()  .uncheck()  .drag_to(page.get_by_text("…"))
    .set_input_files("name")
With the page:  page.goto("http://…")  page.go_back()  page.go_forward()  page.reload()  page.press("Control+a")
    page.scroll("down")  page.keyboard.type("text")  page.mouse.click(640, 360)  page.mouse.wheel(0, 300)
    page.page_focus(1) makes a tab current, counted from 0; page.new_tab()  page.page_close()
    page.wait_for_timeout(1000)  page.noop()  page.note("a finding")  dialog.accept("text")  dialog.dismiss()
page.stop("answer") ends the task, with an answer if it asks for one; page.report_infeasible("reason") says that it
can't be done.
"""
