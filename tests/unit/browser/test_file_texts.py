"""Downloaded files as text: encodings, PDF files, limits, and files that can't be read."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from pytest_webarena.browser import file_texts
from pytest_webarena.browser.file_texts import FileText, read_file
from tests.cases import each_case

MOST = 200


def pdf(*pages: str, password: str = "") -> bytes:
    """Make a PDF whose pages show these texts."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject({
        NameObject("/Type"): NameObject("/Font"),
        NameObject("/Subtype"): NameObject("/Type1"),
        NameObject("/BaseFont"): NameObject("/Helvetica"),
    })  # fmt: skip
    for text in pages:
        page = writer.add_blank_page(300, 100)
        page[NameObject("/Resources")] = DictionaryObject({
            NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})
        })  # fmt: skip
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 10 50 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    if password:
        writer.encrypt(password)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def read(path: Path, data: bytes) -> FileText:
    path.write_bytes(data)
    return asyncio.run(read_file(path, MOST))


@each_case(
    "data, about, text",
    [
        (b"name,price\nTea,3\n", "2 lines, 17 bytes", "name,price\nTea,3"),
        (b"one line", "1 line, 8 bytes", "one line"),
        ("caf\xe9;1".encode("cp1252"), "1 line, 6 bytes", "caf\xe9;1"),
        ("\ufeffcaf\xe9".encode(), "1 line, 8 bytes", "caf\xe9"),
        ("caf\xe9".encode("utf-16"), "1 line, 10 bytes", "caf\xe9"),
        (b"x" * 250, "1 line, 250 bytes", "x" * 200 + "\n… cut here: 50 more characters"),
    ],
)
def test_text_files_are_read_in_their_encoding(tmp_path: Path, data: bytes, about: str, text: str) -> None:
    found = read(tmp_path / "file", data)
    assert (found.about, found.text, found.missing) == (about, text, "")


@each_case(
    "pages, about, text",
    [
        (("Invoice 7", "Total 12 EUR"), "PDF, 2 pages", "Invoice 7\nTotal 12 EUR"),
        (("a" * 150, "b" * 150, "c"), "PDF, 3 pages", "a" * 150 + "\n" + "b" * 49 + "\n… cut here"),
    ],
)
def test_pdf_files_are_read_up_to_the_limit(tmp_path: Path, pages: tuple[str, ...], about: str, text: str) -> None:
    found = read(tmp_path / "file", pdf(*pages))
    assert (found.about, found.text, found.missing) == (about, text, "")


@each_case(
    "data, missing",
    [
        (b"PK\x03\x04\x00\x00", "It is not a text file (6 bytes)."),
        (b"\n", "It is empty (1 byte)."),
        (b"%PDF-1.7 and nothing else", "The PDF can't be read: it is not a valid PDF."),
        (pdf("Secret", password="x"), "The PDF can't be read: it is encrypted."),
        (pdf(""), "The PDF, 1 page, contains no text."),
    ],
)
def test_reason_is_given_for_files_without_text(tmp_path: Path, data: bytes, missing: str) -> None:
    found = read(tmp_path / "file", data)
    assert (found.text, found.missing) == ("", missing)


def test_large_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_texts, "LARGEST", 10)
    assert read(tmp_path / "file", b"x" * 11).missing == "It has 11 bytes; files of at most 10 bytes are read."


def test_a_parser_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text("while True: pass")
    monkeypatch.setattr("pytest_webarena.browser.file_texts.pdf_text.__file__", str(endless))
    monkeypatch.setattr(file_texts, "_PDF_SECONDS", 0.1)
    assert read(tmp_path / "file", b"%PDF-1.7").missing == "The PDF can't be read: that takes too much time or memory."
