"""Format of the keys for sites that run elsewhere, and for what the doctor tests on sites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pytest_webarena.sites.catalogues.format_accounts import VARIABLE
from pytest_webarena.sites.catalogues.format_facts import FACT_KEYS
from pytest_webarena.sites.catalogues.format_parts import HEADER, STATUS, URL, WORDS, key
from pytest_webarena.sites.catalogues.running import HostedReset, HttpCall
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.record_shapes import ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Json, Text

__all__ = ["CALL", "HOSTED_KEYS", "RESET", "hosted_fault"]

HOSTED_KEYS = (
    key(
        "url",
        ListOf(URL, or_one=True, label="an address that starts with http:// or https://, or a list of them"),
        (
            "The site's own address, if it runs elsewhere (`backend: external`). Browsers see `host`, by default "
            "`NAME.test` ([names](sites.md#names-of-hosted-sites)). Several addresses are instances: each trial gets "
            "one for itself."
        ),
        "url: [http://one.example.org:7770, http://two.example.org:7770]",
        default=(),
    ),
    key(
        "keep_address",
        Bool(),
        (
            "Whether browsers visit a site that runs elsewhere at its own address, not at `host`, because its "
            "scripts ask that address for data. Such a site has one `url`."
        ),
        "url: http://shop.example.org:8080\nkeep_address: true",
        default=False,
    ),
    *FACT_KEYS,
)


CALL: Record[HttpCall] = Record(
    "reset request",
    HttpCall,
    [
        key("url", Text(), "The address. All texts may use the placeholders.", 'url: "{url}/reset"'),
        key(
            "method",
            Choice("", "GET", "POST", "PUT", "DELETE"),
            "The method.",
            'url: "http://{host}:7565/reset"\nmethod: GET',
            default="",
            default_text="`POST`; `GET` in `ready` and `proof`",
        ),
        key(
            "headers",
            MapOf(Text(), "a mapping from header names to texts", key=HEADER),
            "Headers of the request.",
            'url: "{url}/reset"\nheaders: {X-Reset: "yes"}',
            default={},
        ),
        key(
            "token_env",
            VARIABLE,
            "The environment variable with a secret, sent as `Authorization: Bearer …` and masked in all records.",
            'url: "{url}/reset"\ntoken_env: RESET_TOKEN',
            default="",
        ),
        key("body", Json(), "The body, sent as JSON.", 'url: "{url}/reset"\nbody: {seed: 1}', default=None),
        key(
            "status",
            STATUS,
            "Accepted status codes; by default 200 to 299.",
            'url: "{url}/reset"\nstatus: [200, 418]',
            default=(),
        ),
        key(
            "includes",
            Text(),
            "Text that the response must include.",
            'url: "http://{host}:7565/status"\nincludes: Ready for duty!',
            default="",
        ),
    ],
)


def _rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    if bool(values["http"]) == bool(values["run"]):
        return Fault("either 'http' or 'run' in 'reset'", "both" if values["http"] else "neither")
    return None


RESET: Record[HostedReset] = Record(
    "reset section",
    HostedReset,
    [
        key("http", CALL, "A request that resets the instance.", 'http: {url: "{url}/reset"}', default=None),
        key(
            "run",
            WORDS,
            "A program of this machine that resets the instance, and its arguments. It runs in the catalogue's folder.",
            'run: [./reset.sh, "{host}"]',
            default=(),
        ),
        key(
            "ready",
            CALL,
            (
                "A request that is repeated until it succeeds: the reset has ended. Then the app's own `ready` is "
                "awaited, at most `start_timeout` in all."
            ),
            'http: {url: "http://{host}:7565/reset"}\nready: {url: "http://{host}:7565/status", includes: Ready}',
            default=None,
        ),
        key(
            "proof",
            CALL,
            (
                "A request that shows the data, without times and tokens; `includes` may name a known fact. Its "
                "response must be the same after each reset of each instance ([proofs](sites.md#proofs-of-resets))."
            ),
            'http: {url: "http://{host}:7565/reset"}\nproof: {url: "{url}/api/orders?status=open"}',
            default=None,
        ),
    ],
    rule=_rule,
)


def hosted_fault(values: Mapping[str, Any]) -> Fault | None:
    """Returns why an app with these keys can't run elsewhere, or only there; None if all is well."""
    backend, sites = values["backend"], values["sites"]
    counts = {name: len(site["url"]) for name, site in sites.items()}
    if backend == "external":
        if not sites or not all(counts.values()) or len(set(counts.values())) > 1:
            found = ", ".join(f"{count} of {name}" for name, count in counts.items()) or "no site"
            expected = "a 'url' of each site, and equally many, in an app with 'backend: external'"
            return Fault(expected, found)
        if kept := [name for name, site in sites.items() if site["keep_address"] and counts[name] > 1]:
            why = "browsers visit the own address, which is another one for each instance"
            return Fault("one 'url' with 'keep_address'", f"{counts[kept[0]]} of {kept[0]}", why)
        paths = {name: {urlsplit(url.rstrip("/")).path for url in site["url"]} for name, site in sites.items()}
        if other := [name for name, found in paths.items() if len(found) > 1]:
            return Fault("the same path in each 'url' of a site", f"{len(paths[other[0]])} of {other[0]}")
        if values["reset"] and values["read_only"]:
            return Fault("'reset' on apps that visitors may change", "a read-only app")
        return None
    if any(counts.values()) and backend not in ("archive", "live"):
        return Fault("'backend: external' for a site with a 'url'", f"'backend: {backend}'")
    if max(counts.values(), default=0) > 1:
        return Fault(f"one 'url' of each site of an app with 'backend: {backend}'", "several")
    return Fault("'backend: external' with 'reset'", f"'backend: {backend}'") if values["reset"] else None
