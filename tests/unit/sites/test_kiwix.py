"""The encyclopedia served by a real kiwix-serve as in docs/sites.md, with a ZIM file of the embedded articles."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest
from PIL import Image
from werkzeug.test import Client

from pytest_webarena.embedded import wikipedia
from pytest_webarena.sites.backends.base import BackendContext
from pytest_webarena.sites.backends.process import ProcessBackend
from pytest_webarena.sites.catalogues.loading import load_catalogue

from .test_process_backend import get

_DOCS = Path(__file__).parents[3] / "docs/sites.md"
_TITLES = ("Tarnmark", "Aldersey", "River Wend", "Lake Hallmere")


@pytest.fixture
def zim(tmp_path: Path) -> Path:
    """A file with the name and landing page of WebArena's; skips without the programs, except on CI."""
    missing = [name for name in ("kiwix-serve", "zimwriterfs") if shutil.which(name) is None]
    if missing:
        sentence = f"no {' and no '.join(missing)}: apt-get install kiwix-tools zim-tools"
        if os.environ.get("WEBARENA_REQUIRE_KIWIX") == "1":
            pytest.fail(f"WEBARENA_REQUIRE_KIWIX=1, but there is {sentence}", pytrace=False)
        pytest.skip(sentence)
    data, source = tmp_path / "data", tmp_path / "source"
    wikipedia.seed(data)
    client = Client(wikipedia.create_app(data))
    (source / "User:The_other_Kiwix_guy").mkdir(parents=True)
    (source / "User:The_other_Kiwix_guy/Landing").write_text("<!doctype html><title>Landing</title><h1>Welcome</h1>")
    Image.new("RGB", (48, 48), "white").save(source / "icon.png")
    for title in _TITLES:
        article = re.findall("<article>.*</article>", client.get(f"/wiki/{title}").text, re.DOTALL)[0]
        linked = re.sub(r'href="/wiki/([^"#]*)[^"]*"', lambda link: f'href="{unquote(link[1])}.html"', article)
        page = f"<!doctype html><html><head><title>{title}</title></head><body>{linked}</body></html>"
        (source / f"{title}.html").write_text(page)
    made = tmp_path / "wikipedia_en_all_maxi_2022-05.zim"
    names = ["--language=eng", "--title=Tarnmark", "--description=Four articles", "--creator=us", "--publisher=us"]
    command = ["zimwriterfs", "--welcome=Tarnmark.html", "--illustration=icon.png", *names, str(source), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return made


def test_the_documented_catalogue_serves_a_zim_file(zim: Path, tmp_path: Path) -> None:
    [block] = re.findall(r"```yaml\n(# kiwix\.yaml.*?)```", _DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert "/data/wikipedia_en_all_maxi_2022-05.zim" in block
    catalogue = tmp_path / "kiwix.yaml"
    catalogue.write_text(block.replace("/data/wikipedia_en_all_maxi_2022-05.zim", str(zim)))
    app = load_catalogue(str(catalogue)).apps["wikipedia"]
    assert app.read_only
    root = app.sites[0].root
    folder = root.partition("/User:")[0]

    async def visit() -> None:
        backend = ProcessBackend(BackendContext(run="test", owner="", directory=tmp_path / "scratch", environ={}))
        try:
            await backend.prepare(app)
            replica = await backend.start(app, "wikipedia-1")
            assert "<h1>Welcome</h1>" in get(replica, root)
            assert "48,210 (2024)" in get(replica, f"{folder}/Aldersey.html")
            found = get(replica, f"/search?content={folder.split('/')[1]}&pattern=crown+currency")
            assert "Tarnmark.html" in found, found
        finally:
            await backend.close()

    asyncio.run(visit())
