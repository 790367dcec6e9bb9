"""Judging recorded evidence in which secrets are masked: a check that reads a masked value is undecided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.sign_ins import TabsNoted
from pytest_webarena.evidence import Evidence
from pytest_webarena.secrets import MASK

__all__ = ["MaskReads", "unless_masked"]

T = TypeVar("T")

_WHY = (
    f"the record has {MASK} in place of a value that this check needs, so only the trial itself could decide it; "
    "run the trial again"
)
_CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization", "set-cookie"})
"""Headers of each signed-in request. No kind of check that declares what it looks at compares them."""


class MaskReads:
    """Judges checks by one trial's evidence and notes which of them read a masked value."""

    def __init__(self, evidence: Evidence) -> None:
        self._classes: dict[type, type] = {}
        self._found = self._headers = False
        self._evidence: Evidence = self._noted(evidence)

    def judge(self, kind: Kind[object], spec: object, view: View) -> Judgement:
        """Returns the judgement of a check; undecided if the check read a masked value."""
        asked = view.evidence
        evidence = self._copy(self._evidence, type(asked))
        if isinstance(evidence, TabsNoted):
            object.__setattr__(evidence, "seen", False)
        self._found, self._headers = _has_mask(view.probe), kind.looks_at is None
        try:
            judgement = kind.judge(spec, replace(view, evidence=evidence))
        except Exception:
            if not self._found:
                raise
            judgement = Judgement.of(False, expected=str(spec))
        if isinstance(asked, TabsNoted) and isinstance(evidence, TabsNoted):
            object.__setattr__(asked, "seen", evidence.seen)
        return _undecided(judgement) if self._found else judgement

    def _noted(self, value: Any) -> Any:
        """Returns ``value`` with every record that has a masked value replaced by one that notes its reading."""
        if isinstance(value, tuple):
            return tuple(map(self._noted, value)) if any(map(is_dataclass, value)) else value
        if not is_dataclass(value) or isinstance(value, type) or not _has_mask(value):
            return value
        made = self._copy(value, type(value))
        for field in fields(value):
            object.__setattr__(made, field.name, self._noted(getattr(value, field.name)))
        return made

    def _copy(self, value: T, kind: type) -> T:
        """Returns a shallow copy of a record, of a subclass of ``kind`` that notes the reading of masked values."""
        if kind not in self._classes:
            self._classes[kind] = self._class(kind)
        made: Any = object.__new__(self._classes[kind])
        for field in fields(cast("Any", value)):
            object.__setattr__(made, field.name, object.__getattribute__(value, field.name))
        return cast("T", made)

    def _class(self, kind: type) -> type:
        unnoted = cast("Callable[[object, str], Any]", kind.__getattribute__)

        def read(record: object, name: str) -> Any:
            value = unnoted(record, name)
            read = value
            if name in ("request_headers", "response_headers") and not self._headers:
                read = [pair for pair in value if pair[0].lower() not in _CREDENTIALS]
            self._found = self._found or _has_mask(read, records=False)
            return value

        return type(kind.__name__, (kind,), {"__slots__": (), "__getattribute__": read})


def unless_masked(judgement: Judgement | None, evidence: Evidence, read: object) -> Judgement | None:
    """Returns ``judgement``; an undecided one if ``evidence`` is a record in which what was ``read`` is masked."""
    return _undecided(judgement) if judgement is not None and evidence.masked and _has_mask(read) else judgement


def _undecided(judgement: Judgement) -> Judgement:
    if judgement.score is None and not judgement.judgeable:
        return judgement
    return Judgement.unknown(expected=judgement.expected, actual=judgement.actual, why=_WHY, cause="harness")


def _has_mask(value: object, *, records: bool = True) -> bool:
    """Whether any text of ``value`` has the mask; with ``records``, also in the fields of its records."""
    match value:
        case str():
            return MASK in value
        case Mapping():
            return any(_has_mask(each, records=records) for pair in value.items() for each in pair)
        case list() | tuple() | set() | frozenset():
            return any(_has_mask(each, records=records) for each in value)
        case _ if records and is_dataclass(value) and not isinstance(value, type):
            return any(_has_mask(getattr(value, field.name)) for field in fields(value))
    return False
