"""Values that a person typed and no recording may contain: known secrets, card numbers, one-time codes.

Passwords and fields whose ``autocomplete`` names a secret are not reported by the page in the first place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_webarena.secrets import has_secret, learn
from pytest_webarena.signals import DomEvent, ElementRecord, Signal

__all__ = ["without_secrets"]

_CODE = re.compile(
    r"otp|2fa|mfa|passcode|one.?time|verification|security.?code|auth.?code|cvc|cvv|\bpin\b", re.IGNORECASE
)
"""Names of fields for one-time codes and the codes of cards."""
_NUMERIC = ("numeric", "decimal", "tel")
"""Values of ``inputmode`` with which a field that is just named ``code`` counts, too."""


def without_secrets(signals: Sequence[Signal]) -> tuple[Signal, ...]:
    """Return the signals without values of fields in which a secret was typed, as the page reports passwords.

    Such values are masked from now on in all files. Earlier values of the same field are withheld as well, because they
    are beginnings of the secret.
    """
    secret = [each for each in signals if isinstance(each, DomEvent) and _is_secret(each)]
    if not secret:
        return tuple(signals)
    fields = set(map(_field, secret))
    learn(form for each in secret for form in (each.value or "", _digits(each.value or "")))
    return tuple(_withheld(each) if isinstance(each, DomEvent) and _field(each) in fields else each for each in signals)


def _field(event: DomEvent) -> tuple[int, str, str]:
    return event.tab, event.frame, event.target.selector


def _is_secret(event: DomEvent) -> bool:
    value = event.value
    if not value or event.target.tag not in ("input", "textarea"):
        return False
    return has_secret(value) or _is_card_number(value) or (_digits(value).isdecimal() and _asks_for_code(event))


def _digits(value: str) -> str:
    return re.sub(r"[ \-]", "", value)


def _is_card_number(value: str) -> bool:
    """Return whether a text is a number of 13 to 19 digits with the check digit of cards (Luhn)."""
    digits = _digits(value)
    if not re.fullmatch(r"[0-9]{13,19}", digits):
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def _asks_for_code(event: DomEvent) -> bool:
    attributes = event.chain[0].attributes if event.chain else {}
    names = [event.target.name, *(attributes.get(name, "") for name in ("name", "id", "placeholder", "aria-label"))]
    if any(_CODE.search(name) for name in names):
        return True
    return attributes.get("inputmode") in _NUMERIC and any(
        re.search(r"\bcode\b", name, re.IGNORECASE) for name in names
    )


def _withheld(event: DomEvent) -> DomEvent:
    chain: tuple[ElementRecord, ...] = event.chain
    if chain and "value" in chain[0].attributes:
        kept = {name: value for name, value in chain[0].attributes.items() if name != "value"}
        chain = (replace(chain[0], attributes=kept), *chain[1:])
    return replace(event, value=None, chain=chain)
