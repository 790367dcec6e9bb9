"""A run as a comment on a pull request: one Markdown text for GitHub and GitLab."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from urllib.parse import quote

from pytest_webarena.results.attempts import final_screenshot
from pytest_webarena.results.markdown import RATE_HEAD, gate_line, plain_markdown, rate_rows, safe, table_row
from pytest_webarena.results.trial_outcome import Kind, reported_outcome
from pytest_webarena.secrets import scrub
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from pytest_webarena.results import RunDir, Summary, TrialRecord
    from pytest_webarena.results.comparing.comparison import Comparison
    from pytest_webarena.results.gate import Ruling
    from pytest_webarena.results.plan import Coverage

__all__ = ["LONGEST", "PATH", "comment_on", "marker", "no_result"]

LONGEST = 65_536
"""Maximum length of a comment that GitHub accepts, in characters. GitLab accepts more."""
PATH = "{path}"
"""Part of an address that is replaced by the path of a file in the run's directory."""

_RESERVED = 500
"""Characters for the sentence about what was cut."""
_SENTENCE = 2000


def marker(name: str) -> str:
    """Return the first line of a comment, which readers do not see, and by which its next version finds it.

    >>> marker("nightly --> tasks")
    '<!-- pytest-webarena comment: nightly-tasks -->'
    """
    return f"<!-- pytest-webarena comment: {re.sub(r'[^A-Za-z0-9_.]+', '-', name).strip('-')[:100] or 'tasks'} -->"


def comment_on(
    run: RunDir,
    records: Sequence[TrialRecord],
    summaries: Mapping[str, Summary],
    *,
    coverages: Mapping[str, Coverage],
    ruling: Ruling | None,
    comparisons: Sequence[Comparison] = (),
    name: str = "tasks",
    commit: str = "",
    link: str = "",
) -> str:
    """Return the comment: the gate's result, rates, differences to the baseline, and trials that did not pass.

    Args:
        name: What distinguishes comments of several workflows on one pull request.
        commit: The commit that was tested; empty if unknown.
        link: Address of the uploaded run directory. With `PATH` in it, pictures are links to their files.
    """
    failed = [record for record in records if record.outcome != "passed"]
    failed.sort(key=lambda record: get_args(Kind).index(reported_outcome(record).kind))
    text = _Limited([marker(name), "### Web tasks", ""])
    if ruling is not None:
        text.add(gate_line(ruling, _SENTENCE), "")
    elif records:
        text.add(f"{len(records) - len(failed)} of {len(records)} trials passed.", "")
    if source := _source(run, commit, link):
        text.add(source, "")
    text.add_rows(RATE_HEAD, rate_rows(summaries, coverages), "rows of the table of agents")
    if comparisons:
        from pytest_webarena.results.comparing.wording import headline

        for each in comparisons:
            text.add_rows(("",), [f"**Difference to the baseline:** {safe(headline(each), _SENTENCE)}"], "comparisons")
    if failed:
        count = f"{len(failed)} trial{'s' * (len(failed) != 1)} did not pass"
        head = ("", f"<details open><summary>{count}</summary>", "", *_FAILED_HEAD)
        rows = (table_row(_failure(run.path, record, link)) for record in failed)
        text.add_rows(head, rows, f"of {count}", tail=("", "</details>"))
    for each in comparisons:
        from pytest_webarena.results.comparing.wording import in_markdown

        details = ("", "<details><summary>Baseline, task by task</summary>", "", *in_markdown([each]), "", "</details>")
        text.add_rows((), ["\n".join(details)], "details of comparisons")
    return text.finish()


def no_result(why: str, *, name: str = "tasks", commit: str = "", link: str = "") -> str:
    """Return the comment on a run without results, so that no comment on an earlier run is taken for its result."""
    source = _origin(commit, link)
    return _Limited([marker(name), "### Web tasks", "", f"❌ no result: {safe(why, _SENTENCE)}", "", *source]).finish()


_FAILED_HEAD = ("| task | agent | outcome | why | last page |", "|---|---|---|---|---|")


def _failure(run: Path, record: TrialRecord, link: str) -> Iterator[str]:
    yield safe(record.key.task)
    tried = f" (trial {record.key.trial})" if record.key.trial > 1 else ""
    browser = f" in {record.key.browser}" if record.key.browser != "chromium" else ""
    yield safe(record.key.agent + browser) + tried
    yield safe(reported_outcome(record).words)
    yield safe(record.message.partition("\n")[0])
    picture = final_screenshot(run / "trials" / record.key.folder, record.attempt)
    if picture is None:
        yield ""
        return
    path = picture.relative_to(run).as_posix()
    yield f"[picture]({_address(link.replace(PATH, quote(path)))})" if PATH in link else f"<code>{safe(path)}</code>"


def _source(run: RunDir, commit: str, link: str) -> str:
    parts = [*_origin(commit, link)]
    if PATH in link and (run.path / "view.html").is_file():
        parts.append(f"[All trials]({_address(link.replace(PATH, 'view.html'))})")
    return " · ".join(parts)


def _origin(commit: str, link: str) -> Iterator[str]:
    if commit:
        yield f"Commit {plain_markdown(commit[:12])}"
    if link and PATH not in link:
        yield f"[Records and pictures]({_address(link)})"


def _address(text: str) -> str:
    """``text`` as the address of a link, which no character of it can end."""
    return quote(text, safe=":/?&=%#~@!$,;+*-._")


class _Limited:
    """A text of at most `LONGEST` characters, with a sentence about what was left out."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [*lines]
        self._left = LONGEST - _RESERVED - sum(map(_length, self._lines))
        self._cut: dict[str, int] = {}

    def add(self, *lines: str) -> None:
        """Add lines that are always shown; they are short."""
        self._lines += lines
        self._left -= sum(map(_length, lines))

    def add_rows(self, head: Sequence[str], rows: Iterable[str], what: str, *, tail: Sequence[str] = ()) -> None:
        """Add rows until the text is full, between ``head`` and ``tail``; without a row, neither is added."""
        found = [_clean(row) for row in rows]
        left = self._left - sum(map(_length, (*head, *tail)))
        kept: list[str] = []
        for row in found:
            left -= _length(row)
            if left < 0:
                break
            kept.append(row)
        if kept:
            self.add(*head, *kept, *tail)
        if len(kept) < len(found):
            self._cut[what] = self._cut.get(what, 0) + len(found) - len(kept)

    def finish(self) -> str:
        """Return the text."""
        if self._cut:
            parts = ", ".join(f"{count} {what}" for what, count in self._cut.items())
            self._lines += ["", f"Cut, because comments are limited to {LONGEST:,} characters: {parts}."]
        return _clean("\n".join([*self._lines, ""]))[:LONGEST]


def _clean(text: str) -> str:
    return printable(scrub(text))


def _length(line: str) -> int:
    """Length with the line's end, as a host counts that has two units for some characters."""
    return len(line.encode("utf-16-le", "replace")) // 2 + 1
