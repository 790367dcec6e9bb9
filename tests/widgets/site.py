"""Serves the pages of the widgets, installs the npm packages that they use, and bundles what needs it."""

from __future__ import annotations

import mimetypes
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.browser.conftest import Reply, Request, Web

__all__ = ["HERE", "WidgetSite", "install", "missing_packages"]

HERE = Path(__file__).parent
PAGES = HERE / "pages"
MODULES = HERE / "node_modules"
BUNDLES = MODULES / ".bundles"
CSV = "name,price\nGreen tea,4.25\nRye bread,2.10\n"
_FOLDERS = {"modules": MODULES, "bundles": BUNDLES}


class WidgetSite(Web):
    """The pages of `PAGES` by name, below any host name; it is their proxy, too."""

    def address(self, page: str) -> str:
        """Return the address of a page."""
        return f"http://widgets.test/{page}"

    def answer(self, request: Request) -> Reply:
        """Return a page, a file of a package, a bundle, or a document."""
        parts = urlsplit(request.url)
        first, _, rest = parts.path.strip("/").partition("/")
        if first in _FOLDERS:
            return _file(_FOLDERS[first] / rest, _FOLDERS[first])
        if first == "delayed":
            self.released.wait(float(parse_qs(parts.query)["seconds"][0]))
            return Reply(body="{}", headers={"Content-Type": "application/json"})
        if first == "prices.csv":
            return Reply(body=CSV, headers={"Content-Type": "text/csv"})
        if first == "invoice.pdf":
            return Reply(body=invoice("Invoice 4711"), headers={"Content-Type": "application/pdf"})
        return _file(PAGES / f"{first}.html", PAGES)


def _file(path: Path, folder: Path) -> Reply:
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        return Reply(body="Not found", status=404)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Reply(body=path.read_bytes(), headers={"Content-Type": f"{kind}; charset=utf-8"})


def invoice(text: str) -> bytes:
    """Return a PDF of one page with a line of text."""
    shown = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown),
    ]
    made, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(made))
    return made + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table) + end


def missing_packages(packages: Iterable[str]) -> list[str]:
    """Return those of the packages that are not installed."""
    return [name for name in packages if not (MODULES / name).is_dir()]


def install() -> None:
    """Install the pinned packages and bundle the entry points of the pages."""
    subprocess.run(["npm", "ci", f"--prefix={HERE}", "--no-audit", "--no-fund", "--loglevel=error"], check=True)
    bundle()


def bundle() -> None:
    """Bundle the entry points of the pages."""
    entries = [str(entry) for entry in sorted(PAGES.glob("*.entry.js*"))]
    esbuild = MODULES / ".bin" / "esbuild"
    options = ["--bundle", "--log-level=warning", "--jsx=automatic", '--define:process.env.NODE_ENV="production"']
    names = ["--entry-names=[name]", "--out-extension:.js=.js", f"--outdir={BUNDLES}"]
    subprocess.run([str(esbuild), *entries, *options, *names], check=True, env={"NODE_PATH": str(MODULES)})
    for made in BUNDLES.glob("*.entry.js"):
        made.replace(BUNDLES / made.name.replace(".entry", ""))


if __name__ == "__main__":
    try:
        install()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"The packages of tests/widgets/package.json could not be installed with npm: {error}")
