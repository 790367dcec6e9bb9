"""Format of the keys for hosts in addition to an app's own: of parts of its pages, and of identity providers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_webarena.sites.catalogues.format_parts import HOST, OTHER_HOST, key
from pytest_webarena.tasks.record_shapes import ListOf
from pytest_webarena.tasks.shapes import Fault, Text

__all__ = ["OTHER_HOSTS_KEYS", "other_hosts_fault"]

_KEYS = ("loads", "sign_in_hosts")

OTHER_HOSTS_KEYS = (
    key(
        "loads",
        ListOf(OTHER_HOST, label="a list of hosts"),
        (
            "Hosts from which the app's pages load parts (fonts, scripts, pictures, frames), without their subdomains. "
            "Only `GET` is sent, without cookies, and never for a page in a tab. Each answer is kept for the run, so "
            "that all trials get the same bytes ([other hosts](sites.md#other-hosts))."
        ),
        "loads: [fonts.googleapis.com, fonts.gstatic.com]",
        default=(),
    ),
    key(
        "sign_in_hosts",
        ListOf(OTHER_HOST, label="a list of hosts"),
        (
            "Hosts at which the app's users sign in. Pages are opened and forms sent there (`GET`, `POST`), by "
            "sign-ins and by agents. Nothing resets them."
        ),
        "sign_in_hosts: [login.example.com]",
        default=(),
    ),
    key(
        "private_hosts",
        ListOf(HOST, label="a list of hosts"),
        (
            "Hosts of these two lists that may have addresses of your own network or of this machine. Others must have "
            "public ones."
        ),
        "loads: [cdn.corp.internal]\nprivate_hosts: [cdn.corp.internal]",
        default=(),
    ),
    key(
        "certificate_authority",
        Text("a file"),
        (
            "A PEM file with the certificate authorities, or the self-signed certificates, of an app that runs "
            "elsewhere, its `reset`, `loads` and `sign_in_hosts`, relative to the catalogue. They are trusted for "
            "these only, in addition to the machine's. Certificates are always verified."
        ),
        'backend: external\nsites: {shop: {url: "https://preview-7.example.com"}}\ncertificate_authority: ca.pem',
        default="",
    ),
)


def other_hosts_fault(values: Mapping[str, Any]) -> Fault | None:
    """Return why the keys of an app contradict each other; None if all is well."""
    urls = [url for site in values["sites"].values() for url in site["url"]]
    is_secure = any(url.startswith("https:") for url in urls) or any(values[key] for key in _KEYS)
    if values["certificate_authority"] and not is_secure:
        return Fault("a site with an https 'url', 'loads' or 'sign_in_hosts', with 'certificate_authority'", "none")
    if not any(values[key] for key in (*_KEYS, "private_hosts")):
        return None
    from pytest_webarena.live.addresses import is_local_name  # late: most catalogues name no other hosts
    from pytest_webarena.live.host_lists import origins_of

    loads, sign_in = ({origin for entry in values[key] for origin in origins_of(entry)} for key in _KEYS)
    if both := sorted(loads & sign_in):
        return Fault("each host in 'loads' or in 'sign_in_hosts'", f"'{both[0][0]}' in both")
    named = {host for host, _, _ in loads | sign_in}
    if unknown := sorted(set(values["private_hosts"]) - named):
        return Fault("hosts of 'loads' or 'sign_in_hosts' in 'private_hosts'", f"'{unknown[0]}'")
    if own := sorted(named & {site["host"] for site in values["sites"].values()}):
        return Fault("hosts that are not the app's own in 'loads' and 'sign_in_hosts'", f"'{own[0]}'")
    if local := sorted(filter(is_local_name, named - set(values["private_hosts"]))):
        return Fault(f"'{local[0]}', a name of a local network, in 'private_hosts' too", "it only in one list")
    return None
