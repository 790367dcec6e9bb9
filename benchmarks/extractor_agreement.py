"""Compares the lines that the two extractors print, over a corpus of pages.

    python benchmarks/extractor_agreement.py [--page] [--show] [--no-sites] [NAME …]

Lines are compared without their ids. The corpus is the pages of ``tests/browser/agreement``, `static_pages`, and pages
of the embedded start page and store. Columns: number of lines of each extractor, equal lines, milliseconds of each.
``docs/observations.md`` lists the differences and their reasons.
"""

from __future__ import annotations

import argparse
import difflib
import statistics
import sys
import tempfile
import time
from pathlib import Path

from static_pages import PAGES
from upstream_agreement import SITE_PAGES, Pages, lines, site_apps

from pytest_webarena.browser.config import EngineConfig, ObservationConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine

OWN = Path(__file__).parents[1] / "tests" / "browser" / "agreement"
_TIMES = 3


def main() -> int:
    """Prints the agreement for each page and in total."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="pages (default: the whole corpus)")
    parser.add_argument("--page", action="store_true", help="read the whole page, not the viewport")
    parser.add_argument("--show", action="store_true", help="print the lines that differ")
    parser.add_argument("--no-sites", action="store_true", help="read only handwritten pages")
    options = parser.parse_args()
    PAGES.update({file.stem: file.read_text("utf-8") for file in OWN.glob("*.html")})
    with tempfile.TemporaryDirectory(prefix="agreement-") as folder:
        sites = {} if options.no_sites or options.names else site_apps(Path(folder))
        urls = [f"http://pages.test/{name}" for name in options.names or PAGES]
        urls += [host + path for host in sites for path in SITE_PAGES[host]]
        return compare(urls, Pages(sites).proxy, options)


def compare(urls: list[str], proxy: str, options: argparse.Namespace) -> int:
    """Reads ``urls`` with both extractors."""
    read: dict[tuple[str, str], tuple[list[str], float]] = {}
    with BrowserEngine(EngineConfig()) as engine:
        for extractor in ("exact", "fast"):
            observation = ObservationConfig.from_plain(
                {"extractor": extractor, "current_viewport_only": not options.page}
            )
            with engine.session(SessionConfig(proxy=proxy, observation=observation)) as session:
                for url in urls:
                    session.open_tabs([url])
                    times = []
                    for _ in range(_TIMES):
                        began = time.perf_counter()
                        text = session.observe().text
                        times.append(time.perf_counter() - began)
                    read[extractor, url] = lines(text)[2:], statistics.median(times)
        print(f"{engine.version}; {'whole page' if options.page else 'viewport'}")
    print(f"{'page':<46} {'exact':>6} {'fast':>6} {'same':>6}   ms exact  ms fast")
    same_pages = same_lines = all_lines = 0
    for url in urls:
        (left, slow), (right, quick) = read["exact", url], read["fast", url]
        matches = difflib.SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
        same = sum(match.size for match in matches)
        same_pages += left == right
        same_lines, all_lines = same_lines + same, all_lines + max(len(left), len(right))
        print(
            f"{url.removeprefix('http://'):<46} {len(left):>6} {len(right):>6} {same:>6}"
            f"   {1000 * slow:>8.0f} {1000 * quick:>8.0f}{'' if left == right else '  *'}"
        )
        if options.show and left != right:
            print("\n".join(difflib.unified_diff(left, right, "exact", "fast", lineterm="", n=0)))
    print(f"equal: {same_pages} of {len(urls)} pages, {same_lines} of {all_lines} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
