"""Error messages of endpoints are masked before they are cut; blank texts are not sent back."""

from __future__ import annotations

import json

from pytest_webarena import secrets
from pytest_webarena.llm.anthropic_api import _blocks
from pytest_webarena.llm.faults import fault_of_status
from pytest_webarena.llm.messages import Message
from tests.cases import each_case

KEY = "sk-ant-SECRETkey-91827364zz"


@each_case("length", [300, 500, 2000, 4000, 20_000])
@each_case("as_page", [False, True])
def test_key_across_a_cut_is_masked(length: int, as_page: bool) -> None:
    secrets.learn([KEY])
    text = "x" * (length - len(KEY)) + " " + KEY
    content = f"<html><body>{text}</body></html>" if as_page else json.dumps({"error": {"message": text}})
    fault = fault_of_status(401, {}, content, 0.0)
    assert KEY[:8] not in str(fault)


def test_blank_texts_of_a_reply_are_not_sent_back() -> None:
    call = {"type": "tool_use", "id": "a", "name": "click", "input": {}}
    blank = {"type": "text", "text": "\n\n"}
    assert _blocks(Message(role="assistant", items=(blank, call)), exact=True) == [call]
    (kept,) = _blocks(Message(role="assistant", items=(blank,)), exact=True)
    assert kept["text"].strip()
