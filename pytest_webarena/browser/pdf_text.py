"""Prints the text of a PDF file as JSON. It runs as a program of its own, because hostile files can hang a parser.

    python pdf_text.py FILE CHARACTERS SECONDS

The object has ``pages`` and ``text``, or ``error``. Pages are read until they have that many characters.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

_MEMORY = 2 * 1024**3
"""Maximum address space in bytes."""


def main(file: str, characters: int, seconds: int) -> Mapping[str, object]:
    """Return the object to print."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        import pypdf
    except ImportError:
        return {"error": "pypdf is not installed; run `pip install pypdf`"}
    try:
        reader = pypdf.PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "it is encrypted"}
        texts: list[str] = []
        for page in reader.pages:
            texts.append(page.extract_text())
            if sum(map(len, texts)) > characters:
                break
        return {"pages": len(reader.pages), "text": "\n".join(texts)}
    except Exception:  # parsers of broken files raise anything
        return {"error": "it is not a valid PDF"}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
