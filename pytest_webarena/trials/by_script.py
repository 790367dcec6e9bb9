"""Fields that a self-driving agent filled by script: clients choose from lists so, and no command tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_webarena.browser.acting.filled import Filled
    from pytest_webarena.evidence import FilledField, TargetRecord

__all__ = ["KnownFields"]


class KnownFields:
    """What fields were seen to hold. Pure, but for what it remembers."""

    def __init__(self) -> None:
        self._known: dict[tuple[float, str], tuple[str, ...]] = {}

    def shaped(self, filled: Sequence[Filled], acted_on: TargetRecord | None) -> str | None:
        """The value that keys have given the date or the like in which they were pressed; None: they wrote it as it is.

        For `unexplained` of the same look, which has to come after it.
        """
        here = [each for each in filled if each.is_shaped and _is(each.field.target, acted_on) and self._is_new(each)]
        return here[0].field.values[0] if here else None

    def _is_new(self, filled: Filled) -> bool:
        return self._known.get((filled.document, filled.field.target.selector)) != filled.field.values

    def unexplained(self, filled: Sequence[Filled], acted_on: TargetRecord | None) -> tuple[FilledField, ...]:
        """Those that hold something new which what was done to ``acted_on`` since does not explain."""
        new = [each for each in filled if self._is_new(each)]
        self._known |= {(each.document, each.field.target.selector): each.field.values for each in new}
        return tuple(each.field for each in new if not _is(each.field.target, acted_on))


def _is(field: TargetRecord, acted_on: TargetRecord | None) -> bool:
    """Whether it is, or may be, the same: of what has the focus nothing but role and name is known."""
    if acted_on is None:
        return False
    if acted_on.selector:
        return acted_on.selector == field.selector or (acted_on.tag == "label" and acted_on.text == field.name)
    return acted_on.name == field.name
