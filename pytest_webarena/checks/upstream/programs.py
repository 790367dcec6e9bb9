"""The kind ``program_html``: what pages show, as the original evaluators judge it, defects included or repaired."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.upstream.collecting import collect
from pytest_webarena.checks.upstream.numeric import as_int, meets_all
from pytest_webarena.checks.upstream.parts import Part, judgement_of, resolved
from pytest_webarena.checks.upstream.program_spec import FORM, LAST, Contents, ProgramSpec, Target
from pytest_webarena.checks.upstream.strings import ask
from pytest_webarena.checks.upstream.text import ALTERNATIVE, equals, includes
from pytest_webarena.text import clip

__all__ = ["PROGRAM_HTML", "as_python", "found_value"]

Rules = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a target's locator gave: a value, or None where VisualWebArena says that the page is wrong."""

    value: Any
    error: str = ""
    cause: Any = None


def as_python(value: object) -> str:
    """A value from JavaScript as Python writes it.

    >>> as_python(True), as_python(1), as_python(2.5), as_python(["a"])
    ('True', '1', '2.5', "['a']")
    """
    return str(value)


def found_value(found: Sequence[Any], *, null: str) -> Any:
    """The value of what a locator gave (`page_scripts.locator_source`); ``null`` where that is JavaScript's null."""
    match found[0]:
        case "value":
            return found[1]
        case "text":
            return found[1]
        case "none":
            return null
    return ""


def _seen(target: Target, look: dict[str, Any], spec: ProgramSpec, rules: Rules) -> _Seen:
    reading = look["own"]
    if not rules("fresh-tabs"):
        reading = look.get("later", reading)
    if rules("corrections"):
        reading = look.get("corrected", reading)
    if "error" in reading:
        return _Seen(None, reading["error"], reading.get("cause"))
    found = reading.get("closed", reading["found"]) if rules("closed-selectors") else reading["found"]
    locator = target.locator.strip()
    if locator.startswith("lambda:"):
        value = found_value(found, null="")
        if found[0] == "text":
            value = float(value)  # not a text for the evaluators that see it as it is
        return _Seen(value or None)
    value = found_value(found, null="" if rules("js-null") or locator.startswith("func:") else "None")
    if not locator.startswith("func:"):
        value = as_python(value)
    return _Seen(html.unescape(value) if spec.dialect == "webarena" and isinstance(value, str) else value)


def judge(spec: ProgramSpec, view: View) -> Judgement:
    """Judge what was seen of every target's page."""
    expected = str(spec)
    if view.probe is None:
        return Judgement.unknown(expected=expected, why="the pages were not read")
    if view.probe.error:
        return Judgement.unknown(expected=expected, why=view.probe.error)
    looks: Any = view.probe.value
    if len(looks) != len(spec.targets):
        return Judgement.unknown(expected=expected, why="other pages were read than the task names now")
    rules = view.grading.repairs
    parts: list[Part] = []
    for target, look in zip(spec.targets, looks, strict=True):
        seen = _seen(target, look, spec, rules)
        contents = target.required_contents
        if rules("corrections") and target.corrected is not None:
            contents = target.corrected.required_contents or contents
        part = _part(seen, _filled(contents, view.evidence.sites), spec, view)
        parts.append(replace(part, actual="no page" if seen.error else _shown(seen.value)))
        if part.holds is False and (view.grading.decides or (seen.value is None and not seen.error)):
            break
    return judgement_of(parts, view, expected=expected, actual="; ".join(part.actual for part in parts))


def _filled(contents: Contents, sites: Mapping[str, str]) -> Contents:
    names = ("exact_match", "must_include", "must_exclude", "fuzzy_match")
    return replace(contents, **{name: resolved(getattr(contents, name), sites) for name in names})


def _part(seen: _Seen, contents: Contents, spec: ProgramSpec, view: View) -> Part:
    """Whether the contents are as required; what would raise in the original has no telling."""
    if seen.error:
        return Part(None, seen.error, seen.cause)
    if seen.value is None:
        return Part(False, "the page shows nothing of the kind")
    visual = spec.dialect == "visualwebarena"
    value, strip = seen.value, not visual
    if contents.first == "required_values" and contents.required_values is not None:
        number = as_int(value) if isinstance(value, str) else value
        return Part(number is not None and meets_all(number, contents.required_values), f"the number is {number}")
    if isinstance(value, int) and not isinstance(value, bool) and contents.exact_match is not None and visual:
        value = str(value)
    if not isinstance(value, str):
        return Part(None, f"expected a text on the page, found {value!r}")
    if contents.exact_match is not None:
        holds = equals(contents.exact_match, value, strip=strip)
        return Part(holds, "" if holds else "it shows another text")
    if contents.must_include is not None:
        for each in contents.must_include:
            if not any(includes(one, value, tokens=visual, strip=strip) for one in each.split(ALTERNATIVE)):
                return Part(False, f'"{clip(each, 80)}" is not in it')
        return Part(True)
    if contents.must_exclude is not None:
        for each in contents.must_exclude:
            if includes(each, value, tokens=True, strip=strip):
                return Part(False, f'"{clip(each, 80)}" is in it')
        return Part(True)
    return _fuzzy(contents.fuzzy_match or (), value, visual=visual, view=view)


def _fuzzy(references: tuple[str, ...], value: str, *, visual: bool, view: View) -> Part:
    if not visual:
        return ask("equivalent", ", ".join(references), value, view)
    part = Part(True)
    for reference in references[0].split(ALTERNATIVE):  # the original asks for each of the "alternatives"
        part = ask("equivalent", reference, value, view, intent="NOT USED")
        if not part.holds:
            return part
    return part


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else repr(value)
    return f"a text of {len(text)} characters" if len(text) > 400 else f'"{clip(text, 120)}"'


def _phase(spec: ProgramSpec) -> int:
    opens = any(target.url != LAST or target.prep_actions for target in spec.targets)
    return 2 if opens else 1


def _category(spec: ProgramSpec) -> str:
    return "navigation" if all(target.url == LAST for target in spec.targets) else "content"


PROGRAM_HTML: Kind[ProgramSpec] = Kind(
    name="program_html",
    doc="Judges what pages show as WebArena's own evaluator does ([grading](grading.md)).",
    form=FORM,
    judge=judge,
    collect=collect,
    phase=_phase,
    category=_category,
    looks_at=lambda spec: {"data"} if spec.opens else {"place"},
    needs_judge=lambda spec: any(target.required_contents.first == "fuzzy_match" for target in spec.targets),
    examples=(
        "- program_html:\n    - url: last\n      locator: document.querySelector('#content').outerText\n"
        "      required_contents: {must_include: [Whole Foods, East Liberty]}",
    ),
)
