"""Static files and pictures: served from memory, before Django, without touching the database."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage
from django.utils.deconstruct import deconstructible

from pytest_webarena.embedded.shop import artwork

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["ArtworkStorage", "Files", "NoThumbnails", "forget_uploads"]

_uploads = InMemoryStorage(base_url="/media/")


def forget_uploads() -> None:
    """Pictures uploaded in the back office live as long as the replica."""
    global _uploads
    _uploads = InMemoryStorage(base_url="/media/")


@deconstructible
class ArtworkStorage(InMemoryStorage):
    """Product pictures are drawn from their file names; uploads are kept in memory.

    So the data directory stays one SQLite file, and looking at a page never writes.
    """

    def _open(self, name: str, mode: str = "rb") -> Any:
        drawn = artwork.draw(name)
        return ContentFile(drawn, name=name) if drawn is not None else _uploads.open(name, mode)

    def _save(self, name: str, content: Any) -> str:
        return _uploads.save(name, content)

    def exists(self, name: str) -> bool:
        return artwork.draw(name) is not None or _uploads.exists(name)

    def delete(self, name: str) -> None:
        if artwork.draw(name) is None:
            _uploads.delete(name)

    def size(self, name: str) -> int:
        drawn = artwork.draw(name)
        return len(drawn) if drawn is not None else int(_uploads.size(name))

    def url(self, name: str | None) -> str:
        return "/media/" + quote(name or "")


class NoThumbnails:
    """Oscar's thumbnail protocol: drawings scale by themselves, uploads are scaled by the browser."""

    def generate_thumbnail(self, source: Any, **_: Any) -> _Picture:
        """The picture itself, whatever the size asked for."""
        return _Picture(str(getattr(source, "name", source)))

    def delete_thumbnails(self, source: Any) -> None:
        """Nothing to delete."""


class _Picture:
    def __init__(self, name: str) -> None:
        self.url = "/media/" + quote(name)


class Files:
    """WSGI: ``/static/``, ``/media/`` and the icon; everything else is the store's."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/favicon.ico":
            path = "/static/shop/favicon.svg"
        if path.startswith("/static/"):
            found = _static(path[len("/static/") :])
        elif path.startswith("/media/"):
            found = _media(path[len("/media/") :])
        else:
            return self._app(environ, start_response)
        if environ.get("REQUEST_METHOD") not in ("GET", "HEAD"):
            return _answer(start_response, HTTPStatus.METHOD_NOT_ALLOWED, [("Allow", "GET, HEAD")], b"")
        if found is None:
            return _answer(start_response, HTTPStatus.NOT_FOUND, [("Content-Type", "text/plain")], b"not found")
        content_type, tag, body = found
        headers = [("Cache-Control", "public, max-age=3600"), ("ETag", tag)]
        if environ.get("HTTP_IF_NONE_MATCH") == tag:
            return _answer(start_response, HTTPStatus.NOT_MODIFIED, headers, b"")
        headers.append(("Content-Type", content_type))
        return _answer(start_response, HTTPStatus.OK, headers, body if environ["REQUEST_METHOD"] == "GET" else b"")


def _answer(
    start_response: StartResponse, status: HTTPStatus, headers: list[tuple[str, str]], body: bytes
) -> list[bytes]:
    start_response(f"{status.value} {status.phrase}", [*headers, ("Content-Length", str(len(body)))])
    return [body]


@lru_cache(maxsize=512)
def _static(name: str) -> tuple[str, str, bytes] | None:
    if ".." in name.split("/"):
        return None
    path = finders.find(name)
    if not isinstance(path, str):
        return None
    try:
        with open(path, "rb") as file:
            return _described(name, file.read())
    except OSError:
        return None


def _media(name: str) -> tuple[str, str, bytes] | None:
    drawn = _drawing(name)
    if drawn is not None:
        return drawn
    if ".." in name or not _uploads.exists(name):
        return None
    with _uploads.open(name) as file:
        return _described(name, file.read())


@lru_cache(maxsize=4096)
def _drawing(name: str) -> tuple[str, str, bytes] | None:
    drawn = artwork.draw(name)
    return None if drawn is None else _described(name, drawn)


def _described(name: str, body: bytes) -> tuple[str, str, bytes]:
    content_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    if content_type.startswith("text/") or content_type in ("application/javascript", "image/svg+xml"):
        content_type += "; charset=utf-8"
    return content_type, f'"{hashlib.sha256(body).hexdigest()[:20]}"', body
