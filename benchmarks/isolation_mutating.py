"""Checks that trials that change everything in a replica do not affect each other.

    python benchmarks/isolation_mutating.py [--trials 1000] [--workers 4] [--replicas 6]
        [--catalogue embedded | embedded-docker]

Every trial leases the start page through the real broker and gateway, from its own process. It compares the whole
database and the pages with those of the run's first lease, leaves its mark by forms and by SQL, deletes and edits
seeded data, waits, and checks that it sees all of its own marks and no others. Then it ends in one of these ways:

release     as a fixture does
vanish      its connection to the broker breaks without a release
late        releases while one of its requests is half sent, and sends the rest afterwards
revisit     releases, and continues to write through its old gateway

Prints the number of leaks. Exit code 1: a leak.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import random
import re
import socket
import sys
import tempfile
import time
import urllib.parse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.errors import WebArenaError
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease

SITE, HOST = "homepage", "homepage.test"
TABLES = """
select 'note', id, owner, title, body, label, pinned, created, updated from notes
union all select 'calculation', id, owner, expression, result, created, '', '', '' from calculations
union all select 'sequence', seq, name, '', '', '', '', '', '' from sqlite_sequence
order by 1, 2, 3
"""
PAGES = ("/scratchpad/", "/calculator")
ENDINGS = ("release", "release", "vanish", "late", "revisit")
MARK = "mark-of-"


def main() -> int:
    """Returns exit code 1 if anything leaked or a trial couldn't be carried out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="run this many trials (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=4, help="run this many workers (default: %(default)s)")
    parser.add_argument("--catalogue", default="embedded", help="catalogue of sites (default: %(default)s)")
    parser.add_argument("--replicas", type=int, default=6, help="replicas; few force reuse (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the trials (default: %(default)s)")
    options = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    results: Any = spawn.Queue()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        config = BrokerConfig(
            catalogue=options.catalogue, run_dir=Path(folder), max_replicas=options.replicas, lease_timeout=600
        )
        with BrokerLauncher(config) as launcher:
            with BrokerClient(launcher.address, name="first") as client, client.lease([SITE], holder="first") as lease:
                pristine = everything(lease)
            shares = [len(range(index, options.trials, options.workers)) for index in range(options.workers)]
            workers = [
                spawn.Process(
                    target=work, args=(launcher.address, index, share, options.seed, pristine, results), daemon=True
                )
                for index, share in enumerate(shares)
            ]
            for worker in workers:
                worker.start()
            endings: Counter[str] = Counter()
            leaks, errors = [], []
            for done in range(1, options.trials + 1):
                ending, leak, error = results.get()
                endings[ending] += 1
                leaks += [leak] if leak else []
                errors += [error] if error else []
                if text := leak or error:
                    print(f"  {text}", flush=True)
                if done % 100 == 0:
                    print(f"  {done} trials, {len(leaks)} leaks, {time.monotonic() - began:.0f} s", flush=True)
            (app,) = launcher.stop().apps.values()
    print(
        f"{options.catalogue}: {options.trials} mutating trials by {options.workers} workers on at most "
        f"{app.most_replicas} replicas in {time.monotonic() - began:.0f} s: {len(leaks)} leaks, {len(errors)} errors\n"
        f"  endings: {', '.join(f'{name} {count}' for name, count in sorted(endings.items()))}\n"
        f"  {app.resets.count} resets, median {app.resets.median:.0f} ms; {app.clean_hand_ons} handed on as clean; "
        f"{app.waits.count} waited, median {app.waits.median:.0f} ms; utilisation {app.utilisation:.0%}"
    )
    return 1 if leaks or errors else 0


def work(address: str, index: int, trials: int, seed: int, pristine: Mapping[str, Any], results: Any) -> None:
    """Runs one worker's trials."""
    chance = random.Random(f"{seed}.{index}")
    for number in range(trials):
        ending = chance.choice(ENDINGS)
        leak = error = ""
        try:
            leak = trial(address, f"{MARK}{index}-{number}-end", ending, chance, pristine)
        except (WebArenaError, OSError, http.client.HTTPException) as problem:
            error = f"trial {index}-{number} ({ending}): {type(problem).__name__}: {problem}"
        results.put((ending, leak, error))


def trial(address: str, mark: str, ending: str, chance: random.Random, pristine: Mapping[str, Any]) -> str:
    """Runs a trial; returns what it saw of other trials, or an empty string."""
    client = BrokerClient(address, name=mark)
    lease = client.lease([SITE], holder=mark)
    try:
        found = everything(lease)
        if found != pristine:
            return f"{mark} began with {difference(pristine, found)}"
        change(lease, mark, chance, seeded=[row[1] for row in found["tables"] if row[:1] == ["note"] and row[2] == ""])
        time.sleep(chance.uniform(0, 0.03))  # meanwhile other trials are at work
        found = everything(lease)
        if strange := marks(found) - {mark}:
            return f"{mark} saw {strange} at its end"
        if (mine := json.dumps(found).count(mark)) < 3:
            return f"{mark} found its own mark {mine} times only"
        end(client, lease, mark, ending)
    finally:
        client.close()
    return ""


def everything(lease: Lease) -> dict[str, Any]:
    """Returns all tables and the pages."""
    pages = {page: ask(lease.proxy, "GET", page) for page in PAGES}
    return {"tables": [list(row) for row in lease.query(SITE, TABLES).rows], **pages}


def change(lease: Lease, mark: str, chance: random.Random, *, seeded: list[int]) -> None:
    """Leaves the trial's mark, and changes data that others rely on."""
    ask(lease.proxy, "POST", "/scratchpad/new", title=mark, body="by a form", label=mark)
    ask(lease.proxy, "POST", "/calculator", expression=f"{chance.randrange(10**6)} + 1")
    if seeded:
        ask(lease.proxy, "POST", f"/scratchpad/{chance.choice(seeded)}/edit", title=f"{mark} edited", body="x")
        ask(lease.proxy, "POST", f"/scratchpad/{chance.choice(seeded)}/delete")
    row = f"'', '{mark}', '1', '2025-01-01T00:00:00'"
    sql = f"insert into calculations (owner, expression, result, created) values ({row})"
    if chance.random() < 0.3:
        sql += "; delete from notes where owner <> ''; drop index calculations_by_owner"
    lease.query(SITE, sql, write=True)


def end(client: BrokerClient, lease: Lease, mark: str, ending: str) -> None:
    """Releases the lease, and then tries to do more than is allowed."""
    port = int(lease.proxy.rpartition(":")[2])
    body = urllib.parse.urlencode({"title": f"{mark} afterwards", "body": "x"}).encode()
    if ending == "vanish":
        client.close()
        return
    if ending == "release":
        lease.release()
        return
    with socket.create_connection(("127.0.0.1", port), timeout=10) as late:
        head = (
            f"POST http://{HOST}/scratchpad/new HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(body)}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        ).encode()
        if ending == "late":
            late.sendall(head + body[: len(body) // 2])
        lease.release()
        try:  # the result here doesn't matter: other trials show whether it did anything
            late.sendall(body[len(body) // 2 :] if ending == "late" else head + body)
            late.recv(1000)
        except OSError:
            pass
    if ending == "revisit":
        try:
            ask(lease.proxy, "POST", "/scratchpad/new", title=f"{mark} again", body="x")
        except (OSError, http.client.HTTPException):
            return


def ask(proxy: str, method: str, path: str, **form: str) -> str:
    """Returns the page without following redirects. A fault of the site or gateway raises `OSError`, as it says nothing
    about other trials."""
    connection = http.client.HTTPConnection(proxy.removeprefix("http://"), timeout=30)
    try:
        body = urllib.parse.urlencode(form) if method == "POST" else None
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body is not None else {}
        connection.request(method, f"http://{HOST}{path}", body=body, headers=headers)
        response = connection.getresponse()
        text = response.read().decode()
        if response.status >= 500:
            raise OSError(f"{method} {path}: {response.status}: {' '.join(re.sub('<[^>]*>', ' ', text).split())[:300]}")
        return text
    finally:
        connection.close()


def marks(found: Mapping[str, Any]) -> set[str]:
    """Returns the trials' marks that occur anywhere in ``found``."""
    parts = json.dumps(found).split(MARK)[1:]
    return {MARK + part.partition("-end")[0] + "-end" for part in parts}


def difference(pristine: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Says where they differ, and which trials' marks are there."""
    places = [name for name in pristine if pristine[name] != found[name]]
    shown = ", ".join(f"{name} ({first_difference(str(pristine[name]), str(found[name]))})" for name in places)
    return f"changed {shown}, with {sorted(marks(found)) or 'nobody'}'s marks"


def first_difference(expected: str, seen: str) -> str:
    """Quotes a few words of each text, from the first difference on."""
    pairs = enumerate(zip(expected, seen, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), min(len(expected), len(seen)))
    return f"expected {expected[at : at + 60]!r}, found {seen[at : at + 60]!r}"


if __name__ == "__main__":
    sys.exit(main())
