"""Pages lose no requests when network addresses change, as they do with every container."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_webarena.browser.launching.network_changes import steady_command
from tests.browser.conftest import BROWSER
from tests.sandboxing import need_sandbox

ROOT = Path(__file__).parent.parent.parent

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a filter on system calls is Linux's"),
    pytest.mark.skipif(BROWSER != "chromium", reason="breaking off requests is Chromium's way"),
]


@pytest.mark.exhaustive
def test_no_request_is_lost_while_network_addresses_change(browser_executable: str | None) -> None:
    need_sandbox()
    apart = ["unshare", "--net", *(() if os.geteuid() == 0 else ("--user", "--map-root-user"))]
    program = [sys.executable, "-m", "tests.browser.changing_network", *filter(None, [browser_executable])]
    done = subprocess.run([*apart, *program], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("told of the network") != "0"  # else this test could not fail
    assert found == {"shared": "0", "driven": "0"}


def test_steady_command_blocks_only_netlink_sockets() -> None:
    asking = (
        "import socket, sys\n"
        "def kind(*arguments):\n"
        "    try: socket.socket(*arguments).close(); return 'open'\n"
        "    except OSError as error: return error.strerror\n"
        "news = [kind(socket.AF_NETLINK, socket.SOCK_RAW, protocol) for protocol in (0, 15)]\n"
        "print(sys.argv[1:], *news, kind())"
    )
    command = steady_command([shutil.which("sh") or "sh", "-c", '"$0" -c "$1" a "b c"', sys.executable, asking])
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['a', 'b c'] Address family not supported by protocol open open"


def test_steady_command_is_unchanged_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert steady_command(["node", "cli.js"]) == ["node", "cli.js"]
