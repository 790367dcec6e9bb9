"""The form of checks in task files: one kind per item, combined by ``all``, ``any`` and ``not``, with ``weight`` and
``when``."""

from __future__ import annotations

from typing import Any

from pytest_webarena.tasks.file_reading import INVALID, Entries, Invalid, Reading, shown
from pytest_webarena.tasks.kinds import CheckKind, find_kind, kind_names
from pytest_webarena.tasks.model import Check
from pytest_webarena.tasks.nodes import ListNode, MapNode, Node, ScalarNode, near
from pytest_webarena.tasks.record_shapes import Field, described, field_schema
from pytest_webarena.tasks.shapes import Choice, Number, Schema, Schemas, Seconds, Shape
from pytest_webarena.text import clip

__all__ = ["CHECKS", "COMBINATORS", "MODIFIERS", "CheckList"]

_WEIGHT = Number(float, "a number above 0", above=0)
_WHEN = Choice("end", "any_step")
_WITHIN = Seconds()


class _Children(Shape[Any]):
    """Placeholder for the checks in a combinator, where only schema and wording are needed."""

    def __init__(self, label: str, many: bool) -> None:
        self.label = label
        self.many = many

    def json_schema(self, schemas: Schemas) -> Schema:
        check = {"$ref": "#/definitions/check"}
        return {"type": "array", "items": check, "minItems": 1} if self.many else check


COMBINATORS = (
    Field(
        key="all",
        shape=_Children("a list of checks", many=True),
        doc="Passes when all of these checks pass. Its score is the product of their scores.",
        example="- all:\n    - answer: {name: Coffee Grinder}\n    - url: /accounts/orders/",
    ),
    Field(
        key="any",
        shape=_Children("a list of checks", many=True),
        doc="Passes when one of these checks passes. Its score is their highest score.",
        example="- any:\n    - url: /accounts/orders/\n    - url: /accounts/profile/",
    ),
    Field(
        key="not",
        shape=_Children("a check", many=False),
        doc=(
            "Passes when this check does not. Its score is 1 minus the check's score. The check may not contain "
            "a `rubric`."
        ),
        example='- not:\n    page: {open: /basket/, includes: "Coffee Grinder"}',
    ),
)
"""Fields that combine checks."""

MODIFIERS = (
    Field(
        key="weight",
        shape=_WEIGHT,
        default=1.0,
        doc=(
            "The check's share of the score, with `score: mean`. Only on a task's own checks, not inside a "
            "combined check."
        ),
        example="- answer: {name: Coffee Grinder}\n  weight: 3",
    ),
    Field(
        key="when",
        shape=_WHEN,
        default="end",
        doc=(
            "When the check may pass: at the `end`, or after any one action or at the end (`any_step`). Only "
            "for `url`, `page`, `state` and combinations of them. On `all` and `any`, everything must hold "
            "in one state. On `not`, one state in which the check fails is enough; to require that it never "
            "passes, write `not: {url: /milk, when: any_step}`. A `page` with `open` visits the page after "
            "each step; if a visit changes something, such as marking a message as read, use `state`."
        ),
        example="- url: /checkout/preview/\n  when: any_step",
    ),
    Field(
        key="within",
        shape=_WITHIN,
        default=0.0,
        default_text="no wait",
        doc=(
            "How long the check is waited for after the agent has stopped, until it is met. Only for `state`, `page` "
            "and `changes`; not under `not`, and not with `when: any_step`. See [late work](judging.md#late-work)."
        ),
        example='- state: {sql: "select count(*) from mails", equals: 1}\n  within: 10s',
    ),
)
"""Fields that a check may have in addition to its kind."""

_COMBINATOR_KEYS = {field.key for field in COMBINATORS}
_MODIFIER_KEYS = {field.key for field in MODIFIERS}


class CheckList(Shape[tuple[Check, ...]]):
    """The list under ``checks``."""

    label = "a list of checks, at least one"

    def __init__(self, path: str = "checks") -> None:
        self.path = path
        """Path of the list in its task."""

    def read(self, node: Node, reading: Reading) -> tuple[Check, ...] | Invalid:
        return self._list(node, reading, self.path, "")

    def _list(self, node: Node, reading: Reading, path: str, inside: str) -> tuple[Check, ...] | Invalid:
        if node.dynamic and node.__class__ is ScalarNode:
            filled = reading.fill(node)
            if filled is None:
                return INVALID
            node = filled
        if not isinstance(node, ListNode) or not node.items:
            return self.mismatch(node, reading, "start each item with '- '" if isinstance(node, MapNode) else "")
        checks = [self._check(item, reading, f"{path}[{index}]", inside) for index, item in enumerate(node.items)]
        return INVALID if any(check is INVALID for check in checks) else tuple(checks)  # type: ignore[arg-type]

    def _check(self, node: Node, reading: Reading, path: str, inside: str) -> Check | Invalid:
        """Read one check. ``inside`` names what contains it: nothing, a combinator, or a combinator with ``when``."""
        if not isinstance(node, MapNode):
            return reading.problem(node, "a check, e.g. 'answer: 84.97'", shown(node))
        entries = reading.entries(node)
        name = self._kind_name(node, entries, reading)
        weight = self._modifier(entries, "weight", reading)
        when = self._modifier(entries, "when", reading)
        within = self._modifier(entries, "within", reading)
        if name is None or INVALID in (weight, when, within):
            return INVALID
        if within is not None and (when == "any_step" or inside.endswith("any_step")):
            return reading.problem(
                entries["within"][0],
                "'within' on checks of the end",
                "it with 'when: any_step'",
                "after a step, nothing is waited for",
            )
        if within is not None and (name in _COMBINATOR_KEYS or not getattr(find_kind(name), "may_come_late", False)):
            return reading.problem(
                entries["within"][0],
                "'within' on state, page or changes",
                f"it on '{name}'",
                "write it on the checks inside" if name in _COMBINATOR_KEYS else "nothing that it reads comes late",
            )
        if inside and weight is not None:
            reading.problem(
                entries["weight"][0],
                "'weight' on the task's own checks",
                f"it inside '{inside}'",
                "it has no effect here",
            )
        if inside.endswith("any_step") and when is not None:
            reading.problem(
                entries["when"][0],
                "'when' once",
                "it inside a check that has it",
                "the outer one rules: one state for all",
            )
        value = entries[name][1]
        common: dict[str, Any] = {
            "path": path,
            "kind": name,
            "weight": 1.0 if weight is None else weight,
            "when": when or "end",
            "within": within or 0.0,
            "location": reading.location(node),
        }
        if name in _COMBINATOR_KEYS:
            named = f"{name} with when: any_step" if when == "any_step" or inside.endswith("any_step") else name
            children = self._children(name, value, reading, path, named)
            if isinstance(children, Invalid):
                return INVALID
            if name == "not" and _waits(children):
                return reading.problem(
                    entries[name][0],
                    "'within' outside of 'not'",
                    "it inside",
                    "absence can only be judged when no work is left: give the app a 'quiet' key in its catalogue",
                )
            if name == "not" and (graded := _graded(children)):
                return reading.problem(
                    entries[name][0],
                    "'not' around checks that hold or don't",
                    f"'{graded}' in it",
                    "points that an answer does not get show nothing; what it must not say can be an 'answer' with "
                    "'excludes', or an item of its own",
                )
            if when == "any_step" and not _stateful(children):
                return self._no_states(entries, reading, f"'{name}' of such checks")
            return Check(children=children, **common)
        kind = find_kind(name)
        assert kind is not None
        spec = kind.form.read(value, reading)
        if when == "any_step" and not kind.stateful:
            return self._no_states(entries, reading, f"'{name}'")
        return INVALID if spec is INVALID else Check(spec=spec, **common)

    def _children(
        self, name: str, value: Node, reading: Reading, path: str, inside: str
    ) -> tuple[Check, ...] | Invalid:
        if name != "not":
            return self._list(value, reading, f"{path}.{name}", inside)
        child = self._check(value, reading, f"{path}.not", inside)
        return INVALID if isinstance(child, Invalid) else (child,)

    def _kind_name(self, node: MapNode, entries: Entries, reading: Reading) -> str | None:
        """Returns the one key that names the kind of check; None, with a problem noted, when there is none or
        several."""
        kinds: list[str] = []
        unknown = False
        for name, (key, _) in entries.items():
            if name in _MODIFIER_KEYS:
                continue
            if name in _COMBINATOR_KEYS or find_kind(name) is not None:
                kinds.append(name)
            else:
                unknown = True
                known = [*kind_names(), *_COMBINATOR_KEYS, *_MODIFIER_KEYS]
                reading.problem(key, "a kind of check", f"'{clip(name)}'", near(name, known))
        if len(kinds) > 1:
            reading.problem(
                entries[kinds[1]][0], f"one kind in a check, '{kinds[0]}'", f"'{kinds[1]}' too", "start it with '- '"
            )
        elif not kinds and not unknown:
            names = ", ".join((*kind_names(), *sorted(_COMBINATOR_KEYS)))
            reading.problem(node, "a check", shown(node), f"name its kind: {names}")
        return kinds[0] if len(kinds) == 1 and not unknown else None

    @staticmethod
    def _modifier(entries: Entries, key: str, reading: Reading) -> Any:
        field = next(field for field in MODIFIERS if field.key == key)
        return field.shape.read(entries[key][1], reading) if key in entries else None

    @staticmethod
    def _no_states(entries: Entries, reading: Reading, what: str) -> Invalid:
        key = entries["when"][0]
        return reading.problem(key, "'when' on url, page or state", f"it on {what}", "it is judged at the end only")

    def json_schema(self, schemas: Schemas) -> Schema:
        def make() -> Schema:
            kinds = {name: kind for name in schemas.kinds if (kind := find_kind(name))}
            properties = {
                **{name: _kind_schema(kind, schemas) for name, kind in kinds.items()},
                **{field.key: field_schema(field, schemas) for field in (*COMBINATORS, *MODIFIERS)},
            }
            names = [*kinds, *(field.key for field in COMBINATORS)]
            return {
                "type": "object",
                "description": "One condition: a kind of check, or checks combined.",
                "additionalProperties": False,
                "properties": properties,
                "oneOf": [{"required": [name]} for name in names],
            }

        check = schemas.named("check", make)
        return schemas.or_template({"type": "array", "minItems": 1, "items": check})


def _kind_schema(kind: CheckKind, schemas: Schemas) -> Schema:
    return described(kind.form.json_schema(schemas), getattr(kind, "doc", ""))


def _graded(checks: tuple[Check, ...]) -> str:
    """Returns the kind of a check among these whose failure has no opposite meaning (`graded`); empty when there is
    none."""
    kinds = (_graded(each.children) if each.children else each.kind for each in checks)
    return next((kind for kind in kinds if kind and getattr(find_kind(kind), "graded", False)), "")


def _waits(checks: tuple[Check, ...]) -> bool:
    """Returns whether one of these checks, or of those inside them, has ``within``."""
    return any(check.within or _waits(check.children) for check in checks)


def _stateful(checks: tuple[Check, ...]) -> bool:
    return any(
        _stateful(check.children) if check.children else (kind := find_kind(check.kind)) is not None and kind.stateful
        for check in checks
    )


CHECKS = CheckList()
