"""Reads the reports of the listener in a tab's documents and records them as signals.

It does not matter how the reports arrive: by the browser's protocol, or by the recorder's browser extension.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pytest_webarena.browser.messages import writable
from pytest_webarena.browser.signal_log import ReportedEvent, TabSignals
from pytest_webarena.browser.tabs.frame_chains import FrameChains
from pytest_webarena.signals import ControlRecord, ElementRecord, TargetRecord

__all__ = ["DomReports"]

_LONGEST = 1_000_000
"""Maximum number of characters of the report of one event; the listener sends far less."""
_SIGNS = 100
_DOCUMENTS = 100
"""Maximum number of a tab's documents whose last written field is remembered."""


class DomReports:
    """Reader of the reports of one tab."""

    def __init__(self, signals: TabSignals, frames: FrameChains, on_unknown: Callable[[str], None]) -> None:
        """``on_unknown`` is called with a frame whose surroundings an event needed and nothing has reported yet."""
        self._signals = signals
        self._frames = frames
        self._on_unknown = on_unknown
        self._tokens: set[str] = set()
        self._written: dict[tuple[str, ...], ReportedEvent] = {}
        """Last input by document. For further letters, only the value is reported."""

    def new_token(self) -> str:
        """Return a one-time token that proves that the harness makes a change."""
        if len(self._tokens) >= _SIGNS:
            self._tokens.clear()
        token = secrets.token_hex(8)
        self._tokens.add(token)
        return token

    def read(self, payload: str, document: tuple[str, ...], frame: str) -> bool:
        """Record one report of the listener in ``document``, which ``frame`` shows. Unreadable ones count as lost.

        Returns whether the listener was installed in a document whose surroundings another process has to report.
        """
        try:
            report = json.loads(writable(payload[:_LONGEST]))
            if isinstance(report, list):  # a click into a field and its first input
                click, first = report
                self._record(click, document, frame, len(payload))
                self._record({**first, "target": click["target"]}, document, frame, len(payload))
            elif "listening" in report:
                self._signals.note_document(frame, listening=True)
                return bool(report.get("enclosed"))
            elif "around" in report:
                chain = tuple(map(_element, report["chain"]))
                self._frames.store_surroundings(report["around"], chain, whole=report["whole"], maker=report["maker"])
            else:
                self._record(report, document, frame, len(payload))
        except (AttributeError, KeyError, TypeError, ValueError):  # too long, not announced, unreadable, or malformed
            self._signals.lost()
        return False

    def _record(self, report: dict[str, Any], document: tuple[str, ...], frame: str, size: int) -> None:
        token = report.get("sign")
        if token is not None and token not in self._tokens:
            raise ValueError("not announced by the harness")
        self._tokens.discard(token)
        if "again" in report:
            event = self._written[document]
            if event.field != (*document, report["again"]):
                raise ValueError("another field")
            event = replace(event, value=report["value"], omits=report.get("omits", event.omits))
        else:
            event = self._reported_event(report, document, frame, size)
        if event.event == "input":
            self._written.pop(document, None)
            self._written[document] = event
            if len(self._written) > _DOCUMENTS:
                self._written.pop(next(iter(self._written)))
        self._signals.record_dom_event(event)

    def _reported_event(
        self, report: dict[str, Any], document: tuple[str, ...], frame: str, size: int
    ) -> ReportedEvent:
        own_chain = tuple(map(_element, report["chain"]))
        chain, whole, unknown = self._frames.extend_chain(frame, own_chain, report["whole"])
        if unknown:
            self._on_unknown(unknown)
        maker = report["maker"]
        if not maker and report["frame"].startswith("about:srcdoc"):  # a sandboxed document
            maker = self._frames.nearest_maker(frame)
        return ReportedEvent(
            event=report["event"],
            target=TargetRecord(**report["target"]),
            value=report["value"],
            omits=report["omits"],
            chain=chain,
            whole=whole,
            frame=report["frame"],
            control=ControlRecord(**report["control"]) if report["control"] else None,
            field=(*document, report["field"]),
            size=size,
            maker=maker,
            by_script="scripted" in report,
            selects="selects" in report,
            done_at=report.get("scripted", 0),
            rows=tuple(tuple(map(str, row)) for row in report.get("rows", ())),
        )


def _element(fields: list[Any]) -> ElementRecord:
    tag, attributes, nth, children, nth_of_type, of_type, within = fields
    return ElementRecord(
        tag=tag,
        attributes=attributes,
        nth=nth,
        children=children,
        nth_of_type=nth_of_type,
        of_type=of_type,
        within=within,
    )
