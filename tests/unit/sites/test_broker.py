"""Launcher, broker, pool, gateway, process backend and client together, on a tiny app."""

from __future__ import annotations

import base64
import os
import re
import signal
import socket
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteError, TaskError, UsageError
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from pytest_webarena.sites.protocol.report import BrokerReport
from tests.processes import DEADLINE, wait_until
from tests.unit.sites.brokers import client, directory, get, launcher, own, until_broken
from tests.unit.sites.processes import number

__all__ = ["client", "launcher", "own"]


def test_a_run_without_sites_starts_no_broker(tiny: Path, tmp_path: Path) -> None:
    launcher = BrokerLauncher(BrokerConfig(catalogue=str(tiny / "sites.yaml"), run_dir=tmp_path))
    assert directory(launcher).stat().st_mode & 0o777 == 0o700
    report = launcher.stop()
    assert report == BrokerReport(catalogue=str(tiny / "sites.yaml"))
    assert not launcher.log.exists()
    assert not directory(launcher).exists()
    with pytest.raises(SiteError, match=r"expected the site broker at .*, found none"):
        BrokerClient(launcher.address, name="late").lease(["tiny"], holder="x")


def test_lease_reaches_only_its_site_by_host_name(client: BrokerClient) -> None:
    with client.lease(["tiny"], holder="a test", timeout=DEADLINE) as lease:
        site = lease.sites["tiny"]
        assert (site.url, site.start, site.default_user) == ("http://tiny.test", "http://tiny.test/start", "ann")
        assert site.users["ann"].password == "secret"
        assert "host=tiny.test" in get(lease, site.url + "/")
        with pytest.raises(urllib.request.HTTPError, match="403"):
            get(lease, "http://other.test/")
        records = [(one.method, one.url, one.status) for one in lease.requests()]
        assert records == [("GET", "http://tiny.test/", 200), ("GET", "http://other.test/", 403)]
        (replica,) = lease.replicas
        assert (replica.app, replica.backend, len(replica.digest)) == ("tiny", "process", 16)


def test_next_lease_does_not_see_changes_of_the_previous(client: BrokerClient) -> None:
    for _ in range(4):
        lease = client.lease(["tiny"], holder="a test", timeout=DEADLINE)
        assert "notes=2 memory=1" in get(lease, "http://tiny.test/add", "POST")
        report = lease.release()
        assert report.reasons == {"tiny": "POST http://tiny.test/add"}


def test_fingerprint_detects_changes_by_get_requests(client: BrokerClient) -> None:
    with client.lease(["tiny"], holder="a test", timeout=DEADLINE) as lease:
        get(lease, "http://tiny.test/add")
        assert lease.release().reasons == {"tiny": "its data differ from pristine"}


def test_harness_requests_are_not_recorded_but_make_replica_dirty(client: BrokerClient) -> None:
    with client.lease(["tiny"], holder="a test", timeout=DEADLINE) as lease:
        lease.set_headers("tiny", {"X-User": "ann"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.harness_proxy}))
        with opener.open(urllib.request.Request("http://tiny.test/add", method="POST"), timeout=DEADLINE) as answer:
            assert "notes=2" in answer.read().decode()
        get(lease, "http://tiny.test/")
        assert [one.url for one in lease.requests()] == ["http://tiny.test/"]
        assert lease.wait_for_writes(DEADLINE) == ()
        assert lease.release().reasons == {"tiny": "POST http://tiny.test/add"}


def test_http_credentials_are_added_for_browser_and_checks_and_never_recorded(client: BrokerClient) -> None:
    sent = f"Basic {base64.b64encode(b'staging:a:b').decode()}"
    with client.lease(["other", "tiny"], holder="a test", timeout=DEADLINE) as lease:
        assert f"authorization={sent}" in get(lease, "http://other.test/")
        assert "authorization=None" in get(lease, "http://tiny.test/")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.harness_proxy}))
        with opener.open("http://other.test/", timeout=DEADLINE) as answer:
            assert f"authorization={sent}" in answer.read().decode()
        assert sent not in repr(lease.requests())
        assert len(lease.requests()) == 2


def test_replica_is_reused_after_reads_only(client: BrokerClient) -> None:
    with client.lease(["tiny"], holder="a test", timeout=DEADLINE) as lease:
        get(lease, "http://tiny.test/")
        lease.query("tiny", "select * from notes")
        first = lease.release()
        assert first.clean
        assert lease.release() is first


def test_several_sites_are_leased_at_once(client: BrokerClient) -> None:
    with client.lease(["other", "tiny"], holder="a test", timeout=DEADLINE) as lease:
        assert list(lease.sites) == ["other", "tiny"]
        assert "host=other.test" in get(lease, "http://other.test/")
        get(lease, "http://tiny.test/x", "POST")
        assert lease.release().reasons == {"other": "reuse: never", "tiny": "POST http://tiny.test/x"}


def test_sql_queries_and_their_errors(client: BrokerClient) -> None:
    with client.lease(["tiny", "other"], holder="a test", timeout=DEADLINE) as lease:
        assert lease.query("", "select text, 1 as one from notes").rows == (("seeded", 1),)
        lease.query("tiny", "delete from notes", write=True)
        assert "notes=0" in get(lease, "http://tiny.test/")
        for arguments, message in [
            (("tiny", "select * from nowhere"), "no such table: nowhere"),
            (("other", "select 1"), "the app 'other' has no database"),
            (("elsewhere", "select 1"), r"expected a site of this lease \(tiny, other\), found 'elsewhere'"),
        ]:
            with pytest.raises(TaskError, match=message):
                lease.query(*arguments)
        assert "a set-up step wrote into its database" in lease.release().reasons["tiny"]
    with pytest.raises(TaskError, match="has been released"):
        lease.query("tiny", "select 1")


def test_last_bit_of_a_file_is_inverted_and_restored(client: BrokerClient) -> None:
    with client.lease(["tiny"], holder="a test", timeout=DEADLINE) as lease:
        with pytest.raises(TaskError, match="expected a site of this lease whose data are compared, found 'other'"):
            lease.flip("other", "main.sqlite3")
        lease.mark(required=True)
        for text in ("seedee", "seeded"):  # the last byte of the file is that of the only row
            lease.flip("tiny", "main.sqlite3")
            assert lease.query("", "select text from notes").rows == ((text,),)
        for path in ("absent", "../tiny", "/etc/passwd", "."):
            with pytest.raises(TaskError, match=r"expected a file .*, found none"):
                lease.flip("tiny", path)


def test_an_unknown_site_is_a_usage_error(client: BrokerClient) -> None:
    with pytest.raises(UsageError, match="no site 'tinny'; did you mean 'tiny'"):
        client.lease(["tinny"], holder="a test", timeout=DEADLINE)


def test_failed_start_reports_its_reason(client: BrokerClient) -> None:
    with pytest.raises(SiteError, match=r"'broken' could not be started.*no attribute 'no_such_factory'"):
        client.lease(["broken"], holder="a test", timeout=DEADLINE)
    (status,) = (app for app in client.status().apps if app.app == "broken")
    assert "no_such_factory" in status.problem


def test_lease_timeout_names_the_holders(client: BrokerClient) -> None:
    held = [client.lease(["tiny"], holder=f"task {index}", timeout=DEADLINE) for index in range(2)]
    with pytest.raises(SiteError, match=r"2 of at most 2 replicas") as error:
        client.lease(["tiny"], holder="task 3", timeout=0.1)
    assert re.search(r"leased for .* s by gw0 \(task 1\)", str(error.value))
    for lease in held:
        lease.release()


def test_closed_connection_frees_its_leases(launcher: BrokerLauncher, client: BrokerClient) -> None:
    crashed = BrokerClient(launcher.address, name="gw1")
    crashed.lease(["tiny"], holder="x", timeout=DEADLINE)
    crashed.lease(["tiny"], holder="y", timeout=DEADLINE)
    status = client.status()
    (tiny,) = (app for app in status.apps if app.app == "tiny")
    assert sorted(holder for replica in tiny.replicas for holder in replica.holders) == ["gw1 (x)", "gw1 (y)"]
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(client.lease, ["tiny"], holder="z", timeout=DEADLINE)
        wait_until(lambda: len(client.status().waiting) == 1)
        crashed.close()
        waiting.result(DEADLINE).release()


def test_interrupted_client_gets_no_lease_later(
    launcher: BrokerLauncher, client: BrokerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [client.lease(["tiny"], holder="x", timeout=DEADLINE) for _ in range(2)]
    with BrokerClient(launcher.address, name="gw1") as impatient:
        impatient.status()
        monkeypatch.setattr("pytest_webarena.sites.client.connection.Connection.wait_long", interrupt)
        with pytest.raises(KeyboardInterrupt):
            impatient.lease(["tiny"], holder="y", timeout=DEADLINE)
        monkeypatch.undo()
        assert len(client.status().waiting) == 1
        for lease in held:
            lease.release()
        wait_until(lambda: not any(replica.holders for app in client.status().apps for replica in app.replicas))


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_threads_can_share_a_client(client: BrokerClient) -> None:
    def visit(index: int) -> str:
        with client.lease(["tiny"], holder=f"thread {index}", timeout=DEADLINE) as lease:
            return get(lease, "http://tiny.test/add", "POST")

    with ThreadPoolExecutor(6) as threads:
        texts = list(threads.map(visit, range(12)))
    assert all("notes=2 memory=1" in text for text in texts)


def test_dead_replica_is_a_site_error(client: BrokerClient) -> None:
    with client.lease(["tiny"], holder="a test", timeout=DEADLINE) as lease:
        lease.check()
        with pytest.raises(urllib.request.HTTPError, match="502"):
            get(lease, "http://tiny.test/crash")
        text = until_broken(lease)
        assert re.search(
            r"replica tiny-\d+ broke: it ended with exit code 7; last log lines:.*about to crash", text, re.S
        )
        with pytest.raises(SiteError, match="exit code 7"):
            lease.query("tiny", "select 1")
        with pytest.raises(SiteError, match="exit code 7"):
            lease.requests()
        report = lease.release()
        assert "exit code 7" in " ".join((*report.reasons.values(), report.problem))
    with client.lease(["tiny"], holder="the next test", timeout=DEADLINE) as lease:
        assert "notes=1" in get(lease, "http://tiny.test/")


def test_fresh_lease_is_out_of_reach_of_programs_that_have_ended(own: BrokerLauncher) -> None:
    """An agent may stop all replicas before it ends."""
    with BrokerClient(own.address, name="gw0") as client:
        with client.lease(["tiny"], holder="an agent", timeout=DEADLINE) as lease:
            pid = number(get(lease, "http://tiny.test/"), "pid")
        os.kill(pid, signal.SIGSTOP)
        with client.lease(["tiny"], holder="a control", timeout=DEADLINE, max_age=0.0) as lease:
            fresh = number(get(lease, "http://tiny.test/"), "pid")
            assert fresh != pid
            assert lease.undisturbed()
            os.kill(fresh, signal.SIGSTOP)
            with pytest.raises(SiteError, match="does not answer"):
                lease.check(ask=True)
            assert not lease.undisturbed()
        with client.lease(["tiny"], holder="a control", timeout=DEADLINE, max_age=0.0) as lease:
            with pytest.raises(urllib.request.HTTPError, match="502"):
                get(lease, "http://tiny.test/crash")
            until_broken(lease)
            assert lease.undisturbed()


def test_broker_refuses_other_protocol_versions_and_missing_hello(launcher: BrokerLauncher) -> None:
    for line, message in [
        (b'{"id": 1, "op": "hello", "version": 99, "name": "x"}\n', b"speaks version 6 of its protocol, this client"),
        (b'{"id": 1, "op": "status"}\n', b"expected hello first, found 'status'"),
    ]:
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(DEADLINE)
            stranger.connect(launcher.address)
            stranger.sendall(line)
            assert message in stranger.recv(4096)


def test_broker_report_has_statistics_of_every_app(own: BrokerLauncher) -> None:
    with BrokerClient(own.address, name="gw0") as client:
        for method in ("GET", "GET", "GET", "POST"):
            with client.lease(["tiny"], holder="x", timeout=DEADLINE) as lease:
                get(lease, "http://tiny.test/", method)
        wait_until(lambda: all(replica.state == "pristine" for app in client.status().apps for replica in app.replicas))
    report = own.stop()
    app = report.apps["tiny"]
    assert (app.leases, app.resets.count, app.starts.count, app.broken) == (4, 1, 2, 0)
    assert app.clean_hand_ons in (2, 3)  # the second lease may have used the spare
    assert (app.handovers.count, app.most_replicas, report.problems) == (4, 2, ())
    assert 0 < app.handovers.median < 1000
    assert 0 < app.utilisation < 1
    assert own.stop() is report
    assert not directory(own).exists()


def test_invalid_catalogue_is_reported_to_every_client_immediately(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("apps: {shop: {backend: process}}\n")
    with BrokerLauncher(BrokerConfig(catalogue=str(tmp_path / "bad.yaml"))) as launcher:
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(SiteError, match=r"bad.yaml:1:14: expected a 'process' section"):
                BrokerClient(launcher.address, name="gw0").lease(["shop"], holder="x", timeout=DEADLINE)
            assert time.monotonic() - began < DEADLINE
        assert "expected a 'process' section" in launcher.stop().problems[0]
