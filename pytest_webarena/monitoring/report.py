"""Reports of a check for people and programs: text, JSON, and one self-contained HTML page."""

from __future__ import annotations

import base64
import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

from pytest_webarena.monitoring.findings import STATUSES, Finding, TaskFinding
from pytest_webarena.monitoring.history import Entry, Flag, Month
from pytest_webarena.tasks.reviews import ReviewState
from pytest_webarena.text import clip

__all__ = ["alerts_json", "decay_lines", "lines", "page", "report_json"]

REPORT_VERSION = 1
_WIDTH = 80
_PICTURES = 40_000_000
"""Maximum number of bytes of screenshots embedded in the page; further ones are linked."""
_MEANING = {
    "broken": "can't be done any more, or is not judged as done",
    "drifted": "can be done, but what the task names was found by other means",
    "blocked": "the site does not let us in",
    "site down": "the site does not answer",
    "untried": "could not be checked",
    "valid": "done and judged as the task says",
}


def _counts(findings: Sequence[TaskFinding]) -> dict[str, int]:
    return {status: sum(each.status == status for each in findings) for status in STATUSES}


def _reviews(findings: Sequence[TaskFinding]) -> dict[str, int]:
    """Number of tasks per review state; empty when no task has a review."""
    if not any(each.review for each in findings):
        return {}
    states = (*get_args(ReviewState), "")
    counts = {state or "none": sum(each.review == state for each in findings) for state in states}
    return {state: count for state, count in counts.items() if count}


def _open_review(each: TaskFinding) -> list[str]:
    """What has to be done about a task's review, in sentences."""
    if each.review == "changed since":
        return [f"review: the task has changed since it was looked at; it is {each.digest[:8]} now"]
    if each.review == "rejected":
        return ["review: rejected"]
    if each.review == "disputed":
        return [f"review: {text}" for text in each.disagreements]
    return []


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _ordered(findings: Sequence[TaskFinding]) -> list[TaskFinding]:
    return sorted(findings, key=lambda each: STATUSES.index(each.status))


def lines(findings: Sequence[TaskFinding], flags: Mapping[str, Sequence[Flag]]) -> Iterator[str]:
    """The report as text with at most 80 columns, except for long paths and names; valid tasks are only counted."""
    for status, count in _counts(findings).items():
        if count:
            yield f"{status:<10} {count:>5}  {_MEANING[status]}"
    if counted := _reviews(findings):
        yield f"reviews: {', '.join(f'{count} {state}' for state, count in counted.items())}"
    for each in _ordered(findings):
        reports = flags.get(each.task, ())
        open_review = _open_review(each)
        if each.status == "valid" and not reports and not open_review:
            continue
        place = f"{each.path}:{each.line}"
        yield ""
        yield f"{each.status}: {each.task} ({place})"
        for text in (each.why, *(f"reported: {flag.reason}" for flag in reports), *open_review):
            if text:
                flat = " ".join(text.split())
                yield from textwrap.wrap(
                    flat, _WIDTH, initial_indent="  ", subsequent_indent="  ", max_lines=3, placeholder=" …"
                )


def decay_lines(months: Sequence[Month]) -> Iterator[str]:
    """The history as a text table, month by month."""
    yield "month    tasks  valid  drifted  broken  undecided  no longer valid"
    for each in months:
        no_longer_valid = f"{each.lost} of {each.were_valid} ({each.rate:.1%})" if each.rate is not None else "–"
        found = f"{each.tasks:>5}  {each.valid:>5}  {each.drifted:>7}  {each.broken:>6}  {each.undecided:>9}"
        yield f"{each.month}  {found}  {no_longer_valid}"


def report_json(
    findings: Sequence[TaskFinding],
    *,
    at: float,
    not_due: Sequence[str],
    flags: Mapping[str, Sequence[Flag]],
    months: Sequence[Month],
) -> dict[str, Any]:
    """The content of ``report.json``; described in ``docs/monitoring.md``."""
    return {
        "schema_version": REPORT_VERSION,
        "at": at,
        "counts": _counts(findings),
        "reviews": _reviews(findings),
        "tasks": [
            {**each.to_json(), "flags": [_flag_json(flag) for flag in flags.get(each.task, ())]}
            for each in _ordered(findings)
        ],
        "not_due": list(not_due),
        "decay": [{**{name: getattr(each, name) for name in each.__slots__}, "rate": each.rate} for each in months],
    }


def _flag_json(flag: Flag) -> dict[str, Any]:
    return {"reason": flag.reason, "at": flag.at, "trial": flag.trial}


def alerts_json(
    findings: Sequence[TaskFinding],
    before: Mapping[str, Entry | None],
    flags: Mapping[str, Sequence[Flag]],
    *,
    at: float,
) -> dict[str, Any]:
    """What needs attention: tasks whose status changed, and new reports by people."""
    news = []
    for each in _ordered(findings):
        last = before.get(each.task)
        previous_status = last.status if last is not None else ""
        new = [flag for flag in flags.get(each.task, ()) if last is None or flag.at > last.at]
        changed = each.status != (previous_status or "valid")
        if changed or new:
            news.append(
                {
                    "task": each.task,
                    "path": each.path,
                    "line": each.line,
                    "status": each.status,
                    "was": previous_status,
                    "why": each.why,
                    "flags": [_flag_json(flag) for flag in new],
                }
            )
    wrong = [each.task for each in _ordered(findings) if each.status != "valid"]
    return {"schema_version": REPORT_VERSION, "at": at, "alerts": news, "not_valid": wrong}


def page(
    findings: Sequence[TaskFinding],
    target: Path,
    *,
    at: float,
    not_due: Sequence[tuple[str, Entry | None]],
    flags: Mapping[str, Sequence[Flag]],
    months: Sequence[Month],
) -> str:
    """The HTML page for the file ``target``; screenshots that do not fit in it are linked relative to that."""
    style = files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    pictures = _Pictures(target.parent)
    body = [
        f"<h1>Task monitoring</h1><p class=dim>{len(findings)} checked, the last on {_day(at)} UTC"
        + (f"; {len(not_due)} not due" if not_due else "")
        + "</p>",
        '<ul class="tally">',
        *(
            f'<li><b class="{_class(status)}">{count}</b>{escape(status)}</li>'
            for status, count in _counts(findings).items()
            if count
        ),
        "</ul>",
        *(_task(each, flags.get(each.task, ()), pictures) for each in _ordered(findings)),
        *_not_due(not_due),
        *_decay(months),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "img-src data: file: 'self'; base-uri 'none'; form-action 'none'\">"
        f"<title>Task monitoring</title><style>{style}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def _class(status: str) -> str:
    return f"status {status.replace(' ', '-')}"


def _task(each: TaskFinding, flags: Sequence[Flag], pictures: _Pictures) -> str:
    opened = " open" if each.status not in ("valid", "untried") or flags or _open_review(each) else ""
    reason = f'<span class="why">{escape(each.why)}</span>' if each.why else ""
    parts = [
        f'<details{opened}><summary><span class="{_class(each.status)}">{escape(each.status)}</span> '
        f"<code>{escape(each.task)}</code>{reason}</summary>",
        f'<p class="dim">{escape(each.path)}:{each.line} · {_day(each.at)} UTC · {each.seconds:.1f} s</p>',
        *(f'<p class="flag">Reported: {escape(flag.reason)}</p>' for flag in flags),
        *(f'<p class="flag">{escape(text.capitalize())}</p>' for text in _open_review(each)),
        *([f'<p class="dim">Review: {escape(each.review)}</p>'] if each.review else []),
    ]
    if each.parts:
        parts.append('<div class="scroll"><table class="parts"><tr><th>what<th>part<th>found')
        parts += map(_part, each.parts)
        parts.append("</table></div>")
    parts.append(_screenshots(each, pictures))
    return "".join(parts) + "</details>"


def _part(part: Finding) -> str:
    reason = f"<small>{escape(part.why)}</small>" if part.why else ""
    what = {"node": "key node", "step": "solution", "check": "check"}[part.kind]
    return (
        f"<tr><td>{what}<td>{escape(part.name)}{reason}"
        f'<td><span class="{_class(part.status)}">{escape(part.status)}</span>'
    )


def _screenshots(each: TaskFinding, pictures: _Pictures) -> str:
    """Screenshots before and after the part that decided the task's status; for a valid task, at the start and at the
    end."""
    if not each.attempt:
        return ""
    part = next((part for part in each.parts if part.status == each.status != "valid" and part.step is not None), None)
    step = part.step if part is not None and part.step is not None and part.step >= 0 else None
    screenshots = Path(each.attempt) / "screenshots"
    numbered = sorted(path for path in screenshots.glob("*") if path.stem.isdigit())
    final = sorted(screenshots.glob("final.*"))
    before = next((path for path in numbered if step is None or int(path.stem) == step), None)
    after = next((path for path in numbered if step is not None and int(path.stem) == step + 1), None)
    after = after or (final[0] if final else numbered[-1] if numbered else None)
    before_title = "at the start" if step is None else f"before: {part.name}" if part is not None else ""
    after_title = "at the end" if step is None else "after it"
    figures = [
        f"<figure><figcaption>{escape(clip(text, 120))}</figcaption>"
        f"<img alt={_attribute(text)} src={_attribute(source)}></figure>"
        for text, path in ((before_title, before), (after_title, after))
        if path is not None and (source := pictures.source(path))
    ]
    return f'<div class="screenshots">{"".join(figures)}</div>' if figures else ""


def _attribute(text: str) -> str:
    return f'"{escape(text, quote=True)}"'


class _Pictures:
    """Embeds screenshots in the page up to a limit; further ones are linked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._left = _PICTURES

    def source(self, path: Path) -> str:
        try:
            data = path.read_bytes()
        except OSError:
            return ""
        if len(data) <= self._left:
            self._left -= len(data)
            kind = path.suffix[1:] if path.suffix in (".png", ".webp") else "jpeg"
            return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
        return quote(os.path.relpath(path.resolve(), self._folder))


def _not_due(tasks: Sequence[tuple[str, Entry | None]]) -> Iterator[str]:
    if tasks:
        yield "<h2>Not due</h2><div class=card><table><tr><th>task<th>last found<th>when"
        for name, entry in tasks:
            status = f'<span class="{_class(entry.status)}">{escape(entry.status)}</span>' if entry else "–"
            yield f"<tr><td><code>{escape(name)}</code><td>{status}<td>{_day(entry.at) if entry else ''}"
        yield "</table></div>"


def _decay(months: Sequence[Month]) -> Iterator[str]:
    if not months:
        return
    yield "<h2>Month by month</h2><div class=card>"
    yield _bars(months[-24:])
    yield (
        "<div class=scroll><table><tr><th>month<th class=n>tasks<th class=n>valid<th class=n>drifted<th class=n>broken"
        "<th class=n>undecided<th class=n>no longer valid"
    )
    for each in reversed(months):
        no_longer_valid = f"{each.lost} of {each.were_valid} ({each.rate:.1%})" if each.rate is not None else "–"
        yield (
            f"<tr><td>{each.month}<td class=n>{each.tasks}<td class=n>{each.valid}<td class=n>{each.drifted}"
            f"<td class=n>{each.broken}<td class=n>{each.undecided}<td class=n>{no_longer_valid}"
        )
    yield (
        "</table></div><p class=dim>Each task by its last conclusive check of the month. No longer valid: of the "
        "tasks that were valid at their last check before the month. A task that was changed starts again.</p></div>"
    )


def _bars(months: Sequence[Month]) -> str:
    """A bar per month with the fractions of valid, drifted and broken tasks."""
    height, step = 120, 56
    shapes = []
    for number, each in enumerate(months):
        top, x = float(height), 8 + number * step
        for status, count in (("valid", each.valid), ("drifted", each.drifted), ("broken", each.broken)):
            if count:
                size = height * count / each.tasks
                top -= size
                shapes.append(
                    f'<rect class="bar-{status}" x="{x}" y="{top:.1f}" width="36" height="{size:.1f}">'
                    f"<title>{each.month}: {count} {status}</title></rect>"
                )
        shapes.append(f'<text x="{x + 18}" y="{height + 16}" text-anchor="middle">{each.month[2:]}</text>')
    width = 16 + step * len(months)
    return (
        f'<svg viewBox="0 0 {width} {height + 24}" width="{width}" height="{height + 24}" role="img" '
        f'aria-label="Shares of valid, drifted and broken tasks by month">{"".join(shapes)}</svg>'
    )
