"""Builds the documentation's site with strict checks: ``make site`` calls ``python scripts/build_site.py site``.

Sphinx turns warnings into errors, so every link and anchor in the pages has a target. What Sphinx does not check is
checked on the built pages: every address in the package's messages and in the README exists, and no page loads anything
from another host.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_webarena.docs_site import ADDRESS
from scripts.package_readme import with_addresses

ROOT = Path(__file__).resolve().parents[1]
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc=\"(?:https?:)?//[^\"]+|"
    r"<link\b(?=[^>]*rel=\"(?:stylesheet|preload|preconnect|icon)[^>]*)[^>]*href=\"(?:https?:)?//[^\"]+|"
    r"@import[^;]*//[^;]+|url\([\"']?(?:https?:)?//[^)]+"
)
"""Matches HTML and CSS that makes a browser load something from another host."""


def main(target: Path) -> int:
    """Builds the site into ``target``; prints a line for each fault and returns 1 if there are any."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--fresh-env"]
    built = subprocess.run([*command, str(ROOT / "docs"), str(target)], check=False)
    if built.returncode:
        print("The site has faults: they are above.", file=sys.stderr)
        return 1
    faults = [*dead_addresses(target), *loaded_from_elsewhere(target)]
    print("\n".join(faults or [f"The site: {(target / 'index.html').resolve().as_uri()}"]))
    return 1 if faults else 0


def dead_addresses(site: Path) -> Iterator[str]:
    """Yields addresses that the package, its agents or the README name and that aren't in ``site``."""
    for where, page, anchor in addresses():
        file = site / page
        if not file.is_file():
            yield f"{where}: {page} is no page of the site"
        elif anchor and f'id="{anchor}"' not in file.read_text("utf-8"):
            yield f"{where}: {page} has no heading #{anchor}"


def addresses() -> Iterator[tuple[str, str, str]]:
    """Yields each file that names a page of the site, with the page and its anchor (empty for none)."""
    texts = {path: path.read_text("utf-8") for path in _files()}
    texts[ROOT / "README.md"] = with_addresses((ROOT / "README.md").read_text("utf-8"), ADDRESS)
    for path, text in texts.items():
        for page, anchor in re.findall(re.escape(ADDRESS) + r"([\w./-]+\w)(?:#([\w-]+))?", text):
            yield str(path.relative_to(ROOT)), page, anchor
        for page, anchor in re.findall(r"\bdocs\([\"']([\w-]+)[\"'](?:, [\"']([\w-]+)[\"'])?\)", text):
            yield str(path.relative_to(ROOT)), f"{page}.html", anchor


def _files() -> list[Path]:
    kinds = ("py", "yaml", "yml", "ini", "json")
    found = [path for kind in kinds for path in ROOT.glob(f"pytest_webarena/**/*.{kind}")]
    return [*found, *(path for path in ROOT.glob("agents/*") if path.is_file())]


def loaded_from_elsewhere(site: Path) -> Iterator[str]:
    """Yields what pages and style sheets of ``site`` would load from other hosts."""
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for found in LOADED.findall(path.read_text("utf-8")):
            yield f"{path.relative_to(site)}: loads {found[:120]}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
