"""Solutions: every notation of a step, and messages about invalid ones."""

from __future__ import annotations

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
    NewTab,
    Noop,
    Press,
    Reload,
    Scroll,
    Select,
    Selector,
    Stop,
    Type,
    Upload,
    Wait,
)
from pytest_webarena.tasks.steps import STEPS
from tests.cases import each_case

from .helpers import problems, task, task_text

A = Selector("css=#a")
B = Selector('role=textbox[name="B"]')


@each_case(
    ("step", "actions"),
    [
        ("- goto: /x", [Goto("shopping:/x")]),
        ("- goto: reddit:/f", [Goto("reddit:/f")]),
        ("- goto: http://homepage.test/x", [Goto("http://homepage.test/x")]),
        ("- goto: about:blank", [Goto("about:blank")]),
        ("- click: css=#a", [Click(A)]),
        ('- click: role=textbox[name="B"]', [Click(B)]),
        (
            "- click: {selector: css=#a, button: right, count: 2, modifiers: Shift}",
            [Click(A, button="right", count=2, modifiers=("Shift",))],
        ),
        (
            '- fill:\n    css=#a: one\n    role=textbox[name="B"]: two',
            [Type(A, "one", clear=True), Type(B, "two", clear=True)],
        ),
        ("- fill: {css=#a: ''}", [Type(A, "", clear=True)]),
        ("- type: {css=#a: 1.50}", [Type(A, "1.50")]),
        ("- press: Enter", [Press("Enter")]),
        ("- press: {css=#a: Control+a}", [Press("Control+a", A)]),
        ("- select: {css=#a: 4 stars}", [Select(A, ("4 stars",))]),
        ("- select: {css=#a: [x, y]}", [Select(A, ("x", "y"))]),
        ("- check: css=#a", [Check(A)]),
        ("- uncheck: css=#a", [Check(A, checked=False)]),
        ("- hover: css=#a", [Hover(A)]),
        ("- scroll: down", [Scroll("down")]),
        ("- scroll: {css=#a: up}", [Scroll("up", A)]),
        ("- drag: {css=#a: 'role=textbox[name=\"B\"]'}", [Drag(A, B)]),
        ("- upload: {css=#a: cv.pdf}", [Upload(A, ("cv.pdf",))]),
        ("- upload: {css=#a: [cv.pdf, photo.png]}", [Upload(A, ("cv.pdf", "photo.png"))]),
        ("- click: css=#a\n  repair_selectors: [css=.a, text=A]", [Click(A)]),
        ("- fill: {css=#a: x}\n  repair_selectors: css=.a", [Type(A, "x", clear=True)]),
        (
            "- drag: {css=#a: 'role=textbox[name=\"B\"]'}\n  repair_selectors: css=.a\n  repair_selectors_to: [css=.b]",
            [Drag(A, B)],
        ),
        ("- wait: 2.5", [Wait(2.5)]),
        ("- accept_dialog\n- accept_dialog: Ada", [AcceptDialog(), AcceptDialog("Ada")]),
        ("- accept_dialog: ''\n- dismiss_dialog\n- reload", [AcceptDialog(""), DismissDialog(), Reload()]),
        ("- tab: 1", [FocusTab(1)]),
        ("- new_tab\n- close_tab\n- back\n- forward\n- noop", [NewTab(), CloseTab(), Back(), Forward(), Noop()]),
    ],
)
def test_step_notations_become_actions(step: str, actions: list[Action]) -> None:
    indented = step.replace("\n", "\n  ")
    assert task(f"solution:\n  {indented}").solution == (*actions, Stop(""))


@each_case(("step", "answer"), [("stop", ""), ("stop: 84.97", "84.97"), ("stop: ''", ""), ("stop: no", "no")])
def test_stop_notations(step: str, answer: str) -> None:
    assert task(f"solution: [{{goto: /x}}, {{{step}}}]" if ":" in step else f"solution: [{step}]").solution[-1:] == (  # type: ignore[index]
        Stop(answer),
    )


def test_missing_solution_differs_from_empty_solution() -> None:
    assert task("tags: x").solution is None
    assert task("solution: []").solution == (Stop(""),)


@each_case(
    ("steps", "message"),
    [
        ("{click: x}", "expected a list of steps, found a mapping with click (start each item with '- ')"),
        ("[clik]", "expected a step, found 'clik' (did you mean 'click'?)"),
        ("[click]", "expected a step, found 'click' (write 'click: …')"),
        ("[[back]]", "expected a step, found a list of 1"),
        ("[{back: 1}]", "expected a step, found 'back' (write '- back')"),
        ("[{clik: css=a}]", "expected a step, found 'clik' (did you mean 'click'?)"),
        (
            "[{click: css=a, press: Enter}]",
            "expected a step with one key, found a mapping with click, press (start each",
        ),
        ("[{}]", "expected a step with one key, found a mapping"),
        ("[{click: {button: left}}]", "expected the key 'selector' in a click step, found only button"),
        ("[{click: {selector: a, count: 9}}]", "expected 1, 2 or 3, found the number 9"),
        ("[{click: [a]}]", "expected a selector, or a mapping with 'selector' and how to click it, found a list of 1"),
        ("[{fill: css=a}]", "expected a mapping from a selector to text, found 'css=a'"),
        ("[{fill: {}}]", "expected a mapping from a selector to text, found a mapping"),
        ("[{fill: {'css=a[': x}}]", "expected a Playwright selector, found no ] in 'css=a['"),
        ("[{scroll: sideways}]", "expected one of up, down, left, right, found 'sideways'"),
        ("[{drag: css=a}]", "expected a mapping from a selector to the destination's selector, found 'css=a'"),
        ("[{upload: css=a}]", "expected a mapping from a selector to a file name, found 'css=a'"),
        ("[{wait: 0}]", "expected seconds above 0, at most 20, found the number 0"),
        ("[wait]", "expected a step, found 'wait' (write 'wait: …')"),
        ("[{dismiss_dialog: x}]", "expected a step, found 'dismiss_dialog' (write '- dismiss_dialog')"),
        ("[{tab: -1}]", "expected a tab number from 0, found the number -1"),
        ("[{goto: x}]", "expected an address"),
        ("[stop, back]", "expected no step after 'stop', found 'back'"),
        ("[{stop: [1]}]", "expected an answer, found a list of 1"),
        ("[{repair_selectors: css=a}]", "expected a step with one key, found a mapping with repair_selectors"),
        (
            "[{goto: /x, repair_selectors: css=a}]",
            "expected 'repair_selectors' with a step with one target, found 'goto', which has none",
        ),
        (
            "[{click: css=a, repair_selectors_to: css=b}]",
            "expected 'repair_selectors_to' with a 'drag' with one destination, found 'click'",
        ),
        ("[{click: css=a, repair_selectors: []}]", "expected a selector or a list of them, found an empty list"),
        (
            "[{click: css=a, repair_selectors: css=b, hover: css=c}]",
            "found a mapping with click, repair_selectors, hover",
        ),
    ],
)
def test_invalid_steps_are_reported(steps: str, message: str) -> None:
    [problem] = problems(task_text(f"solution: {steps}"))
    assert message in str(problem)


def test_repair_selectors_require_a_single_solution_step() -> None:
    message = "expected 'repair_selectors' with a step with one target, found 2 steps in one"
    [problem] = problems(task_text("solution: [{fill: {css=a: x, css=b: y}, repair_selectors: css=c}]"))
    assert message in str(problem)
    [problem] = problems(task_text("setup: [{browser: [{click: css=a, repair_selectors: css=b}]}]"))
    assert "expected a step with one key, found a mapping with click, repair_selectors" in str(problem)


def test_every_action_of_a_solution_has_a_step() -> None:
    assert set(STEPS) == {
        "goto", "click", "fill", "type", "press", "select", "check", "uncheck", "hover", "scroll", "drag", "upload",
        "wait", "tab", "accept_dialog", "dismiss_dialog", "stop", "new_tab", "close_tab", "back", "forward", "reload",
        "noop",
    }  # fmt: skip
