"""Opens our archives with other tools, and their archives with ours.

    python scripts/foreign_archives.py [FOLDER] [--fault FAULT]

The tools are installed from their registries into FOLDER (default: a temporary one): wacz (PyPI, with warcio),
warcio.js and js-wacz (npm). Each reads an archive that `pytest_webarena.archives.writing` made; every page of its
result is served again and compared. Prints a line per tool. Exit code 1: an archive was not read. With an injected
``--fault`` it must exit with 1, which proves that it notices faults.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pytest_webarena.archives.answering import answer
from pytest_webarena.archives.archive import Archive
from pytest_webarena.archives.writing import WarcFile
from pytest_webarena.errors import UsageError

PAGES = {
    "http://tea.example/": b"<title>Tea</title><a href='/list?b=2&a=1'>list</a>",
    "http://tea.example/list?b=2&a=1": b"<title>List</title><p>12 teas</p>" * 50,
    "http://tea.example/gr%C3%BCn": "<title>Grün</title>".encode(),
    "http://cdn.example/app.js": b"document.title = 'x'",
}
PACKAGES = ("warcio", "@harvard-lil/js-wacz")
FAULTS: dict[str, tuple[bytes, bytes]] = {
    "digest": (rb"WARC-Block-Digest: sha1:\w+", b"WARC-Block-Digest: sha1:" + b"A" * 32),
    "body": (rb"12 teas", b"21 teas"),
    "address": (rb"WARC-Target-URI: http://cdn\.example/", b"WARC-Target-URI: http://cdn.sample/"),
    "length": (rb"msgtype=response\r\nContent-Length: (\d+)", rb"msgtype=response\r\nContent-Length: 1\1"),
}
"""What a faulty writer would do: a pattern, and its replacement."""


def run(*command: str | Path, cwd: Path) -> str:
    """Returns the output of a command, or a sentence about its failure."""
    done = subprocess.run([str(each) for each in command], cwd=cwd, capture_output=True, text=True, check=False)
    return (
        done.stdout + done.stderr
        if done.returncode == 0
        else f"FAILED ({done.returncode}): {(done.stderr or done.stdout)[-300:]}"
    )


def written(path: Path) -> Path:
    """Writes one of our archives."""
    with WarcFile(path, sites={}) as file:
        for number, (url, got) in enumerate(PAGES.items()):
            kind = "text/javascript" if url.endswith(".js") else "text/html"
            file.add(
                method="GET", url=url, request_head="GET / HTTP/1.1\r\nAccept: */*\r\n", request_body=b"",
                response_head=f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n", response_body=got,
                time=1_700_000_000.0 + number,
            )  # fmt: skip
    return path


def spoil(path: Path, fault: str) -> None:
    """Applies one of the `FAULTS` to an archive; each record stays compressed separately."""
    records = re.split(rb"(?=WARC/1\.1\r\n)", re.sub(*FAULTS[fault], gzip.decompress(path.read_bytes())))
    path.write_bytes(b"".join(gzip.compress(each) for each in records if each))


def served(path: Path) -> str:
    """Checks whether an archive serves all pages unchanged; returns a sentence about the result."""
    try:
        archive = Archive([path])
    except UsageError as error:
        return f"FAILED: {error}"
    wrong = [url for url, data in PAGES.items() if answer(archive, "GET", url, {}).data != data]
    archive.close()
    return "served whole" if not wrong else f"FAILED: other answers for {wrong}"


def main() -> int:
    """Runs the comparison described in the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="folder of the tools (default: temporary)")
    parser.add_argument("--fault", choices=FAULTS, help="inject this fault into our archive")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temp:
        folder = Path(given.folder or temp).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        run(sys.executable, "-m", "venv", "py", cwd=folder)
        outputs = {"pip install wacz": run(folder / "py/bin/pip", "install", "-q", "wacz", cwd=folder)}
        if shutil.which("npm"):
            outputs["npm install"] = run("npm", "install", "--no-audit", "--no-fund", *PACKAGES, cwd=folder)
        own_archive = folder / "ours.warc.gz"
        for archive in (own_archive, folder / "js.wacz", folder / "py.wacz"):
            archive.unlink(missing_ok=True)
        written(own_archive)
        if given.fault:
            spoil(own_archive, given.fault)
        outputs["warcio checks ours"] = run(folder / "py/bin/warcio", "check", own_archive, cwd=folder)
        modules = folder / "node_modules"
        if modules.is_dir():
            lines = run(modules / ".bin/warcio", "index", own_archive, cwd=folder).splitlines()
            found = sum(any(f'"{url}"' in line for line in lines if '"response"' in line) for url in PAGES)
            missing = "" if found == len(PAGES) else f"FAILED: {lines[-1:]}; "
            outputs["warcio.js reads ours"] = f"{missing}{found} of {len(PAGES)} addresses"
            packing: list[str | Path] = [modules / ".bin/js-wacz", "create", "-f", own_archive, "-o", "js.wacz"]
            outputs["js-wacz packs ours"] = run(*packing, cwd=folder)
            outputs["served from js-wacz"] = served(folder / "js.wacz")
        outputs["wacz packs ours"] = run(
            folder / "py/bin/wacz", "create", "-f", own_archive, "-o", "py.wacz", cwd=folder
        )
        outputs["wacz validates it"] = run(folder / "py/bin/wacz", "validate", "-f", "py.wacz", cwd=folder)
        outputs["served from wacz"] = served(folder / "py.wacz")
    for what, output in outputs.items():
        print(f"{what}: {output if 'FAILED' in output else (output.strip().splitlines() or ['done'])[-1]}")
    return any("FAILED" in output for output in outputs.values())


if __name__ == "__main__":
    sys.exit(main())
