"""Keys of a catalogue for accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_webarena.sites.catalogues.format_parts import key, text
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.record_shapes import Record
from pytest_webarena.tasks.shapes import Fault, Text

__all__ = ["ACCOUNT"]

VARIABLE = text("the name of an environment variable", r"[A-Za-z_][A-Za-z0-9_]*")


def _rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    for name in ("password", "totp"):
        if values[name] and values[f"{name}_env"]:
            return Fault(f"either '{name}' or '{name}_env'", "both")
    if not values["password"] and not values["password_env"]:
        return Fault("'password' or 'password_env'", "neither")
    return None


ACCOUNT: Record[Mapping[str, Any]] = Record(
    "account",
    dict,
    [
        key(
            "username",
            Text(),
            "The sign-in name, if it differs from the account's name.",
            "username: emma@example.org",
            default="",
        ),
        key(
            "password",
            Text(),
            "The password: public test data, never a secret.",
            "password: paper-lantern-86",
            default="",
        ),
        key(
            "password_env",
            VARIABLE,
            "The environment variable with the password, instead of `password`. Its value is masked in all records.",
            "password_env: EMMA_PASSWORD",
            default="",
        ),
        key(
            "totp",
            text("a secret in base32, such as JBSWY3DPEHPK3PXP", r"[A-Za-z2-7 -]{8,}=*"),
            "The secret of two-factor authentication (TOTP), as public test data. Texts of `sign_in` may use `{totp}`.",
            "password: paper-lantern-86\ntotp: JBSWY3DPEHPK3PXP",
            default="",
        ),
        key(
            "totp_env",
            VARIABLE,
            "The environment variable with that secret, instead of `totp`. Its value is masked in all records.",
            "password_env: EMMA_PASSWORD\ntotp_env: EMMA_TOTP",
            default="",
        ),
        key("role", Text(), "The account's role, in a word.", "role: admin", default=""),
    ],
    rule=_rule,
)
