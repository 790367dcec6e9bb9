"""What the works of Redmine are made of: a few words for each project, which `works` puts together."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NOTES", "WORKS", "Work"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A project of the region's works office: who does it, where, on what, and with which files."""

    key: str
    name: str
    about: str
    manager: str
    developers: tuple[str, ...]
    reporters: tuple[str, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]
    categories: tuple[str, ...]
    versions: tuple[str, str, str]
    """Closed, open, and planned."""
    sheet: tuple[str, ...]
    """Columns of the table in the project's repository; the first one is the place."""
    public: bool = True


WORKS = (
    Work(
        key="harbour-renewal", name="Harbour Renewal", about="The quays of Brackwater and Gorsehythe are made sound.",
        manager="hamish.dorrow", developers=("tobin.ashgrove", "viktor.halloran", "anneke.voss"),
        reporters=("rafael.montserin", "ines.caldeira"),
        places=("Fish quay", "North Quay", "Slip 2", "Ferry berth", "East mole"),
        things=("bollard", "fender", "ladder", "lamp", "crane rail", "drain", "railing", "tide gauge"),
        categories=("Quays", "Lights", "Dredging"), versions=("Winter 2024", "Spring 2025", "Summer 2025"),
        sheet=("place", "depth_m", "bollards", "lamps"),
    ),
    Work(
        key="wend-line-upkeep", name="Wend Line Upkeep",
        about="Track, signals and stations from Brackwater to Fallowgate.",
        manager="tomasz.wilk", developers=("milan.dravec", "kofi.asantewa", "osric.fell"),
        reporters=("piers.lockhart", "samuel.abara"),
        places=("Ivesham station", "Corrin Bridge cutting", "Hollin Cross yard", "Aldersey platform 2", "Wend viaduct"),
        things=("signal", "sleeper", "points motor", "clock", "bench", "fence", "culvert", "footbridge"),
        categories=("Track", "Signals", "Stations"), versions=("Round 7", "Round 8", "Round 9"),
        sheet=("place", "km", "sleepers", "signals"),
    ),
    Work(
        key="library-move", name="Library Move", about="The Regional Library moves its stacks to 72 East Street.",
        manager="mara.linden", developers=("dario.penhallow", "noor.haddadin", "ilse.varnholt"),
        reporters=("jonas.brightwater", "thea.winslade"),
        places=("Reading room", "Map room", "Cellar stacks", "Children's corner", "Lending desk"),
        things=("shelf", "card drawer", "lift", "lamp", "label printer", "trolley", "window", "catalogue screen"),
        categories=("Stacks", "Catalogue", "Building"), versions=("Packing", "Moving", "Opening"),
        sheet=("place", "shelves", "volumes", "trolleys"),
    ),
    Work(
        key="town-clocks", name="Town Clocks", about="Seven public clocks are wound, mended and set.",
        manager="bertram.hale", developers=("yuki.morishige", "milan.dravec", "andrei.vasilache"),
        reporters=("rufus.godbold", "agnes.birtwhistle"),
        places=("Kelderby hall", "Aldersey Wendgate", "Elvering church", "Dunmere pier", "Hollin Cross works"),
        things=("dial", "striking train", "weight", "pendulum", "hand", "bell hammer", "winding handle", "glass"),
        categories=("Movement", "Dial", "Bells"), versions=("First tour", "Second tour", "Third tour"),
        sheet=("place", "built", "dials", "minutes_late"),
    ),
    Work(
        key="orchard-register", name="Orchard Register",
        about="Every old apple tree of Elvering gets a number and a name.",
        manager="ottilie.crane", developers=("lucia.ferrant", "wren.castellane", "linnea.marsh"),
        reporters=("agnes.birtwhistle", "rufus.godbold"),
        places=("Merrow Farm", "Long Orchard", "Rectory garden", "Mill bank", "Upper terrace"),
        things=("tree tag", "graft", "ladder", "hive stand", "gate", "wall", "press cloth", "sampling sheet"),
        categories=("Trees", "Names", "Tools"), versions=("Pruning", "Blossom", "Harvest"),
        sheet=("place", "trees", "kinds", "hives"),
    ),
    Work(
        key="hallmere-paths", name="Hallmere Paths",
        about="Walking paths around Lake Hallmere and up to the Great Forest.",
        manager="sunniva.dale", developers=("linnea.marsh", "callum.reedy", "edda.thornquist"),
        reporters=("wren.castellane", "thea.winslade"),
        places=("South shore", "Boathouse bend", "Forest gate", "High cairn", "Sheepfold"),
        things=("signpost", "stile", "boardwalk", "bench", "handrail", "map board", "ford", "waymark"),
        categories=("Surface", "Signs", "Bridges"), versions=("Stage 1", "Stage 2", "Stage 3"),
        sheet=("place", "metres", "signs", "benches"),
    ),
    Work(
        key="lantern-fair", name="Lantern Fair 2025", about="Three evenings of paper lanterns along Wendgate.",
        manager="clementine.rusk", developers=("saoirse.quill", "greta.solbakken", "hanne.kirkeby"),
        reporters=("felix.adeyinka", "maeve.tolliver"),
        places=("Wendgate", "Market square", "East Street", "River steps", "Bandstand"),
        things=("lantern frame", "cable drum", "stall roof", "programme", "poster", "ticket box", "rope barrier",
                "stage"),
        categories=("Stalls", "Lanterns", "Programme"), versions=("Fair 2024", "Planning", "Building up"),
        sheet=("place", "stalls", "lanterns", "sockets"),
    ),
    Work(
        key="ward-rota", name="Ward Rota", about="Shifts and equipment of the hospital's wards. Not public.",
        manager="priya.nandakumar", developers=("samuel.abara", "zainab.rahmani", "noor.haddadin"),
        reporters=("desmond.pell", "maeve.tolliver"),
        places=("Ward 1", "Ward 2", "Day clinic", "Dispensary", "Night desk"),
        things=("drip stand", "call bell", "medicine trolley", "rota board", "bed brake", "scale", "curtain",
                "telephone"),
        categories=("Shifts", "Equipment", "Stores"), versions=("January", "April", "July"),
        sheet=("place", "beds", "trolleys", "nurses"), public=False,
    ),
)  # fmt: skip

NOTES = (
    "I was there this morning and can confirm it.",
    "The part has been ordered and should be here in ten days.",
    "Please measure again: the last figure can't be right.",
    "This has to wait until the ground is dry.",
    "Done in part; the rest needs two people.",
    "Who has the key?",
    "I have put the drawings into the repository.",
    "The council asks for a second offer before we go on.",
    "It works again, but for how long?",
    "Agreed. Let us do it together with the others.",
)
