"""What people write below issues and merge requests, and about themselves."""

from __future__ import annotations

__all__ = ["BIOS", "COLORS", "DESCRIBED", "FOLLOW_UPS", "REMARKS", "STATUSES"]

FOLLOW_UPS = (
    "I have the same.",
    "Could you send me the file? Then I can look at it on Sunday.",
    "This would help us, too.",
    "Not before the summer, I am afraid.",
    "I tried it again with the newest version: still there.",
    "Good idea. Who does it?",
    "Let us talk about it on market day.",
    "I can do this if somebody shows me where.",
    "It is the same with the other file.",
    "Thank you for writing this down.",
)

REMARKS = (
    "Looks good to me.",
    "Read and tried. One question: what happens with an empty file?",
    "Nice and short. Merging it tonight.",
    "I would have called it something else, but fine.",
    "Please put the reason into the message next time.",
    "Works here, on the old machine as well.",
)

DESCRIBED = (
    "",
    "As talked about on Tuesday.",
    "Small, but I stumbled over it twice.",
    "Tried it on the machine in the workshop.",
    "Please read the second commit first.",
    "The rest follows when this is in.",
)

BIOS = {
    "dario.penhallow": "Writes small programs for people with large workbenches.",
    "mara.linden": "Keeps the catalogue, and the peace, in the reading room.",
    "noor.haddadin": "Tables. I can be trusted with tables.",
    "thea.winslade": "Learning. Be kind.",
    "sunniva.dale": "If you can read this, you have a signal. I have not.",
    "anneke.voss": "Counts eelgrass, and hours until low water.",
    "clementine.rusk": "Lantern & Loam, 14 Wendgate.",
    "desmond.pell": "Clerk of the council. Answers within four weeks.",
    "saoirse.quill": "I draw.",
    "yuki.morishige": "Buildings by day, clocks by night.",
}

STATUSES = {
    "sunniva.dale": ("🥾", "On the hill until Thursday", 1),
    "anneke.voss": ("🌊", "Counting eelgrass", 0),
    "desmond.pell": ("📜", "In session", 1),
    "hanne.kirkeby": ("🍞", "Asleep by eight", 0),
    "noor.haddadin": ("📊", "Ask me about tables", 0),
}

COLORS = {
    "bug": "#b02a20",
    "feature": "#2b6a3f",
    "documentation": "#2a5a94",
    "discussion": "#6b4a8f",
    "urgent": "#8c1d4f",
    "maintenance": "#5c5140",
    "question": "#7a4b00",
    "good first issue": "#1d6f78",
}
