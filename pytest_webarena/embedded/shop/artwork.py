"""Product pictures, drawn by us: a file name says shape, colours and variant, and this draws it.

``products/kettle-b5653a-3-a.svg`` is a copper kettle, variant 3, view ``a`` (``b``: close-up). Pictures are
pure functions of their names, so none is stored and none can be lost.
"""

from __future__ import annotations

import re

from pytest_webarena.embedded.shop.shapes import SHAPES

__all__ = ["COLOURS", "draw", "name_for"]

COLOURS = {
    "amber": "c98a2b", "black": "33363b", "blue": "3f6f94", "clear": "b9cdd3", "copper": "b5653a",
    "cream": "e6d9bd", "natural": "c9a877", "oak": "b98a56", "ochre": "cf9a36", "plum": "7d4b6a", "red": "b04237",
    "rust": "a9512f", "sage": "7f9a7c", "steel": "9aa5ad", "walnut": "74513a", "white": "eceae4",
}  # fmt: skip

_BACKDROPS = ("f4efe6", "edf1ee", "f3ece9", "ecf0f4", "f5f1e2", "eeebf1")
_NAME = re.compile(r"(?:products|categories)/([a-z]+)-([0-9a-f]{6})-(\d{1,5})-([abh])\.svg")


def name_for(shape: str, colour: str, variant: int, view: str = "a", *, folder: str = "products") -> str:
    """The file name of a picture; ``colour`` is one of `COLOURS`; view ``h`` is a wide banner."""
    return f"{folder}/{shape}-{COLOURS[colour]}-{variant}-{view}.svg"


def draw(name: str) -> bytes | None:
    """The picture of that name as SVG, or None when it names no picture of ours."""
    if name == "products/none.svg":
        return _missing()
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in SHAPES:
        return None
    return _picture(match[1], match[2], int(match[3]), match[4])


def _picture(shape: str, colour: str, variant: int, view: str) -> bytes:
    tones = {
        "g": "url(#g)",
        "w": "url(#w)",
        "c": f"#{colour}",
        "d": f"#{_mix(colour, '1f1a17', 0.38)}",
        "e": f"#{_mix(colour, '1f1a17', 0.62)}",
        "l": f"#{_mix(colour, 'ffffff', 0.45)}",
        "p": f"#{_mix(colour, 'ffffff', 0.75)}",
        "a": f"#{_accent(colour, variant)}",
    }
    body = re.sub(r"\{([a-z])\}", lambda found: tones[found[1]], SHAPES[shape])
    backdrop = _BACKDROPS[(variant + len(shape)) % len(_BACKDROPS)]
    if view == "b":
        backdrop = _mix(colour, "ffffff", 0.72)
    scale = (0.9, 0.96, 1.0, 0.93)[variant % 4] * (1.32 if view == "b" else 1.0)
    mirrored = -1 if variant % 3 == 1 else 1
    tilt = 0 if view == "a" else (-6, 5, 8)[variant % 3]
    width, shift = (900, 250) if view == "h" else (400, 0)
    ground = "" if view == "b" else f'<path d="M0 318H{width}V400H0z" fill="#{_mix(backdrop, "8a7a66", 0.16)}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 400" width="{width}" height="400">'
        f'<defs><linearGradient id="g" x1="0" x2="1"><stop offset="0" stop-color="{tones["l"]}"/>'
        f'<stop offset=".35" stop-color="{tones["c"]}"/><stop offset="1" stop-color="{tones["d"]}"/></linearGradient>'
        '<linearGradient id="w" x1="0" x2="1"><stop offset="0" stop-color="#d9b382"/>'
        '<stop offset="1" stop-color="#93673f"/></linearGradient></defs>'
        f'<rect width="{width}" height="400" fill="#{backdrop}"/>{ground}'
        f'<g transform="translate({200 + shift} 200) rotate({tilt}) scale({scale * mirrored:.3f} {scale:.3f})'
        f' translate(-200 -200)"><ellipse cx="200" cy="334" rx="118" ry="14" fill="#5b4a3a" opacity=".2"/>'
        f"{body}</g></svg>"
    ).encode()


def _missing() -> bytes:
    return (
        b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 400" width="400" height="400">'
        b'<rect width="400" height="400" fill="#efece6"/><path d="M120 260l60-70 45 50 30-30 45 50z" fill="#cfc8bc"/>'
        b'<circle cx="250" cy="150" r="24" fill="#cfc8bc"/><text x="200" y="330" text-anchor="middle"'
        b' font-family="sans-serif" font-size="22" fill="#8d857a">No picture yet</text></svg>'
    )


def _mix(first: str, second: str, share: float) -> str:
    pairs = ((int(first[at : at + 2], 16), int(second[at : at + 2], 16)) for at in (0, 2, 4))
    return "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _accent(colour: str, variant: int) -> str:
    others = [value for value in COLOURS.values() if value != colour]
    return others[(variant * 7) % len(others)]
