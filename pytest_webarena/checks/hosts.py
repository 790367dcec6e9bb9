"""Normal forms of host names; international names have two: ``bücher.example`` and ``xn--bcher-kva.example``."""

from __future__ import annotations

import functools
from urllib.parse import unquote

__all__ = ["ascii_host", "unicode_host"]

_PREFIX = "xn--"


@functools.lru_cache(maxsize=4096)
def ascii_host(name: str) -> str:
    """Returns a host's name as browsers send it: in lower case, with Punycode labels, without a final dot.

    Like browsers, it maps by UTS 46 and accepts labels that registries refuse. A name that no browser accepts is
    returned unchanged.

    >>> ascii_host("BÜCHER.example."), ascii_host("b%C3%BCcher。example"), ascii_host("my_app.test")
    ('xn--bcher-kva.example', 'xn--bcher-kva.example', 'my_app.test')
    """
    name = unquote(name)
    if not name.isascii():
        import idna  # loading its tables takes time, and few tasks need them

        try:
            name = idna.uts46_remap(name, std3_rules=False, transitional=False)
        except idna.IDNAError:
            return name
    return ".".join(map(_ascii_label, name.lower().rstrip(".").split(".")))


def unicode_host(name: str) -> str:
    """Returns the name as people write it; ``name`` is the result of `ascii_host`.

    >>> unicode_host("xn--bcher-kva.example"), unicode_host("xn--.example")
    ('bücher.example', 'xn--.example')
    """
    return ".".join(map(_unicode_label, name.split(".")))


def _ascii_label(label: str) -> str:
    return label if label.isascii() else _PREFIX + label.encode("punycode").decode("ascii")


def _unicode_label(label: str) -> str:
    if not label.startswith(_PREFIX):
        return label
    try:
        return label.removeprefix(_PREFIX).encode("ascii").decode("punycode") or label
    except UnicodeError:
        return label
