"""Checks before Ray is used: whether there is a cluster at an address that accepts this machine, and the token."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from pytest_webarena.errors import UsageError

__all__ = ["answers", "find_address", "prepare_environment", "probe"]

_CONNECT = 5.0
_KNOCK = 2.0
_HEALTH = 30.0
"""Seconds. Ray's own detection of a missing cluster takes 40 s and cannot be interrupted."""
_ASK = """
import sys
from ray.scripts.scripts import main
sys.argv = ['ray', 'health-check', '--address', sys.argv[1]]
main()
"""
"""Program that does what `ray health-check` does, in this interpreter."""
_START = "`ray start --head` starts one, `ray start --address=HOST:PORT` adds a machine"


def prepare_environment(*, insecure: bool) -> None:
    """Set Ray's environment variables before it is imported: no usage reports, and authentication by token.
    `UsageError` without either a token or ``insecure``."""
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--ray: expected the package 'ray', it is not installed; pip install 'pytest-webarena[ray]'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")  # Ray's warnings are about networks, not about trials
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "300")  # Ray then exits: longer than our wait
    mode = os.environ.get("RAY_AUTH_MODE", "").lower()
    token = (
        os.environ.get("RAY_AUTH_TOKEN")
        or Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token").is_file()
    )
    if mode == "token" or (not mode and token):
        if not token:
            raise UsageError(
                "--ray: expected a token with RAY_AUTH_MODE=token, found none in RAY_AUTH_TOKEN, "
                "RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token; use the cluster's own"
            )
        os.environ["RAY_AUTH_MODE"] = "token"
        return
    if not insecure:
        raise UsageError(
            "--ray: expected a cluster that asks for a token (RAY_AUTH_MODE=token, set before `ray start` on every "
            "machine), found none here: whoever reaches its ports runs code on all machines; if no one else can, "
            "set --ray-insecure"
        )
    os.environ["RAY_AUTH_MODE"] = "disabled"


def find_address(given: str) -> str:
    """``host:port`` for a value of ``--ray``. `UsageError` when the value is invalid or nothing listens there."""
    if given == "auto":
        given = os.environ.get("RAY_ADDRESS") or _local_cluster()
        if not given:
            raise UsageError(f"--ray=auto: expected a Ray cluster that this machine is in, found none; {_START}")
    if "://" in given:
        raise UsageError(
            f"--ray: expected HOST:PORT of a cluster that this machine is in, found {given}; add it "
            "(`ray start --address=HOST:PORT --num-cpus=0`), because the nodes send their records here"
        )
    host, _, port = given.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"--ray: expected auto or HOST:PORT, found {given!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"--ray: expected a Ray cluster at {given}, found none that answers: {why}; {_START}"
        ) from None
    return given


def answers(address: str) -> bool:
    """Whether something listens at ``host:port`` now."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK).close()
    except OSError:
        return False
    return True


def _local_cluster() -> str:
    """The address that `ray start` stored on this machine; empty if there is none."""
    folder = Path(os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or tempfile.gettempdir())
    for place in (folder, Path("/tmp")):
        try:
            return (place / "ray" / "ray_current_cluster").read_text(encoding="utf-8").strip()
        except OSError:
            continue
    return ""


def probe(address: str) -> None:
    """Raise `UsageError` when the service at ``address`` is no Ray cluster or rejects this machine. Uses a separate
    process, which can be ended."""
    try:
        result = subprocess.run(
            [sys.executable, "-c", _ASK, address], capture_output=True, text=True, timeout=_HEALTH, check=False
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"--ray: expected a Ray cluster at {address}, found something that does not answer as one within "
            f"{_HEALTH:g} s"
        ) from None
    if result.returncode:
        output = [line.strip() for line in (result.stderr or result.stdout).splitlines() if line.strip()]
        raise UsageError(
            f"--ray: expected a Ray cluster at {address} that this machine can join, found: "
            f"{(output[-1] if output else f'exit code {result.returncode}')[:300]}"
        )
