"""What stands on the scratchpads, and in the calculators' histories, when the world begins."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CALCULATIONS", "NOTES", "Note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note of the seed; times as they are stored."""

    owner: str
    title: str
    body: str
    label: str
    pinned: bool
    created: str
    updated: str


def _note(
    owner: str, created: str, label: str, title: str, body: str, *, updated: str = "", pinned: bool = False
) -> Note:
    return Note(
        owner=owner, title=title, body=body.strip(), label=label, pinned=pinned, created=created,
        updated=updated or created,
    )  # fmt: skip


_MARA, _TOBIN, _RAFAEL = "mara.linden", "tobin.ashgrove", "rafael.montserin"
_HANNE, _THEA, _WREN, _NOOR = "hanne.kirkeby", "thea.winslade", "wren.castellane", "noor.haddadin"

NOTES = (
    # The pad of all who are not signed in.
    _note("", "2025-05-05T08:02:11", "", "House rules of this pad",
          "Everybody reads this. Keep it short, sign with your first name, and remember the sweep on the first "
          "Monday of the month.", pinned=True),
    _note("", "2025-05-08T17:44:50", "lost", "Umbrella, dark green, wooden handle",
          "Left in the 16:59 from Ivesham on Thursday. Happy about any hint. Agnes, 05 884 077"),
    _note("", "2025-05-12T10:20:03", "found", "One child's glove, red",
          "On the bench by the return slot of the library. I tied it to the railing. Jonas"),
    _note("", "2025-05-13T15:31:27", "wanted", "Lift to the Book Market on 1 June",
          "From Fallowgate, two of us and a folding table. Saoirse"),
    # Mara Linden, librarian.
    _note(_MARA, "2025-04-22T09:12:40", "library", "Reading circle in May",
          """
Thursday 22 May, 19:00, reading room 2.
Book: The Slate Year.
Bring the list of names. Eleven said yes so far.
""", updated="2025-05-09T16:05:12", pinned=True),
    _note(_MARA, "2025-05-13T17:20:05", "library", "Overdue pieces, to be written to",
          """
Callum Reedy: 3 books, 14 days late
Rufus Godbold: 2 recordings, 21 days late
Ottilie Crane: 1 map, 9 days late
Piers Lockhart: 4 journals, 6 days late
"""),
    _note(_MARA, "2025-03-28T11:48:00", "library", "Shelves for local history",
          """
7 bays, 6 shelves each, 85 cm per shelf.
Leave a tenth of the length empty.
"""),
    _note(_MARA, "2025-05-02T20:15:33", "garden", "What to sow when",
          """
After the cold nights: beans, courgettes, nasturtiums.
Move the rhubarb in autumn, not now.
"""),
    _note(_MARA, "2025-05-10T08:30:19", "shopping", "Kettle",
          "The old one leaks. Enamel, not steel. At most 45 crowns."),
    _note(_MARA, "2025-05-11T18:02:47", "travel", "Weekend in Gorsehythe",
          """
With Noor and her boy Sami (9), 23 to 25 May.
Train to Brackwater and the ferry, there and back. No car.
Ask Hamish about the room above the harbour office.
""", updated="2025-05-13T21:10:00"),
    _note(_MARA, "2025-02-18T19:25:14", "travel", "Weekend in Gorsehythe (old)",
          "Was planned for March, called off because of the storm. Keep until the ferry has paid back."),
    _note(_MARA, "2025-05-06T12:40:28", "family", "Ideas for Yuki's birthday",
          "A pull saw? Has one. Ticket for the Hallmere Swim? The book about bridges from Quill & Binding."),
    _note(_MARA, "2025-01-15T07:55:01", "", "Locker at the baths", "Number 217, key with the blue tag."),
    # Tobin Ashgrove, ferry pilot.
    _note(_TOBIN, "2025-05-09T20:05:00", "log", "Crossings on 9 May",
          """
9 crossings each way. Passengers out 412, back 388.
Cars out 61, back 57. Wind 4, later 5.
"""),
    _note(_TOBIN, "2025-05-10T20:11:00", "log", "Crossings on 10 May",
          """
9 crossings each way. Passengers out 655, back 597.
Cars out 88, back 90. Wind 3. Two prams left behind, both fetched.
"""),
    _note(_TOBIN, "2025-05-11T20:02:00", "log", "Crossings on 11 May",
          """
6 crossings each way, black ball from 13:00. Passengers out 203, back 341.
Cars out 35, back 49. Wind 6, then 8.
"""),
    _note(_TOBIN, "2025-04-30T13:30:00", "boat", "Spare parts to order",
          "2 fuses 16 A for the winch, 1 bilge pump seal, 4 m of hose 38 mm."),
    # Rafael Montserin, cook.
    _note(_RAFAEL, "2025-05-07T22:40:00", "kitchen", "Fish stew for 40",
          """
Cod 6.5 kg at 14.20
Mussels 8 kg at 5.60
Fennel 3 kg at 3.90
Saffron 4 g at 7.25
All prices in crowns per kg or g.
"""),
    _note(_RAFAEL, "2025-05-12T23:05:00", "kitchen", "Bread for the weekend",
          "From Kirkeby: 12 rye, 20 wheat. Order in time, they want to know the day before."),
    _note(_RAFAEL, "2025-04-16T10:10:00", "staff", "Shifts in June", "Ask Ines about the 14th and 15th, regatta."),
    # Hanne Kirkeby, baker.
    _note(_HANNE, "2025-05-13T12:15:00", "orders", "Orders for Thursday",
          """
Blue Ewer: 18 rye, 10 wheat
School: 25 wheat
Cairn Hut: 6 rye
Maeve: 1 rye, sliced
"""),
    _note(_HANNE, "2025-05-13T12:40:00", "orders", "Orders for Friday",
          """
Blue Ewer: 22 rye, 14 wheat
Rafael in Brackwater: 12 rye, 20 wheat
Cairn Hut: 8 rye
"""),
    _note(_HANNE, "2025-05-01T14:00:00", "bakery", "Oven two",
          "Runs eleven degrees too hot at the back. Milan comes on the 20th.", pinned=True),
    # Thea Winslade, student.
    _note(_THEA, "2025-05-04T16:22:00", "flat", "Rent and bills in May",
          """
Rent 540, power 61.50, water 22.80, telephone 19.70.
Three of us, equal parts.
"""),
    _note(_THEA, "2025-05-12T09:05:00", "study", "Essay on the Measures Order",
          "Due 6 June, 2,500 words. Ask the library for the 1911 gazette."),
    _note(_THEA, "2025-05-13T18:45:00", "", "Get the key back from Edda", "She has it since the kiln night."),
    # Wren Castellane, beekeeper.
    _note(_WREN, "2025-05-03T11:00:00", "hives", "Hive 3", "Queen seen. Seven frames of brood. Added a super."),
    _note(_WREN, "2025-05-03T11:20:00", "hives", "Hive 5", "No eggs for two weeks. Look again on the 17th."),
    _note(_WREN, "2025-04-27T17:30:00", "honey", "Jars left from last year", "Heather 31, lime 12, blossom 54."),
    # Noor Haddadin, data analyst.
    _note(_NOOR, "2025-05-12T14:50:00", "work", "Counts that don't add up",
          "Lunnet and Mossfold: the count of 2024 against the register. Ask Desmond for the lists."),
    _note(_NOOR, "2025-05-08T19:00:00", "family", "Sami's things for the island",
          "Life vest, binoculars, the grey jumper."),
)  # fmt: skip

CALCULATIONS = (
    (_MARA, "7*6*85", "2025-03-28T11:50:12"),
    (_MARA, "45-38.50", "2025-05-10T08:33:40"),
    (_TOBIN, "412+388", "2025-05-09T20:06:10"),
    (_TOBIN, "655+597", "2025-05-10T20:12:30"),
    (_RAFAEL, "6.5*14.20", "2025-05-07T22:44:00"),
    (_THEA, "(540+61.50)/3", "2025-05-04T16:25:00"),
    ("", "12*1.6", "2025-05-12T10:02:00"),
)
