"""Git over HTTP: ``git clone``, ``fetch`` and ``push``, spoken by dulwich over what is in the database."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from io import BytesIO
from typing import Any

from flask import Blueprint, Response, abort, g, request

from pytest_webarena.embedded.gitlab.access import Project, by_password, by_token, find_project, load_user, store
from pytest_webarena.embedded.gitlab.records import add_event, change
from pytest_webarena.embedded.gitlab.store import Store
from pytest_webarena.embedded.web import database

__all__ = ["wire"]

wire = Blueprint("wire", __name__, url_prefix="/<namespace>/<name>.git")

_MOST = 32 * 1024 * 1024
"""Bytes that can be pushed at once."""
_SERVICES = ("git-upload-pack", "git-receive-pack")


@wire.get("/info/refs")
def advertise(namespace: str, name: str) -> Response:
    """Which branches there are, which is how each conversation begins."""
    service = request.args.get("service", "")
    if service not in _SERVICES:
        abort(403, description="Use a git that speaks the smart protocol.")
    refused = _refused(namespace, name, service)
    if refused is not None:
        return refused
    head = f"# service={service}\n".encode()
    answer = b"%04x%s0000" % (len(head) + 4, head) + _dulwich_answer(g.project, service, b"", advertise=True)
    return _answer(answer, f"application/x-{service}-advertisement")


@wire.post("/<any('git-upload-pack', 'git-receive-pack'):service>")
def serve(namespace: str, name: str, service: str) -> Response:
    """What a clone asks for, or what a push brings."""
    refused = _refused(namespace, name, service)
    if refused is not None:
        return refused
    request.max_content_length = _MOST
    body = request.get_data(cache=False)
    if request.headers.get("Content-Encoding") == "gzip":
        try:
            body = gzip.decompress(body)
        except (OSError, EOFError, zlib.error):
            abort(400)
    with database():
        answer = _dulwich_answer(g.project, service, body, advertise=False)
    return _answer(answer, f"application/x-{service}-result")


def _answer(data: bytes, kind: str) -> Response:
    return Response(data, content_type=kind, headers={"Cache-Control": "no-cache, max-age=0, must-revalidate"})


def _refused(namespace: str, name: str, service: str) -> Response | None:
    """Who asks is known by password or token. An answer for those who may not; else the project is in ``g``."""
    load_user()
    scopes = _identify(service)
    if scopes is None:
        return _challenge("HTTP Basic: Access denied. Give a user name and its password, or an access token.\n")
    project = find_project(f"{namespace}/{name}")
    if project is None or not project.code:
        if g.user is None:
            return _challenge("Sign in to see whether there is such a project.\n")
        return Response("The project you were looking for could not be found.\n", 404, content_type="text/plain")
    if service == "git-receive-pack":
        if g.user is None:
            return _challenge("Sign in to push.\n")
        if not project.may("developer"):
            return Response("You are not allowed to push code to this project.\n", 403, content_type="text/plain")
    g.project = project
    return None


def _challenge(text: str) -> Response:
    return Response(text, 401, {"WWW-Authenticate": 'Basic realm="Millrace"'}, content_type="text/plain")


def _identify(service: str) -> bool | None:
    """Sets ``g.user``; None when what was given is wrong."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        name, _, secret = base64.b64decode(value).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    if found := by_token(secret):
        owner, scopes = found
        wanted = {"api", "write_repository"}
        if service == "git-upload-pack":
            wanted |= {"read_repository", "read_api"}
        if not wanted & scopes:
            return None
        g.user = owner
        return True
    g.user = by_password(name, secret)
    return True if g.user is not None else None


def _dulwich_answer(project: Project, service: str, body: bytes, *, advertise: bool) -> bytes:
    """Dulwich's answer."""
    from dulwich.protocol import ReceivableProtocol
    from dulwich.server import Backend, ReceivePackHandler, UploadPackHandler

    from pytest_webarena.embedded.gitlab.repository import Repository

    repository = Repository(store(), database(), project.id, project.branch)
    if service == "git-receive-pack":
        repository.hooks["update"] = _Update(project, store())  # type: ignore[assignment]

    class One(Backend):
        def open_repository(self, path: str | bytes) -> Any:
            return repository

    out = BytesIO()
    handlers: dict[str, Any] = {"git-upload-pack": UploadPackHandler, "git-receive-pack": ReceivePackHandler}
    protocol = ReceivableProtocol(BytesIO(body).read, out.write)
    handlers[service](One(), ["/"], protocol, stateless_rpc=True, advertise_refs=advertise).handle()
    return out.getvalue()


class _Update:
    """Asked before each branch that is pushed: whether it may be."""

    def __init__(self, project: Project, kept: Store) -> None:
        self._project = project
        self._store = kept

    def execute(self, ref: bytes, old: bytes, new: bytes) -> tuple[bytes, bytes]:
        from dulwich.errors import HookError

        name = ref.decode("utf-8", "replace")
        branch = re.sub("^refs/heads/", "", name)
        if not name.startswith(("refs/heads/", "refs/tags/")):
            raise HookError("only branches and tags can be pushed")
        if not self._project.may_push(branch):
            raise HookError(f"you are not allowed to push code to the protected branch {branch}")
        if name.startswith("refs/heads/") and not self._store.refs(self._project.id):
            if not self._project.may("maintainer"):
                raise HookError("the first branch becomes the default one, which takes the role of maintainer")
            change("projects", self._project.id, default_branch=branch)
        if branch == self._project.branch and set(new) == {ord("0")}:
            raise HookError("the default branch can't be deleted")
        if branch == self._project.branch and set(old) != {ord("0")}:
            commit = new.decode()
            self._store.record(self._store.peeled(commit))
            if not self._store.is_ancestor(old.decode(), commit):
                raise HookError(f"the protected branch {branch} can't be pushed to by force")
        add_event(self._project.id, "deleted branch" if set(new) == {ord("0")} else "pushed to", branch)
        return b"", b""
