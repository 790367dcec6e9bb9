"""Nothing that a run writes contains a secret: an app, an agent and failures that show secrets wherever they can."""

from __future__ import annotations

import gzip
import io
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.secret_forms import forms_of
from tests.inner import run_pytest

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive, pytest.mark.usefixtures("browser_executable")]

PASSWORD, WRONG, TOTP = 'würdig & "geheim"/7', "falsch & geheimer/8", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
SITES = """
apps:
  shop:
    backend: process
    process: {{command: [python, -u, app.py, "{{port}}", '{password}', "{totp}", "{issued}"]}}
    users:
      emma: {{password_env: EMMA_PASSWORD, totp_env: EMMA_TOTP}}
      bob: {{password_env: BOB_PASSWORD}}
    sites:
      shop:
        host: shop.test
        user: emma
        sign_in:
          path: /
          steps:
            - fill: {{"css=[name=user]": "{{username}}", "css=[name=password]": "{{password}}"}}
            - fill: {{"css=[name=code]": "{{totp}}"}}
            - click: css=button
          check: {{path: /, locate: "css=#who", includes: "{{username}}"}}
"""
TASKS = """
defaults: {sites: [shop], start: shop:/account, mutates: false}
tasks:
  - id: look
    intent: Who is signed in?
    checks:
      - page: {includes: emma}
      - page: {includes: "no such text"}
      - page: {open: /one, includes: "no such text"}
      - page: {open: /two, includes: "no such text"}
      - answer: {exact: nobody}
    solution: [{stop: ''}]
  - id: crash
    intent: Crash, please.
    checks: [{page: {includes: emma}}]
    solution: [{stop: ''}]
  - id: refused
    user: bob
    intent: Who is signed in?
    checks: [{page: {includes: emma}}]
    solution: [{stop: ''}]
"""
AGENT = """
import logging, os, sys
from pytest_webarena.actions import Goto, Stop

class Agent:
    def __init__(self, task):
        self.intent, self.steps = task.intent, 0
    def act(self, observation):
        self.steps += 1
        for text in (str(dict(os.environ)), observation.text):
            print(text)
            print(text, file=sys.stderr)
            logging.getLogger("agent").warning("%s", text)
        if self.steps > 1 and "Crash" in self.intent:
            raise RuntimeError(f"{os.environ['EMMA_PASSWORD']} {os.environ['BOB_PASSWORD']!r} {observation.text}")
        if self.steps > 3:
            return Stop(f"{os.environ['EMMA_TOTP']} {observation.text}")
        return Goto(f"http://shop.test/page{self.steps}?from={os.environ['EMMA_PASSWORD'][:3]}")
"""
PROGRAM = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    print(os.environ, line, file=sys.stderr)
    if message["type"] == "start":
        print(json.dumps({"type": "ready"}), flush=True)
    elif message["type"] == "observation":
        print(json.dumps({"type": "action", "text": "```stop [" + os.environ["EMMA_PASSWORD"] + "]```"}), flush=True)
"""
PROGRAM_YAML = "kind: process\ncommand: [python3, ./program.py]\nenv: [EMMA_PASSWORD, EMMA_TOTP]\n"


def contents(data: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the data and, if it is an archive or compressed, what is in it."""
    yield name, data
    if data.startswith(b"\x1f\x8b"):
        yield from contents(gzip.decompress(data), f"{name}!")
    elif zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield from contents(archive.read(member), f"{name}!{member}")


def leaks(folders: list[Path], secrets: list[str]) -> list[str]:
    """Return the files with a secret in any of its forms."""
    forms = [(secret, form.encode()) for secret in secrets for form in forms_of(secret) if len(form) >= 6]
    found = []
    for file in (file for folder in folders for file in folder.rglob("*") if file.is_file()):
        for name, data in contents(file.read_bytes(), file.name):
            found += [f"{file.parent.name}/{name}: {form!r} of {secret}" for secret, form in forms if form in data]
    return found


@pytest.mark.parametrize(("workers", "tracing"), [("0", "off"), ("2", "on")])
def test_no_file_of_a_run_contains_a_secret(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, workers: str, tracing: str
) -> None:
    from pytest_webarena.commands.cli import main

    issued = tmp_path_factory.mktemp("app") / "issued.txt"
    issued.write_text("")
    state = issued.with_name("state")
    shutil.copy(Path(__file__).with_name("leaky_app.py"), tmp_path / "app.py")
    (tmp_path / "sites.yaml").write_text(SITES.format(password=PASSWORD, totp=TOTP, issued=issued))
    (tmp_path / "tasks.yaml").write_text(TASKS)
    (tmp_path / "chatty.py").write_text(AGENT)
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "program.py").write_text(PROGRAM)
    (tmp_path / "agents" / "program.yaml").write_text(PROGRAM_YAML)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nwebarena_sites = ./sites.yaml\nwebarena_tasks = tasks.yaml\njunit_logging = all\n"
    )
    written = [tmp_path / name for name in ("run", "allure", "reports", "exported")]
    result = run_pytest(
        tmp_path, "tasks.yaml", "--agent=chatty.py:Agent", "--agent=program", f"-n{workers}", "--run-dir=run",
        f"--tracing={tracing}", "--alluredir=allure", "--log-file=reports/log.txt", "--env-retries=0",
        "--junitxml=reports/junit.xml", "--showlocals", "-rA", "--log-cli-level=WARNING",
        environ={"EMMA_PASSWORD": PASSWORD, "EMMA_TOTP": TOTP, "BOB_PASSWORD": WRONG, "WEBARENA_STATE_DIR": str(state)},
    )  # fmt: skip
    result.assert_outcomes(failed=3, passed=1, errors=2)
    (tmp_path / "reports" / "output.txt").write_text(result.stdout.str() + result.stderr.str())
    assert main(["runs", "export", str(tmp_path / "run"), "-o", str(tmp_path / "exported" / "run.zip")]) == 0
    made = [value for value in issued.read_text().split("\n") if value]
    assert {"csrf", "refresh", "access", "session"} <= {value.partition("-")[0] for value in made}
    assert leaks(written, [PASSWORD, WRONG, TOTP, *dict.fromkeys(made)]) == []
    assert any(b"[secret]" in file.read_bytes() for file in written[0].rglob("network.jsonl"))
    if workers == "0":
        assert "[secret]" in (tmp_path / "reports" / "log.txt").read_text()
    assert "[secret]" in (tmp_path / "reports" / "junit.xml").read_text()
