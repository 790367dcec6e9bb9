"""The form of browser steps in ``solution`` and ``setup``: one key per step, Playwright selectors as targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pytest_webarena import actions
from pytest_webarena.actions import Action, Selector
from pytest_webarena.tasks.addresses import AddressShape
from pytest_webarena.tasks.file_reading import INVALID, Invalid, Reading, shown
from pytest_webarena.tasks.nodes import ListNode, MapNode, Node, ScalarNode, near
from pytest_webarena.tasks.record_shapes import REQUIRED, Convert, Either, Field, ListOf, MapOf, Record, field_schema
from pytest_webarena.tasks.shapes import Choice, Int, Number, Schema, Schemas, Shape, Text
from pytest_webarena.tasks.syntax import SELECTOR
from pytest_webarena.text import clip

__all__ = ["ANSWERED_STEPS", "BROWSER_STEPS", "EXTRA_KEYS", "STEPS", "Steps"]

Actions = tuple[Action, ...]

_KEYS = Text("a key or combination such as Enter or Control+a")
_BUTTON = Choice("left", "right", "middle")
_MODIFIERS = ListOf(Choice("Alt", "Control", "ControlOrMeta", "Meta", "Shift"), or_one=True)


def _one(make: Callable[..., Action]) -> Callable[[Any, Reading], Actions]:
    return lambda value, _: (make(value),)


def _each(make: Callable[[Selector, Any], Action]) -> Callable[[Any, Reading], Actions]:
    return lambda pairs, _: tuple(make(Selector(selector), value) for selector, value in pairs.items())


def _into(value: Shape[Any], label: str) -> MapOf[Any]:
    return MapOf(value, label, key=SELECTOR, low=1)


def _click(**values: Any) -> Actions:
    return (actions.Click(Selector(values.pop("selector")), **values),)


_CLICK: Shape[Actions] = Either(
    "a selector, or a mapping with 'selector' and how to click it",
    scalar=Convert(SELECTOR, _one(lambda selector: actions.Click(Selector(selector)))),
    mapping=Record(
        "click step",
        _click,
        [
            Field(
                key="selector",
                shape=SELECTOR,
                doc="What to click.",
                example="- click: {selector: css=canvas, button: right}",
            ),
            Field(
                key="button",
                shape=_BUTTON,
                default="left",
                doc="The mouse button.",
                example="- click: {selector: css=canvas, button: right}",
            ),
            Field(
                key="count",
                shape=Int("1, 2 or 3", low=1, high=3),
                default=1,
                doc="2 is a double click.",
                example="- click: {selector: css=td.name, count: 2}",
            ),
            Field(
                key="modifiers",
                shape=_MODIFIERS,
                default=(),
                default_text="none",
                doc="Keys held during the click: `Alt`, `Control`, `ControlOrMeta`, `Meta`, `Shift`.",
                example="- click: {selector: css=td.name, modifiers: [Shift]}",
            ),
        ],
        doc="A click as a mapping.",
    ),
)

_SCROLL: Shape[Actions] = Either(
    "up, down, left or right, or a mapping from a selector to one of them",
    scalar=Convert(Choice("up", "down", "left", "right"), _one(cast("Callable[..., Action]", actions.Scroll))),
    mapping=Convert(
        _into(Choice("up", "down", "left", "right"), "a mapping from a selector to a direction"),
        _each(lambda target, direction: actions.Scroll(direction, target)),
    ),
)

_PRESS: Shape[Actions] = Either(
    "keys, or a mapping from a selector to keys",
    scalar=Convert(_KEYS, _one(actions.Press)),
    mapping=Convert(
        _into(_KEYS, "a mapping from a selector to keys"), _each(lambda target, keys: actions.Press(keys, target))
    ),
)


def _typing(clear: bool) -> Shape[Actions]:
    return Convert(
        _into(Text(blank=True), "a mapping from a selector to text"),
        _each(lambda target, text: actions.Type(target, text, clear=clear)),
    )


STEPS: Mapping[str, Field] = {
    field.key: field
    for field in (
        Field(
            key="goto",
            shape=Convert(AddressShape(blank=True, visited="always"), lambda address, _: (actions.Goto(str(address)),)),
            doc="Load an address in the current tab: `/path` on the first site, `site:/path`, or a full address.",
            example="- goto: /accounts/orders/",
        ),
        Field(
            key="click",
            shape=_CLICK,
            doc=("Click an element. A mapping adds [`button`, `count` and `modifiers`](#keys-of-a-click-step)."),
            example='- click: role=button[name="Save"]',
        ),
        Field(
            key="fill",
            shape=_typing(clear=True),
            doc="Empty fields and type into them, in this order.",
            example="- fill:\n    css=#title: Quiet enough\n    css=#body: Grinds well, and the neighbours sleep.",
        ),
        Field(
            key="type",
            shape=_typing(clear=False),
            doc="Type into fields without emptying them first.",
            example="- type: {css=#title: Quiet enough}",
        ),
        Field(
            key="press",
            shape=_PRESS,
            doc=("Press a key or a combination, on the page or in an element. The element is focused without a click."),
            example="- press: Enter\n- press: {css=#search: Control+a}",
        ),
        Field(
            key="select",
            shape=Convert(
                _into(ListOf(Text(), or_one=True), "a mapping from a selector to an option's label"),
                _each(lambda target, options: actions.Select(target, options)),
            ),
            doc="Choose an option of a list, or a list of options, by label or value.",
            example="- select: {css=select#rating: 4 stars}",
        ),
        Field(
            key="check",
            shape=Convert(SELECTOR, _one(lambda selector: actions.Check(Selector(selector)))),
            doc="Tick a checkbox or choose a radio button.",
            example="- check: css=#terms",
        ),
        Field(
            key="uncheck",
            shape=Convert(SELECTOR, _one(lambda selector: actions.Check(Selector(selector), checked=False))),
            doc="Untick a checkbox.",
            example="- uncheck: css=#newsletter",
        ),
        Field(
            key="hover",
            shape=Convert(SELECTOR, _one(lambda selector: actions.Hover(Selector(selector)))),
            doc="Move the mouse over an element.",
            example="- hover: text=Account",
        ),
        Field(
            key="scroll",
            shape=_SCROLL,
            doc="Scroll the page, or an element, by about one screen: `up`, `down`, `left` or `right`.",
            example="- scroll: down\n- scroll: {css=.log: up}",
        ),
        Field(
            key="drag",
            shape=Convert(
                _into(SELECTOR, "a mapping from a selector to the destination's selector"),
                _each(lambda target, to: actions.Drag(target, Selector(to))),
            ),
            doc="Drag elements onto others.",
            example="- drag: {css=#card-3: css=#done}",
        ),
        Field(
            key="upload",
            shape=Convert(
                _into(ListOf(Text(), or_one=True), "a mapping from a selector to a file name"),
                _each(lambda target, files: actions.Upload(target, files)),
            ),
            doc=(
                "Choose files in a file field, or in the file dialog that a click on the element opens. The "
                "names are those of `uploads` in the fixture `webarena_context_args`."
            ),
            example="- upload: {css=#attachment: report.csv}",
        ),
        Field(
            key="wait",
            shape=Convert(
                Number(float, "seconds above 0, at most 20", above=0, high=20), _one(lambda value: actions.Wait(value))
            ),
            doc=("Wait until the page has changed and settled, at most this many seconds (above 0, up to 20)."),
            example="- wait: 5",
        ),
        Field(
            key="tab",
            shape=Convert(Int("a tab number from 0", low=0, high=999), _one(actions.FocusTab)),
            doc="Make a tab current; the first one is 0.",
            example="- tab: 1",
        ),
        Field(
            key="accept_dialog",
            shape=Convert(Text("an answer", blank=True), _one(actions.AcceptDialog)),
            default=(actions.AcceptDialog(),),
            doc=(
                'Press OK in the open alert, confirm, prompt or "leave page?" dialog; a text answers a '
                "prompt. If any step answers a dialog, all dialogs stay open until a step answers them. "
                "Otherwise every dialog is accepted."
            ),
            example="- accept_dialog\n- accept_dialog: Ada",
        ),
        Field(
            key="stop",
            shape=Convert(Text("an answer", blank=True), _one(actions.Stop)),
            default=(actions.Stop(""),),
            doc="End with an answer, or without one (bare word). Only as the last step; added if missing.",
            example='- stop: "84.97"',
        ),
        *(
            Field(key=key, shape=Text(), default=(action,), doc=doc, example=f"- {key}")
            for key, action, doc in (
                ("dismiss_dialog", actions.DismissDialog(), "Press Cancel in the open dialog."),
                ("new_tab", actions.NewTab(), "Open an empty tab and make it current."),
                ("close_tab", actions.CloseTab(), "Close the current tab."),
                ("back", actions.Back(), "Go back in the tab's history."),
                ("forward", actions.Forward(), "Go forward in the tab's history."),
                ("reload", actions.Reload(), "Load the current page again."),
                ("noop", actions.Noop(), "Do nothing and observe again."),
            )
        ),
    )
}
"""Steps by name. A default is the value of the bare word; steps in `_BARE_ONLY` have no other form."""

_SELECTORS = ListOf(SELECTOR, label="a selector or a list of them", low=1, or_one=True)

EXTRA_KEYS: Mapping[str, Field] = {
    field.key: field
    for field in (
        Field(
            key="repair_selectors",
            shape=_SELECTORS,
            default=(),
            default_text="none",
            doc=(
                "Alternative selectors of the step's element, the most specific first. `webarena tasks heal` "
                "uses them when the step's selector finds nothing; runs do not. Only for steps with one "
                "target."
            ),
            example='- click: role=button[name="Save"]\n  repair_selectors: [css=#save, css=form.note button]',
        ),
        Field(
            key="repair_selectors_to",
            shape=_SELECTORS,
            default=(),
            default_text="none",
            doc="Alternative selectors of the element that a `drag` ends on.",
            example="- drag: {css=#card-3: css=#done}\n  repair_selectors_to: text=Done",
        ),
    )
}
"""Keys that a step may have in addition to its own, by name."""
_AIMED = ("click", "fill", "type", "press", "select", "check", "uncheck", "hover", "scroll", "drag", "upload")
"""Steps that can have a target."""

_BARE = {key for key, field in STEPS.items() if field.default is not REQUIRED}
_BARE_ONLY = _BARE - {"accept_dialog", "stop"}


class Steps(Shape[Actions]):
    """A list of steps; with ``answered`` it may end with ``stop``, which is added if it is missing."""

    label = "a list of steps"

    def __init__(self, *, answered: bool) -> None:
        self.answered = answered

    def read(self, node: Node, reading: Reading) -> Actions | Invalid:
        if node.dynamic and node.__class__ is ScalarNode:
            filled = reading.fill(node)
            if filled is None:
                return INVALID
            node = filled
        if not isinstance(node, ListNode):
            return self.mismatch(node, reading, "start each item with '- '" if isinstance(node, MapNode) else "")
        done: list[Action] = []
        valid = True
        stopped = False
        for item in node.items:
            step = self._step(item, reading)
            if isinstance(step, Invalid):
                valid = False
                continue
            if stopped:
                reading.problem(item, "no step after 'stop'", shown(item))
            stopped = stopped or isinstance(step[-1], actions.Stop)
            done += step
        if not valid:
            return INVALID
        if self.answered and not stopped:
            done.append(actions.Stop(""))
        return tuple(done)

    def _step(self, node: Node, reading: Reading) -> Actions | Invalid:
        if isinstance(node, ScalarNode):
            if node.value in _BARE and node.value in self._names():
                return cast(Actions, STEPS[node.value].default)
            hint = f"write '{node.value}: …'" if node.value in self._names() else self._hint(node.value)
            return reading.problem(node, "a step", shown(node), hint)
        if not isinstance(node, MapNode):
            return reading.problem(node, "a step", shown(node))
        entries = dict(reading.entries(node))
        extra_keys = {key: entries.pop(key) for key in EXTRA_KEYS if key in entries} if self.answered else {}
        if len(entries) != 1:
            hint = "start each step with '- '" if len(entries) > 1 else ""
            return reading.problem(node, "a step with one key", shown(node), hint)
        ((name, (key, value)),) = entries.items()
        if name not in self._names() or name in _BARE_ONLY:
            hint = f"write '- {name}'" if name in _BARE_ONLY else self._hint(name)
            return reading.problem(key, "a step", f"'{clip(name)}'", hint)
        step = cast("Actions | Invalid", STEPS[name].shape.read(value, reading))
        for extra_name, (key, selectors) in extra_keys.items():
            others = _SELECTORS.read(selectors, reading)
            if isinstance(step, Invalid) or isinstance(others, Invalid):
                return INVALID
            step = _with_others(step, extra_name, others, key, reading)
        return step

    def _names(self) -> set[str]:
        return set(STEPS) if self.answered else set(STEPS) - {"stop"}

    def _hint(self, name: str) -> str:
        if name == "stop":
            return "'stop' belongs to solutions"
        return near(name, self._names())

    def json_schema(self, schemas: Schemas) -> Schema:
        def make() -> Schema:
            names = self._names()
            return {
                "anyOf": [
                    {"enum": sorted(names & _BARE)},
                    {
                        "type": "object",
                        "minProperties": 1,
                        "maxProperties": 1,
                        "additionalProperties": False,
                        "properties": {
                            key: field_schema(field, schemas)
                            for key, field in STEPS.items()
                            if key in names and key not in _BARE_ONLY
                        },
                    },
                    *(_extra_key_schemas(schemas) if self.answered else ()),
                ]
            }

        name = "step" if self.answered else "set-up step in the browser"
        return schemas.or_template({"type": "array", "items": schemas.named(name, make)})


def _with_others(step: Actions, name: str, others: Sequence[str], key: Node, reading: Reading) -> Actions | Invalid:
    """Returns the step with the alternative selectors of its element, if the step has one such element."""
    aimed: Any = step[0]
    field = {"repair_selectors": "target", "repair_selectors_to": "to"}[name]
    target = getattr(aimed, field, None)
    if len(step) != 1 or not isinstance(target, Selector):
        what = "a step with one target" if name == "repair_selectors" else "a 'drag' with one destination"
        found = f"{len(step)} steps in one" if len(step) != 1 else f"'{aimed.kind}', which has none"
        return reading.problem(key, f"'{name}' with {what}", found)
    return (replace(aimed, **{field: replace(target, repair_selectors=tuple(others))}),)


def _extra_key_schemas(schemas: Schemas) -> Sequence[Schema]:
    """Returns the schemas of steps that have additional keys."""

    def schema(names: Sequence[str], extra_keys: Sequence[str]) -> Schema:
        fields = {name: STEPS[name] for name in names} | {name: EXTRA_KEYS[name] for name in extra_keys}
        return {
            "type": "object",
            "required": [extra_keys[-1]],
            "minProperties": 2,
            "maxProperties": 1 + len(extra_keys),
            "additionalProperties": False,
            "properties": {name: field_schema(field, schemas) for name, field in fields.items()},
        }

    return schema(_AIMED, ["repair_selectors"]), schema(["drag"], list(EXTRA_KEYS))


ANSWERED_STEPS = Steps(answered=True)
"""Steps of a solution."""
BROWSER_STEPS = Steps(answered=False)
"""Steps of a set-up."""
