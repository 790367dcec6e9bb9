"""The sandbox of an agent's program: visible files, network, and errors when it is unavailable."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.agents import resolve_agent
from pytest_webarena.agents.line_pipe import LinePipe, ProcessEnded
from pytest_webarena.agents.process import ProcessKeys
from pytest_webarena.agents.sandbox import bubblewrap, examine, read_host
from pytest_webarena.agents.sandbox.relay import OutsideProxy
from pytest_webarena.errors import UsageError
from pytest_webarena.llm.config import ModelSettings
from tests.cases import each_case
from tests.processes import descendants, of_command, still_running
from tests.sandboxing import need_sandbox

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


class Run:
    """Runs Python code in the sandbox and returns the line of JSON that it prints."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._pipes: list[LinePipe] = []
        (base / "temp").mkdir()

    def __call__(self, code: str, *, command: str = PYTHON, hidden: tuple[Path, ...] = (), **keys: Any) -> Any:
        program = f"import json, os, socket, sys, urllib.request\ndef say(x): print(json.dumps(x), flush=True)\n{code}"
        all_keys = ProcessKeys(command=(command, "-c", program), sandbox="bubblewrap", **keys)
        pipe = LinePipe(all_keys, self._base, self._base / "attempt", self._base / "temp", hidden=hidden)
        self._pipes.append(pipe)
        return json.loads(pipe.receive())

    def end(self) -> None:
        for pipe in self._pipes:
            pipe.close()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    need_sandbox()
    run = Run(tmp_path)
    yield run
    run.end()


LOOK = """
seen = []
for top, folders, files in os.walk("/"):
    folders[:] = [each for each in folders if os.path.join(top, each) not in ("/proc", "/usr", PYTHON)]
    seen += [os.path.join(top, each) for each in files]
say(seen)
"""


def test_sandbox_shows_only_system_files_and_own_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent.txt").write_text("mine")
    (tmp_path / "solution.yaml").write_text("408")
    seen = run(f"PYTHON = {sys.base_prefix!r}\n{LOOK}", files=("agent.txt",))
    elsewhere = {path for path in seen if not path.startswith(("/etc/", "/dev/"))}
    assert elsewhere == {"/agent/agent.txt"}
    etc = {path.split("/")[2] for path in seen if path.startswith("/etc/")}
    assert etc <= {*bubblewrap._ETC, *bubblewrap._ACCOUNTS}


def test_sandbox_shows_only_own_processes_and_named_variables(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANTED", "given")
    monkeypatch.setenv("OTHER", "kept back")
    found = run(
        "pids = [int(e) for e in os.listdir('/proc') if e.isdigit()]\n"
        "env = {p: open(f'/proc/{p}/environ').read() for p in pids}\n"
        "say([len(pids), dict(os.environ), sorted(env), str(env), open('/proc/1/cmdline').read(), "
        "len(os.listdir('/proc/self/fd'))])",
        env=("WANTED",),
    )
    count, environ, pids, environments, first, descriptors = found
    assert descriptors == 4  # one of them for this list
    assert count <= 3
    assert max(pids) < 10
    assert first.split("\0")[0].endswith("bwrap")
    assert str(tmp_path) not in first  # without paths of this machine
    assert {"WANTED": "given", "HOME": "/agent", "TMPDIR": "/tmp"}.items() <= environ.items()
    assert set(environ) <= {"WANTED", "HOME", "TMPDIR", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PWD"}
    assert "kept back" not in environments


def test_sandboxed_program_writes_only_to_its_own_folders(run: Run) -> None:
    attempts = ["/agent/x", "/tmp/x", "/usr/x", "/etc/passwd", "/etc/ssl/x", "/proc/sys/kernel/core_pattern"]
    code = f"""
def can(path):
    try:
        with open(path, "a"): return True
    except OSError: return False
say([path for path in {attempts!r} if can(path)])
"""
    assert run(code) == ["/agent/x", "/tmp/x"]


@dataclass(frozen=True)
class Server:
    port: int
    asked: list[tuple[str, str]]


@pytest.fixture
def server() -> Iterator[Server]:
    """A model server on loopback that echoes request bodies."""
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, self.headers["Host"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
    yield Server(running.server_port, asked)
    running.shutdown()
    running.server_close()


POST = """
def post(url, data=b"hi"):
    try:
        return urllib.request.urlopen(url, data, timeout=20).read().decode()
    except OSError as error:
        return str(error)
"""


def test_named_loopback_server_keeps_its_address(run: Run, server: Server) -> None:
    code = f"{POST}big = b'x' * 3_000_000\nu = 'http://127.0.0.1:{server.port}/v1'\nsay([post(u), len(post(u, big))])"
    assert run(code, hosts=(f"http://127.0.0.1:{server.port}/v1",)) == ["hi", 3_000_000]
    assert server.asked == [("/v1", f"127.0.0.1:{server.port}")] * 2


def test_named_hosts_are_reached_through_the_environment_proxy(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine's own proxy represents the internet: requests that reach it were let out."""
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
    for name in ("http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    code = (
        f"{POST}say([post('http://models.test:8000/v1'), post('http://other.test:8000/'), post('http://models.test/')])"
    )
    assert run(code, hosts=("models.test:8000",)) == ["hi", "HTTP Error 403: Forbidden", "HTTP Error 403: Forbidden"]
    assert server.asked == [("http://models.test:8000/v1", "models.test:8000")]


def test_unnamed_servers_and_sockets_are_unreachable(run: Run, server: Server, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as hidden, socket.socket(socket.AF_UNIX) as abstract:
        hidden.bind(str(tmp_path / "broker.sock"))
        hidden.listen()
        abstract.bind(f"\0webarena-test-{os.getpid()}")
        abstract.listen()
        code = f"""
def reach(family, address):
    with socket.socket(family) as s:
        s.settimeout(10)
        try: s.connect(address)
        except OSError: return False
        return True
tcp = [reach(socket.AF_INET, ("127.0.0.1", {server.port})), reach(socket.AF_INET, ("192.0.2.1", 80))]
unix = [reach(socket.AF_UNIX, each) for each in ({str(tmp_path / "broker.sock")!r}, "/var/run/docker.sock",
                                                 "\\0webarena-test-{os.getpid()}")]
with socket.create_connection(("127.0.0.1", 3128)) as proxy:
    proxy.sendall(b"CONNECT 127.0.0.1:{server.port} HTTP/1.1\\r\\n\\r\\n")
    said = proxy.makefile().read()
say([tcp, unix, said])
"""
        tcp, unix, said = run(code, hosts=("api.example.test",))
    assert (tcp, unix) == ([False, False], [False, False, False])
    assert said.startswith("HTTP/1.1 403 Forbidden")
    assert f"the sandbox blocks connections to 127.0.0.1:{server.port}; allowed hosts in the agent's definition" in said
    run.end()  # its stderr may arrive until then
    stderr_file = tmp_path / "attempt" / "agent-stderr.txt"
    assert f"sandbox: the sandbox blocks connections to 127.0.0.1:{server.port}" in stderr_file.read_text()


def test_sandbox_without_hosts_has_no_network(run: Run) -> None:
    code = "try: socket.create_connection(('127.0.0.1', 3128))\nexcept OSError as e: say([e.errno, os.listdir('/run')])"
    assert run(code) == [111, []]


def test_virtual_environment_is_visible_without_its_tasks(run: Run, tmp_path: Path) -> None:
    """The program is this suite's own Python, with all installed packages."""
    venv = Path(sys.prefix)
    (tmp_path / "shown" / "inner").mkdir(parents=True)
    (tmp_path / "shown" / "inner" / "solution.yaml").write_text("408")
    (tmp_path / "shown" / "data.txt").write_text("data")
    found = run(
        "import importlib.util, yaml\n"
        "def there(name):\n    spec = importlib.util.find_spec(name)\n"
        "    return any(map(os.listdir, spec.submodule_search_locations or ())) if spec else False\n"
        "say([sys.prefix, there('pytest_webarena'), there('webarena_verified'), os.path.exists(sys.argv[0]), "
        f"os.listdir({str(tmp_path / 'shown')!r}), os.listdir({str(tmp_path / 'shown' / 'inner')!r}), os.getcwd()])",
        command=sys.executable,
        readable=(str(tmp_path / "shown"),),
        hidden=(tmp_path / "shown" / "inner",),
    )
    assert found[:3] == [str(venv), False, False]
    assert (sorted(found[4]), found[5], found[6]) == (["data.txt", "inner"], [], "/agent")


def test_readable_folder_with_tasks_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ProcessEnded, match=r"readable: expected files that an agent may see, found tasks"):
        run("", readable=(str(tmp_path),), hidden=(tmp_path,))
    assert [path.name for path in (tmp_path / "temp").iterdir()] == []


def test_installed_task_packages_are_hidden(tmp_path: Path) -> None:
    for name in ("pytest_webarena", "webarena_verified", "yaml"):
        (tmp_path / "venv" / "lib" / "python3.12" / "site-packages" / name).mkdir(parents=True)
    options = bubblewrap._mounts([tmp_path / "venv"], (), ())
    covered = [options[at + 1] for at, option in enumerate(options) if option == "--tmpfs"]
    assert {Path(path).name for path in covered if path.startswith(str(tmp_path))} == {
        "pytest_webarena",
        "webarena_verified",
    }


def test_daemons_and_files_are_removed_with_the_sandbox(run: Run, tmp_path: Path) -> None:
    before = descendants()
    run(
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        for n in (0, 1, 2): os.close(n)\n"
        "        import time; time.sleep(600)\n    os._exit(0)\nsay('up')\nimport time; time.sleep(600)",
        hosts=("api.example.test",),
    )
    mine = of_command("time.sleep(600)", descendants(but=before))
    assert len(mine) >= 4  # the supervisor, bwrap, the program, its daemon
    run.end()
    assert still_running(mine) == []
    assert list((tmp_path / "temp").iterdir()) == []


def test_sandbox_reports_signals_and_exit_codes(run: Run) -> None:
    with pytest.raises(ProcessEnded, match="ended with signal SIGKILL"):
        run("os.kill(os.getpid(), 9)")
    with pytest.raises(ProcessEnded, match=r"ended with exit code 3; last on stderr:\n    no model"):
        run("print('no model', file=sys.stderr); sys.exit(3)")
    with pytest.raises(ProcessEnded, match=r"exit code (1|127); last on stderr:\n.*no-such-program"):
        run("", command="no-such-program", hosts=("a.test",))


# --- definitions, and machines without


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sandbox: bubblewarp", "unknown value 'bubblewarp'; did you mean 'bubblewrap'"),
        ("hosts: [a.test]", "hosts: goes with 'sandbox: bubblewrap', found sandbox: none"),
        ("sandbox: [env]\nreadable: [/opt]", "readable: goes with 'sandbox: bubblewrap'"),
        (
            "sandbox: bubblewrap\nhosts: ['*.test']",
            "hosts: expected a host such as api.openai.com, .* found '\\*.test'",
        ),
        ("sandbox: bubblewrap\nhosts: ['http://u:p@a.test']", "hosts: expected a host"),
        ("sandbox: bubblewrap\nhosts: ['127.0.0.1:80']", "hosts: expected a port of loopback from 1024 on"),
        ("sandbox: bubblewrap\nreadable: [data]", "readable: expected an absolute path, .* found 'data'"),
    ],
)
@pytest.mark.parametrize("kind", ["process", "cdp"])
def test_invalid_sandbox_settings_are_usage_errors(kind: str, text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"kind: {kind}\ncommand: [sh]\n{text}\n")
    with pytest.raises(UsageError, match=sentence):
        resolve_agent(str(tmp_path / "a.yaml"))


@pytest.mark.parametrize("kind", ["process", "cdp"])
def test_only_bubblewrap_counts_as_sandboxed(kind: str, tmp_path: Path) -> None:
    tiers = {}
    for name, line in {"boxed": "sandbox: bubblewrap", "own": "sandbox: [env]", "none": ""}.items():
        (tmp_path / f"{name}.yaml").write_text(f"kind: {kind}\ncommand: [sh]\n{line}\n")
        tiers[name] = resolve_agent(str(tmp_path / f"{name}.yaml")).tier
    assert tiers == {"boxed": "sandboxed", "own": "wrapped", "none": "process"}


@pytest.fixture
def fresh() -> Iterator[None]:
    """Clear the cached detection of bwrap before and after the test."""
    bubblewrap._bwrap.cache_clear()
    yield
    bubblewrap._bwrap.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_missing_sandbox_is_reported_before_the_first_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("kind: process\ncommand: [/bin/sh]\nsandbox: bubblewrap\n")
    definition = resolve_agent(str(tmp_path / "a.yaml"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"a.yaml: sandbox: .* found none: apt-get install bubblewrap"):
        definition.check(ModelSettings())
    assert examine() == (False, "expected bubblewrap's program bwrap, found none: apt-get install bubblewrap")

    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    with pytest.raises(UsageError) as raised:
        definition.check(ModelSettings())
    message = str(raised.value)
    assert "with a user namespace of its own: bwrap: Creating new namespace failed: Operation not permitted" in message
    assert ("without one, as root" in message) == (os.geteuid() == 0)
    assert "kernel.apparmor_restrict_unprivileged_userns" in message
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(UsageError, match="bubblewrap is for Linux, and this is darwin"):
        definition.check(ModelSettings())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user, and has two ways to make a sandbox")
@pytest.mark.parametrize("who", ["nobody", "root without user namespaces"])
def test_sandbox_works_for_ordinary_users_and_root(who: str, tmp_path: Path) -> None:
    need_sandbox()
    way = bubblewrap._WAYS["without one, as root" if "root" in who else "with a user namespace of its own"]
    command = [
        shutil.which("bwrap") or "",
        *way,
        *bubblewrap._mounts([], (), ()),
        "--",
        "/bin/sh",
        "-c",
        "id -u; ls /proc",
    ]
    user = None if "root" in who else 65534
    done = subprocess.run(command, user=user, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    uid, *processes = done.stdout.split()
    assert uid == ("0" if "root" in who else "65534")
    assert len([each for each in processes if each.isdigit()]) <= 4


@each_case(
    ("text", "place"),
    [
        ("API.openai.com", "api.openai.com:443"),
        ("https://x.openai.azure.com/openai", "x.openai.azure.com:443"),
        ("http://gpu-box/v1", "gpu-box:80"),
        ("localhost:11434", "localhost:11434"),
    ],
)
def test_host_is_parsed_with_its_default_port(text: str, place: str) -> None:
    assert str(read_host(text)) == place


def test_relay_forwards_only_to_named_hosts(tmp_path: Path, server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    """It forwards only to named hosts, and one request for each connection."""
    OutsideProxy(path=str(tmp_path / "s"), hosts={f"127.0.0.1:{server.port}": ""}).start()

    def ask(request: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(str(tmp_path / "s"))
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            with client.makefile("rb") as answer:
                return answer.read()

    allowed = f"127.0.0.1:{server.port}".encode()
    post = b"POST http://" + allowed + b"/v1?k=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
    assert ask(post).endswith(b"\r\n\r\nhi")
    assert ask(post + post).count(b"HTTP/1.1 200") == 1
    assert server.asked == [("/v1?k=1", "a")] * 2
    for request in (
        b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n",
        b"CONNECT " + allowed + b"@x.test:443 HTTP/1.1\r\n\r\n",
        b"GET https://" + allowed + b"/ HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + allowed + b"\r\n\r\n",
        b"CONNECT [::1 HTTP/1.1\r\n\r\n",
    ):
        assert ask(request).startswith(b"HTTP/1.1 403"), request
    assert ask(b"\0\1nonsense") == b""
    assert capfd.readouterr().err.count("the sandbox blocks connections to") == 5
