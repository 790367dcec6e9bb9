"""Proves that resets of instances restore the data, by a request whose response is the same after each reset.

A response counts as the reference only if two resets agree on it: those of two instances, or two of the only one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

from pytest_webarena.errors import SiteError
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.sites.backends.reset_hook import SHOWN, ask, call_of, reset_of
from pytest_webarena.sites.backends.reset_proofs import ResetProofs
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.catalogues.running import HttpCall
from pytest_webarena.sites.protocol.report import PROOF_CHANGED

__all__ = ["agreed", "difference", "proof_change", "require_proof", "require_same", "stable_response"]

_CONTEXT = 40
"""Characters on each side of a difference in messages."""
_CHANGE_SECONDS = 30.0
"""Time limit of the request that finds changes when an instance is leased or released."""


async def stable_response(app: AppManifest, addresses: Mapping[str, str], number: int) -> str:
    """Returns the response to the proof of the instance ``number``, with the sites' names in place of ``addresses``.

    Raises `SiteError` if there is none, or if a second request has another response.
    """
    first, again = [await _response(app, addresses, number, app.start_timeout) for _ in range(2)]
    if first != again:
        raise SiteError(
            f"{_unproved(app, addresses, number)}: expected the same response twice after one reset, found "
            f"{difference(first, again)}; choose a response without times and tokens"
        )
    return first


def require_same(app: AppManifest, addresses: Mapping[str, str], number: int, first: str, again: str) -> None:
    """Raise `SiteError` if the responses to the proof of one instance after two resets differ."""
    if first != again:
        raise SiteError(
            f"two resets of {app.name} ({', '.join(addresses.values())}) differ: expected the same response to "
            f"{_asked(app, addresses, number)}, found {difference(first, again)}; the reset does not restore all data, "
            "or the proof has times or counters: choose a request without them"
        )


async def require_proof(app: AppManifest, addresses: Mapping[str, str], number: int, proofs: ResetProofs) -> None:
    """Raise `SiteError` if the response to the proof is not the reference in ``proofs``."""
    if found := _from_reference(app, await _response(app, addresses, number, app.start_timeout), proofs):
        text = proofs.text(app.name, _proof(app))
        raise SiteError(
            f"{_unproved(app, addresses, number)}: expected {proofs.origin(app.name, _proof(app))}, found {found}; the "
            f"reset does not restore all data, or the instances differ{f'; {proofs.remedy}' if text is None else ''}"
        )


async def proof_change(app: AppManifest, addresses: Mapping[str, str], number: int, proofs: ResetProofs) -> str:
    """Returns how the response to the proof differs from the reference; empty if it does not."""
    try:
        found = _from_reference(
            app, await _response(app, addresses, number, min(app.start_timeout, _CHANGE_SECONDS)), proofs
        )
    except SiteError as error:
        return str(error)
    return f"{PROOF_CHANGED}: {_asked(app, addresses, number)} has {found}" if found else ""


def agreed(app: AppManifest, found: Mapping[str, str]) -> str:
    """Returns the response on which most instances agree, at least two of them.

    ``found`` are the responses by address of the instance. Raises `SiteError` if there is none, because it is not known
    which instance has the right data.
    """
    (most, times), *others = Counter(found.values()).most_common()
    if times > 1 and not any(count == times for _, count in others):
        return most
    (one, first), (two, second) = next(
        (a, b) for a in found.items() for b in found.items() if a[1] != b[1]
    )  # the first two that differ
    proof = _proof(app)
    raise SiteError(
        f"the instances of {app.name} differ after their resets: expected the same response to "
        f"{proof.method or 'GET'} {proof.url}, found at {two} {difference(first, second)} at {one}; which is right is "
        "not known. Correct the wrong one, or remove it from 'url'"
    )


def _proof(app: AppManifest) -> HttpCall:
    assert app.reset is not None
    assert app.reset.proof is not None
    return app.reset.proof


def _asked(app: AppManifest, addresses: Mapping[str, str], number: int) -> str:
    call = call_of(_proof(app), app, addresses, number)
    return f"{call.method or 'GET'} {call.url}"


def _unproved(app: AppManifest, addresses: Mapping[str, str], number: int) -> str:
    return f"{reset_of(app, addresses)} is not proved: {_asked(app, addresses, number)}"


async def _response(app: AppManifest, addresses: Mapping[str, str], number: int, seconds: float) -> str:
    call = call_of(_proof(app), app, addresses, number)
    problem, text = await ask(app, call, "GET", time.monotonic() + seconds)
    if problem:
        raise SiteError(f"{reset_of(app, addresses)} is not proved: {problem}")
    return OwnAddresses({url: f"http://{name}.test" for name, url in addresses.items()}).named(text)


def _from_reference(app: AppManifest, text: str, proofs: ResetProofs) -> str:
    """Returns how ``text`` differs from the reference; empty if it does not."""
    proof = _proof(app)
    if proofs.equals(app.name, proof, text):
        return ""
    reference = proofs.text(app.name, proof)
    return difference(reference, text) if reference is not None else f"another: {text[:SHOWN]!r}"


def difference(one: str, other: str) -> str:
    """Returns the first difference of two texts, for messages."""
    at = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    start = max(0, at - _CONTEXT)
    return f"{other[start : start + 2 * _CONTEXT]!r} in place of {one[start : start + 2 * _CONTEXT]!r}"
