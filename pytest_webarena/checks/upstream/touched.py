"""Which tasks a repair can touch: those where, for some trial, the verdict depends on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from pytest_webarena.checks.images.spec import ImageQuery
from pytest_webarena.checks.upstream.addresses import UrlMatchSpec
from pytest_webarena.checks.upstream.calls import LAST_URL
from pytest_webarena.checks.upstream.page_scripts import close_selectors
from pytest_webarena.checks.upstream.program_spec import LAST, ProgramSpec, Target
from pytest_webarena.checks.upstream.rules import RULES
from pytest_webarena.checks.upstream.strings import STOP_WORDS, StringSpec
from pytest_webarena.checks.upstream.text import ALTERNATIVE, clean, equals, includes
from pytest_webarena.tasks.model import Task

__all__ = ["touched", "touches"]


def touches(rule: str, task: Task) -> bool:
    """Whether some trial of the task could get another verdict without this repair. `KeyError` for an unknown rule."""
    if rule == "failures-decide":
        return _several(task)
    return any(_TESTS[rule](check.spec) for check in task.checks)


def touched(tasks: Iterable[Task]) -> Mapping[str, tuple[Task, ...]]:
    """The tasks that each repair can touch, in the order of the table."""
    tasks = tuple(tasks)
    return {rule: tuple(task for task in tasks if touches(rule, task)) for rule in RULES}


def _strings(test: Callable[[StringSpec], bool]) -> Callable[[object], bool]:
    return lambda spec: isinstance(spec, StringSpec) and test(spec)


def _addresses(test: Callable[[str], object]) -> Callable[[object], bool]:
    return lambda spec: (
        isinstance(spec, UrlMatchSpec) and spec.dialect != "visualwebarena" and bool(test(spec.reference_url))
    )


def _targets(test: Callable[[Target], bool]) -> Callable[[object], bool]:
    return lambda spec: isinstance(spec, ProgramSpec) and any(test(target) for target in spec.targets)


def _judged(spec: object) -> bool:
    if isinstance(spec, StringSpec):
        return bool(spec.fuzzy_match)
    return isinstance(spec, ProgramSpec) and any(
        target.required_contents.first == "fuzzy_match" for target in spec.targets
    )


def _stop_words(spec: StringSpec) -> bool:
    """Whether what the harness says when it ends an episode passes, or comes before a judge model."""
    if spec.fuzzy_match is not None:
        return True
    if not spec.texts:
        return False
    alone = len(spec.must_include or ()) == 1
    return any(
        (spec.exact_match is None or equals(spec.exact_match, words))
        and all(includes(each, words, tokens=alone and len(clean(each)) == 1) for each in spec.must_include or ())
        for words in STOP_WORDS
    )


def _null(target: Target) -> bool:
    """Whether the text 'None' meets a part of what is required, where a locator can give null."""
    if not target.locator.startswith(("document.", "[...document.")):
        return False
    contents = target.required_contents
    if contents.first == "exact_match":
        return equals(contents.exact_match or "", "None") or equals(contents.exact_match or "", "")
    alternatives = [one for each in contents.must_include or () for one in each.split(ALTERNATIVE)]
    return any(includes(one, "None") for one in alternatives)


def _moves(spec: object) -> bool:
    """Whether what an earlier target has opened decides where a later one looks."""
    opened: set[str] = set()
    for target in spec.targets if isinstance(spec, ProgramSpec) else ():
        if opened and target.url == LAST:
            return True
        if LAST_URL in target.url and opened - {target.url}:  # the post of a post's address is that post
            return True
        opened |= {target.url} - {LAST}
    return False


def _corrected(spec: object) -> bool:
    if isinstance(spec, ProgramSpec):
        return any(target.corrected is not None for target in spec.targets)
    return bool(getattr(spec, "corrected", None))


def _image_queries(spec: object) -> int:
    return len(spec) if isinstance(spec, tuple) and all(isinstance(each, ImageQuery) for each in spec) else 0


def _several(task: Task) -> bool:
    parts = 0
    for check in task.checks:
        if isinstance(check.spec, ProgramSpec):
            parts += len(check.spec.targets)
        elif isinstance(check.spec, StringSpec):
            fuzzy = check.spec.fuzzy_match
            parts += (len(fuzzy) if isinstance(fuzzy, tuple) else 1) + (len(check.spec.texts) > 0 and fuzzy is not None)
        else:
            parts += _image_queries(check.spec) or isinstance(check.spec, UrlMatchSpec)
    return parts > 1


_TESTS: Mapping[str, Callable[[object], bool]] = {
    "strict-judge": _judged,
    "equal-answers": _judged,
    "string-alternatives": _strings(
        lambda spec: spec.dialect != "visualwebarena" and any(ALTERNATIVE in each for each in spec.texts)
    ),
    "typed-references": _strings(lambda spec: bool(spec.texts or spec.one_of)),
    "early-stops": _strings(_stop_words),
    "corrections": _corrected,
    "site-hosts": _strings(lambda spec: any("ssh://git@" in each for each in spec.texts)),
    "url-base": _addresses(lambda reference: True),
    "url-alternatives": _addresses(lambda reference: ALTERNATIVE in reference),
    "url-slash": _addresses(lambda reference: "/?" in reference),
    "url-case": _addresses(lambda reference: re.search(r"__/f/[^/]*[A-Za-z]", reference)),
    "js-null": _targets(_null),
    "fresh-tabs": _moves,
    "closed-selectors": _targets(lambda target: close_selectors(target.locator) != target.locator),
    "image-queries": lambda spec: _image_queries(spec) > 1,
}
