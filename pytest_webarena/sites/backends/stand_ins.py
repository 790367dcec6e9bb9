"""Starts the stand-ins of an app next to its command, once for each replica."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.catalogues.manifest import AppManifest, SiteManifest
from pytest_webarena.stand_ins import SETTINGS

__all__ = ["StandIns"]

_SECONDS = 20.0
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class StandIns:
    """The stand-ins of one replica, and their ports."""

    sites: Sequence[SiteManifest]
    ports: Mapping[str, int]
    """HTTP ports by site."""
    smtp: Mapping[str, int]
    """Ports of mail servers by site."""

    @classmethod
    def of(cls, app: AppManifest, free_port: Callable[[], int]) -> StandIns:
        """Choose ports for the stand-ins of ``app``; most apps have none."""
        sites = [site for site in app.sites if site.stand_in]
        smtp = {site.name: free_port() for site in sites if site.stand_in == "mailbox"}
        return cls(sites, {site.name: free_port() for site in sites}, smtp)

    @property
    def filling(self) -> dict[str, str]:
        """Values of the placeholders ``{port:SITE}`` and ``{smtp:SITE}``."""
        named = (("port", self.ports), ("smtp", self.smtp))
        return {f"{{{kind}:{name}}}": str(port) for kind, ports in named for name, port in ports.items()}

    async def start(self, app: AppManifest, environ: Mapping[str, str], data_dir: Path, log: Path) -> None:
        """Start all and wait until they listen. ``environ`` marks the replica's processes. `SiteError` if one fails."""
        for site in self.sites:
            given = {
                "port": self.ports[site.name],
                "smtp": self.smtp.get(site.name),
                "folder": str(data_dir / "stand-ins" / site.name),
                "url": site.url,
                "users": {account.username: account.password for account in app.users.values()},
            }
            module = f"pytest_webarena.stand_ins.{site.stand_in.replace('-', '_')}"
            with log.open("ab") as out:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", module,
                    stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
                    env={**environ, SETTINGS: json.dumps(given)}, start_new_session=True,
                )  # fmt: skip
            for port in filter(None, (self.ports[site.name], self.smtp.get(site.name))):
                await _until_open(port, process, f"{app.name}: the {site.stand_in} of the site {site.name}")


async def _until_open(port: int, process: asyncio.subprocess.Process, label: str) -> None:
    try:
        async with asyncio.timeout(_SECONDS):
            while process.returncode is None:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(_PAUSE)
                else:
                    writer.close()
                    return
    except TimeoutError:
        raise SiteError(f"{label} does not listen within {_SECONDS:g} s") from None
    raise SiteError(f"{label} ended with exit code {process.returncode}; see the log of the app")
