"""Checks that trials that write to real applications in every possible way do not affect later trials.

    python benchmarks/isolation_apps.py [--trials 300] [--workers 2] [--apps wiki tracker courier] [--inject-leak]

Build the images first: ``webarena sites images build debian``. Every trial leases one or more applications through the
real broker and gateway, without a browser. First it checks that three things equal those of the first lease: row counts
and checksums of each table, rejection of an earlier trial's session, absence of an earlier trial's upload. Then it
writes:

forms      logs in through the application's form, edits a page, reports an issue, leaves a comment
api        MediaWiki's ``api.php``, Redmine's REST API with a key
uploads    a file each, by form or API
sql        rows that no form creates, among them scheduled jobs and cached values
sessions   stays logged in; later trials try its cookies
late       releases while one of its requests is half sent, and sends the rest afterwards

Exit code 1: something leaked or failed or, with ``--inject-leak``, no leak was found.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import http.cookiejar
import json
import random
import re
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pytest_webarena.embedded.handbook import files
from pytest_webarena.errors import WebArenaError
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease

MARK = "markof"
API_KEY = "6d3f0c1e52b747c19a8ef7a4e2b81d3517c0ffee"
PATIENCE = 300.0
"""Seconds a page may take; generous, as pages aren't measured here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a trial leaves behind on purpose, for later trials to look for."""

    app: str
    mark: str
    cookies: str
    page: str
    """A page on which ``needle`` is shown only to someone who is signed in."""
    needle: str
    file: str


class Visitor:
    """A minimal HTTP client with cookies for one site, through the lease's gateway."""

    def __init__(self, lease: Lease, host: str, cookies: str = "") -> None:
        self.jar = http.cookiejar.CookieJar()
        self.host = host
        self._fixed = {"Cookie": cookies} if cookies else {}
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({"http": lease.proxy}), urllib.request.HTTPCookieProcessor(self.jar)
        )

    def ask(self, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
        """Requests a page and follows redirects; returns its status and text."""
        asked = urllib.request.Request(f"http://{self.host}{path}", data=body, headers={**self._fixed, **headers})
        try:
            with self._opener.open(asked, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            if error.code >= 500:
                raise OSError(f"{path}: {error.code}: {error.read().decode(errors='replace')[:200]}") from None
            return error.code, error.read().decode(errors="replace")

    def form(self, path: str, **fields: str) -> str:
        """Submits a form; returns the text of the answer."""
        return self.ask(path, urllib.parse.urlencode(fields).encode())[1]

    def multipart(self, path: str, name: str, file: tuple[str, bytes], **fields: str) -> tuple[int, str]:
        """Submits a form with a file."""
        edge = uuid.uuid4().hex
        parts = [
            f'--{edge}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{text}\r\n'
            for key, text in fields.items()
        ]
        head = f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{file[0]}"\r\n\r\n'
        body = "".join([*parts, head]).encode() + file[1] + f"\r\n--{edge}--\r\n".encode()
        return self.ask(path, body, **{"Content-Type": f"multipart/form-data; boundary={edge}"})

    def cookies(self) -> str:
        """Returns the cookies as the value of a Cookie header."""
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.jar)


def hidden(text: str, name: str) -> str:
    """Returns the value of a form's hidden field."""
    for tag in re.findall(r"<input[^>]*>", text):
        if re.search(rf"""\bname=["']{re.escape(name)}["']""", tag):
            found = re.search(r"""\bvalue=(["'])(.*?)\1""", tag)
            return found[2] if found else ""
    raise OSError(f"no field {name} in {' '.join(re.sub('<[^>]*>', ' ', text).split())[:200]}")


def wiki(lease: Lease, mark: str, chance: random.Random) -> Left:
    """MediaWiki: sign in, edit by form and by API, upload, jobs and cached values by SQL."""
    visitor = Visitor(lease, "wiki.test")
    page = visitor.ask("/wiki/Special:UserLogin")[1]
    visitor.form(
        "/index.php?title=Special:UserLogin", wpName="Mara Linden", wpPassword="paper-lantern-86",
        wpLoginToken=hidden(page, "wpLoginToken"), authAction="login", wploginattempt="Log in",
    )  # fmt: skip
    got = json.loads(visitor.ask("/api.php?action=query&meta=tokens&format=json")[1])
    token = got["query"]["tokens"]["csrftoken"]
    towns = ("Dunmere", "Kelderby", "Aldersey", "Lunnet")
    town = chance.choice(towns)
    visitor.form("/api.php?action=edit&format=json", title=town, appendtext=f"\n{mark}", token=token)
    page = visitor.ask(f"/index.php?title={mark}&action=edit")[1]
    fields = {
        name: hidden(page, name)
        for name in ("wpEditToken", "wpStarttime", "wpEdittime", "editRevId", "wpUltimateParam")
    }
    visitor.form(
        f"/index.php?title={mark}&action=submit", wpTextbox1=f"{mark} by form", wpSummary=mark, wpSave="Save", **fields
    )
    png = next(iter(files().values())) + mark.encode()
    visitor.multipart(
        "/api.php", "file", (f"{mark}.png", png), action="upload", filename=f"{mark}.png", token=token,
        ignorewarnings="1", format="json", text=mark,
    )  # fmt: skip
    job = f"insert into job (job_cmd, job_namespace, job_title, job_params) values ('null', 0, '{mark}', '')"
    lease.query("wiki", job, database="jobs", write=True)
    cached = f"insert into objectcache (keyname, value, exptime) values ('{mark}', '{mark}', '20990101000000')"
    lease.query("wiki", cached, database="cache", write=True)
    if chance.random() < 0.3:
        lease.query("wiki", "delete from recentchanges; drop index rc_timestamp", write=True)
    return Left(
        # Not a page that sends others to sign in: that form shows the user name from one's own cookie.
        app="wiki", mark=mark, cookies=visitor.cookies(), page="/api.php?action=query&meta=userinfo&format=json",
        needle='"name":"Mara Linden"',
        file=f"/wiki/File:{mark.capitalize()}.png",
    )  # fmt: skip


def tracker(lease: Lease, mark: str, chance: random.Random) -> Left:
    """Redmine: sign in, report by form and by API, upload, close an issue, rows and settings by SQL."""
    visitor = Visitor(lease, "tracker.test")
    page = visitor.ask("/login")[1]
    visitor.form(
        "/login",
        username="hamish.dorrow",
        password="north-buoy-62",
        authenticity_token=hidden(page, "authenticity_token"),
    )
    page = visitor.ask("/projects/harbour-renewal/news/new")[1]
    visitor.form(
        "/projects/harbour-renewal/news",
        **{
            "news[title]": mark, "news[description]": mark,
            "authenticity_token": hidden(page, "authenticity_token"),
        },
    )  # fmt: skip
    keyed = {"X-Redmine-API-Key": API_KEY, "Content-Type": "application/json"}
    issue = {"project_id": "town-clocks", "subject": mark, "tracker_id": 1}
    visitor.ask("/issues.json", json.dumps({"issue": issue}).encode(), **keyed)
    sent = visitor.ask(
        f"/uploads.json?filename={mark}.txt", mark.encode(),
        **{"X-Redmine-API-Key": API_KEY, "Content-Type": "application/octet-stream"},
    )  # fmt: skip
    upload = {"token": json.loads(sent[1])["upload"]["token"], "filename": f"{mark}.txt", "content_type": "text/plain"}
    made = visitor.ask(
        "/issues.json",
        json.dumps({"issue": {**issue, "subject": f"{mark} with a file", "uploads": [upload]}}).encode(),
        **keyed,
    )
    number = json.loads(made[1])["issue"]["id"]
    shown = json.loads(visitor.ask(f"/issues/{number}.json?include=attachments", None, **keyed)[1])
    file = urllib.parse.urlsplit(shown["issue"]["attachments"][0]["content_url"]).path
    lease.query("tracker", f"update issues set description = '{mark}' where id = {chance.randint(1, 320)}", write=True)
    if chance.random() < 0.3:
        lease.query("tracker", "delete from time_entries; delete from watchers", write=True)
    return Left(
        app="tracker", mark=mark, cookies=visitor.cookies(), page="/my/account", needle="hamish.dorrow", file=file
    )


def courier(lease: Lease, mark: str, chance: random.Random) -> Left:
    """WordPress: sign in, comment and write by form, upload, options, transients and cron jobs by SQL."""
    visitor = Visitor(lease, "courier.test")
    visitor.ask("/wp-login.php")
    visitor.form("/wp-login.php", log="felix.adeyinka", pwd="late-edition-90", testcookie="1")
    page = visitor.ask("/a-morning-at-hale-clocks/")[1]
    visitor.form(
        "/wp-comments-post.php", comment=mark, comment_post_ID=hidden(page, "comment_post_ID"), comment_parent="0"
    )
    page = visitor.ask("/wp-admin/edit-tags.php?taxonomy=category")[1]
    added = {"tag-name": mark, "slug": "", "parent": "-1", "_wpnonce_add-tag": hidden(page, "_wpnonce_add-tag")}
    visitor.form("/wp-admin/edit-tags.php", action="add-tag", taxonomy="category", description=mark, **added)
    page = visitor.ask("/wp-admin/media-new.php?browser-uploader=1")[1]
    visitor.multipart(
        "/wp-admin/media-new.php", "async-upload", (f"{mark}.png", next(iter(files().values()))),
        _wpnonce=hidden(page, "_wpnonce"), **{"html-upload": "Upload", "post_id": "0"},
    )  # fmt: skip
    rows = lease.query(
        "courier", f"select guid from wp_posts where post_title = '{mark}' and post_type = 'attachment'"
    ).rows
    file = urllib.parse.urlsplit(str(rows[0][0])).path if rows else "/"
    lease.query(
        "courier",
        f"insert into wp_options (option_name, option_value) values ('_transient_{mark}', '{mark}')",
        write=True,
    )
    lease.query(
        "courier", f"update wp_posts set post_content = '{mark}' where ID = {chance.randint(10, 90)}", write=True
    )
    return Left(
        app="courier", mark=mark, cookies=visitor.cookies(), page="/wp-admin/profile.php", needle="felix.adeyinka",
        file=file,
    )  # fmt: skip


WRITERS: Mapping[str, Callable[[Lease, str, random.Random], Left]] = {
    "wiki": wiki,
    "tracker": tracker,
    "courier": courier,
}
TABLES = {
    "wiki": (
        "select name from sqlite_master where type = 'table' and name not like 'searchindex%' "
        "and name not like 'sqlite%' order by 1"
    ),
    "tracker": "select table_name from information_schema.tables where table_schema = 'public' order by 1",
    "courier": "select table_name from information_schema.tables where table_schema = 'wordpress' order by 1",
}
TEXTS = {
    "wiki": "select group_concat(cast(old_text as text), '|') from text",
    "tracker": (
        "select md5(string_agg(subject || coalesce(description, '') || status_id || updated_on, '|' order by id)) "
        "from issues"
    ),
    "courier": (
        "select md5(group_concat(post_title, post_content, post_status order by ID)) from wp_posts "
        "where post_status <> 'auto-draft'"
    ),
}
LIVING = frozenset({"objectcache", "l10n_cache", "module_deps"})
"""Tables that mere reading fills."""
BESIDE = {
    "wiki": {
        "jobs": "select job_cmd, job_title from job",
        "cache": f"select keyname from objectcache where keyname like '{MARK}%'",
    }
}
"""Queries for the initial content of databases other than the main one.

Reading fills the cache, so only marks are looked for there.
"""


def everything(lease: Lease, app: str) -> dict[str, Any]:
    """Returns each table's number of rows and a digest of the texts, read before any page can fill caches."""
    names = [str(row[0]) for row in lease.query(app, TABLES[app]).rows if row[0] not in LIVING]
    counts = lease.query(app, " union all ".join(f"select '{name}', count(*) from {name}" for name in names)).rows
    texts = [list(row) for row in lease.query(app, TEXTS[app]).rows]
    for database, sql in BESIDE.get(app, {}).items():
        texts += [[database, *row] for row in lease.query(app, sql, database=database).rows]
    return {"rows": {str(name): int(str(count)) for name, count in counts}, "texts": texts}


@dataclass(slots=True)
class Tally:
    """The results of the trials so far."""

    pristine: dict[str, dict[str, Any]]
    lock: threading.Lock = field(default_factory=threading.Lock)
    left: list[Left] = field(default_factory=list)
    trials: int = 0
    pairs: int = 0
    tried: int = 0
    """How many sessions and files of other trials were tried."""
    leaks: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def trial(address: str, apps: Sequence[str], mark: str, chance: random.Random, tally: Tally) -> str:
    """Runs a trial; returns what it saw of other trials, or an empty string."""
    with BrokerClient(address, name=mark) as client:
        lease = client.lease(list(apps), holder=mark)
        for app in apps:
            found = everything(lease, app)
            if found != tally.pristine[app]:
                return f"{mark} began with {difference(tally.pristine[app], found)} in {app}"
        with tally.lock:
            earlier = [each for each in tally.left if each.app in apps]
        for left in chance.sample(earlier, min(2, len(earlier))):
            with tally.lock:
                tally.tried += 1
            host = f"{left.app}.test"
            if left.needle in Visitor(lease, host, left.cookies).ask(left.page)[1]:
                return f"{mark} was signed in by the session of {left.mark}"
            status, text = Visitor(lease, host).ask(left.file)
            if left.file != "/" and status == 200 and "No file by this name exists" not in text:
                return f"{mark} got the file of {left.mark}"
        made = [WRITERS[app](lease, mark, chance) for app in apps]
        for left in made:
            if left.needle not in Visitor(lease, f"{left.app}.test", left.cookies).ask(left.page)[1]:
                raise OSError(f"{mark} was not signed in itself at {left.app}")
            if everything(lease, left.app) == tally.pristine[left.app]:
                raise OSError(f"{mark} changed nothing in {left.app}")
        with tally.lock:
            tally.left.extend(made)
        end(lease, apps[0], mark, late=chance.random() < 0.3)
    return ""


def end(lease: Lease, app: str, mark: str, *, late: bool) -> None:
    """Releases the lease; with ``late``, in the middle of a request."""
    if not late:
        lease.release()
        return
    body = urllib.parse.urlencode({"username": mark, "password": mark}).encode()
    head = f"POST http://{app}.test/login HTTP/1.1\r\nHost: {app}.test\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", int(lease.proxy.rpartition(":")[2])), timeout=10) as sending:
        sending.sendall(head + body[: len(body) // 2])
        lease.release()
        with contextlib.suppress(OSError):
            sending.sendall(body[len(body) // 2 :])
            sending.recv(1000)


def difference(expected: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Describes the tables whose number of rows differs, or says that the texts do."""
    rows = {
        name: (count, found["rows"].get(name))
        for name, count in expected["rows"].items()
        if found["rows"].get(name) != count
    }
    return f"other rows {rows}" if rows else "other texts"


def without_resets(folder: Path, apps: Sequence[str]) -> Path:
    """Writes the catalogue with its resets and fingerprints disabled, so that every change stays and goes unnoticed."""
    from pytest_webarena.sites.catalogues.loading import load_catalogue

    shipped = yaml.safe_load(load_catalogue("debian").path.read_text())["apps"]
    blind = {"snapshot": False, "reset": [["true"]], "fingerprint": ["true"]}
    docker = {app: {**shipped[app]["docker"], **blind} for app in apps}
    path = folder / "without-resets.yaml"
    path.write_text(yaml.safe_dump({"extends": "debian", "apps": {app: {"docker": docker[app]} for app in apps}}))
    return path


def main() -> int:
    """Returns exit code 1 if anything leaked or a trial couldn't be carried out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300, help="run this many trials (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="run this many workers (default: %(default)s)")
    parser.add_argument(
        "--replicas", type=int, default=3, help="replicas per app; few force reuse (default: %(default)s)"
    )
    parser.add_argument(
        "--apps", nargs="+", choices=list(WRITERS), default=["wiki", "tracker"], help="applications to lease"
    )
    parser.add_argument("--inject-leak", action="store_true", help="disable resets, which must be found")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no trial after this many seconds")
    parser.add_argument("--seed", type=int, default=1, help="seed of the trials (default: %(default)s)")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        catalogue = str(without_resets(Path(folder), options.apps)) if options.inject_leak else "debian"
        config = BrokerConfig(
            catalogue=catalogue, run_dir=Path(folder), max_replicas=options.replicas, lease_timeout=1800
        )
        with BrokerLauncher(config) as launcher:
            with (
                BrokerClient(launcher.address, name="first") as client,
                client.lease(options.apps, holder="first") as lease,
            ):
                tally = Tally({app: everything(lease, app) for app in options.apps})

            def work(index: int) -> None:
                chance = random.Random(f"{options.seed}.{index}")
                for number in range(index, options.trials, options.workers):
                    if time.monotonic() - began > options.seconds:
                        return
                    apps = [app for app in options.apps if chance.random() < 0.5] or [chance.choice(options.apps)]
                    leak = error = ""
                    try:
                        leak = trial(launcher.address, apps, f"{MARK}{index}x{number}end", chance, tally)
                    except (WebArenaError, OSError, http.client.HTTPException, KeyError, ValueError) as problem:
                        error = f"trial {number} ({'+'.join(apps)}): {type(problem).__name__}: {problem}"
                    with tally.lock:
                        tally.trials += 1
                        tally.pairs += len(apps) > 1
                        tally.leaks += [leak] if leak else []
                        tally.errors += [error] if error else []
                    if text := leak or error:
                        print(f"  {text[:400]}", flush=True)

            threads = [threading.Thread(target=work, args=(index,)) for index in range(options.workers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            times = launcher.stop().apps
    print(
        f"{'injected leak: ' if options.inject_leak else ''}{tally.trials} trials "
        f"({tally.pairs} of several applications) by "
        f"{options.workers} workers in {time.monotonic() - began:.0f} s: {len(tally.leaks)} leaks, "
        f"{len(tally.errors)} errors; {tally.tried} sessions and files of earlier trials tried"
    )
    for app, seen in times.items():
        print(
            f"  {app}: {seen.resets.count} resets, median {seen.resets.median:.0f} ms; hand-over median "
            f"{seen.handovers.median:.1f} ms; {seen.waits.count} waited"
        )
    return 1 if tally.errors or bool(tally.leaks) != options.inject_leak else 0


if __name__ == "__main__":
    sys.exit(main())
