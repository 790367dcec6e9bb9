"""Tables as text, Markdown and LaTeX."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

__all__ = ["Table", "as_latex", "as_markdown", "as_text"]

_WIDTH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with cells of text; the first column is the widest, the others are right-aligned."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def as_text(found: Sequence[Table]) -> str:
    """Return tables in at most 80 columns: long names have a line of their own, long notes are wrapped."""
    return "\n\n".join("\n".join(_text(table)) for table in found)


def _fitted(table: Table) -> Table:
    """The table with its first columns joined while it is too wide, because the first column can be wrapped."""
    while len(table.columns) > 2:
        cells = zip(table.columns[1:], *(row[1:] for row in table.rows), strict=True)
        if 12 + sum(max(map(len, each)) + 2 for each in cells) <= _WIDTH:
            break
        rows = tuple((f"{row[0]}, {row[1]}", *row[2:]) for row in table.rows)
        table = replace(table, columns=(f"{table.columns[0]}, {table.columns[1]}", *table.columns[2:]), rows=rows)
    return table


def _text(table: Table) -> Iterator[str]:
    table = _fitted(table)
    widths = [max(map(len, cells)) for cells in zip(table.columns[1:], *(row[1:] for row in table.rows), strict=True)]
    first = max(12, _WIDTH - sum(width + 2 for width in widths))
    first = min(first, max(len(row[0]) for row in (table.columns, *table.rows)))
    yield table.title
    for row in (table.columns, *table.rows):
        cells = "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths, strict=True))
        *above, last = textwrap.wrap(row[0], first, break_on_hyphens=False) or [""]
        yield from above
        yield f"{last:<{first}}{cells}".rstrip()
    for note in table.notes:
        yield from textwrap.wrap(note, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def as_markdown(found: Sequence[Table]) -> str:
    """Return tables as GitHub's Markdown, each under a heading."""
    return "\n\n".join("\n".join(_markdown(table)) for table in found)


def _markdown(table: Table) -> Iterator[str]:
    yield f"### {table.title}\n"
    yield _line(table.columns)
    yield _line(["---", *("---:" for _ in table.columns[1:])])
    yield from map(_line, table.rows)
    if table.notes:
        yield ""
        yield from (f"- {note}" for note in table.notes)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_LATEX = {
    "\\": r"\textbackslash{}",
    **{each: f"\\{each}" for each in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "−": "$-$",
    "±": r"$\pm$",
    "→": r"$\rightarrow$",
    "…": r"\dots{}",
    "[": "{[}",  # after the end of a line, it would begin an argument
}
"""Characters with another meaning in LaTeX, and those that its classic engines lack in text."""


def as_latex(found: Sequence[Table]) -> str:
    """Return tables as LaTeX for the packages ``booktabs`` and ``graphicx``, with their notes below them.

    A table that is wider than the line is scaled down to it.
    """
    return "\n\n".join("\n".join(_latex(table)) for table in found)


def _latex(table: Table) -> Iterator[str]:
    yield r"\begin{table}"
    yield r"\centering"
    yield rf"\caption{{{_escaped(table.title)}}}"
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    yield rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}"
    yield r"\toprule"
    yield _latex_line(table.columns)
    yield r"\midrule"
    yield from map(_latex_line, table.rows)
    yield r"\bottomrule"
    yield r"\end{tabular}}"
    for note in table.notes:
        yield rf"\par\raggedright\footnotesize {_escaped(note)}"
    yield r"\end{table}"


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(each, each) for each in " ".join(text.split()))
