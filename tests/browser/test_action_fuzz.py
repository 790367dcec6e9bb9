"""Random actions and replies on real pages: each ends as an outcome, in time, and the session continues."""

from __future__ import annotations

import json
import os
import random
import string
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    DismissDialog,
    Drag,
    Element,
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
    Target,
    Type,
    Upload,
    Wait,
    as_record,
)
from pytest_webarena.browser.grammars import grammar, grammars
from pytest_webarena.browser.session import Session

if TYPE_CHECKING:
    from tests.browser.conftest import Web

OpenSession = Callable[..., Session]
STEPS = int(os.environ.get("WEBARENA_FUZZ_STEPS", "40"))
SEED = int(os.environ.get("WEBARENA_FUZZ_SEED", "1"))

HOME = """<title>Home</title><h1>Things</h1><nav><a href=/list>List</a> <a href=/form>Form</a> <a href=/odd>Odd</a>
<a href=/list target=_blank>New tab</a> <a href=/missing>Missing</a>
<a href=#below>Below</a></nav>
<iframe src=/form width=300 height=200></iframe><div style='height:2000px'>x</div><p id=below>Below</p>"""
FORM = """<title>Form</title><form action=/list><input name=q>
<input type=password><input type=checkbox><input type=radio name=r><input type=radio name=r><input type=date>
<input type=range><input type=color><input type=number>
<input type=file multiple><textarea></textarea>
<select><option>A<option>B<option disabled>C</select>
<select multiple><option>X<option>Y</select>
<div contenteditable>Edit</div><button>Send</button><button type=reset>Reset</button></form><a href=/>Home</a>"""
LIST = """<title>List</title><ul id=l></ul><button onclick="add(3)">Add</button>
<button onclick="l.innerHTML = ''">Empty</button>

<button onclick="fetch('/list').then(() => add(1))">Fetch</button><a href=/>Home</a>
<script>function add(n) { while (n--) l.insertAdjacentHTML('beforeend',
  `<li draggable=true>Row ${l.children.length}
   <button onclick="this.parentNode.remove()">Remove</button>`) } add(4)</script>"""
ODD = """<title>Odd</title><button onclick="alert('a')">alert</button><button onclick="confirm('b')">confirm</button>
<button onclick="prompt('c', 'd')">prompt</button><button onclick="window.open('/form')">open</button>
<button onclick="window.close()">close</button><button onclick="location.reload()">reload</button>
<button onclick="print()">print</button><button onclick="history.back()">back</button>
<button onclick="setTimeout(() =>
 document.body.innerHTML = '<a href=/>Home</a>', 50)">replace</button>
<div id=host></div>
<button onclick="location = 'data:text/html,x'">data</button><a href=mailto:a@b.test>mail</a>
<a href=/ download>download</a><a href=javascript:void(0)>nothing</a><canvas width=99 height=99></canvas>
<dialog id=d><button onclick="d.close()">ok</button></dialog><button onclick="d.showModal()">modal</button>
<script>host.attachShadow({mode: 'open'}).innerHTML = '<button>shadow</button><input>';
setInterval(() => host.title++, 200)
</script><a href=/>Home</a>"""


SELECTORS = ("css=button", "text=Home", "css=[", "role=link", "xpath=//a", "css=input >> nth=3")
KEYS = ("Enter", "Tab", "Escape", "ctrl+a", "Control+c", "Delete", "Shift+Tab", "F5", "PageDown", "é", "+", "Alt+Left")
TEXTS = ("tea", "", " ", "a\nb", "Zoë 漢字 😀", "2026-01-31", "\0\x07", "\ud83d", "'\"`\\")


class Monkey:
    """Generates random actions, most of them plausible on the current page."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.ids: list[str] = []

    def text(self) -> str:
        kinds = (
            lambda: self._random.choice(TEXTS),
            lambda: "".join(self._random.choices(string.printable, k=self._random.randrange(30))),
            lambda: "".join(chr(self._random.randrange(0x110000)) for _ in range(5)),
            lambda: "long " * self._random.randrange(200),
        )
        return self._random.choice(kinds)()

    def number(self) -> float:
        return self._random.choice([0, 0.5, 3, 77.7, 300, 640, 1279, 5000, -1, float("nan"), float("inf"), 1e300])

    def target(self) -> Target:
        roll = self._random.random()
        if roll < 0.7 and self.ids:
            return Element(self._random.choice(self.ids))
        if roll < 0.8:
            return Element(self._random.choice(["0", "-1", "99999999999999999999", "x", ""]))
        if roll < 0.9:
            return Point(self.number(), self.number(), relative=self._random.random() < 0.2)
        return Selector(self._random.choice(SELECTORS))

    def maybe(self) -> Target | None:
        return self.target() if self._random.random() < 0.7 else None

    def keys(self) -> str:
        known = [
            "Enter",
            "Tab",
            "Escape",
            "ctrl+a",
            "Control+c",
            "Delete",
            "Shift+Tab",
            "F5",
            "PageDown",
            "é",
            "+",
            "Alt+ArrowLeft",
        ]
        return self._random.choice([*known, self.text()])

    def action(self) -> Action:
        pick = self._random.choice
        choices: list[Callable[[], Any]] = [
            lambda: Click(
                self.target(), pick(["left", "left", "right", "middle"]), pick([1, 1, 2, 3]), pick([(), (), ("Shift",)])
            ),
            lambda: Click(self.target()),
            lambda: Click(self.target()),
            lambda: Hover(self.target()),
            lambda: Type(self.maybe(), self.text(), pick([True, False]), pick([True, False])),
            lambda: Press(self.keys(), self.maybe() if pick([True, False]) else None),
            lambda: Scroll(pick(["up", "down", "left", "right"]), self.maybe(), pick([None, None, self.number()])),
            lambda: Select(
                self.target(), tuple(pick(["A", "B", "C", "X", "Y", self.text()]) for _ in range(pick([0, 1, 2])))
            ),
            lambda: Check(self.target(), pick([True, False])),
            lambda: Drag(self.target(), self.target()),
            lambda: Upload(self.maybe(), (pick(["a.txt", "b.txt", self.text()]),)),
            lambda: AcceptDialog(pick([None, self.text()])),
            lambda: DismissDialog(),
            lambda: Goto(pick(["/", "/form", "/odd", "http://b.test/", "file:///etc/passwd", self.text()])),
            lambda: pick([Back, Forward, Reload, NewTab, CloseTab, Noop])(),
            lambda: FocusTab(pick([0, 0, 1, 2, -1, 10**20])),
            lambda: Wait(pick([0, 0.05, -1, float("nan")])),
            lambda: Note(self.text()),
            lambda: Invalid(self.text(), "no"),
        ]
        made: Action = self._random.choice(choices)()
        return made

    def reply(self) -> tuple[str, str]:
        """A grammar and a more or less valid reply in it."""
        some = self._random.choice(self.ids or ["1"])
        replies = {
            "webarena": [f"click [{some}]", f"type [{some}] [{self.text()}]", "scroll [down]", "go_back"],
            "set_of_marks": [
                f"double_click [{some}]",
                f"fill [{some}] [{self.text()}] [1]",
                f"drag [{some}] [1]",
                "accept",
            ],
            "coordinates": [
                "click [0.3] [0.2]",
                "scroll [30] [50] [down] [200]",
                f"type [{self.text()}]",
                "hover [1] [1]",
            ],
            "playwright": [
                'page.get_by_text("Home").click()',
                'page.locator("a, button").nth(2).click()',
                "page.reload()",
            ],
            "tools": [json.dumps({"name": "click", "arguments": {"element": some}}), '{"name": "scroll"}'],
            "webcanvas": [json.dumps({"action": "fill_form", "element_id": some, "action_input": self.text()})],
        }
        name = self._random.choice(grammars())
        text = self._random.choice(replies[name])
        if self._random.random() < 0.3 and text:  # a slip
            at = self._random.randrange(len(text))
            text = text[:at] + self.text()[:2] + text[at + 1 :]
        return name, f"```{text}```" if name in ("webarena", "set_of_marks", "coordinates", "playwright") else text


def test_random_actions_neither_raise_nor_hang(open_session: OpenSession, web: Web, quick: Any, tmp_path: Any) -> None:
    for address, page in (("/", HOME), ("/form", FORM), ("/list", LIST), ("/odd", ODD), ("http://b.test/", LIST)):
        web.put(address, page)
    uploads = {name: tmp_path / name for name in ("a.txt", "b.txt")}
    for path in uploads.values():
        path.write_text(path.name)
    monkey = Monkey(SEED)
    limits = replace(quick, selector=0.2, settle=0.5)
    for policy in ("accept", "hold"):
        session = open_session(dialogs=policy, uploads=uploads, deadlines=limits, max_tabs=5)
        session.open_tabs(["http://a.test/"])
        for step in range(STEPS // 2):
            observation = session.observe()
            monkey.ids = [line.split("]")[0].split("[")[1] for line in observation.text.split("\n") if "[" in line]
            if step % 3:
                action = monkey.action()
            else:
                name, reply = monkey.reply()
                action = grammar(name).parse(reply)
            json.dumps(as_record(action))
            began = time.monotonic()
            outcome = session.execute(action)
            assert isinstance(outcome.error, str)
            assert time.monotonic() - began < 3 * limits.step, action
            if step % 20 == 19:
                session.execute(Goto("http://a.test/"))
