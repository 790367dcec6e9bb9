"""Takes the documentation's pictures from runs on the embedded sites: ``make pictures``.

    python scripts/pictures.py [terminals] [viewer] [allure]

Shows terminals, the viewer and Allure as users see them, and writes ``docs/images`` as PNGs with few colours. A picture
that cannot be taken (Allure without npm) stays as it is, with a message.
"""

from __future__ import annotations

import html
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from pytest_webarena.browser.launching.discovery import find_browser
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.viewer import write_view
from scripts.demo import ALLURE

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
BIN = Path(sys.executable).parent
SHOWN = "shopping-into-basket.tent"
"""The trial whose steps are shown."""
COLOURS = 96

TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #14181d; color: #d8dee6; font: 14px/1.4 'DejaVu Sans Mono', monospace }}
pre {{ margin: 0; padding: 16px 20px; width: max-content; font: inherit }}
.c1 {{ font-weight: bold }} .c31 {{ color: #ff7b72 }} .c32 {{ color: #6fd08c }} .c33 {{ color: #e3b341 }}
.c36 {{ color: #6cc7dd }} .c90 {{ color: #8b949e }} .prompt {{ color: #8b949e }}
</style><pre>{}</pre>"""


def main(parts: set[str]) -> int:
    """Makes the named pictures."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder, sync_playwright() as playwright:
        work = Path(folder)
        executable = find_browser(None).executable
        browser = playwright.chromium.launch(executable_path=str(executable) if executable else None)
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        if parts & {"terminals"}:
            terminals(page, work)
        if parts & {"viewer", "allure"}:
            run, results = store(work)
        if parts & {"viewer"}:
            viewer(page, run, work / "view.html")
        if parts & {"allure"}:
            allure(page, results, work / "report")
        browser.close()
    for path in sorted(IMAGES.glob("*.png")):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1024:.0f} KB")
    return 0


def terminals(page: Page, work: Path) -> None:
    """Shows what pytest prints for the project that ``webarena init`` writes."""
    subprocess.run([BIN / "webarena", "init", "my-tasks"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    for name, arguments in (("oracle", []), ("agent", ["--agent=agents/mine.yaml"])):
        shown = pytest(work / "my-tasks", *arguments, "--color=yes", "--no-header")  # the header describes this machine
        shown = re.sub(r"\nwebarena: waiting .*\n|(?<=[.Fm])\ntasks/todo.yaml ", "", shown)  # and this how busy it is
        typed = f'<span class="prompt">$</span> {" ".join(["pytest", *arguments])}\n'
        page.set_content(TERMINAL.format(typed + as_html(shown.replace(str(work), "~"))))
        save(page.locator("pre").screenshot(), f"terminal-{name}.png")


def store(work: Path) -> tuple[RunDir, Path]:
    """Runs the demo's agents on the embedded store; returns the run and its results for Allure."""
    tasks = ROOT / "tasks" / "shopping"
    wanted = ["-k", "into-basket or product-detail", "-n", "2", f"--run-dir={work / 'run'}"]
    agents = ["--agent=oracle", "--agent=reader", f"--alluredir={work / 'results'}"]
    pytest(ROOT, str(tasks / "content.yaml"), str(tasks / "products.yaml"), *wanted, *agents)
    return RunDir(work / "run"), work / "results"


def viewer(page: Page, run: RunDir, target: Path) -> None:
    """Shows one step of a trial, and the table of all trials."""
    write_view(run, target)
    page.goto(target.as_uri())
    save(page.screenshot(), "viewer-run.png")
    folder = next(
        path.name for path in sorted((run.path / "trials").iterdir()) if path.name.startswith(f"{SHOWN}.reader")
    )
    page.goto(f"{target.as_uri()}#{folder}/3")
    page.reload()
    page.wait_for_function("[...document.images].every(image => image.complete)")
    save(page.screenshot(), "viewer-trial.png")


def allure(page: Page, results: Path, report: Path) -> None:
    """Shows a trial in Allure's report."""
    command = [*ALLURE, "generate", str(results), f"--config={results / 'allurerc.mjs'}", f"--output={report}"]
    try:
        subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"allure.png stays as it is: {error}", file=sys.stderr)
        return
    page.route(re.compile("^https?:"), lambda route: route.abort())  # blocks its analytics
    page.goto((report / "index.html").as_uri())
    page.get_by_text("tents for two persons").first.click()
    page.get_by_text("tents for two persons").last.wait_for()
    page.wait_for_load_state("networkidle")
    save(page.screenshot(), "allure.png")


def pytest(folder: Path, *arguments: str) -> str:
    """Returns the output of a pytest run; failed tests belong to the pictures."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "88"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def as_html(text: str) -> str:
    """Returns a terminal's coloured text as HTML."""
    made, is_open = "", False
    for part in re.split(r"(\x1b\[[\d;]*m)", text):
        if not part.startswith("\x1b"):
            made += html.escape(part)
            continue
        codes = [code for code in part[2:-1].split(";") if code.strip("0")]
        made += "</span>" if is_open else ""
        made += f'<span class="{" ".join(f"c{code}" for code in codes)}">' if codes else ""
        is_open = bool(codes)
    return made + ("</span>" if is_open else "")


def save(png: bytes, name: str) -> None:
    """Saves a picture with few colours, which has a quarter of the size and looks the same."""
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(IMAGES / name, optimize=True)


if __name__ == "__main__":
    sys.exit(main(set(sys.argv[1:]) or {"terminals", "viewer", "allure"}))
