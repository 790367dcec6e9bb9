"""Steps of a self-driving agent, read from its CDP commands."""

from __future__ import annotations

import asyncio
import queue
from typing import Any

from pytest_webarena.browser.driven.hub import Command
from pytest_webarena.browser.driven.trajectory import Event, StartedStep, Trajectory, read_move
from tests.cases import each_case


def command(method: str, target: str = "A", **params: Any) -> Command:
    return Command(method=method, params=params, session="s", target=target)


def mouse(type: str, **params: Any) -> Command:
    return command("Input.dispatchMouseEvent", type=type, x=10, y=20, **params)


def key(type: str, key: str, **params: Any) -> Command:
    return command("Input.dispatchKeyEvent", type=type, key=key, **params)


@each_case(
    ("sent", "action"),
    [
        (command("Page.navigate", url="http://a.test/"), {"kind": "goto", "url": "http://a.test/"}),
        (command("Target.createTarget", url="about:blank"), {"kind": "new_tab"}),
        (command("Target.closeTarget"), {"kind": "close_tab"}),
        (
            mouse("mousePressed", button="right", clickCount=1, modifiers=8),
            {"kind": "click", "target": {"x": 10, "y": 20}, "button": "right", "count": 1, "modifiers": ["Shift"]},
        ),
        (mouse("mouseWheel", deltaX=0, deltaY=-120), {"kind": "scroll", "direction": "up", "target": None}),
        (mouse("mouseWheel", deltaX=50, deltaY=2), {"kind": "scroll", "direction": "right", "target": None}),
        (key("keyDown", "Enter", text="\r"), {"kind": "press", "keys": "Enter", "target": None}),
        (key("rawKeyDown", "a", modifiers=2), {"kind": "press", "keys": "Control+a", "target": None}),
        (command("Page.handleJavaScriptDialog", accept=False), {"kind": "dismiss_dialog"}),
        (command("Page.handleJavaScriptDialog", accept=False, promptText="x"), {"kind": "dismiss_dialog"}),
        (command("Page.handleJavaScriptDialog", accept=True), {"kind": "accept_dialog", "text": None}),
        (command("Page.handleJavaScriptDialog", accept=True, promptText="x"), {"kind": "accept_dialog", "text": "x"}),
        (
            command("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": 1, "y": 2}]),
            {"kind": "click", "target": {"x": 1, "y": 2}, "button": "left", "count": 1, "modifiers": []},
        ),
    ],
)
def test_acting_commands_become_actions(sent: Command, action: dict[str, Any]) -> None:
    move = read_move(sent)
    assert move is not None
    assert move.action == action


@each_case(
    "sent",
    [
        mouse("mouseMoved"),
        mouse("mouseReleased"),
        mouse("mouseWheel", deltaX=0, deltaY=0),
        key("keyUp", "a"),
        key("rawKeyDown", "Shift", modifiers=8),
        key("char", "Enter", text="\r"),
        command("Runtime.evaluate", expression="1"),
        command("Page.captureScreenshot"),
        command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[]),
    ],
)
def test_observing_commands_are_not_actions(sent: Command) -> None:
    assert read_move(sent) is None


def steps(*commands: Command) -> list[dict[str, Any]]:
    return [step.action for step in begun_by(*commands)]


def begun_by(*commands: Command) -> list[StartedStep]:
    """Return the steps that these commands begin, each allowed at once."""
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    begun: list[StartedStep] = []

    async def play() -> None:
        trajectory = Trajectory(events)
        for command in commands:
            waiting = asyncio.ensure_future(trajectory.before(command))
            await asyncio.sleep(0)
            while not events.empty():
                event = events.get()
                assert isinstance(event, StartedStep)
                begun.append(event)
                event.go()
            assert await waiting == ""

    asyncio.run(play())
    return begun


def test_typed_keys_are_joined_into_one_step_per_tab() -> None:
    typed = [key("keyDown", letter, text=letter) for letter in "rye"]
    assert [(step["kind"], step.get("text")) for step in steps(*typed, key("keyDown", "Enter", text="\r"))] == [
        ("type", "rye"),
        ("press", None),
    ]
    elsewhere = command("Input.insertText", target="B", text="oats")
    assert [step["text"] for step in steps(*typed, elsewhere)] == ["rye", "oats"]


def test_text_after_a_script_begins_another_step() -> None:
    texts = [command("Input.insertText", text=text) for text in ("rye", "oats")]
    script = command("Runtime.callFunctionOn", functionDeclaration="node => node.focus()")
    assert [step["text"] for step in steps(texts[0], script, texts[1])] == ["rye", "oats"]
    assert [step["text"] for step in steps(*texts)] == ["ryeoats"]


def test_inserted_text_is_distinguished_from_typed_text() -> None:
    """Also within one text: a client types letters and inserts characters without a key."""
    (typed,) = begun_by(
        key("keyDown", "a", text="a"), command("Input.insertText", text="日本"), key("keyDown", "b", text="b")
    )
    assert (typed.value, typed.at_once) == ("a日本b", ((1, 3),))
    (filled,) = begun_by(command("Input.insertText", text="rye"))
    assert (filled.value, filled.at_once) == ("rye", ((0, 3),))


def test_wheel_turns_and_double_clicks_are_one_step() -> None:
    down, up = mouse("mouseWheel", deltaX=0, deltaY=100), mouse("mouseWheel", deltaX=0, deltaY=-100)
    turned = [(step["direction"], step["pixels"]) for step in steps(down, down, up)]
    assert turned == [("down", 200), ("up", 100)]  # so that a replay scrolls as far
    double = [mouse("mousePressed", clickCount=1), mouse("mouseReleased"), mouse("mousePressed", clickCount=2)]
    assert [step["count"] for step in steps(*double)] == [2]
    assert len(steps(mouse("mousePressed", clickCount=1), mouse("mousePressed", clickCount=1))) == 2


def test_no_command_passes_after_the_end() -> None:
    async def play() -> tuple[str, str, str]:
        trajectory = Trajectory(queue.SimpleQueue())
        waiting = asyncio.ensure_future(trajectory.before(command("Page.navigate", url="http://a.test/")))
        await asyncio.sleep(0)
        trajectory.stop("over")
        return (
            await waiting,
            await trajectory.before(mouse("mousePressed")),
            await trajectory.before(mouse("mouseMoved")),
        )

    assert asyncio.run(play()) == ("over", "over", "over")


def letters(written: str, down: str = "keyDown", **said: str) -> list[Command]:
    """Return the commands of clients that send key and character separately."""
    return [
        each
        for letter in written
        for each in (key(down, letter, **said), key("char", letter, text=letter), key("keyUp", letter))
    ]


def test_key_and_character_commands_make_one_text() -> None:
    assert [step["text"] for step in steps(*letters("Glue 2"))] == ["Glue 2"]


def test_raw_key_types_nothing_even_with_text() -> None:
    """chromedriver sends the text with both the raw key and the character; the browser types one."""
    assert [step["text"] for step in steps(*letters("ll", "rawKeyDown", text="l"))] == ["ll"]
    (pressed,) = steps(key("rawKeyDown", "j", text="j"), key("keyUp", "j"))
    assert (pressed["kind"], pressed["keys"]) == ("press", "j")


def test_letter_without_character_is_a_key_press() -> None:
    found = steps(key("rawKeyDown", "j"), key("keyUp", "j"), *letters("x"), key("keyDown", "k"), key("keyUp", "k"))
    assert [(step["kind"], step.get("keys") or step.get("text")) for step in found] == [
        ("press", "j"),
        ("type", "x"),
        ("press", "k"),
    ]


def test_repeated_key_up_is_one_step() -> None:
    assert len(steps(key("keyDown", "j"), key("keyUp", "j"), key("keyUp", "j"), key("keyUp", "q"))) == 1
