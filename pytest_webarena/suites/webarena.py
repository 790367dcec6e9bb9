"""Reads rows of WebArena's JSON format, and of its descendants WebArena-Lite and VisualWebArena."""

from __future__ import annotations

from typing import Any

from pytest_webarena.suites.fields import MISSING, Fields, image_place, plain_template
from pytest_webarena.suites.forms import Form
from pytest_webarena.suites.rows import said
from pytest_webarena.tasks.nodes import near
from pytest_webarena.tasks.placeholders import placeholder

__all__ = ["EVALUATORS", "read_row"]

EVALUATORS = ("string_match", "url_match", "program_html", "page_image_query")
"""Evaluator names in ``eval_types``."""

_ANSWERS = ("exact_match", "must_include", "must_exclude", "one_of", "required_values", "fuzzy_match")
_CONTENTS = ("exact_match", "must_include", "must_exclude", "required_values", "fuzzy_match")
_TARGET_KEYS = ("url", "locator", "required_contents", "prep_actions")
_IMAGE_KEYS = (
    "eval_image_url", "eval_image_class", "eval_vqa", "eval_fuzzy_image_match", "ssim_threshold",
)  # fmt: skip
_SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "map", "wikipedia", "classifieds")
_EXTRAS = (
    "viewport_size", "overall_difficulty", "reasoning_difficulty", "visual_difficulty", "old_task_id",
    "required_wait", "affects_environment",
)  # fmt: skip


def read_row(fields: Fields) -> Form | None:
    """Returns the task of a row, without id, suite and template; None, with problems noted, when it is faulty."""
    number = fields.number("task_id")
    intent = fields.text("intent")
    sites = list(names) if (names := fields.sites()) else None
    starts = _starts(fields, sites)
    images = _images(fields)
    checks = _checks(fields)
    template = fields.text("intent_template", optional=True)
    template_id = fields.number("intent_template_id", optional=True)
    fields.object("instantiation_dict", optional=True)
    if not fields.sound or checks is None:
        return None
    unachievable = any(_is_unachievable(check) for check in checks)
    form: Form = {"task_id": number, "intent": intent, "sites": sites}
    if images:
        form["images"] = images
    if starts:
        form["start"] = starts if len(starts) > 1 else starts[0]
    source: dict[str, Any] = {}
    if template_id is not None:
        source["template_id"] = template_id
    if template is not None:
        source["template"] = plain_template(template)
    source |= {key: value for key in _EXTRAS if (value := fields.raw(key, optional=True)) not in (MISSING, None)}
    if fields.raw("require_reset", optional=True) is True:
        source["require_reset"] = True
    form |= {"checks": checks, "category": "unachievable" if unachievable else _category(checks), "source": source}
    return form


def _starts(fields: Fields, sites: list[str] | None) -> list[str]:
    text = fields.text("start_url", optional=True)
    if text is None or sites is None:
        return []
    addresses = text.split(" |AND| ")
    for name in _SITES:  # some tasks of VisualWebArena start on a site that they don't list
        if name not in sites and any(address.startswith(placeholder(name)) for address in addresses):
            sites.append(name)
    return fields.starts(("start_url",), addresses, sites) or []


def _images(fields: Fields) -> list[str]:
    """Returns the images of the intent. They may be on a site that the task does not list."""
    given = fields.raw("image", optional=True)
    if given in (MISSING, None, "", []):
        return []
    several = isinstance(given, list)
    texts = fields.texts("image") if several else [fields.text("image")]
    found = []
    for index, text in enumerate(texts or ()):
        image = text and image_place(text)
        if image:
            found.append(image)
        elif text:
            fields.fault(("image", index) if several else ("image",), "an image", said(text))
    return found


def _checks(fields: Fields) -> list[Form] | None:
    if fields.object("eval") is None:
        return None
    types = fields.texts("eval", "eval_types", low=1, among=EVALUATORS)
    if types is None:
        return None
    makers = {
        "string_match": _string_match,
        "url_match": _url_match,
        "program_html": _program_html,
        "page_image_query": _page_image_query,
    }
    checks: list[Form] = []
    for index, name in enumerate(types):
        if name in types[:index]:
            fields.fault(("eval", "eval_types", index), "each evaluator once", f"'{name}' again")
            continue
        spec = makers[name](fields)
        if spec is not None:
            checks.append({name: spec})
    return checks


def _string_match(fields: Fields) -> Form | None:
    at = ("eval", "reference_answers")
    answers = fields.object(*at)
    if answers is None:
        return None
    if not answers:
        fields.fault(at, f"a reference answer ({', '.join(_ANSWERS)})", said(answers))
    for kind, value in answers.items():
        if kind not in _ANSWERS:
            fields.fault((*at, kind), f"one of {', '.join(_ANSWERS)}", f"'{kind}'", near(kind, _ANSWERS))
        elif kind == "exact_match":
            fields.text(*at, kind, blank=True)
        elif not isinstance(value, str):
            fields.texts(*at, kind)
    # A text instead of a list: WebArena's harness raises an error, VisualWebArena's accepts it.
    spec = {
        kind: [value] if isinstance(value, str) and kind != "exact_match" and value != "N/A" else value
        for kind, value in answers.items()
    }
    note = fields.text("eval", "string_note", optional=True, blank=True)
    if note:
        spec["note"] = note
    return spec if fields.sound else None


def _url_match(fields: Fields) -> Form | None:
    reference = fields.text("eval", "reference_url")
    note = fields.text("eval", "url_note", optional=True)
    if note is not None and note not in ("EXACT", "GOLD in PRED"):
        fields.fault(("eval", "url_note"), "'EXACT' or 'GOLD in PRED'", said(note))
    if not fields.sound:
        return None
    return {"reference_url": reference, **({"note": note} if note else {})}


def _program_html(fields: Fields) -> list[Form] | None:
    at = ("eval", "program_html")
    targets = fields.objects(*at)
    if targets is None:
        return None
    for index, target in enumerate(targets):
        here = (*at, index)
        fields.text(*here, "url")
        fields.text(*here, "locator", blank=True)
        for key in target:
            if key not in _TARGET_KEYS:
                fields.fault((*here, key), f"one of {', '.join(_TARGET_KEYS)}", f"'{key}'")
        if "prep_actions" in target:
            fields.texts(*here, "prep_actions")
        contents = fields.object(*here, "required_contents")
        if contents is None:
            continue
        if not contents:
            fields.fault((*here, "required_contents"), f"one of {', '.join(_CONTENTS)}", said(contents))
        for kind, value in contents.items():
            place = (*here, "required_contents", kind)
            if kind not in _CONTENTS:
                fields.fault(place, f"one of {', '.join(_CONTENTS)}", f"'{kind}'", near(kind, _CONTENTS))
            elif kind == "exact_match":
                fields.text(*place, blank=True)
            elif not (kind == "fuzzy_match" and isinstance(value, str)):
                fields.texts(*place)
    return targets if fields.sound else None


def _page_image_query(fields: Fields) -> list[Form] | None:
    at = ("eval", "page_image_query")
    queries = fields.objects(*at)
    if queries is None:
        return None
    for index, query in enumerate(queries):
        here = (*at, index)
        fields.text(*here, "eval_image_url")
        fields.text(*here, "eval_image_class", optional=True, blank=True)
        for key in query:
            if key not in _IMAGE_KEYS:
                fields.fault((*here, key), f"one of {', '.join(_IMAGE_KEYS)}", f"'{key}'", near(key, _IMAGE_KEYS))
    return queries if fields.sound else None


def _is_unachievable(check: Form) -> bool:
    spec = check.get("string_match")
    return isinstance(spec, dict) and spec.get("fuzzy_match") == "N/A"


def _category(checks: list[Form]) -> str:
    """Returns the category of a task as implied by its evaluators, because WebArena's files have none.

    Compared with WebArena-Verified's annotation of the 812 tasks, 96 % are the same.
    """
    kinds = {name for check in checks for name in check}
    if "string_match" in kinds:
        return "information"
    targets = next((check["program_html"] for check in checks if "program_html" in check), None)
    if targets is None:
        return "content" if "page_image_query" in kinds else "navigation"
    stays = all(target["url"] == "last" for target in targets)
    return "navigation" if stays and kinds == {"program_html"} else "content"
