"""What a person typed and no recording may contain: known secrets, card numbers and one-time codes."""

from __future__ import annotations

import json
from dataclasses import asdict

from pytest_webarena import secrets
from pytest_webarena.actions import Type
from pytest_webarena.recorder.steps import steps_of
from pytest_webarena.recorder.withheld import without_secrets
from pytest_webarena.signals import DomEvent, ElementRecord, TargetRecord
from tests.cases import each_case


def typed(value: str, *, label: str = "", **attributes: str) -> DomEvent:
    target = TargetRecord(selector=f"css=[name={attributes.get('name', 'x')}]", role="textbox", name=label, tag="input")
    element = ElementRecord(tag="input", attributes={**attributes, "value": value})
    return DomEvent(
        time=9.0, tab=0, url="http://shop.test/", event="input", target=target, value=value, chain=(element,)
    )


@each_case(
    ("event", "is_withheld"),
    [
        (typed("4111 1111 1111 1111"), True),
        (typed("4111-1111-1111-1112"), False),  # a wrong check digit: it is no card
        (typed("123456", name="otp"), True),
        (typed("123456", label="Verification code"), True),
        (typed("123456", name="code", inputmode="numeric"), True),
        (typed("654321", name="code"), False),
        (typed("123", name="cvc"), True),
        (typed("TEA-2026", name="otp_hint"), False),
        (typed("765432", name="quantity", inputmode="numeric"), False),
        (typed("it is paper-lantern-86", name="note"), True),
        (typed("", name="otp"), False),
    ],
)
def test_secrets_are_recognised_by_value_and_field(event: DomEvent, is_withheld: bool) -> None:
    secrets.mark("paper-lantern-86")
    (kept,) = without_secrets([event])
    assert isinstance(kept, DomEvent)
    assert (kept.value is None) is is_withheld
    assert (json.dumps(asdict(kept)).count(event.value or "-") == 0) is is_withheld or event.value == ""


def test_beginnings_of_a_secret_are_withheld_and_the_person_is_informed() -> None:
    card = "4111111111111111"
    events = [typed(card[:count], name="card") for count in (4, 9, 16)]
    events.append(typed("Rye", name="title"))
    steps = steps_of(events)
    assert [step.action.text for step in steps if isinstance(step.action, Type)] == ["", "Rye"]
    assert steps[0].problem.startswith("what was typed is not recorded")
    assert secrets.scrub(f"card={card}") == "card=[secret]"
    assert not [each for each in without_secrets(events) if "4111" in json.dumps(asdict(each))]
