"""Downloaded files as text for agents: text files as they are, PDF files by their text."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from pytest_webarena.browser import pdf_text
from pytest_webarena.browser.messages import writable

__all__ = ["LARGEST", "FileText", "read_file"]

LARGEST = 20_000_000
"""Maximum size in bytes of a file that is read."""
_PDF_SECONDS = 10
"""Maximum processor time for reading a PDF; waiting for it takes at most three times as long."""
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """The text of a file, or a sentence that says why there is none."""

    about: str = ""
    """Size of the content, e.g. ``PDF, 3 pages``."""
    text: str = ""
    missing: str = ""


async def read_file(path: Path, most: int) -> FileText:
    """Read a file; at most ``most`` characters of its text are kept, and the rest is counted."""
    size = path.stat().st_size
    if size > LARGEST:
        return FileText(missing=f"It has {size:,} bytes; files of at most {LARGEST:,} bytes are read.")
    with path.open("rb") as file:
        is_pdf = b"%PDF-" in file.read(1024)
    if is_pdf:
        return await _read_pdf(path, most)
    return await asyncio.to_thread(_read_text, path, most)


def _read_text(path: Path, most: int) -> FileText:
    data = path.read_bytes()
    text = _decoded(data)
    size = f"{len(data):,} {'byte' if len(data) == 1 else 'bytes'}"
    if text is None:
        return FileText(missing=f"It is not a text file ({size}).")
    text = "\n".join(text.splitlines())
    if not text.strip():
        return FileText(missing=f"It is empty ({size}).")
    lines = text.count("\n") + 1
    return FileText(about=f"{lines:,} {'line' if lines == 1 else 'lines'}, {size}", text=_cut(text, most))


def _decoded(data: bytes) -> str | None:
    """Return the content of a text file; None for another one."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if _BINARY.search(data):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")  # spreadsheets still write it


async def _read_pdf(path: Path, most: int) -> FileText:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", pdf_text.__file__, str(path), str(most), str(_PDF_SECONDS),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env={},
    )  # fmt: skip
    try:
        async with asyncio.timeout(3 * _PDF_SECONDS):
            output, _ = await process.communicate()
        read = json.loads(output)
    except (TimeoutError, ValueError):
        return FileText(missing="The PDF can't be read: that takes too much time or memory.")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if error := read.get("error"):
        return FileText(missing=f"The PDF can't be read: {error}.")
    pages = f"PDF, {read['pages']:,} {'page' if read['pages'] == 1 else 'pages'}"
    text = writable(read["text"])
    if not text.strip():
        return FileText(missing=f"The {pages}, contains no text.")
    return FileText(about=pages, text=_cut(text, most, counted=False))


def _cut(text: str, most: int, *, counted: bool = True) -> str:
    text = writable(text)
    if len(text) <= most:
        return text
    return text[:most] + (f"\n… cut here: {len(text) - most:,} more characters" if counted else "\n… cut here")
