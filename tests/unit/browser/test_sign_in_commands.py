"""Sign-ins by a program: its output is the session, which is masked, and its failures name no secret."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_webarena.browser.sign_in_commands import state_of_command
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.catalogues.manifest import Account, LoginCheck, LoginRecipe
from tests.cases import each_case

STATE = """
import json, os
value = " ".join(os.environ[f"WEBARENA_{name}"] for name in ("URL", "USERNAME", "PASSWORD")) + " " + os.getcwd()
print(json.dumps({"cookies": [{"name": "sid", "value": value}]}))
"""


def run(folder: Path, program: str) -> object:
    recipe = LoginRecipe(
        kind="command", site="shop", check=LoginCheck(path="/"), command=(sys.executable, "-c", program, "{username}"),
        folder=str(folder),
    )  # fmt: skip
    account = Account(username="emma", password="paper-lantern-86", password_env="EMMA_PASSWORD")
    return state_of_command(recipe, account, "http://shop.test", "signing in")


def test_command_knows_who_signs_in_and_returns_the_session(tmp_path: Path) -> None:
    value = f"http://shop.test emma paper-lantern-86 {tmp_path}"
    assert run(tmp_path, STATE) == {"cookies": [{"name": "sid", "value": value}]}


@each_case(
    ("program", "message"),
    [
        ("import sys; sys.exit('wrong password: paper-lantern-86')", r"found exit code 1: wrong password: \[secret\]$"),
        ("print('hello')", "found other output\nit has to print"),
        ("print('[]')", "found other output"),
    ],
)
def test_failures_say_what_was_expected(tmp_path: Path, program: str, message: str) -> None:
    with pytest.raises(SiteError, match=message):
        run(tmp_path, program)
