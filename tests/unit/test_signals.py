"""The signal stream: to files and back, and bounded whatever a page does."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from pytest_webarena.browser import signal_log
from pytest_webarena.browser.signal_log import SignalLog
from pytest_webarena.evidence import Evidence, TargetRecord
from pytest_webarena.results import RunDir, TrialKey
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.signals import (
    AddressChanged,
    DialogClosed,
    DialogOpened,
    DomEvent,
    ElementRecord,
    Signal,
    signal_from_json,
)

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
        whole=False,
        frame="http://a.test/inner",
    ),
)


@pytest.mark.parametrize("signal", SIGNALS)
def test_every_kind_can_be_read_back(signal: Signal) -> None:
    assert signal_from_json(json.loads(json.dumps(asdict(signal)))) == signal


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected a signal's kind, one of address, .*dom, found 'smell'"):
        signal_from_json({"kind": "smell"})


def test_signals_are_on_disk_as_they_come_and_part_of_the_evidence(tmp_path: Path) -> None:
    writer = RunDir(tmp_path).folder(TrialKey("t", "a", 1)).begin(worker="w", node_id="n")
    file = writer.path / "signals.jsonl"
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
        tab.shows(f"http://a.test/{number}")
    assert (len(log.since()), log.lost) == (5, 3)
    log.restart()
    tab.shows("data:," + "x" * 1000)
    assert log.since()[0].url.startswith("data:,xxxx")
    assert len(log.since()[0].url) < 100
    assert log.lost == 0


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
