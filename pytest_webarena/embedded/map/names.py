"""Names of streets, and what names of places are made of."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_webarena.embedded import world

__all__ = ["ANIMALS", "GOODS", "SAINTS", "STREETS", "SURNAMES", "THINGS", "TREES"]

_OWN: Mapping[str, tuple[str, ...]] = {
    "aldersey": ("Wendgate", "Abbey Street", "Charter Square", "Lantern Row", "Silk Street", "Bridge Street"),
    "brackwater": ("Fish Quay", "Harbour Street", "Salt Lane", "Customs Row", "Ferry Road", "Net Loft Lane"),
    "corrin-bridge": ("Ropewalk", "Paper Street", "Bindery Lane", "Bridge End", "Needle Row", "Vat Lane"),
    "dunmere": ("Lakeside", "Kiln Street", "Castle Road", "Potters' Row", "Ash Lane", "Reed Walk"),
    "elvering": ("Merrow Farm", "Press Street", "Orchard Row", "Pippin Lane", "Weir Walk", "Blossom Street"),
    "fallowgate": ("Bandstand Square", "Drovers' Way", "Cornet Street", "Moor Street", "Bell Row", "Heather Lane"),
    "gorsehythe": ("North Quay", "Slipway", "Keel Street", "Lifeboat Row", "Sailmakers' Lane", "Gorse Lane"),
    "hollin-cross": ("Station Parade", "Works Street", "Signal Row", "Harker Street", "Viaduct Road", "Holly Lane"),
    "ivesham": ("Regatta Row", "Mill Lane", "Skiff Street", "Upper Bridge Street", "Cress Lane", "Chalk Street"),
    "kelderby": ("Quarry Street", "Clock Square", "Slate Row", "Raven Street", "Pendulum Lane", "Tarn Road"),
    "lunnet": ("Forest Street", "Timber Row", "Ranger Walk", "School Street", "Fir Lane", "Sawpit Lane"),
    "mossfold": ("Fleece Street", "Shed Row", "Madder Lane", "Ram Square", "Spindle Lane", "Fold Street"),
}
_COMMON = (
    "High Street", "Church Street", "School Lane", "Garden Street", "Mill Street", "Chapel Row", "Water Lane",
    "North Street", "South Street", "East Street", "West Street", "Well Lane", "Baker Street", "Smithy Lane",
    "Meadow Road", "Oak Street", "Elm Street", "Rowan Street", "Willow Walk", "Kingfisher Way", "Swan Lane",
    "Market Row", "Castle Lane", "Tanner Street", "Weaver Street", "Cooper Street", "Linden Road", "Copper Street",
)  # fmt: skip
STREETS: Mapping[str, tuple[str, ...]] = {town.key: (*_OWN[town.key], *_COMMON) for town in world.TOWNS}
"""Names for the streets of each town: those of the world's addresses first."""

SURNAMES = (
    "Abbott", "Barrow", "Cotter", "Dunn", "Ellery", "Farrow", "Garland", "Hobbs", "Inskip", "Jarvis", "Keene",
    "Lowther", "Mabey", "Nuttall", "Orme", "Pickard", "Quayle", "Rudd", "Sayer", "Tully", "Underhill", "Verity",
    "Wragg", "Yardley", "Amado", "Bianchi", "Chowdhury", "Dimitrov", "Eklund", "Fontaine", "Gruber", "Haddad",
    "Ito", "Kowal", "Larsen", "Mwangi", "Novak", "Okafor", "Petrov", "Rossi", "Santos", "Tanaka", "Weiss", "Zhang",
)  # fmt: skip
ANIMALS = ("Hare", "Heron", "Otter", "Raven", "Ram", "Salmon", "Swan", "Badger", "Curlew", "Fox", "Stag", "Wren")
THINGS = (
    "Anchor",
    "Anvil",
    "Barrel",
    "Bell",
    "Compass",
    "Crown",
    "Drum",
    "Feather",
    "Kettle",
    "Lantern",
    "Plough",
    "Spindle",
)
TREES = ("Alder", "Ash", "Beech", "Birch", "Cedar", "Chestnut", "Hawthorn", "Larch", "Linden", "Maple", "Rowan", "Yew")
SAINTS = ("Anselm", "Bride", "Cuthwin", "Edda", "Hild", "Kentigern", "Osmund", "Rumon", "Swithun", "Winifred")
GOODS = ("Copper", "Silver", "Blue", "Green", "Old", "Little", "Golden", "Red", "Quiet", "Crooked")
