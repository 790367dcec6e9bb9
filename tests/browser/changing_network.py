"""A program for its own network namespace: counts requests that a page loses while network addresses change.

``python -m tests.browser.changing_network [EXECUTABLE]`` prints, for each way to start a browser, how many of the
page's requests were lost.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.browser.driven import open_driven
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError
from tests.browser.conftest import CALM, Request, Web

_SET_FLAGS, _SET_ADDRESS, _UP, _RUNNING = 0x8914, 0x8916, 1, 0x40
_EACH, _AT_ONCE = 25, 8
PAGE = f"""<p id=lost></p><script>
  let lost = 0
  const ask = async () => {{
    for (let i = 0; i < {_EACH}; i++) try {{ await (await fetch('/slow?' + Math.random())).text() }} catch {{ lost++ }}
  }}
  Promise.all(Array.from({{ length: {_AT_ONCE} }}, ask)).then(() => document.querySelector('p').textContent = lost)
</script>"""


def configure(name: str, request: int, value: bytes) -> None:
    """Ask the kernel to change the network interface ``name``."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking, request, struct.pack("16s", name.encode()) + value.ljust(24, b"\0"))


@contextmanager
def addresses_come_and_go() -> Iterator[None]:
    """Add and remove an address of the loopback interface repeatedly."""
    over = threading.Event()
    address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton("10.9.9.9"))

    def change() -> None:
        while not over.wait(0.05):
            configure("lo:1", _SET_ADDRESS, address)
            over.wait(0.05)
            configure("lo:1", _SET_FLAGS, struct.pack("H", 0))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def lost(session: Session, web: Web) -> str:
    """Return how many requests the page lost, or "the page" if the page itself was lost."""
    with addresses_come_and_go():
        try:
            session.open_tabs([web.put("/", PAGE)])
            while not (texts := session.read_page(open=None, locate="css=#lost").texts)[0]:
                pass
        except BrowserError as error:
            if "network of this machine changed" not in str(error):
                raise
            return "the page"
    return texts[0]


def main(executable: str | None) -> dict[str, str]:
    configure("lo", _SET_FLAGS, struct.pack("H", _UP | _RUNNING))
    web = Web()

    def slow(request: Request) -> str:
        web.released.wait(0.02)
        return "here"

    web.put("/slow", slow)
    config = SessionConfig(proxy=web.proxy, deadlines=CALM)
    found = {}
    with BrowserEngine(EngineConfig(executable=executable)) as engine:
        with engine.session(config) as session:
            found["shared"] = lost(session, web)
        with open_driven(engine, config) as (session, _):
            found["driven"] = lost(session, web)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_webarena.browser.loop.steady_command", list)
        with BrowserEngine(EngineConfig(executable=executable)) as engine, engine.session(config) as session:
            found["told of the network"] = lost(session, web)
    web.close()
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1] if len(sys.argv) > 1 else None)))
