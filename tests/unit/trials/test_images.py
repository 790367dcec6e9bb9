"""Loading of an intent's images from files, sites and, if allowed, other hosts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteError, SiteMissing, TaskError
from pytest_webarena.results import RunDir, TrialKey
from pytest_webarena.tasks.model import ImageSource, Location, Task
from pytest_webarena.trials import images
from pytest_webarena.trials.images import load_images

PNG, JPEG, GIF = b"\x89PNG\r\n\x1a\n...", b"\xff\xd8\xff...", b"GIF89a..."
WEBP = b"RIFF\0\0\0\0WEBP..."


class Live:
    """Two sites that have the given files."""

    def __init__(self, **served: bytes) -> None:
        self.sites = {"shop": "http://shop.test", "admin": "http://shop.test:81/admin"}
        self.served = served
        self.asked: list[tuple[str, str]] = []

    def download(self, site: str, path: str) -> tuple[int, bytes]:
        self.asked.append((site, path))
        status = path.rpartition("/")[2]
        return (int(status), b"") if status.isdigit() else (200, self.served[status])


def task_with(tmp_path: Path, *sources: ImageSource) -> Task:
    location = Location(path=str(tmp_path / "a.tasks.yaml"), line=1)
    return Task(id="t", intent="i", sites=("shop",), images=sources, location=location)


def test_images_are_loaded_from_task_folder_and_sites(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(PNG)
    sources = (
        ImageSource(path="pictures/a.png"),
        ImageSource(site="shop", path="/media/b"),
        ImageSource(path="http://shop.test/media/c"),
        ImageSource(path="http://shop.test:81/d"),
    )
    live = Live(b=JPEG, c=GIF, d=WEBP)
    found = load_images(task_with(tmp_path, *sources), live, fetch=False)
    kinds = [("a.png", "image/png"), ("b", "image/jpeg"), ("c", "image/gif"), ("d", "image/webp")]
    assert [(image.name, image.media_type) for image in found] == kinds
    assert [image.data for image in found] == [PNG, JPEG, GIF, WEBP]
    assert live.asked == [
        ("shop", "/media/b"),
        ("shop", "http://shop.test/media/c"),
        ("admin", "http://shop.test:81/d"),
    ]
    assert found[0].data_url.startswith("data:image/png;base64,iVBORw0K")

    writer = RunDir(tmp_path / "run").folder(TrialKey("t", "a", 1)).begin(worker="main", node_id="n")
    writer.given(found)
    assert sorted(path.name for path in (writer.path / "intent_images").iterdir()) == [
        "0.png",
        "1.jpg",
        "2.gif",
        "3.webp",
    ]


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (ImageSource(path="none.png"), TaskError, "expected the file .*none.png, found: no such file"),
        (ImageSource(path="a.tasks.yaml"), TaskError, "expected a PNG, JPEG, GIF or WebP image, found b'tasks"),
        (ImageSource(site="shop", path="/404"), TaskError, "found status 404"),
        (ImageSource(site="shop", path="/503"), SiteError, "status 503"),
        (ImageSource(path="https://example.org/a.png"), SiteMissing, "is on example.org.*--fetch-images"),
        (ImageSource(site="shop", path="/big"), TaskError, "at most 50 bytes, found 51"),
    ],
)
def test_unusable_images_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: ImageSource, error: type[Exception], message: str
) -> None:
    monkeypatch.setattr(images, "MAX_BYTES", 50)
    (tmp_path / "a.tasks.yaml").write_text("tasks: []")
    with pytest.raises(error, match=message):
        load_images(task_with(tmp_path, source), Live(big=PNG.ljust(51)), fetch=False)


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """A server that is not among the task's sites."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404 if "none" in self.path else 200)
            self.end_headers()
            self.wfile.write(PNG)

        def log_message(self, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_images_of_other_hosts_are_loaded_with_fetch(tmp_path: Path, elsewhere: str) -> None:
    task = task_with(tmp_path, ImageSource(path=f"{elsewhere}/kettle%20red.png?size=1"))
    [found] = load_images(task, Live(), fetch=True)
    assert (found.name, found.data) == ("kettle red.png", PNG)
    with pytest.raises(SiteError, match=r"expected it within 30 s, found: HTTP Error 404"):
        load_images(replace(task, images=(ImageSource(path=f"{elsewhere}/none.png"),)), Live(), fetch=True)
