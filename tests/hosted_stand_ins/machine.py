"""Serve the stand-ins: as one machine with several ports, or as separate hosts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from .cookie_site import CookieSite
from .images import IMAGES, RESET_PORT
from .options import Options
from .pages import HOMEPAGE_NAMES, Page
from .token_site import TokenSite
from .web import Handler, Reply, Request, serving

Layout = Literal["machine", "hosts"]
_TOKEN_SITES = ("reddit", "gitlab")


@dataclass
class Machine:
    """Running stand-ins."""

    addresses: dict[str, str] = field(default_factory=dict)  # as upstream's variables give them
    sites: dict[str, CookieSite] = field(default_factory=dict)
    reset_address: str = ""


def _reset_server(machine: Machine) -> Handler:
    def answer(request: Request) -> Reply:
        if request.path == "/reset":
            for site in machine.sites.values():
                site.reset()
            return Reply(200, b'Reset initiated, check status <a href="/status">here</a>')
        if request.path == "/status":
            return Reply(200, b"Ready for duty!")
        return Reply(404, b"Endpoint not found")

    return answer


@contextlib.contextmanager
def running(
    deviations: Mapping[str, Options] | None = None,
    layout: Layout = "machine",
    documented_ports: bool = False,
    extra: Mapping[str, tuple[Page, ...]] | None = None,
) -> Iterator[Machine]:
    """Serve the seven images and the reset server.

    Args:
        deviations: Options by the name of an image.
        layout: `machine` serves one loopback address with a port for each image; `hosts`
            serves one loopback address for each image.
        documented_ports: Use the ports of upstream's guide instead of free ones.
        extra: Further pages by the name of an image.
    """
    machine, given, numbers = Machine(), deviations or {}, count(11)
    with contextlib.ExitStack() as stack:
        for name, documented in IMAGES.items():
            options = given.get(name, Options())
            image = IMAGES[options.answers_as or name]
            kind = TokenSite if image.name in _TOKEN_SITES else CookieSite
            site = kind(image, options, extra=(extra or {}).get(image.name, ()))
            host = "127.0.0.1" if layout == "machine" else f"127.0.1.{next(numbers)}"
            port = documented.port if documented_ports else 0
            close = contextlib.ExitStack()
            address = close.enter_context(serving(site.answer, host, port, site.clock))
            stack.enter_context(close)
            site.address = address
            machine.addresses[name] = address + documented.entry
            machine.sites[name] = site
            if not options.listens:
                close.close()
        machine.sites["homepage"].links = tuple(
            (HOMEPAGE_NAMES[name], address) for name, address in machine.addresses.items() if name != "homepage"
        )
        port = RESET_PORT if documented_ports else 0
        machine.reset_address = stack.enter_context(serving(_reset_server(machine), "127.0.0.1", port))
        yield machine
