"""Table-driven tests: all cases of a table run in one test, and its failure names each failed case.

Collecting a test costs each worker of the suite half a millisecond, and running it four; most cases of a table take
less. `pytest.mark.parametrize` remains for cases that need their own fixture or mark.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., None])
Case = TypeVar("Case")

__all__ = ["each_case", "limit_cases", "spread_cases", "table_of"]

_most: int | None = None


def limit_cases(most: int | None) -> None:
    """Limit the number of cases of each table from now on (``--cases``)."""
    global _most
    _most = most


def spread_cases(cases: Sequence[Case], most: int | None) -> list[Case]:
    """Returns at most ``most`` of the cases, spread evenly; of two or more, the first and the last are included."""
    last, steps = len(cases) - 1, max((most or 0) - 1, 1)
    return [cases[number * last // steps] for number in range(most)] if most and len(cases) > most else list(cases)


def each_case(
    names: str | Sequence[str], cases: Iterable[Any], *, ids: Iterable[object] | Callable[[Any], str] | None = None
) -> Callable[[Test], Test]:
    """Run the decorated test with each of ``cases``, like `pytest.mark.parametrize`, but as a single test.

    Args:
        names: the arguments of a case, as one text with commas or a sequence of texts.
        cases: a value each if there is one name, else a sequence of values.
        ids: names of the cases in failures, or a function of a value; names and values by default.

    Raises `BaseExceptionGroup` with a failure for each failed case, whose id is in a note. A skipped case skips the
    test. The other arguments of the test are fixtures, which all cases share.
    """
    given = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else tuple(names)
    rows = [(case,) if len(given) == 1 else tuple(case) for case in cases]
    titles = list(ids) if ids is not None and not callable(ids) else [_title(given, row, ids) for row in rows]
    table = [(dict(zip(given, row, strict=True)), title) for row, title in zip(rows, titles, strict=True)]
    if not table:
        raise ValueError(f"no cases of {', '.join(given)}")

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            tried = spread_cases(table, _most)
            for values, title in tried:
                try:
                    test(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"case: {title}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(tried)} cases failed", failures)

        signature = inspect.signature(test)
        remaining = [parameter for name, parameter in signature.parameters.items() if name not in given]
        run.__signature__ = signature.replace(parameters=remaining)  # type: ignore[attr-defined]  # which pytest reads
        run.cases = rows  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate


def table_of(test: Callable[..., None]) -> list[tuple[Any, ...]]:
    """Returns the values of each case of a test that `each_case` decorates."""
    return list(test.cases)  # type: ignore[attr-defined]


def _title(names: tuple[str, ...], row: tuple[Any, ...], name_of: Callable[[Any], str] | None) -> str:
    if name_of is not None:
        return "-".join(name_of(value) for value in row)
    return ", ".join(f"{name}={value!r:.200}" for name, value in zip(names, row, strict=True))
