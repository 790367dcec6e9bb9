"""The signal stream: to files and back, and bounded whatever a page does."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from pytest_webarena.browser import signal_log
from pytest_webarena.browser.signal_log import ReportedEvent, SignalLog, TabSignals
from pytest_webarena.evidence import Evidence, TargetRecord
from pytest_webarena.results import RunDir, TrialKey
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.signals import (
    AddressChanged,
    ControlRecord,
    DialogClosed,
    DialogOpened,
    DomEvent,
    ElementRecord,
    KeyPressed,
    Signal,
    TabClosed,
    signal_from_json,
)
from tests.cases import each_case

SIGNALS: tuple[Signal, ...] = (
    AddressChanged(time=1.0, tab=0, url="http://a.test/"),
    DialogOpened(time=1.5, tab=0, url="http://a.test/", dialog="prompt", message="Name?", proposed="Ada"),
    DialogClosed(time=2.0, tab=0, url="http://a.test/", accepted=True, text="Grace \N{SNOWMAN}"),
    DomEvent(
        time=3.0, tab=1, url="http://a.test/", event="change", target=TargetRecord(role="textbox", name="N"), value="x"
    ),
    DomEvent(
        time=4.0,
        tab=1,
        url="http://a.test/",
        event="click",
        target=TargetRecord(role="button", name="Buy"),
        chain=(
            ElementRecord(tag="button", attributes={"id": "buy"}, nth=1, children=1, nth_of_type=1, of_type=1),
            ElementRecord(tag="html", within="root"),
        ),
        control=ControlRecord(place=1, name="Buy now", text="Buy now"),
        whole=False,
        frame="http://a.test/inner",
    ),
    KeyPressed(time=5.0, tab=0, url="http://a.test/", keys="Escape", target=TargetRecord(selector="body", tag="body")),
    TabClosed(time=6.0, tab=1, url="http://a.test/", cause="browser"),
)


@each_case("signal", SIGNALS)
def test_every_kind_can_be_read_back(signal: Signal) -> None:
    assert signal_from_json(json.loads(json.dumps(asdict(signal)))) == signal


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected a signal's kind, one of address, .*dom, key, found 'smell'"):
        signal_from_json({"kind": "smell"})


def test_signals_are_on_disk_as_they_come_and_part_of_the_evidence(tmp_path: Path) -> None:
    writer = RunDir(tmp_path).folder(TrialKey("t", "a", 1)).begin(worker="w", node_id="n")
    file = writer.path / "browser_events.jsonl"
    writer.signalled(())
    assert not file.exists()
    writer.signalled(SIGNALS[:2])
    assert [json.loads(line)["kind"] for line in file.read_text("utf-8").splitlines()] == ["address", "dialog_opened"]
    evidence = Evidence(answer="x", stop_reason="answered", signals=SIGNALS, lost_signals=3)
    writer.finish(evidence)
    assert len(file.read_text("utf-8").splitlines()) == len(SIGNALS)
    assert "signals" not in json.loads((writer.path / "evidence.json").read_text("utf-8"))
    assert read_evidence(writer.path) == evidence


@pytest.mark.parametrize("signals", [None, ()])
def test_that_none_came_is_not_that_nobody_listened(tmp_path: Path, signals: tuple[Signal, ...] | None) -> None:
    writer = RunDir(tmp_path).folder(TrialKey("t", "a", 1)).begin(worker="w", node_id="n")
    writer.finish(Evidence(answer="x", stop_reason="answered", signals=signals))
    assert read_evidence(writer.path).signals == signals


def test_evidence_of_earlier_versions_has_no_signals() -> None:
    data = Evidence(answer="x", stop_reason="answered", signals=SIGNALS).to_json()
    assert Evidence.from_json(json.loads(json.dumps(data))).signals == SIGNALS
    del data["signals"], data["lost_signals"]
    old = Evidence.from_json({**data, "schema_version": 4})
    assert (old.signals, old.lost_signals) == (None, 0)


def test_a_page_in_a_loop_fills_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_log, "_MOST", 5)
    monkeypatch.setattr(signal_log, "_LONGEST", 20)
    log = SignalLog()
    tab = log.of_tab()
    for number in range(8):
        tab.record_address(f"http://a.test/{number}")
    assert (len(log.since()), log.lost) == (5, 3)
    log.restart()
    tab.record_address("data:," + "x" * 1000)
    assert log.since()[0].url.startswith("data:,xxxx")
    assert len(log.since()[0].url) < 100
    assert log.lost == 0


def send_event(tab: TabSignals, event: str, value: str, field: int = 1, size: int = 10) -> None:
    tab.record_dom_event(
        ReportedEvent(
            event=event, target=TargetRecord(), value=value, chain=(), whole=True, frame="", field=(field,), size=size
        )
    )


def values(log: SignalLog) -> list[tuple[str, str | None]]:
    return [(each.event, each.value) for each in log.since() if isinstance(each, DomEvent)]


def test_input_of_one_field_is_one_signal_until_something_else_comes_or_it_was_given_out() -> None:
    log = SignalLog()
    tab, other = log.of_tab(), log.of_tab()
    for letters in ("a", "ab", "abc"):
        send_event(tab, "input", letters)
    send_event(tab, "input", "x", field=2)
    send_event(tab, "input", "abcd")
    send_event(other, "input", "y")
    send_event(other, "change", "y")
    send_event(other, "input", "yz")
    tab.record_address("http://a.test/")
    send_event(other, "input", "yzz")
    given = [
        ("input", "abc"),
        ("input", "x"),
        ("input", "abcd"),
        ("input", "y"),
        ("change", "y"),
        ("input", "yz"),
        ("input", "yzz"),
    ]
    assert values(log) == given
    send_event(other, "input", "yzzz")  # whoever has been given the one before does not ask again
    assert values(log) == [*given, ("input", "yzzz")]
    assert [each.tab for each in log.since()] == [0, 0, 0, 1, 1, 1, 0, 1, 1]


def test_events_take_up_no_more_memory_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_log, "_DOM_EVENTS", 100)
    monkeypatch.setattr(signal_log, "_MOST", 3)
    log = SignalLog()
    tab = log.of_tab()
    for _ in range(50):
        send_event(tab, "input", "a", size=40)  # one
    send_event(tab, "click", "b", size=70)
    send_event(tab, "click", "c", size=50)
    assert (values(log), log.lost) == ([("input", "a"), ("click", "c")], 1)
    tab.lost()
    send_event(tab, "click", "d", size=1)
    send_event(tab, "input", "e", size=1)
    send_event(tab, "input", "e", size=1)
    assert (values(log)[2:], log.lost) == ([("click", "d")], 4)
    log.restart()
    send_event(tab, "click", "f", size=90)
    assert (values(log), log.lost) == ([("click", "f")], 0)


@pytest.mark.parametrize("listened", [True, False, None])
def test_whether_anybody_listened_is_part_of_the_evidence(listened: bool | None) -> None:
    data = Evidence(answer="x", stop_reason="answered", signals=(), dom_events=listened).to_json()
    assert Evidence.from_json(json.loads(json.dumps(data))).dom_events is listened
    del data["dom_events"]
    assert Evidence.from_json({**data, "schema_version": 6}).dom_events is None


def test_documents_count_as_unheard_until_their_listener_reports() -> None:
    log = SignalLog(dom_events=True)
    first, second = log.of_tab(), log.of_tab()
    first.note_document("F", listening=False)
    second.note_document("F", listening=False)
    assert log.unlistened_documents == 2
    first.note_document("F", listening=True)
    assert log.unlistened_documents == 1
    second.note_document("F", listening=False)  # the one before it never said so, and never will
    second.note_document("F", listening=True)
    first.note_document("F", listening=True)
    assert log.unlistened_documents == 1
    first.note_document("G", listening=False)
    assert log.unlistened_documents == 2
    log.restart()
    assert log.unlistened_documents == 0
    data = Evidence(answer="x", stop_reason="answered", unheard_documents=2).to_json()
    assert Evidence.from_json(json.loads(json.dumps(data))).unheard_documents == 2


def test_an_answer_is_recorded_once_and_for_its_own_dialog() -> None:
    log = SignalLog()
    tab = log.of_tab()
    first = tab.dialog_opened("confirm", "a", "")
    tab.dialog_closed(accepted=False, text="")  # by the browser's word
    second = tab.dialog_opened("confirm", "b", "")
    tab.dialog_closed(accepted=True, text="", number=first)  # late, from whoever answered the first one
    assert [each.kind for each in log.since()] == ["dialog_opened", "dialog_closed", "dialog_opened"]
    tab.dialog_closed(accepted=True, text="", number=second)
    assert [each.kind for each in log.since()[3:]] == ["dialog_closed"]
