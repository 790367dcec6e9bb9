"""Pictures of the seed: small flat landscapes, drawn by rules; the same words give the same picture."""

from __future__ import annotations

from pytest_webarena.embedded.chance import Chance

__all__ = ["SCENES", "draw"]

_WIDTH, _HEIGHT = 480, 360
_SKIES = (
    ("#cfe3ee", "#f4ead6"),
    ("#f3cfa9", "#f7e6c8"),
    ("#b9c8d8", "#e3e6e4"),
    ("#e9b7a0", "#f6dcc0"),
    ("#a9c7dd", "#eef2ea"),
)
_GREENS = ("#5f7f5a", "#70905f", "#4f6f5c", "#86995a", "#5d7a6d")
_BLUES = ("#6b93ab", "#5b86a3", "#7fa3b0", "#4f7690")

SCENES = ("lake", "hills", "sea", "forest", "town", "orchard", "loaf", "cat", "dog", "train", "wool", "garden")


def draw(scene: str, key: str) -> str:
    """An SVG of one of the `SCENES`; ``key`` tells pictures of one scene apart."""
    chance = Chance(f"picture {scene} {key}")
    high, low = chance.one_of(_SKIES)
    shapes = [
        f'<linearGradient id="s" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="{high}"/>'
        f'<stop offset="1" stop-color="{low}"/></linearGradient>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="url(#s)"/>',
    ]
    if scene in ("loaf", "cat", "dog", "wool"):
        shapes += _indoors(scene, chance)
    else:
        shapes += _outdoors(scene, chance)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}">'
        + "".join(shapes)
        + "</svg>"
    )


def _ridge(chance: Chance, height: int, rough: int, colour: str) -> str:
    points = []
    for x in range(0, _WIDTH + 61, 60):
        points.append(f"{x},{height + chance.whole(-rough, rough)}")
    return f'<polygon points="0,{_HEIGHT} {" ".join(points)} {_WIDTH + 60},{_HEIGHT}" fill="{colour}"/>'


def _tree(x: int, y: int, size: int, chance: Chance, *, pointed: bool) -> str:
    colour = chance.one_of(_GREENS)
    trunk = f'<rect x="{x - 2}" y="{y - size // 3}" width="4" height="{size // 3}" fill="#6b5542"/>'
    if pointed:
        half, foot = size // 4, y - size // 5
        return f'{trunk}<polygon points="{x},{y - size} {x - half},{foot} {x + half},{foot}" fill="{colour}"/>'
    return f'{trunk}<circle cx="{x}" cy="{y - size // 2}" r="{size // 3}" fill="{colour}"/>'


def _outdoors(scene: str, chance: Chance) -> list[str]:
    sun = (
        f'<circle cx="{chance.whole(60, 420)}" cy="{chance.whole(40, 110)}" r="{chance.whole(16, 26)}" fill="#fbf1d3"/>'
    )
    shapes = [
        sun,
        _ridge(chance, chance.whole(140, 190), 40, "#93a7ad"),
        _ridge(chance, 215, 25, chance.one_of(_GREENS)),
    ]
    if scene in ("lake", "sea"):
        top = chance.whole(215, 245)
        shapes.append(f'<rect y="{top}" width="{_WIDTH}" height="{_HEIGHT - top}" fill="{chance.one_of(_BLUES)}"/>')
        for _ in range(7):
            x, y = chance.whole(0, 420), chance.whole(top + 10, 340)
            shapes.append(
                f'<rect x="{x}" y="{y}" width="{chance.whole(25, 80)}" height="2" fill="#fff" opacity=".35"/>'
            )
        x, y = chance.whole(90, 380), chance.whole(top + 12, 310)
        shapes.append(f'<path d="M{x - 26} {y}h52l-9 13h-34z" fill="#5a3d2e"/>')
        if scene == "sea":
            shapes.append(f'<path d="M{x} {y - 4}v-52l26 46zM{x - 3} {y - 4}v-40l-17 36z" fill="#f7f2e4"/>')
    elif scene == "train":
        shapes.append(f'<rect y="262" width="{_WIDTH}" height="98" fill="#77855f"/>')
        for x in range(20, _WIDTH, 92):
            shapes.append(f'<path d="M{x} 262v60h12v-40a24 24 0 0 1 48 0v40h12v-60z" fill="#a5745a"/>')
        x = chance.whole(30, 170)
        shapes.append(f'<rect x="{x}" y="228" width="240" height="32" rx="6" fill="#8c2f2b"/>')
        shapes += [f'<rect x="{x + 14 + 32 * i}" y="235" width="20" height="11" fill="#f1e3c0"/>' for i in range(7)]
    elif scene == "town":
        shapes.append(f'<rect y="300" width="{_WIDTH}" height="60" fill="#b9ac97"/>')
        x = 10
        while x < _WIDTH - 30:
            wide, tall = chance.whole(42, 70), chance.whole(60, 120)
            wall = chance.one_of(("#d9c7a8", "#c9a98c", "#b98f78", "#dcd3c0"))
            shapes.append(f'<rect x="{x}" y="{305 - tall}" width="{wide}" height="{tall}" fill="{wall}"/>')
            shapes.append(f'<path d="M{x - 4} {305 - tall}h{wide + 8}l-{wide // 2 + 4} -26z" fill="#5f6672"/>')
            shapes.append(f'<rect x="{x + 10}" y="{320 - tall}" width="10" height="14" fill="#57697a"/>')
            x += wide + chance.whole(0, 12)
    else:
        shapes.append(_ridge(chance, 275, 12, chance.one_of(_GREENS)))
        number = {"forest": 26, "orchard": 9, "garden": 5, "hills": 4}.get(scene, 4)
        for _ in range(number):
            y = chance.whole(260, 345)
            shapes.append(_tree(chance.whole(10, 470), y, chance.whole(50, 95), chance, pointed=scene == "forest"))
            if scene in ("orchard", "garden"):
                for _ in range(4):
                    shapes.append(
                        f'<circle cx="{chance.whole(10, 470)}" cy="{chance.whole(290, 350)}" r="4"'
                        f' fill="{chance.one_of(("#c4452d", "#e0a526", "#d9d2e9", "#f0e3d0"))}"/>'
                    )
        if scene == "hills":
            x = chance.whole(60, 400)
            shapes.append(f'<path d="M{x} 262l9 -20 9 20z" fill="#6d6f70"/>')
    return shapes


def _indoors(scene: str, chance: Chance) -> list[str]:
    cloth = chance.one_of(("#6f8aa5", "#a56f6f", "#7d946c", "#c2a25a"))
    shapes = [
        f'<rect width="{_WIDTH}" height="230" fill="{chance.one_of(("#e9dfcc", "#d8dcd3", "#e6d3c3"))}"/>',
        f'<rect y="225" width="{_WIDTH}" height="135" fill="#8a6647"/>',
        f'<polygon points="60,260 420,260 455,335 25,335" fill="{cloth}"/>',
    ]
    x = chance.whole(200, 280)
    if scene == "loaf":
        crust = chance.one_of(("#7a4a24", "#8f5a2c", "#653c1e"))
        shapes.append(
            f'<ellipse cx="{x}" cy="255" rx="{chance.whole(95, 130)}" ry="{chance.whole(48, 66)}" fill="{crust}"/>'
        )
        shapes += [
            f'<path d="M{x - 60 + 34 * i} 225q10 20 2 42" stroke="#d9b384" stroke-width="6" fill="none"/>'
            for i in range(4)
        ]
    elif scene == "wool":
        for index in range(5):
            shapes.append(
                f'<circle cx="{90 + 75 * index}" cy="{chance.whole(250, 290)}" r="{chance.whole(30, 44)}"'
                f' fill="{chance.one_of(("#9c3b34", "#c9a14a", "#54708c", "#6c7f52", "#e2d9c8"))}"/>'
            )
    else:
        fur = chance.one_of(("#c98a48", "#5b5754", "#e3ddd2", "#8a6a4c"))
        ears = (
            "M{a} 180l-8 -42 34 22zM{b} 180l8 -42 -34 22z"
            if scene == "cat"
            else "M{a} 172l-30 40 14 6zM{b} 172l30 40 -14 6z"
        )
        shapes.append(
            f'<ellipse cx="{x}" cy="280" rx="95" ry="52" fill="{fur}"/><circle cx="{x}" cy="205" r="50" fill="{fur}"/>'
        )
        shapes.append(f'<path d="{ears.format(a=x - 34, b=x + 34)}" fill="{fur}"/>')
        shapes.append(
            f'<circle cx="{x - 18}" cy="200" r="5" fill="#222"/><circle cx="{x + 18}" cy="200" r="5" fill="#222"/>'
        )
        shapes.append(f'<path d="M{x - 6} 220h12l-6 8z" fill="#3a2b2b"/>')
    return shapes
