"""The instances of an app that runs elsewhere: which are free, reset, or withdrawn because they keep failing."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError
from pytest_webarena.gateway.server_certificates import certificate_problem, client_tls
from pytest_webarena.sites.backends.ready import answers, end_connection, wait_ready
from pytest_webarena.sites.backends.reset_hook import reset_instance
from pytest_webarena.sites.backends.reset_proofs import ResetProofs
from pytest_webarena.sites.backends.reset_proving import agreed, require_proof, require_same, stable_response
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["HostedInstances", "connection_problem", "endpoint"]

_CONNECT = 10.0

_FAILURES = 2
"""Number of consecutive failed resets after which an instance is withdrawn; of disagreements, after which all are."""


class HostedInstances:
    """All instances of ``app``, by number from 0. A reset and a question about one instance wait for each other."""

    def __init__(self, app: AppManifest, proofs: ResetProofs) -> None:
        self._app, self._proofs = app, proofs
        self._count = len(app.sites[0].hosted)
        self._free = deque(range(self._count))
        """Those that no replica uses, those given back last at the end."""
        self._locks = [asyncio.Lock() for _ in range(self._count)]
        self._failures: Counter[int] = Counter()
        """Consecutive failed resets."""
        self._problems: dict[int, str] = {}
        """Why the latest reset failed."""
        self._repeated: Counter[int] = Counter()
        """Resets of the run that failed, or whose proofs disagreed at first."""
        self._latest: dict[int, str] = {}
        """Why the latest of those failed."""
        self._disagreements = 0
        """Number of times that the first resets disagreed."""
        self._disagreement = ""
        """Why no instance can be used, once they have disagreed too often."""
        self._unprepared = 0
        """Consecutive failed preparations."""
        self._spoiled: dict[int, str] = {}
        """Why nothing may use an instance any more, by number: it may be changed, and has no reset."""
        self._fresh: dict[int, float] = {}
        """Seconds of the reset of those that nothing has used since `agree`."""

    def addresses(self, number: int) -> Mapping[str, str]:
        """Returns the address of each site of an instance."""
        return {site.name: site.hosted[number] for site in self._app.sites}

    @property
    def usable(self) -> int:
        """Number of instances that are not withdrawn."""
        return 0 if self._disagreement else sum(not self._withdrawn(number) for number in range(self._count))

    @property
    def promising(self) -> int:
        """Number of free instances whose latest reset did not fail; 0 if the preparation keeps failing."""
        return 0 if self._unprepared >= _FAILURES else sum(number not in self._problems for number in self._free)

    def take(self) -> int:
        """Returns a free instance, which is no longer free: one whose latest reset failed only if there is no other.

        Raises `SiteError` if there is none.
        """
        if not self._free:
            found = "; ".join(self.sentences()) or "all in use"
            raise SiteError(f"expected a free instance of {self._app.name}, found {found}")
        number = next((each for each in self._free if each not in self._problems), self._free[0])
        self._free.remove(number)
        return number

    def give_back(self, number: int) -> None:
        """Make an instance free again, unless it is withdrawn."""
        if not self._withdrawn(number):
            self._free.append(number)

    def withdraw(self, number: int, why: str) -> None:
        """Let nothing use an instance any more, because of ``why``."""
        self._spoiled.setdefault(number, why)

    @contextmanager
    def preparation(self) -> Iterator[None]:
        """Count the block as a failed preparation if it raises `SiteError`."""
        try:
            yield
        except SiteError:
            self._unprepared += 1
            raise
        self._unprepared = 0

    async def agree(self, numbers: Sequence[int]) -> None:
        """Keep the response to the proof on which two resets agree: of several instances, or two of the only one.

        Does nothing without a proof, or if the run has a reference. Raises `SiteError` if the resets do not agree. If
        they do not for the second time, no instance is usable any more.
        """
        if self._disagreement:
            raise SiteError(self._disagreement)
        app, proofs = self._app, self._proofs
        if app.reset is None or app.reset.proof is None or proofs.has(app.name, app.reset.proof):
            return
        texts = await asyncio.gather(*map(self._first_response, numbers))
        found = {number: text for number, text in zip(numbers, texts, strict=True) if text is not None}
        if not found:
            raise SiteError("; ".join(dict.fromkeys(self._problems.values())))
        again = await self._first_response(next(iter(found))) if len(found) == 1 else None
        if len(found) == 1 and again is None:
            raise SiteError(self._problems[next(iter(found))])
        try:
            reference, origin = self._reference(found, again)
        except SiteError as error:
            self._disagreements += 1
            if self._disagreements >= _FAILURES:
                self._disagreement = str(error)
            for number in found:
                self._record_failure(number, str(error))
            raise
        proofs.keep(app.name, app.reset.proof, reference, origin=origin)
        for number in [number for number in found if found[number] != reference]:
            del self._fresh[number]

    def _reference(self, found: Mapping[int, str], again: str | None) -> tuple[str, str]:
        """Returns the response on which resets agree, and which resets these are.

        ``found`` are the responses by instance, ``again`` the second one of the only instance. Raises `SiteError` if
        they do not agree.
        """
        places = {number: ", ".join(self.addresses(number).values()) for number in found}
        if again is None:
            reference = agreed(self._app, {places[number]: text for number, text in found.items()})
            same = [place for number, place in places.items() if found[number] == reference]
            return reference, f"the response after the resets of {' and '.join(same)}"
        [(number, reference)] = found.items()
        require_same(self._app, self.addresses(number), number + 1, reference, again)
        return reference, f"the response after two resets of {places[number]}"

    async def _first_response(self, number: int) -> str | None:
        """Reset an instance before its first use. Returns the response to the proof; None if the reset failed."""
        with suppress(SiteError):
            async with self._locks[number]:
                began = time.monotonic()
                try:
                    await self._restore(number)
                    text = await stable_response(self._app, self.addresses(number), number + 1)
                except SiteError as error:
                    self._problems[number] = str(error)
                    self._record_failure(number, str(error))
                    raise
                self._fresh[number] = time.monotonic() - began
                return text
        return None

    async def reset(self, number: int) -> float:
        """Reset an instance, wait until it answers, and compare its proof. Returns the seconds of the reset; 0 for apps
        without one."""
        async with self._locks[number]:
            began = time.monotonic()
            try:
                if number not in self._fresh:
                    await self._restore(number)
                if self._app.reset is not None and self._app.reset.proof is not None:
                    await require_proof(self._app, self.addresses(number), number + 1, self._proofs)
            except SiteError as error:
                self._failures[number] += 1
                self._problems[number] = str(error)
                self._record_failure(number, str(error))
                raise
            except asyncio.CancelledError:
                self._failures[number] += 1
                self._problems.setdefault(number, f"its reset did not end within {time.monotonic() - began:.0f} s")
                self._record_failure(number, self._problems[number])
                raise
            finally:
                before = self._fresh.pop(number, 0.0)
            self._failures.pop(number, None)
            self._problems.pop(number, None)
            return before + time.monotonic() - began if self._app.reset is not None else 0.0

    async def _restore(self, number: int) -> None:
        app, addresses = self._app, self.addresses(number)
        began = time.monotonic()
        if app.reset is not None:
            await reset_instance(app, addresses, number + 1)
        for address in addresses.values():
            await _ready(app, address, began)
            if problem := await _unanswered(app, address):
                raise SiteError(f"the instance {address} of {app.name} does not answer: {problem}")

    async def problem(self, addresses: Mapping[str, str]) -> str:
        """Returns why the instance at ``addresses`` can't be used, after its running reset; empty if it can be."""
        number = next(each for each in range(self._count) if self.addresses(each) == addresses)
        async with self._locks[number]:
            if number in self._problems:
                return self._problems[number]
            found = [await _unanswered(self._app, address) for address in addresses.values()]
            return next(filter(None, found), "")

    def sentences(self) -> tuple[str, ...]:
        """Returns a sentence for each instance with a failed reset: what happened, and what to do."""
        if self._disagreement:
            main = f"{self._disagreement}. Test it with 'webarena sites doctor', and resume the run"
            return (main, *map(self._sentence, sorted(self._problems)))
        return tuple(map(self._sentence, sorted({*self._problems, *self._repeated, *self._spoiled})))

    def _sentence(self, number: int) -> str:
        place = f"{self._app.name} at {', '.join(self.addresses(number).values())}"
        if number in self._spoiled:
            return (
                f"{place} was withdrawn: {self._spoiled[number]}, and it has no 'reset', so later trials would be "
                "judged on changed data. Restore them, and add 'reset' to the app; or list the path in its 'reads' if "
                "such requests only read; --allow-unreset runs trials regardless"
            )
        if number not in self._problems:
            count = self._repeated[number]
            return (
                f"{place}: {count} reset{'s' * (count != 1)} failed and had to be repeated, the latest because "
                f"{self._latest[number]}. Test it with 'webarena sites doctor'"
            )
        what = f"was withdrawn after {_FAILURES} failed resets" if self._withdrawn(number) else "failed its last reset"
        return (
            f"{place} {what}: {self._problems[number]}. Repair it, test it with 'webarena sites doctor', and resume "
            "the run"
        )

    def _record_failure(self, number: int, why: str) -> None:
        self._repeated[number] += 1
        self._latest[number] = why

    def _withdrawn(self, number: int) -> bool:
        return number in self._spoiled or self._failures[number] >= _FAILURES


async def _ready(app: AppManifest, address: str, began: float) -> None:
    """Wait until the site at ``address`` meets the app's conditions."""

    async def died() -> str:
        return ""

    left = max(0.0, app.start_timeout - (time.monotonic() - began))
    name = urlsplit(address).netloc
    await wait_ready(
        app.ready, *endpoint(address), server_name=name, timeout=left, died=died, of=app.start_timeout,
        secure=_tls_for(app, address),
    )  # fmt: skip


async def _unanswered(app: AppManifest, address: str) -> str:
    """Returns why the site at ``address`` does not answer a request; empty if it does."""
    name, secure = urlsplit(address).netloc, _tls_for(app, address)
    return await answers(app.ready, *endpoint(address), server_name=name, timeout=app.answer_timeout, secure=secure)


def _tls_for(app: AppManifest, address: str) -> ssl.SSLContext | None:
    return client_tls(app.certificate_authority) if address.startswith("https:") else None


async def connection_problem(app: AppManifest, address: str) -> str:
    """Returns why no connection to ``address`` can be made, or why its certificate is not trusted; empty if all is
    well."""
    host, port = endpoint(address)
    try:
        async with asyncio.timeout(_CONNECT):
            _, writer = await asyncio.open_connection(host, port, ssl=_tls_for(app, address))
    except TimeoutError:
        return f"no connection to {host}:{port} within {_CONNECT:g} s"
    except OSError as error:
        fault = certificate_problem(error, [app.certificate_authority])
        return fault or f"no connection to {host}:{port}: {error.strerror or error}"
    await end_connection(writer)
    return ""


def endpoint(address: str) -> tuple[str, int]:
    """Returns host and port of an address."""
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
